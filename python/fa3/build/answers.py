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
_GROUPS = "groups"

_groups: dict[tuple[int, int, bool], GroupPlan] = {}
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
        known = _bundled(key)
        if known is None:
            try:
                known = get_compiler().plan_group(*key)
            except CompilerNotFoundError as error:
                _warn(str(error))
                return _UNKNOWN
        _groups[key] = known
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
        "kernels do not know groups of heads, and keys are in one part, which takes longer: %s",
        why,
    )


def to_index(groups: set[tuple[int, int]]) -> dict[str, Any]:
    """What a bundle says of these groups, each (heads, head dim of v)."""
    found = {
        f"{heads} {dim} {int(masked)}": of_group(heads, dim, masked)
        for heads, dim in sorted(groups) for masked in (False, True)
    }  # fmt: skip
    return {_GROUPS: {key: [one.rows, one.parts, one.packs] for key, one in found.items()}}


def _bundled(key: tuple[int, int, bool]) -> GroupPlan | None:
    heads, dim, masked = key
    for bundle in get_driver().bundles:
        if bundle.folder is not None:
            found = _read_groups(bundle.folder, build_id()).get(f"{heads} {dim} {int(masked)}")
            if found is not None:
                return GroupPlan(*found)
    return None


@functools.lru_cache(maxsize=None)
def _read_groups(folder: pathlib.Path, build: str) -> dict[str, Any]:
    """Answers of a bundle of this build of the compiler."""
    try:
        index = json.loads((folder / INDEX).read_text())
        return index[_GROUPS] if index["build_id"] == build else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
