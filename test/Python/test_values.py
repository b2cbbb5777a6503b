# SPDX-License-Identifier: Apache-2.0
"""Scores of every size in the interpreter, beside torch's f64: the cases of
values.py, at the levels of tiles and of the chip, and as PTX."""

import unittest

import support

if support.HAS_TORCH:
    import torch
    import values


@support.needs_torch
@support.needs_interpreter
class ValuesTest(unittest.TestCase):
    def check(self, stage, both, every=1):
        """All cases with both element types, or with one and the other in turn, or some
        of them; gives how many results were compared."""
        count, types = 0, (torch.float16, torch.bfloat16)
        for number, name in enumerate(list(values.CASES)[::every]):
            for dtype in types if both else types[number % 2 :][:1]:
                with self.subTest(name, dtype=dtype, stage=stage):
                    compared, wrong = values.check(name, dtype, stage=stage)
                    self.assertEqual(wrong, [])
                    count += compared
        return count

    def test_of_tiles(self):
        self.assertGreater(self.check("tile", both=True), 600)

    def test_of_the_chip(self):
        self.assertGreater(self.check("hopper", both=False), 300)

    def test_of_the_text(self):
        self.assertGreater(self.check("ptx", both=False, every=5), 60)

    def test_by_definition(self):
        self.assertGreater(self.check("definition", both=False, every=6), 50)

    def test_compare_tells(self):
        """A difference is one: of numbers, of NaN and of shapes."""
        one = torch.tensor([1.0, 2.0])
        self.assertEqual(values.compare("o", one, one, torch.float16), "")
        for other in ([1.0, 2.1], [1.0, values.NAN], [1.0, values.INFINITY], [1.0]):
            said = values.compare("o", torch.tensor(other), one, torch.float16)
            self.assertNotEqual(said, "")


if __name__ == "__main__":
    unittest.main()
