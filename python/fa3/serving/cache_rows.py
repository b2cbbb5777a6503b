# SPDX-License-Identifier: Apache-2.0
"""New keys in a cache, and rotary embedding, by torch's own operations: what the kernel
in front of attention (fa3.serving.append) does not take. Nothing waits for the GPU."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import ArgumentError, ArgumentTypeError
from ..kernels import checks
from ..kernels.arguments import Sequences
from ..kernels.spec import FLOATS_8
from ..support import tensors
from . import nibbles


def is_apart(q: Any, k: Any, v: Any, asked: Sequences) -> bool:
    """Whether new keys are written here, and not by the kernel: packed ones, those of
    8 bits and of caches of 4, rows too wide for it, those of caches that have pages in
    common, and turned ones of caches of 8 bits, beside packed queries, and beside several
    queries that are all at one position."""
    if nibbles.are_in(q, k):
        return True
    of_8_bits = k.element_size() == 1
    if asked.cu_new is not None or (of_8_bits and asked.k_new.element_size() == 1):
        return True
    if asked.page_table is not None and _share_pages(k, v):
        return True
    if max(k.shape[-1], v.shape[-1]) > checks.MAX_HEAD_DIM:
        return True
    return asked.rotary_cos is not None and (
        of_8_bits or asked.cu_q is not None
        or (asked.at_one and q.dim() == 4 and q.shape[1] > 1)
    )  # fmt: skip


def _share_pages(k: Any, v: Any) -> bool:
    """Whether dense caches have pages in common: transformers has both in one pool, as
    arrays of all its pages, of which tables name each as a page of one of them."""
    if not (k.is_contiguous() and v.is_contiguous()) or k.stride(0) != v.stride(0):
        return False
    low, high = sorted((k, v), key=lambda one: one.data_ptr())
    apart = high.data_ptr() - low.data_ptr()
    page = k.stride(0) * k.element_size()
    return 0 < apart < low.shape[0] * page and apart % page == 0


def write(q: Any, k: Any, v: Any, asked: Sequences) -> tuple[Any, Any]:
    """Writes new rows into the caches k and v, and gives the turned queries and how many
    rows each sequence has then."""
    cu_q, cu_new, used = asked.cu_q, asked.cu_new, asked.used_k
    batch_index, page_table = asked.batch_index, asked.page_table
    position, new = asked.rotary_at, (asked.k_new, asked.v_new)
    interleaved, cos = bool(asked.rotary_interleaved), asked.rotary_cos
    if used is None:
        raise ArgumentError("cache_seqlens", "is needed: new keys go behind so many rows")
    sequences = q.shape[0] if cu_q is None else cu_q.numel() - 1
    _check_array("cache_seqlens", used, sequences)
    if cu_q is not None:
        _check_array("cu_seqlens_q", cu_q, sequences + 1)
    if cu_new is not None:
        _check_array("cu_seqlens_k_new", cu_new, sequences + 1)
    if batch_index is not None:
        _check_array("cache_batch_idx", batch_index, sequences)
    if page_table is not None:
        rows = sequences if batch_index is None else page_table.shape[0]
        if page_table.dtype != torch.int32 or page_table.dim() != 2 or (
            page_table.shape[0] != rows
        ):  # fmt: skip
            raise ArgumentTypeError("page_table", f"expected int32 ({rows}, pages)")
    if nibbles.are_in(q, k):
        nibbles.check_scales(k, v, asked)
    for name, cache, rows in zip("kv", (k, v), new):
        _check_rows(name, cache, rows, new[0], None if cu_new is not None else sequences)
    at = used
    if position is not None and cos is not None:
        _check_array("rotary_seqlens", position, sequences)
        at = position
    owner, number = _places(new[0], cu_new)
    k_new, v_new = (one.reshape(-1, *one.shape[-2:]) for one in new)
    inside = owner < sequences
    owner = owner.clamp(max=sequences - 1)
    if cos is not None:
        sin = asked.rotary_sin
        _check_tables(cos, sin, q.shape[-1])
        k_new = turn(k_new, at[owner] + number, cos, sin, interleaved)
        of_q, row = _places(q, cu_q)
        of_q = of_q.clamp(max=sequences - 1)
        row = at[of_q] if asked.at_one else at[of_q] + row
        q = turn(q.reshape(-1, *q.shape[-2:]), row, cos, sin, interleaved).view(q.shape)
    put = _find(k, used[owner] + number, inside, owner, batch_index, page_table)
    descales = (asked.k_descale, asked.v_descale)
    for cache, rows, given, descale in zip((k, v), (k_new, v_new), new, descales):
        if cache.dtype == torch.uint8:
            if put is not None:
                rows, units = nibbles.pack(rows)
                _put(descale.transpose(-1, -2), units.transpose(-1, -2), *put)
                _put(cache, rows, *put)
            continue
        if given.element_size() > cache.element_size() and descale is not None:
            units = descale.expand(sequences, cache.shape[-2])[owner]
            rows = rows.float() / units[..., None]
        if put is not None:
            _put(cache, _rounded(rows, cache.dtype), *put)
    more: Any = new[0].shape[1] if cu_new is None else cu_new.diff()
    return _rounded(q, q.dtype), (used + more).to(torch.int32)


def turn(
    rows: Any, positions: Any, cos: Any, sin: Any, interleaved: bool
) -> Any:  # fmt: skip
    """Rows (n, heads, d), pairs of whose first elements are turned by the angles of
    their positions, in f32. A position behind the table has its last angles."""
    at = positions.clamp(0, cos.shape[0] - 1).long()
    cos, sin = (one.float()[at][:, None] for one in (cos, sin))
    pairs = cos.shape[-1]
    wide = rows.float()
    head, rest = wide[..., : 2 * pairs], wide[..., 2 * pairs :]
    if interleaved:
        a, b = head[..., ::2], head[..., 1::2]
    else:
        a, b = head[..., :pairs], head[..., pairs:]
    turned = (a * cos - b * sin, b * cos + a * sin)
    made = torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)
    return _rounded(torch.cat((made, rest), -1), rows.dtype)


def _rounded(rows: Any, dtype: Any) -> Any:
    """In another type; numbers beyond the largest of 8 bits become that."""
    if rows.dtype == dtype:
        return rows
    if dtype.itemsize == 1:
        most = torch.finfo(dtype).max
        rows = rows.float().clamp(-most, most)
    return rows.to(dtype)


def _places(rows: Any, starts: Any) -> tuple[Any, Any]:
    """The sequence of each row, and its number in it; rows that are none of a sequence
    have the number of sequences."""
    if starts is None:
        count, length = rows.shape[:2]
        owner = torch.arange(count, device=rows.device).repeat_interleave(length)
        return owner, torch.arange(length, device=rows.device).repeat(count)
    at = torch.arange(rows.shape[0], device=rows.device)
    owner = torch.searchsorted(starts[1:].contiguous(), at, right=True)
    return owner, at - starts[owner.clamp(max=starts.numel() - 2)]


def _find(
    cache: Any, at: Any, inside: Any, owner: Any, batch_index: Any, page_table: Any
) -> Any:  # fmt: skip
    """Where the rows of the sequences `owner` lie in a cache, as what _put takes: indices,
    which row goes there, and whether there is any. Rows that are not `inside`, and places
    that a cache does not have, are left out. None where there is nothing to write."""
    if not at.shape[0] or not cache.numel():
        return None
    at = at.long()
    batch = owner if batch_index is None else batch_index[owner].long()
    if page_table is not None:
        page, at = at // cache.shape[1], at % cache.shape[1]
        inside = inside & (batch >= 0) & (batch < page_table.shape[0])
        inside = inside & (page >= 0) & (page < page_table.shape[1])
        batch = page_table[
            batch.clamp(0, page_table.shape[0] - 1), page.clamp(0, page_table.shape[1] - 1)
        ].long()  # fmt: skip
    inside = inside & (batch >= 0) & (batch < cache.shape[0])
    inside = inside & (at >= 0) & (at < cache.shape[1])
    # Whatever is outside is one that is inside once more, or what is there already.
    first = inside.long().argmax()
    source = torch.where(inside, torch.arange(at.shape[0], device=at.device), first)
    some = inside.any()  # an index that is a tensor of rank 0 would be waited for
    batch, at = (torch.where(some, one[source], 0) for one in (batch, at))
    return batch, at, source, some


def _put(cache: Any, rows: Any, batch: Any, at: Any, source: Any, some: Any) -> None:
    """cache[.., at] = rows."""
    if cache.element_size() == 1:
        # Bits, since operations of 8-bit floats are few.
        cache, rows = cache.view(torch.uint8), rows.view(torch.uint8)
    cache[batch, at] = torch.where(some, rows[source], cache[0, 0])


def _check_array(name: str, value: Any, count: int) -> None:
    if value.dtype != torch.int32 or tuple(value.shape) != (count,):
        raise ArgumentTypeError(
            name, f"{value.dtype} of shape {tuple(value.shape)}, expected int32 ({count},)"
        )


def _check_rows(name: str, cache: Any, rows: Any, k_new: Any, sequences: Any) -> None:
    front = (k_new.shape[0],) if sequences is None else (
        sequences, k_new.shape[1] if k_new.dim() == 4 else 0
    )  # fmt: skip
    columns = cache.shape[-1] * (2 if cache.dtype == torch.uint8 else 1)
    wanted = (*front, cache.shape[-2], columns)
    kinds = [cache.dtype]
    if cache.dtype == torch.uint8:
        kinds = [torch.float16, torch.bfloat16]
    if tensors.TORCH_TYPES.get(str(cache.dtype)[6:]) in FLOATS_8:
        kinds += [torch.float16, torch.bfloat16]
    if tuple(rows.shape) != wanted or rows.dtype not in kinds or rows.dtype != k_new.dtype:
        raise ArgumentError(
            name, f"{rows.dtype} of shape {tuple(rows.shape)}, expected "
            f"{' or '.join(map(str, kinds))} {wanted}",
        )  # fmt: skip


def _check_tables(cos: Any, sin: Any, head_dim: int) -> None:
    if cos.dim() != 2 or cos.shape != sin.shape or not cos.is_floating_point() or (
        cos.dtype != sin.dtype or not cos.shape[0]
    ):  # fmt: skip
        raise ArgumentError(
            "rotary_sin", f"{sin.dtype} of shape {tuple(sin.shape)} beside rotary_cos, "
            f"{cos.dtype} of shape {tuple(cos.shape)}; expected floats (positions, pairs)",
        )  # fmt: skip
    if cos.shape[1] % 8 or not 8 <= cos.shape[1] <= head_dim // 2:
        raise ArgumentError(
            "rotary_cos", f"{cos.shape[1]} pairs of elements, expected a multiple of 8 up "
            f"to {head_dim // 2}",
        )  # fmt: skip
