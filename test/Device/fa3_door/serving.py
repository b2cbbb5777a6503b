# SPDX-License-Identifier: Apache-2.0
"""Packed sequences, caches and pages through FlashAttention-3's functions."""

import itertools

import torch

from fa3 import flash_attn_interface as door

from .common import DEVICE, check, compare, random, reference
from .speed import measure

TYPE = torch.bfloat16


def i32(values):
    return torch.tensor(list(values), dtype=torch.int32, device=DEVICE)


def starts(lengths):
    return i32([0, *itertools.accumulate(lengths)])


def one_sequence(q, k, v, **named):
    """(queries, heads, d) by fp32."""
    o, lse = reference(*(x.transpose(0, 1)[None] for x in (q, k, v)), **named)
    return o[0].transpose(0, 1), lse[0]


def packed(notes, lengths, used=None, splits=1, **named):
    cu_q, cu_k = (starts(one) for one in zip(*lengths))
    q = random(int(cu_q[-1]), 8, 128, dtype=TYPE)
    k, v = (random(int(cu_k[-1]), 2, 128, dtype=TYPE) for _ in range(2))
    most = [max(one) for one in zip(*lengths)]
    for _ in range(2):
        o, lse = door.flash_attn_varlen_func(
            q, k, v, cu_q, cu_k, *most, seqused_k=None if used is None else i32(used),
            return_attn_probs=True, num_splits=splits, **named,
        )  # fmt: skip
    expected = {
        {"window_size": "window"}.get(name, name): one for name, one in named.items()
    }
    for n, (rows, keys) in enumerate(lengths):
        keys = keys if used is None else used[n]
        a, b = int(cu_q[n]), int(cu_k[n])
        wanted, sums = one_sequence(
            q[a : a + rows], k[b : b + keys], v[b : b + keys], **expected
        )
        compare(notes, o[a : a + rows], wanted, 3e-2)
        compare(notes, lse[:, a : a + rows], sums, 2e-3)
    notes[:] = ["max " + max(notes, key=float)]


def cache(notes, queries, lengths, page=0, pad=None, index=None, splits=0, rows=1024,
          of_8_bits=False, **named):  # fmt: skip
    """`of_8_bits`: keys and values are float8, queries are not."""
    batch, caches = len(lengths), 6 if index is not None else len(lengths)
    q = random(batch, queries, 16, 128, dtype=TYPE)
    k, v = (random(caches, rows, 2, 128, dtype=TYPE) for _ in range(2))
    given = {"cache_seqlens": i32(lengths), "num_splits": splits}
    if of_8_bits:
        k, v = (one.to(torch.float8_e4m3fn).to(TYPE) for one in (k, v))
    passed = k, v
    for name, values in (("cache_leftpad", pad), ("cache_batch_idx", index)):
        if values is not None:
            given[name] = i32(values)
    if page:
        pages = rows // page
        order = torch.randperm(caches * pages + 5, device=DEVICE)[: caches * pages]
        passed = tuple(
            random(caches * pages + 5, page, 2, 128, dtype=TYPE) for _ in range(2)
        )
        for paged, plain in zip(passed, (k, v)):
            paged[order] = plain.reshape(caches * pages, page, 2, 128)
        given["page_table"] = order.reshape(caches, pages).to(torch.int32)
    if of_8_bits:
        passed = tuple(one.to(torch.float8_e4m3fn) for one in passed)
    o, lse = door.flash_attn_with_kvcache(
        q, *passed, return_softmax_lse=True, **given, **named
    )
    for n, length in enumerate(lengths):
        first, which = 0 if pad is None else pad[n], n if index is None else index[n]
        wanted, sums = one_sequence(
            q[n], k[which, first:length], v[which, first:length],
            **{{"window_size": "window"}.get(a, a): b for a, b in named.items()},
        )  # fmt: skip
        # Weights have 8 bits, too.
        compare(notes, o[n], wanted, 0.1 if of_8_bits else 3e-2)
        compare(notes, lse[n], sums, 1e-2 if of_8_bits else 2e-3)
    notes[:] = ["max " + max(notes, key=float)]


def step(notes, queries, lengths, page=0, pairs=32, interleaved=True, **named):
    """New keys and values, turned, in a cache with room for 1100; o, and the cache
    where it was written."""
    batch, rows, new = len(lengths), 1280, queries
    q = random(batch, queries, 8, 128, dtype=TYPE)
    added = [random(batch, new, 2, 128, dtype=TYPE) for _ in range(2)]
    k, v = (random(batch, rows, 2, 128, dtype=TYPE) for _ in range(2))
    angle = torch.rand(rows, pairs, device=DEVICE) * 6
    given, passed = {"cache_seqlens": i32(lengths)}, (k.clone(), v.clone())
    if page:
        order = torch.randperm(batch * rows // page, device=DEVICE)
        passed = tuple(torch.empty_like(one).reshape(-1, page, 2, 128) for one in (k, v))
        for paged, plain in zip(passed, (k, v)):
            paged[order] = plain.reshape(-1, page, 2, 128)
        given["page_table"] = order.reshape(batch, -1).to(torch.int32)
    o = door.flash_attn_with_kvcache(
        q, *passed, *added, rotary_cos=angle.cos(), rotary_sin=angle.sin(), causal=True,
        rotary_interleaved=interleaved, **given, **named,
    )  # fmt: skip
    if page:
        passed = tuple(one[order].reshape(batch, rows, 2, 128) for one in passed)
    for n, length in enumerate(lengths):
        here = slice(length, length + new)
        turned, keys = (rotate(x, angle[here], interleaved) for x in (q[n], added[0][n]))
        k[n, here], v[n, here] = keys, added[1][n]
        compare(notes, o[n], one_sequence(
            turned, k[n, : length + new], v[n, : length + new], causal=True
        )[0], 3e-2)  # fmt: skip
    if not torch.equal(passed[1], v):
        raise AssertionError("the cache of values is not what it has to be")
    compare(notes, passed[0], k, 2e-2)
    notes[:] = ["max " + max(notes, key=float)]


def step_of_8_bits(notes, queries, lengths, page=0, type=torch.float8_e4m3fn, shared=False,
                   **named):  # fmt: skip
    """New rows of 16 bits in a float8 cache, in units of descales."""
    batch, rows = len(lengths), 1280
    q = random(batch, queries, 8, 128, dtype=TYPE)
    added = [random(batch, queries, 2, 128, dtype=TYPE) for _ in range(2)]
    caches = [random(batch, rows, 2, 128, dtype=TYPE).to(type) for _ in range(2)]
    extents = (1, 1) if shared else (batch, 2)
    scales = [torch.rand(extents, device=DEVICE) + 0.5 for _ in range(2)]
    given, passed = {"cache_seqlens": i32(lengths)}, [one.clone() for one in caches]
    if page:
        order = torch.randperm(batch * rows // page, device=DEVICE)
        passed = [torch.empty_like(one).reshape(-1, page, 2, 128) for one in caches]
        for paged, plain in zip(passed, caches):
            # Not every operation of torch takes float8.
            paged.view(torch.int8)[order] = plain.view(torch.int8).reshape(-1, page, 2, 128)
        given["page_table"] = order.reshape(batch, -1).to(torch.int32)
    o = door.flash_attn_with_kvcache(
        q, *passed, *added, causal=True, k_descale=scales[0], v_descale=scales[1],
        **given, **named,
    )  # fmt: skip
    if page:
        passed = [one.view(torch.int8)[order].reshape(batch, rows, 2, 128).view(type)
                  for one in passed]  # fmt: skip
    wide = []
    for made, cache, new, scale in zip(passed, caches, added, scales):
        units = scale.expand(batch, 2)[:, None, :, None]
        expected = cache.float()
        for n, length in enumerate(lengths):
            here = slice(length, length + queries)
            expected[n, here] = (new[n].float() / units[n]).to(type).float()
        # A quotient next to a tie may be rounded the other way, and nothing else.
        other = made.float() != expected
        if int(other.sum()) > 1e-3 * new.numel():
            raise AssertionError(f"{int(other.sum())} of {new.numel()} new elements are others")
        steps = (made.view(torch.uint8).int() - expected.to(type).view(torch.uint8).int()).abs()
        if int(steps.max()) > 1:
            raise AssertionError("an element of a cache is not next to what it has to be")
        wide.append(made.float() * units)
    for n, length in enumerate(lengths):
        k, v = (one[n, : length + queries] for one in wide)
        compare(notes, o[n], one_sequence(q[n].float(), k, v, causal=True)[0], 0.15)
    notes[:] = ["max " + max(notes, key=float)]


def rotate(x, angle, interleaved):
    pairs, y = angle.shape[1], x.float()
    c, s = angle.cos()[:, None], angle.sin()[:, None]
    first, second = (
        (slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)) if interleaved
        else (slice(0, pairs), slice(pairs, 2 * pairs))
    )  # fmt: skip
    a, b = y[..., first].clone(), y[..., second].clone()
    y[..., first], y[..., second] = a * c - b * s, b * c + a * s
    return y.to(x.dtype)


def beyond_8_bits(type):
    """Rows that have numbers beyond the largest one, and none."""
    rows = random(1, 1, 2, 128, dtype=TYPE)
    rows[..., 0], rows[..., 1], rows[..., 2] = 1e6, -1e6, float("nan")
    rows[..., 3] = float("inf")
    caches = [torch.zeros(1, 64, 2, 128, device=DEVICE).to(type) for _ in range(2)]
    door.flash_attn_with_kvcache(
        random(1, 1, 8, 128, dtype=TYPE), *caches, rows, rows, cache_seqlens=i32((5,)),
        causal=True,
    )  # fmt: skip
    largest = torch.finfo(type).max
    for one in caches:
        made = one[0, 5].float()[:, :4]
        wanted = torch.tensor([largest, -largest, float("nan"), largest], device=DEVICE)
        torch.testing.assert_close(made, wanted.expand(2, 4), equal_nan=True, atol=0, rtol=0)


def part_append(quick):
    torch.manual_seed(4)
    for text, queries, named in (
        ("a token", 1, {}), ("a token, pages of 64", 1, {"page": 64}),
        ("a token, halves, all of a row", 1, {"interleaved": False, "pairs": 64}),
        ("a token, pages of 16, 4 splits", 1, {"page": 16, "num_splits": 4}),
        ("70 tokens, pages of 64", 70, {"page": 64}),
    ):
        with check("append", f"kvcache with new keys, {text}") as notes:
            step(notes, queries, (1000, 333, 0), **named)
    for text, queries, named in (
        ("a token", 1, {}), ("a token, one scale", 1, {"shared": True}),
        ("a token, pages of 64, 3 splits", 1, {"page": 64, "num_splits": 3}),
        ("70 tokens, e5m2, pages of 16", 70, {"page": 16, "type": torch.float8_e5m2}),
    ):
        with check("append", f"float8 cache with new bf16 keys, {text}") as notes:
            step_of_8_bits(notes, queries, (1000, 333, 0), **named)
    for type in (torch.float8_e4m3fn, torch.float8_e5m2):
        with check("append", f"new keys beyond the largest number of {type}"):
            beyond_8_bits(type)
    with check("append", "decode step, batch 8, 8192 keys, 32/8 heads, pages of 64") as notes:
        q = random(8, 1, 32, 128, dtype=TYPE)
        new = random(8, 1, 8, 128, dtype=TYPE)
        k, v = (random(1040, 64, 8, 128, dtype=TYPE) for _ in range(2))
        table = torch.arange(8 * 130, device=DEVICE, dtype=torch.int32).reshape(8, 130)
        length = torch.full((8,), 8192, dtype=torch.int32, device=DEVICE)
        cos = torch.rand(9000, 64, device=DEVICE)

        def call(*added, **more):
            return door.flash_attn_with_kvcache(
                q, k, v, *added, cache_seqlens=length, page_table=table, causal=True, **more
            )

        with_new = measure(lambda: call(new, new, rotary_cos=cos, rotary_sin=cos))
        notes.append(f"{1e6 * with_new:.0f} us, without new keys {1e6 * measure(call):.0f} us")


def part_serving(quick):
    torch.manual_seed(3)
    lengths = ((70, 200), (0, 50), (240, 250), (1, 513))
    for named in ({}, {"causal": True}, {"window_size": (64, 10)}, {"splits": 3}):
        with check("serving", f"varlen {named}") as notes:
            packed(notes, lengths, **named)
    with check("serving", "varlen, seqused_k") as notes:
        packed(notes, lengths, used=(150, 1, 250, 400))
    causal = {"causal": True}
    for text, queries, named in (
        ("a query", 1, causal), ("5 queries", 5, causal), ("200 queries", 200, causal),
        ("window", 1, {"causal": True, "window_size": (100, 0)}),
        ("7 splits", 1, {"causal": True, "splits": 7}),
        ("left padding", 3, {"causal": True, "pad": (10, 0, 333)}),
        ("batch numbers", 3, {"causal": True, "index": (5, 0, 2)}),
        ("pages of 64", 1, {"causal": True, "page": 64}),
        ("pages of 16", 1, {"causal": True, "page": 16}),
        ("pages of 256", 40, {"causal": True, "page": 256}),
        ("pages of 64, 4 splits", 2, {"causal": True, "page": 64, "splits": 4}),
        ("pages, batch numbers", 1, {"causal": True, "page": 64, "index": (5, 0, 2)}),
        ("float8, q bf16", 1, {**causal, "of_8_bits": True}),
        ("float8, q bf16, 30 queries, pages of 64", 30,
         {**causal, "of_8_bits": True, "page": 64}),
        ("float8, q bf16, 3 splits", 2, {**causal, "of_8_bits": True, "splits": 3}),
    ):
        with check("serving", f"kvcache, {text}") as notes:
            cache(notes, queries, (1000, 333, 512), **named)
    with check("serving", "gradients of packed sequences") as notes:
        cu_q, cu_k = (starts(one) for one in zip(*lengths[:3]))
        x = [random(int(cu[-1]), h, 64, dtype=TYPE).requires_grad_()
             for cu, h in ((cu_q, 8), (cu_k, 2), (cu_k, 2))]  # fmt: skip
        o = door.flash_attn_varlen_func(*x, cu_q, cu_k, 240, 250, causal=True)
        do = torch.randn_like(o)
        made = torch.autograd.grad(o, x, do)
        wide = [one.detach().float().requires_grad_() for one in x]
        parts = []
        for n in range(3):
            a, b = (slice(*cu[n : n + 2].tolist()) for cu in (cu_q, cu_k))
            if a.start != a.stop:
                parts.append(one_sequence(wide[0][a], wide[1][b], wide[2][b], causal=True)[0])
        wanted = torch.autograd.grad(torch.cat(parts), wide, do.float())
        for one, exact in zip(made, wanted):
            largest = max(1.0, exact.abs().max().item())
            compare(notes, one / largest, exact / largest, 3e-2)
    with check("serving", "a CUDA graph of a paged decode, lengths change") as notes:
        pages = [random(64, 64, 2, 128, dtype=TYPE) for _ in range(2)]
        q, table = random(2, 1, 16, 128, dtype=TYPE), i32(range(64)).reshape(2, 32)
        length = i32((100, 2000))

        def step():
            return door.flash_attn_with_kvcache(
                q, *pages, cache_seqlens=length, page_table=table, causal=True
            )

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            o = step()
        for values in ((7, 2048), (1500, 1)):
            length.copy_(i32(values))
            graph.replay()
            torch.cuda.synchronize()
            for n, count in enumerate(values):
                k, v = (one[n * 32 : n * 32 + 32].reshape(2048, 2, 128)[:count]
                        for one in pages)  # fmt: skip
                compare(notes, o[n], one_sequence(q[n], k, v)[0], 3e-2)
    for batch, keys in ((1, 65536), (8, 8192), (64, 4096)):
        with check("serving", f"decode, batch {batch}, {keys} keys, 32/8 heads") as notes:
            q = random(batch, 1, 32, 128, dtype=TYPE)
            k, v = (random(batch, keys, 8, 128, dtype=TYPE) for _ in range(2))
            length = torch.full((batch,), keys, dtype=torch.int32, device=DEVICE)
            seconds = measure(lambda: door.flash_attn_with_kvcache(
                q, k, v, cache_seqlens=length, causal=True
            ))  # fmt: skip
            moved = 2 * k.numel() * k.element_size()
            notes.append(f"{1e6 * seconds:.0f} us, {moved / seconds / 1e12:.2f} TB/s")
