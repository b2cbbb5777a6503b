# SPDX-License-Identifier: Apache-2.0
"""epilogue=: code on the output, its gradients and those of what it reads, against
torch's math in f32."""

import math
import unittest

import support

import fa3
from fa3.errors import ArgumentTypeError, TraceError, UnsupportedError
from fa3.mods.trace import trace_mods

if support.HAS_TORCH:
    import torch


def definition(q, k, v, edit, causal=False):
    """Attention, as `edit` changes it, in f32, with keys heads that groups share."""
    groups = q.shape[1] // k.shape[1]
    k, v = (one.repeat_interleave(groups, 1) for one in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[3])
    if causal:
        seen = torch.ones(scores.shape[2:], dtype=torch.bool)
        scores = scores.masked_fill(~seen.tril(k.shape[2] - q.shape[2]), -torch.inf)
    return edit(scores.softmax(-1) @ v)


@support.needs_torch
@support.needs_interpreter
class EpilogueTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.q = torch.randn(2, 4, 33, 16, dtype=torch.float16)
        self.k, self.v = (torch.randn(2, 2, 40, 16, dtype=torch.float16) for _ in range(2))
        self.gate = torch.randn(2, 4, 33, 16, dtype=torch.float16)

    def close(self, made, expected, bound=4e-3):
        self.assertEqual(made.shape, expected.shape)
        difference = (made.float() - expected.float()).abs().max().item()
        self.assertLess(difference, bound * max(1.0, expected.abs().max().item()))

    def run_ours(self, epilogue, **named):
        return fa3.attention(self.q, self.k, self.v, epilogue=epilogue, interpret=True, **named)

    def expected(self, edit, **named):
        return definition(self.q.float(), self.k.float(), self.v.float(), edit, **named)

    def test_gate(self):
        gate = self.gate
        made = self.run_ours(lambda x, b, h, i, c: x * torch.sigmoid(gate[b, h, i, c]))
        self.close(made, self.expected(lambda o: o * torch.sigmoid(gate.float())))
        # As Qwen3-Next has it, in the order of its projection.
        turned = gate.transpose(1, 2).contiguous()
        again = self.run_ours(lambda x, b, h, i, c: x * torch.sigmoid(turned[b, i, h, c]))
        self.assertTrue(torch.equal(again, made))

    def test_with_other_mods(self):
        gate, bias, number = self.gate, torch.randn(4, 33, 40), 0.5
        o, lse = self.run_ours(
            lambda x, b, h, i, c: x * gate[b, h, i, c] + number * (c % 2),
            score_mod=lambda s, b, h, i, j: s + bias[h, i, j] * number,
            mask_mod=lambda b, h, i, j: i + 7 >= j, return_lse=True,
        )  # fmt: skip
        k, v = (one.float().repeat_interleave(2, 1) for one in (self.k, self.v))
        scores = self.q.float() @ k.mT / 4 + bias * number
        scores = scores.masked_fill(~torch.ones(33, 40).tril(7).bool(), -torch.inf)
        odd = torch.arange(16) % 2
        self.close(o, scores.softmax(-1) @ v * gate.float() + number * odd)
        self.close(lse, scores.logsumexp(-1))

    def test_types_of_output(self):
        scale = torch.tensor([1.0, 2.0, 400.0, 0.5])

        def scaled(x, b, h, i, c):
            return x * scale[h]

        expected = self.expected(lambda o: o * scale[:, None, None])
        for dtype, bound in ((torch.float32, 4e-3), (torch.bfloat16, 8e-3)):
            made = self.run_ours(scaled, out_dtype=dtype)
            self.assertEqual(made.dtype, dtype)
            self.close(made, expected, bound)
        made = self.run_ours(scaled, out_dtype=torch.float8_e4m3fn)
        wanted = expected.clamp(-448, 448)
        self.assertEqual(wanted.abs().max().item(), 448)  # some are larger
        # Half a step, and what weights of 16 bits err.
        off = (made.float() - wanted).abs()
        self.assertTrue(bool((off <= wanted.abs() / 16 + 4e-3 * scale[:, None, None]).all()))
        with self.assertRaisesRegex(ArgumentTypeError, "out_dtype"):
            fa3.attention(self.q, self.k, self.v, out_dtype=torch.float64, interpret=True)

    def check_gradients(self, epilogue, edit, reads, bound=1e-2, **named):
        """Of q, k, v and what is read, with `reads` in f32 given to `edit`."""
        ours = [one.requires_grad_() for one in (self.q, self.k, self.v, *reads)]
        o = self.run_ours(epilogue, **named)
        do = torch.randn(o.shape, dtype=o.dtype)
        made = torch.autograd.grad(o, ours, do)
        wide = [one.detach().float().requires_grad_() for one in ours]
        expected = definition(
            *wide[:3], lambda x: edit(x, *wide[3:]), causal=named.get("causal", False)
        )
        self.close(o.detach(), expected.detach())
        for one, wanted in zip(made, torch.autograd.grad(expected, wide, do.float())):
            self.close(one, wanted, bound)
        return made

    def test_gradients(self):
        gate, rows = self.gate, torch.rand(2, 33, 4) + 0.5
        turned = gate.transpose(1, 2).contiguous()

        def epilogue(x, b, h, i, c):
            return x * torch.sigmoid(turned[b, i, h, c]) * rows[b, i, h]

        def edit(x, turned, rows):
            return x * torch.sigmoid(turned.transpose(1, 2)) * rows.transpose(1, 2)[..., None]

        self.check_gradients(epilogue, edit, (turned, rows), causal=True)

    def test_gradients_of_code_without_tables(self):
        self.check_gradients(
            lambda x, b, h, i, c: torch.tanh(x) * (h + 1), lambda x: torch.tanh(x)
            * torch.arange(1, 5).view(4, 1, 1), (),
        )  # fmt: skip

    def test_gradient_of_lse_beside(self):
        gate = self.gate
        q = self.q.requires_grad_()
        o, lse = self.run_ours(lambda x, b, h, i, c: x * gate[b, h, i, c], return_lse=True)
        (made,) = torch.autograd.grad(lse.sum() + o.float().sum(), q)
        wide = self.q.detach().float().requires_grad_()
        k, v = (one.float().repeat_interleave(2, 1) for one in (self.k, self.v))
        scores = wide @ k.mT / 4
        total = scores.logsumexp(-1).sum() + (scores.softmax(-1) @ v * gate.float()).sum()
        (expected,) = torch.autograd.grad(total, wide)
        self.close(made, expected, 1e-2)

    def test_lists_of_blocks(self):
        from torch.nn.attention.flex_attention import create_block_mask

        q, k, v, gate = (torch.randn(1, 2, 256, 16, dtype=torch.float16) for _ in range(4))
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 256, 256, device="cpu")
        made = fa3.attention(
            q, k, v, block_mask=mask, interpret=True,
            epilogue=lambda x, b, h, i, c: x * gate[b, h, i, c],
        )  # fmt: skip
        self.close(made, definition(
            q.float(), k.float(), v.float(), lambda o: o * gate.float(), causal=True
        ))  # fmt: skip

    def test_compiled_call(self):
        gate = self.gate

        def call(q, k, v):
            return fa3.attention(
                q * 1, k, v, epilogue=lambda x, b, h, i, c: x * gate[b, h, i, c],
                interpret=True,
            ) + 1  # fmt: skip

        expected = call(self.q, self.k, self.v)
        made = torch.compile(call, backend="eager")(self.q, self.k, self.v)
        self.assertTrue(torch.equal(made, expected))

    def test_out(self):
        out = torch.empty_like(self.q)
        expected = self.run_ours(lambda x, b, h, i, c: x * 2)
        made = self.run_ours(lambda x, b, h, i, c: x * 2, out=out)
        self.assertIs(made, out)
        self.assertTrue(torch.equal(out, expected))

    def test_what_is_refused(self):
        weight = torch.randn(16, requires_grad=True)
        with self.assertRaisesRegex(Exception, "an element for every batch, head and query"):
            o = self.run_ours(lambda x, b, h, i, c: x * weight[c])
            o.sum().backward()
        sinks = torch.zeros(4, requires_grad=True)
        with self.assertRaisesRegex(UnsupportedError, "those of sinks"):
            self.run_ours(lambda x, b, h, i, c: x * 2, sinks=sinks)
        q = self.q.requires_grad_()
        with self.assertRaisesRegex(UnsupportedError, "out_dtype torch.float32"):
            self.run_ours(lambda x, b, h, i, c: x * 2, out_dtype=torch.float32)
        del q
        short = torch.randn(2, 4, 33, 8)
        with self.assertRaisesRegex(ValueError, "8 elements of dimension 3 are read at 16"):
            self.run_ours(lambda x, b, h, i, c: x * short[b, h, i, c])


@support.needs_torch
class TracedTest(unittest.TestCase):
    def test_keys(self):
        table = torch.randn(4, 8)
        one = trace_mods(None, None, lambda x, b, h, i, c: x * table[h, c])
        self.assertEqual(one.uses, (("h", "c"),))
        self.assertIn("math.exp", trace_mods(
            None, None, lambda x, b, h, i, c: torch.sigmoid(x)
        ).regions.epilogue)  # fmt: skip
        other = trace_mods(lambda s, b, h, i, j: s * table[h, j], None)
        self.assertEqual(other.uses, (("h", "j"),))

    def test_norms_are_refused(self):
        with self.assertRaises(TraceError):
            trace_mods(None, None, lambda x, b, h, i, c: x / x.sum())
        with self.assertRaisesRegex(TraceError, "epilogue is builtins.int, expected a function"):
            trace_mods(None, None, 3)
        with self.assertRaisesRegex(TraceError, "epilogue returns .*, expected a number"):
            trace_mods(None, None, lambda x, b, h, i, c: "x")


if __name__ == "__main__":
    unittest.main()
