# SPDX-License-Identifier: Apache-2.0
"""New keys and values of fa3.serving: checks, and what a kernel needs to know."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError, ArgumentTypeError
from ..kernels.arguments import Sequences
from ..kernels.serving_spec import Append
from ..kernels.spec import FLOATS_8
from ..support import tensors


def check(call: Any, asked: Sequences) -> Append | None:
    """What is appended in a call (fa3.serving.call), whose tensors are added to it.
    What the kernel does not take was written before (fa3.serving.cache_rows)."""
    check_pairs(asked)
    k_new, v_new, position = asked.k_new, asked.v_new, asked.rotary_at
    cos, sin = asked.rotary_cos, asked.rotary_sin
    if k_new is None:
        for name, one in (("rotary_cos", cos), ("rotary_seqlens", position)):
            if one is not None:
                raise ArgumentError(name, "is for new keys, and k and v are None")
        return None
    if "used_k" not in call.arrays:
        raise ArgumentError("cache_seqlens", "is needed: new keys go behind so many rows")
    of_8_bits = call.types[1] in FLOATS_8
    given = tensors.view("k", k_new).type
    if of_8_bits and given not in ("f16", "bf16"):
        raise ArgumentError(
            "k", f"element type {given}, expected f16, bf16 or that of the cache"
        )
    for name, dim, of in (("k", call.head_dim, k_new), ("v", call.head_dim_v, v_new)):
        rows = k_new.shape[1] if k_new.dim() == 4 else 0
        wanted = (call.sequences, rows, call.key_heads, dim)
        type = k_new.dtype if of_8_bits else call.given[name].dtype
        if tuple(of.shape) != wanted or of.dtype != type:
            raise ArgumentError(
                name, f"{of.dtype} of shape {tuple(of.shape)}, expected {type} {wanted}"
            )
    shared = tuple(_check_units(call, name) for name in "kv") if of_8_bits else ()
    added = {"k_new": k_new.contiguous(), "v_new": v_new.contiguous()}
    if position is not None and cos is None:
        raise ArgumentError("rotary_seqlens", "without rotary_cos")
    if position is not None:
        added["position"] = _lengths(call, "rotary_seqlens", position)
    own_first = "leftpad" in call.arrays
    if own_first:
        # Keys are counted from behind the padding, rows of a cache with it.
        added["first"] = call.arrays["used_k"] - call.arrays["leftpad"]
    pairs, table = 0, ""
    if cos is not None:
        pairs, table = _check_tables(call, cos, sin)
        added |= {"cos": cos, "sin": sin}
    for name, one in added.items():
        call.given[name], call.views[name] = one, tensors.view(name, one)
        if call.views[name].device != call.device:
            raise ArgumentError(name, "is not on the device of q")
    call.given["new"] = k_new.shape[1]
    return Append(
        pairs, table, bool(asked.rotary_interleaved), own_first, position is not None,
        given if of_8_bits else "", shared,
    )  # fmt: skip


def check_pairs(asked: Sequences) -> None:
    k_new, v_new = asked.k_new, asked.v_new
    if (k_new is None) != (v_new is None):
        raise ArgumentError("k" if k_new is None else "v", "is needed: k and v go together")
    if (asked.rotary_cos is None) != (asked.rotary_sin is None):
        raise ArgumentError("rotary_cos", "and rotary_sin go together")


def _check_units(call: Any, name: str) -> bool:
    """Whether all new rows have one scale."""
    shape = tuple(call.given[f"{name}_descale"].shape[:2])
    if shape not in ((1, 1), (call.sequences, call.key_heads)):
        raise ArgumentError(
            f"{name}_descale", f"shape {shape}, expected (1, 1) or "
            f"{(call.sequences, call.key_heads)} with new keys",
        )  # fmt: skip
    return shape == (1, 1)


def _lengths(call: Any, name: str, value: Any) -> Any:
    one = tensors.view(name, value)
    if one.type != "i32" or one.shape != (call.sequences,):
        raise ArgumentTypeError(
            name, f"{one.type} of shape {one.shape}, expected i32 ({call.sequences},)"
        )
    return value


def _check_tables(call: Any, cos: Any, sin: Any) -> tuple[int, str]:
    """Pairs of elements and element type."""
    one, other = tensors.view("rotary_cos", cos), tensors.view("rotary_sin", sin)
    if one.type not in ("f32", "f16", "bf16"):
        raise ArgumentTypeError(
            "rotary_cos", f"element type {one.type}, expected f32, f16 or bf16"
        )
    if one.type != other.type or one.shape != other.shape or len(one.shape) != 2:
        raise ArgumentError(
            "rotary_sin", f"{other.type} of shape {other.shape}, expected {one.type} "
            f"{one.shape}, (positions, pairs)",
        )  # fmt: skip
    pairs = one.shape[1]
    if pairs % 8 or not 8 <= pairs <= call.head_dim // 2:
        raise ArgumentError(
            "rotary_cos", f"{pairs} pairs of elements, expected a multiple of 8 up to "
            f"{call.head_dim // 2}",
        )  # fmt: skip
    if one.strides[1] != 1 or other.strides[1] != 1:
        raise ArgumentError("rotary_cos", "last dimension is not contiguous")
    return pairs, one.type
