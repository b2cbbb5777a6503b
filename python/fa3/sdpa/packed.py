# SPDX-License-Identifier: Apache-2.0
"""aten::_flash_attention_forward and backward behind the switch (fa3.sdpa): what
torch.nn.attention.varlen.varlen_attn, nested tensors and callers of FlashAttention-2 in
torch run. Causal is aligned at the end of each sequence, as FlashAttention-2's."""

from __future__ import annotations

from typing import Any

import torch

from .. import serving
from ..calls import gradients, request
from ..kernels import checks, program
from ..serving import operators
from ..support import values

FORWARD, BACKWARD = "_flash_attention_forward", "_flash_attention_backward"


def forward(
    switch: Any, keys: Any, query: Any, key: Any, value: Any, cum_seq_q: Any,
    cum_seq_k: Any, max_q: int, max_k: int, dropout_p: float, is_causal: bool,
    return_debug_mask: bool, *, scale: float | None = None,
    window_size_left: int | None = None, window_size_right: int | None = None,
    seqused_k: Any = None, alibi_slopes: Any = None, **more: Any,
) -> Any:  # fmt: skip
    why = "return_debug_mask" if return_debug_mask else _declines(
        query, key, value, cum_seq_q, cum_seq_k, dropout_p, scale, seqused_k
    ) or switch.declines(query, False)  # fmt: skip
    for name, one in ({"alibi_slopes": alibi_slopes} | more).items():
        why = why or (f"argument {name}" if one is not None else "")
    made: Any = why
    if not made and not switch.runs_stock():
        named = _named(is_causal, window_size_left, window_size_right, scale, switch)
        made = switch.counted(_run, query, key, value, cum_seq_q, cum_seq_k, max_q, max_k,
                              seqused_k, named)  # fmt: skip
    if isinstance(made, str):
        return switch.run_stock(
            made, FORWARD, keys, query, key, value, cum_seq_q, cum_seq_k, max_q, max_k,
            dropout_p, is_causal, return_debug_mask, scale=scale,
            window_size_left=window_size_left, window_size_right=window_size_right,
            seqused_k=seqused_k, alibi_slopes=alibi_slopes, **more,
        )  # fmt: skip
    o, lse = made
    state = torch.zeros((2,), dtype=torch.uint64, device=query.device)
    unused = torch.zeros((), dtype=torch.uint64, device=query.device)
    return o, lse, state, unused, query.new_empty((0,))


def backward(
    switch: Any, keys: Any, grad_out: Any, query: Any, key: Any, value: Any, out: Any,
    logsumexp: Any, cum_seq_q: Any, cum_seq_k: Any, max_q: int, max_k: int,
    dropout_p: float, is_causal: bool, rng_state: Any, unused: Any, *,
    scale: float | None = None, window_size_left: int | None = None,
    window_size_right: int | None = None, **more: Any,
) -> Any:  # fmt: skip
    made: Any = _declines(
        query, key, value, cum_seq_q, cum_seq_k, dropout_p, scale, None
    ) or switch.declines(query, True)
    for name, one in more.items():
        made = made or (f"argument {name}" if one is not None else "")
    if not made and not switch.runs_stock():
        named = _named(is_causal, window_size_left, window_size_right, scale, switch)
        made = switch.counted(_run_backward, grad_out, query, key, value, out, logsumexp,
                              cum_seq_q, cum_seq_k, max_q, named, gradients=True)  # fmt: skip
    if isinstance(made, str):
        return switch.run_stock(
            f"gradients: {made}", BACKWARD, keys, grad_out, query, key, value, out,
            logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, rng_state,
            unused, scale=scale, window_size_left=window_size_left,
            window_size_right=window_size_right, **more,
        )  # fmt: skip
    return made


def _named(causal: bool, left: Any, right: Any, scale: Any, switch: Any) -> dict[str, Any]:
    return {
        "causal": bool(causal), "window": values.window((left, right)), "softcap": 0.0,
        "chunk": 0, "scale": scale, "interpret": switch.interpret,
    }  # fmt: skip


def _run(
    q: Any, k: Any, v: Any, cu_q: Any, cu_k: Any, max_q: int, max_k: int, used_k: Any,
    named: dict[str, Any],
) -> Any:  # fmt: skip
    if cu_q is cu_k is used_k is None:
        return request.run_program(q, k, v, (), (), _text(named), named["scale"])
    return serving.attention(
        q, k, v, cu_q=cu_q, cu_k=cu_k, max_q=max_q, max_k=max_k, used_k=used_k,
        return_lse=True, **named,
    )  # fmt: skip


def _run_backward(
    do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, cu_q: Any, cu_k: Any, max_q: int,
    named: dict[str, Any],
) -> Any:  # fmt: skip
    if cu_q is cu_k is None:
        *made, _ = gradients.backward(
            do, None, q, k, v, o, lse, (), (), _text(named), named["scale"]
        )
        return tuple(made)
    grads = [one.new_zeros(one.shape) for one in (q, k, v)]
    operators.packed_gradients(
        do, None, q, k, v, o, lse, grads, (cu_q, cu_k, None, None), max_q, named,
        gradients.is_deterministic(),
    )  # fmt: skip
    return tuple(grads)


def _text(named: dict[str, Any]) -> str:
    return program.to_text(
        named["causal"], named["window"], 0.0, None, True, "bshd",
        interpret=named["interpret"],
    )  # fmt: skip


def _declines(
    q: Any, k: Any, v: Any, cu_q: Any, cu_k: Any, dropout: float, scale: float | None,
    used_k: Any,
) -> str:  # fmt: skip
    """Why a call is torch's; "" if it is ours."""
    if dropout:
        return "dropout"
    if q.dtype not in (torch.float16, torch.bfloat16):
        return f"element type {q.dtype}"
    if (cu_q is None) != (cu_k is None):
        return "starts of queries or of keys, not both"
    rank = 4 if cu_q is None else 3
    for one in (q, k, v):
        if one.dim() != rank:
            return f"rank {one.dim()}"
        if one.dtype != q.dtype:
            return f"element types {q.dtype} and {one.dtype}"
    for one in (cu_q, cu_k, used_k):
        if one is not None and (one.dtype != torch.int32 or not one.is_contiguous()):
            return f"lengths of {one.dtype}, not contiguous int32"
    if k.shape[:-1] != v.shape[:-1] or q.shape[-1] != k.shape[-1]:
        return "shapes that do not fit"
    if rank == 4 and q.shape[0] != k.shape[0]:
        return "batches of different size"
    if k.shape[-2] == 0 or q.shape[-2] % k.shape[-2]:
        return "heads that key heads do not divide"
    wide = checks.declines_head_dims(q.shape[-1], v.shape[-1])
    if wide:
        return wide
    if scale is not None and not 0.0 < scale <= checks.MAX_SCALE_OF_GRADIENTS:
        return f"scale {scale}"
    for one in (q, k, v):
        *strides, last = one.stride()
        if last != 1:
            return "last dimension not contiguous"
        if one.data_ptr() % 16 or any(
            stride % 8 and extent > 1 for stride, extent in zip(strides, one.shape)
        ):
            return "addresses or strides that are no multiples of 16 bytes"
    return ""
