# SPDX-License-Identifier: Apache-2.0
"""Gradients over lists of blocks, against fp32, and their time beside the share of
visible blocks and FlexAttention's."""

import torch
from torch.nn.attention import flex_attention as flex

import fa3
from fa3.bench import measure

from .common import DEVICE, check, compare, random
from .gradients import LIMIT, gradients


def masks(heads):
    """By name: mask_mods over up to 2048 rows; one differs by head."""
    ends = torch.tensor([100, 260, 300, 700, 1000, 1600, 4096], device=DEVICE)
    document = torch.searchsorted(
        ends, torch.arange(4096, device=DEVICE), right=True
    ).int()
    seen = torch.rand(heads, 32, 32, device=DEVICE) < 0.4
    return {
        "causal": (None, lambda b, h, i, j: i >= j),
        "documents": (None, lambda b, h, i, j: document[i] == document[j]),
        "random by head": (heads, lambda b, h, i, j: seen[h, i // 128, j // 128]),
    }


def check_values(notes, dtype, sizes, mask, score=None, deterministic=False):
    """Gradients of q, k and v against autograd of the formula."""
    b, h, hk, sq, sk, d, dv = sizes
    q, k = random(b, h, sq, d, dtype=dtype), random(b, hk, sk, d, dtype=dtype)
    v, do = random(b, hk, sk, dv, dtype=dtype), random(b, h, sq, dv, dtype=dtype)
    at = [torch.arange(n, device=DEVICE) for n in (b, h, sq, sk)]
    at = [one.reshape([-1 if n == m else 1 for m in range(4)]) for n, one in enumerate(at)]
    seen = mask.mask_mod(*at).expand(b, h, sq, sk)

    def ours(q, k, v):
        return fa3.attention(q, k, v, block_mask=mask, score_mod=score, return_lse=True)

    def theirs(q, k, v):
        k, v = (one.repeat_interleave(h // hk, 1) for one in (k, v))
        s = q @ k.mT * d**-0.5
        if score is not None:
            s = score(s, *at)
        s = s.masked_fill(~seen, float("-inf"))
        return torch.softmax(s, -1).nan_to_num() @ v, None

    made = gradients(ours, q, k, v, do)
    again = gradients(ours, q, k, v, do)
    wanted = gradients(theirs, *(one.float() for one in (q, k, v)), do)
    for one, two, exact in zip(made, again, wanted):
        exact = exact.nan_to_num()
        largest = max(1.0, exact.abs().max().item())
        compare(notes, one / largest, exact / largest, LIMIT[dtype])
        if deterministic and not torch.equal(one, two):
            raise AssertionError("two runs differ")


def part_listed(quick):
    """Values: types, head dims, groups, ends of both sequences, blocks of 64 and 128."""
    torch.manual_seed(5)
    shapes = [(2, 8, 2, 1000, 1000), (1, 4, 4, 1100, 700), (1, 4, 1, 2048, 2048),
              (2, 2, 2, 130, 1500)]  # fmt: skip
    dims = [(64, 64), (128, 128), (192, 128), (256, 256), (40, 40)]
    for dtype in (torch.float16, torch.bfloat16):
        for d, dv in dims[: 2 if quick else None]:
            for b, h, hk, sq, sk in shapes[: 2 if quick else None]:
                for name, (per_head, mod) in masks(h).items():
                    for size in (128, 64):
                        what = f"{name} {dtype} {d}/{dv} {b} {h}/{hk} {sq} {sk} {size}"
                        with check("listed", what.replace("torch.", "")) as notes:
                            mask = flex.create_block_mask(
                                mod, None, per_head, sq, sk, device=DEVICE, BLOCK_SIZE=size
                            )
                            check_values(notes, dtype, (b, h, hk, sq, sk, d, dv), mask)
    for score in (lambda s, b, h, i, j: s + h * 0.25, lambda s, b, h, i, j: s + (i - j) * 0.01):
        with check("listed", "score code") as notes:
            mask = flex.create_block_mask(
                lambda b, h, i, j: (i + 100 >= j), None, None, 1000, 900, device=DEVICE
            )
            check_values(notes, torch.bfloat16, (1, 4, 2, 1000, 900, 64, 64), mask, score)
    torch.use_deterministic_algorithms(True)
    try:
        with check("listed", "two runs, the same bits") as notes:
            mask = flex.create_block_mask(
                lambda b, h, i, j: i >= j, None, None, 2048, 2048, device=DEVICE
            )
            check_values(
                notes, torch.bfloat16, (1, 8, 2, 2048, 2048, 64, 64), mask, deterministic=True
            )
    finally:
        torch.use_deterministic_algorithms(False)


def part_listed_speed(quick):
    """Backward of 8192 x 8192, 16 heads of 128 and 32 of 64, blocks of 128 x 128 at random:
    its time over that without a mask times the share of visible blocks."""
    n = 8192
    compiled = torch.compile(flex.flex_attention, dynamic=False)
    for d, heads in ((128, 16), (64, 32)):
        q, k, v = (
            random(1, heads, n, d, dtype=torch.bfloat16).requires_grad_() for _ in range(3)
        )
        do = random(1, heads, n, d, dtype=torch.bfloat16)

        def time(o, inputs=(q, k, v), do=do):
            return measure(
                lambda: torch.autograd.grad(o, inputs, do, retain_graph=True)
            )  # fmt: skip

        dense = time(fa3.attention(q, k, v))
        for density in (0.25, 0.5, 0.9)[: 2 if quick else None]:
            with check("listed speed", f"{density:.0%} of blocks, {heads} heads of {d}") as notes:
                torch.manual_seed(1)
                seen = torch.rand(n // 128, n // 128, device=DEVICE) < density
                seen[:, 0] = True
                mask = flex.create_block_mask(
                    lambda b, h, i, j: seen[i // 128, j // 128],  # noqa: B023
                    None, None, n, n, device=DEVICE,
                )  # fmt: skip
                share = seen.float().mean().item()
                for name in ("lists", "flex"):
                    if name == "lists":
                        o = fa3.attention(q, k, v, block_mask=mask)
                    else:
                        o = compiled(q, k, v, block_mask=mask)
                    seconds = time(o)
                    notes.append(f"{name} {1e3 * seconds:.3f} ms")
                    if name == "lists":
                        notes.append(f"{seconds / dense / share:.2f} of the share")
                notes.append(f"dense {1e3 * dense:.3f} ms")
