# SPDX-License-Identifier: Apache-2.0
"""Gradients of a cell: tensors, what they must be, and kernels of others."""

from __future__ import annotations

import torch
from torch.nn.attention import sdpa_kernel

from fa3_device import gradient_oracle, kernels, memory, oracle
from fa3_device.peers import BACKENDS

from .peers import Candidate, Unavailable, compiled_flex
from .problem import Parts, alibi_slopes

NAMES = ("dq", "dk", "dv")


class GradientProblem(Parts):
    """Inputs and gradients of q, k and v lie as (batch, sequence, head,
    element) in larger buffers full of NaN. Tensors here are views (batch, head,
    sequence, element)."""

    def __init__(self, cell, device="cuda"):
        self.cell = cell
        self.dtype = kernels.torch_type(cell.type)
        self.scale = cell.d**-0.5
        generator = torch.Generator(device=device).manual_seed(cell.length)

        def guarded(heads, rows, last):
            shape = (cell.batch, heads, rows, last)
            return memory.Guarded(shape, self.dtype, "bshd", device)

        def random(heads, rows, last):
            values = torch.randn(
                (cell.batch, heads, rows, last), generator=generator,
                device=device,
            )  # fmt: skip
            return guarded(heads, rows, last).fill(values)

        of_queries = cell.heads, cell.rows
        of_keys = cell.key_heads, cell.length
        self._inputs = {
            "q": random(*of_queries, cell.d),
            "k": random(*of_keys, cell.d),
            "v": random(*of_keys, cell.dv),
            "do": random(*of_queries, cell.dv),
        }
        self.q, self.k, self.v, self.out_grad = (
            x.tensor for x in self._inputs.values()
        )
        self.slopes = self.bias = None
        if cell.mask.alibi:
            self.slopes = alibi_slopes(cell.heads, device)
        if cell.mask.bias:
            shape = (1, cell.heads, cell.rows, cell.length)
            bias = torch.randn(shape, generator=generator, device=device)
            self.bias = bias.to(self.dtype).expand(cell.batch, *shape[1:])
        inputs = oracle.Inputs(
            self.q, self.k, self.v, self.scale, self.slopes, self.bias
        )
        o, self.lse, _ = oracle.attention(cell.mask, inputs)
        self._inputs["o"] = guarded(*of_queries, cell.dv).fill(o)
        self._gradients = {
            "dq": guarded(*of_queries, cell.d),
            "dk": guarded(*of_keys, cell.d),
            "dv": guarded(*of_keys, cell.dv),
        }
        self._truth = None

    def arguments(self, _variant: str = "") -> dict:
        """What fa3's program takes, by name."""
        found = {
            name: x.tensor
            for name, x in (self._inputs | self._gradients).items()
        }
        found["lse"] = self.lse
        if self.slopes is not None:
            found["alibi"] = self.slopes
        if self.bias is not None:
            found["bias"] = self.bias
        return found

    def result(self) -> list:
        return [x.tensor for x in self._gradients.values()]

    def poison(self) -> None:
        for x in self._gradients.values():
            x.poison()

    def truth(self) -> list:
        """Gradients by definition for each part, and in low precision."""
        if self._truth is None:
            self._truth = []
            for batches, heads in self._parts():
                at = batches, self._queries(heads)
                x = {
                    "q": self.q[at], "do": self.out_grad[at],
                    "k": self.k[batches, heads], "v": self.v[batches, heads],
                    "scale": self.scale,
                }  # fmt: skip
                if self.slopes is not None:
                    x["alibi"] = self.slopes[at[1]]
                if self.bias is not None:
                    x["bias"] = self.bias[at]
                mask = self.cell.mask
                self._truth.append([
                    gradient_oracle.gradients(mask, x, dtype)[0][: len(NAMES)]
                    for dtype in (torch.float32, self.dtype)
                ])  # fmt: skip
        return self._truth

    def _places(self):
        """For each part the places of dq, dk and dv."""
        for batches, heads in self._parts():
            yield (batches, self._queries(heads)), *((batches, heads),) * 2

    def check_ours(self) -> tuple[list[str], float]:
        """Complaints, and the relative error of the worst gradient."""
        factor = 3 if self.cell.mask.softcap is not None else 2
        complaints = []
        for places, (want, low) in zip(self._places(), self.truth()):
            for name, at, exact, rough in zip(NAMES, places, want, low):
                got = self._gradients[name].tensor[at].float()
                bound = oracle.error_bound(exact, rough, self.dtype, factor)
                error = float((got - exact).abs().max())
                if not error <= bound:
                    complaints.append(f"{name}: {error:.3g}, bound {bound:.3g}")
        for name, x in self._gradients.items():
            if x.tensor.isnan().any():
                complaints.append(f"{name}: NaN or not written")
            if not x.is_intact():
                complaints.append(f"{name}: written around it")
        return complaints, self.relative_error(self.result())

    def relative_error(self, gradients) -> float:
        """Of the worst gradient, by the norm of the parts; NaN if there is a
        NaN anywhere."""
        if any(g.isnan().any() for g in gradients):
            return float("nan")
        difference, norm = [0.0] * len(NAMES), [0.0] * len(NAMES)
        for places, (want, _) in zip(self._places(), self.truth()):
            for n, (got, at, exact) in enumerate(zip(gradients, places, want)):
                difference[n] += float((got[at].float() - exact).square().sum())
                norm[n] += float(exact.square().sum())
        return max(
            (d / n) ** 0.5 if n else d for d, n in zip(difference, norm)
        )


# -----------------------------------------------------------------------------
# Kernels of others
# -----------------------------------------------------------------------------


def _differentiate(problem, forward) -> Candidate:
    """Gradients of what `forward` makes of q, k and v; only these are timed."""
    leaves = [
        x.detach().requires_grad_() for x in (problem.q, problem.k, problem.v)
    ]
    o = forward(*leaves)

    def run():
        return torch.autograd.grad(
            o, leaves, problem.out_grad, retain_graph=True
        )

    return Candidate(run)


def _sdpa(backend):
    def make(problem, _options) -> Candidate:
        cell = problem.cell
        if not cell.is_plain:
            raise Unavailable(f"has no mask {cell.mask_name}")

        def forward(q, k, v):
            with sdpa_kernel(BACKENDS[backend]):
                return torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, is_causal=cell.mask.causal,
                    enable_gqa=cell.heads != cell.key_heads,
                )  # fmt: skip

        return _differentiate(problem, forward)

    return make


def _flex(problem, _options) -> Candidate:
    return _differentiate(problem, compiled_flex(problem))


MAKERS = {"cudnn": _sdpa("cudnn"), "fa2": _sdpa("fa2"), "flex": _flex}
