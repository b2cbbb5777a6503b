# SPDX-License-Identifier: Apache-2.0
"""Arguments of a program: numbers, arrays and torch tensors as the C interface
takes them."""

import operator

from .interface import _SCALAR, _TENSOR, MAX_RANK, TYPES

_TORCH_TYPES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2", "bool": "i1",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
}  # fmt: skip


class Array:
    """A tensor in device memory given by its address; strides count elements
    and default to contiguous."""

    def __init__(self, address, type, shape, strides=None):
        self.address, self.type = operator.index(address), type
        self.shape = tuple(shape)
        if strides is None:
            strides, running = [], 1
            for extent in reversed(self.shape):
                strides.insert(0, running)
                running *= max(extent, 1)
        self.strides = tuple(strides)


def _torch_type(name, tensor, expected):
    type = str(tensor.dtype).rpartition(".")[2]
    # Bytes that hold 8-bit floats are common where torch lacks operations on
    # them; an exact type is preferred by every other tensor.
    if type == "uint8" and expected in ("i8", "f8E4M3FN", "f8E5M2"):
        return expected
    if type not in _TORCH_TYPES:
        raise TypeError(f"argument '{name}': no element type for {tensor.dtype}")
    return _TORCH_TYPES[type]


def _to_arg(info, value, arg):
    """Fills `arg` from a number, an Array or a torch tensor."""
    if hasattr(value, "data_ptr"):
        if not value.is_cuda:
            raise TypeError(f"argument '{info.name}': tensor is not on a GPU")
        value = Array(
            value.data_ptr(),
            _torch_type(info.name, value, info.type),
            value.shape,
            value.stride(),
        )
    if isinstance(value, Array):
        if value.type not in TYPES:
            raise TypeError(f"argument '{info.name}': no type '{value.type}'")
        if len(value.shape) > MAX_RANK or len(value.shape) != len(value.strides):
            raise TypeError(f"argument '{info.name}': rank or strides")
        what = f"argument '{info.name}'"
        arg.kind = _TENSOR
        arg.type = TYPES.index(value.type)
        arg.value.data = _checked_address(what, value.address)
        arg.rank = len(value.shape)
        for d, (extent, stride) in enumerate(zip(value.shape, value.strides)):
            arg.shape[d] = _checked_integer(f"{what}, extent", extent)
            arg.stride[d] = _checked_integer(f"{what}, stride", stride)
        return
    arg.kind = _SCALAR
    if info.kind == "scalar" and info.type.startswith("i"):
        arg.type = TYPES.index(info.type)
        arg.value.integer = _checked_integer(f"argument '{info.name}'", value)
    elif isinstance(value, (int, float)):
        arg.type = TYPES.index("f32")
        arg.value.real = value
    else:
        raise TypeError(
            f"argument '{info.name}': expected a number, an Array or a tensor"
        )


# ctypes would cut what does not fit.
def _checked_integer(what, value):
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: expected an integer") from None
    if not -(2**63) <= value < 2**63:
        raise OverflowError(f"{what}: {value} beyond 64 bits")
    return value


def _checked_address(what, value):
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: expected an address") from None
    if not 0 <= value < 2**64:
        raise OverflowError(f"{what}: address {value} beyond 64 bits")
    return value
