# SPDX-License-Identifier: Apache-2.0
"""fa3.flex_attention: the signature of torch.nn.attention.flex_attention, with
its score_mod, mask_mod and BlockMask as they are."""

from __future__ import annotations

import sys
from typing import Any, Callable

from . import api
from .errors import ArgumentError, UnsupportedError


def flex_attention(
    query: Any,
    key: Any,
    value: Any,
    score_mod: Callable[..., Any] | None = None,
    block_mask: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: dict[str, Any] | None = None,
    *,
    return_aux: Any = None,
) -> Any:
    """As torch.nn.attention.flex_attention: query (b, h, s, d), key and value
    (b, hk, keys, d). Of a block_mask the mask_mod is traced; which blocks are
    empty or full the compiler finds by itself, so its tables are not read. A
    block_mask without mask_mod, whose tables alone say what is visible, is not
    supported. kernel_options are hints for other kernels."""
    del kernel_options
    if query.shape[1] != key.shape[1] and not enable_gqa:
        raise ArgumentError(
            "key",
            f"{key.shape[1]} heads, query has {query.shape[1]}; set enable_gqa=True",
        )
    wants_lse = return_lse
    if return_aux is not None:
        if getattr(return_aux, "max_scores", False):
            raise UnsupportedError("flex_attention: return_aux with max_scores")
        wants_lse = bool(return_aux.lse)
    made = api.attention(
        query, key, value, score_mod=score_mod,
        mask_mod=_mask_mod(query, key, block_mask), scale=scale, return_lse=wants_lse,
    )  # fmt: skip
    if return_aux is None:
        return made
    o, lse = made if wants_lse else (made, None)
    flex = sys.modules[type(return_aux).__module__]
    return o, flex.AuxOutput(lse=lse, max_scores=None)


def _mask_mod(query: Any, key: Any, block_mask: Any) -> Any:
    if block_mask is None:
        return None
    if callable(block_mask) and not hasattr(block_mask, "mask_mod"):
        raise ArgumentError(
            "block_mask", "is a function, expected a BlockMask (create_block_mask)"
        )
    mod = block_mask.mask_mod
    lengths = getattr(block_mask, "seq_lengths", None)
    given = (query.shape[2], key.shape[2])
    if lengths is not None and (
        # A block mask may be longer than the sequences, as torch's may.
        given[0] > lengths[0] or given[1] > lengths[1]
    ):
        raise ArgumentError(
            "block_mask", f"is for lengths {tuple(lengths)}, the call has {given}"
        )
    if mod is None or getattr(mod, "__name__", "") == "noop_mask":
        if _is_dense(block_mask):
            return None
        raise UnsupportedError(
            "flex_attention: a block_mask without mask_mod, whose tables say what is "
            "visible"
        )
    return mod


def _is_dense(block_mask: Any) -> bool:
    """Whether all blocks are there."""
    return block_mask.sparsity() <= 0.0
