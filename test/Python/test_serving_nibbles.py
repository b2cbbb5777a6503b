# SPDX-License-Identifier: Apache-2.0
"""Caches of 4 bits beside queries of 16: values in the interpreter against torch, what a
launch gets by the fake driver, and what is refused."""

import contextlib
import unittest
from unittest import mock

import support
from sequences import OnCpu, i32, one_sequence, starts

if support.HAS_TORCH:
    import torch

    import fa3
    from fa3 import flash_attn_interface as door
    from fa3 import serving
    from fa3.calls import launch
    from fa3.serving import nibbles


@support.needs_torch
@support.needs_interpreter
class NibblesTest(OnCpu):
    def cache(self, *shape):
        """Bytes and scales of random rows, and the rows that they stand for."""
        packed, scale = nibbles.pack(self.random(*shape))
        self.assertEqual(packed.shape[-1] * 2, shape[-1])
        return packed, scale, nibbles.unpack(packed, scale)

    def test_bytes(self):
        """Element c is in bits 0 to 3 of byte c, element c + d / 2 in bits 4 to 7."""
        row = torch.zeros(1, 1, 32)
        row[0, 0, 0], row[0, 0, 1], row[0, 0, 16], row[0, 0, 31] = 7.0, -7.0, 2.0, -1.0
        packed, scale = nibbles.pack(row)
        self.assertEqual(scale.tolist(), [[1.0]])
        self.assertEqual(packed[0, 0].tolist(), [0x27, 0x09, *[0] * 13, 0xF0])
        self.assertTrue(torch.equal(nibbles.unpack(packed, scale), row))
        rows = torch.randn(5, 3, 64)
        packed, scale = nibbles.pack(rows)
        self.assertEqual(scale.shape, (3, 5))
        off = (nibbles.unpack(packed, scale) - rows).abs() / scale.T[..., None]
        self.assertLessEqual(float(off.max()), 0.5 + 1e-4)

    def test_padded(self):
        q = self.random(2, 5, 4, 64)
        (k, ks, wk), (v, vs, wv) = (self.cache(2, 40, 2, 64) for _ in "kv")
        for dtype, splits in ((torch.float16, 1), (torch.bfloat16, 2)):
            o, lse = serving.attention(
                q.to(dtype), k, v, used_k=i32(40, 7), causal=True, k_descale=ks, v_descale=vs,
                splits=splits, return_lse=True,
            )  # fmt: skip
            self.assertEqual(o.dtype, dtype)
            for n, length in enumerate((40, 7)):
                expected, sums = one_sequence(
                    q[n].to(dtype), wk[n, :length], wv[n, :length], causal=True
                )
                self.close(o[n], expected, 0.03)
                self.close(lse[n], sums, 0.01)

    def test_pages(self):
        table = i32(4, 0, 2, 1, 5, 3).view(2, 3)
        for page in (16, 64):
            q = self.random(2, 1, 8, 64)
            (k, ks, wk), (v, vs, wv) = (self.cache(6, page, 2, 64) for _ in "kv")
            # Scales of other rows may be anything.
            ks[3, :, page // 2 :], vs[3, :, page // 2 :] = float("nan"), float("inf")
            lengths = (3 * page, 2 * page + page // 2)
            o = serving.attention(
                q, k, v, used_k=i32(*lengths), page_table=table, causal=True, k_descale=ks,
                v_descale=vs, splits=2,
            )  # fmt: skip
            for n, length in enumerate(lengths):
                keys, values = (x[table[n].long()].flatten(0, 1)[:length] for x in (wk, wv))
                self.close(o[n], one_sequence(q[n], keys, values, causal=True)[0], 0.03)

    def test_packed(self):
        lengths = ((7, 20), (0, 5), (26, 26), (3, 40))
        cu_q, cu_k = (starts(one) for one in zip(*lengths))
        q = self.random(int(cu_q[-1]), 4, 32)
        (k, ks, wk), (v, vs, wv) = (self.cache(int(cu_k[-1]), 2, 32) for _ in "kv")
        o = serving.attention(
            q, k, v, cu_q=cu_q, cu_k=cu_k, max_q=26, max_k=40, window=(8, 0), k_descale=ks,
            v_descale=vs,
        )  # fmt: skip
        for n in range(4):
            a, b = (slice(*cu[n : n + 2].tolist()) for cu in (cu_q, cu_k))
            self.close(o[a], one_sequence(q[a], wk[b], wv[b], window=(8, 0))[0], 0.03)

    def test_new_keys(self):
        """They and their scales go into the cache behind the rows that count."""
        q, new = self.random(2, 3, 4, 64), [self.random(2, 3, 2, 64) for _ in "kv"]
        (k, ks, _), (v, vs, _) = (self.cache(2, 40, 2, 64) for _ in "kv")
        lengths = (20, 37)
        o = serving.attention(
            q, k, v, used_k=i32(*lengths), causal=True, k_descale=ks, v_descale=vs,
            k_new=new[0], v_new=new[1],
        )  # fmt: skip
        for n, length in enumerate(lengths):
            rows = slice(length, length + 3)
            for one, scale, given in ((k, ks, new[0]), (v, vs, new[1])):
                packed, units = nibbles.pack(given[n])
                self.assertTrue(torch.equal(one[n, rows], packed))
                self.assertTrue(torch.equal(scale[n, :, rows], units))
            keys, values = (
                nibbles.unpack(one, scale)[n, : length + 3] for one, scale in ((k, ks), (v, vs))
            )
            self.close(o[n], one_sequence(q[n], keys, values, causal=True)[0], 0.03)

    def test_errors(self):
        q = self.random(1, 2, 4, 64)
        k, ks, _ = self.cache(1, 8, 2, 64)
        given = {"k_descale": ks, "v_descale": ks}
        for change, error, expected in (
            ({"k_descale": None}, ValueError, "'k_descale': is needed with keys of 4 bits"),
            ({"v_descale": ks[..., None]}, TypeError, "'v_descale': torch.float32 of shape"),
            ({"q_descale": ks}, ValueError, "'q_descale': is for float8"),
            ({"qv": q}, NotImplementedError, "qv with keys of 4 bits"),
            ({"v": self.random(1, 8, 2, 64)}, TypeError, "'v': torch.float16, expected torch.u"),
            ({"q": q[..., :48]}, ValueError, "'k': head dim 64, expected 48 as q"),
            ({"q": q.to(torch.float8_e4m3fn)}, TypeError, "'k': element type i8"),
            ({"batch_invariant": True}, NotImplementedError, "keys of 4 bits, whose tiles"),
            ({"k_new": q, "v_new": q[..., :32]}, ValueError, "expected torch.float16 or"),
        ):  # fmt: skip
            asked = {"q": q, "k": k, "v": k, **given, **change}
            q_, k_, v_ = (asked.pop(name) for name in "qkv")
            with self.assertRaisesRegex(error, expected):
                serving.attention(q_, k_, v_, used_k=i32(5), **asked)
        with self.assertRaisesRegex(ValueError, "head dim 48, expected a multiple of 32"):
            nibbles.pack(self.random(2, 48))


@support.needs_torch
@support.needs_compiler
@support.needs_driver
class LaunchTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.fake = support.fake_driver()
        stack = self.enterContext(contextlib.ExitStack())
        for one in (
            support.fake_gpu(), mock.patch.object(serving.call, "_sms", lambda _: 132),
            mock.patch.object(torch.cuda, "device", lambda _: mock.MagicMock()),
        ):  # fmt: skip
            stack.enter_context(one)
        launch.plans.clear()
        self.q = torch.randn(2, 1, 8, 64).half()
        (self.k, self.ks), (self.v, self.vs) = (
            nibbles.pack(torch.randn(40, 16, 2, 64)) for _ in "kv"
        )
        self.table = torch.zeros(2, 20, dtype=torch.int32)

    def call(self, **change):
        """Results, and the launches, of a call on pages."""
        given = {
            "k_descale": self.ks, "v_descale": self.vs, "page_table": self.table,
            "used_k": i32(200, 17), "splits": 1, **change,
        }  # fmt: skip
        rows = [given.pop(name, getattr(self, name)) for name in "qkv"]
        before = self.fake.fakeCudaNumLaunches()
        made = serving.attention(*rows, **given)
        after = self.fake.fakeCudaNumLaunches()
        return made, [self.fake.fakeCudaLaunch(n).contents for n in range(before, after)]

    def assert_has(self, one, *tensors):
        parameters = list(one.params)[: one.num_params]
        for tensor in tensors:
            self.assertIn(tensor.data_ptr(), parameters)

    def test_launches(self):
        """One kernel for all calls; each gets its own scales, lengths and tables."""
        for _ in range(2):
            self.table, lengths = torch.zeros(2, 20, dtype=torch.int32), i32(200, 17)
            self.ks, self.vs = self.ks.clone(), self.vs.clone()
            (o, lse), (one,) = self.call(used_k=lengths, return_lse=True)
            self.assertEqual((o.shape, o.dtype), (self.q.shape, torch.float16))
            self.assertEqual((lse.shape, lse.dtype), ((2, 8, 1), torch.float32))
            self.assertEqual(one.kernel, b"attention_serving")
            self.assert_has(one, self.ks, self.vs, self.table, lengths, o, lse)
        self.assertEqual(len(support.plans("serving")), 1)
        # Parts, and what merges them: only the parts read the cache.
        (o, lse), (parts, merge) = self.call(splits=3, max_k=320, return_lse=True)
        self.assertEqual([one.early for one in (parts, merge)], [0, 1])
        self.assert_has(parts, self.ks, self.vs, self.table)
        self.assert_has(merge, o, lse)

    def test_memory(self):
        """k and v may be columns of one memory, and so may their scales."""
        both = torch.zeros(40, 16, 2, 64, dtype=torch.uint8)
        scales = torch.ones(2, 40, 2, 16)
        o, (one,) = self.call(
            k=both[..., :32], v=both[..., 32:], k_descale=scales[0], v_descale=scales[1]
        )
        self.assert_has(one, scales[0], scales[1], o)
        # FlashAttention-3's function takes them, too.
        before = self.fake.fakeCudaNumLaunches()
        door.flash_attn_with_kvcache(
            self.q, self.k, self.v, cache_seqlens=i32(200, 17), page_table=self.table,
            k_descale=self.ks, v_descale=self.vs, num_splits=1,
        )  # fmt: skip
        self.assertEqual(self.fake.fakeCudaNumLaunches() - before, 1)

    def test_new_keys(self):
        """They are written in front of the launch, bytes and scales, into their pages."""
        new = [torch.randn(2, 3, 2, 64).half() for _ in "kv"]
        table = torch.arange(40, dtype=torch.int32).view(2, 20)
        _, (one,) = self.call(k_new=new[0], v_new=new[1], page_table=table, causal=True)
        self.assertEqual(one.kernel, b"attention_serving")
        for packed, scale, rows in ((self.k, self.ks, new[0]), (self.v, self.vs, new[1])):
            for n, length in enumerate((200, 17)):
                page, at = table[n, length // 16], slice(length % 16, length % 16 + 3)
                wanted, units = nibbles.pack(rows[n])
                self.assertTrue(torch.equal(packed[page, at], wanted))
                self.assertTrue(torch.equal(scale[page, :, at], units))

    def test_refused(self):
        """By name, and nothing is launched: also where such a call was made before."""
        self.call()
        bytes_of = lambda *shape: torch.zeros(shape, dtype=torch.uint8)  # noqa: E731
        needed = r"expected float32 \(40, 2, 16\)"
        for change, error, expected in (
            ({"k_descale": None}, ValueError, "'k_descale': is needed with keys of 4 bits"),
            ({"k_descale": [1.0]}, TypeError, "'k_descale': list, expected a tensor"),
            ({"k_descale": torch.ones(40, 16, 2)}, TypeError, needed),
            ({"k_descale": torch.ones(2, 2, 320)}, TypeError, needed),
            ({"v_descale": torch.ones(2, 2)}, TypeError, needed),
            ({"v_descale": self.vs.half()}, TypeError, needed),
            ({"v_descale": torch.ones(40, 16, 2).mT}, ValueError, "'v_descale': last dim"),
            ({"q": self.q[..., :48], "k": self.k[..., :24]}, ValueError,
             "'k': head dim 48, expected a multiple of 32 up to 256 for 4 bits"),
            ({"v": self.v[..., :24]}, ValueError, "'v': head dim 48, expected a multiple"),
            ({"q": torch.zeros(2, 1, 8, 320).half(), "k": bytes_of(40, 16, 2, 160)},
             ValueError, "'k': head dim 320, expected"),
            ({"k": bytes_of(40, 16, 2, 64)[..., ::2]}, ValueError, "'k': last dimension"),
            ({"k": bytes_of(40, 16, 2, 33)[..., :32]}, ValueError, "'k': stride of 66 bytes"),
            ({"k": self.k.view(torch.int8)}, TypeError, "'k': element type i8, expected f16"),
            ({"v": self.v.view(torch.int8)}, TypeError, "'v': torch.int8, expected torch.u"),
            ({"q": self.q.float()}, TypeError, "'q': element type f32"),
            ({"q": self.q.clone().requires_grad_()}, NotImplementedError,
             "gradients of fa3.serving.attention, and 'q' requires some"),
            ({"v_descale": self.vs.clone().requires_grad_()}, NotImplementedError,
             "gradients of fa3.serving.attention, and 'v_descale' requires some"),
            ({"batch_invariant": True}, NotImplementedError, "keys of 4 bits, whose tiles"),
            ({"k_new": bytes_of(2, 1, 2, 32), "v_new": bytes_of(2, 1, 2, 32)}, ValueError,
             "'k': torch.uint8 of shape .2, 1, 2, 32., expected torch.float16"),
        ):  # fmt: skip
            before = self.fake.fakeCudaNumLaunches()
            with self.assertRaisesRegex(error, expected):
                self.call(**change)
            self.assertEqual(self.fake.fakeCudaNumLaunches(), before)
        with self.assertRaisesRegex(TypeError, "'k': element type i8, expected f16 as q"):
            fa3.attention(self.q, self.k[:2, :1], self.v[:2, :1], layout="bshd")

    def test_append_is_not_there(self):
        """The kernel that writes new keys has no caches of 4 bits, and says so."""
        text = """
            func.func @append(%new: tensor<?x?x8x128xbf16>, %k: tensor<?x64x8x64xi8>,
                %first: tensor<?xi32>) -> tensor<?x64x8x64xi8> {
              %k1 = attention.append %new, %k at %first layout bshd
                : tensor<?x?x8x128xbf16>, tensor<?x64x8x64xi8>, tensor<?xi32>
              return %k1 : tensor<?x64x8x64xi8>
            }"""
        with self.assertRaisesRegex(fa3.CompileError, "expects the cache to have .* got 'i8'"):
            fa3.compile(text)


if __name__ == "__main__":
    unittest.main()
