# SPDX-License-Identifier: Apache-2.0
"""qv of FlashAttention-3's functions: scores of two parts, q k^T + qv v^T, against that
formula, and what is no argument of it."""

import unittest
from unittest import mock

import support
from sequences import OnCpu, i32, starts

if support.HAS_TORCH:
    import torch

    import fa3
    from fa3 import serving
    from fa3 import flash_attn_interface as door


def definition(q, qv, k, v, *, causal=False, scale=None):
    """(queries, heads, d): o and lse (heads, queries) of one sequence."""
    group = q.shape[1] // k.shape[1]
    k, v = (one.repeat_interleave(group, 1).float() for one in (k, v))
    s = torch.einsum("ihd,jhd->hij", q.float(), k)
    s = s + torch.einsum("ihd,jhd->hij", qv.float(), v)
    s = s * (scale or (q.shape[-1] + qv.shape[-1]) ** -0.5)
    if causal:
        i, j = torch.arange(q.shape[0])[:, None], torch.arange(k.shape[0])[None]
        s = s.masked_fill(j > i + k.shape[0] - q.shape[0], -torch.inf)
    return torch.einsum("hij,jhd->ihd", torch.softmax(s, -1), v), s.logsumexp(-1)


@support.needs_torch
@support.needs_interpreter
class QvTest(OnCpu):
    def setUp(self):
        super().setUp()
        self.seen = []
        real = serving.attention

        def attention(q, k, v, **named):
            self.seen.append((k, v, named.get("qv")))
            return real(q, k, v, **named)

        patch = mock.patch.object(serving, "attention", attention)
        patch.start()
        self.addCleanup(patch.stop)

    def random(self, *shape):
        return torch.randn(*shape).bfloat16()

    def close(self, made, expected, tolerance=2e-2):
        super().close(made, expected, tolerance)

    def rows(self, count, heads=4, dv=512):
        return self.random(count, heads, 64), self.random(count, heads, dv)

    def test_dense(self):
        for dv in (512, 256):
            q, qv = self.rows(5, dv=dv)
            k, v = self.rows(70, 1, dv)
            for scale in (None, 0.05):
                made, lse = door.flash_attn_func(
                    q[None], k[None], v[None], softmax_scale=scale, causal=True,
                    qv=qv[None], return_attn_probs=True,
                )  # fmt: skip
                wanted, sums = definition(q, qv, k, v, causal=True, scale=scale)
                self.close(made[0], wanted)
                self.close(lse[0], sums)

    def test_packed(self):
        q, qv = self.rows(8)
        k, v = self.rows(79, 1)
        made = door.flash_attn_varlen_func(
            q, k, v, starts([3, 5]), starts([9, 70]), 5, 70, causal=True, qv=qv
        )
        for of_q, of_k in ((slice(3), slice(9)), (slice(3, 8), slice(9, 79))):
            wanted, _ = definition(q[of_q], qv[of_q], k[of_k], v[of_k], causal=True)
            self.close(made[of_q], wanted)

    def test_joined(self):
        """Where kernels do not take qv: one product, of columns next to each other."""
        from fa3.serving import qv as joins

        for order, first in (("v first", 1), ("k first", 0), ("apart", None)):
            pair = self.caches(order)
            q, qv = self.rows(3)
            joined, rows = joins.join(q, qv, *pair)
            self.assertEqual(rows.data_ptr() in [one.data_ptr() for one in pair],
                             first is not None)  # fmt: skip
            if first is not None:
                self.assertEqual(rows.data_ptr(), pair[first].data_ptr())
            wanted = q.float() @ pair[0][0, 0, 0].float() + (
                qv.float() @ pair[1][0, 0, 0].float()
            )
            self.close(joined.float() @ rows[0, 0, 0].float(), wanted)

    def caches(self, order):
        """Pages whose columns are k and v, or v and k, or those of two memories."""
        if order == "apart":
            return self.random(4, 64, 1, 64), self.random(4, 64, 1, 512)
        both = self.random(4, 64, 1, 576)
        if order == "v first":
            return both[..., 512:], both[..., :512]
        return both[..., :64], both[..., 64:]

    def test_cache(self):
        table, used = i32(2, 0, 3, 1).view(2, 2), i32(40, 70)
        for order in ("v first", "k first", "apart"):
            for adds in (False, True):
                with self.subTest(f"{order} {adds}"):
                    k, v = self.caches(order)
                    q, qv = self.random(2, 1, 4, 64), self.random(2, 1, 4, 512)
                    new = (self.random(2, 1, 1, 64), self.random(2, 1, 1, 512)) if adds else ()
                    made = door.flash_attn_with_kvcache(
                        q, k, v, *new, qv=qv, cache_seqlens=used, page_table=table,
                        causal=True,
                    )  # fmt: skip
                    read = self.seen.pop()
                    self.assertEqual(read[0].data_ptr(), k.data_ptr())
                    self.assertEqual(read[1].data_ptr(), v.data_ptr())
                    self.assertEqual(read[0].shape[-1], 64)
                    for b in range(2):
                        rows = [
                            one[table[b].long()].flatten(0, 1)[: used[b] + adds]
                            for one in (k, v)
                        ]
                        if adds:
                            for one, other in zip(rows, new):
                                self.assertTrue(torch.equal(one[-1], other[b, 0]))
                        wanted, _ = definition(q[b], qv[b], *rows)
                        self.close(made[b], wanted)

    def test_turned(self):
        """New keys and queries are turned, qv is not."""
        from test_flash_attn_interface import turned

        q, qv = self.rows(1)
        k, v = self.caches("v first")
        new = self.random(1, 1, 1, 64), self.random(1, 1, 1, 512)
        angles = torch.rand(300, 32)
        tables = angles.cos(), angles.sin()
        made = door.flash_attn_with_kvcache(
            q[None], k, v, *new, qv=qv[None], rotary_cos=tables[0], rotary_sin=tables[1],
            cache_seqlens=i32(7), page_table=i32(1).view(1, 1), causal=True,
        )  # fmt: skip
        at = torch.tensor([7])
        of_q, of_k = (turned(one, at, *tables, True).bfloat16() for one in (q, new[0][0]))
        rows = torch.cat((k[1, :7], of_k)), torch.cat((v[1, :7], new[1][0]))
        self.close(made[0], definition(of_q, qv, *rows)[0])

    def test_gradients(self):
        """Of all four."""
        for dv in (128, 512):
            with self.subTest(dv):
                self.check_gradients(dv)

    def check_gradients(self, dv):
        q, qv = self.rows(5, dv=dv)
        k, v = self.rows(20, 1, dv)
        given = [one[None].requires_grad_() for one in (q, qv, k, v)]
        wide = [one[0].detach().float().requires_grad_() for one in given]
        made = door.flash_attn_func(given[0], given[2], given[3], causal=True, qv=given[1])
        wanted, _ = definition(*wide, causal=True)
        do = torch.randn_like(wanted)
        for one, other in zip(
            torch.autograd.grad(made, given, do[None].bfloat16()),
            torch.autograd.grad(wanted, wide, do),
        ):
            self.close(one[0], other, 5e-2)

    def test_refusals(self):
        q, qv = self.rows(5)
        k, v = self.rows(20, 1)

        def refused(text, q=q, qv=qv, k=k, v=v):
            with self.assertRaisesRegex((ValueError, NotImplementedError), text):
                door.flash_attn_func(q[None], k[None], v[None], qv=qv[None])

        refused("'qv': shape .1, 5, 4, 256., expected .1, 5, 4, 512.", qv=qv[..., :256])
        refused("'qv': element type torch.float16, expected torch.bfloat16", qv=qv.half())
        refused("'qv': 512 columns beside 128 of q, expected 576 together",
                q=qv[..., :128], k=v[..., :128])  # fmt: skip
        refused("'k': head dim 32, expected 64 as q", k=k[..., :32])
        eighth = [one.to(torch.float8_e4m3fn) for one in (q, qv, k, v)]
        refused("qv beside torch.float8", *eighth)
        with self.assertRaisesRegex(fa3.UnsupportedError, "'qv' requires some"):
            door.flash_attn_with_kvcache(
                q[None], k[None], v[None], qv=qv[None].clone().requires_grad_()
            )


if __name__ == "__main__":
    unittest.main()
