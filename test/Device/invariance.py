#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Batch invariance on a GPU: python test/Device/invariance.py [--batches 1000] [--time] [--cpu].

Batches are drawn by their numbers, and checked in --workers processes; when --budget seconds
are over the others are left out, which is said and makes the exit code 1.

* Random batches: 1 to 256 sequences of 1 to 32768 keys, of which the last few are
  queries (all, one, or some): packed, or in pages of 1 to 256 rows, in any order. Some
  sequences of each are computed alone, in another form (packed or pages of another
  size), at once, in two pieces, and the last token by itself; o and lse have to have the
  same bits. A sequence in another number of parts has to have others, else nothing is
  compared.
* With --time: speed of batch invariant calls over that of the free choice.

--cpu runs small problems in the interpreter.
"""

import argparse
import pathlib
import random
import sys
import time

import torch

try:
    import fa3
except ImportError:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import fa3  # noqa: F401
from fa3 import serving
from fa3_device import kernels, workers
from fa3_device.turns import times_of

#: Types, head dims, heads and what else a call has.
CASES = (
    (torch.bfloat16, 128, (32, 8), {}),
    (torch.bfloat16, 64, (64, 8), {"sinks": True, "window": (127, 0)}),
    (torch.float16, 256, (16, 8), {"softcap": 30.0}),
    (torch.bfloat16, 192, (8, 8), {}),
    (torch.bfloat16, 96, (12, 4), {"window": (1000, 0)}),
    (torch.float8_e4m3fn, 128, (32, 8), {}),
)  # fmt: skip
PARTS = (128, 512, 1024, 4096)
PAGES = (0, 1, 4, 16, 64, 128, 256)
MOST_BYTES = 2 << 30


class Batch:
    """Sequences by themselves, and attention to them in several forms."""

    def __init__(self, chance, device, lengths, queries, case, part):
        dtype, d, (heads, key_heads), named = case

        def rows(count, h):
            return torch.randn(count, h, d, device=device).to(dtype)

        self.chance, self.device, self.lengths, self.queries = chance, device, lengths, queries
        self.q = [rows(n, heads) for n in queries]
        self.k, self.v = ([rows(n, key_heads) for n in lengths] for _ in "kv")
        self.named = {"causal": True, "return_lse": True, "batch_invariant": part, **named}
        if named.get("sinks"):
            self.named["sinks"] = torch.randn(heads, device=device)
        if device == "cpu":
            self.named["interpret"] = True

    def run(self, numbers, page, ends=None, only=None, **named):
        """[(o, lse)] of queries [only[n]) of the first ends[n] keys of sequences."""
        ends = ends or {n: self.lengths[n] for n in numbers}
        only = only or {n: (0, self.queries[n]) for n in numbers}
        q = [self.q[n][slice(*only[n])] for n in numbers]
        counts, lengths = [one.shape[0] for one in q], [ends[n] for n in numbers]
        cu = self.starts(counts)
        given = {"cu_q": cu, "max_q": max(counts), "max_k": max(lengths)}
        if page:
            k, v, table = self.pages(numbers, ends, page)
            given |= {"page_table": table, "used_k": self.i32(lengths)}
        else:
            k, v = (torch.cat([one[n][: ends[n]] for n in numbers]) for one in (self.k, self.v))
            given["cu_k"] = self.starts(lengths)
        o, lse = serving.attention(torch.cat(q), k, v, **given, **{**self.named, **named})
        cut = [slice(*cu[n : n + 2].tolist()) for n in range(len(numbers))]
        return [(o[one], lse[:, one]) for one in cut]

    def pages(self, numbers, ends, page):
        widths = [-(-ends[n] // page) for n in numbers]
        table = torch.zeros(len(numbers), max(widths) + self.chance.randrange(9), dtype=torch.int32)
        order = torch.randperm(sum(widths)).to(torch.int32)
        first = 0
        for line, width in zip(table, widths):
            line[:width] = order[first : first + width]
            first += width
        made = []
        for given in (self.k, self.v):
            rows = given[0].new_zeros(sum(widths), page, *given[0].shape[1:])
            for line, width, n in zip(table.tolist(), widths, numbers):
                padded = given[n].new_zeros(width * page, *given[n].shape[1:])
                padded[: ends[n]] = given[n][: ends[n]]
                rows[line[:width]] = padded.view(width, page, *given[n].shape[1:])
            made.append(rows)
        return *made, table.to(self.device)

    def i32(self, values):
        return torch.tensor(values, dtype=torch.int32, device=self.device)

    def starts(self, counts):
        return self.i32([sum(counts[:n]) for n in range(len(counts) + 1)])


def make(chance, device, most, sequences, total):
    """A random batch and the form that it has."""
    dtype, d, heads, named = case = chance.choice(CASES)
    if device == "cpu":
        case = dtype, 64, (4, 2), named
    count = min(chance.choice((1, 2, 3, 8, 64, 256)), sequences)
    lengths = []
    for _ in range(count):
        length = chance.choice((chance.randint(1, most), chance.randint(1, 300), 1))
        if sum(lengths) + length > total:
            break
        lengths.append(length)
    lengths = lengths or [min(total, most)]
    queries = [
        chance.choice((1, min(n, chance.randint(1, 16)), min(n, 8192) if len(lengths) < 9 else 1))
        for n in lengths
    ]
    part = chance.choice(PARTS[: 2 if device == "cpu" else None])
    # Partial results take no more than MOST_BYTES.
    rows = MOST_BYTES // (-(-max(lengths) // part) * heads[0] * d * 4 * len(lengths))
    queries = [min(n, max(rows, 1)) for n in queries]
    return Batch(chance, device, lengths, queries, case, part), case


def differ(one, other):
    return sum(
        int((x.contiguous().view(torch.uint8) != y.contiguous().view(torch.uint8)).sum())
        for x, y in zip(one, other)
    )


def check(chance, batch, alone):
    """How many comparisons of a batch there were, and the differences."""
    numbers = list(range(len(batch.lengths)))
    form, other = chance.choice(PAGES), chance.choice(PAGES)
    whole = batch.run(numbers, form)
    checked, wrong = 0, []
    for n in chance.sample(numbers, min(alone, len(numbers))):
        rows, keys = batch.queries[n], batch.lengths[n]
        half = chance.randint(0, rows - 1)
        for first, end in {(0, rows), (0, half), (half, rows), (rows - 1, rows)}:
            if first == end:
                continue
            ends = {n: keys - rows + end}
            made = batch.run([n], other, ends, {n: (first, end)})[0]
            expected = whole[n][0][first:end], whole[n][1][:, first:end]
            checked += 1
            if differ(made, expected):
                wrong.append(f"rows {first} to {end} of {rows}, {keys} keys, pages {form}, {other}")
    return checked, wrong


def check_comparison(chance, device, most):
    """Whether another number of parts gives other bits, as it has to."""
    case = (torch.float16, 64, (4, 2), {})
    batch = Batch(chance, device, [most, 5], [1, 1], case, False)
    whole = batch.run([0, 1], 0, splits=1)
    return differ(batch.run([0], 64, splits=5)[0], whole[0]) > 0


#: Name, lengths, queries of each, rows of a page.
TIMES = (
    ("decode 8 x 32768", [32768] * 8, [1] * 8, 64), ("decode 32 x 4096", [4096] * 32, [1] * 32, 64),
    ("decode 1 x 131072", [131072], [1], 64), ("decode 1 x 8192", [8192], [1], 64),
    ("decode 1 x 2048", [2048], [1], 64),
    ("mixed: 2 prompts of 2048, 62 steps", [2048] * 2 + [4096] * 62, [2048] * 2 + [1] * 62, 64),
    ("varlen 16 x 4096", [4096] * 16, [4096] * 16, 0),
    ("varlen 64 x 1024", [1024] * 64, [1024] * 64, 0),
    ("varlen 24 of 128 to 8192", [128 + 350 * n for n in range(24)],
     [128 + 350 * n for n in range(24)], 0),
)  # fmt: skip


def measure(parts):
    for name, lengths, queries, page in TIMES:
        batch = Batch(random.Random(0), "cuda", lengths, queries, CASES[0], False)
        numbers = list(range(len(lengths)))
        real, calls = serving.attention, []

        def record(*args, real=real, calls=calls, **named):
            calls.append((args, named))
            return real(*args, **named)

        serving.attention = record
        batch.run(numbers, page)
        serving.attention = real
        args, named = calls[0]
        free, *others = times_of([
            lambda args=args, named=named, part=part, real=real: real(
                *args, **{**named, "batch_invariant": part}
            )
            for part in (False, *parts)
        ])  # fmt: skip
        line = [f"{name}: free {1e3 * free:.1f} us"]
        for part, taken in zip(parts, others):
            line.append(f"{part}: {1e3 * taken:.1f} us ({free / taken:.3f} of its speed)")
        print(", ".join(line), flush=True)


def check_batch(job):
    """In a worker: messages (number of the batch, comparisons, sentences)."""
    number, seed, device = job
    chance = random.Random(f"{seed} {number}")
    torch.manual_seed(chance.getrandbits(32))
    most, sequences, total = (400, 4, 700) if device == "cpu" else (32768, 256, 300000)
    batch, case = make(chance, device, most, sequences, total)
    count, wrong = check(chance, batch, 2 if device == "cpu" else 8)
    part = batch.named["batch_invariant"]
    yield number, count, [f"{case}, part {part}: {one}" for one in wrong]
    if device == "cuda":
        del batch
        torch.cuda.empty_cache()


def nothing():
    """What a worker needs before its first batch on a CPU."""


def check_all(given, device, end):
    """Numbers of batches, comparisons, and failures."""
    setup = nothing if given.cpu else kernels.setup
    pool = workers.Pool(given.workers, check_batch, setup, timeout=120)
    pool.expect(given.batches)
    for number in range(given.batches):
        pool.give((number, given.seed, device))
    done = checked = failed = 0
    for job, message in pool.run(end):
        if message is None:
            continue
        if isinstance(message, workers.Lost):
            if "time is over" in message.reason:
                continue
            message = job[0], 0, [message.reason]
        number, count, wrong = message
        done, checked, failed = done + 1, checked + count, failed + len(wrong)
        for one in wrong[:3]:
            print(f"batch {number}, {one}", flush=True)
    return done, checked, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--workers", type=int, default=6, help="processes on the GPU")
    parser.add_argument("--budget", type=float, default=0, metavar="S", help="seconds in all")
    parser.add_argument("--parts", type=int, nargs="+", default=(1024, 4096, 8192))
    given = parser.parse_args()
    device, start = "cpu" if given.cpu else "cuda", time.monotonic()
    end = start + given.budget if given.budget else None
    done, checked, failed = check_all(given, device, end)
    if not check_comparison(random.Random(0), device, 1600 if given.cpu else 1 << 17):
        failed += 1
        print("another number of parts gives the same bits: nothing was compared")
    print(
        f"batches {done} of {given.batches}, comparisons {checked}, failed {failed}, "
        f"{time.monotonic() - start:.0f} s",
        flush=True,
    )
    if given.time and not given.cpu:
        measure(given.parts)
    return 1 if failed or done < given.batches else 0


if __name__ == "__main__":
    sys.exit(main())
