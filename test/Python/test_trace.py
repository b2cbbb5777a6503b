# SPDX-License-Identifier: Apache-2.0
"""Tracing of score_mod and mask_mod; needs torch, no compiler."""

import functools
import math
import pathlib
import unittest
from unittest import mock

import support

from fa3.mods import trace
from fa3.mods.scalars import graph
from fa3.errors import TraceError

if support.HAS_TORCH:
    import torch

HERE = pathlib.Path(__file__).name
LIMIT = 7  # a global of the mods below


def score(mod):
    return trace.trace_mods(mod, None)


def mask(mod):
    return trace.trace_mods(None, mod)


def line_of(text):
    lines = pathlib.Path(__file__).read_text().splitlines()
    return 1 + next(n for n, line in enumerate(lines) if line.endswith(text))


class PlainTest(unittest.TestCase):
    """Mods that need no torch."""

    def test_causal(self):
        text = mask(lambda b, h, q, kv: q >= kv).regions.mask
        self.assertEqual(
            [line.strip() for line in text.splitlines()],
            ["%0 = arith.cmpi sge, %i, %j : index", "attention.yield %0 : i1"],
        )

    def test_equal_expressions_are_one(self):
        text = score(lambda s, b, h, q, kv: s + (q - kv) * (q - kv)).regions.score
        self.assertEqual(text.count("arith.subi"), 1)

    def test_floor_of_what_may_be_negative(self):
        text = mask(lambda b, h, q, kv: (q - kv) // 4 == (q + kv) // 4).regions.mask
        self.assertIn("arith.floordivsi %0", text)
        self.assertIn("arith.divsi", text)

    def test_captured_numbers_are_arguments(self):
        def window(size):
            return lambda b, h, q, kv: q - kv <= size

        first, second = mask(window(5)), mask(window(6))
        self.assertEqual(first.regions, second.regions)
        self.assertEqual(first.regions.scalars, ("i32",))
        self.assertEqual((first.scalars, second.scalars), ((5,), (6,)))
        self.assertIn("%arg0 : i32 to index", first.regions.mask)

    def test_divisors_are_constants(self):
        def blocks(size):
            return lambda b, h, q, kv: q // size == kv // size

        first, second = mask(blocks(16)), mask(blocks(32))
        self.assertEqual(first.scalars, ())
        self.assertIn("constant 16 : index", first.regions.mask)
        self.assertIn("constant 32 : index", second.regions.mask)
        self.assertEqual(mask(blocks(16)).regions, first.regions)

    def test_numbers_that_decide_are_constants(self):
        def window(size, strict):
            def mod(b, h, q, kv):
                if size > 4:
                    return q - kv < size
                return q >= kv

            return mod

        self.assertIn("constant 5", mask(window(5, True)).regions.mask)
        self.assertIn("sge", mask(window(3, True)).regions.mask)

    def test_chain_longer_than_the_stack(self):
        def chain(length):
            def mod(s, b, h, q, kv):
                for _ in range(length):
                    s = abs(s) + 0.5  # one more
                return s

            return mod

        # Two operations each, a constant and the yield.
        text = score(chain(511)).regions.score
        self.assertEqual(len(text.splitlines()), 1024)
        for length in (512, 5000):
            with self.assertRaises(TraceError) as caught:
                score(chain(length))
            self.assertIn(
                "score_mod has more than 1024 operations, the limit",
                str(caught.exception),
            )
            self.assertTrue(caught.exception.file.endswith(HERE))
            self.assertEqual(caught.exception.line, line_of("# one more"))

    def test_limit_is_that_of_the_compiler(self):
        header = support.ROOT / "include/fa3/Dialect/Attention/IR/Attention.h"
        text = f"kMostOperations = {graph.MAX_OPERATIONS},"
        self.assertIn(text, header.read_text())

    def test_globals_are_constants_of_the_call(self):
        global LIMIT
        mod = lambda b, h, q, kv: kv < LIMIT  # noqa: E731
        LIMIT = 7
        self.assertIn("constant 7", mask(mod).regions.mask)
        LIMIT = 8
        self.assertIn("constant 8", mask(mod).regions.mask)

    def test_objects_are_read_at_every_call(self):
        class Config:
            size = 5

        config = Config()
        mod = lambda b, h, q, kv: kv < config.size  # noqa: E731
        self.assertIn("constant 5", mask(mod).regions.mask)
        config.size = 9
        self.assertIn("constant 9", mask(mod).regions.mask)

    def test_partial_and_nested_functions(self):
        def either(first, second):
            return lambda b, h, q, kv: first(b, h, q, kv) | second(b, h, q, kv)

        def prefix(length, b, h, q, kv):
            return kv < length

        causal = lambda b, h, q, kv: q >= kv  # noqa: E731
        traced = mask(either(causal, functools.partial(prefix, 12)))
        self.assertEqual(traced.scalars, (12,))
        self.assertIn("arith.ori", traced.regions.mask)

    def test_both_mods_share_arguments(self):
        def score_mod(factor):
            return lambda s, b, h, q, kv: s * factor

        def mask_mod(size):
            return lambda b, h, q, kv: kv < size

        traced = trace.trace_mods(score_mod(0.5), mask_mod(9))
        self.assertEqual(traced.regions.scalars, ("f32", "i32"))
        self.assertEqual(traced.scalars, (0.5, 9))
        self.assertIn("%arg0", traced.regions.score)
        self.assertIn("%arg1", traced.regions.mask)

    def test_constants(self):
        text = score(lambda s, b, h, q, kv: s * 0.1 + math.inf).regions.score
        self.assertIn("arith.constant 1.00000001e-01 : f32", text)
        self.assertIn("arith.constant 0x7F800000 : f32", text)

    def error(self, expected, place, mod, what=score):
        with self.assertRaisesRegex(TraceError, expected) as caught:
            what(mod)
        self.assertEqual(pathlib.Path(caught.exception.file).name, HERE)
        self.assertEqual(caught.exception.line, line_of(place))

    def test_branch(self):
        def mod(s, b, h, q, kv):
            if q > kv:  # branch
                return s
            return -s

        self.error("use torch.where", "# branch", mod)

    def test_and(self):
        def mod(b, h, q, kv):
            return q > kv and kv > 3  # and

        self.error("`and`", "# and", mod, mask)

    def test_math_function(self):
        def mod(s, b, h, q, kv):
            return math.exp(s)  # math.exp

        self.error("use .to\\(torch.float32\\), torch.exp", "# math.exp", mod)

    def test_list_index(self):
        slopes = [1.0, 2.0]

        def mod(s, b, h, q, kv):
            return s * slopes[h]  # list

        self.error("use a torch tensor", "# list", mod)

    def test_exception_of_the_user(self):
        def mod(s, b, h, q, kv):
            return s + None  # none

        self.error("TypeError", "# none", mod)

    def test_division_by_an_index(self):
        def mod(b, h, q, kv):
            return q // kv == 0  # divide

        self.error("not a constant", "# divide", mod, mask)

    @unittest.skipUnless(support.HAS_TORCH, "needs torch")
    def test_refused_by_name(self):
        """What would be another function, or another gradient, without a word."""
        import torch

        gelu, table = torch.nn.functional.gelu, torch.rand(4, requires_grad=True)

        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, gradient):
                return gradient * 5

        def constant(s, b, h, q, kv):
            with torch.no_grad():
                slope = table[h]
            return s * slope

        def part(s, b, h, q, kv):
            with torch.no_grad():
                kept = gelu(s)
            return s + kept

        for name, mod in (
            ("detach", lambda s, b, h, q, kv: s * table[h].detach()),
            ("detach", lambda s, b, h, q, kv: gelu(s) * table[h].detach()),
            ("detach", lambda s, b, h, q, kv: s.data * 2),
            ("detach", lambda s, b, h, q, kv: gelu(s) * table[h].data),
            ("torch.no_grad.*", constant), ("torch.no_grad.*", part),
            ("torch.no_grad.*", torch.no_grad()(lambda s, b, h, q, kv: s * 2)),
            (".*autograd.Function", lambda s, b, h, q, kv: Doubled.apply(s)),
            (".*autograd.Function", lambda s, b, h, q, kv: gelu(Doubled.apply(s))),
            ("detach", lambda s, b, h, q, kv: s - s.detach()),
            ("detach", lambda s, b, h, q, kv: torch.nn.functional.gelu(s.detach())),
            ("fmax", lambda s, b, h, q, kv: torch.fmax(s, s * 2)),
            ("fmin", lambda s, b, h, q, kv: torch.fmin(s, s * 2)),
        ):
            with self.assertRaisesRegex(TraceError, f"{name}: "):
                score(mod)

    def test_wrong_results_and_arguments(self):
        with self.assertRaisesRegex(TraceError, "returns builtins.str"):
            score(lambda s, b, h, q, kv: "s")
        with self.assertRaisesRegex(TraceError, "score_mod: TypeError"):
            score(lambda s: s)
        with self.assertRaisesRegex(TraceError, "expected a function"):
            score(3)

    def test_place_of_a_line(self):
        def mod(s, b, h, q, kv):
            far = q - kv
            return s + far  # place

        traced = score(mod)
        text = "header\n" + traced.regions.score + "\n"
        file, line = traced.place_of(text, 1 + traced.regions.score.count("\n"))
        self.assertEqual((pathlib.Path(file).name, line), (HERE, line_of("# place")))


@support.needs_torch
class TorchTest(unittest.TestCase):
    def test_functions(self):
        for mod, expected in (
            (lambda s, b, h, q, kv: torch.tanh(s / 20.0) * 20.0, "math.tanh"),
            (lambda s, b, h, q, kv: torch.where(q >= kv, s, -float("inf")), "0xFF800000"),
            (lambda s, b, h, q, kv: torch.clamp(s, min=-5.0, max=5.0), "arith.cmpf ogt"),
            (lambda s, b, h, q, kv: torch.relu(s) + torch.log(s.abs() + 1), "math.log"),
            (lambda s, b, h, q, kv: s.masked_fill(q < kv, float("-inf")), "arith.select"),
            (lambda s, b, h, q, kv: s * torch.exp2(-(h + 1).float()), "math.exp2"),
            (lambda s, b, h, q, kv: s + torch.sigmoid(s), "math.exp"),
            (lambda s, b, h, q, kv: torch.add(s, q, alpha=2), "arith.muli"),
            (lambda s, b, h, q, kv: s + (q - kv).to(s.dtype), "sitofp"),
            (lambda s, b, h, q, kv: s + torch.div(q, 3, rounding_mode="floor"), "divsi"),
            (lambda s, b, h, q, kv: s + torch.tensor(0.5), "5.00000000e-01"),
        ):  # fmt: skip
            self.assertIn(expected, score(mod).regions.score)

    def test_boolean_functions(self):
        def mod(b, h, q, kv):
            near = torch.abs(q - kv) < 3
            return torch.logical_or(near, torch.logical_not(kv > 5)) & ~(q == 2)

        text = mask(mod).regions.mask
        self.assertIn("arith.maxsi", text)
        self.assertIn("arith.xori", text)

    def test_tables(self):
        slopes = torch.rand(4)
        lengths = torch.tensor([3, 5], dtype=torch.int32)
        allowed = torch.ones(2, 9, dtype=torch.bool)

        def score_mod(s, b, h, q, kv):
            return s - slopes[h] * (q - kv)

        def mask_mod(b, h, q, kv):
            return (kv < lengths[b]) & allowed[b][kv]

        def both(slopes, lengths, allowed):
            def score_mod(s, b, h, q, kv):
                return s - slopes[h] * (q - kv)

            def mask_mod(b, h, q, kv):
                return (kv < lengths[b]) & allowed[b][kv]

            return trace.trace_mods(score_mod, mask_mod)

        for traced in (
            trace.trace_mods(score_mod, mask_mod),
            both(slopes, lengths, allowed),
        ):
            self.assertEqual(
                [(one.type, one.rank) for one in traced.regions.aux],
                [("f32", 1), ("i32", 1), ("i8", 2)],
            )
            self.assertEqual(traced.uses, (("h",), ("b",), ("b", "j")))
            self.assertIs(traced.tensors[0], slopes)
            self.assertIn("tensor.extract %aux2[%b, %j]", traced.regions.mask)
        other = torch.rand(4)
        again = both(other, lengths, allowed)
        self.assertIs(again.tensors[0], other)
        self.assertEqual(again.regions, traced.regions)
        self.assertEqual(again.names, ("slopes", "lengths", "allowed"))

    def test_table_read_in_two_ways(self):
        def mod(document):
            return lambda b, h, q, kv: document[q] == document[kv]

        traced = mask(mod(torch.zeros(5, dtype=torch.int32)))
        self.assertEqual(traced.uses, (("i",), ("j",)))
        self.assertIs(traced.tensors[0], traced.tensors[1])

    def test_tensor_that_an_object_holds(self):
        class Module:
            slopes = torch.rand(4)

            def score_mod(self, s, b, h, q, kv):
                return s * self.slopes[h]

        module = Module()
        self.assertIs(score(module.score_mod).tensors[0], module.slopes)
        module.slopes = torch.rand(4)
        self.assertIs(score(module.score_mod).tensors[0], module.slopes)

    def test_extents_that_a_mod_reads(self):
        def mod(lengths):
            return lambda b, h, q, kv: kv < lengths[b] + lengths.shape[0]

        self.assertIn("constant 2", mask(mod(torch.arange(2))).regions.mask)
        self.assertIn("constant 3", mask(mod(torch.arange(3))).regions.mask)
        self.assertIn(
            "constant 2 : index",
            mask((lambda t: lambda b, h, q, kv: t[-1] > kv)(torch.arange(3))).regions.mask,
        )

    def test_tensors_in_globals_are_arguments(self):
        scope = {"torch": torch, "slopes": torch.rand(4), "size": 3}
        exec(
            "def mod(s, b, h, q, kv):\n"
            "    return torch.where(q - kv < size, s - slopes[h], s)\n"
            "def nested(s, b, h, q, kv):\n"
            "    return (lambda x: x * slopes[h])(s)\n",
            scope,
        )
        for name in ("mod", "nested"):
            first = trace.trace_mods(scope[name], None)
            scope["slopes"] = torch.rand(4)
            with mock.patch.object(trace, "_trace", side_effect=AssertionError):
                again = trace.trace_mods(scope[name], None)  # nothing is traced
            self.assertEqual(again.regions, first.regions)
            self.assertIs(again.tensors[0], scope["slopes"])
            self.assertEqual(again.names, ("slopes",))
        scope["size"] = 5
        other = trace.trace_mods(scope["mod"], None)
        self.assertNotEqual(other.regions, first.regions)

    def test_rank_of_a_table(self):
        table = torch.zeros(2, 1, 1, 1, 1, 1, 1, 1, 2)
        with self.assertRaisesRegex(TraceError, "'table' has rank 9, expected at most 8"):
            trace.trace_mods(lambda s, b, h, q, kv: s + table[b, 0, 0, 0, 0, 0, 0, 0, h], None)

    def test_what_cannot_be_traced(self):
        table = torch.rand(4, 4)
        for mod, expected in (
            (lambda s, b, h, q, kv: s + table[h], "1 dimensions where a scalar"),
            (lambda s, b, h, q, kv: s + table[:, h], "only whole numbers"),
            (lambda s, b, h, q, kv: s + table[h, q, kv], "3 indices of tensor"),
            (lambda s, b, h, q, kv: torch.softmax(s, 0), "'softmax' of torch"),
            (lambda s, b, h, q, kv: s.sort(), "no attribute or method 'sort'"),
            (lambda s, b, h, q, kv: s & q, "bitwise and of a float"),
        ):
            with self.assertRaisesRegex(TraceError, expected):
                score(mod)


if __name__ == "__main__":
    unittest.main()
