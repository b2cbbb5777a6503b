# SPDX-License-Identifier: Apache-2.0
"""previous=(o, lse): attention that takes in the results of the same queries with other
keys, against attention to all keys, with gradients, in graphs, and what is refused."""

import fractions
import math
import unittest

import support

import fa3
from fa3 import ArgumentError, ArgumentTypeError, UnsupportedError

if support.HAS_TORCH:
    import torch


def exact(q, k, v, sinks=None):
    """o and lse in float64 of (batch, heads, rows, d)."""
    groups = q.shape[1] // k.shape[1]
    k, v = (one.double().repeat_interleave(groups, 1) for one in (k, v))
    s = q.double() @ k.mT * q.shape[3] ** -0.5
    if sinks is not None:
        s = torch.cat([s, sinks.double()[None, :, None, None].expand(*s.shape[:3], 1)], 3)
        v = torch.cat([v, torch.zeros_like(v[:, :, :1])], 2)
    return torch.softmax(s, -1) @ v, torch.logsumexp(s, -1)


@support.needs_torch
@support.needs_interpreter
class PreviousTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)
        self.q = torch.randn(2, 4, 21, 32, dtype=torch.bfloat16)
        self.k, self.v = (torch.randn(2, 2, 40, 32, dtype=torch.bfloat16) for _ in range(2))
        self.first = self.k[:, :, :17], self.v[:, :, :17]
        self.rest = self.k[:, :, 17:], self.v[:, :, 17:]

    def close(self, one, wanted, tolerance=2e-2):
        torch.testing.assert_close(
            one.double(), wanted.double(), atol=tolerance, rtol=tolerance
        )

    def start(self, dtype=None, **named):
        return fa3.attention(
            self.q, *self.first, return_lse=True, out_dtype=dtype, interpret=True, **named
        )

    def test_types_and_layouts(self):
        wanted = exact(self.q, self.k, self.v)
        for dtype in (torch.float32, torch.bfloat16):
            previous = self.start(dtype)
            self.assertEqual(previous[0].dtype, dtype)
            o, lse = fa3.attention(
                self.q, *self.rest, previous=previous, return_lse=True, interpret=True
            )
            self.assertEqual(o.dtype, torch.bfloat16)
            self.close(o, wanted[0])
            self.close(lse, wanted[1], 1e-4)
        previous = self.start(torch.float32)
        swapped = [one.transpose(1, 2) for one in (self.q, *self.rest, previous[0])]
        o = fa3.attention(
            *swapped[:3], previous=(swapped[3], previous[1]), layout="bshd",
            out_dtype=torch.float32, interpret=True,
        )  # fmt: skip
        self.assertEqual(o.dtype, torch.float32)
        self.close(o.transpose(1, 2), wanted[0], 2e-2)

    def test_three_steps_are_rounded_once(self):
        """In float32 between them, as well as all keys at once."""
        wanted, _ = exact(self.q, self.k, self.v)
        previous, at = None, 0
        for end in (13, 14, 40):
            named = {} if end == 40 else {"out_dtype": torch.float32}
            previous = fa3.attention(
                self.q, self.k[:, :, at:end], self.v[:, :, at:end], previous=previous,
                return_lse=True, interpret=True, **named,
            )  # fmt: skip
            at = end
        once = fa3.attention(self.q, self.k, self.v, interpret=True)
        error, least = ((one.double() - wanted).norm() for one in (previous[0], once))
        self.assertLess(error, 1.05 * least)

    def test_no_keys(self):
        o, lse = (one.clone() for one in self.start(torch.float32))
        wanted, sums = exact(self.q, *self.rest)
        lse[:, :, ::2], o[:, :, ::2] = -math.inf, math.nan
        made, lse = fa3.attention(
            self.q, *self.rest, previous=(o, lse), return_lse=True, interpret=True
        )
        self.close(made[:, :, ::2], wanted[:, :, ::2])
        self.close(lse[:, :, ::2], sums[:, :, ::2], 1e-4)
        # None of these, but of the others.
        previous = self.start(torch.float32)
        nothing = [one[:, :, :0] for one in self.rest]
        made = fa3.attention(self.q, *nothing, previous=previous, return_lse=True, interpret=True)
        self.close(made[0], previous[0], 1e-2)
        self.close(made[1], previous[1], 1e-5)

    def test_beside_others(self):
        sinks = torch.tensor([0.5, -1.0, 3.0, 0.0])
        wanted = exact(self.q, self.k, self.v, sinks)
        previous = self.start(torch.float32, sinks=sinks)
        o, lse = fa3.attention(
            self.q, *self.rest, previous=previous, return_lse=True, interpret=True
        )
        self.close(o, wanted[0])
        self.close(lse, wanted[1], 1e-4)
        previous = self.start(torch.float32)
        out, into = torch.empty_like(self.q), torch.empty(2, 4, 21)
        made = fa3.attention(
            self.q, *self.rest, previous=previous, sinks=sinks, out=out, lse=into,
            return_lse=True, score_mod=lambda s, b, h, i, j: s + 0.0, interpret=True,
        )  # fmt: skip
        self.assertIs(made[0], out)
        self.close(out, wanted[0])
        self.close(into, wanted[1], 1e-4)

    def derivatives(self, steps, dlse):
        """Gradients of q, k and v by the function that gives o and lse of them."""
        given = [one.clone().requires_grad_() for one in (self.q, self.k, self.v)]
        o, lse = steps(*given)
        weights = torch.randn(o.shape, generator=torch.Generator().manual_seed(1))
        total = (o.double() * weights).sum()
        if dlse:
            total = total + (lse.double() * weights[..., 0]).sum()
        return torch.autograd.grad(total, given)

    def test_gradients(self):
        def steps(q, k, v):
            previous = fa3.attention(
                q, k[:, :, :17], v[:, :, :17], return_lse=True, interpret=True
            )
            return fa3.attention(
                q, k[:, :, 17:], v[:, :, 17:], previous=previous, return_lse=True, interpret=True
            )

        for dlse in (False, True):
            made = self.derivatives(steps, dlse)
            wanted = self.derivatives(lambda q, k, v: exact(q, k, v), dlse)
            for one, other in zip(made, wanted):
                self.assertLess((one.double() - other).norm() / other.norm(), 2e-2)

    def test_gradient_of_nothing(self):
        """Of o that no key has given: none, whatever it is."""
        o, lse = (one.clone() for one in self.start(torch.float32))
        lse[:, :, ::2], o[:, :, ::2] = -math.inf, math.nan
        previous = o.requires_grad_(), lse.requires_grad_()
        made = fa3.attention(self.q, *self.rest, previous=previous, interpret=True)
        of_o, of_lse = torch.autograd.grad(made.float().sum(), previous)
        self.assertTrue(torch.equal(of_o[:, :, ::2], torch.zeros_like(of_o[:, :, ::2])))
        self.assertTrue(torch.equal(of_lse[:, :, ::2], torch.zeros_like(of_lse[:, :, ::2])))
        self.assertTrue(of_o.isfinite().all() and of_lse.isfinite().all())
        self.assertGreater(of_o.abs().max(), 0)

    def test_compiled(self):
        previous = self.start(torch.float32)

        @torch.compile(backend="aot_eager", fullgraph=True)
        def run(q, k, v, o, lse):
            return fa3.attention(q, k, v, previous=(o, lse), return_lse=True, interpret=True)

        wanted = fa3.attention(
            self.q, *self.rest, previous=previous, return_lse=True, interpret=True
        )
        for one, other in zip(run(self.q, *self.rest, *previous), wanted):
            self.assertTrue(torch.equal(one, other))

    def test_vmap(self):
        previous = self.start(torch.float32)

        def run(q):
            return fa3.attention(q, *self.rest, previous=previous, interpret=True)

        made = torch.func.vmap(run)(torch.stack([self.q, self.q * 2]))
        for one, q in zip(made, (self.q, self.q * 2)):
            self.close(one, fa3.attention(q, *self.rest, previous=previous, interpret=True), 1e-6)

    def test_scales_that_are_no_numbers_of_python(self):
        previous = self.start()
        call = {"previous": previous, "interpret": True}
        derived = self.q.clone().requires_grad_()
        for q, scale in ((self.q, "0.5"), (self.q, True), (self.q, [1.0]), (derived, b"1")):
            with self.assertRaisesRegex(ArgumentTypeError, "'scale': .*, expected a number"):
                fa3.attention(q, *self.rest, scale=scale, **call)
        wanted = fa3.attention(self.q, *self.rest, scale=0.25, **call)
        for scale in (torch.tensor(0.25), fractions.Fraction(1, 4)):
            made = fa3.attention(self.q, *self.rest, scale=scale, **call)
            self.assertTrue(torch.equal(made, wanted))

    def test_refused(self):
        o, lse = self.start(torch.float32)
        for previous, kind, said in (
            (o, ArgumentTypeError, "expected \\(o, lse\\)"),
            ((o, None), ArgumentTypeError, "expected \\(o, lse\\)"),
            ((o[:, :, :20], lse), ArgumentError, "'previous': o of shape"),
            ((o.double(), lse), TypeError, "float64|f64"),
            ((o, lse[:, :, :20]), ArgumentError, "'previous': lse, f32 of shape"),
            ((o, lse.bfloat16()), ArgumentError, "'previous': lse, bf16 of shape"),
        ):
            with self.assertRaisesRegex(kind, said):
                fa3.attention(self.q, *self.rest, previous=previous, interpret=True)
        for named in ({"epilogue": lambda x, b, h, i, c: x * 2}, {"return_max_logit": True}):
            with self.assertRaisesRegex(UnsupportedError, f"previous beside {next(iter(named))}"):
                fa3.attention(self.q, *self.rest, previous=(o, lse), interpret=True, **named)
        with self.assertRaisesRegex(ArgumentError, "'out': lies in the memory of 'previous o'"):
            fa3.attention(
                self.q, *self.rest, previous=(o, lse), out=o, out_dtype=torch.float32,
                interpret=True,
            )  # fmt: skip
        q = self.q.clone().requires_grad_()
        with self.assertRaisesRegex(UnsupportedError, "gradients.*out_dtype torch.float32"):
            fa3.attention(q, *self.first, out_dtype=torch.float32, interpret=True)


if __name__ == "__main__":
    unittest.main()
