# SPDX-License-Identifier: Apache-2.0
"""What the compiler chooses where a text leaves it open, for callers that choose between
kernels. A bundle has the answers of its kernels; else libfa3 is asked, once for each
question."""

from __future__ import annotations

import functools
import json
import logging
import pathlib
from typing import Any

from ..errors import CompilerNotFoundError
from .compiler import GroupPlan, build_id, get_compiler
from .driver import get_driver

logger = logging.getLogger("fa3")

#: The file of a bundle that describes it.
INDEX = "bundle.json"
_GROUPS, _GRADIENTS = "groups", "gradients"

_groups: dict[tuple[int, int, bool], GroupPlan] = {}
_gradients: dict[tuple[int, int, bool], int] = {}
#: Where nobody can be asked: kernels are for any group, and keys are in one part.
_UNKNOWN = GroupPlan(0, 0, False)


def of_group(heads: int, head_dim_v: int, masked: bool) -> GroupPlan:
    """What becomes of `heads` query heads of a key head, with or without a mask by
    query."""
    if heads == 1:
        return _UNKNOWN
    key = (heads, head_dim_v, masked)
    known = _groups.get(key)
    if known is None:
        found = _bundled(_GROUPS, key)
        known = None if found is None else GroupPlan(*found)
        if known is None:
            try:
                known = get_compiler().plan_group(*key)
            except CompilerNotFoundError as error:
                _warn(str(error))
                return _UNKNOWN
        _groups[key] = known
    return known


def split_below(
    head_dim: int, head_dim_v: int, masked: bool, deterministic: bool = False
) -> int:
    """Of fewer queries and keys than this, gradients are faster by backward-form=split
    than by the kernels for any length; 0: of none."""
    key = (head_dim, head_dim_v, masked, deterministic)
    known = _gradients.get(key)
    if known is None:
        known = _bundled(_GRADIENTS, key)
        if known is None:
            try:
                known = get_compiler().plan_gradients(*key)
            except CompilerNotFoundError as error:
                _warn(str(error))
                return 0
        _gradients[key] = known
    return known


def count_parts(
    sequences: int, queries: int, keys: int, heads: int, key_heads: int, sms: int, packs: bool
) -> int:
    """How many parts keys are summed up in; 1: by a kernel without parts."""
    try:
        return _count_parts(sequences, queries, keys, heads, key_heads, sms, packs)
    except CompilerNotFoundError as error:
        _warn(str(error))
        return 1


@functools.lru_cache(maxsize=4096)
def _count_parts(*facts: Any) -> int:
    return get_compiler().plan_parts(*facts)


@functools.lru_cache(maxsize=None)
def _warn(why: str) -> None:
    logger.warning(
        "kernels do not know groups of heads, keys are in one part, and gradients have one form "
        "for all lengths, which takes longer: %s",
        why,
    )


def to_index(groups: set[tuple[int, int]], dims: set[tuple[int, int]]) -> dict[str, Any]:
    """What a bundle says of these groups, each (heads, head dim of v), and of gradients of
    these head dims, of q and of v."""
    found = {
        _name((heads, dim, masked)): of_group(heads, dim, masked)
        for heads, dim in sorted(groups) for masked in (False, True)
    }  # fmt: skip
    return {
        _GROUPS: {key: [one.rows, one.parts, one.packs] for key, one in found.items()},
        _GRADIENTS: {
            _name((d, dv, masked, same)): split_below(d, dv, masked, same)
            for d, dv in sorted(dims) for masked in (False, True) for same in (False, True)
        },
    }  # fmt: skip


def _name(key: tuple[int, ...]) -> str:
    """Of an answer in the index of a bundle."""
    return " ".join(str(int(one)) for one in key)


def _bundled(what: str, key: tuple[int, ...]) -> Any:
    for bundle in get_driver().bundles:
        if bundle.folder is not None:
            index = _read_index(bundle.folder, build_id())
            found = index.get(what, {}).get(_name(key))
            if found is not None:
                return found
    return None


@functools.lru_cache(maxsize=None)
def _read_index(folder: pathlib.Path, build: str) -> dict[str, Any]:
    """What a bundle of this build of the compiler says of itself."""
    try:
        index = json.loads((folder / INDEX).read_text())
        return index if index["build_id"] == build else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
