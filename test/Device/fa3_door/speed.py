# SPDX-License-Identifier: Apache-2.0
"""Host time of a call, speed of kernels."""

import math
import time

import torch
from torch.nn import functional
from torch.nn.attention.flex_attention import create_block_mask

import fa3
from fa3 import flash_attn_interface as door
from fa3.kernels import program
from fa3.kernels.arguments import Arguments

from .common import DEVICE, check, random


def part_overhead(quick):
    """Host time of a call that is not waited for."""
    q = random(1, 8, 64, 64, dtype=torch.bfloat16)
    mask_mod = lambda b, h, i, j: i >= j  # noqa: E731
    blocks = create_block_mask(mask_mod, None, None, 64, 64, device=DEVICE)
    one, cache = (random(2, n, 8, 64, dtype=torch.bfloat16) for n in (1, 256))
    lengths = torch.full((2,), 200, dtype=torch.int32, device=DEVICE)
    text = program.to_text(Arguments(True))
    operator = torch.ops.fa3.inference.default if fa3.torch else None
    calls = {
        "fa3.attention": lambda: fa3.attention(q, q, q, causal=True),
        "fa3.attention, return_lse": lambda: fa3.attention(q, q, q, return_lse=True),
        "fa3.attention, mask_mod": lambda: fa3.attention(q, q, q, mask_mod=mask_mod),
        "fa3.torch.attention": lambda: fa3.torch.attention(q, q, q, causal=True),
        "torch.ops.fa3.inference": lambda: operator(q, q, q, [], [], text, None),
        "fa3.attention, block_mask": lambda: fa3.attention(q, q, q, block_mask=blocks),
        "flash_attn_with_kvcache": lambda: door.flash_attn_with_kvcache(
            one, cache, cache, cache_seqlens=lengths, causal=True
        ),
        "torch sdpa": lambda: functional.scaled_dot_product_attention(
            q, q, q, is_causal=True
        ),
    }
    for name, call in calls.items():
        with check("overhead", name) as notes, torch.no_grad():
            for _ in range(20):
                call()
            best = math.inf
            for _ in range(10):
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(100):
                    call()
                best = min(best, (time.perf_counter() - start) / 100)
            torch.cuda.synchronize()
            notes.append(f"{1e6 * best:.1f} us a call")
    with check("overhead", "of that, the launch by the C interface") as notes:
        fa3.attention(q, q, q, causal=True)
        launch = fa3.bench.alone(q, q, q, True)
        best = math.inf
        for _ in range(10):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(100):
                launch()
            best = min(best, (time.perf_counter() - start) / 100)
        torch.cuda.synchronize()
        notes.append(f"{1e6 * best:.1f} us a launch")
    with check("overhead", "speed of this host's Python") as notes:
        best = math.inf
        for _ in range(10):
            start = time.perf_counter()
            for _ in range(1000):
                torch.empty_like(q)
            best = min(best, (time.perf_counter() - start) / 1000)
        notes.append(f"{1e6 * best:.1f} us for an empty tensor")


def part_speed(quick):
    """Through the Python call: tensors in, tensor out."""
    for d, causal, n in ((128, False, 4096), (128, True, 4096), (64, True, 4096),
                         (256, False, 4096), (128, True, 16384), (128, True, 2048)):  # fmt: skip
        b, h = max(1, 16384 // n), 2048 // d
        q, k, v = (random(b, h, n, d, dtype=torch.bfloat16) for _ in range(3))
        flops = 4 * b * h * n * n * d * (0.5 if causal else 1)
        with check("speed", f"d={d} causal={causal} n={n} b={b} h={h}") as notes:
            backends = torch.nn.attention.SDPBackend
            share = [fa3.bench.through_the_call(q, k, v, causal) for _ in range(3)]
            notes.append(f"call/kernel {max(share):.3f}")
            if n >= 2048 and max(share) < 0.97:
                raise AssertionError(f"the call has {share} of the kernel's rate")
            for name, call in (
                ("fa3", lambda: fa3.attention(q, k, v, causal=causal)),
                ("cudnn", lambda: sdpa(backends.CUDNN_ATTENTION, q, k, v, causal)),
                ("flash", lambda: sdpa(backends.FLASH_ATTENTION, q, k, v, causal)),
            ):
                try:
                    seconds = measure(call)
                except RuntimeError as error:
                    notes.append(f"{name} -({str(error)[:30]})")
                    continue
                notes.append(f"{name} {flops / seconds / 1e12:.0f}")
            notes.append("TFLOP/s")


def sdpa(backend, q, k, v, causal):
    with torch.nn.attention.sdpa_kernel(backend):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def measure(call):
    """Median seconds of a call; the L2 cache is emptied before each."""
    flush = torch.empty(64 << 20, dtype=torch.int32, device=DEVICE)
    for _ in range(5):
        call()
    times = []
    for _ in range(30):
        flush.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return sorted(times)[len(times) // 2]
