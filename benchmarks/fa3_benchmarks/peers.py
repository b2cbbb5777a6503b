# SPDX-License-Identifier: Apache-2.0
"""Kernels of others on a Problem.

A maker gives a Candidate: `run()` launches and returns o as a view (batch,
head, sequence, element); `time(mode, iterations)` is given where torch's events
cannot see the kernel. It raises Unavailable with the reason.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import statistics
import time
from typing import Callable, Iterator, Optional

import torch

from fa3_device import peers as device_peers
from fa3_device import timing


class Unavailable(Exception):
    """Why a kernel cannot run here."""


@dataclasses.dataclass
class Candidate:
    run: Callable
    time: Optional[Callable] = None


def _heads_last(x):
    return x.transpose(1, 2)


def _only_plain(problem) -> None:
    if not problem.cell.is_plain:
        raise Unavailable(f"has no mask {problem.cell.mask_name}")


def _sdpa(backend):
    def make(problem, _options) -> Candidate:
        _only_plain(problem)
        call = device_peers.sdpa(
            device_peers.BACKENDS[backend],
            *(_heads_last(x) for x in (problem.q, problem.k, problem.v)),
            problem.cell.mask.causal,
        )
        return Candidate(lambda: _heads_last(call()))

    return make


# -----------------------------------------------------------------------------
# FlexAttention
# -----------------------------------------------------------------------------


def _mask_mod(mask):
    """FlexAttention's predicate of a mask, None if all is visible."""
    left, right = mask.window or (None, None)
    if mask.causal:
        right = 0 if right is None else min(right, 0)
    if left is None and right is None:
        return None

    def visible(b, h, i, j):
        keep = i == i
        if left is not None:
            keep = keep & (j >= i - left)
        if right is not None:
            keep = keep & (j <= i + right)
        return keep

    return visible


def _score_mod(problem):
    mask, slopes, bias = problem.cell.mask, problem.slopes, problem.bias
    if mask.softcap is not None:
        cap = mask.softcap
        return lambda s, b, h, i, j: torch.tanh(s / cap) * cap
    if mask.alibi:
        return lambda s, b, h, i, j: s - slopes[h] * (i - j).abs()
    if mask.bias:
        shared = bias[0]
        return lambda s, b, h, i, j: s + shared[h, i, j]
    return None


def compiled_flex(problem):
    """FlexAttention of a problem as a function of q, k and v."""
    try:
        from torch._inductor import config
        from torch.nn.attention import flex_attention as flex
    except ImportError as error:
        raise Unavailable(f"not in this torch: {error}") from None
    # Processes of a pool may have no children.
    config.compile_threads = 1
    torch._dynamo.config.recompile_limit = 64
    length = problem.cell.length
    mask_mod = _mask_mod(problem.cell.mask)
    block_mask = None
    if mask_mod:
        block_mask = flex.create_block_mask(
            mask_mod, None, None, length, length, device=problem.q.device
        )
    compiled = torch.compile(flex.flex_attention, dynamic=False)
    score_mod = _score_mod(problem)
    grouped = problem.cell.heads != problem.cell.key_heads

    def call(q, k, v):
        return compiled(
            q, k, v, score_mod=score_mod, block_mask=block_mask,
            enable_gqa=grouped,
        )  # fmt: skip

    return call


def _flex(problem, _options) -> Candidate:
    call = compiled_flex(problem)
    # Its own order in memory.
    q, k, v = (x.contiguous() for x in (problem.q, problem.k, problem.v))

    def run():
        with torch.no_grad():
            return call(q, k, v)

    return Candidate(run)


# -----------------------------------------------------------------------------
# Triton's tutorial
# -----------------------------------------------------------------------------

_triton_modules: dict = {}


def _triton_module(path):
    if path not in _triton_modules:
        spec = importlib.util.spec_from_file_location("triton_tutorial", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        _triton_modules[path] = module
    return _triton_modules[path]


def _triton(problem, options) -> Candidate:
    if not options.triton_kernel:
        raise Unavailable("not installed (no --triton-kernel)")
    _only_plain(problem)
    cell = problem.cell
    if cell.heads != cell.key_heads or cell.d != cell.dv:
        raise Unavailable("has equal heads and head dims only")
    attention = _triton_module(options.triton_kernel).attention
    q, k, v = (x.contiguous() for x in (problem.q, problem.k, problem.v))
    arguments = (q, k, v, cell.mask.causal, problem.scale)

    def run():
        with torch.no_grad():
            return attention(*arguments)

    try:  # Warp specialization is a further argument of newer files.
        with torch.no_grad():
            attention(*arguments, False)
    except TypeError:
        return Candidate(run)

    def run_without():
        with torch.no_grad():
            return attention(*arguments, False)

    return Candidate(run_without)


# -----------------------------------------------------------------------------
# JAX Mosaic GPU
# -----------------------------------------------------------------------------

# (block_q, block_kv, steps), the best at length 4096, by head dim and causal.
_MOSAIC = {
    (64, False): (128, 128, 2), (64, True): (64, 128, 2),
    (128, False): (64, 128, 2), (128, True): (64, 128, 2),
    (256, False): (64, 64, 2), (256, True): (64, 64, 2),
}  # fmt: skip


def _mosaic(problem, _options) -> Candidate:
    if importlib.util.find_spec("jax") is None:
        raise Unavailable("JAX is not installed")
    _only_plain(problem)
    cell = problem.cell
    config = _MOSAIC.get((cell.d, cell.mask.causal))
    if cell.type != "f16" or config is None or cell.d != cell.dv:
        raise Unavailable(f"no configuration for {cell.type} {cell.dims}")
    try:
        import jax
        from jax.experimental.mosaic.gpu import profiler
        from jax.experimental.pallas.ops.gpu import attention_mgpu
    except ImportError as error:
        raise Unavailable(f"not in this JAX: {error}") from None
    tuning = attention_mgpu.TuningConfig(*config, causal=cell.mask.causal)
    # The kernel does not scale scores.
    tensors = (problem.q * problem.scale, problem.k, problem.v)
    inputs = [
        jax.dlpack.from_dlpack(_heads_last(x).contiguous()) for x in tensors
    ]
    call = jax.jit(lambda q, k, v: attention_mgpu.attention(q, k, v, tuning))

    def run():
        o = jax.block_until_ready(call(*inputs))
        return _heads_last(torch.from_dlpack(o))

    def measure(mode, iterations):
        """Time of the kernel by CUPTI."""
        if mode == "burst":
            measured = profiler.measure(call, iterations=iterations)
            times = measured(*inputs)[1]
        elif mode == "single":
            measured, times = profiler.measure(call), []
            for _ in range(iterations):
                time.sleep(0.012)
                times.append(measured(*inputs)[1])
        else:
            raise Unavailable(f"has no mode {mode}")
        return timing.Time(statistics.median(times), min(times), max(times))

    return Candidate(run, measure)


# -----------------------------------------------------------------------------

MAKERS = {
    "cudnn": _sdpa("cudnn"),
    "fa2": _sdpa("fa2"),
    "flex": _flex,
    "triton": _triton,
    "mosaic": _mosaic,
}
# They compile or tune for each shape.
SLOW = ("flex", "triton", "mosaic")


class References:
    """Kernels of a --peer file for one family."""

    def __init__(self, options, cell):
        self._found = {}
        self._fits = (
            cell.is_plain
            and not cell.gradient
            and cell.type == "f16"
            and cell.d == cell.dv
            and cell.heads == cell.key_heads
        )
        if options.peer and self._fits:
            kernels = device_peers.Kernels(
                options.peer, options.peer_kernels, cell.d, cell.mask.causal
            )
            self._found = kernels.references

    def makers(self) -> Iterator[tuple[str, Callable]]:
        for name, reference in self._found.items():

            def make(problem, _options, reference=reference):
                q, k, v = (
                    _heads_last(x) for x in (problem.q, problem.k, problem.v)
                )
                o = torch.full_like(q, torch.nan)
                launch = reference.bind(q, k, v, o)

                def run():
                    launch()
                    return _heads_last(o)

                return Candidate(run)

            yield name, make


def absent(names, options) -> list[str]:
    """What is known to be missing before anything runs, as text."""
    lines = []
    if "triton" in names and not options.triton_kernel:
        lines.append(
            "triton: not installed (give --triton-kernel 06-fused-attention.py)"
        )
    if "mosaic" in names and importlib.util.find_spec("jax") is None:
        lines.append("mosaic: JAX is not installed")
    if "reference" in names and not options.peer:
        lines.append("reference: no --peer file given")
    return lines
