# SPDX-License-Identifier: Apache-2.0
"""python -m fa3 bench: attention through the Python call, tensors in, tensor out,
beside what else runs on the machine. No kernel knows the lengths before the call."""

from __future__ import annotations

import csv
import dataclasses
import pathlib
from typing import Any, Callable, Sequence

#: In the order of the table; the names of --with.
PEERS = ("cudnn", "flash", "flex", "fa4")
#: What a row is: whole sequences, one query of each beside a cache, packed
#: sequences of three lengths.
KINDS = ("dense", "decode", "varlen")
FLOAT_8 = "float8_e4m3fn"


@dataclasses.dataclass(frozen=True)
class Case:
    """One row: batch, heads, key heads, length, head dim; keys before a query that it
    sees in a window."""

    batch: int
    heads: int
    key_heads: int
    length: int
    head_dim: int
    causal: bool
    backward: bool
    dtype: str
    kind: str = "dense"
    window: int | None = None

    @property
    def lengths(self) -> list[int]:
        """The sequences of the batch: packed ones have half, all and one and a half
        of the length in turn."""
        if self.kind != "varlen":
            return [self.length] * self.batch
        return [max(1, self.length * (1 + i % 3) // 2) for i in range(self.batch)]

    @property
    def pairs(self) -> float:
        """Pairs of a query and a key that it sees, of one head."""
        if self.kind == "decode":
            return self.batch * min(self.length, (self.window or self.length) + 1)
        if self.window is None:
            return sum(n * n for n in self.lengths) / (2 if self.causal else 1)
        seen = [min(n, self.window + 1) for n in self.lengths]
        return sum(w * (w + 1) / 2 + w * (n - w) for n, w in zip(self.lengths, seen))

    @property
    def flops(self) -> float:
        """By the rule of FlashAttention's authors: 4 h d for each pair that is seen,
        2.5 times that for a backward."""
        made = 4.0 * self.heads * self.head_dim * self.pairs
        return made * 3.5 if self.backward else made


def operands(case: Case, device: str) -> tuple[Any, Any, Any]:
    """q, k and v: (batch, heads, length, d), packed (tokens, heads, d)."""
    import torch

    def make(heads: int, rows: int) -> Any:
        shape = (case.batch, heads, rows, case.head_dim)
        if case.kind == "varlen":
            shape = (sum(case.lengths), heads, case.head_dim)
        made = torch.randn(shape, device=device, dtype=torch.bfloat16)
        made = made.to(getattr(torch, case.dtype))
        return made.requires_grad_(case.backward)

    queries = 1 if case.kind == "decode" else case.length
    return (
        make(case.heads, queries), make(case.key_heads, case.length),
        make(case.key_heads, case.length),
    )  # fmt: skip


def _ours(case: Case, device: str) -> Callable[..., Any]:
    """The function of fa3 that users of this kind call."""
    import torch

    from . import flash_attn_interface as interface
    from .api import attention

    window = None if case.window is None else (case.window, 0)
    if case.kind == "dense":
        if case.dtype == FLOAT_8:
            one = torch.ones(case.batch, case.key_heads, device=device)
            scales = {f"{name}_descale": one for name in "qkv"}
        else:
            scales = {}
        named = {"causal": case.causal, **({"window": window} if window else {}), **scales}
        return lambda q, k, v: attention(q, k, v, **named)
    shared: dict[str, Any] = {"window_size": window or (-1, -1), "causal": case.causal}
    if case.dtype == FLOAT_8:
        one = torch.ones(case.batch, case.key_heads, device=device)
        shared |= {f"{name}_descale": one for name in "qkv"}
    lengths = torch.tensor(case.lengths, dtype=torch.int32, device=device)
    if case.kind == "decode":

        def decode(q: Any, k: Any, v: Any) -> Any:
            return interface.flash_attn_with_kvcache(
                *(one.transpose(1, 2) for one in (q, k, v)), cache_seqlens=lengths,
                **shared,
            )  # fmt: skip

        return decode
    starts, most = _starts(lengths), max(case.lengths)
    return lambda q, k, v: interface.flash_attn_varlen_func(
        q, k, v, starts, starts, most, most, **shared
    )


def _starts(lengths: Any) -> Any:
    import torch

    zero = torch.zeros(1, dtype=torch.int32, device=lengths.device)
    return torch.cat([zero, lengths.cumsum(0).to(torch.int32)])


def _sdpa(case: Case, backend: Any) -> Callable[..., Any]:
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    if case.kind == "varlen" or case.window is not None:
        raise ImportError(f"has no {case.kind if case.window is None else 'window'}")
    # Of one query, which is the last, causal hides nothing.
    causal = case.causal and case.kind == "dense"

    def call(q: Any, k: Any, v: Any) -> Any:
        with torch.nn.attention.sdpa_kernel(backend):
            return scaled_dot_product_attention(
                q, k, v, is_causal=causal, enable_gqa=case.heads != case.key_heads
            )

    return call


def _flash(case: Case, device: str) -> Callable[..., Any]:
    import torch

    if case.kind != "varlen":
        return _sdpa(case, torch.nn.attention.SDPBackend.FLASH_ATTENTION)
    if case.window is not None:
        raise ImportError("has no window")
    from torch.nn.attention.varlen import varlen_attn

    starts = _starts(torch.tensor(case.lengths, dtype=torch.int32, device=device))
    most = max(case.lengths)
    return lambda q, k, v: varlen_attn(
        q, k, v, starts, starts, most, most, is_causal=case.causal,
        enable_gqa=case.heads != case.key_heads,
    )  # fmt: skip


def _flex(case: Case, device: str) -> Callable[..., Any]:
    import torch
    from torch.nn.attention import flex_attention as module

    if case.kind == "varlen":
        raise ImportError("has no packed sequences here")
    mask, queries = None, case.length
    offset = 0
    if case.kind == "decode":
        queries, offset = 1, case.length - 1
    if case.window is not None:
        left = case.window

        def seen(b: Any, h: Any, q: Any, kv: Any) -> Any:
            return (q + offset >= kv) & (q + offset - kv <= left)

    else:

        def seen(b: Any, h: Any, q: Any, kv: Any) -> Any:
            return q + offset >= kv

    if case.window is not None or (case.causal and case.kind == "dense"):
        mask = module.create_block_mask(seen, None, None, queries, case.length, device=device)
    compiled = torch.compile(module.flex_attention, dynamic=False)
    return lambda q, k, v: compiled(
        q, k, v, block_mask=mask, enable_gqa=case.heads != case.key_heads
    )


def _fa4(case: Case) -> Callable[..., Any]:
    from flash_attn.cute import flash_attn_func

    if case.kind != "dense" or case.window is not None:
        raise ImportError("is measured without --kind and --window only")

    def call(q: Any, k: Any, v: Any) -> Any:
        turned = (one.transpose(1, 2) for one in (q, k, v))
        made = flash_attn_func(*turned, causal=case.causal)
        return (made[0] if isinstance(made, tuple) else made).transpose(1, 2)

    return call


def calls(case: Case, peers: Sequence[str], device: str = "cuda") -> dict[str, Callable[..., Any]]:
    """A function of q, k and v for fa3 and each peer; what is not installed, or does
    not take the case, raises at its first call."""
    import torch

    backends = torch.nn.attention.SDPBackend
    makers: dict[str, Callable[[], Callable[..., Any]]] = {
        "cudnn": lambda: _sdpa(case, backends.CUDNN_ATTENTION),
        "flash": lambda: _flash(case, device),
        "flex": lambda: _flex(case, device), "fa4": lambda: _fa4(case),
    }  # fmt: skip
    made: dict[str, Callable[..., Any]] = {"fa3": _ours(case, device)}
    for name in peers:
        try:
            if case.dtype == FLOAT_8:
                raise ImportError("has no float8")
            made[name] = makers[name]()
        except (ImportError, TypeError) as error:
            made[name] = _raising(error)
    return made


def _raising(error: Exception) -> Callable[..., Any]:
    def call(*_: Any) -> Any:
        raise error

    return call


def run(case: Case, peers: Sequence[str], device: str = "cuda") -> dict[str, float | str]:
    """Seconds of each, or why there are none."""
    import torch

    q, k, v = operands(case, device)
    do = torch.randn_like(q) if case.backward else None
    made: dict[str, float | str] = {}
    for name, call in calls(case, peers, device).items():

        def whole() -> Any:
            o = call(q, k, v)  # noqa: B023
            return torch.autograd.grad(o, (q, k, v), do) if case.backward else o

        try:
            made[name] = measure(whole)
            plain = case.kind == "dense" and case.window is None
            if name == "fa3" and plain and not case.backward and case.dtype != FLOAT_8:
                made["share"] = through_the_call(q, k, v, case.causal)
        except Exception as error:  # a peer that cannot is a hole in the table
            made[name] = f"{type(error).__name__}: {error}".split("\n")[0]
    return made


def alone(q: Any, k: Any, v: Any, causal: bool) -> Callable[[], None]:
    """Launches the kernel that fa3.attention has run with these tensors, by the C
    interface: the same arguments and stream, o where it is, no checks."""
    import torch

    from .calls.launch import plans
    from .calls.request import call_key

    call = plans[call_key(q, k, v, causal, None, 0.0, None, False, "bhsd")]
    o = torch.empty_like(q)
    launcher = call.launcher
    addresses = [one.data_ptr() for one in (q, k, v, o)]
    frame = launcher.filled([*addresses[:3], call.default_scale, addresses[3]])
    stream = torch.cuda.current_stream().cuda_stream

    def launch() -> None:
        o.data_ptr()  # is kept as long as this function
        launcher.plan.run(frame, stream)

    return launch


def through_the_call(q: Any, k: Any, v: Any, causal: bool) -> float:
    """The rate of fa3.attention over that of its kernel alone, on the GPU: tensors in,
    tensor out, beside a launch with everything prepared."""
    import torch

    from .api import attention

    with torch.no_grad():
        attention(q, k, v, causal=causal)
        kernel = measure(alone(q, k, v, causal))
        return kernel / measure(lambda: attention(q, k, v, causal=causal))


def measure(call: Callable[[], Any]) -> float:
    """Median seconds of a call on the GPU, with an empty L2 cache."""
    import torch

    flush = torch.empty(64 << 20, dtype=torch.int32, device="cuda")
    for _ in range(3):
        call()
    times = []
    for _ in range(20):
        flush.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return sorted(times)[len(times) // 2]


def bench(
    cases: Sequence[Case], peers: Sequence[str], out: pathlib.Path | None,
    plot: pathlib.Path | None,
) -> None:  # fmt: skip
    """Prints a table of TFLOP/s; writes it as CSV and as a picture."""
    names = ("fa3", *peers)
    print(f"{'length':>8} {'batch':>6} " + " ".join(f"{name:>8}" for name in names)
          + "  TFLOP/s; fa3's share of its kernel alone")  # fmt: skip
    rows, holes = [], {}
    for case in cases:
        made = run(case, peers)
        row: dict[str, Any] = dataclasses.asdict(case)
        cells = []
        for name in names:
            value = made[name]
            if isinstance(value, str):
                holes[name] = value
                cells.append(f"{'-':>8}")
                row[name] = ""
            else:
                row[name] = f"{case.flops / value / 1e12:.1f}"
                cells.append(f"{row[name]:>8}")
        share = made.get("share")
        row["share"] = f"{share:.3f}" if share is not None else ""
        rows.append(row)
        print(f"{case.length:8} {case.batch:6} " + " ".join(cells) + f"  {row['share']}",
              flush=True)  # fmt: skip
    for name, why in holes.items():
        print(f"{name}: {why}")
    if out is not None:
        with out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        print(f"{out} written")
    if plot is not None:
        draw(plot, names, rows)
        print(f"{plot} written")


def draw(path: pathlib.Path, names: Sequence[str], rows: Sequence[Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for name in names:
        points = [(row["length"], float(row[name])) for row in rows if row[name]]
        if points:
            pyplot.plot(*zip(*points), "o-", label=name)
    pyplot.xscale("log", base=2)
    pyplot.xlabel("length")
    pyplot.ylabel("TFLOP/s")
    pyplot.legend()
    pyplot.savefig(path)
