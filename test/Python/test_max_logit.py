# SPDX-License-Identifier: Apache-2.0
"""The largest logit of each head, and of each query: against torch's math, at every
door, beside gradients, in graphs, and what is refused."""

import math
import unittest

import support
from sequences import OnCpu, i32, starts

import fa3
from fa3.calls import max_logit

if support.HAS_TORCH:
    import torch

    from fa3 import flash_attn_interface as door
    from fa3.torch import attention as operator


def largest(q, k, *, causal=False, softcap=0.0, bias=None):
    """(batch, heads, queries) of q and k (batch, heads, rows, d)."""
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    s = q.double() @ k.double().transpose(-1, -2) * q.shape[-1] ** -0.5
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    if bias is not None:
        s = s + bias
    if causal:
        i = torch.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2]
        s = s.masked_fill(torch.arange(k.shape[2])[None] > i, -math.inf)
    return s.amax(-1)


@support.needs_torch
@support.needs_interpreter
class DenseTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.q = torch.randn(2, 4, 21, 32, dtype=torch.bfloat16)
        self.k, self.v = (torch.randn(2, 2, 17, 32, dtype=torch.bfloat16) for _ in range(2))

    def same(self, mine, wanted):
        self.assertEqual((mine.shape, mine.dtype), (wanted.shape, torch.float32))
        torch.testing.assert_close(mine.double(), wanted, rtol=1e-5, atol=1e-5)

    def test_rows_and_heads(self):
        # Four queries see no key.
        bias = torch.randn(2, 4, 21, 17)
        for named in ({"causal": True}, {"softcap": 2.0}, {"bias": bias.float()}):
            with self.subTest(list(named)):
                wanted = largest(self.q, self.k, **named)
                plain, lse = fa3.attention(
                    self.q, self.k, self.v, return_lse=True, interpret=True, **named
                )
                o, head = fa3.attention(
                    self.q, self.k, self.v, return_max_logit=True, interpret=True, **named
                )
                self.same(head, wanted.amax((0, 2)))
                more = fa3.attention(
                    self.q, self.k, self.v, return_max_logit="row", return_lse=True,
                    interpret=True, **named,
                )  # fmt: skip
                self.assertEqual(len(more), 3)
                self.same(more[2], wanted)
                for one, other in ((o, plain), (more[0], plain), (more[1], lse)):
                    self.assertTrue(torch.equal(one, other))
        self.assertTrue(torch.isinf(largest(self.q, self.k, causal=True)).any())

    def test_layout_and_memory(self):
        q, k, v = (one.transpose(1, 2).contiguous() for one in (self.q, self.k, self.v))
        out = torch.empty_like(q)
        o, head = fa3.attention(
            q, k, v, layout="bshd", out=out, return_max_logit="head", interpret=True
        )
        self.assertIs(o, out)
        self.same(head, largest(self.q, self.k).amax((0, 2)))

    def test_mods(self):
        o, rows = fa3.attention(
            self.q, self.k, self.v, score_mod=lambda s, b, h, q, kv: s * s - h,
            return_max_logit="row", interpret=True,
        )  # fmt: skip
        s = self.q.double() @ self.k.repeat_interleave(2, 1).double().transpose(-1, -2)
        s = (s * 32**-0.5) ** 2 - torch.arange(4)[None, :, None, None]
        torch.testing.assert_close(rows.double(), s.amax(-1), rtol=1e-4, atol=1e-4)

    def test_float8(self):
        q, k, v = (one.to(torch.float8_e4m3fn) for one in (self.q, self.k, self.v))
        descale = torch.tensor([[0.5]])
        o, rows = fa3.attention(
            q, k, v, q_descale=descale, causal=True, return_max_logit="row", interpret=True
        )
        self.same(rows, largest(q.double() * 0.5, k, causal=True))

    def test_no_rows(self):
        for queries, keys in ((0, 17), (21, 0)):
            o, head = fa3.attention(
                self.q[:, :, :queries], self.k[:, :, :keys], self.v[:, :, :keys],
                return_max_logit=True, interpret=True,
            )  # fmt: skip
            self.assertEqual(head.tolist(), [-math.inf] * 4)

    def test_gradients(self):
        """The same as without it: nothing comes back through the largest logits."""
        made = []
        for named in ({}, {"return_max_logit": True}):
            given = [one.clone().requires_grad_() for one in (self.q, self.k, self.v)]
            o = fa3.attention(*given, causal=True, interpret=True, **named)
            if named:
                o, head = o
                self.assertFalse(head.requires_grad)
                self.same(head, largest(self.q, self.k, causal=True).amax((0, 2)))
            o.backward(self.q.detach())
            made.append([one.grad for one in given])
        for one, other in zip(*made):
            self.assertTrue(torch.equal(one, other))

    def test_lse_has_a_gradient(self):
        given = [one.clone().requires_grad_() for one in (self.q, self.k, self.v)]
        o, lse, rows = fa3.attention(
            *given, return_lse=True, return_max_logit="row", interpret=True
        )
        lse.sum().backward()
        self.assertTrue(given[0].grad.abs().sum() > 0)
        self.assertFalse(rows.requires_grad)

    def test_operators(self):
        for grads in (False, True):
            given = [one.clone().requires_grad_(grads) for one in (self.q, self.k, self.v)]
            run = torch.compile(
                lambda q, k, v: fa3.attention(
                    q, k, v, causal=True, return_max_logit=True, interpret=True
                ),
                backend="aot_eager", fullgraph=True,
            )  # fmt: skip
            o, head = run(*given)
            self.same(head.detach(), largest(self.q, self.k, causal=True).amax((0, 2)))
            if grads:
                o.sum().backward()
                self.assertIsNotNone(given[0].grad)
        o, lse, rows = operator(self.q, self.k, self.v, max_logits=True, interpret=True)
        self.same(rows, largest(self.q, self.k))

    def test_operators_are_sound(self):
        from fa3.kernels import program
        from fa3.kernels.arguments import Arguments
        from fa3.autograd.namespace import ops

        text = program.to_text(Arguments(return_lse=True, interpret=True, max_logits=True))
        torch.library.opcheck(
            ops.inference_max.default, (self.q, self.k, self.v, [], [], text, None)
        )

    def test_eagerly_in_graphs(self):
        """With mods the graph breaks around the call."""
        run = torch.compile(
            lambda q, k, v: fa3.attention(
                q, k, v, mask_mod=lambda b, h, i, j: j <= i + 3, return_max_logit=True,
                interpret=True,
            )[1],
            backend="aot_eager",
        )  # fmt: skip
        s = self.q.double() @ self.k.repeat_interleave(2, 1).double().transpose(-1, -2)
        seen = torch.arange(17)[None] <= torch.arange(21)[:, None] + 3
        s = (s * 32**-0.5).masked_fill(~seen, -math.inf)
        self.same(run(self.q, self.k, self.v), s.amax((0, 2, 3)))

    def test_refusals(self):
        with self.assertRaisesRegex(fa3.ArgumentError, "'return_max_logit': 'batch', expected"):
            fa3.attention(self.q, self.k, self.v, return_max_logit="batch", interpret=True)
        with self.assertRaisesRegex(fa3.UnsupportedError, "return_max_logit under a transform"):
            torch.func.vmap(
                lambda q, k, v: fa3.attention(q, k, v, return_max_logit=True, interpret=True)
            )(self.q[None], self.k[None], self.v[None])

    def test_flex(self):
        from torch.nn.attention import flex_attention as flex

        if not hasattr(flex, "AuxRequest"):
            self.skipTest("an older torch")
        for lse in (False, True):
            o, aux = fa3.flex_attention(
                self.q, self.k, self.v, enable_gqa=True, interpret=True,
                return_aux=flex.AuxRequest(lse=lse, max_scores=True),
            )  # fmt: skip
            self.same(aux.max_scores, largest(self.q, self.k))
            self.assertEqual(aux.lse is not None, lse)
        with self.assertRaisesRegex(fa3.UnsupportedError, "block_m with max_scores"):
            fa3.flex_attention(
                self.q, self.k, self.v, enable_gqa=True, kernel_options={"block_m": 128},
                return_aux=flex.AuxRequest(max_scores=True),
            )  # fmt: skip


@support.needs_torch
@support.needs_interpreter
class SequencesTest(OnCpu):
    def setUp(self):
        super().setUp()
        torch.manual_seed(3)

    def test_packed(self):
        queries, keys = (20, 0, 3), (25, 9, 2)
        cu_q, cu_k = starts(queries), starts(keys)
        # The last rows are nobody's.
        q = torch.randn(27, 4, 16, dtype=torch.bfloat16)
        k, v = (torch.randn(36, 2, 16, dtype=torch.bfloat16) for _ in range(2))
        wanted = torch.full((4, 27), -math.inf, dtype=torch.float64)
        for n in (0, 2):
            rows, of_keys = slice(cu_q[n], cu_q[n + 1]), slice(cu_k[n], cu_k[n + 1])
            one = (x.transpose(0, 1)[None] for x in (q[rows], k[of_keys]))
            wanted[:, rows] = largest(*one, causal=True)[0]
        for grads in (False, True):
            given = [one.clone().requires_grad_(grads) for one in (q, k, v)]
            for kind in ("row", True):
                o, made = door.flash_attn_varlen_func(
                    *given, cu_q, cu_k, 20, 25, causal=True, return_max_logit=kind
                )
                expected = wanted if kind == "row" else wanted.amax(1)
                torch.testing.assert_close(made.double(), expected, rtol=1e-5, atol=1e-5)
                self.assertFalse(made.requires_grad)
            if grads:
                o[:20].float().sum().backward()
                self.assertTrue(given[2].grad.abs().sum() > 0)
        made = door.flash_attn_varlen_func(
            q, k, v, cu_q, cu_k, 20, 25, return_attn_probs=True, return_max_logit=True
        )
        self.assertEqual([tuple(one.shape) for one in made], [(27, 4, 16), (4, 27), (4,)])

    def test_cache(self):
        """Pages, parts, and queries of 16 bits on keys of 8."""
        q = torch.randn(2, 2, 4, 16, dtype=torch.bfloat16)
        cache = torch.randn(2, 5, 8, 2, 16)
        used, table = i32(13, 3), i32(4, 1, 0, 2).view(2, 2)
        for type in (torch.bfloat16, torch.float8_e4m3fn):
            k, v = cache.to(type)
            rows = k.float()[table.long()].flatten(1, 2)
            wanted = torch.stack([
                largest(
                    q[n : n + 1].transpose(1, 2), rows[n : n + 1, : used[n]].transpose(1, 2),
                    causal=True,
                )[0]
                for n in range(2)
            ])  # fmt: skip
            for splits in (1, 3):
                o, made = door.flash_attn_with_kvcache(
                    q, k, v, cache_seqlens=used, page_table=table, causal=True,
                    num_splits=splits, return_max_logit="row",
                )  # fmt: skip
                # An element of 16 bits is a sum of two of 8.
                atol = 1e-5 if type is torch.bfloat16 else 5e-3
                torch.testing.assert_close(made.double(), wanted, rtol=1e-3, atol=atol)
            o, head = door.flash_attn_with_kvcache(
                q, k, v, cache_seqlens=used, page_table=table, return_max_logit=True
            )
            self.assertEqual(head.shape, (4,))

    def test_dense(self):
        q = torch.randn(1, 9, 4, 20, dtype=torch.bfloat16)  # columns of 0 are added
        k, v = (torch.randn(1, 12, 2, 20, dtype=torch.bfloat16) for _ in range(2))
        wanted = largest(q.transpose(1, 2), k.transpose(1, 2), causal=True)
        for named in ({}, {"return_attn_probs": True}):
            *made, head = door.flash_attn_func(q, k, v, causal=True, return_max_logit=True, **named)
            self.assertEqual(len(made), 1 + len(named))
            torch.testing.assert_close(head.double(), wanted.amax((0, 2)), rtol=1e-5, atol=1e-5)


class ArgumentTest(unittest.TestCase):
    def test_check(self):
        for given, expected in (
            (False, ""), (None, ""), (True, "head"), ("head", "head"), ("row", "row"),
        ):  # fmt: skip
            self.assertEqual(max_logit.check(given), expected)
        with self.assertRaises(fa3.ArgumentError):
            max_logit.check(1.5)


if __name__ == "__main__":
    unittest.main()
