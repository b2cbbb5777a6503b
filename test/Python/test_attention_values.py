# SPDX-License-Identifier: Apache-2.0
"""Values of fa3.attention in the interpreter against torch."""

import os
import tempfile
import unittest

import support

import fa3
from fa3.calls.request import Request
from fa3.kernels.arguments import Arguments

if support.HAS_TORCH:
    import torch

if "FA3_CACHE_DIR" not in os.environ:
    os.environ["FA3_CACHE_DIR"] = tempfile.mkdtemp(prefix="fa3-test-")
os.environ.setdefault("FA3_PTXAS", "0")


@support.needs_torch
@support.needs_interpreter
class ValueTest(unittest.TestCase):
    """Values in the interpreter, against torch."""

    def check(self, q, k, v, mask=None, bias=None, tolerance=2e-3, **named):
        for stage in (True, "definition"):
            o = fa3.attention(q, k, v, interpret=stage, **named)
            scores = torch.einsum("bhid,bhjd->bhij", q.float(), k.float())
            scores = scores / q.shape[3] ** 0.5
            if bias is not None:
                scores = bias(scores)
            if mask is not None:
                scores = scores.masked_fill(~mask, float("-inf"))
            weights = torch.softmax(scores, -1).nan_to_num()
            expected = torch.einsum("bhij,bhjd->bhid", weights, v.float())
            torch.testing.assert_close(
                o.float(), expected, atol=tolerance, rtol=tolerance
            )

    def setUp(self):
        torch.manual_seed(0)
        self.q, self.k, self.v = (
            torch.randn(1, 2, n, 16, dtype=torch.float16) for n in (40, 70, 70)
        )
        self.i = torch.arange(40)[:, None]
        self.j = torch.arange(70)[None, :]

    def test_plain(self):
        self.check(self.q, self.k, self.v)

    def test_negative_views(self):
        bias = torch.randn(1, 2, 40, 70, dtype=torch.float16)
        expected = fa3.attention(-self.q, self.k, -self.v, bias=-bias, interpret=True)
        made = fa3.attention(
            torch._neg_view(self.q), self.k, torch._neg_view(self.v),
            bias=torch._neg_view(bias), interpret=True,
        )  # fmt: skip
        torch.testing.assert_close(made, expected, rtol=0, atol=0)
        imaginary = torch.complex(self.q.float(), self.q.float()).conj().imag
        self.assertTrue(imaginary.is_neg())
        q = self.q.clone().requires_grad_()
        fa3.attention(torch._neg_view(q), self.k, self.v, interpret=True).sum().backward()
        minus = (-self.q).requires_grad_()
        fa3.attention(minus, self.k, self.v, interpret=True).sum().backward()
        torch.testing.assert_close(q.grad, -minus.grad, rtol=0, atol=0)

    def test_numbers_of_64_bits(self):
        """In a kernel whole numbers have 32 bits; elements are compared in all theirs."""
        ids = torch.tensor([3, 3 + (1 << 32), -1, 3 - (1 << 32)] * 18)[:70]
        odd = torch.arange(70) % 2 + (1 << 40)
        table = ids[:40, None] + odd
        for mod, mask in (
            (lambda b, h, q, kv: ids[q] == ids[kv], ids[:40, None] == ids),
            (lambda b, h, q, kv: ids[q] != ids[kv], ids[:40, None] != ids),
            (lambda b, h, q, kv: ids[q] <= ids[kv], ids[:40, None] <= ids),
            (lambda b, h, q, kv: odd[kv] == (1 << 40), (odd == 1 << 40).expand(40, 70)),
            (lambda b, h, q, kv: table[q, kv] > 3, table > 3),
            (lambda b, h, q, kv: (ids[kv] > 0) & (kv <= q), (ids > 0) & (self.j <= self.i)),
        ):
            q, k, v = self.q.float(), self.k.float(), self.v.float()
            scores = torch.einsum("bhid,bhjd->bhij", q, k) / 4
            weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1).nan_to_num()
            expected = torch.einsum("bhij,bhjd->bhid", weights, v)
            for stage in (True, "hopper"):
                o = fa3.attention(self.q, self.k, self.v, mask_mod=mod, interpret=stage)
                torch.testing.assert_close(o.float(), expected, atol=2e-3, rtol=2e-3)

    def test_captured_numbers_have_32_bits(self):
        def mod(n):
            return lambda b, h, q, kv: q - kv <= n

        fa3.attention(self.q, self.k, self.v, mask_mod=mod(7), interpret=True)
        for n in (1 << 31, 1 << 40, -(1 << 31) - 1):
            with self.assertRaisesRegex(fa3.errors.Fa3Error, f"{n}"):
                fa3.attention(self.q, self.k, self.v, mask_mod=mod(n), interpret="hopper")

    def test_layout(self):
        q, k, v = (one.transpose(1, 2).contiguous() for one in (self.q, self.k, self.v))
        o = fa3.attention(q, k, v, layout="bshd", interpret=True)
        expected = fa3.attention(self.q, self.k, self.v, interpret=True)
        torch.testing.assert_close(o.transpose(1, 2), expected, rtol=0, atol=0)

    def test_causal(self):
        mask = self.j <= self.i + 30
        self.check(self.q, self.k, self.v, mask, causal=True)

    def test_groups(self):
        """Heads of a group, which the compiler knows, are rows of a tile: with a mask by
        position, a power of two of them. At every stage the values of repeated keys."""
        for heads, key_heads, named, known in (
            (8, 2, {"causal": True}, True), (8, 1, {"window": (20, 5)}, True),
            (4, 2, {"causal": True, "softcap": 3.0, "sinks": torch.randn(4)}, True),
            (6, 2, {"causal": True}, False), (4, 2, {}, False), (4, 4, {"causal": True}, False),
            (4, 2, {"causal": True, "mask_mod": lambda b, h, i, j: j > 3}, False),
        ):  # fmt: skip
            q = torch.randn(2, heads, 40, 16, dtype=torch.float16)
            k, v = (torch.randn(2, key_heads, 70, 16, dtype=torch.float16) for _ in range(2))
            request = Request(q, k, v, Arguments(interpret=True, **named))
            with self.subTest(heads=heads, key_heads=key_heads, named=named):
                self.assertEqual(request.spec.group, heads // key_heads if known else 1)
                all_heads = [
                    one.repeat_interleave(heads // key_heads, 1) for one in (k, v)
                ]
                expected = fa3.attention(
                    q, *all_heads, interpret="definition", return_lse=True, **named
                )
                for stage in ("definition", "tile", "hopper", "ptx"):
                    made = fa3.attention(q, k, v, interpret=stage, return_lse=True, **named)
                    for one, other in zip(made, expected):
                        torch.testing.assert_close(one, other, atol=2e-3, rtol=2e-3)

    def test_mods(self):
        slopes = torch.rand(2)
        keep = torch.rand(70) > 0.3
        start = torch.randint(0, 20, (40,), dtype=torch.int32)

        def score_mod(s, b, h, q, kv):
            return torch.tanh((s - slopes[h] * torch.abs(q - kv)) / 4) * 4

        def mask_mod(b, h, q, kv):
            return keep[kv] & (kv >= start[q]) & ((q - kv) // 3 % 2 == 0)

        def bias(s):
            far = (self.i - self.j).abs()
            return torch.tanh((s - slopes[:, None, None] * far) / 4) * 4

        mask = keep & (self.j >= start[:, None]) & ((self.i - self.j) // 3 % 2 == 0)
        self.check(
            self.q, self.k, self.v, mask, bias, score_mod=score_mod, mask_mod=mask_mod
        )


if __name__ == "__main__":
    unittest.main()
