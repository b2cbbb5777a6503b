# SPDX-License-Identifier: Apache-2.0
"""Masks of transformers as code: what its mask functions are made of becomes causal, a
window, and a mask_mod that reads one number of a row and one of a key, in place of an
array of (batch, 1, queries, keys)."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import torch
from torch.nn.attention.flex_attention import BlockMask


@dataclasses.dataclass(frozen=True)
class Terms:
    """What all have to hold: `causal`, a window (keys before, keys after), keys that are
    no padding, the same sequence for query and key, the same chunk."""

    causal: bool = False
    window: tuple[int | None, int | None] = (None, None)
    padding: Any = None
    ids: Any = None
    chunk: int = 0
    first: Any = None

    @property
    def is_plain(self) -> bool:
        return self.window == (None, None) and self.padding is self.ids is None and (
            not self.chunk
        )  # fmt: skip

    def both(self, other: "Terms") -> "Terms | None":
        """None where a term would be there twice."""
        made: dict[str, Any] = {"causal": self.causal or other.causal}
        made["window"] = tuple(
            min((end for end in ends if end is not None), default=None)
            for ends in zip(self.window, other.window)
        )
        for name in ("padding", "ids", "chunk", "first"):
            mine, theirs = getattr(self, name), getattr(other, name)
            absent = 0 if name == "chunk" else None
            if mine is not absent and theirs is not absent:
                return None
            made[name] = theirs if mine is absent else mine
        return Terms(**made)


def read(function: Any) -> Terms | None:
    """The terms of a mask function of transformers.masking_utils; None of another one,
    which a caller has made or a newer version has."""
    if getattr(function, "__module__", "") != "transformers.masking_utils":
        return None
    names = function.__code__.co_freevars
    cells = [one.cell_contents for one in function.__closure__ or ()]
    found = dict(zip(names, cells))
    kind = function.__qualname__.partition(".<locals>")[0]
    if kind == "causal_mask_function":
        return Terms(causal=True)
    if kind == "bidirectional_mask_function":
        return Terms()
    if kind == "and_masks" and set(found) == {"mask_functions"}:
        made: Terms | None = Terms()
        for one in found["mask_functions"]:
            terms = read(one)
            made = None if made is None or terms is None else made.both(terms)
        return made
    if kind == "sliding_window_overlay" and set(found) == {"sliding_window"}:
        return Terms(window=(found["sliding_window"] - 1, None))
    if kind == "sliding_window_bidirectional_overlay" and set(found) == {"sliding_window"}:
        return Terms(window=(found["sliding_window"],) * 2)
    if kind == "chunked_overlay" and set(found) == {"chunk_size", "left_padding"}:
        return Terms(chunk=found["chunk_size"], first=found["left_padding"])
    if kind == "packed_sequence_mask_function" and set(found) == {"packed_sequence_mask"}:
        return Terms(ids=found["packed_sequence_mask"])
    if kind == "remap_positions_for_packed_sequence" and (
        set(found) == {"mask_function", "position_ids"}
    ):
        # Positions go up by one in a sequence: what depends on differences is the same.
        terms = read(found["mask_function"])
        return None if terms is None or terms.chunk else terms
    return None


class MaskCode(BlockMask):
    """A mask as transformers passes it from where it is made to attention: it passes on
    what is a tensor or a BlockMask. `make_array` gives the array of booleans."""

    def __init__(
        self, terms: Terms, shape: tuple[int, ...], mask_mod: Any,
        make_array: Callable[[], Any],
    ) -> None:  # fmt: skip
        self.terms, self.extents, self.make_array = terms, shape, make_array
        self.mask_mod = mask_mod

    @property
    def shape(self) -> tuple[int, ...]:
        return self.extents

    def array(self) -> Any:
        return self.make_array()

    def __getitem__(self, index: Any) -> Any:
        return self.array()[index]

    def to(self, *args: Any, **named: Any) -> "MaskCode":
        return self

    def numel(self) -> Any:
        return self.array().numel()

    def __str__(self) -> str:
        return f"fa3.hf.masks.MaskCode({self.terms})"

    __repr__ = __str__


def _mask_mod(terms: Terms, q_at: int, kv_at: int) -> Any:
    padding, ids, chunk, first = terms.padding, terms.ids, terms.chunk, terms.first
    if padding is ids is None and not chunk:
        return None

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        seen = []
        if padding is not None:
            seen.append(padding[b, kv])
        if ids is not None:
            seen.append(ids[b, q] == ids[b, kv])
        if chunk:
            start = first[b]
            seen.append((kv + kv_at - start) // chunk == (q + q_at - start) // chunk)
        made = seen[0]
        for one in seen[1:]:
            made = made & one
        return made

    return mask_mod


def make(make_array: Callable[[], Any], named: dict[str, Any]) -> MaskCode | None:
    """The mask that transformers asks for by `named`; None where it takes an array: of
    static caches, of functions that are not known."""
    if named.get("use_vmap"):
        return None
    if torch.compiler.is_compiling():
        return _make_in_graph(make_array, named)
    terms = read(named.get("mask_function"))
    numbers = [named.get(name, 0) for name in (
        "batch_size", "q_length", "kv_length", "q_offset", "kv_offset"
    )]  # fmt: skip
    if terms is None or not all(type(one) is int for one in numbers):
        return None
    batch, queries, keys, q_at, kv_at = numbers
    padding = named.get("attention_mask")
    if padding is not None and not bool(padding.all()):
        more = keys + kv_at - padding.shape[-1]
        padding = torch.nn.functional.pad(padding, (0, max(more, 0)))
        padding = padding[:, kv_at : kv_at + keys].to(torch.bool)
        if padding.shape != (batch, keys):
            return None
        with_padding = terms.both(Terms(padding=padding.contiguous()))
        if with_padding is None:
            return None
        terms = with_padding
    # Both are aligned at the end.
    relative = terms.causal or terms.window != (None, None)
    if terms.is_plain or (relative and q_at + queries != kv_at + keys):
        return None
    if terms.ids is not None:
        if terms.ids.shape != (batch, keys) or queries != keys or q_at or kv_at:
            return None
        terms = dataclasses.replace(terms, ids=terms.ids.to(torch.int32))
    if terms.first is not None:
        if terms.first.shape != (batch,):
            return None
        terms = dataclasses.replace(terms, first=terms.first.to(torch.int32))
    return MaskCode(
        terms, (batch, 1, queries, keys), _mask_mod(terms, q_at, kv_at), make_array
    )


def _make_in_graph(make_array: Callable[[], Any], named: dict[str, Any]) -> MaskCode | None:
    """Where Dynamo traces: the mask function itself, which becomes a part of the graph
    (fa3.dynamo.inside)."""
    from ..dynamo import inside

    function, padding = named.get("mask_function"), named.get("attention_mask")
    if inside.operator is None or function is None:
        return None
    batch, queries, keys = (named[name] for name in ("batch_size", "q_length", "kv_length"))
    q_at, kv_at = named.get("q_offset", 0), named.get("kv_offset", 0)
    if padding is not None:
        if isinstance(kv_at, torch.Tensor):
            return None
        more = max(keys + kv_at - padding.shape[-1], 0)
        padding = torch.nn.functional.pad(padding, (0, more)).to(torch.bool)

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        seen = function(b, h, q + q_at, kv + kv_at)
        return seen if padding is None else seen & padding[b, kv + kv_at]

    return MaskCode(Terms(), (batch, 1, queries, keys), mask_mod, make_array)
