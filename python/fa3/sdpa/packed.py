# SPDX-License-Identifier: Apache-2.0
"""aten::_flash_attention_forward and backward behind the switch (fa3.sdpa): what
torch.nn.attention.varlen.varlen_attn, nested tensors and callers of FlashAttention-2 in
torch run. Causal is aligned at the end of each sequence, as FlashAttention-2's."""

from __future__ import annotations

from typing import Any

import torch

from ..calls import gradients, request
from ..kernels import program
from ..kernels.arguments import Arguments, Sequences
from ..serving import eager, packed_kernels
from ..support import values
from .declines import declines_operands

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
        asked = _asked(is_causal, window_size_left, window_size_right, scale, switch)
        asked = asked.replace(
            cu_q=cum_seq_q, cu_k=cum_seq_k, max_q=max_q, max_k=max_k, used_k=seqused_k
        )
        made = switch.counted(_run, query, key, value, asked)
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
        asked = _asked(is_causal, window_size_left, window_size_right, scale, switch)
        asked = asked.replace(cu_q=cum_seq_q, cu_k=cum_seq_k, max_q=max_q)
        saved = (query, key, value, out, logsumexp)
        made = switch.counted(
            _run_backward, grad_out, saved, asked, switch, gradients=True
        )
    if isinstance(made, str):
        return switch.run_stock(
            f"gradients: {made}", BACKWARD, keys, grad_out, query, key, value, out,
            logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, rng_state,
            unused, scale=scale, window_size_left=window_size_left,
            window_size_right=window_size_right, **more,
        )  # fmt: skip
    return made


def _asked(causal: Any, left: Any, right: Any, scale: Any, switch: Any) -> Sequences:
    return Sequences(
        causal=bool(causal), window=values.window((left, right)), scale=scale,
        return_lse=True, interpret=switch.interpret,
    )  # fmt: skip


def _run(q: Any, k: Any, v: Any, asked: Sequences) -> Any:
    if asked.cu_q is asked.cu_k is asked.used_k is None:
        return request.run_program(q, k, v, (), (), _text(asked), asked.scale)
    return eager.run(q, k, v, asked)


def _run_backward(do: Any, saved: Any, asked: Sequences, switch: Any) -> Any:
    same = switch.is_deterministic("Flash Attention")
    if asked.cu_q is asked.cu_k is None:
        *made, _ = gradients.backward(
            do, None, saved, (), (), _text(asked), asked.scale, deterministic=same
        )
        return tuple(made)
    grads = [one.new_zeros(one.shape) for one in saved[:3]]
    packed_kernels.gradients(do, None, saved, grads, asked, same)
    return tuple(grads)


def _text(asked: Sequences) -> str:
    return program.to_text(Arguments(
        asked.causal, asked.window, return_lse=True, layout="bshd", interpret=asked.interpret
    ))  # fmt: skip


def _declines(
    q: Any, k: Any, v: Any, cu_q: Any, cu_k: Any, dropout: float, scale: float | None,
    used_k: Any,
) -> str:  # fmt: skip
    """Why a call is torch's; "" if it is ours."""
    if dropout:
        return "dropout"
    if (cu_q is None) != (cu_k is None):
        return "starts of queries or of keys, not both"
    for one in (cu_q, cu_k, used_k):
        if one is not None and (one.dtype != torch.int32 or not one.is_contiguous()):
            return f"lengths of {one.dtype}, not contiguous int32"
    return declines_operands(q, k, v, 4 if cu_q is None else 3, -2, scale)
