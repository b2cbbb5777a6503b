#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # A tour of fa3
#
# A notebook in the percent format: editors and Jupyter (with jupytext) show it cell
# by cell, `python3 examples/tour.py` runs it. On a GPU the kernels run there;
# without one the interpreter runs them on the CPU, slowly, so that problems are small.

# %%
import pathlib
import sys

if "__file__" in globals():
    # The package of this clone, if none is installed.
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))

import torch

import fa3
from fa3.cli import classify, draw, evaluate_mask

on_gpu = torch.cuda.is_available()
device = "cuda" if on_gpu else "cpu"
run = {} if on_gpu else {"interpret": True}
n, block = (4096, 128) if on_gpu else (256, 64)
torch.manual_seed(0)
q = torch.randn(1, 4, n, 64, dtype=torch.float16, device=device)
k, v = (torch.randn(1, 2, n, 64, dtype=torch.float16, device=device) for _ in range(2))


def expected(q, k, v, seen, score=lambda s: s):
    """Attention by its definition, in fp32."""
    k, v = (one.float().repeat_interleave(2, 1) for one in (k, v))
    s = score(q.float() @ k.mT / 8).masked_fill(~seen, float("-inf"))
    return torch.softmax(s, -1) @ v


def compare(what, made, wanted, tolerance=5e-3):
    difference = (made.float() - wanted).abs().max().item()
    print(f"{what:48} largest difference from torch {difference:.1e}")
    assert difference < tolerance


# %% [markdown]
# ## A mask is a function
#
# Documents one behind the other, each causal, as FlexAttention takes it. What it
# captures, here where documents begin, is an argument of the kernel.

# %%
document = (torch.arange(n, device=device) * 5 // n).to(torch.int32)


def in_document(b, h, q, kv):
    return (document[q] == document[kv]) & (q >= kv)


cpu = document.cpu()
rows = evaluate_mask(lambda b, h, q, kv: (cpu[q] == cpu[kv]) & (q >= kv), n, n)
print("\n".join(classify(rows, n // 16)))
print("# full, + partial, . empty blocks")
picture = draw(rows, n // 16)  # a PNG, as `python -m fa3 mask --png` writes it
assert picture.startswith(b"\x89PNG")

i, j = torch.arange(n, device=device)[:, None], torch.arange(n, device=device)
seen = (document[:, None] == document) & (i >= j)
o = fa3.attention(q, k, v, mask_mod=in_document, **run)
compare("documents, causal", o, expected(q, k, v, seen))

# %% [markdown]
# ## Blocks that are not loaded
#
# The compiler finds empty blocks of inequalities by itself. Of a mask that is read
# from memory it cannot; a BlockMask lists them.

# %%
from torch.nn.attention.flex_attention import create_block_mask  # noqa: E402

mask = create_block_mask(in_document, None, None, n, n, device=device, BLOCK_SIZE=block)
print(f"{mask.sparsity():.0f} % of the blocks are empty")
o = fa3.attention(q, k, v, block_mask=mask, **run)
compare("documents, by lists of blocks", o, expected(q, k, v, seen))


# %% [markdown]
# ## Scores are a function, too, and have gradients
#
# `slopes` gets one as well: the compiler derives it.

# %%
slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625], device=device, requires_grad=True)


def alibi(score, b, h, q, kv):
    return score - slopes[h] * torch.abs(q - kv)


leaves = [one.clone().requires_grad_() for one in (q, k, v)]
o = fa3.attention(*leaves, score_mod=alibi, causal=True, **run)
made = torch.autograd.grad(o.float().square().sum(), [*leaves, slopes])
wide = [one.detach().float().requires_grad_() for one in leaves]
reference = expected(
    *wide, i >= j, lambda s: s - slopes[:, None, None] * (i - j).abs()
)
wanted = torch.autograd.grad(reference.square().sum(), [*wide, slopes])
for name, one, exact in zip(("dq", "dk", "dv", "dslopes"), made, wanted):
    largest = exact.abs().max()
    compare(f"{name}, in units of its largest", one / largest, exact / largest, 1e-2)

# %% [markdown]
# ## What was compiled
#
# One kernel serves all lengths, batches, heads and strides. It can be looked at on
# every stage, and its timeline be predicted without a GPU.

# %%
kernel = fa3.attention_kernel("f16", 64, causal=True)
print(kernel, kernel.source)
for stage in ("attention", "tile", "hopper"):
    print(f"{stage:10} {len(kernel.ir(stage).splitlines()):5} lines")
print(f"{'ptx':10} {len(kernel.ptx.splitlines()):5} lines, registers {kernel.registers}")

events = kernel.timeline(b=1, h=1, hk=1, sq=512, sk=512)["traceEvents"]
lanes = [one["args"]["name"] for one in events if one["name"] == "thread_name"]
cycles = max(1000 * (one["ts"] + one.get("dur", 0)) for one in events if "ts" in one)
print(f"{len(lanes)} lanes ({', '.join(lanes)}), {cycles:.0f} cycles predicted")

# %% [markdown]
# ## How fast
#
# Through the Python call, beside what torch has: `python -m fa3 bench` does the same
# from the command line.

# %%
if on_gpu:
    from fa3.bench import Case, bench

    bench([Case(4, 16, 16, 4096, 128, True, False, "bfloat16")], ["cudnn", "flash"], None, None)
else:
    print("no GPU: nothing to measure")
