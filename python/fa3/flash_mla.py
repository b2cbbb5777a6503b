# SPDX-License-Identifier: Apache-2.0
"""The functions by which FlashMLA decodes, with its signatures:

    from fa3.flash_mla import flash_mla_with_kvcache, get_mla_metadata

Queries and keys of multi-head latent attention in its absorbed form: the first head_dim_v
columns of a cache are the value as well, and are read once. What there is no kernel for
raises UnsupportedError, which names it. No gradients.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from . import flash_attn_interface as functions
from . import serving
from .errors import ArgumentError, ArgumentTypeError, UnsupportedError
from .support import values


@dataclasses.dataclass
class FlashMLASchedMeta:
    """A hint that fa3's kernels do not need: launches choose numbers of parts."""


def get_mla_metadata(*args: Any, **named: Any) -> tuple[FlashMLASchedMeta, None]:
    """What flash_mla_with_kvcache takes as tile_scheduler_metadata and num_splits."""
    return FlashMLASchedMeta(), None


def flash_mla_with_kvcache(
    q: torch.Tensor, k_cache: torch.Tensor, block_table: torch.Tensor | None,
    cache_seqlens: torch.Tensor | None, head_dim_v: int,
    tile_scheduler_metadata: Any = None, num_splits: Any = None,
    softmax_scale: float | None = None, causal: bool = False,
    is_fp8_kvcache: bool = False, indices: torch.Tensor | None = None,
    attn_sink: torch.Tensor | None = None, extra_k_cache: Any = None,
    extra_indices_in_kvcache: Any = None, topk_length: torch.Tensor | None = None,
    extra_topk_length: Any = None,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """q (batch, queries, heads, d) on k_cache (pages, rows of a page, key heads, d), whose
    first head_dim_v columns are values: out (batch, queries, heads, head_dim_v) and
    softmax_lse (batch, heads, queries), -inf where a query sees no key.

    Dense: cache_seqlens (batch,) keys of each sequence, in the pages that block_table
    (batch, pages) names. Sparse: the keys of a query are the rows of the cache, counted
    through all pages, that indices (batch, queries, keys) names, the first topk_length
    (batch,) of them; a number that is no row's is no key. attn_sink (heads,): a score more
    of every row in out, and not in softmax_lse. tile_scheduler_metadata and num_splits are
    hints without effect."""
    for name, one in (
        ("is_fp8_kvcache", values.flag("is_fp8_kvcache", is_fp8_kvcache)),
        ("extra_k_cache", extra_k_cache is not None),
        ("extra_indices_in_kvcache", extra_indices_in_kvcache is not None),
        ("extra_topk_length", extra_topk_length is not None),
    ):  # fmt: skip
        if one:
            raise UnsupportedError(f"flash_mla_with_kvcache: '{name}'")
    functions._refuse_gradients(
        "flash_mla_with_kvcache", q=q, k_cache=k_cache, attn_sink=attn_sink
    )
    for name, one in (("q", q), ("k_cache", k_cache)):
        if not isinstance(one, torch.Tensor):
            raise ArgumentTypeError(name, f"{type(one).__name__}, expected a tensor")
        if one.dim() != 4:
            raise ArgumentError(name, f"rank {one.dim()}, expected 4")
        if one.element_size() != 2:
            raise UnsupportedError(
                f"flash_mla_with_kvcache: '{name}' of {one.dtype}, expected float16 or "
                "bfloat16"
            )  # fmt: skip
    dv = values.whole("head_dim_v", head_dim_v)
    if not 0 < dv <= k_cache.shape[-1]:
        raise ArgumentError("head_dim_v", f"{dv}, expected 1 to {k_cache.shape[-1]}")
    causal = values.flag("causal", causal)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    if indices is not None:
        return _sparse(q, k_cache, dv, scale, causal, indices, attn_sink, topk_length)
    for name, one in (("attn_sink", attn_sink), ("topk_length", topk_length)):
        if one is not None:
            raise ArgumentError(name, "is for 'indices', which is None")
    for name, one in (("block_table", block_table), ("cache_seqlens", cache_seqlens)):
        if one is None:
            raise ArgumentError(name, "is None, expected a tensor without 'indices'")
    return _attend(q, k_cache, dv, block_table, cache_seqlens, scale, causal)


def _attend(
    q: Any, cache: Any, dv: int, table: Any, used: Any, scale: Any, causal: bool
) -> Any:  # fmt: skip
    """Values are the first columns; there is no other part of a key if they are all."""
    v = cache[..., :dv]
    if dv == cache.shape[-1]:
        qv, k = None, cache
    else:
        qv, q, k = q[..., :dv], q[..., dv:], cache[..., dv:]
    return serving.attention(
        q, k, v, qv=qv, used_k=used, page_table=table, causal=causal, scale=scale,
        return_lse=True,
    )  # fmt: skip


def _sparse(
    q: Any, cache: Any, dv: int, scale: Any, causal: bool, indices: Any, sink: Any,
    most: Any,
) -> Any:  # fmt: skip
    """Every query is a sequence, every row of the cache a page."""
    if causal:
        raise ArgumentError("causal", "is True, expected False beside 'indices'")
    batch, queries, heads, _ = q.shape
    if indices.dtype != torch.int32 or indices.dim() != 3 or (
        tuple(indices.shape[:2]) != (batch, queries)
    ):  # fmt: skip
        raise ArgumentError(
            "indices", f"{indices.dtype} of shape {tuple(indices.shape)}, expected int32 "
            f"({batch}, {queries}, keys)",
        )  # fmt: skip
    pages, rows = cache.shape[:2]
    if pages > 1 and cache.stride(0) != rows * cache.stride(1):
        raise ArgumentError(
            "k_cache", f"pages {cache.stride(0)} elements apart, expected "
            f"{rows * cache.stride(1)} beside 'indices'",
        )  # fmt: skip
    cache = cache.as_strided(
        (pages * rows, 1, *cache.shape[2:]),
        (cache.stride(1), cache.stride(1), *cache.stride()[2:]), cache.storage_offset(),
    )  # fmt: skip
    count = indices.shape[-1]
    is_key = (indices >= 0) & (indices < pages * rows)
    if most is not None:
        place = torch.arange(count, device=indices.device)
        is_key = is_key & (place < most.view(batch, 1, 1))
    # Keys in front, in their order.
    order = torch.argsort((~is_key).to(torch.int8), dim=-1, stable=True)
    table = indices.gather(-1, order).view(batch * queries, count)
    used = is_key.sum(-1, dtype=torch.int32).view(-1)
    o, lse = _attend(
        q.reshape(batch * queries, 1, heads, q.shape[-1]), cache, dv, table, used, scale,
        False,
    )  # fmt: skip
    o = o.view(batch, queries, heads, dv)
    lse = lse.view(batch, queries, heads)
    if sink is not None:
        # A row without keys has no sum, and is 0.
        o = o * torch.sigmoid(lse - sink).nan_to_num().unsqueeze(-1).to(o.dtype)
    return o, lse.transpose(1, 2).contiguous()
