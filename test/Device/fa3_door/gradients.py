# SPDX-License-Identifier: Apache-2.0
"""Gradients by fa3's backward kernels through fa3.attention, against fp32."""

import torch

import fa3
from fa3.kernels import program
from fa3.kernels.arguments import Arguments

from .common import DEVICE, check, compare, random, reference

# Errors of gradients are measured beside their largest element.
LIMIT = {torch.float16: 4e-3, torch.bfloat16: 3e-2}


def gradients(function, q, k, v, do, dlse=None, sinks=None):
    given = [one.detach().clone().requires_grad_() for one in (q, k, v)]
    named = {}
    if sinks is not None:
        named["sinks"] = sinks.detach().clone().requires_grad_()
        given.append(named["sinks"])
    o, lse = function(*given[:3], **named)
    outputs, grads = [o], [do.to(o.dtype)]
    if dlse is not None:
        outputs, grads = [o, lse], [*grads, dlse]
    return torch.autograd.grad(outputs, given, grads)


def check_case(notes, dtype, sizes, named, expected=None, dlse=False, sinks=False,
               layout="bhsd"):  # fmt: skip
    b, h, hk, sq, sk, d, dv = sizes
    q, k = random(b, h, sq, d, dtype=dtype), random(b, hk, sk, d, dtype=dtype)
    v, do = random(b, hk, sk, dv, dtype=dtype), random(b, h, sq, dv, dtype=dtype)
    slope = torch.randn(b, h, sq, device=DEVICE) if dlse else None
    column = torch.randn(h, device=DEVICE) if sinks else None

    def ours(q, k, v, **more):
        if layout == "bshd":
            q, k, v = (one.transpose(1, 2) for one in (q, k, v))
        o, lse = fa3.attention(q, k, v, return_lse=True, layout=layout, **named, **more)
        return (o.transpose(1, 2) if layout == "bshd" else o), lse

    def theirs(q, k, v, **more):
        return reference(q, k, v, **(named if expected is None else expected), **more)

    made = gradients(ours, q, k, v, do, slope, column)
    wide = [one.float() for one in (q, k, v)]
    wanted = gradients(theirs, *wide, do, slope, column)
    for one, exact in zip(made, wanted):
        # A query that sees nothing is NaN by the formula.
        exact = exact.nan_to_num()
        largest = max(1.0, exact.abs().max().item())
        compare(notes, one / largest, exact / largest, LIMIT[dtype])


def part_gradients(quick):
    torch.manual_seed(2)
    heads = ((2, 8, 2, 300, 300), (1, 4, 4, 260, 517), (2, 2, 1, 129, 64))
    cases = []
    for dtype in (torch.float16, torch.bfloat16):
        for d, dv in ((64, 64), (128, 128), (256, 256), (96, 96), (192, 128), (72, 40)):
            for named in ({}, {"causal": True}):
                cases.append((dtype, d, dv, named))
        for named in ({"window": (100, 0)}, {"window": (64, 32)}, {"softcap": 20.0},
                      {"causal": True, "softcap": 30.0}, {"scale": 0.3}):  # fmt: skip
            cases.append((dtype, 128, 128, named))
    for dtype, d, dv, named in cases[:: 4 if quick else 1]:
        text = " ".join(f"{key}={value}" for key, value in named.items())
        with check("gradients", f"{str(dtype)[6:]} {d}/{dv} {text}") as notes:
            for number, sizes in enumerate(heads):
                if sizes[3] > sizes[4] and ("causal" in named or "window" in named):
                    continue  # rows without keys are NaN by torch's formula
                check_case(
                    notes, dtype, (*sizes, d, dv), named, dlse=number == 0,
                    layout=("bhsd", "bshd")[number % 2],
                )  # fmt: skip
            notes[:] = ["max " + max(notes, key=float)]
    sizes, slopes = (2, 8, 2, 300, 400, 128, 128), torch.rand(8, device=DEVICE)
    factor = 1.25
    mods = {
        "sinks": ({"causal": True}, {"causal": True}, True),
        "alibi": (
            {"alibi_slopes": slopes},
            {"score": lambda s, b, h, i, j: s - slopes[h] * (i + 100 - j).abs()}, False,
        ),
        "traced score_mod": (
            {"score_mod": lambda s, b, h, i, j:
             factor * torch.tanh(s) - slopes[h] * torch.abs(i - j)},
            {"score": lambda s, b, h, i, j:
             factor * torch.tanh(s) - slopes[h] * (i - j).abs()}, False,
        ),
        "traced mask_mod": (
            {"mask_mod": lambda b, h, i, j: (j <= i) & (i // 128 == j // 128)},
            {"mask": lambda b, h, i, j: (j <= i) & (i // 128 == j // 128)}, False,
        ),
    }  # fmt: skip
    for name, (named, expected, sinks) in mods.items():
        with check("gradients", name) as notes:
            check_case(notes, torch.bfloat16, sizes, named, expected, sinks=sinks)
    for shape in ((1, 1), (2, 1), (1, 8), (2, 8)):
        with check("gradients", f"of a bias {shape}") as notes:
            q, k, v = (random(2, h, 300, 64, dtype=torch.bfloat16) for h in (8, 2, 2))
            table = random(*shape, 300, 300, dtype=torch.bfloat16)
            do, made = torch.randn_like(q), []
            for ours in (True, False):
                bias = table.clone().requires_grad_()
                if ours:
                    o = fa3.attention(q, k, v, bias=bias, causal=True)
                else:
                    full = bias.float().expand(2, 8, 300, 300)
                    o = reference(
                        q, k, v, causal=True, score=lambda s, b, h, i, j: s + full
                    )[0]
                made.append(torch.autograd.grad(o, bias, do.to(o.dtype))[0].float())
            largest = max(1.0, made[1].abs().max().item())
            compare(notes, made[0] / largest, made[1] / largest, 2e-2)
    with check("gradients", "of tables that a score_mod reads") as notes:
        heads = torch.rand(8, device=DEVICE)
        keys = torch.randn(300, device=DEVICE)
        made = []
        for ours in (True, False):
            a, c = heads.clone().requires_grad_(), keys.clone().requires_grad_()
            mod = lambda s, b, h, i, j: s * a[h] + c[j]  # noqa: E731, B023
            o = fa3.attention(q, k, v, score_mod=mod) if ours else reference(
                q, k, v, score=mod
            )[0]  # fmt: skip
            made.append(torch.autograd.grad(o, (a, c), do.to(o.dtype)))
        for one, exact in zip(*made):
            largest = max(1.0, exact.abs().max().item())
            compare(notes, one / largest, exact / largest, 2e-2)
    with check("gradients", "the same bits in 20 runs"):
        q, k, v = (random(2, h, 1000, 128, dtype=torch.bfloat16) for h in (8, 2, 2))
        do, first = torch.randn_like(q), None
        fa3.torch.set_backward("deterministic")
        for _ in range(20):
            made = gradients(
                lambda *x: fa3.attention(*x, causal=True, return_lse=True), q, k, v, do
            )
            first = first or made
            if not all(torch.equal(a, b) for a, b in zip(made, first)):
                raise AssertionError("two runs differ")
        fa3.torch.set_backward("fa3")
    with check("gradients", "opcheck of torch.ops.fa3.backward"):
        small = [one[:, :, :200].contiguous() for one in (q, k, v)]
        text = program.to_text(Arguments(True, return_lse=True))
        o, lse = torch.ops.fa3.forward(*small, [], [], text, 0.1)
        torch.library.opcheck(
            torch.ops.fa3.backward.default,
            (torch.randn_like(o), None, *small, o, lse, [], [], text, 0.1),
        )
    with check("gradients", "torch.compile(fullgraph=True) of a layer") as notes:
        x = [one[:, :, :384].detach().clone().requires_grad_() for one in (q, k, v)]

        def layer(q, k, v):
            return (fa3.attention(q * 1.0, k, v, causal=True) * 0.5).sum()

        torch.compile(layer, fullgraph=True)(*x).backward()
        made = [one.grad for one in x]
        for one in x:
            one.grad = None
        layer(*x).backward()
        for one, wanted in zip(made, x):
            compare(notes, one, wanted.grad, 1e-2)
    with check("gradients", "a CUDA graph of forward and backward, replayed") as notes:
        x = [one[:, :, :384].detach().clone().requires_grad_() for one in (q, k, v)]

        def step():
            for one in x:
                one.grad = None
            fa3.attention(*x, causal=True).square().sum().backward()

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        recorded = [one.grad for one in x]
        with torch.no_grad():
            for one in x:
                one.copy_(random(*one.shape, dtype=one.dtype))
        graph.replay()
        torch.cuda.synchronize()
        kept = [one.clone() for one in recorded]
        step()
        for one, wanted in zip(kept, x):
            if not torch.equal(one, wanted.grad):
                raise AssertionError("a replay gives other gradients than a run")
        notes.append("equal")


def part_backward_speed(quick):
    """Forward and backward through Python calls."""
    from .speed import measure, sdpa

    backends = torch.nn.attention.SDPBackend
    for d, causal, n in ((128, True, 4096), (64, True, 4096), (128, False, 4096),
                         (128, True, 16384)):  # fmt: skip
        b, h = max(1, 16384 // n), 2048 // d
        q, k, v = (
            random(b, h, n, d, dtype=torch.bfloat16).requires_grad_() for _ in range(3)
        )
        do = torch.randn_like(q)
        flops = 14 * b * h * n * n * d * (0.5 if causal else 1)
        with check("backward", f"d={d} causal={causal} n={n} b={b} h={h}") as notes:
            for name, call in (
                ("fa3", lambda: fa3.attention(q, k, v, causal=causal)),
                ("cudnn", lambda: sdpa(backends.CUDNN_ATTENTION, q, k, v, causal)),
                ("flash", lambda: sdpa(backends.FLASH_ATTENTION, q, k, v, causal)),
            ):
                try:
                    seconds = measure(
                        lambda: torch.autograd.grad(call(), (q, k, v), do)
                    )
                except RuntimeError as error:
                    notes.append(f"{name} -({str(error)[:30]})")
                    continue
                notes.append(f"{name} {flops / seconds / 1e12:.0f}")
            notes.append("TFLOP/s, forward and backward")
