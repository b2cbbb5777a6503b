# SPDX-License-Identifier: Apache-2.0
"""Caches of 4 bits beside queries of 16: values in the interpreter against torch."""

import support
from sequences import OnCpu, i32, one_sequence, starts

if support.HAS_TORCH:
    import torch

    from fa3 import serving
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
