# SPDX-License-Identifier: Apache-2.0
"""fa3 in JAX, by the FFI of XLA:

    o = jax.jit(lambda q, k, v: fa3.jax.attention(q, k, v, causal=True))(q, k, v)

The handler is a function of Python that XLA calls through ctypes: it reads the
call, finds the plan made by an earlier one, and launches on XLA's stream. Only
fields of XLA's C interface that its version 0.x does not move are read.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import hashlib
import threading
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from .errors import ArgumentError, UnsupportedError
from .request import Request
from .tensors import CPU, View, contiguous
from .trace import Traced

TARGET = "fa3_forward"
_MAX_PLANS = 4096

# -----------------------------------------------------------------------------
# The C interface of XLA's FFI
# -----------------------------------------------------------------------------

_p, _size = ctypes.c_void_p, ctypes.c_size_t
_HEAD: list[Any] = [("struct_size", _size), ("extension", _p)]
_METADATA_EXTENSION = 1
_EXECUTE = 3
_INTERNAL, _INVALID_ARGUMENT, _UNIMPLEMENTED = 13, 3, 12


class _Extension(ctypes.Structure):
    _fields_ = [("struct_size", _size), ("type", ctypes.c_int), ("next", _p)]


class _Version(ctypes.Structure):
    _fields_ = [*_HEAD, ("major", ctypes.c_int), ("minor", ctypes.c_int)]


class _Metadata(ctypes.Structure):
    _fields_ = [
        ("struct_size", _size), ("version", _Version), ("traits", ctypes.c_uint32),
    ]  # fmt: skip


class _MetadataExtension(ctypes.Structure):
    _fields_ = [("base", _Extension), ("metadata", ctypes.POINTER(_Metadata))]


class _Api(ctypes.Structure):
    _fields_ = [
        *_HEAD, ("version", _Version), ("internal", _p),
        ("error_create", _p), ("error_message", _p), ("error_destroy", _p),
        ("register", _p), ("stream_get", _p), ("type_register", _p),
        ("context_get", _p), ("state_set", _p), ("state_get", _p), ("allocate", _p),
        ("free", _p), ("schedule", _p), ("num_threads", _p), ("future_create", _p),
        ("future_set", _p), ("future_error", _p), ("run_id", _p),
        ("device_ordinal", _p),
    ]  # fmt: skip


class _List(ctypes.Structure):
    """Arguments and results."""

    _fields_ = [*_HEAD, ("count", ctypes.c_int64), ("types", _p),
                ("items", ctypes.POINTER(_p))]  # fmt: skip


class _Span(ctypes.Structure):
    _fields_ = [("data", _p), ("length", _size)]


class _Attributes(ctypes.Structure):
    _fields_ = [
        *_HEAD, ("count", ctypes.c_int64), ("types", ctypes.POINTER(ctypes.c_int)),
        ("names", ctypes.POINTER(ctypes.POINTER(_Span))), ("items", ctypes.POINTER(_p)),
    ]  # fmt: skip


class _Frame(ctypes.Structure):
    _fields_ = [
        *_HEAD, ("api", ctypes.POINTER(_Api)), ("context", _p),
        ("stage", ctypes.c_int), ("args", _List), ("results", _List),
        ("attributes", _Attributes),
    ]  # fmt: skip


class _Buffer(ctypes.Structure):
    _fields_ = [*_HEAD, ("type", ctypes.c_int), ("data", _p), ("rank", ctypes.c_int64),
                ("dims", ctypes.POINTER(ctypes.c_int64))]  # fmt: skip


class _ErrorArgs(ctypes.Structure):
    _fields_ = [*_HEAD, ("message", ctypes.c_char_p), ("code", ctypes.c_int)]


class _StreamArgs(ctypes.Structure):
    _fields_ = [*_HEAD, ("context", _p), ("stream", _p)]


class _OrdinalArgs(ctypes.Structure):
    _fields_ = [*_HEAD, ("context", _p), ("ordinal", ctypes.c_int32)]


_TYPES = {1: "i1", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "i8", 10: "f16",
          11: "f32", 16: "bf16", 19: "f8E5M2", 20: "f8E4M3FN"}  # fmt: skip
_NAMES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float8_e5m2": "f8E5M2",
    "float8_e4m3fn": "f8E4M3FN",
}  # fmt: skip
_CALL = ctypes.CFUNCTYPE(_p, _p)


def _call_api(function: int, args: Any) -> None:
    """A function of XLA's table; an error there is one here."""
    args.struct_size = ctypes.sizeof(args)
    if _CALL(function)(ctypes.addressof(args)):
        raise RuntimeError("XLA gives neither stream nor device")


def _error(frame: _Frame, message: str, code: int) -> int:
    args = _ErrorArgs(message=message.encode(), code=code)
    args.struct_size = ctypes.sizeof(args)
    return _CALL(frame.api.contents.error_create)(ctypes.addressof(args)) or 0


def _views(items: _List, device: int) -> list[View]:
    """Buffers as tensors of rank 4 (lse: 3): what vmap adds is batch."""
    made = []
    for index in range(items.count):
        one = _Buffer.from_address(items.items[index])
        shape = tuple(one.dims[: one.rank])
        made.append(View(one.data or 0, _TYPES[one.type], shape, (), device))
    return made


def _fold(one: View, rank: int) -> View:
    if rank < 0:
        return View(one.address, one.type, one.shape, contiguous(one.shape), one.device)
    extra = len(one.shape) - rank
    batch = int(np.prod(one.shape[: extra + 1]))
    shape = (batch, *one.shape[extra + 1 :])
    return View(one.address, one.type, shape, contiguous(shape), one.device)


def _text(attributes: _Attributes, name: str) -> str:
    for index in range(attributes.count):
        span = attributes.names[index].contents
        if ctypes.string_at(span.data, span.length).decode() == name:
            value = _Span.from_address(attributes.items[index])
            return ctypes.string_at(value.data, value.length).decode()
    raise KeyError(name)


# -----------------------------------------------------------------------------
# The handler
# -----------------------------------------------------------------------------

_plans: dict[Any, Any] = {}


def _describe(frame: _Frame) -> None:
    """Tells XLA what it asks of a handler at registration."""
    extension = ctypes.cast(frame.extension, ctypes.POINTER(_MetadataExtension))
    metadata = extension.contents.metadata.contents
    metadata.version.major = frame.api.contents.version.major if frame.api else 0
    metadata.version.minor = frame.api.contents.version.minor if frame.api else 3
    # Not for command buffers: a first call loads a program, which a capture does
    # not allow.
    metadata.traits = 0


def _handle(address: int, interpret: bool) -> int:
    frame = _Frame.from_address(address)
    if frame.extension:
        extension = _Extension.from_address(frame.extension)
        if extension.type == _METADATA_EXTENSION:
            _describe(frame)
            return 0
    if frame.stage != _EXECUTE:
        return 0
    try:
        _execute(frame, interpret)
        return 0
    except UnsupportedError as error:
        return _error(frame, f"fa3: {error}", _UNIMPLEMENTED)
    except ValueError as error:
        return _error(frame, f"fa3: {error}", _INVALID_ARGUMENT)
    except BaseException as error:  # none may pass into XLA
        return _error(frame, f"fa3: {type(error).__name__}: {error}", _INTERNAL)


def _execute(frame: _Frame, interpret: bool) -> None:
    device = CPU
    if not interpret:
        ordinal = _OrdinalArgs(context=frame.context)
        _call_api(frame.api.contents.device_ordinal, ordinal)
        device = ordinal.ordinal
    given = _views(frame.args, device)
    given = [
        *(_fold(one, 4) for one in given[:3]), *(_fold(one, -1) for one in given[3:])
    ]  # fmt: skip
    made = _views(frame.results, device)
    made = [_fold(made[0], 4), *(_fold(one, 3) for one in made[1:])]
    program = _text(frame.attributes, "program")
    if interpret:
        _request(given, made, program, True).run()
        return
    stream = _StreamArgs(context=frame.context)
    _call_api(frame.api.contents.stream_get, stream)
    views = [*given, *made]
    key = (program, device, tuple((one.shape, one.type) for one in views))
    found = _plans.get(key)
    if found is None:
        request = _request(given, made, program, False)
        lse = made[1] if len(made) > 1 else None
        call = request.make_call(made[0], lse)
        if len(_plans) >= _MAX_PLANS:
            _plans.clear()
        found = _plans[key] = (call, request.scale_value)
    call, scale = found
    call.launch_at([one.address for one in views], scale, (), stream.stream or 0)


def _request(given: Any, made: Any, program: str, interpret: bool) -> Any:
    named = _parse(program)
    lse = made[1] if len(made) > 1 else None
    q, k, v, *aux = given
    traced = _traces.get(named["mods"])
    if traced is not None:
        ranks = [one.rank for one in traced.regions.aux]
        if [max(1, len(one.shape)) for one in aux] != ranks:
            raise UnsupportedError("arrays of a mod under vmap")
        traced = dataclasses.replace(traced, tensors=tuple(aux))
    return Request(
        q, k, v, causal=named["causal"], window=named["window"],
        softcap=named["softcap"], scale=named["scale"], score_mod=traced,
        return_lse=lse is not None, layout=named["layout"], out=made[0], lse=lse,
        interpret=interpret,
    )  # fmt: skip


def _program(
    causal: bool, window: Any, softcap: float, scale: float | None, layout: str,
    mods: str,
) -> str:  # fmt: skip
    left, right = window if window is not None else (None, None)
    return (
        f"causal={bool(causal)} left={left} right={right} softcap={float(softcap)} "
        f"scale={scale} layout={layout} mods={mods}"
    )


@functools.lru_cache(maxsize=1024)
def _parse(program: str) -> dict[str, Any]:
    named = dict(one.split("=", 1) for one in program.split(" "))

    def end(text: str) -> int | None:
        return None if text == "None" else int(text)

    window = (end(named["left"]), end(named["right"]))
    return {
        "causal": named["causal"] == "True",
        "window": None if window == (None, None) else window,
        "softcap": float(named["softcap"]),
        "scale": None if named["scale"] == "None" else float(named["scale"]),
        "layout": named["layout"],
        "mods": named["mods"],
    }


#: Traced mods by their content, as calls name them.
_traces: dict[str, Traced] = {}


def _trace(score_mod: Any, mask_mod: Any) -> tuple[str, tuple[Any, ...], Any]:
    """The name of traced mods, the arrays that they read, and the trace."""
    if score_mod is None and mask_mod is None:
        return "None", (), None
    from .jax_trace import trace_mods

    traced = trace_mods(score_mod, mask_mod)
    content = repr((traced.regions, traced.uses)).encode()
    name = hashlib.blake2b(content, digest_size=16).hexdigest()
    _traces.setdefault(name, dataclasses.replace(traced, tensors=()))
    return name, traced.tensors, traced


_lock = threading.Lock()
_registered: dict[str, Any] = {}


def _register(interpret: bool) -> str:
    """The name of the handler, registered at the first use."""
    name = TARGET + ("_interpreted" if interpret else "")
    with _lock:
        if name not in _registered:
            handler = _CALL(lambda address: _handle(address, interpret))
            jax.ffi.register_ffi_target(
                name, jax.ffi.pycapsule(handler),
                platform="cpu" if interpret else "CUDA",
            )  # fmt: skip
            _registered[name] = handler
    return name


# -----------------------------------------------------------------------------
# The function
# -----------------------------------------------------------------------------


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
    return_lse: bool = False,
    layout: str = "bhsd",
    interpret: bool = False,
) -> Any:
    """fa3.attention of JAX arrays, float16 or bfloat16, under jit, vmap and
    shard_map. `scale` is a number, not an array. score_mod and mask_mod are
    functions of jax.numpy on scalars, traced by their jaxpr. `interpret` runs on the CPU
    backend, for tests. There is no gradient yet."""
    views = []
    for name, value in (("q", q), ("k", k), ("v", v)):
        dtype = str(value.dtype)
        if dtype not in ("float16", "bfloat16"):
            raise ArgumentError(
                name, f"element type {dtype}, expected float16 or bfloat16"
            )
        shape = tuple(value.shape)
        views.append(View(16, _NAMES[dtype], shape, contiguous(shape), 0))
    if scale is not None and not isinstance(scale, (int, float)):
        raise ArgumentError("scale", f"{type(scale).__name__}, expected a number")
    mods, arrays, traced = _trace(score_mod, mask_mod)
    program = _program(causal, window, softcap, scale, layout, mods)
    # All checks, now; the kernel is made when it runs.
    request = Request(
        *views, causal=causal, window=window, softcap=softcap, scale=scale,
        score_mod=None if traced is None else _abstract(traced),
        return_lse=return_lse, layout=layout,
    )  # fmt: skip
    return _differentiable(q, k, v, arrays, program, return_lse, interpret, request.heads,
                           request.queries, request.batch)  # fmt: skip


def _abstract(traced: Traced) -> Traced:
    """With views in place of arrays, whose addresses are not known yet."""
    shapes = [tuple(one.shape) for one in traced.tensors]
    views = tuple(
        View(16, aux.type, shape, contiguous(shape), 0)
        for aux, shape in zip(traced.regions.aux, shapes)
    )
    return dataclasses.replace(traced, tensors=views)


@functools.partial(jax.custom_vjp, nondiff_argnums=(4, 5, 6, 7, 8, 9))
def _differentiable(
    q: Any, k: Any, v: Any, arrays: Any, program: str, return_lse: bool, interpret: bool,
    heads: int, queries: int, batch: int,
) -> Any:  # fmt: skip
    o = jax.ShapeDtypeStruct((*q.shape[:3], v.shape[3]), q.dtype)
    lse = jax.ShapeDtypeStruct((batch, heads, queries), jnp.float32)
    call = jax.ffi.ffi_call(
        _register(interpret), (o, lse) if return_lse else (o,),
        vmap_method="broadcast_all",
    )  # fmt: skip
    made = call(q, k, v, *arrays, program=program)
    return tuple(made) if return_lse else made[0]


def _no_gradient(*_: Any) -> Any:
    raise UnsupportedError("gradients of fa3.jax.attention: there is no backward yet")


_differentiable.defvjp(_no_gradient, _no_gradient)
