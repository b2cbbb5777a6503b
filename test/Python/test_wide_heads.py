# SPDX-License-Identifier: Apache-2.0
"""Head dims above 256 through every door: values of forwards and gradients, and by name
what there is none of, float8."""

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
    from fa3 import attention, flash_attn_interface

#: Of q and k, and of v.
PAIRS = ((512, 512), (576, 512), (64, 512))
#: The same of gradients.
GRADIENTS = (*PAIRS, (320, 320), (192, 512))


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

    def gradients(self, call, *given):
        """Of q, k and v, with weights of the output that differ."""
        given = [one.detach().clone().requires_grad_() for one in given]
        o = call(*given).float()
        (o * torch.linspace(-1, 1, o.shape[-1])).sum().backward()
        return [one.grad for one in given]

    def test_gradients(self):
        for dims in GRADIENTS:
            with self.subTest(dims):
                given = self.dense(*dims)
                made = self.gradients(
                    lambda *given: attention(*given, causal=True, interpret=True), *given
                )
                wanted = self.gradients(
                    lambda *given: definition(*given, causal=True)[0], *given
                )
                for one, other in zip(made, wanted):
                    self.close(one, other, 3e-2)

    def test_gradients_of_code(self):
        """A window, a soft cap and a bias that has a gradient, too."""
        q, k, v = self.dense(512, 512)
        bias = self.random(1, 2, 5, 70).requires_grad_()
        named = {"window": (30, 20), "softcap": 2.0}
        for call in (
            lambda q, k, v: attention(q, k, v, interpret=True, **named),
            lambda q, k, v: attention(q, k, v, bias=bias, interpret=True),
        ):
            bias.grad = None
            made = self.gradients(call, q, k, v)
            if bias.grad is None:
                wanted = self.gradients(lambda *x: definition(*x, **named)[0], q, k, v)
            else:
                made.append(bias.grad)
                bias.grad = None
                wanted = self.gradients(lambda *x: definition(*x, bias=bias)[0], q, k, v)
                wanted.append(bias.grad)
            for one, other in zip(made, wanted):
                self.close(one, other, 3e-2)

    def test_packed_gradients(self):
        cu_q, cu_k = starts([3, 5]), starts([9, 70])
        given = self.random(8, 2, 576), self.random(79, 1, 576), self.random(79, 1, 512)

        def one_by_one(q, k, v):
            return torch.cat([
                one_sequence(q[a:b], k[c:d], v[c:d], causal=True)[0]
                for a, b, c, d in ((0, 3, 0, 9), (3, 8, 9, 79))
            ])  # fmt: skip

        made = self.gradients(
            lambda q, k, v: flash_attn_interface.flash_attn_varlen_func(
                q, k, v, cu_q, cu_k, 5, 70, causal=True
            ), *given
        )  # fmt: skip
        for one, other in zip(made, self.gradients(one_by_one, *given)):
            self.close(one, other, 3e-2)

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
        from fa3.kernels.serving_spec import ServingSpec
        from fa3.kernels.spec import Spec

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

    def test_forward_and_gradients(self):
        operators = torch.ops.aten
        q, k, v = self.q[:, :1], self.k, self.v
        leaf = q.clone().requires_grad_()
        wanted, _ = definition(leaf, k, v)
        (wanted * torch.linspace(-1, 1, 512)).sum().backward()
        expected = leaf.grad
        for call in (
            lambda q: operators._scaled_dot_product_efficient_attention(
                q, k, v, None, True
            ),
            lambda q: operators._scaled_dot_product_flash_attention(q, k, v),
        ):
            leaf = q.clone().requires_grad_()
            made = call(leaf)[0]
            torch.testing.assert_close(made.float(), wanted, atol=5e-3, rtol=5e-3)
            (made.float() * torch.linspace(-1, 1, 512)).sum().backward()
            torch.testing.assert_close(leaf.grad, expected, atol=5e-3, rtol=5e-3)
        self.assertEqual(self.calls, [])

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
    def test_values_and_gradients(self):
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
        # Of the sum of o: dp is the sum of a row of v.
        made = jax.grad(lambda q: call(q).astype(jnp.float32).sum())(q)
        p /= p.sum(-1, keepdims=True)
        dp = np.float32(v).sum(-1)[:, :, None]
        ds = p * (dp - (p * dp).sum(-1, keepdims=True))
        np.testing.assert_allclose(
            np.float32(made), ds @ np.float32(k) * 512**-0.5, atol=5e-2, rtol=5e-2
        )


if __name__ == "__main__":
    unittest.main()
