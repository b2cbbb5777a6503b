#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mask and score code of fa3.serving on a GPU: python test/Device/serving_code.py [--time] [--cpu].

* A pairwise cover of code (trees, packed bits, prefixes, ranges, blocks, causal by
  sequence, slopes) x places x parts x types (caches of 8 bits with queries of 8 and of
  16) x sinks x windows x heads x head dims x batch invariance: o and lse of each sequence
  against f32, beside keys that are NaN where nobody may look. Calls are made twice, the
  second time with other tables, which has to give other values, into `out`, and captured in
  a graph whose lengths and tables then change. A call that is refused by name is counted.
* --time: verification of trees beside compiled FlexAttention; prefixes beside causal, by
  turns, and over the pairs that they see.

Cases run in --workers processes; when --budget seconds are over the others are left out, which is
said and makes the exit code 1. --cpu runs small problems in the interpreter."""

import argparse
import itertools
import pathlib
import sys
import time

import torch

try:
    import fa3
except ImportError:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import fa3  # noqa: F401
from fa3 import masks, serving
from fa3.errors import UnsupportedError
from fa3_device import kernels, workers
from fa3_device.serving_cases import cover
from fa3_device.turns import times_of

SMALL = (torch.float8_e4m3fn, torch.float8_e5m2)
AXES = {
    "code": ["tree", "bits", "flat", "prefix", "ranges", "blocks", "causal", "slopes"],
    "place": ["packed", 4, 8, 16, 64, 256],
    "splits": [0, 1, 2, 7, "invariant"],
    "type": ["bf16", "f16", "e4m3", "e5m2", "bf16 on e4m3"],
    "sinks": [False, True],
    "window": [None, (100, 0)],
    "heads": [(4, 4), (32, 8), (71, 1)],
    "dim": [64, 96, 128, 256],
}
QUERIES, LENGTHS = (1, 7, 64, 33, 2), (900, 64, 128, 33, 513)


class Case:
    def __init__(self, row, device, small):
        self.row, self.device = row, device
        self.queries = (1, 7, 20) if small else QUERIES
        self.lengths = (90, 41, 20) if small else LENGTHS
        self.heads, self.dim = row["heads"], row["dim"]
        if small:
            self.heads, self.dim = (4, 2), min(self.dim, 64)
        of_q, _, of_k = row["type"].partition(" on ")
        types = {"bf16": torch.bfloat16, "f16": torch.float16, "e4m3": SMALL[0], "e5m2": SMALL[1]}
        self.types = types[of_q], types[of_k or of_q]
        self.pads = bool(of_k)
        self.sinks = torch.randn(self.heads[0], device=device) if row["sinks"] else None
        self.q = [self.random(n, self.heads[0], self.types[0]) for n in self.queries]
        self.k, self.v = (
            [self.random(n, self.heads[1], self.types[1]) for n in self.lengths] for _ in "kv"
        )
        self.arrange()

    def random(self, rows, heads, dtype):
        return torch.randn(rows, heads, self.dim, device=self.device).to(dtype)

    def i32(self, values):
        return torch.tensor(values, dtype=torch.int32, device=self.device)

    def starts(self, counts):
        return self.i32([0, *itertools.accumulate(counts)])

    def arrange(self):
        """Tensors of the call."""
        place, named = self.row["place"], {"return_lse": True}
        if self.device == "cpu":
            named["interpret"] = True
        if self.pads:
            q = torch.zeros(len(self.q), max(self.queries), *self.q[0].shape[1:])
            q = q.to(self.q[0].dtype).to(self.device)
            for line, one in zip(q, self.q):
                line[: one.shape[0]] = one
            named["used_q"] = self.i32(self.queries)
        else:
            q = torch.cat(self.q)
            named |= {"cu_q": self.starts(self.queries), "max_q": max(self.queries)}
        if place == "packed":
            k, v = torch.cat(self.k), torch.cat(self.v)
            named |= {"cu_k": self.starts(self.lengths), "max_k": max(self.lengths)}
        else:
            k, v, named["page_table"] = self.pages(place)
            named["used_k"] = self.i32(self.lengths)
        if self.row["splits"] == "invariant":
            named["batch_invariant"] = 128
        else:
            named["splits"] = self.row["splits"]
        if self.row["window"]:
            named["window"] = self.row["window"]
        named["sinks"] = self.sinks
        self.given, self.named = (q, k, v), named

    def pages(self, page):
        widths = [-(-n // page) for n in self.lengths]
        table = torch.zeros(len(widths), max(widths) + 2, dtype=torch.int32)
        order, first = torch.randperm(sum(widths)).to(torch.int32), 0
        made = [
            torch.full((sum(widths), page, *self.k[0].shape[1:]), float("nan"))
            .to(self.types[1]).to(self.device)
            for _ in "kv"
        ]  # fmt: skip
        for n, width in enumerate(widths):
            mine = order[first : first + width]
            table[n, :width], first = mine, first + width
            for cache, given in zip(made, (self.k[n], self.v[n])):
                at = torch.arange(self.lengths[n])
                rows = (mine[at // page].long() * page + at % page).to(self.device)
                cache.view(torch.uint8).view(
                    -1, *cache.shape[2:-1], cache.shape[-1] * cache.element_size()
                )[rows] = given.view(torch.uint8)
        return *made, table.to(self.device)

    def places(self):
        for rows, keys in zip(self.queries, self.lengths):
            yield (torch.arange(rows, device=self.device)[:, None] + keys - rows,
                   torch.arange(keys, device=self.device)[None])  # fmt: skip

    def code(self):
        """Named mods, and for each sequence what is seen and a function of scores."""
        first = self.i32([n - q for q, n in zip(self.queries, self.lengths)])
        keys, kind = self.i32(self.lengths), self.row["code"]
        places = list(self.places())
        same = [lambda s: s] * len(places)
        if kind == "slopes":
            return self.slopes(first, places)
        if kind == "tree":
            most = max(self.queries)
            bits = torch.rand(len(places), most, most, device=self.device) < 0.5
            bits |= torch.eye(most, dtype=torch.bool, device=self.device)
            seen = [
                torch.cat([torch.ones(q, n - q, dtype=torch.bool, device=self.device),
                           one[:q, :q]], 1)
                for one, q, n in zip(bits, self.queries, self.lengths)
            ]  # fmt: skip
            return {"mask_mod": masks.tree(masks.pack_tree(bits), first)}, seen, same
        if kind in ("bits", "flat"):
            return {"mask_mod": self.flat(kind, keys, seen := self.random_masks())}, seen, same
        lengths = self.i32([n // 3 for n in self.lengths])
        flags = self.i32([n % 2 for n in range(len(places))])
        begin = torch.stack([keys // 4, keys // 2], 1)
        end = torch.stack([keys // 3, keys * 3 // 4], 1)
        mod, seen = {
            "prefix": (masks.prefix(lengths, first), lambda n, r, c: (c <= r) | (c < lengths[n])),
            "blocks": (masks.block_causal(24, first), lambda n, r, c: c // 24 <= r // 24),
            "causal": (masks.causal_where(flags, first),
                       lambda n, r, c: (c <= r) | (flags[n] == 0)),
            "ranges": (masks.ranges(begin, end, first), lambda n, r, c: (c <= r) | (
                (r >= begin[n, :, None, None]) & (r < end[n, :, None, None])
                & (c >= begin[n, :, None, None]) & (c < end[n, :, None, None])).any(0)),
        }[kind]  # fmt: skip
        return {"mask_mod": mod}, [seen(n, *one) for n, one in enumerate(places)], same

    def random_masks(self):
        made = [torch.rand(q, n, device=self.device) < 0.5
                for q, n in zip(self.queries, self.lengths)]  # fmt: skip
        for one in made:
            one[:, -1] = True
        return made

    def flat(self, kind, keys, seen):
        parts = [one.flatten() for one in seen]
        if kind == "flat":
            return masks.flat(torch.cat(parts), self.starts([len(p) for p in parts])[:-1], keys)
        powers = torch.arange(8, device=self.device)
        parts = [torch.nn.functional.pad(one.int(), (0, -len(one) % 8)) for one in parts]
        parts = [(one.view(-1, 8) << powers).sum(-1).to(torch.uint8) for one in parts]
        return masks.packed_bits(torch.cat(parts), self.starts([len(p) for p in parts])[:-1], keys)

    def slopes(self, first, places):
        slopes = torch.rand(len(places), self.heads[0], device=self.device)

        def score_mod(score, b, h, q, kv):
            return score - slopes[b, h] * (q + first[b] - kv).abs() * 0.1

        change = [
            lambda s, n=n, r=r, c=c: s - slopes[n][:, None, None] * (r - c).abs() * 0.1
            for n, (r, c) in enumerate(places)
        ]
        return {"score_mod": score_mod, "causal": True}, [c <= r for r, c in places], change

    def expected(self, seen, change):
        for n, (row, key) in enumerate(self.places()):
            group = self.heads[0] // self.heads[1]
            k, v = (x[n].float().repeat_interleave(group, 1) for x in (self.k, self.v))
            s = torch.einsum("ihd,jhd->hij", self.q[n].float(), k) * self.dim**-0.5
            visible = seen[n]
            if self.row["window"]:
                visible = visible & (row - key <= 100) & (key <= row)
            s = change[n](s).masked_fill(~visible, float("-inf"))
            if self.sinks is not None:
                s = torch.cat([s, self.sinks[:, None, None].expand(-1, s.shape[1], 1)], -1)
                v = torch.cat([v, torch.zeros_like(v[:1])])
            p = torch.softmax(s, -1).nan_to_num()
            yield torch.einsum("hij,jhd->ihd", p, v), torch.logsumexp(s, -1)

    def run(self, mods):
        return serving.attention(*self.given, **self.named, **mods)

    def sequences(self, o, lse):
        if self.pads:
            return [(o[n, :q], lse[n, :, :q]) for n, q in enumerate(self.queries)]
        at = self.starts(self.queries).tolist()
        return [(o[a:b], lse[:, a:b]) for a, b in zip(at, at[1:])]


def compare(case, made, seen, change):
    tolerance = {torch.float16: 4e-3, torch.bfloat16: 2e-2}.get(case.types[1], 1e-1)
    for n, (one, other) in enumerate(zip(case.sequences(*made), case.expected(seen, change))):
        for what, a, b in zip(("o", "lse"), one, other):
            limit = tolerance if what == "o" else max(5e-3, tolerance / 5)
            error = (a.float() - b).abs()
            error = torch.where(a.float() == b, 0.0, error)
            if not bool((error <= limit * (1 + b.abs())).all()):
                yield f"sequence {n}: {what} is off by {error.nan_to_num(torch.inf).max():.2e}"


def check(row, device, small):
    case = Case(row, device, small)
    mods, seen, change = case.code()
    first = case.run(mods)
    yield from compare(case, first, seen, change)
    mods, seen, change = case.code()
    second = case.run(mods)
    yield from (f"again: {one}" for one in compare(case, second, seen, change))
    if row["code"] in ("tree", "bits", "flat", "slopes") and torch.equal(first[0], second[0]):
        yield "other tables give the same values"
    out = torch.full_like(second[0], 7.0)
    for text in ("into out", "into out once more"):
        third = case.run({**mods, "out": out})
        if third[0] is not out:
            yield f"{text}: another tensor"
        yield from (f"{text}: {one}" for one in compare(case, third, seen, change))
        out = torch.full_like(out, 7.0)
    if device == "cuda" and row["place"] != "packed":
        yield from check_graph(case, mods, seen, change)


def check_graph(case, mods, seen, change):
    """A captured call, in which keys of a sequence then are fewer."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = case.run(mods)
    graph.replay()
    torch.cuda.synchronize()
    yield from (f"in a graph: {one}" for one in compare(case, made, seen, change))
    before = made[0].clone()
    case.named["used_k"][0] -= 40
    graph.replay()
    torch.cuda.synchronize()
    if torch.equal(before, made[0]):
        yield "in a graph: another length gives the same values"


#: Keys that all queries of a sequence see, beside causal ones.
PREFIXES = (0, 1024)


def measure():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def median(call):
        times = []
        for n in range(25):
            a, b = (torch.cuda.Event(enable_timing=True) for _ in "ab")
            a.record()
            call()
            b.record()
            torch.cuda.synchronize()
            times += [a.elapsed_time(b)] if n >= 5 else []
        return sorted(times)[len(times) // 2]

    torch.manual_seed(0)
    count, drafts, keys = 64, 64, 8192
    q = torch.randn(count * drafts, 32, 128, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(count * keys // 64, 64, 8, 128, device="cuda", dtype=torch.bfloat16)
            for _ in "kv")  # fmt: skip
    table = torch.arange(count * keys // 64, device="cuda", dtype=torch.int32).view(count, -1)
    used = torch.full((count,), keys, device="cuda", dtype=torch.int32)
    cu = torch.arange(0, count * drafts + 1, drafts, device="cuda", dtype=torch.int32)
    bits = torch.rand(count, drafts, drafts, device="cuda") < 0.3
    bits |= torch.eye(drafts, dtype=torch.bool, device="cuda")
    first = used - drafts
    named = {"cu_q": cu, "max_q": drafts, "used_k": used, "page_table": table}
    tree = masks.tree(masks.pack_tree(bits), first)
    ours = median(lambda: serving.attention(q, k, v, mask_mod=tree, **named))
    chain = median(lambda: serving.attention(q, k, v, causal=True, **named))
    dense = [x.view(count, keys, 8, 128).transpose(1, 2) for x in (k, v)]
    queries = q.view(count, drafts, 32, 128).transpose(1, 2)

    def mask_mod(b, h, i, j):
        return (j < keys - drafts) | bits[b, i, (j - (keys - drafts)).clamp(min=0)]

    block = create_block_mask(mask_mod, count, None, drafts, keys, device="cuda")
    flex = torch.compile(flex_attention)
    # Its kernel for decoding has no form for so many rows.
    options = {"FORCE_USE_FLEX_ATTENTION": True}
    theirs = median(
        lambda: flex(queries, *dense, block_mask=block, enable_gqa=True, kernel_options=options)
    )
    print(
        f"64 trees of 64 drafts on 8192 keys: {1e3 * ours:.0f} us, a chain {1e3 * chain:.0f}, "
        f"compiled FlexAttention without pages {1e3 * theirs:.0f} ({theirs / ours:.2f})"
    )
    count, length = 16, 4096
    q = torch.randn(count * length, 32, 128, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(count * length, 8, 128, device="cuda", dtype=torch.bfloat16) for _ in "kv")
    cu = torch.arange(0, count * length + 1, length, device="cuda", dtype=torch.int32)
    named = {"cu_q": cu, "cu_k": cu, "max_q": length, "max_k": length}
    zeros = torch.zeros(count, dtype=torch.int32, device="cuda")
    calls = [lambda: serving.attention(q, k, v, causal=True, **named)]
    for prefix in PREFIXES:
        mod = masks.prefix(zeros + prefix, zeros)
        calls.append(lambda mod=mod: serving.attention(q, k, v, mask_mod=mod, **named))
    causal, *others = times_of(calls)
    for prefix, taken in zip(PREFIXES, others):
        # A prefix adds the pairs above the diagonal of its square.
        pairs = (length * (length + 1) + prefix * (prefix - 1)) / (length * (length + 1))
        print(
            f"16 x 4096 with a prefix of {prefix}: {1e3 * taken:.0f} us, causal "
            f"{1e3 * causal:.0f} ({taken / causal:.3f}, {pairs:.3f} times as many pairs: "
            f"{taken / causal / pairs:.3f})"
        )


def check_case(job):
    """In a worker: messages (kind, sentences)."""
    row, device = job
    torch.manual_seed(0)
    try:
        wrong = list(check(row, device, device == "cpu"))
    except UnsupportedError as error:
        yield "refused", [str(error)]
        return
    yield "failed" if wrong else "passed", wrong


def nothing():
    """What a worker needs before its first case on a CPU."""


def check_all(given, device, end):
    """How many cases of each kind."""
    rows = cover(AXES)[: given.rows]
    setup = nothing if given.cpu else kernels.setup
    pool = workers.Pool(given.workers, check_case, setup, timeout=120)
    pool.expect(len(rows))
    for row in rows:
        pool.give((row, device))
    counts = dict.fromkeys(("passed", "failed", "refused", "not run"), 0)
    for job, message in pool.run(end):
        if message is None:
            continue
        if isinstance(message, workers.Lost):
            kind = "not run" if "time is over" in message.reason else "failed"
            message = kind, [message.reason]
        kind, said = message
        counts[kind] += 1
        for one in said[:3] if kind != "not run" else ():
            print(f"{kind}: {job[0]}: {one}", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--rows", type=int, default=10000, help="cases, at most")
    parser.add_argument("--workers", type=int, default=6, help="processes on the GPU")
    parser.add_argument("--budget", type=float, default=0, metavar="S", help="seconds in all")
    given = parser.parse_args()
    device, start = "cpu" if given.cpu else "cuda", time.monotonic()
    counts = check_all(given, device, start + given.budget if given.budget else None)
    print(
        ", ".join(f"{kind} {count}" for kind, count in counts.items())
        + f", {time.monotonic() - start:.0f} s",
        flush=True,
    )
    if given.time and device == "cuda":
        measure()
    return (
        1 if counts["failed"] or counts["not run"] or (given.rows and not counts["passed"]) else 0
    )


if __name__ == "__main__":
    sys.exit(main())
