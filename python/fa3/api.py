"""fa3.attention: checks, the kernel for them, and the launch.

The first call with new shapes checks everything and makes a Plan; later calls
find it by one look-up. No kernel is compiled for lengths, batch, heads or
strides.
"""

from __future__ import annotations

import contextlib
import math
import sys
from typing import Any, Callable, Sequence

from . import tensors
from ._runtime import runtime
from .compiler import CompileOptions, get_compiler
from .driver import Kernel, compile
from .errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    TraceError,
    UnsupportedError,
)
from .plan import Plan, raise_status
from .spec import FLOATS_8, Auxiliary, Regions, Spec
from .tensors import CPU, View

_MAX_PLANS = 4096
_MAX_HEAD_DIM = 256
_MAX_SCALE = 2.0**27
_LAYOUTS = ("bhsd", "bshd")
# Dimensions of (batch, head, sequence) by layout.
_DIMS = {"bhsd": (0, 1, 2), "bshd": (0, 2, 1)}

_plans: dict[Any, "_Call"] = {}
_kernels: dict[Any, Kernel] = {}


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    softcap: float = 0.0,
    scale: float | None = None,
    score_mod: Callable[..., Any] | None = None,
    mask_mod: Callable[..., Any] | None = None,
    bias: Any = None,
    alibi_slopes: Any = None,
    q_descale: Any = None,
    k_descale: Any = None,
    v_descale: Any = None,
    out_dtype: Any = None,
    return_lse: bool = False,
    layout: str = "bhsd",
    out: Any = None,
    lse: Any = None,
    interpret: bool | str = False,
) -> Any:
    """Scaled dot-product attention: o, or (o, lse) with `return_lse`.

    q is (batch, heads, queries, d), k is (batch, key heads, keys, d), v is
    (batch, key heads, keys, dv); with layout="bshd" heads and sequence change
    places. Key heads divide heads. Element types are float16, bfloat16, or
    float8 (e4m3fn, e5m2) with descales; d and dv are multiples of 8 (float8: 16)
    up to 256 and may differ. The last dimension is contiguous, other strides are
    multiples of 16 bytes. o has q's type (float8: bfloat16, or `out_dtype`) and
    order in memory; lse is (batch, heads, queries), float32, natural logarithm.

    causal: key j is visible to query i if j <= i + keys - queries (aligned at
      the bottom right).
    window: keys before and after that a query sees, (left, right); None, or -1,
      is unbounded.
    softcap: cap * tanh(score / cap), 0 for none.
    scale: of q k^T; 1/sqrt(d). Positive, at most 2^27.
    score_mod, mask_mod: functions as FlexAttention takes them, score_mod(score,
      b, h, q, kv) and mask_mod(b, h, q, kv), traced once; indices are those of
      the tensors, from 0. Tensors that they read are arguments of the kernel.
    bias: (batch or 1, heads or 1, queries, keys), added to scores.
    alibi_slopes: (heads,), float32: score - slope * |i + keys - queries - j|.
    q_descale, k_descale, v_descale: what float8 numbers are in units of, float32
      (batch or 1, heads or key heads or 1); None is 1.
    out, lse: tensors to write into.
    interpret: run on tensors in host memory, slowly, for tests: True or a stage
      (tile to hopper) in the interpreter, "definition" by the definition.

    Raises ArgumentError (a ValueError; ArgumentTypeError is a TypeError too),
    UnsupportedError, TraceError, CompileError, fa3_runtime.Error."""
    torch = sys.modules.get("torch")
    # Nothing but numbers on tensors of torch: the way of almost all calls.
    if (
        torch is not None
        and type(q) is type(k) is type(v) is torch.Tensor
        and score_mod is mask_mod is bias is alibi_slopes is q_descale is None
        and k_descale is v_descale is out is lse is None
        and not interpret
    ):
        if torch.compiler.is_compiling() or (
            torch.is_grad_enabled()
            and (q.requires_grad or k.requires_grad or v.requires_grad)
        ):
            from . import torch as torch_door

            return torch_door.attention(
                q, k, v, causal=causal, window=window, softcap=softcap, scale=scale,
                out_dtype=out_dtype, return_lse=return_lse, layout=layout,
            )  # fmt: skip
        call = _plans.get(
            (
                q.shape, k.shape, v.shape, q.stride(), k.stride(), v.stride(),
                q.dtype, k.dtype, v.dtype, q.get_device(), k.get_device(),
                v.get_device(), causal, window, softcap, out_dtype, return_lse, layout,
            )
        )  # fmt: skip
        if call is not None:
            return call(q, k, v, scale)
    if torch is not None and torch.compiler.is_compiling():
        from . import torch as torch_door

        # Dynamo does not trace what compiles kernels: the graph breaks here.
        return torch_door.run_outside(
            q, k, v, causal, window, softcap, scale, score_mod, mask_mod, bias,
            alibi_slopes, (q_descale, k_descale, v_descale), out_dtype, return_lse,
            layout, out, lse, interpret,
        )  # fmt: skip
    return _Request(
        q, k, v, causal, window, softcap, scale, score_mod, mask_mod, bias,
        alibi_slopes, (q_descale, k_descale, v_descale), out_dtype, return_lse,
        layout, out, lse, interpret,
    ).run()  # fmt: skip


def attention_kernel(
    q_dtype: str = "bf16",
    head_dim: int = 128,
    *,
    head_dim_v: int | None = None,
    k_dtype: str | None = None,
    v_dtype: str | None = None,
    out_dtype: str | None = None,
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    softcap: float = 0.0,
    return_lse: bool = False,
    regions: Regions = Regions(),
    **options: Any,
) -> Kernel:
    """The kernel that fa3.attention uses for these types (spelled f16, bf16,
    f8E4M3FN, f8E5M2), head dims and mods; `options` are those of fa3.compile."""
    k_dtype = k_dtype or q_dtype
    v_dtype = v_dtype or q_dtype
    _check_types(q_dtype, k_dtype, v_dtype)
    out_dtype = out_dtype or ("bf16" if v_dtype in FLOATS_8 else q_dtype)
    head_dim_v = head_dim_v or head_dim
    for name, dim in (("head_dim", head_dim), ("head_dim_v", head_dim_v)):
        _check_head_dim(name, dim, v_dtype)
    spec = Spec(
        q_dtype, k_dtype, v_dtype, out_dtype, head_dim, head_dim_v,
        bool(causal), _check_window(window), _check_softcap(softcap),
        bool(return_lse), regions=regions,
    )  # fmt: skip
    return compile(spec.to_mlir(), **options)


# -----------------------------------------------------------------------------
# Checks
# -----------------------------------------------------------------------------


def _check_types(q: str, k: str, v: str) -> None:
    if q in ("f16", "bf16") or q in FLOATS_8:
        for name, type in (("k", k), ("v", v)):
            if type != q:
                raise ArgumentTypeError(name, f"element type {type}, expected {q} as q")
        return
    if q == "i8" and v in FLOATS_8:
        if k != "i8":
            raise ArgumentTypeError("k", f"element type {k}, expected i8 as q")
        return
    raise ArgumentTypeError(
        "q", f"element type {q}, expected f16, bf16, f8E4M3FN or f8E5M2"
    )


def _check_head_dim(name: str, dim: int, v_type: str) -> None:
    step = 16 if v_type in FLOATS_8 else 8
    if dim < step or dim > _MAX_HEAD_DIM or dim % step:
        raise ArgumentError(
            name, f"head dim {dim}, expected a multiple of {step} up to {_MAX_HEAD_DIM}"
        )


def _check_layout(layout: Any) -> str:
    if layout not in _LAYOUTS:
        raise ArgumentError("layout", f"{layout!r}, expected 'bhsd' or 'bshd'")
    return layout


def _check_window(window: Any) -> tuple[int | None, int | None] | None:
    if window is None:
        return None
    if not isinstance(window, Sequence) or len(window) != 2:
        raise ArgumentError("window", f"{window!r}, expected (left, right)")
    ends: list[int | None] = []
    for end in window:
        if end is None or end == -1:
            ends.append(None)
        elif isinstance(end, int) and 0 <= end <= 1 << 30:
            ends.append(end)
        else:
            raise ArgumentError("window", f"{end!r}, expected None, -1 or 0 to 2^30")
    return None if ends == [None, None] else (ends[0], ends[1])


def _check_softcap(softcap: Any) -> float:
    if not isinstance(softcap, (int, float)) or isinstance(softcap, bool):
        raise ArgumentTypeError("softcap", f"{softcap!r}, expected a number")
    value = float(softcap)
    if value and not 1e-37 < value < 1e37:
        raise ArgumentError("softcap", f"{value}, expected 0 or 1e-37 to 1e37")
    return value


def _check_scale(scale: Any, head_dim: int) -> float:
    if scale is None:
        return 1.0 / math.sqrt(head_dim)
    try:
        value = float(scale)
    except (TypeError, ValueError):
        raise ArgumentTypeError("scale", f"{scale!r}, expected a number") from None
    if not 0.0 < value <= _MAX_SCALE:
        raise ArgumentError("scale", f"{value}, expected above 0 and at most 2^27")
    return value


def _out_type(out_dtype: Any, q: str, v: str) -> str:
    if out_dtype is None:
        return "bf16" if v in FLOATS_8 else q
    name = str(out_dtype).rpartition(".")[2]
    chosen = tensors.TORCH_TYPES.get(name, name)
    allowed = ("f16", "bf16", "f32") if v in FLOATS_8 else (q,)
    if chosen not in allowed:
        raise ArgumentTypeError(
            "out_dtype", f"{out_dtype}, expected {' or '.join(allowed)}"
        )
    return chosen


# -----------------------------------------------------------------------------
# A call that is made for the first time
# -----------------------------------------------------------------------------


class _Request:
    """All that a call was given."""

    def __init__(
        self, q: Any, k: Any, v: Any, causal: Any, window: Any, softcap: Any,
        scale: Any, score_mod: Any, mask_mod: Any, bias: Any, alibi: Any,
        descales: tuple[Any, Any, Any], out_dtype: Any, return_lse: Any, layout: Any,
        out: Any, lse: Any, interpret: Any,
    ) -> None:  # fmt: skip
        self.values = {"q": q, "k": k, "v": v}
        self.views = {name: tensors.view(name, x) for name, x in self.values.items()}
        self.causal, self.window, self.softcap = causal, window, softcap
        self.out_dtype, self.return_lse = out_dtype, bool(return_lse)
        self.layout = _check_layout(layout)
        self.out, self.lse, self.interpret = out, lse, interpret
        self.scale = scale
        self._check_shapes()
        self.scale_value = _check_scale(scale, self.head_dim)
        self.regions, self.scalars = Regions(), ()
        self.traced: Any = None
        self._add_descales(descales)
        self._add_bias(bias)
        self._add_alibi(alibi)
        if score_mod is not None or mask_mod is not None:
            self._add_mods(score_mod, mask_mod)
        self._check_device()
        self.spec = self._make_spec()

    def run(self) -> Any:
        self._check_gradients()
        o, lse = self._outputs()
        if self.interpret:
            self._interpret(o, lse)
            return (o, lse) if self.return_lse else o
        if self.device == CPU:
            raise ArgumentError(
                "q", "device is cpu, expected CUDA (interpret=True runs on the CPU)"
            )
        with _device_guard(self.values["q"], self.device):
            call = self._make_call(o, lse)
            if tensors.is_torch(self.values["q"]):
                inputs = [self.values[n] for n in call.names]
                call.launch([*inputs, *self._given(o, lse)], self.scale_value,
                            self.scalars)  # fmt: skip
                self._remember(call)
            else:
                views = [tensors.view(n, self.values[n]) for n in call.names]
                views += [tensors.view("out", o)]
                views += [tensors.view("lse", lse)] if self.return_lse else []
                call.launch_at(
                    [one.address for one in views], self.scale_value, self.scalars, 0
                )
        return (o, lse) if self.return_lse else o

    def _check_gradients(self) -> None:
        torch = sys.modules.get("torch")
        if torch is None or not torch.is_grad_enabled():
            return
        for name, value in self.values.items():
            if getattr(value, "requires_grad", False):
                raise UnsupportedError(
                    f"gradients: '{name}' requires some, and there is no backward with "
                    "mods, bias, float8 or given outputs; use torch.no_grad()"
                )

    def _given(self, o: Any, lse: Any) -> list[Any]:
        return [o, lse] if self.return_lse else [o]

    def _check_shapes(self) -> None:
        q, k, v = (self.views[name] for name in "qkv")
        for name in "qkv":
            rank = len(self.views[name].shape)
            if rank != 4:
                raise ArgumentError(name, f"rank {rank}, expected 4 ({self.layout})")
        _check_types(q.type, k.type, v.type)
        b, h, s = _DIMS[self.layout]
        for name in ("k", "v"):
            shape = self.views[name].shape
            if shape[b] != q.shape[b]:
                raise ArgumentError(name, f"batch {shape[b]}, expected {q.shape[b]} as q")
        if v.shape[h] != k.shape[h]:
            raise ArgumentError("v", f"{v.shape[h]} heads, expected {k.shape[h]} as k")
        if v.shape[s] != k.shape[s]:
            raise ArgumentError("v", f"{v.shape[s]} keys, expected {k.shape[s]} as k")
        if k.shape[3] != q.shape[3]:
            raise ArgumentError("k", f"head dim {k.shape[3]}, expected {q.shape[3]} as q")
        if k.shape[h] == 0 or q.shape[h] % k.shape[h]:
            raise ArgumentError(
                "k", f"{k.shape[h]} heads, expected a divisor of q's {q.shape[h]}"
            )
        _check_head_dim("q", q.shape[3], v.type)
        _check_head_dim("v", v.shape[3], v.type)
        self.batch, self.heads, self.queries = q.shape[b], q.shape[h], q.shape[s]
        self.keys, self.head_dim, self.head_dim_v = k.shape[s], q.shape[3], v.shape[3]

    def _add(self, name: str, value: Any, narrow: Sequence[int | None] = ()) -> View:
        """A further tensor, whose extents are cut to `narrow`."""
        one = tensors.view(name, value)
        if narrow:
            shape = tuple(
                extent if wanted is None else wanted
                for extent, wanted in zip(one.shape, narrow)
            )
            one = View(one.address, one.type, shape, one.strides, one.device)
        self.values[name], self.views[name] = value, one
        return one

    def _add_descales(self, descales: tuple[Any, Any, Any]) -> None:
        names = ("q_descale", "k_descale", "v_descale")
        if self.views["v"].type not in FLOATS_8:
            for name, value in zip(names, descales):
                if value is not None:
                    raise ArgumentError(
                        name, f"is for float8, q has {self.views['q'].type}"
                    )
            return
        for name, value in zip(names, descales):
            if value is None:
                value = self._ones()
            one = tensors.view(name, value)
            if one.type != "f32":
                raise ArgumentTypeError(name, f"element type {one.type}, expected f32")
            shape, strides = one.shape, one.strides
            if len(shape) > 2:
                raise ArgumentError(name, f"rank {len(shape)}, expected 0 to 2")
            shape = (1,) * (2 - len(shape)) + shape
            strides = (1,) * (2 - len(strides)) + strides
            for extent, limit, what in (
                (shape[0], self.batch, "batch"), (shape[1], self.heads, "heads"),
            ):  # fmt: skip
                if extent < 1 or limit % extent:
                    raise ArgumentError(
                        name, f"extent {extent}, expected a divisor of {what} {limit}"
                    )
            self.values[name] = value
            self.views[name] = View(
                one.address, one.type, (*shape, 1), (*strides, 1), one.device
            )

    def _ones(self) -> Any:
        q = self.values["q"]
        if tensors.is_torch(q):
            torch = sys.modules["torch"]
            return _ones(torch, q.device)
        raise ArgumentError("q_descale", "is needed for float8 without torch")

    def _add_bias(self, bias: Any) -> None:
        if bias is None:
            return
        one = self._add("bias", bias)
        if one.type not in ("f16", "bf16", "f32"):
            raise ArgumentTypeError(
                "bias", f"element type {one.type}, expected f16, bf16 or f32"
            )
        limits = (self.batch, self.heads, self.queries, self.keys)
        if len(one.shape) != 4:
            raise ArgumentError("bias", f"rank {len(one.shape)}, expected 4")
        strides = list(one.strides)
        for d, (extent, limit) in enumerate(zip(one.shape, limits)):
            if extent == limit:
                continue
            if extent != 1 or d == 3:
                raise ArgumentError(
                    "bias", f"extent {extent} of dimension {d}, expected {limit}"
                    + ("" if d == 3 else " or 1"),
                )  # fmt: skip
            strides[d] = 0
        self.views["bias"] = View(
            one.address, one.type, limits, tuple(strides), one.device
        )

    def _add_alibi(self, slopes: Any) -> None:
        if slopes is None:
            return
        one = self._add("alibi", slopes)
        if one.type != "f32" or one.shape != (self.heads,):
            raise ArgumentError(
                "alibi_slopes",
                f"{one.type} of shape {one.shape}, expected f32 ({self.heads},)",
            )

    def _add_mods(self, score_mod: Any, mask_mod: Any) -> None:
        from .trace import trace_mods

        self.traced = traced = trace_mods(score_mod, mask_mod)
        self.regions, self.scalars = traced.regions, traced.scalars
        extents = {
            "b": self.batch, "h": self.heads, "i": self.queries, "j": self.keys,
        }  # fmt: skip
        for number, (value, uses) in enumerate(zip(traced.tensors, traced.uses)):
            name = f"aux{number}"
            one = self._add(name, value)
            if not one.shape:
                one = View(one.address, one.type, (1,), (1,), one.device)
            shape = list(one.shape)
            for d, index in enumerate(uses):
                if index is None:
                    continue
                if shape[d] < extents[index]:
                    raise ArgumentError(
                        traced.names[number],
                        f"{shape[d]} elements of dimension {d} are read at "
                        f"{extents[index]} indices",
                    )
                # A table may be longer than what is read of it.
                shape[d] = extents[index]
            type = "i8" if one.type == "i1" else one.type
            self.views[name] = View(
                one.address, type, tuple(shape), one.strides, one.device
            )

    def _check_device(self) -> None:
        self.device = self.views["q"].device
        for name, one in self.views.items():
            if one.device != self.device:
                where = ["cpu" if d == CPU else f"cuda:{d}"
                         for d in (one.device, self.device)]  # fmt: skip
                raise ArgumentError(
                    name, f"is on {where[0]}, expected {where[1]} as q"
                )
        for name in "qkv":
            one = self.views[name]
            if one.shape[3] > 1 and one.strides[3] != 1:
                raise ArgumentError(
                    name, f"stride {one.strides[3]} of the last dimension, expected 1"
                )
            size = tensors.ELEMENT_SIZES[one.type]
            for d in range(3):
                if one.shape[d] > 1 and one.strides[d] * size % 16:
                    raise ArgumentError(
                        name,
                        f"stride {one.strides[d]} of dimension {d}, expected a "
                        f"multiple of {16 // size} elements",
                    )

    def _make_spec(self) -> Spec:
        types = [self.views[name].type for name in "qkv"]
        bias = self.views.get("bias")
        return Spec(
            types[0], types[1], types[2],
            _out_type(self.out_dtype, types[0], types[2]),
            self.head_dim, self.head_dim_v, bool(self.causal),
            _check_window(self.window), _check_softcap(self.softcap), self.return_lse,
            Auxiliary(bias.type, 4) if bias else None, "alibi" in self.views,
            self.regions,
        )  # fmt: skip

    def _outputs(self) -> tuple[Any, Any]:
        b, h, s = _DIMS[self.layout]
        shape = list(self.views["q"].shape)
        shape[3] = self.head_dim_v
        o, lse = self.out, self.lse
        if o is None:
            strides = tensors.dense_like(tuple(shape), self.views["q"].strides)
            o = tensors.allocate(
                self.values["q"], self.spec.out_type, tuple(shape), strides
            )
        else:
            self._check_output("out", o, tuple(shape), self.spec.out_type)
        if self.return_lse:
            rows = (self.batch, self.heads, self.queries)
            if lse is None:
                lse = tensors.allocate(
                    self.values["q"], "f32", rows, tensors.contiguous(rows)
                )
            else:
                self._check_output("lse", lse, rows, "f32")
        elif lse is not None:
            raise ArgumentError("lse", "is given, but return_lse is False")
        return o, lse

    def _check_output(self, name: str, value: Any, shape: Any, type: str) -> None:
        one = tensors.view(name, value)
        if one.shape != shape:
            raise ArgumentError(name, f"shape {one.shape}, expected {shape}")
        if one.type != type:
            raise ArgumentTypeError(name, f"element type {one.type}, expected {type}")
        if one.device != self.device:
            raise ArgumentError(name, "is not on the device of q")

    def _kernel_values(self, o: Any, lse: Any) -> list[Any]:
        values: list[Any] = []
        for name in self.spec.inputs:
            if name == "scale":
                values.append(("f32", self.scale_value))
            elif name.startswith("arg"):
                number = int(name[3:])
                type = self.regions.scalars[number]
                values.append((type, self.scalars[number]))
            elif name in "qkv":
                values.append(self._in_order(self.views[name]))
            else:
                values.append(self.views[name].array())
        values.append(self._in_order(tensors.view("out", o)))
        if self.return_lse:
            values.append(tensors.view("lse", lse).array())
        return values

    def _in_order(self, one: View) -> Any:
        """As (batch, head, sequence, element), which is a matter of strides: one
        kernel serves all layouts."""
        order = (*_DIMS[self.layout], 3)
        return runtime.Array(
            one.address, one.type,
            [one.shape[d] for d in order], [one.strides[d] for d in order],
        )  # fmt: skip

    def _interpret(self, o: Any, lse: Any) -> None:
        if self.device != CPU:
            raise ArgumentError("interpret", "is for tensors in host memory")
        stage = "tile" if self.interpret is True else str(self.interpret)
        get_compiler().interpret(
            self.spec.to_mlir(),
            self._kernel_values(o, lse),
            CompileOptions(),
            None if stage == "definition" else stage,
        )

    def _compile(self) -> Kernel:
        text = self.spec.to_mlir()
        try:
            return compile(text)
        except CompileError as error:
            if self.traced is None:
                raise
            # Back to the user's line, where there is one.
            for one in error.diagnostics:
                file, line = self.traced.place_of(text, one.line)
                if one.severity == "error" and file:
                    raise TraceError(one.message, file, line) from error
            raise

    def _make_call(self, o: Any, lse: Any) -> "_Call":
        kernel = _kernels.get(self.spec)
        if kernel is None:
            kernel = _kernels[self.spec] = self._compile()
        program = kernel.program(self.device)
        try:
            plan = Plan(program, self._kernel_values(o, lse))
        except runtime.Error as error:
            if error.code in ("argument", "requirement"):
                raise ArgumentError("", str(error)) from error
            raise
        return _Call(self, kernel, plan, o, lse)

    def _remember(self, call: "_Call") -> None:
        if len(self.values) != 3 or self.out is not None or self.lse is not None:
            return
        if len(_plans) >= _MAX_PLANS:
            _plans.clear()
        q, k, v = (self.values[name] for name in "qkv")
        _plans[
            (
                q.shape, k.shape, v.shape, q.stride(), k.stride(), v.stride(),
                q.dtype, k.dtype, v.dtype, q.get_device(), k.get_device(),
                v.get_device(), self.causal, self.window, self.softcap,
                self.out_dtype, self.return_lse, self.layout,
            )
        ] = call  # fmt: skip


_all_ones: dict[Any, Any] = {}


def _ones(torch: Any, device: Any) -> Any:
    if device not in _all_ones:
        _all_ones[device] = torch.ones((1, 1), dtype=torch.float32, device=device)
    return _all_ones[device]


@contextlib.contextmanager
def _device_guard(like: Any, device: int) -> Any:
    if tensors.is_torch(like) and like.is_cuda:
        with sys.modules["torch"].cuda.device(device):
            yield
    else:
        yield


class _Call:
    """A plan with what is needed around it: outputs, stream, device."""

    def __init__(
        self, request: _Request, kernel: Kernel, plan: Plan, o: Any, lse: Any
    ) -> None:
        self.kernel, self.plan, self.device = kernel, plan, request.device
        inputs = request.spec.inputs
        self.default_scale = 1.0 / math.sqrt(request.head_dim)
        self.has_lse = request.return_lse
        tensor_slots, scalar_slots = [], []
        names = []
        for name, slot in zip(inputs, plan.slots):
            if name == "scale":
                self.scale_slot = slot
            elif name.startswith("arg"):
                scalar_slots.append(slot)
            else:
                tensor_slots.append(slot)
                names.append(name)
        outputs = plan.slots[len(inputs) :]
        self.names = tuple(names)
        self.tensor_slots = (*tensor_slots, *outputs)
        self.scalars = tuple(zip(scalar_slots, request.regions.scalars))
        if not tensors.is_torch(request.values["q"]):
            return
        torch = sys.modules["torch"]
        self._torch = torch
        self._slots3 = tuple(plan.slots[:3])
        self._out_slot = outputs[0]
        self._lse_slot = outputs[1] if self.has_lse else None
        q = request.values["q"]
        shape, strides = tuple(o.shape), o.stride()
        self._o_like_q = (
            request.out is None and o.dtype == q.dtype
            and shape == tuple(q.shape)
            and torch.empty_like(q, device="meta").stride() == strides
        )  # fmt: skip
        self._o = (shape, strides)
        self._o_named = {"dtype": o.dtype, "device": o.device}
        self._lse_shape = tuple(lse.shape) if self.has_lse else None
        self._lse_named = {"dtype": torch.float32, "device": o.device}
        self._empty, self._empty_like = torch.empty, torch.empty_like
        self._get_stream = torch._C._cuda_getCurrentRawStream
        self._get_device = torch._C._cuda_getDevice
        self._simple = plan.workspace_size == 0 and len(names) == 3

    def __call__(self, q: Any, k: Any, v: Any, scale: float | None) -> Any:
        """Once more, with tensors of the same types, shapes and strides."""
        if scale is None:
            scale = self.default_scale
        elif not (isinstance(scale, float) and 0.0 < scale <= _MAX_SCALE):
            scale = _check_scale(scale, 1)
        o = (
            self._empty_like(q)
            if self._o_like_q
            else self._torch.empty_strided(*self._o, **self._o_named)
        )
        if not self._simple or self._get_device() != self.device:
            lse = self._empty(self._lse_shape, **self._lse_named) if self.has_lse else None
            given = [q, k, v, *[self._ones_again(n) for n in self.names[3:]], o]
            with _device_guard(q, self.device):
                self.launch([*given, lse] if self.has_lse else given, scale, ())
            return (o, lse) if self.has_lse else o
        plan = self.plan
        frame = plan.acquire()
        words = frame.words
        slot_q, slot_k, slot_v = self._slots3
        words[slot_q] = q.data_ptr()
        words[slot_k] = k.data_ptr()
        words[slot_v] = v.data_ptr()
        words[self._out_slot] = o.data_ptr()
        frame.numbers[self.scale_slot] = scale
        if self.has_lse:
            lse = self._empty(self._lse_shape, **self._lse_named)
            words[self._lse_slot] = lse.data_ptr()
        code = plan.launch(
            plan.handle, frame.array, plan.count, None, 0,
            self._get_stream(self.device), frame.status_ref,
        )  # fmt: skip
        plan._free.append(frame)
        if code:
            raise_status(frame.status)
        return (o, lse) if self.has_lse else o

    def _ones_again(self, name: str) -> Any:
        return _ones(self._torch, self._o_named["device"])

    def launch(self, given: Sequence[Any], scale: float, scalars: Sequence[Any]) -> None:
        """With torch tensors in the order of the kernel, outputs last, on the
        current stream of their device."""
        torch = self._torch
        workspace = None
        if self.plan.workspace_size:
            # Freed in the order of the stream.
            workspace = torch.empty(
                self.plan.workspace_size, dtype=torch.uint8, device=given[0].device
            )
        self.launch_at(
            [tensor.data_ptr() for tensor in given], scale, scalars,
            self._get_stream(self.device),
            workspace.data_ptr() if workspace is not None else None,
        )  # fmt: skip

    def launch_at(
        self, addresses: Sequence[int], scale: float, scalars: Sequence[Any],
        stream: int, workspace: int | None = None,
    ) -> None:  # fmt: skip
        if self.plan.workspace_size and workspace is None:
            raise UnsupportedError(
                f"a workspace of {self.plan.workspace_size} bytes, without torch"
            )
        frame = self.plan.acquire()
        for slot, address in zip(self.tensor_slots, addresses):
            frame.words[slot] = address
        frame.numbers[self.scale_slot] = scale
        for (slot, type), value in zip(self.scalars, scalars):
            if type == "f32":
                frame.numbers[slot] = value
            else:
                frame.words[slot] = value
        try:
            self.plan.run(frame, stream, workspace)
        finally:
            self.plan.release(frame)
