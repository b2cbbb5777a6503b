# SPDX-License-Identifier: Apache-2.0
"""What fa3 needs to know of a tensor, whoever it belongs to: a View. Torch
tensors are asked directly, others through DLPack."""

from __future__ import annotations

import ctypes
import dataclasses
import sys
from typing import Any, Sequence

from ..errors import ArgumentError, ArgumentTypeError
from .runtime import runtime

CPU = -1

TORCH_TYPES: dict[str, str] = runtime._TORCH_TYPES
ELEMENT_SIZES = {
    "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "f8E4M3FN": 1, "f8E5M2": 1,
    "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class View:
    """A tensor in memory; strides count elements, `device` is the number of a
    GPU or CPU."""

    address: int
    type: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: int

    def array(self) -> Any:
        return runtime.Array(self.address, self.type, self.shape, self.strides)


def torch_module() -> Any:
    """torch, if the program has imported it."""
    return sys.modules.get("torch")


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def view(name: str, value: Any, stream: int | None = None) -> View:
    """The view of an argument. Raises ArgumentTypeError for what is no tensor."""
    if isinstance(value, View):
        return value
    if is_torch(value):
        type = element_type(name, value)
        torch = sys.modules["torch"]
        if value.is_nested and value.layout == torch.strided:
            raise ArgumentTypeError(
                name, "a nested tensor, expected a plain one (values() and offsets of a jagged "
                "one, as packed sequences), or scaled_dot_product_attention",
            )  # fmt: skip
        if (
            value.__class__.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
            and not torch.compiler.is_compiling()
        ):
            # Its memory is not that of a tensor of its shape.
            raise ArgumentTypeError(
                name, f"{type_name(value)}, expected a plain tensor (of a DTensor: to_local(), "
                "or scaled_dot_product_attention with fa3.torch.activate())",
            )  # fmt: skip
        if value.layout != torch.strided:
            raise ArgumentTypeError(name, f"layout is {value.layout}, expected strided")
        if value.is_neg():
            # Its memory has the other sign.
            raise ArgumentError(name, "is a negative view, expected resolve_neg()")
        device = value.get_device()
        if device < 0 and value.device.type != "cpu":
            raise ArgumentError(name, f"device is {value.device}, expected CUDA")
        if device >= 0 and not value.is_cuda:
            raise ArgumentError(name, f"device is {value.device}, expected CUDA")
        return View(
            value.data_ptr(), type, tuple(value.shape), value.stride(), device
        )
    if hasattr(value, "__dlpack__"):
        return _dlpack_view(name, value, stream)
    raise ArgumentTypeError(
        name, f"{type_name(value)}, expected a torch tensor or one with DLPack"
    )


def element_type(name: str, value: Any) -> str:
    """That of an argument, which need not have memory (transforms of torch.func)."""
    if not is_torch(value):
        return view(name, value).type
    spelled = str(value.dtype)[6:]
    type = "i8" if spelled == "uint8" else TORCH_TYPES.get(spelled)
    if type is None:
        raise ArgumentTypeError(name, f"no element type for {value.dtype}")
    return type


def autocast(q: Any, k: Any, v: Any) -> tuple[Any, Any, Any]:
    """float32 under torch.autocast becomes its type, all three, as those of
    scaled_dot_product_attention do."""
    torch = sys.modules["torch"]
    if not all(isinstance(one, torch.Tensor) for one in (q, k, v)):
        return q, k, v  # which is an error
    if torch.float32 not in (q.dtype, k.dtype, v.dtype):
        return q, k, v
    device = q.device.type
    if not torch.is_autocast_enabled(device):
        return q, k, v
    dtype = torch.get_autocast_dtype(device)
    return q.to(dtype), k.to(dtype), v.to(dtype)


def is_wrapped(value: Any) -> bool:
    """Whether a tensor of torch is one of a transform of torch.func."""
    return sys.modules["torch"]._C._functorch.is_functorch_wrapped_tensor(value)


def beside(q: Any, given: Sequence[Any]) -> list[Any]:
    """Tensors of torch on the device of q, where they are numbers on the host that
    require a gradient; others without dimensions are numbers of the kernel."""
    return [
        one.to(q.device) if not one.dim() and one.device != q.device
        and one.device.type == "cpu" else one
        for one in given
    ]  # fmt: skip


def resolved(value: Any) -> Any:
    """A tensor whose memory has its numbers: torch's negative views have the others."""
    return value.resolve_neg() if is_torch(value) and value.is_neg() else value


def check_dense(name: str, one: View) -> None:
    """Rows of what kernels read as an array lie element by element."""
    if one.shape and one.shape[-1] > 1 and one.strides[-1] != 1:
        raise ArgumentError(
            name, f"stride {one.strides[-1]} of the last dimension, expected 1"
        )


def type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


# -----------------------------------------------------------------------------
# DLPack
# -----------------------------------------------------------------------------


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_DL_CPU, _DL_CUDA = 1, 2
_DL_TYPES = {
    (2, 16): "f16", (4, 16): "bf16", (2, 32): "f32", (2, 64): "f64",
    (10, 8): "f8E4M3FN", (12, 8): "f8E5M2", (6, 8): "i1",
    (0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64", (1, 8): "i8",
}  # fmt: skip


def _dlpack_view(name: str, value: Any, stream: int | None) -> View:
    device_type, device = value.__dlpack_device__()
    if device_type not in (_DL_CPU, _DL_CUDA):
        raise ArgumentError(
            name, f"DLPack device type is {int(device_type)}, expected 1 (CPU) or 2 (CUDA)"
        )
    cuda = device_type == _DL_CUDA
    # 1 is the legacy default stream in the protocol, null in the driver.
    capsule = value.__dlpack__(stream=stream or 1) if cuda else value.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(get(capsule, b"dltensor"))
    type = _DL_TYPES.get((tensor.code, tensor.bits))
    if type is None or tensor.lanes != 1:
        raise ArgumentTypeError(
            name,
            f"no element type for DLPack code {tensor.code} with {tensor.bits} bits",
        )
    rank = tensor.ndim
    shape = tuple(tensor.shape[:rank])
    strides = tuple(tensor.strides[:rank]) if tensor.strides else contiguous(shape)
    return View(
        (tensor.data or 0) + tensor.byte_offset, type, shape, strides,
        int(device) if cuda else CPU,
    )  # fmt: skip


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    running = 1
    for extent in reversed(shape):
        strides.insert(0, running)
        running *= max(extent, 1)
    return tuple(strides)


def dense_like(
    shape: tuple[int, ...], order: tuple[int, ...]
) -> tuple[int, ...]:
    """Strides of a dense tensor whose dimensions lie in memory in the order of the
    strides `order`, the last one innermost."""
    dims = sorted(range(len(shape) - 1), key=lambda d: (-order[d], d))
    strides = [1] * len(shape)
    running = max(shape[-1], 1)
    for d in reversed(dims):
        strides[d] = running
        running *= max(shape[d], 1)
    return tuple(strides)


def allocate(like: Any, type: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """A tensor of the library and the device of `like`."""
    if is_torch(like):
        torch = sys.modules["torch"]
        return torch.empty_strided(
            shape, strides, dtype=torch_type(type), device=like.device
        )
    if hasattr(like, "__array_namespace__") and "jax" not in type_name(like):
        library = like.__array_namespace__()
        names = {"f16": "float16", "f32": "float32"}
        dtype = getattr(library, names[type]) if type in names else like.dtype
        return library.empty(shape, dtype=dtype, device=like.device)
    raise ArgumentError(
        "out",
        f"is needed: tensors of {type_name(like)} cannot be made by fa3"
        + ("; use fa3.jax.attention" if "jax" in type_name(like) else ""),
    )


def torch_type(type: str) -> Any:
    torch = sys.modules["torch"]
    for name, spelled in TORCH_TYPES.items():
        if spelled == type:
            return getattr(torch, name)
    raise KeyError(type)
