# SPDX-License-Identifier: Apache-2.0
"""Checks of single arguments of fa3.attention, with name, value and limit."""

from __future__ import annotations

import math
import numbers
from typing import Any, Sequence

from ..errors import ArgumentError, ArgumentTypeError
from ..support import tensors
from ..support.values import GREATEST_EXTENT, refuse_gradient
from .spec import FLOATS_8

#: Head dims of float8.
MAX_HEAD_DIM = 256
#: Those of q and k, and of v, in 16 bits.
MAX_QUERY_DIM, MAX_VALUE_DIM = 576, 512
#: Weights of plain attention are right up to scores of 2^24, their gradients, which
#: take a rounded lse, up to 2^14: what is left is for products of queries and keys.
MAX_SCALE = 2.0**16
MAX_SCALE_OF_GRADIENTS = 2.0**10
LAYOUTS = ("bhsd", "bshd")
# Dimensions of (batch, head, sequence) by layout.
DIMS = {"bhsd": (0, 1, 2), "bshd": (0, 2, 1)}


def check_types(q: str, k: str, v: str) -> None:
    if q in ("f16", "bf16") or q in FLOATS_8:
        for name, type in (("k", k), ("v", v)):
            if type != q:
                raise ArgumentTypeError(name, f"element type {type}, expected {q} as q")
        return
    if q == "i8" and v in FLOATS_8:
        if k != "i8":
            raise ArgumentTypeError("k", f"element type {k}, expected i8 as q")
        return
    raise ArgumentTypeError("q", f"element type {q}, expected f16, bf16, f8E4M3FN or f8E5M2")


def check_head_dims(dim: int, dim_v: int, v_type: str, names: tuple[str, str] = ("q", "v")) -> None:
    """Of queries and keys, and of values, in a forward."""
    is_8_bit = v_type in FLOATS_8
    step = 16 if is_8_bit else 8
    most = (MAX_HEAD_DIM,) * 2 if is_8_bit else (MAX_QUERY_DIM, MAX_VALUE_DIM)
    for name, one, limit in zip(names, (dim, dim_v), most):
        if one < step or one > limit or one % step:
            raise ArgumentError(
                name, f"head dim {one}, expected a multiple of {step} up to {limit}"
                + (" for float8" if is_8_bit and one > limit else ""),
            )  # fmt: skip


def declines_head_dims(dim: int, dim_v: int) -> str:
    """Why a caller that has another kernel takes that for these, in 16 bits."""
    for one, limit in ((dim, MAX_QUERY_DIM), (dim_v, MAX_VALUE_DIM)):
        if one % 8 or not 8 <= one <= limit:
            return f"head dim {one}"
    return ""


def check_layout(layout: Any) -> str:
    if layout not in LAYOUTS:
        raise ArgumentError("layout", f"{layout!r}, expected 'bhsd' or 'bshd'")
    return layout


def check_window(window: Any) -> tuple[int | None, int | None] | None:
    if window is None:
        return None
    if not isinstance(window, Sequence) or len(window) != 2:
        raise ArgumentError("window", f"{window!r}, expected (left, right)")
    ends: list[int | None] = []
    for end in window:
        if end is None or end == -1:
            ends.append(None)
        elif _is_whole(end) and 0 <= end <= GREATEST_EXTENT:
            ends.append(int(end))
        else:
            raise ArgumentError("window", f"{end!r}, expected None, -1 or 0 to 2^30")
    return None if ends == [None, None] else (ends[0], ends[1])


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_softcap(softcap: Any) -> float:
    if not isinstance(softcap, numbers.Real) or isinstance(softcap, bool):
        raise ArgumentTypeError("softcap", f"{softcap!r}, expected a number")
    value = float(softcap)
    if value and not 1e-37 < value < 1e37:
        raise ArgumentError("softcap", f"{value}, expected 0 or 1e-37 to 1e37")
    return value


def check_dropout(p: Any) -> float:
    if not isinstance(p, (int, float)) or isinstance(p, bool):
        raise ArgumentTypeError("dropout_p", f"{p!r}, expected a number")
    # 1 - p is positive in float32, in which kernels have it.
    if not 0.0 <= p < 1.0 - 2.0**-24:
        raise ArgumentError("dropout_p", f"{p}, expected 0 to less than 1")
    return float(p)


def check_scalars(types: Sequence[str], values: Sequence[Any]) -> None:
    """Numbers that mods have captured: whole ones have 32 bits in a kernel."""
    for type, value in zip(types, values):
        if type != "f32" and not -(1 << 31) <= value < 1 << 31:
            raise ArgumentError(
                "score_mod, mask_mod", f"the number {value}, expected -2^31 to 2^31 - 1"
            )


def check_scale(scale: Any, head_dim: int, gradients: bool = False) -> float:
    if scale is None:
        return 1.0 / math.sqrt(head_dim)
    refuse_gradient("scale", scale)
    if isinstance(scale, (bool, str, bytes)):
        raise ArgumentTypeError("scale", f"{scale!r}, expected a number")
    try:
        value = float(scale)
    except (TypeError, ValueError):
        raise ArgumentTypeError("scale", f"{scale!r}, expected a number") from None
    if not 0.0 < value <= MAX_SCALE:
        raise ArgumentError("scale", f"{value}, expected above 0 and at most 2^16")
    if gradients and value > MAX_SCALE_OF_GRADIENTS:
        raise ArgumentError("scale", f"{value}, expected at most 2^10 with gradients")
    return value


def out_type(out_dtype: Any, q: str, v: str, is_edited: bool = False) -> str:
    """The type of o: of 16 bits q's, or float32; with an epilogue any."""
    if out_dtype is None:
        return "bf16" if v in FLOATS_8 else q
    name = str(out_dtype).rpartition(".")[2]
    chosen = tensors.TORCH_TYPES.get(name, name)
    allowed = ("f16", "bf16", "f32") if v in FLOATS_8 else (q, "f32")
    if is_edited:
        allowed = ("f16", "bf16", "f32", *FLOATS_8)
    if chosen not in allowed:
        raise ArgumentTypeError("out_dtype", f"{out_dtype}, expected {' or '.join(allowed)}")
    return chosen


def extents(q: Any, k: Any, layout: Any) -> tuple[int, int, int, int]:
    """Batch, heads, queries and keys of a call."""
    b, h, s = DIMS[check_layout(layout)]
    for name, one in (("q", q), ("k", k)):
        if len(one.shape) != 4:
            raise ArgumentError(name, f"rank {len(one.shape)}, expected 4 ({layout})")
    return q.shape[b], q.shape[h], q.shape[s], k.shape[s]
