# SPDX-License-Identifier: Apache-2.0
"""What a kernel wrote against the oracle."""

import torch

from . import oracle

LSE_TOLERANCE = 1e-3


def _where(wrong):
    """Number, place and share of wrong elements."""
    index = torch.nonzero(wrong)[0].tolist()
    return f"{int(wrong.sum())} of {wrong.numel()}, first at {index}"


def compare(o, lse, truth, factor, slack=(0.0, 0.0)):
    """Errors of o and, if it is not None, lse: a list of complaints, and
    numbers. `truth` is what the oracle gives, `factor` that of its error bound,
    `slack` what 8-bit operands may add to the errors of o and lse."""
    reference, reference_lse, low = truth
    bound = oracle.error_bound(reference, low, o.dtype, factor)
    bound = max(bound, slack[0] + slack[1] * float(reference.abs().max())
                if reference.numel() and slack[0] else 0.0)  # fmt: skip
    o = o.float()
    complaints = []
    numbers = {"error": 0.0, "bound": bound, "lse": 0.0}
    if not o.numel():
        return complaints, numbers
    difference = (o - reference).abs()
    # NaN, the poison, compares as wrong.
    wrong = ~(difference <= bound)
    numbers["error"] = float(difference.max())
    if wrong.any():
        at = tuple(torch.nonzero(wrong)[0].tolist())
        complaints.append(
            f"o: max error {numbers['error']:.3g}, bound {bound:.3g}, wrong "
            f"{_where(wrong)}: {float(o[at]):.5g} for {float(reference[at]):.5g}"
        )
    dead = reference_lse == -torch.inf
    if lse is not None:
        both_dead = dead & (lse == -torch.inf)
        difference = (lse - reference_lse).abs().masked_fill(both_dead, 0)
        wrong = ~(difference <= LSE_TOLERANCE + slack[1])
        numbers["lse"] = float(difference.max())
        if wrong.any():
            at = tuple(torch.nonzero(wrong)[0].tolist())
            complaints.append(
                f"lse: max error {numbers['lse']:.3g}, wrong {_where(wrong)}: "
                f"{float(lse[at]):.7g} for {float(reference_lse[at]):.7g}"
            )
    # Rows that see nothing are exactly zero.
    if (o.masked_fill(~dead[..., None], 0) != 0).any():
        complaints.append("o: not zero where no key is visible")
    return complaints, numbers
