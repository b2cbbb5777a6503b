# SPDX-License-Identifier: Apache-2.0
"""fa3.autotune: the kernel of a call with one set of options after the other, on the
GPU that is here; the fastest one is kept for later calls, and in the cache."""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
from typing import Any, Callable, Mapping, Sequence

from . import bench
from .build.driver import Kernel, _choose, get_driver
from .calls.call import Call, device_guard
from .calls.launch import plans
from .calls.request import Request
from .calls.traced import run_traced
from .errors import ArgumentError, CompileError, Fa3Error, TraceError, UnsupportedError
from .kernels import compiled as kernels
from .kernels.arguments import Arguments
from .kernels.spec import Spec
from .mods.trace import trace_mods
from .support import tensors

Point = Mapping[str, Any]

#: Tiles, then one option after the other beside the best of those before.
TILES: tuple[Point, ...] = tuple(
    {"block_m": m, "block_n": n}
    for m, n in itertools.chain(
        itertools.product((64,), (64, 128)), itertools.product((128,), (64, 96, 128, 160)),
        itertools.product((192,), (48, 64, 80, 96, 112)),
        itertools.product((256,), (32, 48, 64)),
    )
)  # fmt: skip
ROUNDS: tuple[tuple[Point, ...], ...] = (
    TILES,
    ({"mode": "cta"}, {"mode": "static"}, {"mode": "dynamic"}),
    ({"stages": 1}, {"ping_pong": "on"}, {"max_depth": 2}),
)
# Two runs of one kernel may differ by as much.
_GAIN = 0.99
# Of results of two kernels, over the largest one: sums have another order.
_TOLERANCE = 2e-2


@dataclasses.dataclass(frozen=True)
class Tuned:
    """options: the fastest, as `kernel_options` takes them; empty for those without.
    gain: the time without options over theirs, the mean of all shapes. times: seconds
    of each shape by options; refused: why others have none."""

    options: dict[str, Any]
    gain: float
    times: dict[str, list[float]]
    refused: dict[str, str]


def autotune(
    score_mod: Callable[..., Any] | None = None,
    shapes: Sequence[tuple[int, int, int, int, int, int]] = ((4, 16, 16, 4096, 4096, 128),),
    *, mask_mod: Callable[..., Any] | None = None, causal: bool = False,
    window: tuple[int | None, int | None] | None = None, softcap: float = 0.0,
    dtype: Any = None, return_lse: bool = False, layout: str = "bhsd",
    points: Sequence[Point] | None = None,
    progress: Callable[[str, str], None] | None = None,
) -> Tuned:  # fmt: skip
    """Times fa3.attention with these mods for some shapes (batch, heads, key heads,
    queries, keys, d) with other options of its kernel. What is fastest in the mean is
    what later calls of the same types, d and mods get, whatever their lengths, in
    this process and by the cache in others; fa3.tuning.forget takes that back.

    points: options to try, as kernel_options of fa3.flex_attention takes them, such as
      {"block_m": 128, "block_n": 64}. By default tiles, then modes and stages beside
      the best tile, about 20 compilations.
    dtype: of torch, bfloat16 by default. return_lse: as calls have it; calls that need
      gradients have it.
    progress: is told each point and its time, or why it was left out.

    A point that does not compile, spills, or gives other results is left out."""
    search = _Search(
        [
            _request(shape, dtype, layout, score_mod=score_mod, mask_mod=mask_mod,
                     causal=causal, window=window, softcap=softcap, return_lse=return_lse)
            for shape in shapes
        ], progress,
    )  # fmt: skip
    rounds = ROUNDS if points is None else (tuple(points),)
    best: Point = {}
    for candidates in rounds:
        base = best
        for point in candidates:
            if search.measure({**base, **point}) < _GAIN * search.measure(best):
                best = {**base, **point}
    search.keep(best)
    return Tuned(dict(best), 1.0 / search.measure(best), search.times, search.refused)


def forget(
    score_mod: Callable[..., Any] | None = None, head_dim: int = 128, *,
    mask_mod: Callable[..., Any] | None = None, causal: bool = False,
    window: tuple[int | None, int | None] | None = None, softcap: float = 0.0,
    dtype: Any = None, return_lse: bool = False,
) -> bool:  # fmt: skip
    """Calls get the kernel that they got before fa3.autotune; whether there was one."""
    one = _request(
        (1, 1, 1, 16, 16, head_dim), dtype, "bhsd", score_mod=score_mod, mask_mod=mask_mod,
        causal=causal, window=window, softcap=softcap, return_lse=return_lse,
    )  # fmt: skip
    _drop(one.spec)
    return get_driver().forget(*_asked(one.spec))


def _device() -> str:
    torch = tensors.torch_module()
    if torch is None or not torch.cuda.is_available():
        raise UnsupportedError("autotune: needs torch and a GPU that it sees")
    return "cuda"


def _request(shape: Any, dtype: Any, layout: str, **named: Any) -> Request:
    device = _device()
    torch = sys.modules["torch"]
    if len(shape) != 6 or not all(isinstance(n, int) and n > 0 for n in shape):
        raise ArgumentError(
            "shapes", f"{shape!r}, expected (batch, heads, key heads, queries, keys, d)"
        )
    batch, heads, key_heads, queries, keys, dim = shape

    def make(count: int, rows: int) -> Any:
        order = (batch, count, rows, dim) if layout == "bhsd" else (batch, rows, count, dim)
        return torch.randn(order, dtype=dtype or torch.bfloat16, device=device)

    q, k, v = make(heads, queries), make(key_heads, keys), make(key_heads, keys)
    return Request(q, k, v, Arguments(layout=layout, **named))


def _asked(spec: Spec) -> tuple[str, Any]:
    """Text and options that later calls compile."""
    return spec.to_mlir(), _choose(kernels.options_of(spec))


def _drop(spec: Spec) -> None:
    """Later calls of this process ask anew."""
    kernels.wait()
    kernels.kernels.pop((spec, ()), None)
    plans.clear()


class _Search:
    """`times` and `refused` by the text of a point."""

    def __init__(self, requests: Sequence[Request], progress: Any) -> None:
        specs = {one.spec for one in requests}
        if len(specs) != 1:
            raise ArgumentError(
                "shapes", f"{len(specs)} kernels, expected shapes of one head dim and group"
            )
        (self.spec,) = specs
        self.requests, self.progress = requests, progress
        self.times: dict[str, list[float]] = {}
        self.refused: dict[str, str] = {}
        self._kernels: dict[str, Kernel] = {}
        self._results: list[list[Any]] = []
        self.measure({})
        if self.refused:
            raise UnsupportedError(f"autotune: {self.refused['']}")

    def measure(self, point: Point) -> float:
        """The mean of the times over those without options."""
        name = " ".join(f"{key}={value}" for key, value in point.items())
        if name in self.refused:
            return math.inf
        if name not in self.times:
            try:
                self.times[name] = self._time(name, point)
                said = ", ".join(f"{1e6 * one:.1f} us" for one in self.times[name])
            except (CompileError, TraceError, Fa3Error) as error:
                said = self.refused[name] = str(error).splitlines()[0]
            if self.progress is not None:
                self.progress(name or "without options", said)
            return self.measure(point)
        pairs = zip(self.times[name], self.times[""])
        return math.exp(sum(math.log(a / b) for a, b in pairs) / len(self.requests))

    def _time(self, name: str, point: Point) -> list[float]:
        options = {**kernels.options_of(self.spec), **point}
        kernel = kernels.compile_traced(self.spec.to_mlir(), self.requests[0].traced, **options)
        if any(one.spill_store_bytes for one in kernel.usage):
            raise UnsupportedError("spills registers")
        made = [self._run(one, kernel) for one in self.requests]
        if not self._results:
            self._results = [results for _, results in made]
        for (_, results), wanted in zip(made, self._results):
            for one, other in zip(results, wanted):
                _compare(one, other)
        self._kernels[name] = kernel
        return [seconds for seconds, _ in made]

    def _run(self, one: Request, kernel: Kernel) -> tuple[float, list[Any]]:
        results = one._outputs()
        with device_guard(one.values["q"], one.device):
            call = Call(one, kernel, one._kernel_values(*results), results)
            given = [*(one.values[name] for name in call.names), *results]

            def launch() -> None:
                call.launch(given, one.scale_value, one.scalars)

            return bench.measure(launch), results

    def keep(self, point: Point) -> None:
        name = " ".join(f"{key}={value}" for key, value in point.items())
        _drop(self.spec)
        text, options = _asked(self.spec)
        if point:
            get_driver().keep(text, options, self._kernels[name])
        else:
            get_driver().forget(text, options)


def _compare(made: Any, wanted: Any) -> None:
    made, wanted = made.float(), wanted.float()
    finite = wanted.isfinite()
    if not bool((made.isfinite() == finite).all()):
        raise UnsupportedError("its results are not those without options")
    error = (made - wanted)[finite].abs().max() if bool(finite.any()) else 0.0
    if float(error) > _TOLERANCE * max(1.0, float(wanted[finite].abs().max())):
        raise UnsupportedError("its results are not those without options")


def attention(options: Any, q: Any, k: Any, v: Any, **named: Any) -> Any:
    """fa3.attention by a kernel of these options, without gradients."""
    torch = tensors.torch_module()
    names = ", ".join(name for name, _ in options)
    if torch is None or not isinstance(q, torch.Tensor):
        raise UnsupportedError(f"kernel_options: {names}, for tensors of torch only")
    if torch.compiler.is_compiling():
        raise UnsupportedError(
            f"kernel_options: {names}, under torch.compile; fa3.autotune chooses for all calls"
        )
    from .support import watch

    if watch.is_watched():
        watch.check_underived(f"kernel_options: {names}", q, k, v)
        if watch.is_recorded():
            raise UnsupportedError(
                f"kernel_options: {names}, while operators are recorded (make_fx, "
                "torch.jit.trace, dispatch modes); fa3.autotune chooses for all calls"
            )
    traced = None
    if named["score_mod"] is not None or named["mask_mod"] is not None:
        traced = trace_mods(named["score_mod"], named["mask_mod"])
    given = [q, k, v, *(traced.tensors if traced is not None else ())]
    if torch.is_grad_enabled() and any(one.requires_grad for one in given):
        raise UnsupportedError(
            f"kernel_options: {names}, with gradients; fa3.autotune(.., return_lse=True) "
            "chooses for all calls"
        )
    asked = Arguments(scale=named["scale"], score_mod=traced, return_lse=named["return_lse"])
    return run_traced(q, k, v, asked, options)
