#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fa3 from Python: attention, a mask and a score in Python, what was compiled.
On a GPU the kernels run; without one the interpreter runs them on the CPU.

    python3 examples/attention.py
"""

import pathlib
import sys

# The package of this clone, if none is installed.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))

import torch

import fa3

on_gpu = torch.cuda.is_available()
device = "cuda" if on_gpu else "cpu"
run = {} if on_gpu else {"interpret": True}
queries, keys = (2000, 3000) if on_gpu else (70, 110)

torch.manual_seed(0)
q = torch.randn(1, 4, queries, 64, dtype=torch.float16, device=device)
k, v = (torch.randn(1, 2, keys, 64, dtype=torch.float16, device=device) for _ in range(2))


def expected(score=lambda s: s, mask=None):
    """Attention by torch, in fp32."""
    wide = [one.float().repeat_interleave(2, 1) for one in (k, v)]
    s = score(q.float() @ wide[0].mT / 8)
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    return torch.softmax(s, -1) @ wide[1]


def report(what, o, reference):
    error = (o.float() - reference).abs().max().item()
    print(f"{what:44} largest difference from torch {error:.1e}")
    assert error < 5e-3


i = torch.arange(queries, device=device)[:, None]
j = torch.arange(keys, device=device)[None]

# 1. Causal attention with grouped heads.
o = fa3.attention(q, k, v, causal=True, **run)
report("causal", o, expected(mask=j <= i + keys - queries))


# 2. A mask and a score in Python, as FlexAttention takes them. What they capture
# is an argument of the kernel: another window or other slopes compile nothing.
def sliding(window):
    return lambda b, h, q, kv: (q - kv <= window) & (kv - q <= window)


slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625], device=device)


def alibi(score, b, h, q, kv):
    return score - slopes[h] * torch.abs(q - kv)


for window in (20, 30):
    o = fa3.attention(q, k, v, score_mod=alibi, mask_mod=sliding(window), **run)
    report(
        f"slopes, window of {window}", o,
        expected(
            lambda s: s - slopes[:, None, None] * (i - j).abs(), (i - j).abs() <= window
        ),
    )  # fmt: skip

# 3. What was compiled.
kernel = fa3.attention_kernel("f16", 64, causal=True)
print(f"\n{kernel}")
print(f"PTX of {len(kernel.ptx)} bytes, registers {kernel.registers}")
print("launches:", [launch.block for launch in kernel.parse().launches], "threads")
print("\n".join(kernel.ir("attention").splitlines()[:8]))
