# SPDX-License-Identifier: Apache-2.0
"""FlashAttention-3's operators on fa3's kernels, which fa3.flash_attn_3 gives their names.
Every argument is honored or refused by its name. What FlashAttention-3's kernels keep
between two launches (out_accum, softmax_lse_accum, softmax_lse_log2, dq_accum, ..) is an
empty tensor, and the scheduler's metadata is one that nothing reads."""

from __future__ import annotations

from typing import Any

import torch
from .. import api, serving
from .. import flash_attn_interface as functions
from ..calls import choices, gradients
from ..errors import ArgumentError, UnsupportedError
from ..kernels import program
from ..kernels.arguments import Arguments, Sequences
from ..serving import operators, packed, packed_kernels
from ..serving.call import check_chunk

SCHEMAS = (
    "fwd(Tensor q, Tensor k, Tensor v, Tensor(k_new!)? k_new=None, "
    "Tensor(v_new!)? v_new=None, Tensor? q_v=None, Tensor(out!)? out=None, "
    "Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_k=None, Tensor? cu_seqlens_k_new=None, "
    "Tensor? seqused_q=None, Tensor? seqused_k=None, int? max_seqlen_q=None, "
    "int? max_seqlen_k=None, Tensor? page_table=None, Tensor? kv_batch_idx=None, "
    "Tensor? leftpad_k=None, Tensor? rotary_cos=None, Tensor? rotary_sin=None, "
    "Tensor? seqlens_rotary=None, Tensor? q_descale=None, Tensor? k_descale=None, "
    "Tensor? v_descale=None, float? softmax_scale=None, bool is_causal=False, "
    "int window_size_left=-1, int window_size_right=-1, int attention_chunk=0, "
    "float softcap=0.0, bool is_rotary_interleaved=False, "
    "Tensor? scheduler_metadata=None, int num_splits=0, bool? pack_gqa=None, "
    "int sm_margin=0) -> (Tensor(out!), Tensor, Tensor, Tensor)",
    "bwd(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor softmax_lse, "
    "Tensor(dq!)? dq=None, Tensor(dk!)? dk=None, Tensor(dv!)? dv=None, "
    "Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_k=None, Tensor? seqused_q=None, "
    "Tensor? seqused_k=None, int? max_seqlen_q=None, int? max_seqlen_k=None, "
    "float? softmax_scale=None, bool is_causal=False, int window_size_left=-1, "
    "int window_size_right=-1, float softcap=0.0, bool deterministic=False, "
    "int sm_margin=0) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    "fwd_combine(Tensor out_partial, Tensor lse_partial, Tensor(out!)? out=None, "
    "ScalarType? out_dtype=None) -> (Tensor(out!), Tensor)",
    "get_scheduler_metadata(int batch_size, int max_seqlen_q, int max_seqlen_k, "
    "int num_heads, int num_heads_k, int headdim, int headdim_v, ScalarType qkv_dtype, "
    "Tensor seqused_k, Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_k=None, "
    "Tensor? cu_seqlens_k_new=None, Tensor? seqused_q=None, Tensor? leftpad_k=None, "
    "int? page_size=None, int max_seqlen_k_new=0, bool is_causal=False, "
    "int window_size_left=-1, int window_size_right=-1, int attention_chunk=0, "
    "bool has_softcap=False, int num_splits=0, bool? pack_gqa=None, "
    "int sm_margin=0) -> Tensor",
)

#: What install_flash_attn_3 was told.
_interpret: bool | str = False

# -----------------------------------------------------------------------------
# Forward
# -----------------------------------------------------------------------------


def _fwd(
    q: Any, k: Any, v: Any, k_new: Any = None, v_new: Any = None, q_v: Any = None,
    out: Any = None, cu_seqlens_q: Any = None, cu_seqlens_k: Any = None,
    cu_seqlens_k_new: Any = None, seqused_q: Any = None, seqused_k: Any = None,
    max_seqlen_q: int | None = None, max_seqlen_k: int | None = None,
    page_table: Any = None, kv_batch_idx: Any = None, leftpad_k: Any = None,
    rotary_cos: Any = None, rotary_sin: Any = None, seqlens_rotary: Any = None,
    q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
    softmax_scale: float | None = None, is_causal: bool = False,
    window_size_left: int = -1, window_size_right: int = -1, attention_chunk: int = 0,
    softcap: float = 0.0, is_rotary_interleaved: bool = False,
    scheduler_metadata: Any = None, num_splits: int = 0, pack_gqa: bool | None = None,
    sm_margin: int = 0,
) -> Any:  # fmt: skip
    if q_v is not None:
        if not (k_new is v_new is rotary_cos is None):
            raise UnsupportedError("flash_attn_3.fwd: 'q_v' with 'k_new' and 'v_new'")
        q, k = functions._joined(q, q_v, k, v)
    if cu_seqlens_k is not None and max_seqlen_k is None:
        raise ArgumentError("max_seqlen_k", "is None, and cu_seqlens_k is given")
    named = _named(
        q, softmax_scale, is_causal, window_size_left, window_size_right, softcap,
        attention_chunk,
    )  # fmt: skip
    places = (cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k, page_table, kv_batch_idx,
              leftpad_k, k_new, v_new, rotary_cos, rotary_sin)  # fmt: skip
    if all([one is None for one in places]):
        o, lse = _dense(q, k, v, out, q_descale, k_descale, v_descale, **named)
    else:
        if k_new is None and v_new is None:
            # FlashAttention-3 looks at it beside new keys only.
            cu_seqlens_k_new = None
        o, lse = _serve(
            q, k, v, cu_q=cu_seqlens_q, cu_k=cu_seqlens_k, max_q=max_seqlen_q,
            max_k=max_seqlen_k, used_q=seqused_q, used_k=seqused_k,
            batch_index=kv_batch_idx, leftpad=leftpad_k, page_table=page_table,
            splits=max(num_splits, 0), pack_heads=pack_gqa, out=out, k_new=k_new,
            v_new=v_new, cu_new=cu_seqlens_k_new, rotary_cos=rotary_cos,
            rotary_sin=rotary_sin, rotary_interleaved=is_rotary_interleaved,
            rotary_at=seqlens_rotary if rotary_cos is not None else None,
            q_descale=q_descale, k_descale=k_descale, v_descale=v_descale, **named,
        )  # fmt: skip
    return o, lse, *_nothing(q, 2)


def _named(
    q: Any, scale: Any, causal: Any, left: int, right: int, softcap: Any, chunk: Any
) -> dict[str, Any]:  # fmt: skip
    named = functions._named(q, scale, causal, (left, right), softcap, chunk)
    return named | {"return_lse": True, "interpret": _interpret}


def _dense(
    q: Any, k: Any, v: Any, out: Any, q_descale: Any, k_descale: Any, v_descale: Any, *,
    chunk: int, **named: Any,
) -> Any:  # fmt: skip
    mask_mod = None
    if check_chunk(chunk):
        mask_mod = functions._chunk_mask(k.shape[1] - q.shape[1], chunk)
    named |= {
        "mask_mod": mask_mod, "layout": "bshd", "q_descale": q_descale,
        "k_descale": k_descale, "v_descale": v_descale,
    }  # fmt: skip
    if not _is_traced(q):
        return api.attention(q, k, v, out=out, **named)
    from .. import torch as door

    o, lse = door.attention(q, k, v, **named)
    return o if out is None else out.copy_(o), lse


def _is_traced(q: Any) -> bool:
    """Whether a graph is made of the call, below Dynamo: only operators may be called."""
    return type(q) not in (torch.Tensor, torch.nn.Parameter)


def _serve(q: Any, k: Any, v: Any, *, out: Any = None, **named: Any) -> Any:
    if not _is_traced(q):
        return serving.attention(q, k, v, out=out, **named)
    o, lse = operators.serve(q, k, v, Sequences(**named))
    if out is None:
        return o, lse
    if o.shape != out.shape or o.dtype != out.dtype:
        raise ArgumentError(
            "out", f"{out.dtype} of shape {tuple(out.shape)}, expected {o.dtype} "
            f"{tuple(o.shape)}",
        )  # fmt: skip
    rows = _rows_of_sequences(out, named.get("cu_q"), named.get("used_q"))
    return out.copy_(o if rows is None else torch.where(rows[..., None, None], o, out)), lse


def _rows_of_sequences(out: Any, cu_q: Any, used_q: Any) -> Any:
    """Which rows a kernel writes; None if all."""
    if cu_q is None:
        if used_q is None:
            return None
        return torch.arange(out.shape[1], device=out.device) < used_q[:, None]
    at = torch.arange(out.shape[0], device=out.device)
    owner = torch.searchsorted(cu_q[1:].long(), at, right=True)
    inside = (at >= cu_q[0]) & (owner < cu_q.shape[0] - 1)
    if used_q is None:
        return inside
    owner = owner.clamp(max=cu_q.shape[0] - 2)
    return inside & (at - cu_q[owner] < used_q[owner])


def _nothing(like: Any, count: int) -> list[Any]:
    return [like.new_empty((0,), dtype=torch.float32) for _ in range(count)]


def _fwd_fake(q: Any, k: Any, v: Any, *rest: Any, **named: Any) -> Any:
    out = rest[3] if len(rest) > 3 else named.get("out")
    o, lse = operators._outputs(q, k, v, True)
    return o if out is None else out, lse, *_nothing(q, 2)


def _flash_attn_forward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    k_new: torch.Tensor | None = None, v_new: torch.Tensor | None = None,
    qv: torch.Tensor | None = None, out_: torch.Tensor | None = None,
    cu_seqlens_q: torch.Tensor | None = None, cu_seqlens_k: torch.Tensor | None = None,
    cu_seqlens_k_new: torch.Tensor | None = None,
    seqused_q: torch.Tensor | None = None, seqused_k: torch.Tensor | None = None,
    max_seqlen_q: int | None = None, max_seqlen_k: int | None = None,
    page_table: torch.Tensor | None = None, kv_batch_idx: torch.Tensor | None = None,
    leftpad_k: torch.Tensor | None = None, rotary_cos: torch.Tensor | None = None,
    rotary_sin: torch.Tensor | None = None, seqlens_rotary: torch.Tensor | None = None,
    q_descale: torch.Tensor | None = None, k_descale: torch.Tensor | None = None,
    v_descale: torch.Tensor | None = None, softmax_scale: float | None = None,
    causal: bool = False, window_size_left: int = -1, window_size_right: int = -1,
    attention_chunk: int = 0, softcap: float = 0.0, rotary_interleaved: bool = True,
    scheduler_metadata: torch.Tensor | None = None, num_splits: int = 1,
    pack_gqa: bool | None = None, sm_margin: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    """torch.ops.flash_attn_3.fwd as a function, with gradients of q, k and v for dense
    and packed sequences, from out and softmax_lse."""
    q, k, v = functions._contiguous(q, k, v)
    given = [one for one in (q, k, v, k_new, v_new) if one is not None]
    if torch.is_grad_enabled() and any([one.requires_grad for one in given]):
        for name, one in (
            ("k_new", k_new), ("v_new", v_new), ("out_", out_), ("page_table", page_table),
            ("kv_batch_idx", kv_batch_idx), ("leftpad_k", leftpad_k),
            ("rotary_cos", rotary_cos),
        ):  # fmt: skip
            if one is not None:
                raise UnsupportedError(f"_flash_attn_forward: gradients with '{name}'")
        if cu_seqlens_q is None and not (cu_seqlens_k is seqused_q is seqused_k is None):
            raise UnsupportedError("_flash_attn_forward: gradients without 'cu_seqlens_q'")
        if qv is not None:
            raise UnsupportedError("_flash_attn_forward: gradients with 'qv'")

        def run(q: Any, k: Any, v: Any, named: dict[str, Any], grads: bool) -> Any:
            if cu_seqlens_q is None:
                return _dense(q, k, v, None, q_descale, k_descale, v_descale, **named)
            named |= {
                "cu_q": cu_seqlens_q, "cu_k": cu_seqlens_k, "max_q": max_seqlen_q,
                "max_k": max_seqlen_k, "used_q": seqused_q, "used_k": seqused_k,
            }  # fmt: skip
            if not grads:
                # Float8, whose backward is an error.
                return _serve(q, k, v, q_descale=q_descale, k_descale=k_descale,
                              v_descale=v_descale, **named)  # fmt: skip
            if _is_traced(q):
                return operators.attention(q, k, v, Sequences(**named), False)
            return packed.attention(q, k, v, **named)

        o, lse = functions._with_head_dims(q, k, v, _named(
            q, softmax_scale, causal, window_size_left, window_size_right, softcap,
            attention_chunk,
        ), run)  # fmt: skip
        return o, lse, *_nothing(q, 2)
    return _fwd(
        q, k, v, k_new, v_new, qv, out_, cu_seqlens_q, cu_seqlens_k, cu_seqlens_k_new,
        seqused_q, seqused_k, max_seqlen_q, max_seqlen_k, page_table, kv_batch_idx,
        leftpad_k, rotary_cos, rotary_sin, seqlens_rotary, q_descale, k_descale,
        v_descale, softmax_scale, causal, window_size_left, window_size_right,
        attention_chunk, softcap, rotary_interleaved, scheduler_metadata, num_splits,
        pack_gqa, sm_margin,
    )  # fmt: skip


# -----------------------------------------------------------------------------
# Backward
# -----------------------------------------------------------------------------


def _bwd(
    dout: Any, q: Any, k: Any, v: Any, out: Any, softmax_lse: Any, dq: Any = None,
    dk: Any = None, dv: Any = None, cu_seqlens_q: Any = None, cu_seqlens_k: Any = None,
    seqused_q: Any = None, seqused_k: Any = None, max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None, softmax_scale: float | None = None,
    is_causal: bool = False, window_size_left: int = -1, window_size_right: int = -1,
    softcap: float = 0.0, deterministic: bool = False, sm_margin: int = 0,
) -> Any:  # fmt: skip
    choices.check_own("flash_attn_3.bwd")
    grads = functions._given_grads("of bwd ", (dq, dk, dv), (q, k, v))
    if cu_seqlens_k is not None and max_seqlen_k is None:
        raise ArgumentError("max_seqlen_k", "is None, and cu_seqlens_k is given")
    named = _named(
        q, softmax_scale, is_causal, window_size_left, window_size_right, softcap, 0
    )
    arrays = (cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k)
    with torch.no_grad():
        if all(one is None for one in arrays):
            asked = Arguments(
                named["causal"], named["window"], named["softcap"], return_lse=True,
                layout="bshd", interpret=_interpret,
            )  # fmt: skip
            text = program.to_text(asked, backward="deterministic" if deterministic else "fa3")
            gradients.backward(
                dout, None, (q, k, v, out, softmax_lse), (), (), text, named["scale"],
                into=tuple(grads.values()),
            )  # fmt: skip
        else:
            # Rows that are none of a sequence are written by nobody.
            for one in grads.values():
                one.zero_()
            of = dict(zip(packed_kernels.ARRAYS, arrays), max_q=max_seqlen_q, **named)
            packed_kernels.gradients(
                dout, None, (q, k, v, out, softmax_lse), grads.values(), Sequences(**of),
                deterministic or gradients.is_deterministic(),
            )  # fmt: skip
        return _sums(dout, out, arrays), *_nothing(q, 4)


#: Rows that softmax_d has more than there are: up to a multiple of so many, for each
#: packed sequence.
_BLOCK = 128


def _sums_shape(out: Any, cu_q: Any, is_packed: bool) -> tuple[Any, ...]:
    if not is_packed:
        batch, rows, heads = out.shape[:3]
        return (batch, heads, -(-rows // _BLOCK) * _BLOCK)
    batch = out.shape[0] if cu_q is None else cu_q.shape[0] - 1
    rows = out.shape[0] if cu_q is not None else batch * out.shape[1]
    return (out.shape[-2], -(-(rows + batch * _BLOCK) // _BLOCK) * _BLOCK)


def _sums(do: Any, o: Any, arrays: Any) -> Any:
    """softmax_d: in f32, what every row of gradients of scores has subtracted, and 0.
    Sequence i of packed ones begins at (cu_q[i] + i * _BLOCK) // _BLOCK * _BLOCK."""
    cu_q = arrays[0]
    is_packed = any(one is not None for one in arrays)
    made = o.new_zeros(_sums_shape(o, cu_q, is_packed), dtype=torch.float32)
    rows = (do.float() * o).sum(-1)
    if not is_packed:
        made[..., : o.shape[1]] = rows.transpose(1, 2)
        return made
    if cu_q is None:
        cu_q = torch.arange(o.shape[0] + 1, device=o.device) * o.shape[1]
    at = torch.arange(rows.numel() // rows.shape[-1], device=o.device)
    owner = torch.searchsorted(cu_q[1:].long(), at, right=True)
    inside = owner < cu_q.numel() - 1
    owner = owner.clamp(max=cu_q.numel() - 2)
    first = cu_q[:-1] + torch.arange(cu_q.numel() - 1, device=o.device) * _BLOCK
    at = first.div(_BLOCK, rounding_mode="floor")[owner] * _BLOCK + at - cu_q[owner]
    # What is none of a sequence goes to the end, where there is room: as 0.
    at = torch.where(inside, at, made.shape[1] - 1)
    flat = torch.where(inside[:, None], rows.reshape(-1, rows.shape[-1]), 0)
    made.index_add_(1, at, flat.T)
    return made


def _bwd_fake(
    dout: Any, q: Any, k: Any, v: Any, out: Any, softmax_lse: Any, dq: Any = None,
    dk: Any = None, dv: Any = None, cu_seqlens_q: Any = None, cu_seqlens_k: Any = None,
    seqused_q: Any = None, seqused_k: Any = None, max_seqlen_q: Any = None,
    max_seqlen_k: Any = None, softmax_scale: Any = None, is_causal: bool = False,
    window_size_left: int = -1, window_size_right: int = -1, softcap: float = 0.0,
    deterministic: bool = False, sm_margin: int = 0,
) -> Any:  # fmt: skip
    is_packed = not (cu_seqlens_q is cu_seqlens_k is seqused_q is seqused_k is None)
    shape = _sums_shape(out, cu_seqlens_q, is_packed)
    return q.new_empty(shape, dtype=torch.float32), *_nothing(q, 4)


def _flash_attn_backward(
    dout: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    out: torch.Tensor, softmax_lse: torch.Tensor,
    cu_seqlens_q: torch.Tensor | None = None, cu_seqlens_k: torch.Tensor | None = None,
    sequed_q: torch.Tensor | None = None, sequed_k: torch.Tensor | None = None,
    max_seqlen_q: int | None = None, max_seqlen_k: int | None = None,
    dq: torch.Tensor | None = None, dk: torch.Tensor | None = None,
    dv: torch.Tensor | None = None, softmax_scale: float | None = None,
    is_causal: bool = False, window_size_left: int = -1, window_size_right: int = -1,
    softcap: float = 0.0, deterministic: bool = False, sm_margin: int = 0,
) -> torch.Tensor:  # fmt: skip
    """torch.ops.flash_attn_3.bwd as a function: writes dq, dk and dv, gives softmax_d."""
    dout, q, k, v, out = functions._contiguous(dout, q, k, v, out)
    return torch.ops.flash_attn_3.bwd(
        dout, q, k, v, out, softmax_lse, dq, dk, dv, cu_seqlens_q, cu_seqlens_k,
        sequed_q, sequed_k, max_seqlen_q, max_seqlen_k, softmax_scale, is_causal,
        window_size_left, window_size_right, softcap, deterministic, sm_margin,
    )[0]  # fmt: skip


# -----------------------------------------------------------------------------
# The others
# -----------------------------------------------------------------------------


def _fwd_combine(
    out_partial: Any, lse_partial: Any, out: Any = None, out_dtype: Any = None
) -> Any:
    parts = functions._parts(out_partial, lse_partial)
    if _is_traced(out_partial):
        dtype = out_dtype if out is None else out.dtype
        made, lse = operators.merge(*parts, None, "bshd", dtype, _interpret)
        made = made if out is None else out.copy_(made)
    else:
        made, lse = api.merge(
            *parts, layout="bshd", out_dtype=out_dtype, out=out, interpret=_interpret
        )
    return made, lse.transpose(-1, -2)


def _fwd_combine_fake(
    out_partial: Any, lse_partial: Any, out: Any = None, out_dtype: Any = None
) -> Any:
    if out is None:
        out = out_partial.new_empty(
            out_partial.shape[1:], dtype=out_dtype or out_partial.dtype
        )
    lse = lse_partial.new_empty(lse_partial.transpose(-1, -2).shape[1:])
    return out, lse.transpose(-1, -2)


def _get_scheduler_metadata(*given: Any, **named: Any) -> Any:
    seqused_k = given[8] if len(given) > 8 else named["seqused_k"]
    return seqused_k.new_empty((0,), dtype=torch.int32)
