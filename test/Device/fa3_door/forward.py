# SPDX-License-Identifier: Apache-2.0
"""Values of the forward and of mods against fp32."""

import torch
from torch.nn.attention import flex_attention as flex

import fa3
from fa3.kernels import compiled as kernels
from fa3.bench import measure

from .common import DEVICE, TOLERANCE, check, compare, random, reference


def part_forward(quick):
    """The forward matrix through fa3.attention."""
    torch.manual_seed(0)
    cases = []
    for dtype in (torch.float16, torch.bfloat16):
        for d, dv in ((64, 64), (128, 128), (256, 256), (96, 96), (192, 128), (72, 40)):
            for named in ({}, {"causal": True}):
                cases.append((dtype, d, dv, named))
        for named in (
            {"window": (100, 0)}, {"window": (64, 32)}, {"softcap": 20.0},
            {"causal": True, "softcap": 30.0}, {"scale": 0.3},
            {"window": (None, 5)},
        ):  # fmt: skip
            cases.append((dtype, 128, 128, named))
    sizes = ((2, 8, 2, 300, 300), (1, 4, 4, 1000, 777), (3, 6, 1, 1, 513), (1, 2, 2, 260, 130))
    for dtype, d, dv, named in cases[:: 4 if quick else 1]:
        text = " ".join(f"{key}={value}" for key, value in named.items())
        with check("forward", f"{str(dtype)[6:]} {d}/{dv} {text}") as notes:
            for b, h, hk, sq, sk in sizes:
                q, k = random(b, h, sq, d, dtype=dtype), random(b, hk, sk, d, dtype=dtype)
                v = random(b, hk, sk, dv, dtype=dtype)
                expected, sums = reference(q, k, v, **named)
                o, lse = fa3.attention(q, k, v, return_lse=True, **named)
                compare(notes, o, expected, TOLERANCE[dtype])
                compare(notes, lse, sums, 2e-3)
                # Again by the plan; other layout; without lse.
                compare([], fa3.attention(q, k, v, **named), expected, TOLERANCE[dtype])
                turned = [one.transpose(1, 2).contiguous() for one in (q, k, v)]
                o = fa3.attention(*turned, layout="bshd", **named)
                compare([], o.transpose(1, 2), expected, TOLERANCE[dtype])
            notes[:] = ["max " + max(notes, key=float)]
    for format in (torch.float8_e4m3fn, torch.float8_e5m2):
        with check("forward", f"{str(format)[6:]} with descales") as notes:
            q, k, v = (random(2, h, 400, 128) for h in (8, 2, 2))
            scales = [torch.rand(2, 2, device=DEVICE) + 0.5 for _ in range(3)]
            q8, k8, v8 = (one.to(format) for one in (q, k, v))
            wide = [
                one.float() * s.repeat_interleave(one.shape[1] // 2, 1)[..., None, None]
                for one, s in zip((q8, k8, v8), scales)
            ]
            expected, _ = reference(*wide, causal=True)
            o = fa3.attention(
                q8, k8, v8, causal=True, q_descale=scales[0], k_descale=scales[1],
                v_descale=scales[2],
            )  # fmt: skip
            error = (o.float() - expected).square().mean().sqrt() / expected.std()
            notes.append(f"relative rmse {error.item():.3f}")
            if not error < (0.06 if format == torch.float8_e4m3fn else 0.12):
                raise AssertionError(f"relative rmse {error.item()}")


def part_mods(quick):
    """Python mods through fa3.flex_attention."""
    torch.manual_seed(1)
    q, k, v = random(2, 4, 500, 64), random(2, 2, 700, 64), random(2, 2, 700, 64)
    slopes = torch.rand(4, device=DEVICE)
    document = (torch.arange(700, device=DEVICE) // 90).to(torch.int32)
    allowed = torch.rand(500, 700, device=DEVICE) > 0.5
    bias = random(500, 700)
    lengths = torch.tensor([650, 123], dtype=torch.int32, device=DEVICE)

    def window(size):
        return lambda b, h, i, j: (i >= j) & (i - j <= size)

    masks = {
        "causal, top left": lambda b, h, i, j: i >= j,
        "window, captured": window(100),
        "documents": lambda b, h, i, j: document[i] == document[j],
        "prefix or causal": lambda b, h, i, j: (j < 100) | (i >= j),
        "blocks": lambda b, h, i, j: i // 64 == j // 64,
        "dilated": lambda b, h, i, j: (i - j) % 3 == 0,
        "bool table": lambda b, h, i, j: allowed[i, j],
        "lengths": lambda b, h, i, j: j < lengths[b],
    }
    scores = {
        "alibi": lambda s, b, h, i, j: s + (j - i) * torch.exp2(-(h + 1) * 8.0 / 4),
        "slopes": lambda s, b, h, i, j: s - slopes[h] * torch.abs(i - j),
        "softcap": lambda s, b, h, i, j: 20 * torch.tanh(s / 20),
        "bias": lambda s, b, h, i, j: s + bias[i, j],
        "where": lambda s, b, h, i, j: torch.where(i >= j, s, -float("inf")),
        "relu": lambda s, b, h, i, j: torch.relu(s) + torch.log(torch.abs(s) + 1),
    }

    for name, mod in masks.items():
        with check("mods", f"mask {name}") as notes:
            expected, sums = reference(q, k, v, mask=mod)
            blocks = flex.create_block_mask(mod, 2, 4, 500, 700, device=DEVICE)
            for how in ("lists", "mask"):
                o, lse = fa3.flex_attention(
                    q, k, v, None, blocks, enable_gqa=True, return_lse=True,
                    kernel_options={"BLOCKS": how},
                )  # fmt: skip
                compare(notes, o, expected, 4e-3)
                compare(notes, lse, sums, 2e-3)
    for name, mod in scores.items():
        with check("mods", f"score {name}") as notes:
            expected, _ = reference(q, k, v, score=mod)
            compare(notes, fa3.flex_attention(q, k, v, mod, enable_gqa=True), expected, 6e-3)
    wide = [random(2, h, n, 256) for h, n in ((4, 500), (2, 700), (2, 700))]
    for name in ("window, captured", "prefix or causal", "documents"):
        with check("mods", f"mask {name}, d 256, the quick kernel and the later") as notes:
            first = fa3.attention(*wide, mask_mod=masks[name])
            kernels.wait()
            later = fa3.attention(*wide, mask_mod=masks[name])
            if not torch.equal(first, later):
                raise AssertionError("other bits")
            compare(notes, later, reference(*wide, mask=masks[name])[0], 4e-3)


def part_blocks(quick):
    """Block masks of 8192 x 8192 beside compiled FlexAttention: lists, and blocks that
    the compiler finds."""
    torch.manual_seed(2)
    n = 8192
    q, k, v = (random(1, 16, n, 128, dtype=torch.bfloat16) for _ in range(3))
    ends = torch.randint(300, 1700, (40,), device=DEVICE).cumsum(0)
    document = torch.searchsorted(ends, torch.arange(n, device=DEVICE), right=True).int()
    compiled = torch.compile(flex.flex_attention, dynamic=False)
    for name, mod in (
        ("causal", lambda b, h, i, j: i >= j),
        ("window of 1024", lambda b, h, i, j: (i >= j) & (i - j < 1024)),
        ("documents", lambda b, h, i, j: document[i] == document[j]),
    ):
        with check("blocks", f"{name}, 16 heads of 128, {n}") as notes:
            mask = flex.create_block_mask(mod, None, None, n, n, device=DEVICE)
            wanted = compiled(q, k, v, block_mask=mask)
            for how in ("lists", "mask"):
                def call(how=how):
                    return fa3.flex_attention(
                        q, k, v, block_mask=mask, kernel_options={"BLOCKS": how}  # noqa: B023
                    )

                compare([], call(), wanted, 3e-2)
                notes.append(f"{how} {1e3 * measure(call):.3f}")
            seconds = measure(lambda: compiled(q, k, v, block_mask=mask))  # noqa: B023
            notes.append(f"flex {1e3 * seconds:.3f} ms")
