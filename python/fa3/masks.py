# SPDX-License-Identifier: Apache-2.0
"""Masks that engines have for each request, as code for mask_mod of fa3.serving. Tables
are tensors on the device that may change from launch to launch; `first` (sequences,) is
int32, the number of keys in front of a sequence's first query (`keys_in_front`)."""

from __future__ import annotations

from typing import Any, Callable

from .errors import ArgumentError, ArgumentTypeError

Mask = Callable[[Any, Any, Any, Any], Any]


def keys_in_front(queries: Any, keys: Any) -> Any:
    """`first`: of starts of packed queries (sequences + 1,), or numbers of queries
    (sequences,), and numbers of keys. Nothing waits for the device."""
    if queries.shape[0] == keys.shape[0] + 1:
        queries = queries[1:] - queries[:-1]
    if queries.shape != keys.shape:
        raise ArgumentError(
            "queries", f"shape {tuple(queries.shape)}, expected {tuple(keys.shape)}, or one "
            "more, starts",
        )  # fmt: skip
    return (keys - queries).to(keys.dtype)


def tree(bits: Any, first: Any) -> Mask:
    """Drafts that are a tree: bit j mod 32 of bits[b, i, j div 32], int32 (sequences,
    drafts, words), says whether draft i sees draft j; all see the keys in front."""
    _check("bits", bits, 3)
    _check("first", first, 1)

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        draft = kv - first[b]
        # Words outside of the array are 0.
        word = bits[b, q, draft // 32] >> (draft % 32)
        return (draft < 0) | ((word & 1) == 1)

    return mask_mod


def pack_tree(mask: Any) -> Any:
    """`bits` of boolean (sequences, drafts, drafts)."""
    import torch

    rows = torch.nn.functional.pad(mask.to(torch.int64), (0, -mask.shape[-1] % 32))
    rows = rows.reshape(*mask.shape[:-1], -1, 32)
    words = (rows << torch.arange(32, device=mask.device)).sum(-1)
    return torch.where(words >= 1 << 31, words - (1 << 32), words).to(torch.int32)


def packed_bits(mask: Any, starts: Any, keys: Any) -> Mask:
    """As FlashInfer packs a custom mask: bit q * keys[b] + kv, the lowest of a byte
    first, behind byte starts[b] of a uint8 array (packed_custom_mask and mask_indptr of
    its wrappers). keys (sequences,) are numbers of keys; both are int32."""
    import torch

    if mask.dim() != 1 or mask.dtype != torch.uint8:
        raise ArgumentTypeError("mask", f"{mask.dtype}, rank {mask.dim()}, expected uint8, 1")
    _check("starts", starts, 1)
    _check("keys", keys, 1)
    if mask.numel() >= 1 << 28:
        raise ArgumentError("mask", f"{mask.numel()} bytes, expected less than 2^28")

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        bit = q * keys[b] + kv
        return ((mask[starts[b] + bit // 8] >> (bit % 8)) & 1) == 1

    return mask_mod


def flat(mask: Any, starts: Any, keys: Any) -> Mask:
    """As SGLang gives a custom mask: boolean, element starts[b] + q * keys[b] + kv; starts
    and keys are int32 (sequences,)."""
    import torch

    if mask.dim() != 1 or mask.dtype != torch.bool:
        raise ArgumentTypeError("mask", f"{mask.dtype}, rank {mask.dim()}, expected bool, 1")
    _check("starts", starts, 1)
    _check("keys", keys, 1)
    if mask.numel() >= 1 << 31:
        raise ArgumentError("mask", f"{mask.numel()} elements, expected less than 2^31")

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        return mask[starts[b] + q * keys[b] + kv]

    return mask_mod


def prefix(lengths: Any, first: Any) -> Mask:
    """Causal, and the first lengths[b] keys are seen by all."""
    _check("lengths", lengths, 1)
    _check("first", first, 1)

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        return (kv <= q + first[b]) | (kv < lengths[b])

    return mask_mod


def ranges(starts: Any, ends: Any, first: Any, left: int = -1) -> Mask:
    """Causal, and keys and queries that are both in [starts[b, n], ends[b, n]), int32
    (sequences, ranges), see each other: images of a prompt. Ranges that a sequence has
    not are empty. Each is a condition, so few are fast. With `left` from 0 on a query
    sees so many keys in front of its own, and those of its range."""
    for name, one in (("starts", starts), ("ends", ends)):
        _check(name, one, 2)
    _check("first", first, 1)
    if starts.shape != ends.shape:
        raise ArgumentError("ends", f"shape {tuple(ends.shape)}, expected {tuple(starts.shape)}")

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        row = q + first[b]
        seen = kv <= row
        if left >= 0:
            seen = seen & (row - kv <= left)
        for n in range(starts.shape[1]):
            begin, end = starts[b, n], ends[b, n]
            seen = seen | ((row >= begin) & (row < end) & (kv >= begin) & (kv < end))
        return seen

    return mask_mod


def block_causal(size: int, first: Any) -> Mask:
    """Blocks of `size` tokens see themselves and those in front, as diffusion language
    models have them."""
    _check("first", first, 1)
    if not isinstance(size, int) or size < 1:
        raise ArgumentError("size", f"{size!r}, expected at least 1")

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        return kv // size <= (q + first[b]) // size

    return mask_mod


def causal_where(flags: Any, first: Any) -> Mask:
    """Causal where flags[b], int32, is not 0; the other sequences see all of their keys."""
    _check("flags", flags, 1)
    _check("first", first, 1)

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        return (kv <= q + first[b]) | (flags[b] == 0)

    return mask_mod


def both(*masks: Mask) -> Mask:
    """Keys that all of some masks let see."""
    first, *rest = masks

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        seen = first(b, h, q, kv)
        for mask in rest:
            seen = seen & mask(b, h, q, kv)
        return seen

    return mask_mod


def _check(name: str, one: Any, rank: int) -> None:
    import torch

    if one.dtype != torch.int32 or one.dim() != rank:
        raise ArgumentTypeError(
            name, f"{one.dtype} of rank {one.dim()}, expected int32 of rank {rank}"
        )
