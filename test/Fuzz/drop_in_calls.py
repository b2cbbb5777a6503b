# SPDX-License-Identifier: Apache-2.0
"""Random calls of FlashAttention-2's and -3's functions, each with its answer in f64:
dense, packed, with gradients, with caches, new keys and rotary embeddings. Needs torch,
and fa3 in the path."""

import contextlib
import functools
from unittest import mock

import torch

import fa3.torch
from fa3 import api, flash_attn_2, flash_attn_interface, serving
from fa3.serving import packed

from door_calls import GRADIENT_ROUNDING, ROUNDING, TYPES, Cache, Call, i32, starts, strided
from door_definition import attend, off, off_in_the_mean, turned


@contextlib.contextmanager
def on_cpu(stage):
    """Whatever the functions call runs in the interpreter."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(flash_attn_2, "_interpret", stage))
        for module in (api, fa3.torch, packed, serving):
            real = module.attention
            stack.enter_context(mock.patch.object(
                module, "attention",
                lambda *args, real=real, **named: real(*args, **{"interpret": stage, **named}),
            ))  # fmt: skip
        yield


def options(r, version):
    """Arguments that all functions have, and what they mean."""
    named, a = {}, {}
    if r.random() < 0.5:
        named["causal"] = a["causal"] = True
    if r.random() < 0.4:
        ends = r.choice([-1, 0, 3, 40]), r.choice([-1, 0, 5, 60])
        named["window_size"] = a["window"] = ends
    if r.random() < 0.25:
        named["softcap"] = a["softcap"] = r.choice([1.0, 15.0])
    if r.random() < 0.3:
        named["softmax_scale"] = a["scale"] = r.choice([0.5, 0.02])
    if version == 3 and "window" not in a and r.random() < 0.15:
        named["attention_chunk"] = a["chunk"] = r.choice([8, 32, 50])
    return named, a


def heads_and_dims(r):
    d = r.choice([8, 20, 32, 64, 64, 96, 128, 192, 256])
    key_heads, groups = r.choice([1, 2]), r.choice([1, 1, 2, 4])
    return key_heads * groups, key_heads, d


def refusable(r, named):
    """About every tenth call: an argument that no function honors."""
    if r.random() >= 0.1:
        return ""
    name, value = r.choice([
        ("causal", 2), ("window_size", (1, 2, 3)), ("window_size", "all"),
        ("softmax_scale", "0.5"), ("softcap", "1"), ("window_size", (1.5, 2)),
    ])  # fmt: skip
    named[name] = value
    return f"{name}={value!r}"


def said(version, function, named, *tensors):
    shapes = [f"{tuple(one.shape)} {str(one.dtype)[6:]} {one.stride()}" for one in tensors]
    plain = {
        name: tuple(one.shape) if isinstance(one, torch.Tensor) else one
        for name, one in named.items()
    }
    return f"FlashAttention-{version} {function}({'; '.join(shapes)}; {plain})"


def library(version):
    return flash_attn_2 if version == 2 else flash_attn_interface


def results(made, wants_lse):
    """o, and lse where it was asked for."""
    return [made[0], made[1]] if wants_lse else [made]


def dense(r):
    version, stage = r.choice([2, 3]), r.choice(["tile", "hopper"])
    heads, key_heads, d = heads_and_dims(r)
    dtype, batch = r.choice(TYPES), r.choice([1, 2])
    queries, keys = r.choice([1, 5, 33, 64, 70, 130]), r.choice([1, 17, 64, 65, 150])
    named, a = options(r, version)
    form = r.choice(["func", "func", "func", "kvpacked", "qkvpacked"])
    form = "func" if form == "kvpacked" and version == 3 else form
    if form == "qkvpacked":
        keys, key_heads = queries, heads if version == 2 else key_heads
    rows = [(heads, queries), (key_heads, keys), (key_heads, keys)]
    q, k, v = (strided(r, (batch, n, h, d), dtype) for h, n in rows)
    if version == 2 and r.random() < 0.2:
        named["alibi_slopes"] = a["alibi_slopes"] = torch.rand(heads)
    if r.random() < 0.2:
        named["deterministic"] = True
    wants_lse, grads = r.random() < 0.5, r.random() < 0.4
    named["return_attn_probs"] = wants_lse
    spoiled = refusable(r, named)
    given = [q, k, v]
    if form == "kvpacked":
        given = [q, torch.stack([k, v], 2)]
    if form == "qkvpacked" and version == 2:
        given = [torch.stack([q, k, v], 2)]
    elif form == "qkvpacked":
        given = [torch.cat([q, k, v], 2)]
        named["num_heads_q"] = heads
    name = "flash_attn_func" if form == "func" else f"flash_attn_{form}_func"
    do = torch.randn(batch, queries, heads, d)

    def run():
        wanted = [one.clone().requires_grad_(grads) for one in given]
        with on_cpu(stage):
            made = results(getattr(library(version), name)(*wanted, **named), wants_lse)
            if grads:
                made += torch.autograd.grad(made[0], wanted, do.to(dtype))
        return made

    def define():
        wanted = [one.double().requires_grad_() for one in given]
        if form == "qkvpacked":
            parts = wanted[0].unbind(2) if version == 2 else wanted[0].split(
                [heads, key_heads, key_heads], 2)  # fmt: skip
        else:
            parts = wanted if form == "func" else [wanted[0], *wanted[1].unbind(2)]
        o, lse, _ = attend(*(one.transpose(1, 2) for one in parts), a)
        o = o.transpose(1, 2)
        expected = [(o, functools.partial(off, ROUNDING[dtype], 1.0))]
        expected += [(lse, functools.partial(off, 2e-3, 1.0))] * wants_lse
        if grads:
            compare = functools.partial(off_in_the_mean, GRADIENT_ROUNDING[dtype])
            made = torch.autograd.grad((o * do).sum(), wanted, allow_unused=True)
            made = [torch.zeros_like(x) if one is None else one for one, x in zip(made, wanted)]
            expected += [(one, compare) for one in made]
        return expected

    return Call(f"{said(version, name, named, *given)}, {stage}", run, define, spoiled)


def varlen(r):
    version, stage = r.choice([2, 3]), r.choice(["tile", "hopper"])
    heads, key_heads, d = heads_and_dims(r)
    dtype, count = r.choice(TYPES), r.choice([1, 2, 4])
    queries = [r.choice([0, 1, 5, 33, 64, 70]) for _ in range(count)]
    keys = [r.choice([0, 1, 17, 64, 65, 130]) for _ in range(count)]
    named, a = options(r, version)
    q = torch.randn(sum(queries) + r.choice([0, 0, 5]), heads, d).to(dtype)
    k, v = (torch.randn(sum(keys) + 2, key_heads, d).to(dtype) for _ in "kv")
    used_q, used_k = queries, keys
    if version == 3 and r.random() < 0.25:
        used_q = [r.randint(0, n) for n in queries]
        named["seqused_q"] = i32(used_q)
    if version == 3 and r.random() < 0.25:
        used_k = [r.randint(0, n) for n in keys]
        named["seqused_k"] = i32(used_k)
    wants_lse = r.random() < 0.5
    grads = r.random() < 0.4
    named["return_attn_probs"] = wants_lse
    spoiled = refusable(r, named)
    numbers = starts(queries), starts(keys), max(max(queries), 1), max(max(keys), 1)
    do = torch.randn(q.shape[0], heads, d)
    at_q, at_k = (one.tolist() for one in numbers[:2])
    for n, one in enumerate(queries):
        do[at_q[n] + used_q[n] : at_q[n] + one] = 0
    do[at_q[-1] :] = 0
    name = "flash_attn_varlen_func"

    def rows(one, at, lengths):
        return [one[at[n] : at[n] + length] for n, length in enumerate(lengths)]

    def run():
        wanted = [one.clone().requires_grad_(grads) for one in (q, k, v)]
        with on_cpu(stage):
            function = getattr(library(version), name)
            made = results(function(*wanted, *numbers, **named), wants_lse)
            changed = torch.autograd.grad(made[0], wanted, do.to(dtype)) if grads else ()
        found = rows(made[0], at_q, used_q)
        if wants_lse:
            found += [one.mT for one in rows(made[1].mT, at_q, used_q)]
        for one, at, lengths in zip(changed, (at_q, at_k, at_k), (used_q, used_k, used_k)):
            found += rows(one, at, lengths)
        return found

    def define():
        wanted = [one.double().requires_grad_() for one in (q, k, v)]
        parts = zip(*map(rows, wanted, (at_q, at_k, at_k), (used_q, used_k, used_k)))
        made = [attend(*(one.transpose(0, 1)[None] for one in part), a) for part in parts]
        outs = [o[0].transpose(0, 1) for o, _, _ in made]
        expected = [(o, functools.partial(off, ROUNDING[dtype], 1.0)) for o in outs]
        if wants_lse:
            expected += [(lse[0], functools.partial(off, 2e-3, 1.0)) for _, lse, _ in made]
        if grads:
            compare = functools.partial(off_in_the_mean, GRADIENT_ROUNDING[dtype])
            total = sum((o * w).sum() for o, w in zip(outs, rows(do, at_q, used_q)))
            changed = torch.autograd.grad(total, wanted, allow_unused=True)
            for one, x, at, lengths in zip(
                changed, wanted, (at_q, at_k, at_k), (used_q, used_k, used_k)
            ):
                one = torch.zeros_like(x) if one is None else one
                expected += [(part, compare) for part in rows(one, at, lengths)]
        return expected

    words = f"{said(version, name, named, q, k, v)}, {queries} {keys}, {stage}"
    return Call(words, run, define, spoiled)


def kvcache(r):
    version, stage = r.choice([2, 3]), r.choice(["tile", "hopper"])
    heads, key_heads, d = heads_and_dims(r)
    d, dtype, count = (64 if d < 32 else d), r.choice(TYPES), r.choice([1, 2, 3])
    queries = r.choice([1, 1, 2, 7, 33])
    keys = [r.choice([0, 1, 30, 64, 130]) for _ in range(count)]
    more = r.choice([0, 0, 1, queries, 5])
    named, a = options(r, version)
    cache = Cache(r, [n + more for n in keys], key_heads, (d, d), dtype, False)
    while cache.form == "packed":
        cache = Cache(r, [n + more for n in keys], key_heads, (d, d), dtype, False)
    of_cache, pads = cache.named, [0] * count
    if "page_table" in of_cache:
        named["page_table" if version == 3 else "block_table"] = of_cache["page_table"]
    if "batch_index" in of_cache:
        named["cache_batch_idx"] = of_cache["batch_index"]
    if "leftpad" in of_cache and not more:
        named["cache_leftpad"] = of_cache["leftpad"]
        pads = of_cache["leftpad"].tolist()
    elif "leftpad" in of_cache:
        cache.find = functools.partial(unpadded, cache, of_cache.get("batch_index"))
    named["cache_seqlens"] = i32([n + pad for n, pad in zip(keys, pads)])
    if len(set(keys)) == 1 and not any(pads) and r.random() < 0.3:
        named["cache_seqlens"] = keys[0]
    q = torch.randn(count, queries, heads, d).to(dtype)
    new, rotary = [], None
    if more:
        new = [torch.randn(count, more, key_heads, d).to(dtype) for _ in "kv"]
        named |= {"k": new[0], "v": new[1]}
        if r.random() < 0.5:
            pairs = r.choice([8, d // 2])
            angles = torch.rand(400, pairs) * 6.3
            rotary = angles.cos().to(dtype), angles.sin().to(dtype), r.random() < 0.5
            named |= {"rotary_cos": rotary[0], "rotary_sin": rotary[1]}
            named["rotary_interleaved"] = rotary[2]
    if r.random() < 0.3:
        named["num_splits"] = r.choice([1, 2, 3])
    wants_lse = r.random() < 0.5
    named["return_softmax_lse"] = wants_lse
    spoiled = refusable(r, named)
    k_cache, v_cache = cache.k, cache.v
    before = [cache.get(n) for n in range(count)]
    before = [[one[:, : keys[n]].double() for one in both] for n, both in enumerate(before)]

    def run():
        with on_cpu(stage):
            function = library(version).flash_attn_with_kvcache
            made = results(function(q, k_cache, v_cache, **named), wants_lse)
        if more:
            cache.rows = [k_cache, v_cache]
            made += [one for n in range(count) for one in cache.get(n)]
        return made

    def define():
        outs, sums, rows = [], [], []
        for n, length in enumerate(keys):
            own, both = q[n].double(), [one[n].double() for one in new]
            if rotary:
                places = torch.arange(more) + length
                both[0] = turned(both[0], places, *rotary)
                moves = a.get("causal") or "chunk" in a or any(
                    end >= 0 for end in a.get("window", ()))  # fmt: skip
                places = length + (torch.arange(queries) if moves else torch.zeros(queries).long())
                own = turned(own, places, *rotary)
            parts = before[n]
            if more:
                parts = [torch.cat([one, two.transpose(0, 1)], 1) for one, two in zip(parts, both)]
            o, lse, _ = attend(own.transpose(0, 1)[None], *(one[None] for one in parts), a)
            outs.append(o[0].transpose(0, 1))
            sums.append(lse[0])
            rows += parts
        compare = functools.partial(off, ROUNDING[dtype], 1.0)
        # Turned rows are rounded before they meet.
        loose = functools.partial(off, 3e-2 if rotary else 2e-3, 1.0)
        expected = [(torch.stack(outs), compare)]
        expected += [(torch.stack(sums), loose)] * wants_lse
        return expected + [(one, functools.partial(off, 1e-2, 1.0)) for one in rows] * bool(more)

    words = f"{said(version, 'with_kvcache', named, q, k_cache)}, keys {keys}, new {more}, {stage}"
    return Call(words, run, define, spoiled)


def unpadded(cache, index, one, n):
    return one[n if index is None else int(index[n]), : cache.lengths[n]]


def flash(r):
    return r.choice([dense, dense, varlen, kvcache])(r)


