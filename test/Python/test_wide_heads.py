# SPDX-License-Identifier: Apache-2.0
"""Head dims above 256 through every door: values of forwards, and by name what there is
none of, gradients and float8."""

import unittest
from unittest import mock

import support
import switch_case
from sequences import OnCpu, i32, one_sequence, starts

import fa3

if support.HAS_TORCH:
    import torch
    from test_torch import definition
    from torch.nn import functional

    import fa3.torch as door
    from fa3 import attention, flash_attn_interface, sdpa

#: Of q and k, and of v.
PAIRS = ((512, 512), (576, 512), (64, 512))


@support.needs_torch
@support.needs_interpreter
class WideTest(OnCpu):
    def setUp(self):
        super().setUp()
        torch.manual_seed(0)

    def random(self, *shape):
        return torch.randn(*shape).bfloat16()

    def dense(self, dim, dim_v, queries=5, keys=70):
        return (
            self.random(1, 2, queries, dim), self.random(1, 1, keys, dim),
            self.random(1, 1, keys, dim_v),
        )  # fmt: skip

    def close(self, made, expected, tolerance=2e-2):
        torch.testing.assert_close(
            made.float(), expected.float(), atol=tolerance, rtol=tolerance
        )

    def test_attention(self):
        for dims in PAIRS:
            with self.subTest(dims):
                q, k, v = self.dense(*dims)
                o, lse = attention(
                    q, k, v, causal=True, return_lse=True, interpret=True
                )
                for made, wanted in zip((o, lse), definition(q, k, v, causal=True)):
                    self.close(made, wanted)

    def test_compiled(self):
        """An operator of torch, and its graph."""
        q, k, v = self.dense(512, 512)
        call = torch.compile(
            lambda q, k, v: door.attention(q, k, v, causal=True, interpret=True),
            backend="aot_eager", fullgraph=True,
        )  # fmt: skip
        self.close(call(q, k, v), definition(q, k, v, causal=True)[0])

    def test_packed(self):
        lengths = (3, 9), (5, 70)
        cu_q, cu_k = starts([3, 5]), starts([9, 70])
        q, k, v = self.random(8, 2, 576), self.random(79, 1, 576), self.random(79, 1, 512)
        made, lse = flash_attn_interface.flash_attn_varlen_func(
            q, k, v, cu_q, cu_k, 5, 70, causal=True, return_attn_probs=True
        )
        for n, (rows, keys) in enumerate(lengths):
            mine, its = slice(cu_q[n], cu_q[n + 1]), slice(cu_k[n], cu_k[n + 1])
            self.assertEqual((mine.stop - mine.start, its.stop - its.start), (rows, keys))
            o, sums = one_sequence(q[mine], k[its], v[its], causal=True)
            self.close(made[mine], o)
            self.close(lse[:, mine], sums)

    def test_cache(self):
        """Pages, parts of the keys, and new keys, which torch's operations write."""
        table, used = i32(2, 0, 3, 1).view(2, 2), i32(40, 70)
        q, k, v = self.random(2, 1, 4, 512), *(self.random(4, 64, 1, 512) for _ in range(2))
        new = [self.random(2, 1, 1, 512) for _ in range(2)]
        for splits, added in ((1, ()), (2, ()), (1, new)):
            cache = k.clone(), v.clone()
            made = flash_attn_interface.flash_attn_with_kvcache(
                q, *cache, *added, cache_seqlens=used, page_table=table,
                num_splits=splits, causal=True,
            )  # fmt: skip
            for b in range(2):
                keys = [
                    one[table[b].long()].reshape(-1, 1, 512)[: used[b]] for one in (k, v)
                ]
                if added:
                    keys = [torch.cat((x, y[b])) for x, y in zip(keys, added)]
                    where = table[b, used[b] // 64], used[b] % 64
                    for one, other in zip(cache, added):
                        self.assertTrue(torch.equal(one[where], other[b, 0]))
                self.close(made[b], one_sequence(q[b], *keys, causal=True)[0])

    def test_more_heads_than_rows(self):
        """128 heads of one key head are two tiles of 64 rows."""
        from fa3.serving_spec import ServingSpec
        from fa3.spec import Spec

        q, k, v = self.random(1, 1, 128, 64), self.random(1, 70, 1, 64), self.random(1, 70, 1, 64)
        for splits in (1, 2):
            made = flash_attn_interface.flash_attn_with_kvcache(
                q, k, v, cache_seqlens=i32(70), num_splits=splits
            )
            self.close(made[0], one_sequence(q[0], k[0], v[0])[0])
        packs = [
            ServingSpec(Spec(*["bf16"] * 4, 64, 64), ("used_k",), heads=(n, 1)).options
            for n in (1, 64, 71, 128)
        ]
        self.assertEqual(packs, [{}, {"pack_gqa": True}, {}, {"pack_gqa": True}])

    def test_rotated_cache(self):
        """The kernel that writes takes no wide rows, with rotary embedding neither."""
        import test_flash_attn_interface

        q, new = self.random(1, 1, 2, 512), [self.random(1, 1, 1, 512) for _ in range(2)]
        k, v = (self.random(1, 40, 1, 512) for _ in range(2))
        angles = torch.rand(40, 32)
        cos, sin = angles.cos(), angles.sin()
        made = flash_attn_interface.flash_attn_with_kvcache(
            q, k.clone(), v.clone(), *new, rotary_cos=cos, rotary_sin=sin,
            cache_seqlens=i32(7), causal=True, rotary_interleaved=False,
        )  # fmt: skip
        at = torch.tensor([7])
        turned = [
            test_flash_attn_interface.turned(one[0], at, cos, sin, False).bfloat16()
            for one in (q, new[0])
        ]
        keys = [torch.cat((k[0, :7], turned[1])), torch.cat((v[0, :7], new[1][0]))]
        self.close(made[0], one_sequence(turned[0], *keys)[0])

    def test_transformers(self):
        from fa3 import hf

        q, k, v = self.dense(512, 512, queries=5, keys=5)
        module = torch.nn.Module()
        module.is_causal = True
        made, _ = hf.attention_forward(module, q, k, v, None, scaling=0.05, interpret=True)
        wanted, _ = definition(q, k, v, causal=True, scale=0.05)
        self.close(made.transpose(1, 2), wanted)

    def test_refusals(self):
        def refused(text, call, *args, **named):
            with self.assertRaisesRegex((fa3.UnsupportedError, ValueError), text):
                call(*args, **named)

        for dims, text in (
            ((584, 64), "'q': head dim 584, expected a multiple of 8 up to 576"),
            ((64, 520), "'v': head dim 520, expected a multiple of 8 up to 512"),
        ):
            refused(text, attention, *self.dense(*dims), interpret=True)
        wide = [one.to(torch.float8_e4m3fn) for one in self.dense(320, 320)]
        refused("'q': head dim 320, .*up to 256 for float8", attention, *wide, interpret=True)
        q, k, v = self.dense(512, 512)
        q.requires_grad_()
        limit = "head dims 512 and 512, expected up to 256"
        refused(f"gradients of fa3.attention: {limit}", attention, q, k, v, interpret=True)
        with torch.no_grad():
            attention(q, k, v, causal=True, interpret=True)
        door.set_backward("torch")
        self.addCleanup(door.set_backward, "fa3")
        refused(limit, attention, q, k, v, interpret=True)
        door.set_backward("fa3")
        rows = [one[0].transpose(0, 1) for one in (q, k, v)]
        refused(
            f"gradients of packed sequences: {limit}",
            flash_attn_interface.flash_attn_varlen_func,
            *rows, starts([5]), starts([70]), 5, 70,
        )  # fmt: skip
        refused(limit, flash_attn_interface.flash_attn_func,
                *(one.transpose(1, 2) for one in (q, k, v)))  # fmt: skip


@support.needs_torch
@unittest.skipUnless(
    support.HAS_TORCH and hasattr(torch.library, "get_kernel"), "needs torch 2.9"
)
@support.needs_interpreter
class SwitchTest(switch_case.SwitchCase):
    """scaled_dot_product_attention, for which torch has one kernel for wide heads."""

    def setUp(self):
        super().setUp()
        self.q = torch.randn(1, 2, 5, 512).half()
        self.k, self.v = (torch.randn(1, 1, 33, 512).half() for _ in range(2))

    def test_forward_and_gradients_of_torch(self):
        operators = torch.ops.aten
        wanted, _ = definition(self.q, self.k, self.v)
        given = self.q.clone().requires_grad_(), self.k, self.v
        made = operators._scaled_dot_product_efficient_attention(*given, None, True)[0]
        torch.testing.assert_close(made.float(), wanted, atol=5e-3, rtol=5e-3)
        self.assertEqual(self.calls, [])
        # The kernel of torch whose forward that was takes wide heads.
        made.float().sum().backward()
        self.assertTrue(bool((given[0].grad == 7).all()))
        self.assertEqual(self.calls, ["efficient_backward"])
        self.assertIn("gradients: head dim 512", str(sdpa.report()))
        # FlashAttention's does not: nor is there a forward that would need it.
        made = operators._scaled_dot_product_flash_attention(*given)[0]
        self.assertTrue(bool((made == 7).all()))
        made = operators._scaled_dot_product_flash_attention(self.q, self.k, self.v)[0]
        torch.testing.assert_close(made.float(), wanted, atol=5e-3, rtol=5e-3)

    def test_groups(self):
        """What torch's choice sees of groups of heads, which its kernel does not take."""
        seen = []
        real = self.switch.whole.call_boxed
        with mock.patch.object(self.switch, "whole") as whole:
            def call_boxed(keys, *args, **named):
                seen.append((args[1].shape[1], named["enable_gqa"]))
                return real(keys, *args, **named)

            whole.call_boxed = call_boxed
            for dim, heads in ((512, (2, False)), (64, (1, True))):
                given = [one[..., :dim] for one in (self.q, self.k, self.v)]
                o = functional.scaled_dot_product_attention(*given, enable_gqa=True)
                self.assertEqual(seen.pop(), heads)
                torch.testing.assert_close(
                    o.float(), definition(*given)[0], atol=5e-3, rtol=5e-3
                )


@support.needs_jax
@support.needs_interpreter
class JaxTest(unittest.TestCase):
    def test_forward_only(self):
        import jax
        import jax.numpy as jnp
        import numpy as np

        import fa3.jax

        rng = np.random.default_rng(0)
        q, k, v = (
            jnp.asarray(rng.normal(size=(1, 1, n, d)), jnp.bfloat16)
            for n, d in ((5, 512), (40, 512), (40, 512))
        )

        def call(q):
            return fa3.jax.attention(q, k, v, interpret=True)

        s = np.einsum("bhid,bhjd->bhij", *(np.float32(one) for one in (q, k))) * 512**-0.5
        p = np.exp(s - s.max(-1, keepdims=True))
        wanted = p / p.sum(-1, keepdims=True) @ np.float32(v)
        np.testing.assert_allclose(np.float32(call(q)), wanted, atol=2e-2)
        with self.assertRaisesRegex(fa3.UnsupportedError, "head dims 512 and 512, expected"):
            jax.grad(lambda q: call(q).astype(jnp.float32).sum())(q)


if __name__ == "__main__":
    unittest.main()
