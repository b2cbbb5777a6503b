# SPDX-License-Identifier: Apache-2.0
"""Batch invariance: a sequence's o and lse have the same bits alone and in any batch,
paged or not, prefilled at once, in pieces or token by token (docs/Serving.md).

A row then depends on its query and on the keys that it sees, at their numbers in the
sequence, and on nothing else of a call. All kernels take steps of as many keys, in the
same order and with the same arithmetic, and parts of a fixed number of keys, which are
merged alike however many there are."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError, UnsupportedError
from .spec import FLOATS_8, Spec

#: Keys of a part, where nothing else is said.
PART = 8192
#: Parts are whole steps of every kernel.
_STEP, _MOST = 128, 1 << 20

#: Keys of a part where a call says nothing; 0: not invariant.
_default = 0


def set_batch_invariant(value: bool | int) -> None:
    """Whether attention to packed, padded and paged sequences is batch invariant where
    a call says nothing: True, or the number of keys of a part; False ends it."""
    global _default
    _default = _check(value)


def part_keys(value: bool | int | None) -> int:
    """Keys of a part of a call; 0 where it need not be invariant."""
    return _default if value is None else _check(value)


def _check(value: Any) -> int:
    if value is True or value is False:
        return PART if value else 0
    if not isinstance(value, int) or value % _STEP or not _STEP <= value <= _MOST:
        raise ArgumentError(
            "batch_invariant", f"{value!r}, expected True, False, or keys of a part: a "
            f"multiple of {_STEP} up to {_MOST}",
        )  # fmt: skip
    return value


def options(spec: Spec, part: int) -> dict[str, Any]:
    """Options of the pipeline that all kernels of a specification have in common. A step
    has as many keys as fit beside the rows of every kernel; a tuning table and variants
    would choose another number, or other arithmetic, by extents. A tanh that is shorter
    where all of a warp's arguments are small depends on other rows. How many rows a tile has
    is free."""
    return {
        "block_n": keys_of_step(spec), "part_keys": part, "last_block": "whole",
        "rescale": "lazy", "two_level_accumulation": False, "sums": "exact",
        "shorten_tanh": False, "scale_operands": "never", "tuning_table": "none",
        "variants": 1,
    }  # fmt: skip


def keys_of_step(spec: Spec) -> int:
    if max(spec.head_dim, spec.head_dim_v) > 256:
        return 32
    return 128 if spec.has_scales else 64


#: Rows of a warp group, and the most of three.
_ROWS, _MOST_ROWS = 64, 192


def rows_of_tile(spec: Spec, queries: int, in_parts: bool) -> int:
    """Rows of a tile for so many rows of queries, 0 for what the compiler takes: with parts
    that is for few ones, without them for many. Three groups of 8 bits have no registers
    for a step of this width."""
    if in_parts and queries <= _ROWS:
        return 0
    if spec.has_scales:
        return 2 * _ROWS
    if not in_parts:
        return 0
    widest = max(spec.head_dim, spec.head_dim_v)
    has_code = spec.regions.score or spec.regions.mask
    if widest > 256:
        return _ROWS
    return 2 * _ROWS if widest > 128 or has_code else _MOST_ROWS


def refuse(spec: Spec, splits: int, quantizes: bool, turns: bool, appends: bool) -> None:
    """Raises for what would give other bits."""
    if splits > 1:
        raise ArgumentError(
            "splits", f"{splits} parts with batch_invariant, whose parts have a number of keys"
        )
    if quantizes:
        raise UnsupportedError(
            f"batch_invariant: queries of {spec.q_type} with keys of {spec.k_type}, whose "
            "scale is that of all queries of a sequence in a call"
        )
    if spec.has_nibbles:
        raise UnsupportedError("batch_invariant: keys of 4 bits, whose tiles have other sizes")
    if turns:
        raise UnsupportedError(
            "batch_invariant: rotary_cos, which a kernel or torch applies, by the call"
        )
    if appends and spec.k_type in FLOATS_8:
        raise UnsupportedError(
            f"batch_invariant: new keys for a cache of {spec.k_type}, which a kernel or torch "
            "divides, by the call"
        )


def count_parts(part: int, keys: int) -> int:
    """How many parts kernels take; 0 for one that writes results itself, which has the
    same bits as a single part."""
    count = -(-keys // part)
    return count if count > 1 else 0
