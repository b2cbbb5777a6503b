# SPDX-License-Identifier: Apache-2.0
"""What backends of engines have in common: tokens of all requests one behind the other,
keys in pages. Nothing here waits for the device, so that graphs can be captured."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import torch

from .. import masks, serving
from ..errors import UnsupportedError

_8_BITS = (torch.float8_e4m3fn, torch.float8_e5m2)


@dataclasses.dataclass(frozen=True)
class Layer:
    """A layer's constants; `window` are the keys that a query sees before and after its
    own, (-1, -1) for all."""

    scale: float
    window: tuple[int, int] = (-1, -1)
    softcap: float = 0.0
    batch_invariant: bool | int | None = None

    def named(self) -> dict[str, Any]:
        made: dict[str, Any] = {"scale": self.scale, "softcap": self.softcap}
        if self.window != (-1, -1):
            made["window"] = tuple(None if end < 0 else end for end in self.window)
        return made | {"batch_invariant": self.batch_invariant}


@dataclasses.dataclass
class Batch:
    """Requests: starts of their queries (requests + 1,), keys (requests,) with the new
    ones, pages (requests, pages), int32. `causal` is True, False, or int32 for each
    request; `uniform` the number of queries of each, where all have as many."""

    cu_q: Any
    used_k: Any
    table: Any
    max_q: int
    max_k: int
    causal: Any = True
    uniform: int = 0

    def first(self) -> Any:
        """Keys in front of the first query of each."""
        return masks.keys_in_front(self.cu_q, self.used_k)


def attend(
    layer: Layer, batch: Batch, q: Any, k: Any, v: Any, *, out: Any = None, sinks: Any = None,
    descales: tuple[Any, Any, Any] = (None, None, None), return_lse: bool = False,
    **mods: Any,
) -> Any:  # fmt: skip
    """q (tokens, heads, d) on pages k and v (page, rows, key heads, d), which may be halves
    of one array: o, or (o, lse (heads, tokens)). `mods`: mask_mod and score_mod."""
    named, mask_mod = layer.named(), mods.get("mask_mod")
    causal = batch.causal
    if isinstance(causal, torch.Tensor):
        one = masks.causal_where(causal.to(torch.int32), batch.first())
        mods["mask_mod"] = one if mask_mod is None else masks.both(one, mask_mod)
        causal = False
    if sinks is not None:
        sinks = sinks.float()
    named |= {
        "causal": causal, "sinks": sinks, **mods, "used_k": batch.used_k,
        "page_table": batch.table, "k_descale": descales[1], "v_descale": descales[2],
        "return_lse": return_lse, "max_k": batch.max_k,
    }  # fmt: skip
    if k.dtype in _8_BITS and q.dtype not in _8_BITS:
        return _with_16_bit_queries(batch, q, k, v, out, named)
    return serving.attention(
        q, k, v, cu_q=batch.cu_q, max_q=batch.max_q, q_descale=descales[0], out=out, **named
    )


#: Elements of queries of 16 bits that are padded for a cache of 8.
MOST_PADDED = 1 << 28


def _with_16_bit_queries(
    batch: Batch, q: Any, k: Any, v: Any, out: Any, named: dict[str, Any]
) -> Any:  # fmt: skip
    """The kernel takes them in padded sequences: a view where all have as many queries."""
    requests = batch.used_k.shape[0]
    if batch.uniform and batch.uniform * requests == q.shape[0]:
        shape = (requests, batch.uniform, *q.shape[1:])
        target = None if out is None else out.view(*shape[:-1], out.shape[-1])
        made = serving.attention(q.view(shape), k, v, out=target, **named)
        o, lse = made if named["return_lse"] else (made, None)
        if lse is not None:
            lse = lse.transpose(0, 1).reshape(q.shape[1], -1)
        o = o.view(q.shape[0], *o.shape[2:])
        return (o, lse) if lse is not None else o
    most = max(batch.max_q, 1)
    if requests * most * q.shape[1] * q.shape[2] > MOST_PADDED:
        raise UnsupportedError(
            f"queries of {q.dtype} on a cache of {k.dtype}: {requests} requests of up to "
            f"{most} queries, expected at most {MOST_PADDED} elements when padded; quantize "
            "the queries"
        )
    rows = torch.arange(most, device=q.device)
    at = (batch.cu_q[:-1, None] + rows).clamp(max=q.shape[0] - 1)
    counts = (batch.cu_q[1:] - batch.cu_q[:-1]).to(torch.int32)
    made = serving.attention(q[at], k, v, used_q=counts, **named)
    o, lse = made if named["return_lse"] else (made, None)
    # Which request a token is of; those behind the last one are of it.
    token = torch.arange(q.shape[0], device=q.device)
    of = torch.searchsorted(batch.cu_q[1:].contiguous(), token, right=True)
    of = of.clamp(max=requests - 1)
    row = (token - batch.cu_q[of]).clamp(max=most - 1)
    o = o[of, row]
    if out is not None:
        o = out.copy_(o)
    return (o, lse[of, :, row].t()) if lse is not None else o


def attend_packed(
    layer: Layer, cu: Any, most: int, q: Any, k: Any, v: Any, *, out: Any = None,
    sinks: Any = None, causal: bool = False,
) -> Any:  # fmt: skip
    """Requests that see their own tokens, which are in no cache: encoders."""
    return serving.attention(
        q, k, v, cu_q=cu, cu_k=cu, max_q=most, max_k=most, out=out, causal=causal,
        sinks=None if sinks is None else sinks.float(), **layer.named(),
    )  # fmt: skip


def alibi(slopes: Any, first: Any) -> Callable[..., Any]:
    """Scores with a slope for each head, float32, by the distance of query and key."""

    def score_mod(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
        return score + slopes[h] * (kv - (q + first[b]))

    return score_mod


def write(
    new: tuple[Any, Any], caches: tuple[Any, Any], slots: Any,
    scales: tuple[Any, Any] = (None, None),
) -> None:  # fmt: skip
    """New rows (tokens, key heads, d) into slots of caches (page, rows, key heads, d),
    number page * rows + row; those below 0 are left out. In caches of 8 bits rows are
    divided by scales and rounded to the nearest number."""
    rows = caches[0].shape[1]
    if not slots.shape[0]:
        return
    slots = slots.to(torch.int64)
    # Rows that are left out write what another one writes: the one of the highest slot,
    # or where there is none what is in slot 0. (An index that is a tensor of rank 0 would be
    # waited for.)
    source = torch.where(
        slots < 0, slots.argmax(), torch.arange(slots.shape[0], device=slots.device)
    )
    is_none = slots.max() < 0
    target = slots[source].clamp(min=0)
    at = (target // rows, target % rows)
    for one, cache, scale in zip(new, caches, scales):
        values = one[: slots.shape[0]]
        if cache.dtype in _8_BITS and values.dtype not in _8_BITS:
            values = values.float()
            if scale is not None:
                values = values / scale.float()
            limit = torch.finfo(cache.dtype).max
            values = values.clamp(-limit, limit).to(cache.dtype)
        bits = torch.uint8 if cache.element_size() == 1 else torch.int16
        kept, cache = values.to(cache.dtype).view(bits)[source], cache.view(bits)
        cache.index_put_(at, torch.where(is_none, cache[0, 0], kept))
