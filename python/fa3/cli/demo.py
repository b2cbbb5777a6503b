# SPDX-License-Identifier: Apache-2.0
"""python -m fa3 demo: what the package does, in less than a minute. Without a GPU
kernels are compiled and one is run in the interpreter, beside a sum in Python; with
a Hopper and torch attention is launched, and compared with that of torch."""

from __future__ import annotations

import ctypes
import math
import random
import struct
import time
from typing import Any

from .. import api
from ..build import driver
from ..build.compiler import CompileOptions, get_compiler
from ..errors import CompilerNotFoundError, Fa3Error
from ..support.runtime import runtime
from .masks import classify, evaluate_mask

_WINDOW, _CAP, _QUERIES, _KEYS, _DIM = 16, 20.0, 40, 56, 64
_LAYER = f"""\
func.func @layer(%q: tensor<1x1x?x{_DIM}xf16> {{tile.name = "q"}},
                 %k: tensor<1x1x?x{_DIM}xf16> {{tile.name = "k"}},
                 %v: tensor<1x1x?x{_DIM}xf16> {{tile.name = "v"}})
    -> (tensor<1x1x?x{_DIM}xf16> {{tile.name = "o"}}) {{
  %o = attention.forward %q, %k, %v
    mods [#attention.softcap<{_CAP}>, #attention.window<left = {_WINDOW}, right = 0>]
    : (tensor<1x1x?x{_DIM}xf16>, tensor<1x1x?x{_DIM}xf16>, tensor<1x1x?x{_DIM}xf16>)
    -> tensor<1x1x?x{_DIM}xf16>
  return %o : tensor<1x1x?x{_DIM}xf16>
}}
"""


def run() -> int:
    """All of it; gives the exit code, 1 where a result is wrong."""
    start = time.perf_counter()
    _show_mask()
    _show_kernel("causal attention, bf16, head dim 128",
                 lambda: api.attention_kernel("bf16", 128, causal=True))  # fmt: skip
    try:
        get_compiler()
    except (CompilerNotFoundError, ImportError, OSError) as error:
        print(f"\nno compiler: {error}")
        return 1
    _show_kernel(f"a layer as MLIR text: window of {_WINDOW}, softcap {_CAP}",
                 lambda: driver.compile(_LAYER))  # fmt: skip
    right = _interpret()
    right &= _launch()
    spent = time.perf_counter() - start
    print(f"\n{'all right' if right else 'WRONG'}, {spent:.1f} s")
    return 0 if right else 1


def _title(text: str) -> None:
    print(f"\n== {text}")


def _show_mask() -> None:
    _title("a mask_mod: q >= kv and q - kv <= 256, in blocks of 64 x 64")

    def window(b: Any, h: Any, q: Any, kv: Any) -> Any:
        return (q >= kv) & (q - kv <= 256)

    for line in classify(evaluate_mask(window, 640, 640), 64):
        print("   ", line)
    print("    # full, + partial, . never loaded")


def _show_kernel(what: str, make: Any) -> None:
    _title(what)
    start = time.perf_counter()
    kernel = make()
    text = kernel.ptx
    spent = 1e3 * (time.perf_counter() - start)
    source = {"bundle": "ready-made", "cache": "from the cache"}.get(
        kernel.source, "compiled"
    )
    print(f"    {source} in {spent:.0f} ms, {len(text.splitlines())} lines of PTX")
    for instruction, meaning in (
        ("wgmma.mma_async", "tensor core products"),
        ("cp.async.bulk.tensor", "copies of tiles by TMA"),
        ("mbarrier.try_wait", "waits for copies and products"),
        ("setmaxnreg", "changes of registers of a warp group"),
    ):
        print(f"    {text.count(instruction):4} x {instruction:22} {meaning}")
    launches = kernel.parse().launches
    print(f"    threads of a block: {', '.join(str(one.block) for one in launches)}")


def _array(values: list[float] | None, rows: int) -> Any:
    memory = ctypes.create_string_buffer(2 * rows * _DIM)
    if values is not None:
        memory.raw = struct.pack(f"<{rows * _DIM}e", *values)
    array = runtime.Array(ctypes.addressof(memory), "f16", (1, 1, rows, _DIM))
    array.memory = memory
    return array


def _read(array: Any) -> list[float]:
    raw = array.memory.raw
    return list(struct.unpack(f"<{len(raw) // 2}e", raw))


def _expected(q: list[float], k: list[float], v: list[float]) -> list[float]:
    """The layer by its definition, in doubles."""
    made: list[float] = []
    for i in range(_QUERIES):
        last = i + _KEYS - _QUERIES
        seen = range(max(0, last - _WINDOW), last + 1)
        row = q[i * _DIM : (i + 1) * _DIM]
        scores = []
        for j in seen:
            score = math.fsum(a * b for a, b in zip(row, k[j * _DIM : (j + 1) * _DIM]))
            scores.append(_CAP * math.tanh(score / math.sqrt(_DIM) / _CAP))
        weights = [math.exp(score - max(scores)) for score in scores]
        total = math.fsum(weights)
        for d in range(_DIM):
            terms = (w * v[j * _DIM + d] for w, j in zip(weights, seen))
            made.append(math.fsum(terms) / total)
    return made


def _interpret() -> bool:
    _title("the same layer in the interpreter, with warp groups, copies and barriers")
    draw = random.Random(0)
    arrays = [
        _array([draw.gauss(0, 1) for _ in range(rows * _DIM)], rows)
        for rows in (_QUERIES, _KEYS, _KEYS)
    ]
    o = _array(None, _QUERIES)
    start = time.perf_counter()
    get_compiler().interpret(_LAYER, [*arrays, o], CompileOptions(), "hopper")
    spent = time.perf_counter() - start
    expected = _expected(*map(_read, arrays))
    error = max(abs(a - b) for a, b in zip(_read(o), expected))
    print(f"    {_QUERIES} queries, {_KEYS} keys: {spent:.1f} s, largest difference from "
          f"the sum in Python {error:.1e}")  # fmt: skip
    return error < 5e-3


def _launch() -> bool:
    _title("on a GPU")
    try:
        devices = [runtime.device_info(i) for i in range(runtime.device_count())]
    except (runtime.Error, OSError) as error:
        print(f"    none: {error}")
        return True
    if not any(one.compute_capability == (9, 0) for one in devices):
        print("    no Hopper (compute capability 9.0) among the devices")
        return True
    try:
        import torch
    except ImportError:
        print("    torch is not installed: it allocates what kernels are launched on")
        return True
    if not torch.cuda.is_available():
        print("    torch was made without CUDA, or sees no device")
        return True
    place = next(i for i, one in enumerate(devices) if one.compute_capability == (9, 0))
    return _compare(torch, f"cuda:{place}")


def _compare(torch: Any, device: str) -> bool:
    torch.manual_seed(0)
    q, k, v = (
        torch.randn(2, 16, 4096, 128, device=device, dtype=torch.bfloat16)
        for _ in range(3)
    )
    calls = {
        "fa3.attention": lambda: api.attention(q, k, v, causal=True),
        "torch": lambda: torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=True
        ),
    }
    results = {}
    for name, call in calls.items():
        try:
            results[name] = call()
        except (Fa3Error, runtime.Error) as error:
            print(f"    {name}: {error}")
            return False
        for _ in range(5):
            call()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(20):
            call()
        end.record()
        torch.cuda.synchronize()
        spent = start.elapsed_time(end) / 20
        rate = 2 * 2 * 2 * 16 * 4096**2 * 128 / 2 / spent / 1e9
        print(f"    {name:14} 2 x 16 x 4096 x 128, causal: {spent:.3f} ms, {rate:.0f} TFLOP/s")
    error = (results["fa3.attention"].float() - results["torch"].float()).abs().max().item()
    print(f"    largest difference {error:.1e}")
    return error < 2e-2
