# SPDX-License-Identifier: Apache-2.0
"""The functions of FlashAttention-3's Python interface, with its signatures:

    from fa3.flash_attn_interface import flash_attn_func

Hints (num_splits, pack_gqa, sm_margin, scheduler_metadata, deterministic) are
accepted and change nothing. What there is no kernel for raises UnsupportedError,
a NotImplementedError that names it. Gradients are those of fa3.attention
(fa3.torch.set_backward).
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from . import api, varlen
from .errors import ArgumentError, UnsupportedError

Window = tuple[int, int]


def flash_attn_func(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    softmax_scale: float | None = None, causal: bool = False, qv: Any = None,
    q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
    window_size: Window = (-1, -1), attention_chunk: int = 0, softcap: float = 0.0,
    num_splits: int = 1, pack_gqa: bool | None = None, deterministic: bool = False,
    sm_margin: int = 0, return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """q (batch, queries, heads, d), k and v (batch, keys, key heads, d or dv): out,
    or (out, softmax_lse) with `return_attn_probs`."""
    _refuse("flash_attn_func", qv=qv)
    return _attention(
        q, k, v, softmax_scale, causal, (q_descale, k_descale, v_descale), window_size,
        attention_chunk, softcap, return_attn_probs,
    )  # fmt: skip


def flash_attn_qkvpacked_func(
    qkv: torch.Tensor, softmax_scale: float | None = None, causal: bool = False,
    q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
    window_size: Window = (-1, -1), attention_chunk: int = 0, softcap: float = 0.0,
    deterministic: bool = False, num_heads_q: int | None = None, sm_margin: int = 0,
    return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """qkv (batch, sequence, 3, heads, d), or (batch, sequence, heads + 2 key heads,
    d) with `num_heads_q`."""
    if qkv.dim() == 5:
        if qkv.shape[2] != 3:
            raise ArgumentError("qkv", f"extent {qkv.shape[2]} of dimension 2, expected 3")
        q, k, v = qkv.unbind(dim=2)
    elif qkv.dim() == 4 and num_heads_q is not None:
        rest = qkv.shape[2] - num_heads_q
        if rest <= 0 or rest % 2:
            raise ArgumentError(
                "num_heads_q", f"{num_heads_q} of {qkv.shape[2]} heads, the others are "
                "those of k and v",
            )  # fmt: skip
        q, k, v = qkv.split([num_heads_q, rest // 2, rest // 2], dim=2)
    else:
        raise ArgumentError("qkv", f"rank {qkv.dim()}, expected 5, or 4 and num_heads_q")
    return _attention(
        q, k, v, softmax_scale, causal, (q_descale, k_descale, v_descale), window_size,
        attention_chunk, softcap, return_attn_probs,
    )  # fmt: skip


def flash_attn_varlen_func(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    cu_seqlens_q: torch.Tensor, cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int, max_seqlen_k: int,
    seqused_q: Any = None, seqused_k: Any = None,
    softmax_scale: float | None = None, causal: bool = False, qv: Any = None,
    q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
    window_size: Window = (-1, -1), attention_chunk: int = 0, softcap: float = 0.0,
    num_splits: int = 1, pack_gqa: bool | None = None, deterministic: bool = False,
    sm_margin: int = 0, return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """q (queries of all sequences, heads, d), k and v likewise; cu_seqlens (sequences
    + 1,), int32, say where each begins. out, or (out, softmax_lse (heads, queries))
    with `return_attn_probs`."""
    name = "flash_attn_varlen_func"
    _refuse(
        name, qv=qv, seqused_q=seqused_q, seqused_k=seqused_k, q_descale=q_descale,
        k_descale=k_descale, v_descale=v_descale,
    )  # fmt: skip
    if attention_chunk:
        raise UnsupportedError(f"{name}: argument 'attention_chunk'")
    q, k, v = (one if one.stride(-1) == 1 else one.contiguous() for one in (q, k, v))
    left, right = window_size
    return varlen.attention(
        q, k, v, cu_seqlens_q, cu_seqlens_k, int(max_seqlen_q), causal=causal,
        window=None if left == right == -1 else (left, right), softcap=softcap,
        scale=softmax_scale, return_lse=return_attn_probs,
    )  # fmt: skip


def flash_attn_with_kvcache(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor,
    k: Any = None, v: Any = None, qv: Any = None, rotary_cos: Any = None,
    rotary_sin: Any = None, cache_seqlens: int | torch.Tensor | None = None,
    cache_batch_idx: Any = None, cache_leftpad: Any = None, page_table: Any = None,
    cu_seqlens_q: Any = None, cu_seqlens_k_new: Any = None,
    max_seqlen_q: int | None = None, rotary_seqlens: Any = None,
    q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
    softmax_scale: float | None = None, causal: bool = False,
    window_size: Window = (-1, -1), attention_chunk: int = 0, softcap: float = 0.0,
    rotary_interleaved: bool = True, scheduler_metadata: Any = None,
    num_splits: int = 0, pack_gqa: bool | None = None, sm_margin: int = 0,
    return_softmax_lse: bool = False,
) -> Any:  # fmt: skip
    """q (batch, queries, heads, d) on the first cache_seqlens keys of k_cache and
    v_cache (batch, keys, key heads, d)."""
    name = "flash_attn_with_kvcache"
    _refuse(
        name, k=k, v=v, qv=qv, rotary_cos=rotary_cos, rotary_sin=rotary_sin,
        cache_batch_idx=cache_batch_idx, cache_leftpad=cache_leftpad,
        page_table=page_table, cu_seqlens_q=cu_seqlens_q,
        cu_seqlens_k_new=cu_seqlens_k_new, rotary_seqlens=rotary_seqlens,
    )  # fmt: skip
    descales = (q_descale, k_descale, v_descale)
    if cache_seqlens is None or isinstance(cache_seqlens, int):
        if cache_seqlens is not None:
            k_cache, v_cache = k_cache[:, :cache_seqlens], v_cache[:, :cache_seqlens]
        return _attention(
            q, k_cache, v_cache, softmax_scale, causal, descales, window_size,
            attention_chunk, softcap, return_softmax_lse,
        )  # fmt: skip
    if attention_chunk:
        raise UnsupportedError(f"{name}: attention_chunk with cache_seqlens")
    if cache_seqlens.dtype != torch.int32:
        raise ArgumentError(
            "cache_seqlens", f"element type {cache_seqlens.dtype}, expected torch.int32"
        )
    mask_mod = _cache_mask(cache_seqlens, q.shape[1], causal, window_size)
    return _attention(
        q, k_cache, v_cache, softmax_scale, False, descales, (-1, -1), 0, softcap,
        return_softmax_lse, mask_mod,
    )  # fmt: skip


def flash_attn_combine(
    out_partial: torch.Tensor, lse_partial: torch.Tensor, out: Any = None,
    out_dtype: torch.dtype | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Joins attention over parts of the keys: out_partial (splits, batch, queries,
    heads, d), lse_partial (splits, batch, queries, heads); (out, lse). By torch's
    own operations."""
    if lse_partial.shape != out_partial.shape[:-1]:
        raise ArgumentError(
            "lse_partial", f"shape {tuple(lse_partial.shape)}, expected "
            f"{tuple(out_partial.shape[:-1])}",
        )  # fmt: skip
    lse = torch.logsumexp(lse_partial.float(), dim=0)
    # No visible key in any part: weights of 0, not NaN.
    finite = torch.where(torch.isneginf(lse), torch.zeros_like(lse), lse)
    weights = torch.exp(lse_partial.float() - finite)
    made = (weights[..., None] * out_partial.float()).sum(dim=0)
    made = made.to(out_dtype or out_partial.dtype)
    if out is not None:
        out.copy_(made)
        made = out
    return made, lse


def get_scheduler_metadata(
    batch_size: int, max_seqlen_q: int, max_seqlen_k: int, num_heads_q: int,
    num_heads_kv: int, headdim: int, cache_seqlens: torch.Tensor,
    qkv_dtype: torch.dtype = torch.bfloat16, headdim_v: int | None = None,
    cu_seqlens_q: Any = None, cu_seqlens_k_new: Any = None, cache_leftpad: Any = None,
    page_size: int | None = None, max_seqlen_k_new: int = 0, causal: bool = False,
    window_size: Window = (-1, -1), attention_chunk: int = 0, has_softcap: bool = False,
    num_splits: int = 0, pack_gqa: bool | None = None, sm_margin: int = 0,
) -> None:  # fmt: skip
    """A hint that fa3's kernels do not need: they share out tiles as they run."""
    return None


# -----------------------------------------------------------------------------
# What they have in common
# -----------------------------------------------------------------------------


def _refuse(function: str, **named: Any) -> None:
    for name, value in named.items():
        if value is not None:
            raise UnsupportedError(f"{function}: argument '{name}'")


def _attention(
    q: Any, k: Any, v: Any, scale: float | None, causal: bool,
    descales: tuple[Any, Any, Any], window_size: Window, chunk: int, softcap: float,
    return_lse: bool, mask_mod: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    # As FlashAttention does.
    q, k, v = (one if one.stride(-1) == 1 else one.contiguous() for one in (q, k, v))
    left, right = window_size
    window = None if left == right == -1 else (left, right)
    if chunk:
        mask_mod = _chunk_mask(k.shape[1] - q.shape[1], int(chunk))
    return api.attention(
        q, k, v, causal=causal, window=window, softcap=softcap, scale=scale,
        mask_mod=mask_mod, q_descale=descales[0], k_descale=descales[1],
        v_descale=descales[2], return_lse=return_lse, layout="bshd",
    )  # fmt: skip


def _chunk_mask(offset: int, chunk: int) -> Callable[..., Any]:
    """Keys of the chunk that the query is in."""

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        return (q + offset) // chunk == kv // chunk

    return mask_mod


def _cache_mask(
    lengths: torch.Tensor, queries: int, causal: bool, window: Window
) -> Callable[..., Any]:
    """The first lengths[b] keys; queries are the last of them."""
    left, right = window
    right = 0 if causal else right

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        length = lengths[b]
        here = q + length - queries
        visible = kv < length
        if right >= 0:
            visible = visible & (kv <= here + right)
        if left >= 0:
            visible = visible & (kv >= here - left)
        return visible

    return mask_mod
