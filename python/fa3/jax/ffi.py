# SPDX-License-Identifier: Apache-2.0
"""A call of XLA's FFI as a handler in Python sees it. Only fields of XLA's C
interface that its version 0.x does not move are read."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Iterator

from ..support.tensors import View, contiguous

_p, _size = ctypes.c_void_p, ctypes.c_size_t
_HEAD: list[Any] = [("struct_size", _size), ("extension", _p)]
_METADATA_EXTENSION = 1
_EXECUTE = 3


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


class _AllocateArgs(ctypes.Structure):
    _fields_ = [*_HEAD, ("context", _p), ("size", _size), ("alignment", _size),
                ("data", _p)]  # fmt: skip


class _FreeArgs(ctypes.Structure):
    _fields_ = [*_HEAD, ("context", _p), ("size", _size), ("data", _p)]


_TYPES = {1: "i1", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "i8", 10: "f16",
          11: "f32", 16: "bf16", 19: "f8E5M2", 20: "f8E4M3FN"}  # fmt: skip
CALL = ctypes.CFUNCTYPE(_p, _p)


class Frame:
    """One call of a handler; `address` is what XLA passes."""

    def __init__(self, address: int) -> None:
        self._c = _Frame.from_address(address)

    def is_registration(self) -> bool:
        """Whether XLA only asks what kind of handler it is; that is answered."""
        if not self._c.extension:
            return False
        extension = _Extension.from_address(self._c.extension)
        if extension.type != _METADATA_EXTENSION:
            return False
        found = ctypes.cast(self._c.extension, ctypes.POINTER(_MetadataExtension))
        metadata = found.contents.metadata.contents
        api = self._c.api.contents if self._c.api else None
        metadata.version.major = api.version.major if api else 0
        metadata.version.minor = api.version.minor if api else 3
        # Not for command buffers: a first call loads a program, which a capture
        # does not allow.
        metadata.traits = 0
        return True

    def is_execution(self) -> bool:
        return self._c.stage == _EXECUTE

    def error(self, message: str, code: int) -> int:
        args = _ErrorArgs(message=message.encode(), code=code)
        args.struct_size = ctypes.sizeof(args)
        return CALL(self._c.api.contents.error_create)(ctypes.addressof(args)) or 0

    def device(self) -> int:
        args = _OrdinalArgs(context=self._c.context)
        self._call(self._c.api.contents.device_ordinal, args, "device")
        return args.ordinal

    def stream(self) -> int:
        args = _StreamArgs(context=self._c.context)
        self._call(self._c.api.contents.stream_get, args, "stream")
        return args.stream or 0

    @contextlib.contextmanager
    def scratch(self, size: int) -> Iterator[int]:
        """Memory in the order of the stream, 0 for no bytes."""
        if not size:
            yield 0
            return
        args = _AllocateArgs(context=self._c.context, size=size, alignment=1)
        self._call(self._c.api.contents.allocate, args, f"{size} bytes")
        try:
            yield args.data
        finally:
            done = _FreeArgs(context=self._c.context, size=size, data=args.data)
            self._call(self._c.api.contents.free, done, "memory back")

    def operands(self, device: int) -> list[View]:
        return _views(self._c.args, device)

    def results(self, device: int) -> list[View]:
        return _views(self._c.results, device)

    def text(self, name: str) -> str:
        """An attribute."""
        attributes = self._c.attributes
        for index in range(attributes.count):
            span = attributes.names[index].contents
            if ctypes.string_at(span.data, span.length).decode() == name:
                value = _Span.from_address(attributes.items[index])
                return ctypes.string_at(value.data, value.length).decode()
        raise KeyError(name)

    def _call(self, function: int, args: Any, what: str) -> None:
        """A function of XLA's table; an error there is one here."""
        args.struct_size = ctypes.sizeof(args)
        if CALL(function)(ctypes.addressof(args)):
            raise RuntimeError(f"XLA gives no {what}")


def _views(items: _List, device: int) -> list[View]:
    made = []
    for index in range(items.count):
        one = _Buffer.from_address(items.items[index])
        shape = tuple(one.dims[: one.rank])
        made.append(
            View(one.data or 0, _TYPES[one.type], shape, contiguous(shape), device)
        )
    return made
