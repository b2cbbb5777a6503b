# SPDX-License-Identifier: Apache-2.0
"""Why a call of scaled_dot_product_attention is torch's, and not fa3's.

Every function gives the reason, or "" if the call is fa3's.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from ..kernels import checks


@functools.lru_cache(maxsize=None)
def _capability(device: int) -> tuple[int, int]:
    return torch.cuda.get_device_capability(device)


def declines_cudnn(
    q: Any, k: Any, v: Any, bias: Any, dropout: float, causal: bool,
    scale: float | None,
) -> str:  # fmt: skip
    if causal and q.dim() == 4 and q.shape[2] != k.shape[2]:
        return "causal with queries and keys of unequal number, by cuDNN"
    if causal and bias is not None:
        return "causal with a mask"
    return declines(q, k, v, dropout, scale, bias)


def declines(
    q: Any, k: Any, v: Any, dropout: float, scale: float | None, bias: Any = None
) -> str:
    """Why a call is torch's; "" if it is ours."""
    if dropout:
        return "dropout"
    why = declines_operands(q, k, v, 4, 1, scale)
    if why or bias is None:
        return why or declines_device(q)
    return declines_mask(bias, q, k) or declines_device(q)


def declines_operands(
    q: Any, k: Any, v: Any, rank: int, heads: int, scale: float | None
) -> str:
    """What q, k and v are declined for, whose dimension `heads` are heads."""
    if q.dtype not in (torch.float16, torch.bfloat16):
        return f"element type {q.dtype}"
    for one in (q, k, v):
        if one.dim() != rank:
            return f"rank {one.dim()}"
        if one.dtype != q.dtype:
            return f"element types {q.dtype} and {one.dtype}"
    if rank == 4 and not q.shape[0] == k.shape[0] == v.shape[0]:
        return "batches of different size"
    rows, groups = [list(one.shape[:-1]) for one in (k, v)], [one.shape[heads] for one in (q, k, v)]
    for one in rows:
        del one[heads]
    if rows[0] != rows[1] or q.shape[-1] != k.shape[-1]:
        return "shapes that do not fit"
    if groups[1] == 0 or groups[0] % groups[1] or groups[1] != groups[2]:
        return "heads that key heads do not divide"
    wide = checks.declines_head_dims(q.shape[-1], v.shape[-1])
    if wide:
        return wide
    if scale is not None and not 0.0 < scale <= checks.MAX_SCALE_OF_GRADIENTS:
        return f"scale {scale}"
    for one in (q, k, v):
        *strides, last = one.stride()
        if last != 1:
            return "last dimension not contiguous"
        if any(stride % 8 and extent > 1 for stride, extent in zip(strides, one.shape)):
            return "strides that are no multiples of 16 bytes"
        if one.data_ptr() % 16:
            return "addresses that are no multiples of 16 bytes"
    return ""


def declines_dropout(p: float) -> str:
    """FlashAttention drops all with p of 1; kernels multiply by 1 / (1 - p)."""
    return "" if p < 1.0 - 2.0**-24 else f"dropout {p}"


def declines_device(q: Any) -> str:
    if q.is_cuda and _capability(q.get_device()) != (9, 0):
        return "device of compute capability {}.{}".format(*_capability(q.get_device()))
    return ""


def declines_mask(bias: Any, q: Any, k: Any) -> str:
    if bias.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        return f"mask of {bias.dtype}"
    limits = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    if not 1 <= bias.dim() <= 4 or any(
        extent not in (1, limit)
        for extent, limit in zip(reversed(bias.shape), reversed(limits))
    ):
        return f"mask of shape {tuple(bias.shape)}"
    return ""
