# SPDX-License-Identifier: Apache-2.0
"""Scores of two parts, q k^T + qv v^T, as multi-head latent attention has them: an
operand of kernels of serving, or one product, of what lies side by side."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import ArgumentError, ArgumentTypeError, UnsupportedError
from ..kernels import checks
from ..support import watch


def is_operand(q: Any, qv: Any, k: Any, v: Any) -> bool:
    """Whether kernels take qv as it is, without gradients and code that is traced."""
    given = (q, qv, k, v)
    return all(isinstance(one, torch.Tensor) for one in given) and not (
        torch.compiler.is_compiling() or watch.is_watched()
        or torch.is_grad_enabled() and any(one.requires_grad for one in given)
        or q.shape[-1] % 8 or v.shape[-1] % 8
    )  # fmt: skip


def check(q: Any, qv: Any, k: Any, v: Any) -> None:
    if not isinstance(qv, torch.Tensor):
        raise ArgumentTypeError("qv", f"{type(qv).__name__}, expected a tensor")
    if q.element_size() != 2:
        raise UnsupportedError(f"qv beside {q.dtype}, expected float16 or bfloat16")
    if qv.dtype != q.dtype:
        raise ArgumentTypeError("qv", f"element type {qv.dtype}, expected {q.dtype} as q")
    if qv.device != q.device:
        raise ArgumentError("qv", "is not on the device of q")
    wanted = (*q.shape[:-1], v.shape[-1])
    if qv.shape != wanted:
        raise ArgumentError("qv", f"shape {tuple(qv.shape)}, expected {tuple(wanted)}")
    if k.shape[-1] != q.shape[-1]:
        raise ArgumentError("k", f"head dim {k.shape[-1]}, expected {q.shape[-1]} as q")
    if k.shape[:-1] != v.shape[:-1]:
        raise ArgumentError("v", f"shape {tuple(v.shape)}, expected {tuple(k.shape[:-1])} as k")
    for name, one in (("k", k), ("v", v)):
        if one.dtype != q.dtype:
            raise ArgumentTypeError(name, f"element type {one.dtype}, expected {q.dtype}")
    together = q.shape[-1] + qv.shape[-1]
    if together > checks.MAX_QUERY_DIM:
        raise ArgumentError(
            "qv", f"{qv.shape[-1]} columns beside {q.shape[-1]} of q, expected "
            f"{checks.MAX_QUERY_DIM} together",
        )  # fmt: skip


def join(q: Any, qv: Any, k: Any, v: Any) -> tuple[Any, Any]:
    """q and qv, and k and v, side by side. Rows of k and v that are columns of one
    memory, next to each other, are a view of it; others are copied."""
    check(q, qv, k, v)
    together = q.shape[-1] + qv.shape[-1]
    first = _first(k, v)
    if first == "k":
        return torch.cat((q, qv), -1), _view(k, together)
    rows = _view(v, together) if first == "v" else torch.cat((v, k), -1)
    return torch.cat((qv, q), -1), rows


def _first(k: Any, v: Any) -> str:
    """Which of them the other lies behind, row by row; "" if none."""
    if torch.compiler.is_compiling() or watch.is_watched() or k.requires_grad or (
        v.requires_grad or k.is_neg() or v.is_neg()
        or not {type(k), type(v)} <= {torch.Tensor, torch.nn.Parameter}
    ):  # fmt: skip
        return ""  # nobody knows addresses, or gradients go to both
    same = (
        k.stride() == v.stride() and k.stride(-1) == 1
        and k.device == v.device
        and k.untyped_storage().data_ptr() == v.untyped_storage().data_ptr()
    )  # fmt: skip
    if not same or not k.numel():
        return ""
    if k.storage_offset() == v.storage_offset() + v.shape[-1]:
        return "v"
    return "k" if v.storage_offset() == k.storage_offset() + k.shape[-1] else ""


def _view(first: Any, columns: int) -> Any:
    return first.as_strided(
        (*first.shape[:-1], columns), first.stride(), first.storage_offset()
    )
