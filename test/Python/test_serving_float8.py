# SPDX-License-Identifier: Apache-2.0
"""Caches, pages and packed sequences of float8, through FlashAttention-3's functions:
values in the interpreter against torch."""

import unittest

import support
from sequences import OnCpu, i32, one_sequence, starts

if support.HAS_TORCH:
    import torch

    from fa3 import flash_attn_interface as door


@support.needs_torch
@support.needs_interpreter
class Float8Test(OnCpu):
    def small(self, *shape, dtype=None):
        """8-bit numbers, and the same wide."""
        one = self.random(*shape).to(dtype or torch.float8_e4m3fn)
        return one, one.float()

    def test_cache_of_float8(self):
        shapes = (2, 4, 4, 32), (3, 40, 2, 32), (3, 40, 2, 32)
        (q, wq), (k, wk), (v, wv) = (self.small(*shape) for shape in shapes)
        scales = [torch.rand(2, 2) + 0.5 for _ in "qkv"]
        descales = dict(zip(("q_descale", "k_descale", "v_descale"), scales))
        lengths = i32(40, 7)
        for index, pad, splits in (
            (None, None, 1), ((2, 0), None, 1), (None, (5, 3), 1), (None, None, 3),
            ((1, 2), (0, 2), 2),
        ):  # fmt: skip
            given = {} if index is None else {"cache_batch_idx": i32(*index)}
            given |= {} if pad is None else {"cache_leftpad": i32(*pad)}
            caches = (k, v) if index else (k[:2], v[:2])
            o, lse = door.flash_attn_with_kvcache(
                q, *caches, cache_seqlens=lengths, causal=True, num_splits=splits,
                return_softmax_lse=True, **descales, **given,
            )  # fmt: skip
            for n, length in enumerate(lengths.tolist()):
                rows = slice(0 if pad is None else pad[n], length)
                which = n if index is None else index[n]
                expected, sums = one_sequence(
                    wq[n] * scales[0][n].repeat_interleave(2)[:, None],
                    wk[which, rows] * scales[1][n, :, None],
                    wv[which, rows] * scales[2][n, :, None], causal=True,
                )  # fmt: skip
                self.close(o[n], expected, 0.15)
                self.close(lse[n], sums, 0.01)

    def test_pages_of_float8(self):
        table = i32(4, 0, 2, 1, 5, 3).view(2, 3)
        for dtype, page in ((torch.float8_e4m3fn, 16), (torch.float8_e5m2, 64)):
            (q, wq), (k, wk), (v, wv) = (
                self.small(*shape, dtype=dtype)
                for shape in ((2, 1, 8, 64), (6, page, 2, 64), (6, page, 2, 64))
            )
            scale = torch.rand(1, 1) + 0.5
            for splits in (1, 2):
                o = door.flash_attn_with_kvcache(
                    q, k, v, cache_seqlens=i32(3 * page, page - 3), page_table=table,
                    causal=True, q_descale=scale, k_descale=scale, v_descale=scale,
                    num_splits=splits,
                )  # fmt: skip
                for n, length in enumerate((3 * page, page - 3)):
                    keys, values = (x[table[n].long()].flatten(0, 1)[:length] for x in (wk, wv))
                    expected, _ = one_sequence(
                        wq[n] * scale, keys * scale, values * scale, causal=True
                    )
                    self.close(o[n], expected, 0.15)

    def test_packed_float8(self):
        lengths = ((7, 20), (0, 5), (26, 26), (3, 40))
        cu_q, cu_k = (starts(one) for one in zip(*lengths))
        (q, wq), (k, wk), (v, wv) = (
            self.small(int(cu[-1]), h, 32) for cu, h in ((cu_q, 4), (cu_k, 2), (cu_k, 2))
        )
        # Of all heads, of each head of q, and of none.
        scales = torch.rand(4, 1) + 0.5, torch.rand(4, 4) + 0.5
        o = door.flash_attn_varlen_func(
            q, k, v, cu_q, cu_k, 26, 40, causal=True, q_descale=scales[1],
            v_descale=scales[0],
        )  # fmt: skip
        for n in range(4):
            a, b = (slice(*cu[n : n + 2].tolist()) for cu in (cu_q, cu_k))
            expected, _ = one_sequence(
                wq[a] * scales[1][n, :, None], wk[b], wv[b] * scales[0][n], causal=True
            )
            self.close(o[a], expected, 0.15)

    def test_16_bit_queries_on_float8(self):
        """A kernel in front makes two 8-bit numbers of each element of q."""
        table = i32(4, 0, 2, 1, 5, 3).view(2, 3)
        scales = [torch.rand(2, 2) + 0.5 for _ in "kv"]
        descales = dict(zip(("k_descale", "v_descale"), scales))
        (k, wk), (v, wv) = (self.small(6, 16, 2, 64) for _ in "kv")
        lengths = (48, 13)
        for queries, splits in ((1, 1), (1, 2), (20, 1)):
            q = self.random(2, queries, 8, 64)
            o, lse = door.flash_attn_with_kvcache(
                q, k, v, cache_seqlens=i32(*lengths), page_table=table, causal=True,
                num_splits=splits, return_softmax_lse=True, **descales,
            )  # fmt: skip
            self.assertEqual(o.dtype, torch.float16)
            for n, length in enumerate(lengths):
                keys, values = (
                    x[table[n].long()].flatten(0, 1)[:length] * scale[n, :, None]
                    for x, scale in zip((wk, wv), scales)
                )
                expected, sums = one_sequence(q[n], keys, values, causal=True)
                self.close(o[n], expected, 0.15)
                self.close(lse[n], sums, 0.03)
        q, cu = self.random(7, 4, 64), starts((7,))
        k = self.small(7, 2, 64)[0]
        for call, error, expected in (
            (lambda: door.flash_attn_varlen_func(q, k, k, cu, cu, 7, 7),
             NotImplementedError, "packed queries .cu_seqlens_q. of f16 with keys of f8E4M3FN"),
            (lambda: door.flash_attn_with_kvcache(
                q[None], k[None], k[None], q_descale=torch.ones(1, 1)),
             ValueError, "'q_descale': is for float8, q has f16"),
            (lambda: door.flash_attn_with_kvcache(q[None], k[None], q[None, :, :2]),
             TypeError, "'v': element type f16, expected f8E4M3FN"),
        ):  # fmt: skip
            with self.assertRaisesRegex(error, expected):
                call()

    def test_new_keys_in_float8(self):
        """They are divided by descales and rounded; attention reads what was written."""
        lengths, new = (20, 37), 3
        for dtype, shape in ((torch.float8_e4m3fn, (2, 2)), (torch.float8_e5m2, (1, 1))):
            scales = [torch.rand(shape) + 0.5 for _ in "kv"]
            (k, wk), (v, wv) = (self.small(2, 48, 2, 64, dtype=dtype) for _ in "kv")
            added = [self.random(2, new, 2, 64) for _ in "kv"]
            q = self.random(2, new, 4, 64)
            o = door.flash_attn_with_kvcache(
                q, k, v, *added, cache_seqlens=i32(*lengths), causal=True,
                k_descale=scales[0], v_descale=scales[1],
            )  # fmt: skip
            for cache, wide, rows, scale in zip((k, v), (wk, wv), added, scales):
                units = scale.expand(2, 2)[:, None, :, None]
                for n, length in enumerate(lengths):
                    wide[n, length : length + new] = (
                        (rows[n].float() / units[n]).to(dtype).float()
                    )
                self.assertTrue(torch.equal(cache.float(), wide))
            for n, length in enumerate(lengths):
                keys, values = (
                    one[n, : length + new] * scale.expand(2, 2)[n, :, None]
                    for one, scale in zip((wk, wv), scales)
                )
                expected, _ = one_sequence(q[n], keys, values, causal=True)
                self.close(o[n], expected, 0.2)
        # Beyond the largest number, and none.
        q, rows = self.random(1, 1, 4, 64), self.random(1, 1, 2, 64)
        rows[..., 0], rows[..., 1], rows[..., 2] = 6e4, float("-inf"), float("nan")
        for dtype, unit in ((torch.float8_e4m3fn, 1.0), (torch.float8_e5m2, 0.5)):
            k, v = (torch.zeros(1, 8, 2, 64).to(dtype) for _ in "kv")
            scale = torch.full((1, 1), unit)
            door.flash_attn_with_kvcache(
                q, k, v, rows, rows, cache_seqlens=i32(5), causal=True, k_descale=scale,
                v_descale=scale,
            )  # fmt: skip
            largest = torch.finfo(dtype).max
            wanted = torch.tensor([largest, -largest, float("nan")]).expand(2, 3)
            for cache in (k, v):
                torch.testing.assert_close(
                    cache[0, 5, :, :3].float(), wanted, equal_nan=True, atol=0, rtol=0
                )
        q, (k, v) = self.random(2, new, 4, 64), (
            self.small(2, 48, 2, 64, dtype=torch.float8_e5m2)[0] for _ in "kv"
        )  # fmt: skip
        length = i32(4, 4)
        for named, error, expected in (
            ({"k_descale": torch.ones(2, 1)}, ValueError,
             r"'k_descale': shape .2, 1., expected .1, 1. or .2, 2. with new keys"),
            ({"v": added[1].float()}, ValueError, "'v': torch.float32 of shape"),
        ):  # fmt: skip
            given = {"k": added[0], "v": added[1], **named}
            with self.assertRaisesRegex(error, expected):
                door.flash_attn_with_kvcache(q, k, v, cache_seqlens=length, **given)

    def test_errors_of_float8(self):
        q, k = (self.small(2, n, 2, 32)[0] for n in (4, 40))
        new = k[:, :1]
        for named, error, expected in (
            ({"k_descale": torch.ones(2)}, TypeError, "'k_descale': expected float32"),
            ({"k_descale": torch.ones(3, 1)}, ValueError, r"'k_descale': shape .3, 1., ex"),
            ({"v_descale": torch.ones(2, 5)}, ValueError, r"and heads .2."),
            ({"k": new.float(), "v": new.float()}, ValueError, "'k': element type f32"),
        ):  # fmt: skip
            with self.assertRaisesRegex(error, expected):
                door.flash_attn_with_kvcache(q, k, k, cache_seqlens=i32(40, 7), **named)


if __name__ == "__main__":
    unittest.main()
