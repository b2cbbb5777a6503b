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


@dataclasses.dataclass(frozen=True)
class Case:
    """One row: batch, heads, key heads, length, head dim."""

    batch: int
    heads: int
    key_heads: int
    length: int
    head_dim: int
    causal: bool
    backward: bool
    dtype: str

    @property
    def flops(self) -> float:
        """By the rule of FlashAttention's authors: 4 b h n^2 d, half of it where
        causal, 2.5 times that for a backward."""
        made = 4.0 * self.batch * self.heads * self.length**2 * self.head_dim
        made /= 2 if self.causal else 1
        return made * 3.5 if self.backward else made


def calls(case: Case, peers: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """A function of q, k and v for fa3 and each peer; what is not installed raises
    at its first call."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    from .api import attention

    backends = torch.nn.attention.SDPBackend

    def ours(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v, causal=case.causal)

    def sdpa(backend: Any) -> Callable[..., Any]:
        def call(q: Any, k: Any, v: Any) -> Any:
            with torch.nn.attention.sdpa_kernel(backend):
                return scaled_dot_product_attention(
                    q, k, v, is_causal=case.causal,
                    enable_gqa=case.heads != case.key_heads,
                )  # fmt: skip

        return call

    def flex() -> Callable[..., Any]:
        from torch.nn.attention import flex_attention as module

        mask = None
        if case.causal:
            mask = module.create_block_mask(
                lambda b, h, q, kv: q >= kv, None, None, case.length, case.length,
                device="cuda",
            )  # fmt: skip
        compiled = torch.compile(module.flex_attention, dynamic=False)
        return lambda q, k, v: compiled(
            q, k, v, block_mask=mask, enable_gqa=case.heads != case.key_heads
        )

    def fa4() -> Callable[..., Any]:
        from flash_attn.cute import flash_attn_func

        def call(q: Any, k: Any, v: Any) -> Any:
            turned = (one.transpose(1, 2) for one in (q, k, v))
            made = flash_attn_func(*turned, causal=case.causal)
            return (made[0] if isinstance(made, tuple) else made).transpose(1, 2)

        return call

    makers: dict[str, Callable[[], Callable[..., Any]]] = {
        "cudnn": lambda: sdpa(backends.CUDNN_ATTENTION),
        "flash": lambda: sdpa(backends.FLASH_ATTENTION),
        "flex": flex, "fa4": fa4,
    }  # fmt: skip
    made: dict[str, Callable[..., Any]] = {"fa3": ours}
    for name in peers:
        try:
            made[name] = makers[name]()
        except ImportError as error:
            made[name] = _raising(error)
    return made


def _raising(error: Exception) -> Callable[..., Any]:
    def call(*_: Any) -> Any:
        raise error

    return call


def run(case: Case, peers: Sequence[str]) -> dict[str, float | str]:
    """Seconds of each, or why there are none."""
    import torch

    dtype = getattr(torch, case.dtype)
    shape = (case.batch, case.key_heads, case.length, case.head_dim)
    k, v = (torch.randn(shape, device="cuda", dtype=dtype) for _ in range(2))
    q = torch.randn(
        (case.batch, case.heads, *shape[2:]), device="cuda", dtype=dtype
    )
    do = torch.randn_like(q)
    for one in (q, k, v):
        one.requires_grad_(case.backward)
    made: dict[str, float | str] = {}
    for name, call in calls(case, peers).items():
        def whole() -> Any:
            o = call(q, k, v)  # noqa: B023
            return torch.autograd.grad(o, (q, k, v), do) if case.backward else o

        try:
            made[name] = measure(whole)
            if name == "fa3" and not case.backward:
                made["share"] = through_the_call(q, k, v, case.causal)
        except Exception as error:  # a peer that cannot is a hole in the table
            made[name] = f"{type(error).__name__}: {error}".split("\n")[0]
    return made


def alone(q: Any, k: Any, v: Any, causal: bool) -> Callable[[], None]:
    """Launches the kernel that fa3.attention has run with these tensors, by the C
    interface: the same arguments and stream, o where it is, no checks."""
    import torch

    from .request import call_key, plans

    call = plans[call_key(q, k, v, causal, None, 0.0, None, False, "bhsd")]
    o = torch.empty_like(q)
    frame = call.plan.acquire()
    for slot, one in zip(call.tensor_slots, (q, k, v, o)):
        frame.words[slot] = one.data_ptr()
    frame.numbers[call.scale_slot] = call.default_scale
    stream = torch.cuda.current_stream().cuda_stream

    def launch() -> None:
        o.data_ptr()  # is kept as long as this function
        call.plan.run(frame, stream)

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
