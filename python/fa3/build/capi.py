# SPDX-License-Identifier: Apache-2.0
"""The structures of libfa3.so's interface (fa3-c/Compiler.h), for ctypes."""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

from ..support.runtime import runtime


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("source_name", ctypes.c_char_p),
        ("pipeline_options", ctypes.c_char_p),
        ("pass_pipeline", ctypes.c_char_p),
        ("chip", ctypes.c_char_p),
        ("function", ctypes.c_char_p),
        ("llvm_passes", ctypes.c_char_p),
        ("ptxas", ctypes.c_char_p),
        ("ptx_version", ctypes.c_int32),
        ("locations", ctypes.c_int32),
        ("assemble", ctypes.c_int),
        ("foreign", ctypes.c_int32),
        ("convert_options", ctypes.c_char_p),
    ]


class Function(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("ptx", ctypes.c_void_p),
        ("manifest", ctypes.c_void_p),
        ("cubin", ctypes.c_void_p),
        ("ptx_size", ctypes.c_size_t),
        ("manifest_size", ctypes.c_size_t),
        ("cubin_size", ctypes.c_size_t),
    ]


class Diagnostic(ctypes.Structure):
    _fields_ = [
        ("severity", ctypes.c_int),
        ("line", ctypes.c_int32),
        ("column", ctypes.c_int32),
        ("file", ctypes.c_char_p),
        ("message", ctypes.c_char_p),
    ]


class Usage(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("registers", ctypes.c_int64),
        ("stack_bytes", ctypes.c_int64),
        ("spill_store_bytes", ctypes.c_int64),
        ("spill_load_bytes", ctypes.c_int64),
    ]


class GroupFacts(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("heads", ctypes.c_int64),
        ("value_head_dim", ctypes.c_int64),
        ("is_masked", ctypes.c_int32),
    ]


class GroupPlan(ctypes.Structure):
    _fields_ = [
        ("rows", ctypes.c_int64),
        ("parts", ctypes.c_int64),
        ("is_packed", ctypes.c_int32),
    ]


class PartFacts(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("sequences", ctypes.c_int64),
        ("heads", ctypes.c_int64),
        ("key_heads", ctypes.c_int64),
        ("queries", ctypes.c_int64),
        ("keys", ctypes.c_int64),
        ("multiprocessors", ctypes.c_int64),
        ("packs_groups", ctypes.c_int32),
    ]


class GradientFacts(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("head_dim", ctypes.c_int64),
        ("value_head_dim", ctypes.c_int64),
        ("is_masked", ctypes.c_int32),
        ("is_deterministic", ctypes.c_int32),
    ]


def fill_arguments(values: Sequence[Any]) -> Any:
    array = (runtime._Arg * len(values))()
    for value, arg in zip(values, array):
        fill_argument(arg, value)
    return array


def fill_argument(arg: Any, value: Any) -> None:
    """An argument of the interpreter. A number has to say its type: (type,
    number)."""
    if isinstance(value, runtime.Array):
        arg.kind = 0
        arg.type = runtime.TYPES.index(value.type)
        arg.value.data = value.address
        arg.rank = len(value.shape)
        for d, (extent, stride) in enumerate(zip(value.shape, value.strides)):
            arg.shape[d], arg.stride[d] = extent, stride
        return
    type, number = value
    arg.kind = 1
    arg.type = runtime.TYPES.index(type)
    if type.startswith("i"):
        arg.value.integer = number
    else:
        arg.value.real = number
