# SPDX-License-Identifier: Apache-2.0
"""The functions of FlashAttention-3's Python interface, with its signatures:

    from fa3.flash_attn_interface import flash_attn_func

Numbers may be of Python or numpy, or tensors with one element. Hints (sm_margin,
scheduler_metadata, num_splits and pack_gqa of dense calls) are accepted and change
nothing. What there is no kernel for raises UnsupportedError, a NotImplementedError that
names it. Gradients are those of fa3.attention (fa3.torch.set_backward); float8 has none,
which its backward says.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from torch.nn import functional

from . import api, serving
from .calls import max_logit
from .calls.launch import keep, plans
from .errors import ArgumentError, UnsupportedError
from .kernels import invariance
from .kernels.arguments import Sequences
from .serving import append, cache_rows, packed
from .serving.call import check_chunk
from .serving.qv import is_operand, join
from .serving.eager import known
from .support import native, refusals, values, watch

Window = Any  # two whole numbers, -1 for no end


def flash_attn_func(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    softmax_scale: float | None = None, causal: bool = False, qv: Any = None,
    q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
    window_size: Window = (-1, -1), attention_chunk: int = 0, softcap: float = 0.0,
    num_splits: int = 1, pack_gqa: bool | None = None, deterministic: bool = False,
    sm_margin: int = 0, return_attn_probs: bool = False, *,
    return_max_logit: bool | str = False,
) -> Any:  # fmt: skip
    """q (batch, queries, heads, d), k and v (batch, keys, key heads, d or dv): out,
    or (out, softmax_lse) with `return_attn_probs`. With qv (batch, queries, heads, dv)
    scores are q k^T + qv v^T (fa3.serving.qv). return_max_logit as fa3.attention has it, one
    result more behind the others."""
    q, k = _joined(q, qv, k, v)
    kind = max_logit.check(return_max_logit)
    named = _named(q, softmax_scale, causal, window_size, softcap, attention_chunk)
    descales = (q_descale, k_descale, v_descale)
    return _attention(q, k, v, named, descales, return_attn_probs, deterministic, kind)


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
    named = _named(q, softmax_scale, causal, window_size, softcap, attention_chunk)
    descales = (q_descale, k_descale, v_descale)
    return _attention(q, k, v, named, descales, return_attn_probs, deterministic)


def flash_attn_varlen_func(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    cu_seqlens_q: torch.Tensor, cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int, max_seqlen_k: int,
    seqused_q: Any = None, seqused_k: Any = None,
    softmax_scale: float | None = None, causal: bool = False, qv: Any = None,
    q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
    window_size: Window = (-1, -1), attention_chunk: int = 0, softcap: float = 0.0,
    num_splits: int = 1, pack_gqa: bool | None = None, deterministic: bool = False,
    sm_margin: int = 0, return_attn_probs: bool = False, *,
    return_max_logit: bool | str = False,
) -> Any:  # fmt: skip
    """q (queries of all sequences, heads, d), k and v likewise; cu_seqlens (sequences
    + 1,), int32, say where each begins, seqused (sequences,) how many rows of it
    count. out, or (out, softmax_lse (heads, queries)) with `return_attn_probs`. qv
    (queries of all sequences, heads, dv) as flash_attn_func has it. return_max_logit:
    True for the largest score of each head, float32 (heads,), over all sequences, "row"
    for that of each query, (heads, queries), -inf in rows that are no query's."""
    key, name, given = None, None, (
        q, k, v, cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k, None, None, None, None,
        None, None, None, None, None, q_descale, k_descale, v_descale, qv,
    )  # fmt: skip
    if qv is None and return_max_logit is False and not (
        torch.compiler.is_compiling() or watch.is_watched()
    ):  # fmt: skip
        numbers = (
            softmax_scale, causal, window_size, attention_chunk, softcap, num_splits, pack_gqa,
            return_attn_probs, max_seqlen_q, max_seqlen_k, invariance.part_keys(None),
        )  # fmt: skip
        grads = torch.is_grad_enabled() and (
            q.requires_grad or k.requires_grad or v.requires_grad
        )  # fmt: skip
        if not grads:
            key = native.identify(_PACKED, *given, *numbers)
            again = plans.get(key)
            if again is not None:
                return again.again(given, softmax_scale)
        elif q_descale is k_descale is v_descale is None:
            name = native.name(_WITH_GRADIENTS, *given[:7], *numbers)
            made = packed.again(name, given, deterministic)
            if made is not None:
                return made if return_attn_probs else made[0]
    if qv is not None and is_operand(q, qv, k, v):
        (qv,) = _contiguous(qv)
    else:
        q, k = _joined(q, qv, k, v)
        qv = None
    _refuse_gradients(
        "flash_attn_varlen_func", q_descale=q_descale, k_descale=k_descale,
        v_descale=v_descale,
    )  # fmt: skip
    max_q = values.whole("max_seqlen_q", max_seqlen_q)
    max_k = values.whole("max_seqlen_k", max_seqlen_k)
    splits = values.whole("num_splits", num_splits)
    kind = max_logit.check(return_max_logit)

    def run(q: Any, k: Any, v: Any, named: dict[str, Any], grads: bool) -> Any:
        named |= {
            "cu_q": cu_seqlens_q, "cu_k": cu_seqlens_k, "max_q": max_q, "max_k": max_k,
            "used_q": seqused_q, "used_k": seqused_k, "max_logits": bool(kind),
        }  # fmt: skip
        if grads:
            return packed.attention(q, k, v, deterministic=deterministic, **named)
        return serving.attention(
            q, k, v, splits=splits, pack_heads=pack_gqa, q_descale=q_descale,
            k_descale=k_descale, v_descale=v_descale, qv=qv, **named,
        )  # fmt: skip

    named = _named(q, softmax_scale, causal, window_size, softcap, attention_chunk)
    wants_lse = values.flag("return_attn_probs", return_attn_probs)
    named["return_lse"] = wants_lse or bool(kind)
    made = _with_head_dims(q, k, v, named, run)
    if key is not None:
        _learn(key, given, named | {
            "splits": splits, "pack_heads": pack_gqa, "max_q": max_q, "max_k": max_k
        })  # fmt: skip
    elif name is not None:
        packed.learn(name, given, Sequences(**named), deterministic)
    return max_logit.choose(made, kind, wants_lse, 0) if kind else made


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
    return_softmax_lse: bool = False, *, return_max_logit: bool | str = False,
) -> Any:  # fmt: skip
    """q (batch, queries, heads, d), or (rows, heads, d) with cu_seqlens_q, on the
    first cache_seqlens keys of k_cache and v_cache: (batch, keys, key heads, d), of
    which sequence b has batch cache_batch_idx[b], or (page, rows of a page, key
    heads, d) with page_table (sequences, pages). The cache_leftpad keys in front do
    not count. num_splits 0 is what fills the GPU.

    k and v (batch, new keys, key heads, d or dv), or (rows, key heads, d or dv) with
    cu_seqlens_k_new, are written into the caches, in place, behind the cache_seqlens
    rows of each sequence, and count; float8 as it is. rotary_cos and
    rotary_sin (positions, pairs of elements) turn new keys and queries by their
    positions, from cache_seqlens or rotary_seqlens on, interleaved or in halves.
    Without causal, window and chunk all queries are turned by the first position. qv
    (as q, of dv columns) is not turned; a cache of which v and k are columns next to
    each other is read where it lies. return_max_logit as flash_attn_varlen_func has it,
    "row" as (batch, heads, queries) without cu_seqlens_q."""
    key, given = None, (
        q, k_cache, v_cache, cu_seqlens_q, None, None, cache_seqlens, cache_batch_idx,
        cache_leftpad, page_table, None, k, v, rotary_cos, rotary_sin, rotary_seqlens,
        q_descale, k_descale, v_descale, qv,
    )  # fmt: skip
    if qv is None and cu_seqlens_k_new is None and return_max_logit is False and not (
        torch.compiler.is_compiling() or watch.is_watched()
    ):  # fmt: skip
        key = native.identify(
            _CACHED, *given, softmax_scale, causal, window_size, attention_chunk, softcap,
            num_splits, pack_gqa, return_softmax_lse, rotary_interleaved, max_seqlen_q,
            invariance.part_keys(None),
        )  # fmt: skip
        again = plans.get(key)
        if again is not None:
            return again.again(given, softmax_scale)
    _refuse_gradients(
        "flash_attn_with_kvcache", q=q, qv=qv, k_cache=k_cache, v_cache=v_cache, k=k, v=v,
        rotary_cos=rotary_cos, rotary_sin=rotary_sin, q_descale=q_descale,
        k_descale=k_descale, v_descale=v_descale,
    )  # fmt: skip
    if k is None:
        q, k_cache, v_cache = _contiguous(q, k_cache, v_cache)
    else:
        (q,) = _contiguous(q)  # a copy of a cache is not what is to be written
        for name, one in (("k_cache", k_cache), ("v_cache", v_cache)):
            if one.stride(-1) != 1:
                raise ArgumentError(name, "last dimension is not contiguous")
    if cache_seqlens is not None and not (
        isinstance(cache_seqlens, torch.Tensor) and cache_seqlens.dim()
    ):  # fmt: skip
        sequences = q.shape[0] if cu_seqlens_q is None else cu_seqlens_q.numel() - 1
        cache_seqlens = torch.full(
            (sequences,), values.whole("cache_seqlens", cache_seqlens),
            dtype=torch.int32, device=q.device,
        )  # fmt: skip
    if cu_seqlens_q is not None and max_seqlen_q is not None:
        max_seqlen_q = values.whole("max_seqlen_q", max_seqlen_q)
    if k is None and v is None:
        # FlashAttention-3 looks at them beside new keys only.
        cu_seqlens_k_new = None
    if rotary_cos is None:
        rotary_seqlens = None
    named = _named(q, softmax_scale, causal, window_size, softcap, attention_chunk)
    if qv is not None:
        if not (k is v is None):
            q, cache_seqlens = _written(q, k_cache, v_cache, Sequences(
                cu_q=cu_seqlens_q, used_k=cache_seqlens, batch_index=cache_batch_idx,
                page_table=page_table, k_new=k, v_new=v, rotary_cos=rotary_cos,
                rotary_sin=rotary_sin, rotary_interleaved=rotary_interleaved,
                rotary_at=rotary_seqlens, cu_new=cu_seqlens_k_new, **named,
            ))  # fmt: skip
            k = v = cu_seqlens_k_new = rotary_cos = rotary_sin = rotary_seqlens = None
        elif rotary_cos is not None:
            raise ArgumentError("rotary_cos", "is for new keys, and k and v are None")
        if is_operand(q, qv, k_cache, v_cache):
            (qv,) = _contiguous(qv)
        else:
            q, k_cache = _joined(q, qv, k_cache, v_cache)
            qv = None
    splits = values.whole("num_splits", num_splits)
    kind = max_logit.check(return_max_logit)
    wants_lse = values.flag("return_softmax_lse", return_softmax_lse)
    named["return_lse"] = wants_lse
    made = serving.attention(
        q, k_cache, v_cache, cu_q=cu_seqlens_q, max_q=max_seqlen_q,
        used_k=cache_seqlens, batch_index=cache_batch_idx, leftpad=cache_leftpad,
        page_table=page_table, q_descale=q_descale, k_descale=k_descale,
        v_descale=v_descale, splits=splits,
        pack_heads=pack_gqa, k_new=k, v_new=v,
        cu_new=cu_seqlens_k_new, rotary_cos=rotary_cos, rotary_sin=rotary_sin,
        rotary_interleaved=rotary_interleaved, rotary_at=rotary_seqlens, qv=qv,
        max_logits=bool(kind), **named,
    )  # fmt: skip
    if key is not None:
        _learn(key, given, named | {
            "splits": splits, "pack_heads": pack_gqa, "max_q": max_seqlen_q,
            "rotary_interleaved": rotary_interleaved,
        })  # fmt: skip
    heads = 1 if cu_seqlens_q is None else 0
    return max_logit.choose(made, kind, wants_lse, heads) if kind else made


def flash_attn_combine(
    out_partial: torch.Tensor, lse_partial: torch.Tensor, out: Any = None,
    out_dtype: torch.dtype | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Joins attention over parts of the keys: out_partial (splits, batch, queries,
    heads, d), lse_partial (splits, batch, queries, heads), or both without batch; (out,
    lse) by fa3.merge, out in the type of out_partial or in `out_dtype`. No gradients."""
    parts = _parts(out_partial, lse_partial)
    made, lse = api.merge(*parts, layout="bshd", out_dtype=out_dtype, out=out)
    return made, lse.transpose(-1, -2)


def _parts(outs: torch.Tensor, lses: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if lses.shape != outs.shape[:-1]:
        raise ArgumentError(
            "lse_partial", f"shape {tuple(lses.shape)}, expected {tuple(outs.shape[:-1])}"
        )
    return outs, lses.transpose(-1, -2)


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


#: What keys of calls begin with (native.identify).
_PACKED, _CACHED, _WITH_GRADIENTS = 1, 2, 3


def _learn(key: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Keeps a call that was just made, if that was one of these tensors, as they are."""
    again = known(given, Sequences(**named))
    if again is not None:
        keep(key, lambda: again)


def _joined(q: Any, qv: Any, k: Any, v: Any) -> tuple[Any, Any]:
    """Queries and keys of one product."""
    return (q, k) if qv is None else join(q, qv, k, v)


def _written(q: Any, k: Any, v: Any, asked: Sequences) -> tuple[Any, Any]:
    """New keys in the caches, in front of an attention that reads another tensor; the
    turned queries, and how many rows sequences have then."""
    append.check_pairs(asked)
    with torch.no_grad():
        return cache_rows.write(q, k, v, asked)


def _refuse_gradients(function: str, **named: Any) -> None:
    if not torch.is_grad_enabled():
        return
    # The way of almost all calls.
    if any([one is not None and one.requires_grad for one in named.values()]):
        name = next(n for n, one in named.items() if one is not None and one.requires_grad)
        raise UnsupportedError(f"{function}: gradients, and '{name}' requires some")


def _named(
    q: torch.Tensor, scale: Any, causal: Any, window_size: Any, softcap: Any, chunk: Any
) -> dict[str, Any]:  # fmt: skip
    """Arguments that all functions have, by the names of serving.attention."""
    return {
        "causal": values.flag("causal", causal), "window": values.window(window_size),
        "softcap": values.real("softcap", softcap),
        "chunk": max(values.whole("attention_chunk", chunk), 0),
        "scale": None if scale is None else values.real("softmax_scale", scale),
    }  # fmt: skip


def _attention(
    q: Any, k: Any, v: Any, named: dict[str, Any], descales: tuple[Any, Any, Any],
    return_lse: Any, deterministic: bool, kind: str = "",
) -> Any:  # fmt: skip
    def run(q: Any, k: Any, v: Any, named: dict[str, Any], grads: bool) -> Any:
        chunk, mask_mod = check_chunk(named.pop("chunk")), None
        if chunk:
            mask_mod = _chunk_mask(k.shape[1] - q.shape[1], chunk)
        named |= {
            "mask_mod": mask_mod, "q_descale": descales[0], "k_descale": descales[1],
            "v_descale": descales[2], "layout": "bshd",
        }  # fmt: skip
        if deterministic and grads:
            from . import torch as door

            return door.attention(q, k, v, backward="deterministic", max_logits=bool(kind), **named)
        if kind:
            named["return_max_logit"] = max_logit.PER_ROW
        return api.attention(q, k, v, **named)

    wants_lse = values.flag("return_attn_probs", return_lse)
    named["return_lse"] = wants_lse or bool(kind)
    made = _with_head_dims(q, k, v, named, run)
    return max_logit.choose(made, kind, wants_lse, 1) if kind else made


def _with_head_dims(
    q: Any, k: Any, v: Any, named: dict[str, Any], run: Callable[..., Any]
) -> Any:  # fmt: skip
    """run(q, k, v, named, whether gradients are asked for), with head dims that kernels
    take: 0 is added behind others. A forward of float8 whose tensors require gradients
    is computed, its backward is an error."""
    grads = torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)
    # Transforms of torch.func take what has gradients.
    grads = grads or (q.element_size() > 1 and watch.transforms())
    if grads and q.element_size() == 1:
        with torch.no_grad():
            made = _with_head_dims(*(x.detach() for x in (q, k, v)), named, run)
        return refusals.without_gradient(f"gradients of {q.dtype}", made, q, k, v)
    step = 16 if q.element_size() == 1 else 8
    dims = q.shape[-1], v.shape[-1]
    if dims[0] % step == dims[1] % step == 0:
        return run(*_contiguous(q, k, v), named, grads)
    if named["scale"] is None:
        named["scale"] = dims[0] ** -0.5
    made = run(*(_padded(one, step) for one in (q, k, v)), named, grads)
    if named["return_lse"]:
        return made[0][..., : dims[1]], *made[1:]
    return made[..., : dims[1]]


def _given_grads(why: str, given: Any, like: Any) -> dict[str, Any]:
    """Memory for dq, dk and dv, by name; `why` there has to be some."""
    grads = dict(zip(("dq", "dk", "dv"), given))
    for (name, one), of in zip(grads.items(), like):
        if one is None:
            raise ArgumentError(name, f"is None, and no result {why}has the gradient")
        if one.shape != of.shape or one.dtype != of.dtype or one.device != of.device:
            raise ArgumentError(
                name, f"{one.dtype} of shape {tuple(one.shape)}, expected {of.dtype} "
                f"{tuple(of.shape)} on {of.device}",
            )  # fmt: skip
    return grads


def _padded(one: torch.Tensor, step: int) -> torch.Tensor:
    more = -one.shape[-1] % step
    if one.element_size() == 1:
        bits = functional.pad(one.contiguous().view(torch.uint8), (0, more))
        return bits.view(one.dtype)
    return functional.pad(one, (0, more)).contiguous()


def _contiguous(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
    # As FlashAttention does.
    return tuple([one if one.stride(-1) == 1 else one.contiguous() for one in given])


def _chunk_mask(offset: int, chunk: int) -> Callable[..., Any]:
    """Keys of the chunk that the query is in."""

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        return (q + offset) // chunk == kv // chunk

    return mask_mod
