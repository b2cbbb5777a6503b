# SPDX-License-Identifier: Apache-2.0
"""The first random calls of test/Fuzz/doors.py, and what that takes for a failure."""

import sys
import unittest

import support

sys.path.insert(0, str(support.ROOT / "test" / "Fuzz"))

if support.HAS_TORCH:
    import torch

    import door_calls
    import door_definition
    import doors
    import fa3
    import functions


@support.needs_torch
@support.needs_interpreter
class RandomCallsTest(unittest.TestCase):
    def check(self, door, count=20):
        failed = []
        with support.only_interpreted():
            counts, _ = doors.run(door, 1, range(count), failed.append)
        self.assertEqual(failed, [])
        self.assertGreater(counts["right"], count // 2)

    def test_forward(self):
        self.check("forward")

    def test_gradients(self):
        self.check("gradients")

    def test_serving(self):
        self.check("serving")

    def test_mods(self):
        self.check("mods", 40)

    def test_flash_attention(self):
        self.check("flash")


@support.needs_torch
@support.needs_interpreter
class FunctionsTest(unittest.TestCase):
    def test_some_of_torch(self):
        names = ("add", "rsub", "div", "remainder", "fmod", "pow", "clamp", "threshold", "copy_")
        wrong = []
        with support.only_interpreted():
            counts = functions.run(names, wrong.append)
        self.assertEqual(wrong, [])
        self.assertGreater(counts["right"], 200)
        self.assertGreater(counts["refused"], 10)

    def test_what_is_wrong(self):
        ones = torch.ones(functions.COUNT)
        with support.only_interpreted():
            self.assertEqual(functions.attempt(torch.neg, [ones]), ("right", ""))
            self.assertEqual(functions.attempt(torch.sum, [ones]), ("left out", ""))
            self.assertEqual(functions.attempt(torch.erfinv, [0.5 * ones]), ("refused", ""))
            result, said = functions.attempt(
                lambda x: x + (1 if isinstance(x, torch.Tensor) else 2), [ones]
            )
        self.assertEqual((result, said), ("wrong", "of 1.0: 3.0, expected 2.0"))


@support.needs_torch
class ComparingTest(unittest.TestCase):
    def attempt(self, made, spoiled=""):
        """Of a call that gives `made`, or raises it, in place of ones and twos."""

        def run():
            if isinstance(made, Exception):
                raise made
            return made

        ones, twos = torch.ones(2, 3).double(), 2 * torch.ones(4).double()
        return doors.attempt(
            door_calls.Call(
                "", run,
                lambda: [(ones, door_definition.off_lse),
                         (twos, lambda *given: door_definition.off_in_the_mean(0.01, *given))],
                spoiled,
            )
        )  # fmt: skip

    def test_what_fails(self):
        ones, twos = torch.ones(2, 3), 2 * torch.ones(4)
        hole = ones.clone()
        hole[1, 1] = float("nan")
        self.assertEqual(self.attempt([ones, twos]), ("right", ""))
        for made, expected in (
            ([ones + 0.01, twos], "result 0 is off 5 times"),
            ([hole, twos], "result 0 is off inf times"),
            ([ones[:1], twos], "result 0 is off inf times"),
            ([ones, 1.5 * twos], "result 1 is off"),
            ([ones, None], "result 1 is off inf times"),
            ([ones], "1 results, expected 2"),
            (RuntimeError("broken"), "RuntimeError: broken"),
            (fa3.CompileError("1:2: error: a late pass"), "CompileError: "),
        ):
            result, said = self.attempt(made)
            self.assertEqual(result, "failed", said)
            self.assertIn(expected, said)

    def test_refusals(self):
        ones, twos = torch.ones(2, 3), 2 * torch.ones(4)
        refused = fa3.ArgumentError("k", "head dim 24, expected 32 as q")
        said = "ArgumentError: argument 'k': head dim N, expected N as q"
        self.assertEqual(self.attempt(refused), ("refused", said))
        self.assertEqual(self.attempt(refused, "head dims"), ("refused", said))
        self.assertEqual(
            self.attempt([ones, twos], "head dims"), ("failed", "nobody refused head dims")
        )

    def test_calls_are_numbered(self):
        one, same, other = (doors.make_call("serving", 1, number) for number in (3, 3, 4))
        self.assertEqual(one.words, same.words)
        self.assertNotEqual(one.words, other.words)


if __name__ == "__main__":
    unittest.main()
