# SPDX-License-Identifier: Apache-2.0
"""Keys and values of 4 bits: uint8 (.., d / 2), of which byte c has element c in bits 0
to 3 and element c + d / 2 in bits 4 to 7, integers from -8 to 7, and a float32 scale for
every row of every key head, in arrays that end with (key heads, rows)."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import ArgumentError, ArgumentTypeError, UnsupportedError
from ..support import tensors

#: Head dims are multiples of this, up to that.
STEP, MOST = 32, 256


def pack(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows (.., rows, key heads, d) as bytes and scales (.., key heads, rows): the largest
    number of a row is 7 times its scale."""
    _check_dim("rows", rows.shape[-1])
    wide = rows.float()
    scale = wide.abs().amax(-1).clamp(min=2.0**-64) / 7
    whole = (wide / scale[..., None]).round().clamp(-8, 7).to(torch.int8).view(torch.uint8)
    low, high = whole.chunk(2, -1)
    return (low & 15) | (high << 4), scale.transpose(-1, -2).contiguous()


def unpack(packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """The rows, in float32, that bytes and scales stand for."""
    halves = [(packed & 15).to(torch.int8), (packed >> 4).to(torch.int8)]
    whole = torch.cat([(one ^ 8) - 8 for one in halves], -1)
    return whole.float() * scale.transpose(-1, -2)[..., None]


def are_in(q: Any, k: Any) -> bool:
    """Whether keys, tensors or dtypes aside, are of 4 bits: bytes beside 16-bit queries."""
    return bool(k.dtype == torch.uint8 and q.dtype in (torch.float16, torch.bfloat16))


def check(call: Any, k: Any, v: Any, asked: Any) -> None:
    """What goes with k and v of 4 bits, whose scales are added to the call."""
    if v.dtype != torch.uint8:
        raise ArgumentTypeError("v", f"{v.dtype}, expected torch.uint8 as k")
    for name, dim in (("k", call.head_dim), ("v", call.head_dim_v)):
        _check_dim(name, dim)
    if asked.qv is not None:
        raise UnsupportedError("qv with keys of 4 bits")
    if asked.q_descale is not None:
        raise ArgumentError("q_descale", f"is for float8, q has {call.types[0]}")
    check_scales(k, v, asked)
    for name, one in (("k_descale", asked.k_descale), ("v_descale", asked.v_descale)):
        call.given[name], call.views[name] = one, tensors.view(name, one)


def check_scales(k: Any, v: Any, asked: Any) -> None:
    for name, rows, one in (("k_descale", k, asked.k_descale), ("v_descale", v, asked.v_descale)):
        wanted = (*rows.shape[:-3], rows.shape[-2], rows.shape[-3])
        if one is None:
            raise ArgumentError(name, f"is needed with keys of 4 bits: float32 {wanted}")
        if not isinstance(one, torch.Tensor):
            raise ArgumentTypeError(name, f"{type(one).__name__}, expected a tensor")
        if one.dtype != torch.float32 or tuple(one.shape) != wanted:
            raise ArgumentTypeError(
                name, f"{one.dtype} of shape {tuple(one.shape)}, expected float32 {wanted}"
            )
        if one.stride(-1) != 1 and wanted[-1] > 1:
            raise ArgumentError(name, "last dimension is not contiguous")


def _check_dim(name: str, dim: int) -> None:
    if dim % STEP or not STEP <= dim <= MOST:
        raise ArgumentError(
            name, f"head dim {dim}, expected a multiple of {STEP} up to {MOST} for 4 bits"
        )
