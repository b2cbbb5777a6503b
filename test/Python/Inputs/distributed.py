# SPDX-License-Identifier: Apache-2.0
"""One of several processes on CPUs: torch's own ring attention and DTensor, with fa3
behind scaled_dot_product_attention.

distributed.py <rank> <number of processes> <file of the store>
"""

import itertools
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental._context_parallel import _attention as parallel

import fa3
from fa3 import sdpa

rank, count, store = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=count)
mesh = init_device_mesh("cpu", (count,))
aten = torch.ops.aten

# What runs where fa3 declines: there is no such kernel on a CPU.
stubs = torch.library.Library("aten", "IMPL")


def refused(*args, **named):
    raise AssertionError("fa3 did not run")


for name in ("flash", "cudnn", "efficient"):
    for kind in ("", "_backward"):
        stubs.impl(f"_scaled_dot_product_{name}_attention{kind}", refused, "CPU")
switch = sdpa._Switch(True, "CPU", interpret=True)
# Small problems as large ones are computed.
sdpa.ring._MUCH = 1


def attention(q, k, v, causal):
    """In fp32."""
    k, v = (one.repeat_interleave(q.shape[1] // k.shape[1], 1) for one in (k, v))
    s = q.float() @ k.float().mT * q.shape[3] ** -0.5
    if causal:
        ones = torch.ones(s.shape[2:], dtype=torch.bool).tril(s.shape[3] - s.shape[2])
        s = s.masked_fill(~ones, float("-inf"))
    return torch.softmax(s, -1) @ v.float()


def close(made, expected, tolerance=6e-3):
    torch.testing.assert_close(
        made.float(), expected.float(), atol=tolerance, rtol=tolerance
    )


def random(*shape):
    return torch.randn(*shape, dtype=torch.float16)


# The same numbers in every process.
torch.manual_seed(0)
q, k, v, do = (random(2, 4, 64, 16) for _ in range(4))

# Ring attention: a part of the sequence in each process; torch deals out rows so that
# all have as much to do where it is causal. By the rings of fa3 and by torch's, which
# merges by lse; keys gathered at once and passed from process to process.
for causal, rotation, ours in itertools.product(
    (False, True), ("allgather", "alltoall"), (True, False)
):
    parallel.set_rotate_method(rotation)
    if ours:
        switch.rings.install()
    else:
        switch.rings.remove()
    wide = [one.float().requires_grad_() for one in (q, k, v)]
    expected = attention(*wide, causal)
    wanted = torch.autograd.grad(expected, wide, do.float())
    parts = [one.clone() for one in (q, k, v, do)]
    parallel._cp_options.enable_load_balance = causal
    before = sdpa.report().ran
    with torch.no_grad(), parallel.context_parallel(
        mesh, buffers=parts, buffer_seq_dims=[2] * 4
    ):
        assert parts[0].shape[2] == 64 // count
        o, lse, *rest = parallel._scaled_dot_product_ring_flash_attention(
            mesh, *parts[:3], is_causal=causal
        )
        grads = parallel._scaled_dot_product_ring_flash_attention_backward(
            mesh, parts[3], *parts[:3], o, lse, None, None, 64, 64, 0.0, causal,
            *rest[4:6],
        )  # fmt: skip
        made = parallel.context_parallel_unshard(mesh, [o, *grads[:3]], [2] * 4)
    assert sdpa.report().ran - before > 1, sdpa.report()
    close(made[0], expected.detach())
    for one, exact in zip(made[1:], wanted):
        close(one, exact, 2e-2)
    # As DTensors, where torch asks which kernel to take: every kind of operator.
    if not ours:
        continue
    for kind in ("cudnn", "efficient"):
        ring = getattr(parallel, f"_scaled_dot_product_ring_{kind}_attention")
        rest = (None, True, 0.0, causal)
        with torch.no_grad(), parallel.context_parallel(
            mesh, buffers=(again := [one.clone() for one in (q, k, v, do)]),
            buffer_seq_dims=[2] * 4,
        ):  # fmt: skip
            other, sums, *_ = ring(mesh, *again[:3], *rest)
        close(other, o, 1e-6)
        close(sums.squeeze(-1)[:, :, : other.shape[2]], lse, 1e-6)
    # One that is not balanced: the first process has less to do.
    if causal:
        parallel._cp_options.enable_load_balance = False
        size = 64 // count
        mine = [one[:, :, rank * size : (rank + 1) * size] for one in (q, k, v, do)]
        o, lse, *rest = parallel._scaled_dot_product_ring_flash_attention(
            mesh, *mine[:3], is_causal=True
        )
        close(o, expected.detach()[:, :, rank * size : (rank + 1) * size])
        grads = parallel._scaled_dot_product_ring_flash_attention_backward(
            mesh, mine[3], *mine[:3], o, lse, None, None, 64, 64, 0.0, True, *rest[4:6],
        )  # fmt: skip
        for one, exact in zip(grads, wanted):
            close(one, exact[:, :, rank * size : (rank + 1) * size], 2e-2)

# DTensor: batch, or heads, shared out; each process runs its part and nothing is sent.
k, v = k[:, :2], v[:, :2]
for dim in (0, 1):
    given = [distribute_tensor(one.contiguous(), mesh, [Shard(dim)]) for one in (q, k, v)]
    for causal in (False, True):
        o, lse, *rest = aten._scaled_dot_product_flash_attention(
            *given, 0.0, causal, False, scale=None
        )
        assert o.placements == (Shard(dim),) and lse.placements == (Shard(dim),)
        assert o.to_local().shape[dim] == q.shape[dim] // count
        close(o.full_tensor(), attention(q, k, v, causal))
        wide = [one.float().requires_grad_() for one in (q, k, v)]
        wanted = torch.autograd.grad(attention(*wide, causal), wide, do.float())
        grads = aten._scaled_dot_product_flash_attention_backward(
            distribute_tensor(do, mesh, [Shard(dim)]), *given, o, lse, None, None, 64, 64,
            0.0, causal, *rest[4:6], scale=None,
        )  # fmt: skip
        for one, exact in zip(grads, wanted):
            assert one.placements == (Shard(dim),)
            close(one.full_tensor(), exact, 2e-2)

# fa3.attention itself is for what a process has.
whole = distribute_tensor(q, mesh, [Replicate()])
try:
    fa3.attention(whole, whole, whole)
    raise AssertionError("a DTensor was taken")
except fa3.ArgumentTypeError as error:
    assert "to_local()" in str(error), error
dist.barrier()
dist.destroy_process_group()
print("ok", sdpa.report().ran, flush=True)
# Threads of torch's process group may outlive the interpreter, which then aborts.
os._exit(0)
