# SPDX-License-Identifier: Apache-2.0
"""Gradients of packed sequences. There is no backward kernel with places, so that
rows are laid out with padding for it: what is padded costs time and memory. The
forward runs on the sequences as they lie."""

from __future__ import annotations

from typing import Any

import torch

from . import gradients, serving
from .errors import ArgumentError, UnsupportedError
from .program import mods_text, to_text
from .trace import trace_mods


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_q: torch.Tensor,
    cu_k: torch.Tensor, max_q: int, max_k: int, used_q: Any, used_k: Any, *,
    causal: bool, window: Any, softcap: float, chunk: int, scale: float | None,
    return_lse: bool, interpret: bool = False, deterministic: bool = False,
) -> Any:  # fmt: skip
    """serving.attention with gradients of q, k and v."""
    if torch.compiler.is_compiling():
        from . import dynamo

        return dynamo.run_packed(
            q, k, v, cu_q, cu_k, max_q, max_k, used_q, used_k, causal=causal,
            window=window, softcap=softcap, chunk=chunk, scale=scale,
            return_lse=return_lse, interpret=interpret, deterministic=deterministic,
        )  # fmt: skip
    from . import torch as door

    if door._kind not in door.OWN:
        raise UnsupportedError(f"gradients of packed sequences, set_backward({door._kind})")
    if not isinstance(max_k, int) or max_k < 0:
        raise ArgumentError("max_seqlen_k", f"{max_k!r}, expected at least 0")
    o, lse = _Function.apply(
        q, k, v, cu_q, cu_k, max_q, max_k, used_q, used_k,
        {"causal": causal, "window": window, "softcap": softcap, "chunk": chunk,
         "scale": scale, "interpret": interpret},
        deterministic,
    )  # fmt: skip
    return (o, lse) if return_lse else o


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Any, k: Any, v: Any, cu_q: Any, cu_k: Any, max_q: int, max_k: int,
        used_q: Any, used_k: Any, named: dict[str, Any], deterministic: bool,
    ) -> Any:  # fmt: skip
        o, lse = serving.attention(
            q, k, v, cu_q=cu_q, cu_k=cu_k, max_q=max_q, max_k=max_k, used_q=used_q,
            used_k=used_k, return_lse=True, **named,
        )  # fmt: skip
        ctx.save_for_backward(q, k, v, cu_q, cu_k, used_q, used_k, o, lse)
        ctx.most, ctx.named = (max_q, max_k), named
        ctx.kind = "deterministic" if deterministic else "fa3"
        ctx.set_materialize_grads(False)
        return o, lse

    @staticmethod
    def backward(ctx: Any, do: Any, dlse: Any) -> Any:  # type: ignore[override]
        q, k, v, cu_q, cu_k, used_q, used_k, o, lse = ctx.saved_tensors
        named, (max_q, max_k) = ctx.named, ctx.most
        none = (None,) * 8
        if do is None and dlse is None:
            return None, None, None, *none
        do = torch.zeros_like(o) if do is None else do
        rows = _Padding(cu_q, used_q, max_q, q.shape[0])
        keys = _Padding(cu_k, used_k, max_k, k.shape[0])
        lengths_q, lengths_k = rows.lengths, keys.lengths
        chunk, window = named["chunk"], named["window"]
        left, right = window if window is not None else (None, None)
        if named["causal"]:
            right = 0

        def mask_mod(b: Any, h: Any, i: Any, j: Any) -> Any:
            here = i + lengths_k[b] - lengths_q[b]
            seen = j < lengths_k[b]
            if right is not None and right >= 0:
                seen = seen & (j <= here + right)
            if left is not None and left >= 0:
                seen = seen & (j >= here - left)
            if chunk:
                seen = seen & (here // chunk == j // chunk)
            return seen

        traced = trace_mods(None, mask_mod)
        text = to_text(
            False, None, named["softcap"], None, True, "bshd", "", mods_text(traced),
            ctx.kind, interpret=named["interpret"],
        )  # fmt: skip
        # Rows of no query weigh nothing: exp(score - inf).
        sums = rows.pad(lse.t(), float("inf")).transpose(1, 2)
        grads = gradients.backward(
            rows.pad(do), None if dlse is None else rows.pad(dlse.t()).transpose(1, 2),
            rows.pad(q), keys.pad(k), keys.pad(v), rows.pad(o), sums, traced.tensors,
            traced.scalars, text, named["scale"],
        )  # fmt: skip
        made = (rows.pack(grads[0]), keys.pack(grads[1]), keys.pack(grads[2]))
        return *made, *none


class _Padding:
    """Rows of sequences one behind the other, as (sequence, row) and back; without
    the host knowing where they begin."""

    def __init__(self, starts: Any, used: Any, most: int, count: int) -> None:
        self.lengths = (starts[1:] - starts[:-1]).clamp(min=0, max=most)
        if used is not None:
            self.lengths = torch.minimum(self.lengths, used.clamp(min=0))
        self.lengths = self.lengths.to(torch.int32)
        self.count = count
        place = torch.arange(most, device=starts.device)
        self.real = place < self.lengths[:, None]
        # A row more takes what is padding.
        self.rows = torch.where(self.real, starts[:-1, None] + place, count)

    def pad(self, packed: Any, value: float = 0.0) -> Any:
        row = packed.new_full((1, *packed.shape[1:]), value)
        return torch.cat([packed, row])[self.rows]

    def pack(self, padded: Any) -> Any:
        made = padded.new_zeros((self.count + 1, *padded.shape[2:]))
        made[self.rows.reshape(-1)] = padded.flatten(0, 1)
        return made[:-1]
