# SPDX-License-Identifier: Apache-2.0
"""fa3.flex_attention: the signature of torch.nn.attention.flex_attention, with
its score_mod, mask_mod and BlockMask as they are."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable

from .. import api, tuning
from ..errors import ArgumentError, UnsupportedError
from ..kernels import blocks, checks
from . import options as flex_options


def flex_attention(
    query: Any, key: Any, value: Any, score_mod: Callable[..., Any] | None = None,
    block_mask: Any = None, scale: float | None = None, enable_gqa: bool = False,
    return_lse: bool = False, kernel_options: dict[str, Any] | None = None, *,
    return_aux: Any = None, interpret: bool | str = False,
) -> Any:  # fmt: skip
    """As torch.nn.attention.flex_attention: query (b, h, s, d), key and value
    (b, hk, keys, d). Of a block_mask the lists of blocks are read, by the kernel,
    and the mask_mod is traced. kernel_options has options of
    fa3's kernels in small letters, such as "block_m": 128 (docs/Tuning.md), without
    gradients and not under torch.compile. Those of FlexAttention's kernels are hints and
    change nothing; others are an error. "BLOCKS": "mask" says that the lists are those
    that follow from the mask_mod, as create_block_mask makes them: then the compiler
    finds the blocks itself, which is faster for causal masks, windows and the like, and
    for their gradients. interpret: as in fa3.attention, on the CPU, for tests."""
    if query.shape[1] != key.shape[1] and not enable_gqa:
        raise ArgumentError(
            "key",
            f"{key.shape[1]} heads, query has {query.shape[1]}; set enable_gqa=True",
        )
    wants_lse, wants_max = return_lse, False
    if return_aux is not None:
        wants_max = bool(getattr(return_aux, "max_scores", False))
        wants_lse = bool(return_aux.lse)
    mask_mod = None
    how, options = flex_options.split(kernel_options)
    if block_mask is not None and how == "mask":
        # Only checked.
        _, mask_mod = blocks.read(block_mask, *checks.extents(query, key, "bhsd"))
        if mask_mod is None:
            raise ArgumentError("block_mask", "has no mask_mod, which BLOCKS 'mask' asks for")
        block_mask = None
    if options and block_mask is not None:
        raise UnsupportedError(
            f"flex_attention: kernel_options {', '.join(dict(options))} beside lists of "
            "blocks; BLOCKS 'mask' finds the blocks by the mask_mod"
        )
    if options and interpret:
        raise UnsupportedError(
            f"flex_attention: kernel_options {', '.join(dict(options))} with interpret"
        )
    if options and wants_max:
        raise UnsupportedError(
            f"flex_attention: kernel_options {', '.join(dict(options))} with max_scores"
        )
    if options:
        attend: Any = functools.partial(tuning.attention, options)
    else:
        attend = functools.partial(
            api.attention, block_mask=block_mask, interpret=interpret,
            return_max_logit="row" if wants_max else False,
        )  # fmt: skip
    made = attend(
        query, key, value, score_mod=score_mod, mask_mod=mask_mod, scale=scale,
        return_lse=wants_lse,
    )  # fmt: skip
    if return_aux is None:
        return made
    o, *more = made if wants_lse or wants_max else (made,)
    largest = more.pop() if wants_max else None
    flex = sys.modules[type(return_aux).__module__]
    return o, flex.AuxOutput(lse=more.pop() if wants_lse else None, max_scores=largest)
