# SPDX-License-Identifier: Apache-2.0
"""Behind scaled_dot_product_attention."""

import torch
from torch.nn import functional

import fa3

from .common import DEVICE, check, compare, random, reference

ATTENTION = functional.scaled_dot_product_attention


def counted(runs, gradients, call):
    """A call of which fa3 has to run so many forwards and gradients."""
    before = fa3.torch.report()
    before = before.ran, before.gradients
    made = call()
    after = fa3.torch.report()
    found = after.ran - before[0], after.gradients - before[1]
    if found != (runs, gradients):
        raise AssertionError(f"fa3 ran {found}, expected {(runs, gradients)}: {after}")
    return made


def trained(q, k, v, expected=None, **named):
    """o and gradients by torch's function, or by `expected` in fp32."""
    given = [one.detach().clone() for one in (q, k, v)]
    if expected is not None:
        given = [one.float() for one in given]
    for one in given:
        one.requires_grad_()
    o = ATTENTION(*given, **named) if expected is None else expected(*given)
    (o.float() * torch.linspace(0, 1, o.shape[3], device=DEVICE)).sum().backward()
    return [o, *(one.grad for one in given)]


def part_sdpa(quick):
    backends = torch.nn.attention.SDPBackend
    q, k, v = (random(2, 8, 512, 64, dtype=torch.bfloat16) for _ in range(3))
    mask = torch.rand(2, 1, 512, 512, device=DEVICE) > 0.3
    mask[..., 0] = True
    additive = torch.randn(1, 8, 512, 512, device=DEVICE).to(torch.bfloat16)
    cases = {
        "full": ({}, {}),
        "causal": ({"is_causal": True}, {"causal": True}),
        "scale": ({"scale": 0.3}, {"scale": 0.3}),
        "bool mask": (
            {"attn_mask": mask}, {"mask": lambda b, h, i, j: mask[b, 0, i, j]}
        ),
        "float mask": (
            {"attn_mask": additive},
            {"score": lambda s, b, h, i, j: s + additive[0, h, i, j].float()},
        ),
    }  # fmt: skip
    fa3.torch.activate()
    try:
        for name, (named, expected) in cases.items():
            with check("sdpa", f"torch's own choice, {name}") as notes:
                o = counted(1, 0, lambda: ATTENTION(q, k, v, **named))
                compare(notes, o, reference(q, k, v, **expected)[0], 3e-2)
            with check("sdpa", f"gradients, {name}") as notes:
                made = counted(1, 1, lambda: trained(q, k, v, **named))
                wanted = trained(
                    q, k, v, lambda *given: reference(*given, **expected)[0]
                )
                for one, exact in zip(made, wanted):
                    compare(notes, one, exact, 4e-2)
        for name in ("CUDNN_ATTENTION", "FLASH_ATTENTION", "EFFICIENT_ATTENTION"):
            with check("sdpa", f"in the place of {name}") as notes:
                with torch.nn.attention.sdpa_kernel(getattr(backends, name)):
                    made = counted(1, 1, lambda: trained(q, k, v, is_causal=True))
                wanted = trained(
                    q, k, v, lambda *given: reference(*given, causal=True)[0]
                )
                for one, exact in zip(made, wanted):
                    compare(notes, one, exact, 4e-2)
        with check("sdpa", "grouped heads") as notes:
            few = [one[:, :2].contiguous() for one in (k, v)]
            o = counted(
                1, 0, lambda: ATTENTION(q, *few, is_causal=True, enable_gqa=True)
            )
            compare(notes, o, reference(q, *few, causal=True)[0], 3e-2)
        with check("sdpa", "torch.compile of a layer that calls it") as notes:
            def layer(q, k, v):
                return ATTENTION(q * 1.0, k, v, is_causal=True) * 1.0

            compiled = torch.compile(layer, fullgraph=True)
            given = [one.detach().clone().requires_grad_() for one in (q, k, v)]

            def run():
                o = compiled(*given)
                o.float().sum().backward()
                return o

            o = counted(1, 1, run)
            compare(notes, o, reference(q, k, v, causal=True)[0], 3e-2)
        with check("sdpa", "gradients by torch's backward, set_backward") as notes:
            fa3.torch.set_backward("torch")
            try:
                made = counted(1, 0, lambda: trained(q, k, v, is_causal=True))
            finally:
                fa3.torch.set_backward("fa3")
            wanted = trained(q, k, v, lambda *given: reference(*given, causal=True)[0])
            for one, exact in zip(made, wanted):
                compare(notes, one, exact, 4e-2)
        with check("sdpa", "what fa3 declines goes to torch, counted") as notes:
            fa3.torch.report(reset=True)
            ATTENTION(q, k, v, dropout_p=0.5)
            notes.append(str(fa3.torch.report()).replace("\n", "; "))
            if sum(fa3.torch.report().declined.values()) != 1:
                raise AssertionError(f"it was not counted: {fa3.torch.report()}")
            ATTENTION(*(one.float() for one in (q, k, v)))
    finally:
        fa3.torch.deactivate()
    with check("sdpa", "deactivate()"):
        counted(0, 0, lambda: ATTENTION(q, k, v))
