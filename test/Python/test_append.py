# SPDX-License-Identifier: Apache-2.0
"""flash_attn_with_kvcache with new keys and values and rotary embedding: o and lse in
the interpreter against torch, the caches bit for bit; launches by the fake driver."""

import unittest
from unittest import mock

import support
from sequences import OnCpu, i32, one_sequence, starts

if support.HAS_TORCH:
    import torch
    from fa3 import flash_attn_interface as door
    from fa3 import serving
    from fa3.calls import launch
    from fa3.kernels.arguments import Sequences
    from fa3.serving import cache_rows


def turn(x, cos, sin, at, interleaved):
    """Rotary embedding of (rows, heads, d), row t at position at[t]."""
    pairs = cos.shape[1]
    c, s = (one[at].float()[:, None] for one in (cos, sin))
    y = x.clone()
    if interleaved:
        a, b = x[..., : 2 * pairs : 2].float(), x[..., 1 : 2 * pairs : 2].float()
        y[..., : 2 * pairs : 2] = (a * c - b * s).to(x.dtype)
        y[..., 1 : 2 * pairs : 2] = (b * c + a * s).to(x.dtype)
    else:
        a, b = x[..., :pairs].float(), x[..., pairs : 2 * pairs].float()
        y[..., :pairs] = (a * c - b * s).to(x.dtype)
        y[..., pairs : 2 * pairs] = (b * c + a * s).to(x.dtype)
    return y


@support.needs_torch
@support.needs_interpreter
class AppendTest(OnCpu):
    def check(self, queries, new, lengths, *, pad=None, index=None, page=0, pairs=0,
              interleaved=True, at=None, splits=1, table=None, dim_v=32, **named):  # fmt: skip
        """Against the cache as it has to be, and every sequence by itself."""
        batch, rows, d = len(lengths), 96, 32
        caches = 5 if index is not None else batch
        q = self.random(batch, queries, 4, d)
        kept = [self.random(caches, rows, 2, dim) for dim in (d, dim_v)]
        # A part of a projection: its rows are not dense.
        k_new = self.random(batch, new, 6, d)[:, :, 1:3]
        v_new = self.random(batch, new, 2, dim_v)
        given = {"cache_seqlens": i32(*lengths), "num_splits": splits}
        if pad is not None:
            given["cache_leftpad"] = i32(*pad)
        if index is not None:
            given["cache_batch_idx"] = i32(*index)
        if pairs:
            angle = torch.rand(120, pairs) * 6
            cos, sin = (one.to(table or torch.float32) for one in (angle.cos(), angle.sin()))
            given |= {"rotary_cos": cos, "rotary_sin": sin, "rotary_interleaved": interleaved}
            if at is not None:
                given["rotary_seqlens"] = i32(*at)
        passed = [one.clone() for one in kept]
        if page:
            pages = rows // page
            order = torch.randperm(caches * pages + 2)[: caches * pages]
            passed = [self.random(caches * pages + 2, page, 2, one.shape[3]) for one in kept]
            for paged, plain in zip(passed, kept):
                paged[order] = plain.reshape(caches * pages, page, 2, -1)
            given["page_table"] = order.reshape(caches, pages).to(torch.int32)
        before = [one.clone() for one in passed]
        o, lse = door.flash_attn_with_kvcache(
            q, *passed, k_new, v_new, return_softmax_lse=True, **given,
            **{{"window": "window_size"}.get(n, n): x for n, x in named.items()},
        )  # fmt: skip
        for n, length in enumerate(lengths):
            first = 0 if pad is None else pad[n]
            which = n if index is None else index[n]
            position = (at[n] if at is not None else length) + torch.arange(max(queries, new))
            turned, keys = q[n], k_new[n]
            if pairs:
                turned, keys = (turn(x, cos, sin, position[: len(x)], interleaved)
                                for x in (turned, keys))  # fmt: skip
            kept[0][which, length : length + new] = keys
            kept[1][which, length : length + new] = v_new[n]
            expected, sums = one_sequence(
                turned, *(one[which, first : length + new] for one in kept), **named
            )
            for made, wanted in ((o[n], expected), (lse[n], sums)):
                torch.testing.assert_close(made.float(), wanted, atol=4e-3, rtol=4e-3)
        for paged, plain, old in zip(passed, kept, before):
            if page:
                old[order] = plain.reshape(caches * pages, page, 2, -1)
            # To one unit in the last place, where products of f32 are summed otherwise.
            torch.testing.assert_close(
                paged, old if page else plain, atol=1e-3 if pairs else 0, rtol=1e-3 if pairs else 0
            )

    def test_new_keys(self):
        for named in (
            {}, {"causal": True}, {"causal": True, "window": (20, 0)},
            {"causal": True, "splits": 4}, {"pad": (3, 10), "causal": True},
            {"index": (4, 1), "causal": True}, {"page": 16, "causal": True},
            {"page": 32, "causal": True, "splits": 3}, {"dim_v": 16, "causal": True},
            {"page": 16, "index": (4, 1), "causal": True},
        ):  # fmt: skip
            with self.subTest(named):
                self.check(1, 1, (90, 41), **named)
                self.check(5, 7, (70, 11), **named)

    def test_rotary(self):
        for named in (
            {"pairs": 16}, {"pairs": 16, "interleaved": False}, {"pairs": 8},
            {"pairs": 8, "interleaved": False, "table": torch.float16},
            {"pairs": 8, "at": (3, 77)}, {"pairs": 16, "pad": (3, 10)},
            {"pairs": 16, "page": 16}, {"pairs": 16, "splits": 3, "page": 32},
        ):  # fmt: skip
            with self.subTest(named):
                self.check(1, 1, (90, 41), **named)
                self.check(4, 4, (70, 11), causal=True, **named)

    def test_caches_of_one_pool(self):
        """Arrays of all pages of a pool, of which tables name each as one of k or of v."""
        for page, lengths in ((16, (17, 3)), (4, (5, -1))):
            pool = self.random(9, page, 2, 32)
            k, v = pool[:-1], pool[1:]
            table = i32(0, 4, 2, 6).view(2, 2)
            apart = k.clone(), v.clone()
            q, k_new, v_new = (self.random(2, 1, h, 32) for h in (4, 2, 2))
            made, expected = (
                door.flash_attn_with_kvcache(
                    q, *caches, k_new, v_new, cache_seqlens=i32(*lengths), page_table=table,
                    causal=True,
                ) for caches in ((k, v), apart)
            )  # fmt: skip
            torch.testing.assert_close(made, expected, atol=0, rtol=0)
            torch.testing.assert_close(pool[0::2][:4], apart[0][0::2], atol=0, rtol=0)
            torch.testing.assert_close(pool[1::2], apart[1][0::2], atol=0, rtol=0)

    def test_nothing_waits(self):
        """What torch writes needs no value on the host, so that graphs may be captured."""
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            q, k, new = (torch.empty(2, n, 2, 32) for n in (3, 16, 3))
            cos, table = torch.empty(90, 8), torch.zeros(2, 3, dtype=torch.int32)
            at, packed = i32(0, 3, 6), (q.view(6, 2, 32), new.view(6, 2, 32))
            for one, rows, cu in ((q, new, None), (*packed, at)):
                turned, used = cache_rows.write(one, k, k, Sequences(
                    cu_q=cu, cu_new=cu, used_k=i32(3, 9), page_table=table, k_new=rows,
                    v_new=rows, rotary_cos=cos, rotary_sin=cos, rotary_interleaved=True,
                    causal=True,
                ))  # fmt: skip
                self.assertEqual((turned.shape, used.shape), (one.shape, (2,)))

    def test_packed_queries(self):
        q, new = self.random(4, 4, 32), self.random(2, 3, 2, 32)
        k, v = (self.random(2, 48, 2, 32) for _ in range(2))
        o = door.flash_attn_with_kvcache(
            q, k, v, new, new, cache_seqlens=i32(40, 9), cu_seqlens_q=starts((3, 1)),
            max_seqlen_q=3, causal=True,
        )  # fmt: skip
        self.assertTrue((k[1, 9:12] == new[1]).all() and (v[0, 40:43] == new[0]).all())
        expected, _ = one_sequence(q[:3], k[0, :43], v[0, :43], causal=True)
        torch.testing.assert_close(o[:3].float(), expected, atol=4e-3, rtol=4e-3)

    def test_errors(self):
        q, cache = self.random(2, 3, 4, 32), self.random(2, 48, 2, 32)
        new, table, lengths = self.random(2, 3, 2, 32), torch.rand(60, 16), i32(40, 9)
        for named, error, expected in (
            ({"k": new}, ValueError, "'v': is needed: k and v go together"),
            ({"rotary_cos": table}, ValueError, "'rotary_cos': and rotary_sin go"),
            ({"rotary_cos": table, "rotary_sin": table}, ValueError, "'rotary_cos': is for new"),
            ({"k": new, "v": new, "cache_seqlens": None}, ValueError, "'cache_seqlens': is nee"),
            ({"k": new, "v": new[:, :2]}, ValueError, "'v': torch.float16 of shape .2, 2, 2"),
            ({"k": new.float(), "v": new}, ValueError, "'k': torch.float32 of shape .2, 3, 2"),
            ({"k": new, "v": new, "causal": True, "rotary_cos": table, "rotary_sin": table[:9]},
             ValueError,
             "'rotary_sin': f32 of shape .9, 16., expected f32 .60, 16."),
            ({"k": new, "v": new, "rotary_cos": table[:, :4], "rotary_sin": table[:, :4]},
             ValueError, "4 pairs of elements, expected a multiple of 8 up to 16"),
            ({"k": new, "v": new, "causal": True, "rotary_cos": table, "rotary_sin": table,
              "rotary_seqlens": lengths[:1]}, TypeError, "'rotary_seqlens': i32 of shape .1,"),
            ({"k": new, "v": new, "cu_seqlens_k_new": lengths}, TypeError,
             "'cu_seqlens_k_new': torch.int32 of shape .2,., expected int32 .3,."),
        ):  # fmt: skip
            with self.subTest(expected), self.assertRaisesRegex(error, expected):
                door.flash_attn_with_kvcache(q, cache, cache, **{"cache_seqlens": lengths, **named})
        turned = cache.transpose(2, 3).contiguous().transpose(2, 3)
        with self.assertRaisesRegex(ValueError, "'k_cache': last dimension is not contiguous"):
            door.flash_attn_with_kvcache(q, turned, turned, new, new, cache_seqlens=lengths)
        with self.assertRaisesRegex(NotImplementedError, "gradients"):
            door.flash_attn_with_kvcache(
                q, cache, cache, new.clone().requires_grad_(), new, cache_seqlens=lengths
            )


@support.needs_torch
@support.needs_compiler
@support.needs_driver
class LaunchTest(unittest.TestCase):
    def test_launches(self):
        """The update of the cache, then attention; caches in place, not copies."""
        fake = support.fake_driver()
        q = torch.zeros(2, 1, 8, 64, dtype=torch.bfloat16)
        new = torch.zeros(2, 1, 2, 64, dtype=torch.bfloat16)
        k, v = (torch.zeros(40, 16, 2, 64, dtype=torch.bfloat16) for _ in range(2))
        table, cos = torch.zeros(2, 20, dtype=torch.int32), torch.rand(400, 32)
        with (
            support.fake_gpu(),
            mock.patch.object(serving.call, "_sms", lambda _: 132),
            mock.patch.object(torch.cuda, "device", lambda _: mock.MagicMock()),
        ):
            launch.plans.clear()
            for _ in range(2):
                before = fake.fakeCudaNumLaunches()
                door.flash_attn_with_kvcache(
                    q, k, v, new, new, cache_seqlens=i32(200, 17), page_table=table,
                    rotary_cos=cos, rotary_sin=cos, causal=True, num_splits=1,
                )  # fmt: skip
                names = [fake.fakeCudaLaunch(one).contents.kernel
                         for one in range(before, fake.fakeCudaNumLaunches())]  # fmt: skip
                self.assertEqual(names, [b"attention_serving_update", b"attention_serving"])
                params = list(fake.fakeCudaLaunch(before).contents.params)
                self.assertIn(k.data_ptr(), params)  # v is in a tensor map
            self.assertEqual(len(support.plans("serving")), 1)
            # One kernel does not write what another argument of it has.
            pool = torch.zeros(41, 16, 2, 64, dtype=torch.bfloat16)
            before = fake.fakeCudaNumLaunches()
            door.flash_attn_with_kvcache(
                q, pool[:-1], pool[1:], new + 1, new + 2, cache_seqlens=i32(200, 17),
                page_table=2 * torch.arange(40, dtype=torch.int32).view(2, 20) % 40,
                causal=True, num_splits=1,
            )  # fmt: skip
            names = [fake.fakeCudaLaunch(one).contents.kernel
                     for one in range(before, fake.fakeCudaNumLaunches())]  # fmt: skip
            self.assertEqual(names, [b"attention_serving"])
            self.assertEqual([float(one) for one in pool[24:26, 8, 0, 0]], [1, 2])
            launch.plans.clear()


if __name__ == "__main__":
    unittest.main()
