# SPDX-License-Identifier: Apache-2.0
"""fa3.attention with the largest logit of each head, as QK-clip asks for it (MuonClip,
arXiv 2507.20534): the maximum of all scores of visible keys, behind scale, softcap, bias
and score_mod. Sinks and dropout have no part in it, and it carries no gradient.

Kernels give the largest score of every query; a head's is the maximum of these, in
which no order matters."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError, UnsupportedError
from ..kernels.arguments import Arguments
from .request import Request

PER_HEAD, PER_ROW = "head", "row"


def check(kind: Any) -> str:
    """What is asked for: PER_HEAD, PER_ROW, or "" for nothing."""
    if kind is None or kind is False:
        return ""
    if kind is True:
        return PER_HEAD
    if kind not in (PER_HEAD, PER_ROW):
        raise ArgumentError("return_max_logit", f"{kind!r}, expected False, True, 'head' or 'row'")
    return str(kind)


def reduce(rows: Any, kind: str, heads: int) -> Any:
    """The largest scores of queries, whose dimension `heads` are heads, as asked for."""
    if kind == PER_ROW:
        return rows
    others = [d for d in range(rows.dim()) if d != heads]
    if any([rows.shape[d] == 0 for d in others]):
        return rows.new_full((rows.shape[heads],), float("-inf"))
    return rows.amax(others)


def choose(made: Any, kind: str, return_lse: bool, heads: int) -> Any:
    """Of o, lse and the largest scores of queries what a caller has asked for."""
    o, lse, rows = made
    largest = reduce(rows, kind, heads)
    return (o, lse, largest) if return_lse else (o, largest)


def without_torch(q: Any, k: Any, v: Any, kind: str, asked: Arguments) -> Any:
    """o, lse and the largest scores of queries."""
    if kind == PER_HEAD:
        raise UnsupportedError("return_max_logit=True without torch; 'row' gives all maxima")
    if asked.generator is not None:
        raise ArgumentError("generator", "is torch's, and q is no tensor of torch")
    if asked.block_mask is not None:
        raise UnsupportedError("return_max_logit with block_mask, without torch")
    return Request(q, k, v, asked).run()
