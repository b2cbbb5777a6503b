# SPDX-License-Identifier: Apache-2.0
"""Numbers of mods are torch's: sums of booleans, whole numbers of 8 and 16 bits, quotients
that are rounded to whole numbers, conversions. Each element is compared, in the
interpreter and in PTX."""

import unittest

import support

from fa3.errors import TraceError
from fa3.mods import trace

if support.HAS_TORCH:
    import torch

    import fa3


def elements(mod, count, stage):
    """What a score_mod makes of a score of 0, for queries in front of one key: lse of a
    row of one score is that."""
    zeros = torch.zeros(1, 1, count, 16).half()
    _, lse = fa3.attention(
        zeros, zeros[:, :, :1], zeros[:, :, :1], score_mod=mod, return_lse=True, interpret=stage
    )
    return lse.flatten()


@support.needs_torch
@support.needs_interpreter
class NumbersTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, count, *functions, stages=("tile",)):
        """Functions of the query, each of whose elements is torch's."""
        places = torch.arange(count)
        for number, function in enumerate(functions):
            expected = function(places).float().expand(count)
            for stage in stages:
                with self.subTest(function=number, stage=stage):
                    made = elements(lambda s, b, h, i, j: s + function(i), count, stage)
                    torch.testing.assert_close(made, expected, rtol=1e-5, atol=1e-5)

    def test_sums_and_products_of_booleans(self):
        flags = torch.rand(40) < 0.5
        self.check(
            40,
            lambda i: ((i > 3) + flags[i]).int() * 3,
            lambda i: (~((i > 3) * flags[i])).int(),
            lambda i: (~torch.maximum(i > 30, flags[i])).int(),
            lambda i: (~torch.minimum(i > 3, flags[i])).int(),
            lambda i: (~flags[i].masked_fill(i > 20, 1)).int(),
            lambda i: ((i > 3) + flags[i] + (i > 5) >= 2).int() + 1,
            lambda i: 0 + (i > 3) + flags[i],
            lambda i: (i > 3) * 2 + flags[i],
        )
        with self.assertRaisesRegex(TraceError, "difference of two booleans"):
            trace.trace_mods(None, lambda b, h, i, j: (i > 3) - flags[i])

    def test_narrow_whole_numbers_wrap(self):
        byte = torch.randint(0, 256, (64,), dtype=torch.uint8)
        signed = torch.randint(-128, 128, (64,), dtype=torch.int8)
        short = torch.randint(-(2**15), 2**15, (64,), dtype=torch.int16)
        self.check(
            64,
            lambda i: byte[i] - byte[63 - i],
            lambda i: byte[i] + 200,
            lambda i: ~byte[i],
            lambda i: -byte[i],
            lambda i: byte[i] << 3,
            lambda i: signed[i] * 3,
            lambda i: signed[i].abs() + signed[63 - i].abs(),
            lambda i: signed[i] + byte[i],  # of 16 bits
            lambda i: short[i] + short[63 - i],
            lambda i: short[i] * 5 // 3,
            lambda i: torch.where(i > 3, byte[i], byte[63 - i]) * 2,
            lambda i: (i * 7).to(torch.int8),
            lambda i: (i * 7).to(torch.uint8) + byte[i],
            lambda i: (i * 1000).short(),
            lambda i: i.to(byte.dtype).to(signed) - 100,
            # Of 32 bits.
            lambda i: byte[i] + i,
            lambda i: byte[i].int() - byte[63 - i],
            lambda i: byte[i].float() + byte[63 - i],
            lambda i: byte[i] * 1.5,
        )

    def test_quotients_that_decide(self):
        table = torch.randint(1, 60, (2100,), dtype=torch.int32)
        floats = table.float()
        stages = ("tile", "ptx")
        self.check(
            2100,
            lambda i: torch.floor(i / 41),
            lambda i: (i / 49).int(),
            lambda i: torch.ceil((i - 1000) / 49),
            lambda i: torch.trunc((i - 1000) / 82.0),
            lambda i: torch.round(i / 10),
            lambda i: (i / 98 == i // 98).int(),
            lambda i: torch.floor((i * table[i]) / table[i]),
            lambda i: torch.floor(i / floats[i]),
            lambda i: torch.where(i / 41 >= 7, 1.0, 0.0),
            lambda i: torch.sqrt((i / 41).floor()).floor(),
            stages=stages,
        )

        def of_size(size):
            return lambda s, b, h, i, j: s + torch.floor(i / size)

        for size in (41, 49):
            made = elements(of_size(size), 300, "tile")
            torch.testing.assert_close(made, (torch.arange(300) // size).float())

    def test_quotients_of_infinite_numbers(self):
        wide = torch.tensor([torch.inf, -torch.inf, 0.0, 82.0, -1.5])
        self.check(
            5,
            lambda i: torch.where(wide[i] / 41 > 1, 1.0, 0.0),
            lambda i: torch.where(1 / wide[i] == 0, 1.0, 0.0),
            lambda i: torch.where(wide[i] / wide[3] < -1, 1.0, 0.0),
            stages=("tile", "ptx"),
        )

    def test_other_quotients_are_products(self):
        text = trace.trace_mods(lambda s, b, h, i, j: s / 3 + (i - j) / 100, None).regions.score
        self.assertNotIn("fma", text)
        self.assertNotIn("divf", text)
        text = trace.trace_mods(lambda s, b, h, i, j: torch.where(s / 3 > 1, s, 0), None)
        self.assertNotIn("fma", text.regions.score)

    def test_remainders_of_floats(self):
        tenths = torch.arange(64) * 0.1
        self.check(
            64,
            lambda i: torch.remainder(tenths[i] - 3, 0.1),
            lambda i: torch.fmod(tenths[i] - 3, 0.1),
            lambda i: (tenths[i] - 3) // 0.1,
            lambda i: torch.rsub(tenths[i], 1.0, alpha=2),
            lambda i: (i.int() // 3) << (i.int() % 40),
            stages=("tile", "ptx"),
        )

    def test_powers_of_whole_numbers(self):
        self.check(
            12,
            lambda i: 2 ** (i % 7),
            lambda i: 2 ** (3 - i).clamp(0, 9),
            lambda i: (2 ** (i % 7)) // 3,
            lambda i: (i % 4) ** (i % 3),
            lambda i: (i - 6) ** (i % 4),
            lambda i: 3 ** (i % 5),
            lambda i: i**2,
            lambda i: (i**2.0) / 4,
            stages=("tile", "ptx"),
        )

    def test_powers_of_floats(self):
        bases = torch.tensor([-2.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0])
        powers = torch.tensor([-3.0, -2.0, -1.0, -0.0, 0.5, 1.0, 2.0, 3.0, 4.5, 5.0, torch.inf])

        def power(i, x, y):
            """Where it is neither infinite nor a NaN."""
            made = x**y
            return torch.where((made == made) & (made.abs() < 1e9), made, 7.0)

        self.check(
            8 * 11,
            lambda i: power(i, bases[i % 8], powers[i // 8]),
            lambda i: power(i, bases[i % 8], 9),
            lambda i: power(i, bases[i % 8], -3),
            lambda i: power(i, bases[i % 8], 1.5),
            lambda i: power(i, -2.0, powers[i // 8]),
            stages=("tile", "ptx"),
        )

    def test_angles(self):
        ends = torch.tensor([-torch.inf, -2.0, -0.5, -0.0, 0.0, 1.0, 3.0, torch.inf])
        self.check(
            64,
            lambda i: torch.atan2(ends[i % 8], ends[i // 8]),
            lambda i: torch.atan2(ends[i % 8] * 1e-30, ends[i // 8]),
            stages=("tile", "ptx"),
        )

    def test_gradients_of_powers(self):
        """Some scores are 0, where x^0 has no slope and x^1 has one."""
        q, k, v = (torch.randn(1, 1, 24, 16).half() for _ in range(3))
        q[:, :, ::3] = 0
        exponents = torch.arange(24).float() % 5
        grad, made = torch.randn(1, 1, 24, 16).half(), {}
        for stage in ("tile", "ptx"):
            leaves = [one.clone().requires_grad_() for one in (q, k, v)]
            o = fa3.attention(
                *leaves, score_mod=lambda s, b, h, i, j: (0.5 * s) ** exponents[j],
                interpret=stage,
            )  # fmt: skip
            made[stage] = torch.autograd.grad(o, leaves, grad)
        leaves = [one.float().requires_grad_() for one in (q, k, v)]
        scores = (0.5 * leaves[0] @ leaves[1].mT * 0.25) ** exponents
        o = scores.softmax(-1) @ leaves[2]
        for wanted, *found in zip(torch.autograd.grad(o, leaves, grad.float()), *made.values()):
            for one in found:
                torch.testing.assert_close(one.float(), wanted, rtol=2e-2, atol=2e-2)

    def test_logaddexp_of_infinite_numbers(self):
        ends = torch.tensor([-torch.inf, 0.0, 2.0])
        wide = torch.cat([ends.repeat_interleave(3)])
        self.check(
            9,
            lambda i: torch.exp(torch.logaddexp(wide[i], ends[i % 3])),
        )

    def test_conversions_are_done_or_refused(self):
        whole = torch.zeros(3, dtype=torch.int32)
        self.check(
            20,
            lambda i: (i * 0.3).to(whole),
            lambda i: (i * 0.3).type(torch.int32),
            lambda i: (i * 0.3).type("torch.IntTensor"),
            lambda i: (i * 0.3).to(torch.bool).int(),
        )
        for function, said in (
            (lambda s: s.to(torch.float8_e4m3fn), "conversion to torch.float8_e4m3fn"),
            (lambda s: s.to(torch.complex64), "conversion to torch.complex64"),
            (lambda s: s.to(torch.uint16), "conversion to torch.uint16"),
            (lambda s: s.view(torch.int32), "method 'view'"),
            (lambda s: torch.div(s, 3, rounding_mode="up"), "rounding_mode 'up'"),
        ):
            with self.assertRaisesRegex(TraceError, said):
                trace.trace_mods(lambda s, b, h, i, j: function(s), None)


if __name__ == "__main__":
    unittest.main()
