# SPDX-License-Identifier: Apache-2.0
"""A call that was made before, ready to be made again: arguments in the form of
the C interface, in which only addresses and scalars change. What depends on
shapes and strides was checked and filled in once."""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

from ..errors import ArgumentError
from ..support.runtime import runtime

_WORD = 8
_SIZE = ctypes.sizeof(runtime._Arg)
_VALUE = runtime._Arg.value.offset
assert _SIZE % _WORD == 0 and _VALUE % _WORD == 0


class Frame:
    """The memory of one call in progress."""

    __slots__ = ("array", "words", "numbers", "status", "status_ref", "memo")

    def __init__(self, count: int, content: bytes, memo_size: int) -> None:
        self.array = (runtime._Arg * count)()
        ctypes.memmove(self.array, content, len(content))
        words = len(content) // _WORD
        self.words = (ctypes.c_int64 * words).from_buffer(self.array)
        self.numbers = (ctypes.c_double * words).from_buffer(self.array)
        self.status = runtime._Status()
        self.status_ref = ctypes.byref(self.status)
        self.memo = (ctypes.c_char * memo_size)()


class Plan:
    """Arguments of one program with fixed types, shapes and strides.

    `values` are runtime.Array (whose address does not matter), or (type, number)
    for scalars, in the order of the manifest."""

    def __init__(self, program: Any, values: Sequence[Any]) -> None:
        from ..build.capi import fill_argument

        self.program = program
        self.count = len(values)
        array = (runtime._Arg * self.count)()
        for value, arg in zip(values, array):
            fill_argument(arg, value)
        self.content = bytes(array)
        #: Word of the value of each argument.
        self.slots = tuple((index * _SIZE + _VALUE) // _WORD for index in range(self.count))
        self.workspace_size = program._workspace_size(array)
        self._free: list[Frame] = []
        # The function itself, without the exception that wraps it.
        self.launch = raw_function("launch_again")
        self.handle = program._open()
        self.memo_size = runtime._library().memo_size(self.handle)

    def acquire(self) -> Frame:
        """A frame that no other thread uses; give it back by release()."""
        try:
            return self._free.pop()
        except IndexError:
            return Frame(self.count, self.content, self.memo_size)

    def release(self, frame: Frame) -> None:
        self._free.append(frame)

    def run(self, frame: Frame, stream: int, workspace: int | None = None) -> None:
        """Launches; raises ArgumentError or runtime.Error."""
        if self.launch(
            self.handle, frame.array, self.count, workspace, self.workspace_size,
            stream, frame.memo, frame.status_ref,
        ):  # fmt: skip
            raise_status(frame.status)


def raw_function(name: str) -> Any:
    library = runtime._library()
    return getattr(library._c, "fa3_" + name)


def raw_address(name: str) -> int:
    """Where a function of the C interface is."""
    return ctypes.cast(raw_function(name), ctypes.c_void_p).value or 0


def raise_status(status: Any) -> None:
    """Raises what a status of the C interface says."""
    raise_error(status.code, status.driver_code, status.message)


def raise_error(number: int, driver_code: int, said: bytes) -> None:
    code, message = runtime._CODES[number], said.decode("utf-8", "replace")
    if code in ("argument", "requirement"):
        raise argument_error(message)
    raise runtime.Error(code, driver_code, message)


def argument_error(message: str) -> ArgumentError:
    name, rest = "", message
    if message.startswith("argument '"):
        name, _, rest = message[len("argument '") :].partition("'")
        rest = rest.lstrip(": ")
    error = ArgumentError(name, rest)
    error.args = (message,)
    return error
