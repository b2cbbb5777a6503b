# SPDX-License-Identifier: Apache-2.0
"""Batch invariance: bits of a sequence alone, in batches, in pages, in pieces and token
by token, in the interpreter."""

import unittest

import support
from sequences import i32, one_sequence, starts

if support.HAS_TORCH:
    import torch

    from fa3 import serving
    from fa3.kernels import invariance
    from fa3.errors import ArgumentError, UnsupportedError
    from fa3.kernels.spec import Spec

PART = 128


class Sequences:
    """Sequences of q, k and v, and attention to some of their rows, in several forms.
    Queries are the last ones of the keys that there are."""

    def __init__(self, lengths, heads=(4, 2), dim=64, dtype=None, stage=True, **named):
        dtype = dtype or torch.float16

        def random(*shape):
            made = torch.randn(*shape)
            return made.to(dtype)

        self.lengths, self.stage = lengths, stage
        self.named = {"batch_invariant": PART, "causal": True, **named}
        self.q = [random(n, heads[0], dim) for n in lengths]
        self.k, self.v = ([random(n, heads[1], dim) for n in lengths] for _ in "kv")

    def run(self, q, k, v, **named):
        o, lse = serving.attention(
            q, k, v, return_lse=True, interpret=self.stage, **{**self.named, **named}
        )
        return o, lse

    def packed(self, numbers, first=None, end=None):
        """o and lse of rows [first, end) of each of some sequences, one behind the other."""
        rows = {n: slice(first or 0, end or self.lengths[n]) for n in numbers}
        q = [self.q[n][rows[n]] for n in numbers]
        k, v = ([one[n][: rows[n].stop] for n in numbers] for one in (self.k, self.v))
        cu_q, cu_k = (starts([x.shape[0] for x in one]) for one in (q, k))
        o, lse = self.run(
            *map(torch.cat, (q, k, v)), cu_q=cu_q, cu_k=cu_k,
            max_q=max(x.shape[0] for x in q), max_k=max(x.shape[0] for x in k),
        )  # fmt: skip
        cut = [slice(*cu_q[n : n + 2].tolist()) for n in range(len(numbers))]
        return [o[one] for one in cut], [lse[:, one] for one in cut]

    def paged(self, numbers, first, page, spare=0, **named):
        """Rows from `first[n]` on, padded, of keys in pages in any order."""
        most = max(self.lengths[n] for n in numbers)
        width = -(-most // page) + spare
        order = torch.randperm(len(numbers) * width + 1)[: len(numbers) * width]
        table = order.reshape(len(numbers), width).to(torch.int32)
        caches = []
        for given in (self.k, self.v):
            pages = torch.full(
                (len(numbers) * width + 1, page, *given[0].shape[1:]), float("nan")
            ).to(given[0].dtype)
            for line, n in zip(table, numbers):
                for j in range(0, self.lengths[n], page):
                    rows = given[n][j : j + page]
                    pages[line[j // page], : rows.shape[0]] = rows
            caches.append(pages)
        rows = [self.lengths[n] - at for n, at in zip(numbers, first)]
        q = torch.zeros(len(numbers), max(rows), *self.q[0].shape[1:], dtype=self.q[0].dtype)
        for line, n, at, count in zip(q, numbers, first, rows):
            line[:count] = self.q[n][at : at + count]
        used = i32(*(self.lengths[n] for n in numbers))
        o, lse = self.run(
            q, *caches, page_table=table, used_k=used, used_q=i32(*rows), **named
        )
        return (
            [one[:count] for one, count in zip(o, rows)],
            [one[:, :count] for one, count in zip(lse, rows)],
        )


@support.needs_torch
@support.needs_interpreter
class InvarianceTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def same(self, made, expected, what):
        for name, one, other in zip(("o", "lse"), made, expected):
            one, other = (
                x.contiguous().view(torch.int16 if x.element_size() == 2 else torch.int32)
                for x in (one, other)
            )
            differ = int((one != other).sum())
            self.assertEqual(differ, 0, f"{what}: {differ} of {one.numel()} bits of {name}")

    def check_batches(self, given):
        """Of a batch, alone, in pages; gives the batch."""
        numbers = list(range(len(given.lengths)))
        whole = list(zip(*given.packed(numbers)))
        for n in numbers:
            alone = [one[0] for one in given.packed([n])]
            self.same(alone, whole[n], f"sequence {n} alone")
        again = zip(*given.packed(numbers[::-1]))
        for n, made in zip(numbers[::-1], again):
            self.same(made, whole[n], f"sequence {n} in another batch")
        for page, spare in ((16, 0), (128, 5)):
            made = zip(*given.paged(numbers, [0] * len(numbers), page, spare))
            for n, one in zip(numbers, made):
                self.same(one, whole[n], f"sequence {n} in pages of {page}")
        return whole

    def check_pieces(self, given, whole):
        o, lse = whole[0]
        end = given.lengths[0]
        for first, last in ((0, 100), (100, 101), (101, end)):
            made = [one[0] for one in given.packed([0], first, last)]
            expected = o[first:last], lse[:, first:last]
            self.same(made, expected, f"rows {first} to {last}")
        for row in (0, PART - 1, PART, 2 * PART):
            made = [one[0] for one in given.packed([0], row, row + 1)]
            self.same(made, (o[row : row + 1], lse[:, row : row + 1]), f"token {row}")
        # The last token, among others, in pages.
        numbers = list(range(len(given.lengths)))
        first = [n - 1 for n in given.lengths]
        for n, made in zip(numbers, zip(*given.paged(numbers, first, 64, spare=2))):
            expected = whole[n][0][-1:], whole[n][1][:, -1:]
            self.same(made, expected, f"last token of sequence {n}")

    def test_bits(self):
        for named in (
            {}, {"window": (70, 0)}, {"softcap": 3.0, "dtype": torch.bfloat16},
            {"chunk": 96}, {"heads": (6, 2), "dim": 40}, {"dim": 192},
        ):  # fmt: skip
            with self.subTest(named):
                given = Sequences((300, 17, 130), **named)
                self.check_pieces(given, self.check_batches(given))

    def test_values(self):
        given = Sequences((300, 17))
        o, lse = given.packed([0, 1])
        for n in (0, 1):
            expected = one_sequence(given.q[n], given.k[n], given.v[n], causal=True)
            torch.testing.assert_close(o[n].float(), expected[0], atol=3e-3, rtol=3e-3)
            torch.testing.assert_close(lse[n], expected[1], atol=1e-3, rtol=1e-3)

    def test_sinks_of_one_part(self):
        """In the kernel, and where a wide table makes it several parts."""
        for sinks in (torch.randn(4), torch.full((4,), float("-inf")), torch.full((4,), 90.0)):
            given = Sequences((120, 17), sinks=sinks, window=(30, 0), softcap=5.0)
            numbers, first = [0, 1], [0, 0]
            whole = list(zip(*given.packed(numbers)))
            for spare in (0, 9):
                made = zip(*given.paged(numbers, first, 64, spare))
                for n, one in zip(numbers, made):
                    self.same(one, whole[n], f"sequence {n}, {spare} more pages")
            for n in numbers:
                expected = one_sequence(
                    given.q[n], given.k[n], given.v[n], causal=True, window=(30, 0),
                    softcap=5.0, sinks=sinks,
                )  # fmt: skip
                for one, other in zip(whole[n], expected):
                    torch.testing.assert_close(one.float(), other, atol=3e-3, rtol=3e-3)

    def test_sinks(self):
        given = Sequences((300, 17, 130), sinks=torch.randn(4))
        self.check_pieces(given, self.check_batches(given))

    def test_float8(self):
        given = Sequences((300, 17, 130), dtype=torch.float8_e4m3fn)
        numbers = [0, 1, 2]
        whole = list(zip(*given.packed(numbers)))
        for n in numbers:
            self.same([one[0] for one in given.packed([n])], whole[n], f"sequence {n} alone")
        self.check_pieces(given, whole)

    def test_steps_of_a_wide_cache(self):
        """Room for more parts than there are keys changes no bit."""
        given = Sequences((130, 5))
        made = [given.paged([0, 1], [129, 4], 128, spare) for spare in (0, 1, 6, 14)]
        bound = given.paged([0, 1], [129, 4], 128, 14, max_k=130)
        for one in (*made[1:], bound):
            for n in (0, 1):
                self.same(
                    [x[n] for x in one], [x[n] for x in made[0]], f"sequence {n}"
                )

    def test_lower_stages(self):
        given = Sequences((140, 9), stage="layout")
        whole = list(zip(*given.packed([0, 1])))
        self.same([one[0] for one in given.packed([0])], whole[0], "alone")
        for row in (100, PART, 139):
            made = [one[0] for one in given.packed([0], row, row + 1)]
            expected = whole[0][0][row : row + 1], whole[0][1][:, row : row + 1]
            self.same(made, expected, f"token {row}")

    def test_without(self):
        """The free choice has other bits: what is compared above can differ."""
        given = Sequences((300, 17, 130), batch_invariant=False)
        whole = given.packed([0, 1, 2])
        last = given.paged([0], [299], 64, spare=20)
        self.assertFalse(torch.equal(last[1][0], whole[1][0][:, -1:]))

    def test_setting(self):
        invariance.set_batch_invariant(PART)
        self.addCleanup(invariance.set_batch_invariant, False)
        self.assertEqual(invariance.part_keys(None), PART)
        self.assertEqual(invariance.part_keys(False), 0)
        self.assertEqual(invariance.part_keys(True), invariance.PART)
        given = Sequences((300, 5), batch_invariant=None)
        whole = given.packed([0, 1])
        last = given.paged([0], [299], 64, spare=20)
        self.same(
            [one[0] for one in last], (whole[0][0][-1:], whole[1][0][:, -1:]), "the setting"
        )

    def test_parts(self):
        self.assertEqual(invariance.count_parts(128, 0), 0)
        self.assertEqual(invariance.count_parts(128, 128), 0)
        self.assertEqual(invariance.count_parts(128, 129), 2)
        spec = Spec("bf16", "bf16", "bf16", "bf16", 128, 128)
        self.assertEqual(invariance.options(spec, 256)["part_keys"], 256)

    def test_refusals(self):
        q, k = torch.zeros(1, 1, 4, 64).half(), torch.zeros(1, 300, 2, 64).half()
        used = i32(200)
        new = torch.zeros(1, 1, 2, 64)
        tables = torch.zeros(400, 32)
        small = torch.float8_e4m3fn
        for error, text, given, named in (
            (ArgumentError, "3 parts with batch_invariant", (q, k, k), {"splits": 3}),
            (ArgumentError, "100, expected True", (q, k, k), {"batch_invariant": 100}),
            (ArgumentError, "-128, expected True", (q, k, k), {"batch_invariant": -128}),
            (UnsupportedError, "queries of f16 with keys of f8E4M3FN",
             (q, k.to(small), k.to(small)), {}),
            (UnsupportedError, "rotary_cos", (q, k, k),
             {"k_new": new.half(), "v_new": new.half(), "rotary_cos": tables,
              "rotary_sin": tables}),
            (ArgumentError, "'max_k': None", (q[0], k[0], k[0]),
             {"cu_q": i32(0, 1), "cu_k": i32(0, 300), "max_q": 1, "used_k": None}),
        ):  # fmt: skip
            with self.subTest(text), self.assertRaisesRegex(error, text):
                serving.attention(
                    *given, interpret=True,
                    **{"used_k": used, "batch_invariant": True, "causal": True, **named},
                )  # fmt: skip
        with self.assertRaisesRegex(UnsupportedError, "new keys for a cache of f8E4M3FN"):
            serving.attention(
                q.to(small), k.to(small), k.to(small), used_k=used, interpret=True,
                k_new=new.half(), v_new=new.half(), batch_invariant=True,
            )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
