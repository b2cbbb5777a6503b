# SPDX-License-Identifier: Apache-2.0
"""Memory that a caller gives to be written, and numbers and flags of any kind: honored,
or refused by name."""

import unittest

import support

import fa3

if support.HAS_TORCH:
    import numpy as np
    import torch
    from sequences import OnCpu, i32

    from fa3 import api
    from fa3.calls import launch
    from fa3.support import outputs, tensors
    from fa3 import flash_attn_interface as door
else:
    OnCpu = unittest.TestCase


@support.needs_torch
@support.needs_interpreter
class GivenMemoryTest(OnCpu):
    def setUp(self):
        super().setUp()
        self.q, self.k, self.v = (self.random(2, h, 13, 16) for h in (4, 4, 4))
        self.expected = api.attention(self.q, self.k, self.v)

    def test_operands_are_not_written(self):
        for name in "qkv":
            given = {"q": self.q.clone(), "k": self.k.clone(), "v": self.v.clone()}
            why = f"'out': lies in the memory of '{name}'"
            with self.assertRaisesRegex(fa3.ArgumentError, why):
                api.attention(**given, out=given[name])
            torch.testing.assert_close(given[name], getattr(self, name))
        both = torch.empty(2 * 4 * 13 * 16, dtype=torch.float16)
        rows = both.view(torch.float32)[:104].view(2, 4, 13)
        with self.assertRaisesRegex(fa3.ArgumentError, "'lse': lies in the memory of 'out'"):
            api.attention(self.q, self.k, self.v, out=both.view(2, 4, 13, 16), lse=rows,
                          return_lse=True)  # fmt: skip

    def test_slices_of_one_tensor(self):
        packed = torch.stack([self.q, self.k, self.v, self.q], 3).transpose(1, 2)
        q, k, v, out = (packed[:, :, :, n] for n in range(4))
        o = api.attention(q, k, v, out=out, layout="bshd")
        torch.testing.assert_close(o.transpose(1, 2), self.expected)
        with self.assertRaisesRegex(fa3.ArgumentError, "lies in the memory of 'v'"):
            api.attention(q, k, v, out=v, layout="bshd")

    def test_elements_that_share_memory(self):
        out = torch.empty(1, 4, 13, 16, dtype=torch.float16).expand(2, -1, -1, -1)
        with self.assertRaisesRegex(fa3.ArgumentError, "'out': strides .* share memory"):
            api.attention(self.q, self.k, self.v, out=out)
        with self.assertRaisesRegex(fa3.ArgumentError, "'lse': strides .* share memory"):
            api.attention(self.q, self.k, self.v, return_lse=True,
                          lse=torch.empty(1, 1, 13).expand(2, 4, 13))  # fmt: skip
        wide = torch.empty(2, 4, 13, 32, dtype=torch.float16)[..., ::2]
        with self.assertRaisesRegex(fa3.ArgumentError, "'out': stride 2"):
            api.attention(self.q, self.k, self.v, out=wide)

    def test_autograd_sees_what_is_written(self):
        weights = torch.ones_like(self.q).requires_grad_()
        out = torch.ones_like(self.q)
        made = (weights * out).sum()
        api.attention(self.q, self.k, self.v, out=out)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            made.backward()
        with self.assertRaisesRegex(fa3.UnsupportedError, "'out' requires some"):
            api.attention(self.q, self.k, self.v, out=weights)
        with torch.inference_mode():
            out = torch.empty_like(self.q)
            api.attention(self.q, self.k, self.v, out=out)
        torch.testing.assert_close(out, self.expected)

    def test_caches(self):
        q, new = self.random(2, 1, 4, 16), self.random(2, 1, 2, 16)
        k, v = self.random(2, 32, 2, 16), self.random(2, 32, 2, 16)
        versions = k._version, v._version
        door.flash_attn_with_kvcache(q, k, v, new, new, cache_seqlens=i32(3, 9))
        self.assertTrue(k._version > versions[0] and v._version > versions[1])
        k = self.random(1, 32, 2, 16).expand(2, -1, -1, -1)
        with self.assertRaisesRegex(fa3.ArgumentError, "'k_cache': strides .* share memory"):
            door.flash_attn_with_kvcache(q, k, v, new, new, cache_seqlens=i32(3, 9))

    def test_parts(self):
        outs, lses = torch.randn(3, 2, 4, 9, 16), torch.randn(3, 2, 4, 9)
        with self.assertRaisesRegex(fa3.ArgumentError, "'out': lies in the memory of 'outs'"):
            fa3.merge(outs, lses, out=outs[0], interpret=True)

    def test_overlap(self):
        base = torch.empty(8, 4, 3, 16)

        def view(one):
            return tensors.view("x", one)

        parts = [view(base[:, :, n]) for n in range(3)]
        self.assertFalse(outputs.overlap(parts[0], parts[1]))
        self.assertTrue(outputs.overlap(parts[1], parts[1]))
        self.assertTrue(outputs.overlap(view(base), parts[2]))
        self.assertFalse(outputs.overlap(view(base[:4]), view(base[4:])))
        self.assertTrue(outputs.overlap(view(base[:5]), view(base[4:])))
        self.assertTrue(outputs.overlap(view(base[..., :9]), view(base[..., 8:])))
        self.assertFalse(outputs.overlap(view(base[..., :8]), view(base[..., 8:])))
        self.assertFalse(outputs.repeats(view(base.transpose(0, 2))))
        self.assertTrue(outputs.repeats(view(base.unfold(0, 2, 1))))


@support.needs_torch
@support.needs_interpreter
class NumbersTest(OnCpu):
    def setUp(self):
        super().setUp()
        self.given = [self.random(2, h, 13, 16) for h in (4, 2, 2)]

    def test_gradients_of_numbers(self):
        number = torch.tensor(0.5, requires_grad=True)
        rows = [one.transpose(1, 2) for one in self.given]
        for grads in (False, True):
            for one in (*self.given, *rows):
                one.requires_grad_(grads)
            with self.assertRaisesRegex(fa3.UnsupportedError, "gradient of 'scale'"):
                api.attention(*self.given, scale=number)
            for name in ("softmax_scale", "softcap"):
                with self.assertRaisesRegex(fa3.UnsupportedError, f"gradient of '{name}'"):
                    door.flash_attn_func(*rows, **{name: number})
        with torch.no_grad():
            made = api.attention(*self.given, scale=number)
            torch.testing.assert_close(made, api.attention(*self.given, scale=0.5))

    def test_numbers_that_are_derived_or_recorded(self):
        from torch.autograd import forward_ad

        number = torch.tensor(0.5)

        def call(scale):
            return api.attention(*self.given, scale=scale)

        with forward_ad.dual_level():
            dual = forward_ad.make_dual(number, torch.tensor(1.0))
            with self.assertRaisesRegex(fa3.UnsupportedError, "'scale'"):
                call(dual)
        with self.assertRaisesRegex(fa3.UnsupportedError, "'scale' in a transform"):
            torch.func.vmap(call)(torch.tensor([0.5, 0.25]))
        with self.assertRaisesRegex(fa3.UnsupportedError, "'scale'"):
            torch.func.grad(lambda scale: call(scale).float().sum())(number)
        with self.assertRaisesRegex(fa3.UnsupportedError, "'scale' .* torch.jit.trace"):
            torch.jit.trace(call, (number,), check_trace=False)
        torch._dynamo.reset()
        compiled = torch.compile(call, backend="aot_eager")
        for value in (0.5, 0.25):
            torch.testing.assert_close(compiled(torch.tensor(value)), call(value))

    def test_flags(self):
        expected = api.attention(*self.given, causal=True)
        for yes in (1, np.True_, torch.tensor(True), np.array([1])):
            torch.testing.assert_close(api.attention(*self.given, causal=yes), expected)
        expected = api.attention(*self.given)
        for no in (0, None, np.False_, torch.tensor(0)):
            torch.testing.assert_close(api.attention(*self.given, causal=no), expected)
        rows = [one.transpose(1, 2) for one in self.given]
        for wrong in ("False", 2, 0.5, [True], torch.ones(2)):
            with self.assertRaisesRegex(fa3.ArgumentTypeError, "'causal'"):
                api.attention(*self.given, causal=wrong)
            with self.assertRaisesRegex(fa3.ArgumentTypeError, "'causal'"):
                door.flash_attn_func(*rows, causal=wrong)
            with self.assertRaisesRegex(fa3.ArgumentTypeError, "'return_lse'"):
                api.attention(*self.given, return_lse=wrong)

    @support.needs_driver
    def test_a_flag_that_changes(self):
        flag = torch.tensor(True)
        with support.fake_gpu():
            for said in (True, False, True):
                flag.fill_(said)
                api.attention(*self.given, causal=flag, interpret=False)
            # Beside each plan is what C launches of it, whose key starts otherwise.
            flags = [key[1] for key in launch.plans if type(key[1]) is bool]
            self.assertEqual(flags, [True, False])

    def test_numbers_of_numpy(self):
        expected = api.attention(*self.given, window=(3, 0), softcap=2.0, scale=0.5)
        made = api.attention(
            *self.given, window=(np.int64(3), np.int32(0)), softcap=np.float32(2),
            scale=np.float32(0.5),
        )  # fmt: skip
        torch.testing.assert_close(made, expected)

    def test_what_is_no_number(self):
        for name, wrong in (
            ("window", (True, False)), ("window", (3.0, 0)), ("scale", True),
            ("scale", "0.5"), ("softcap", "3"), ("softcap", True), ("generator", 3),
        ):  # fmt: skip
            more = {"dropout_p": 0.5} if name == "generator" else {}
            with self.assertRaisesRegex(fa3.ArgumentError, f"'{name}'"):
                api.attention(*self.given, **{name: wrong}, **more)
        bias = torch.zeros(2, 4, 13, 1).expand(2, 4, 13, 13)
        with self.assertRaisesRegex(fa3.ArgumentError, "'bias': stride 0"):
            api.attention(*self.given, bias=bias)

    def test_strides_are_named(self):
        def twice(*shape):
            return torch.zeros(*shape[:-1], 2 * shape[-1])[..., ::2]

        table, named = torch.zeros(13, 14).T, "'table'"
        for name, wrong in (
            ("sinks", twice(4)), ("alibi_slopes", torch.zeros(1).expand(4)),
            ("bias", twice(2, 4, 13, 13)),
        ):  # fmt: skip
            with self.assertRaisesRegex(fa3.ArgumentError, f"'{name}': stride"):
                api.attention(*self.given, **{name: wrong})
        with self.assertRaisesRegex(fa3.ArgumentError, f"{named}.*: stride 14"):
            api.attention(*self.given, score_mod=lambda s, b, h, i, j: s + table[i, j])
        rows = [one.transpose(1, 2) for one in self.given]
        lengths = torch.stack([i32(4, 9), i32(4, 9)], 1)[:, 0]
        pages = i32(1, 0, 1, 0).view(2, 2).T
        for named, name in (
            ({"cache_seqlens": lengths}, "seqused_k"),
            ({"cache_batch_idx": lengths}, "batch_index"),
            ({"page_table": pages}, "page_table"),
            ({"cu_seqlens_q": [0, 13, 26], "max_seqlen_q": 13}, "cu_seqlens_q"),
        ):  # fmt: skip
            with self.assertRaisesRegex(fa3.ArgumentError, f"'{name}': (stride|list)"):
                door.flash_attn_with_kvcache(*rows, **named)


if __name__ == "__main__":
    unittest.main()
