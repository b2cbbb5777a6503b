# SPDX-License-Identifier: Apache-2.0
"""Mask and score code of packed, padded and paged sequences, with tables of each request:
values in the interpreter against torch."""

import itertools
import unittest
from unittest import mock

import support
from sequences import i32, one_sequence, starts

if support.HAS_TORCH:
    import torch

    from fa3 import masks, serving
    from fa3.calls import launch
    from fa3.errors import ArgumentError, ArgumentTypeError, UnsupportedError

LENGTHS = (90, 41, 64)


class Requests:
    """Sequences whose last queries are asked for: packed, padded or in pages."""

    def __init__(self, queries, lengths=LENGTHS, heads=(4, 2), dim=64, dtype=None, cache=None):
        def random(n, h, dtype):
            return torch.randn(n, h, dim).to(dtype or torch.float16)

        self.queries, self.lengths = queries, lengths
        self.q = [random(n, heads[0], dtype) for n in queries]
        self.k, self.v = ([random(n, heads[1], cache or dtype) for n in lengths] for _ in "kv")
        self.door = serving.attention
        self.first = i32(*(k - q for q, k in zip(queries, lengths)))

    def run(self, form, **named):
        """[(o, lse)] of the sequences."""
        used, rows = i32(*self.lengths), i32(*self.queries)
        given = {"return_lse": True, "interpret": True, "used_k": used, **named}
        if form == "packed":
            q, k, v = map(torch.cat, (self.q, self.k, self.v))
            del given["used_k"]
            given |= {"cu_k": starts(self.lengths), "max_k": max(self.lengths)}
        else:
            q = torch.cat(self.q)
            k, v, given["page_table"] = self.pages(form)
        if form == "packed" or self.q[0].dtype == self.k[0].dtype:
            cu = starts(self.queries)
            o, lse = self.door(q, k, v, cu_q=cu, max_q=max(self.queries), **given)
            cut = [slice(*cu[n : n + 2].tolist()) for n in range(len(self.queries))]
            return [(o[one], lse[:, one]) for one in cut]
        padded = self.q[0].new_zeros(len(self.q), max(self.queries), *self.q[0].shape[1:])
        for line, one in zip(padded, self.q):
            line[: one.shape[0]] = one
        o, lse = self.door(padded, k, v, used_q=rows, **given)
        return [(x[:n], y[:, :n]) for x, y, n in zip(o, lse, self.queries)]

    def pages(self, page):
        width = -(-max(self.lengths) // page)
        order = torch.randperm(len(self.lengths) * width + 1)[:-1].reshape(-1, width)
        made = []
        for given in (self.k, self.v):
            pages = torch.full((order.numel() + 1, page, *given[0].shape[1:]), float("nan"))
            pages = pages.to(given[0].dtype)
            for line, one in zip(order, given):
                for j in range(0, one.shape[0], page):
                    rows = one[j : j + page]
                    pages[line[j // page], : rows.shape[0]] = rows
            made.append(pages)
        return *made, order.to(torch.int32)


@support.needs_torch
@support.needs_interpreter
class ServingModsTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, given, seen, forms=("packed", 16), tolerance=3e-3, sinks=None,
              scores=None, causal=False, window=(-1, -1), **named):  # fmt: skip
        """Against torch; `seen` has a boolean array (queries, keys) for each sequence."""
        for form in forms:
            more = {"sinks": sinks, "causal": causal, **named}
            if window != (-1, -1):
                more["window"] = window
            made = given.run(form, **more)
            for n, (o, lse) in enumerate(made):
                expected = one_sequence(
                    given.q[n], given.k[n].to(given.q[n].dtype), given.v[n].to(given.q[n].dtype),
                    mask=seen[n] if seen else None, sinks=sinks, causal=causal, window=window,
                    scores=scores[n] if scores else None,
                )  # fmt: skip
                for one, other in zip((o, lse), expected):
                    torch.testing.assert_close(
                        one.float(), other, atol=tolerance, rtol=tolerance,
                        msg=lambda text, form=form, n=n: f"{form}, sequence {n}: {text}",
                    )  # fmt: skip

    def trees(self, given):
        most = max(given.queries)
        mask = torch.rand(len(given.queries), most, most) < 0.5
        mask |= torch.eye(most, dtype=torch.bool)
        seen = []
        for one, rows, keys in zip(mask, given.queries, given.lengths):
            full = torch.ones(rows, keys, dtype=torch.bool)
            full[:, keys - rows :] = one[:rows, :rows]
            seen.append(full)
        return mask, seen

    def test_longer_tables(self):
        """A launch compares the extents of tables with those of q and k."""
        q, cache = torch.randn(2, 3, 4, 64).half(), torch.randn(2, 74, 2, 64).half()
        rows, keys, used = torch.rand(50) < 0.5, torch.rand(90) < 0.5, i32(65, 5)

        def attend(first, second, stage):
            return serving.attention(
                q, cache, cache, used_k=used, used_q=i32(3, 2), interpret=stage,
                mask_mod=lambda b, h, i, j: first[i] | second[j],
            )  # fmt: skip

        expected = attend(rows[:3].clone(), keys[:74].clone(), "tile")
        for stage in ("tile", "ptx"):
            for n, length in enumerate((3, 2)):  # rows behind are not written
                torch.testing.assert_close(
                    attend(rows, keys, stage)[n, :length], expected[n, :length], rtol=0, atol=4e-3
                )

    def test_short_tables_of_padded_keys(self):
        """A table has an element for every row of the cache, also for those that do not
        count: it is refused by its name, not by that of an argument of a kernel."""
        q, cache = torch.randn(2, 3, 4, 64).half(), torch.randn(2, 74, 2, 64).half()
        documents, used = torch.arange(74) % 3, i32(65, 5)

        def mask(table):
            return lambda b, h, q, kv: table[kv] == 1

        for short in (documents[:65], documents[:73]):
            with self.assertRaisesRegex(
                ArgumentError, "'table': .* elements of dimension 0 are read at 74 indices"
            ):
                serving.attention(
                    q, cache, cache, used_k=used, mask_mod=mask(short), interpret=True
                )
        made = serving.attention(
            q, cache, cache, used_k=used, mask_mod=mask(documents), interpret=True
        )
        for n, length in enumerate((65, 5)):
            keys = cache[n, :length].transpose(0, 1).float().repeat_interleave(2, 0)
            scores = q[n].transpose(0, 1).float() @ keys.mT / 8
            scores.masked_fill_(documents[:length] != 1, float("-inf"))
            expected = (scores.softmax(-1) @ keys).transpose(0, 1)
            self.assertLess((made[n].float() - expected).abs().max(), 4e-3)

    def test_trees(self):
        """Beside pages, splits, sinks, windows, caches of 8 bits, batch invariance."""
        for named in (
            {}, {"splits": 3}, {"sinks": torch.randn(4)}, {"sinks": torch.randn(4), "splits": 2},
            {"window": (50, 0)}, {"causal": True}, {"batch_invariant": 128},
        ):  # fmt: skip
            with self.subTest(named):
                given = Requests((7, 3, 7))
                mask, seen = self.trees(given)
                mod = masks.tree(masks.pack_tree(mask), given.first)
                self.check(given, seen, ("packed", 16, 128), mask_mod=mod, **named)

    def test_trees_on_caches_of_8_bits(self):
        small = torch.float8_e4m3fn
        for dtype, tolerance in ((small, 8e-2), (torch.bfloat16, 2e-2)):
            for splits in (1, 3):
                with self.subTest(f"{dtype} {splits}"):
                    given = Requests((7, 7, 7), dtype=dtype, cache=small)
                    mask, seen = self.trees(given)
                    mod = masks.tree(masks.pack_tree(mask), given.first)
                    self.check(given, seen, (16, 64), tolerance, mask_mod=mod, splits=splits)

    def test_large_trees(self):
        """More drafts than a word has bits, the highest bit among them."""
        given = Requests((70, 33), (130, 60))
        mask, seen = self.trees(given)
        bits = masks.pack_tree(mask)
        self.assertEqual(tuple(bits.shape), (2, 70, 3))
        self.assertTrue(bool((bits < 0).any()))
        self.check(given, seen, mask_mod=masks.tree(bits, given.first))

    def test_packed_bits(self):
        given = Requests((7, 3, 20))
        seen = [torch.rand(r, n) < 0.5 for r, n in zip(given.queries, given.lengths)]
        for one in seen:
            one[:, 0] = True
        packed, at = [], [0]
        for one in seen:
            flat = torch.nn.functional.pad(one.flatten().int(), (0, -one.numel() % 8))
            packed.append((flat.view(-1, 8) << torch.arange(8)).sum(-1).to(torch.uint8))
            at.append(at[-1] + packed[-1].numel())
        mod = masks.packed_bits(torch.cat(packed), i32(*at[:-1]), i32(*given.lengths))
        for splits in (1, 2):
            self.check(given, seen, mask_mod=mod, splits=splits)

    def test_masks(self):
        given = Requests((40, 41, 5))
        first = masks.keys_in_front(starts(given.queries), i32(*given.lengths))
        self.assertEqual(first.tolist(), given.first.tolist())
        places = [
            (torch.arange(r)[:, None] + n - r, torch.arange(n)[None])
            for r, n in zip(given.queries, given.lengths)
        ]
        lengths, flags = i32(60, 0, 64), i32(1, 0, 1)
        begin, end = i32(50, 60, 3, 9, 0, 0).view(3, 2), i32(58, 80, 9, 20, 0, 0).view(3, 2)

        def ranges(n, row, key):
            seen = key <= row
            for a, b in zip(begin[n].tolist(), end[n].tolist()):
                seen = seen | (row >= a) & (row < b) & (key >= a) & (key < b)
            return seen

        for name, mod, seen in (
            ("prefix", masks.prefix(lengths, first),
             lambda n, row, key: (key <= row) | (key < lengths[n])),
            ("ranges", masks.ranges(begin, end, first), ranges),
            ("blocks", masks.block_causal(16, first),
             lambda n, row, key: key // 16 <= row // 16),
            ("causal", masks.causal_where(flags, first),
             lambda n, row, key: (key <= row) | (flags[n] == 0)),
            ("both", masks.both(masks.prefix(lengths, first), masks.block_causal(8, first)),
             lambda n, row, key: ((key <= row) | (key < lengths[n])) & (key // 8 <= row // 8)),
        ):  # fmt: skip
            with self.subTest(name):
                arrays = [seen(n, *one) for n, one in enumerate(places)]
                self.check(given, arrays, mask_mod=mod)
                self.check(given, arrays, (64,), mask_mod=mod, splits=2, sinks=torch.randn(4))

    def test_scores(self):
        """A slope for every sequence and head, and a number of the call."""
        given = Requests((5, 1, 9))
        slopes, cap = torch.rand(3, 4), 2.0
        first = given.first

        def score_mod(score, b, h, q, kv):
            return cap * torch.tanh(score / cap) - slopes[b, h] * (q + first[b] - kv).abs()

        def expected(n):
            def change(s):
                row = torch.arange(s.shape[1])[:, None] + int(first[n])
                away = (row - torch.arange(s.shape[2])).abs()
                return cap * torch.tanh(s / cap) - slopes[n][:, None, None] * away

            return change

        self.check(
            given, None, scores=[expected(n) for n in range(3)], score_mod=score_mod,
            causal=True,
        )  # fmt: skip

    def test_gates(self):
        for queries in ((3, 1, 4), (40, 1, 64)):
            requests = Requests(queries)
            cu, rows = starts(queries), sum(queries)
            gate = torch.randn(rows, 4, 64).half()

            def gated(x, b, h, i, c):
                return x * torch.sigmoid(gate[cu[b] + i, h, c])

            for form, named in (("packed", {}), (32, {"splits": 3}), (64, {"pack_heads": True})):
                with self.subTest(queries=queries, form=form):
                    plain = requests.run(form, **named)
                    made = requests.run(form, epilogue=gated, **named)
                    place = 0
                    for (o, lse), (before, same) in zip(made, plain):
                        own = gate[place : place + o.shape[0]].float()
                        place += o.shape[0]
                        expected = before.float() * torch.sigmoid(own)
                        self.assertLess((o.float() - expected).abs().max().item(), 2e-3)
                        self.assertTrue(torch.equal(lse, same))

    def test_new_keys(self):
        """Behind the cache, in front of a mask that sees them."""
        given = Requests((6, 6), (50, 41))
        mask, seen = self.trees(given)
        k, v, table = given.pages(16)
        old = given.first
        new = [torch.stack([one[n][-6:] for n in range(2)]) for one in (given.k, given.v)]
        for n, length in enumerate(given.lengths):
            for j in range(length - 6, length):
                k[table[n, j // 16], j % 16] = v[table[n, j // 16], j % 16] = float("nan")
        o = serving.attention(
            torch.stack(given.q), k, v, page_table=table, used_k=old, k_new=new[0],
            v_new=new[1], mask_mod=masks.tree(masks.pack_tree(mask), old), interpret=True,
        )  # fmt: skip
        for n in range(2):
            expected, _ = one_sequence(given.q[n], given.k[n], given.v[n], mask=seen[n])
            torch.testing.assert_close(o[n].float(), expected, atol=3e-3, rtol=3e-3)

    def test_tables_end(self):
        """What lies outside of a table reads 0, at every stage: keys of pages have more
        places than it."""
        given = Requests((3, 1))
        given.lengths = LENGTHS[:2]
        given.k, given.v = ([x[:n] for x, n in zip(one, LENGTHS)] for one in (given.k, given.v))
        table = torch.rand(2, 50) < 0.5
        table[:, 0] = True
        seen = [
            torch.nn.functional.pad(table[n], (0, 90))[:length].expand(rows, length)
            for n, (rows, length) in enumerate(zip(given.queries, given.lengths))
        ]
        mod = lambda b, h, q, kv: table[b, kv]  # noqa: E731
        for stage in (True, "layout"):
            self.check(given, seen, (16, 64), mask_mod=mod, interpret=stage)

    def test_one_kernel(self):
        """Serves other numbers and other tables."""
        made = []
        real = serving.eager.ServingSpec

        def spec(*args, **named):
            made.append(real(*args, **named))
            return made[-1]

        given = Requests((5, 5, 5))
        with mock.patch.object(serving.eager, "ServingSpec", spec):
            for limit, rows in itertools.product((5, 9), (3, 4)):
                table = torch.ones(rows, dtype=torch.int32)
                given.run(16, mask_mod=lambda b, h, q, kv, n=limit, t=table: kv < n * t[b])
        self.assertEqual(len(set(made)), 1)
        self.assertIn("arg0", made[0].inputs)

    def test_refusals(self):
        given = Requests((5, 5, 5))
        table = torch.ones(3, 5, 100, dtype=torch.bool)
        by_query = lambda b, h, q, kv: table[b, q, kv]  # noqa: E731
        short = lambda b, h, q, kv: table[:2][b, q, kv]  # noqa: E731
        few = lambda b, h, q, kv: table[:, :4][b, q, kv]  # noqa: E731
        for error, text, named in (
            (UnsupportedError, "pack_heads: tables of mods", {"pack_heads": True}),
            (ArgumentError, "2 elements of dimension 0 are read at 3", {"mask_mod": short}),
            (ArgumentError, "4 elements of dimension 1 are read at 5", {"mask_mod": few}),
        ):  # fmt: skip
            with self.subTest(text), self.assertRaisesRegex(error, text):
                given.run(16, **{"mask_mod": by_query, **named})
        with self.assertRaisesRegex(UnsupportedError, "mask_mod of a call that is recorded"):
            torch.fx.experimental.proxy_tensor.make_fx(
                lambda q: serving.attention(q, q, q, mask_mod=by_query)
            )(torch.zeros(3, 5, 4, 64).half())
        first = given.first
        for call, text in (
            (lambda: masks.tree(table, first), "bool of rank 3, expected int32"),
            (lambda: masks.prefix(first.long(), first), "int64 of rank 1"),
            (lambda: masks.block_causal(0, first), "0, expected at least 1"),
            (lambda: masks.packed_bits(table[0, 0], first, first), "bool, rank 1"),
            (lambda: masks.ranges(first[:, None], first[:2, None], first), "shape .2, 1."),
            (lambda: masks.keys_in_front(first[:1], first), "shape .1,., expected .3"),
        ):  # fmt: skip
            with (
                self.subTest(text),
                self.assertRaisesRegex((ArgumentError, ArgumentTypeError), text),
            ):
                call()

    def test_compiled(self):
        """torch.compile breaks the graph, and the mask is obeyed."""
        given = Requests((5, 5, 5))
        mask, seen = self.trees(given)
        mod = masks.tree(masks.pack_tree(mask), given.first)
        given.door = torch.compile(serving.attention, backend="eager")
        self.check(given, seen, (16,), mask_mod=mod)

    @support.needs_driver
    def test_launches(self):
        """Tables of mods have other extents than the page table."""
        fake = support.fake_driver()
        given = Requests((5, 5, 5), dtype=torch.bfloat16)
        ends = i32(50, 60, 3, 9, 0, 0).view(3, 2)
        mod = masks.ranges(ends, ends + 5, given.first)
        with (
            support.fake_gpu(),
            mock.patch.object(serving.call, "_sms", lambda _: 132),
            mock.patch.object(torch.cuda, "device", lambda _: mock.MagicMock()),
        ):
            before = fake.fakeCudaNumLaunches()
            given.run(16, mask_mod=mod, interpret=False, splits=1)
            self.assertEqual(fake.fakeCudaNumLaunches() - before, 1)
            launch.plans.clear()


if __name__ == "__main__":
    unittest.main()
