# SPDX-License-Identifier: Apache-2.0
"""One of several processes on CPUs: ring-flash-attn on FlashAttention-2's functions of
fa3, each of its ways of sharing out a sequence against the attention of all of it.

ring.py <rank> <number of processes> <file of the store>
"""

import os
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))

import torch
import torch.distributed as dist

import fa3

fa3.install_flash_attn_2(interpret=True)
# Its adapter for transformers asks for names that transformers 5 has not.
adapters = types.ModuleType("ring_flash_attn.adapters")
adapters.substitute_hf_flash_attn = adapters.update_ring_flash_attn_params = None
sys.modules[adapters.__name__] = adapters

import ring_flash_attn as ring  # noqa: E402

rank, count, store = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=count)


def definition(q, k, v):
    """Causal, of (rows, heads, d), in f64."""
    q, k, v = (one.double().transpose(0, 1) for one in (q, k, v))
    s = q @ k.mT * q.shape[2] ** -0.5
    s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(1), -torch.inf)
    return (s.softmax(-1) @ v).transpose(0, 1)


def close(made, expected):
    torch.testing.assert_close(made.double(), expected.double(), atol=3e-2, rtol=3e-2)


def halves(one, ends):
    """Of each sequence, the rows of this process."""
    parts = [one[a:b].chunk(count)[rank] for a, b in zip(ends, ends[1:])]
    return torch.cat(parts)


def zigzag(one, ends):
    parts = []
    for a, b in zip(ends, ends[1:]):
        chunks = one[a:b].chunk(2 * count)
        parts += [chunks[rank], chunks[2 * count - 1 - rank]]
    return torch.cat(parts)


def check(call, share, ends):
    """Values and gradients; what all have is shared out by `share`."""
    torch.manual_seed(0)
    whole = [torch.randn(ends[-1], 2, 16).bfloat16().requires_grad_() for _ in range(3)]
    do = torch.randn(ends[-1], 2, 16).bfloat16()
    expected = torch.cat([
        definition(*(one[a:b] for one in whole)) for a, b in zip(ends, ends[1:])
    ])  # fmt: skip
    grads = torch.autograd.grad(expected, whole, do.double())
    given = [share(one, ends).detach().requires_grad_() for one in whole]
    made = call(*given)
    close(made, share(expected, ends))
    made = torch.autograd.grad(made, given, share(do, ends))
    for one, other in zip(made, grads):
        close(one, share(other, ends))


def dense(function):
    return lambda *given: function(*[one[None] for one in given], causal=True)[0]


check(dense(ring.ring_flash_attn_func), halves, [0, 32])
check(dense(ring.zigzag_ring_flash_attn_func), zigzag, [0, 32])
check(dense(ring.stripe_flash_attn_func), lambda one, ends: one[rank::count], [0, 32])

ends = [0, 32, 48]
cu = torch.tensor(ends, dtype=torch.int32)
for name, share in (
    ("ring_flash_attn_varlen_func", halves), ("zigzag_ring_flash_attn_varlen_func", zigzag),
):  # fmt: skip
    check(
        lambda *given: getattr(ring, name)(*given, cu // count, 32 // count, causal=True),  # noqa: B023
        share, ends,
    )  # fmt: skip
arrays = ring.llama3_flash_attn_prepare_cu_seqlens(cu, True, rank, count)
cu_q, cu_k, max_q, max_k, keys = arrays
check(
    lambda *given: ring.llama3_flash_attn_varlen_func(
        *given, cu_q, cu_k, max_q, max_k, heads_k_stride=1, local_k_slice=keys, causal=True
    ), lambda one, ends: one.chunk(count)[rank], ends,
)  # fmt: skip
dist.barrier()
dist.destroy_process_group()
print("ok", rank, flush=True)
# Threads of torch's process group may outlive the interpreter, which then aborts.
os._exit(0)
