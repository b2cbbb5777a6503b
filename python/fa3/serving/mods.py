# SPDX-License-Identifier: Apache-2.0
"""Mask, score and output code of fa3.serving: what it captures becomes arguments of a launch. In
it b is the number of a sequence, h that of a head, q and kv count the queries and keys of
a sequence from 0, wherever they lie."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..errors import ArgumentError
from ..kernels.checks import check_scalars
from ..mods.trace import Traced, trace_mods
from ..support import tensors
from ..support.tensors import View


def trace(score_mod: Any, mask_mod: Any, epilogue: Any = None) -> Traced | None:
    """Traced mods; None without."""
    if score_mod is mask_mod is epilogue is None:
        return None
    traced = trace_mods(score_mod, mask_mod, epilogue)
    check_scalars(traced.regions.scalars, traced.scalars)
    return traced


def form(traced: Traced | None) -> Any:
    """What a call with mods depends on, but numbers and addresses."""
    if traced is None:
        return None
    return traced.regions, tuple([
        (one.shape, one.stride(), one.dtype, one.get_device(), one.is_neg())
        for one in traced.tensors
    ])  # fmt: skip


def add(call: Any, traced: Traced) -> None:
    """The tensors and numbers that mods read, to a call (fa3.serving.call). An index
    outside of a table reads 0; those of sequences and heads have to be there, and in a
    padded cache those of all its rows, since only the GPU knows how many count."""
    extents = {
        "b": call.sequences, "h": call.heads, "i": call.most_queries or None,
        "j": call.padded_keys or None, "c": call.head_dim_v,
    }  # fmt: skip
    for number, value in enumerate(traced.tensors):
        name, called = f"aux{number}", traced.names[number]
        one = tensors.view(called, value)
        if not one.shape:
            one = View(one.address, one.type, (1,), (1,), one.device)
        shape = traced.cut(number, one.shape, extents)
        tensors.check_dense(called, one)
        if one.device != call.views["q"].device:
            raise ArgumentError(called, "is not on the device of q")
        type = "i8" if one.type == "i1" else one.type
        call.views[name] = dataclasses.replace(one, type=type, shape=tuple(shape))
        call.given[name] = value
    for number, value in enumerate(traced.scalars):
        call.given[f"arg{number}"] = value


def reads_by_row(traced: Traced | None) -> bool:
    """Whether code on scores reads tables by query or head, or at a computed index, which
    may be: heads of a group are no rows of a tile then."""
    if traced is None:
        return False
    of_scores = traced.regions.score + traced.regions.mask
    return any(
        index not in ("b", "j")
        for number, uses in enumerate(traced.uses) if f"%aux{number}[" in of_scores
        for index in uses
    )  # fmt: skip
