# SPDX-License-Identifier: Apache-2.0
"""What FlashAttention-3's functions take has its meaning here: numbers of any kind,
arguments that a case ignores, new keys of every form, float8 that requires gradients.
Values in the interpreter against torch, launches by the fake driver."""

import itertools
import sys
import unittest
from unittest import mock

import support
from sequences import OnCpu, i32, one_sequence, starts

sys.path.insert(0, str(support.ROOT / "test" / "Fuzz"))

if support.HAS_TORCH:
    import numpy
    import torch
    from door_definition import turned

    import fa3
    from fa3 import flash_attn_interface as door
    from fa3 import serving
    from fa3.calls import launch


@support.needs_torch
@support.needs_interpreter
class NumbersTest(OnCpu):
    def kinds(self, *numbers):
        yield numbers
        yield torch.tensor(numbers)
        yield numpy.array(numbers)
        yield [numpy.int64(one) for one in numbers]

    def test_windows(self):
        q, k = self.random(1, 20, 2, 16), self.random(1, 30, 2, 16)
        cu_q, cu_k = i32(0, 20), i32(0, 30)
        for ends in ((5, 3), (5, -1), (-3, 2), (-1, -1), (2**40, 4)):
            far = tuple(-1 if not 0 <= one < 2**30 else one for one in ends)
            expected, _ = one_sequence(q[0], k[0], k[0], window=far)
            for size in self.kinds(*ends):
                self.close(door.flash_attn_func(q, k, k, window_size=size)[0], expected)
                self.close(door.flash_attn_varlen_func(
                    q[0], k[0], k[0], cu_q, cu_k, torch.tensor(20), numpy.int64(30),
                    window_size=size,
                ), expected)  # fmt: skip
                self.close(door.flash_attn_with_kvcache(
                    q, k, k, cache_seqlens=numpy.int64(30), window_size=size
                )[0], expected)  # fmt: skip

    def test_other_numbers(self):
        q, k = self.random(1, 20, 2, 16), self.random(1, 30, 2, 16)
        expected, _ = one_sequence(q[0], k[0], k[0], causal=True, softcap=2.0, chunk=8)
        for made in (
            door.flash_attn_func(
                q, k, k, torch.tensor(0.25), numpy.bool_(True), softcap=numpy.float32(2),
                attention_chunk=torch.tensor(8), num_splits=torch.tensor(3),
            ),
            door.flash_attn_with_kvcache(
                q, k, k, cache_seqlens=torch.tensor(30), softmax_scale=numpy.float64(0.25),
                causal=torch.tensor(True), softcap=torch.tensor(2.0),
                attention_chunk=numpy.int16(8), num_splits=numpy.int64(2),
            ),
            door.flash_attn_with_kvcache(
                q[0], k, k, cache_seqlens=i32(30), cu_seqlens_q=i32(0, 20),
                max_seqlen_q=torch.tensor(20), causal=1, softcap=2, attention_chunk=8,
            )[None],
        ):  # fmt: skip
            self.close(made[0], expected)
        self.close(
            door.flash_attn_func(q, k, k, attention_chunk=-1),
            door.flash_attn_func(q, k, k),
        )
        for named, expected in (
            ({"window_size": (1.5, 2)}, "'window_size': 1.5, expected a whole number"),
            ({"window_size": 7}, r"'window_size': 7, expected \(left, right\)"),
            ({"softcap": "2x"}, "'softcap': '2x', expected a number"),
            ({"attention_chunk": None}, "'attention_chunk': None"),
        ):
            with self.assertRaisesRegex(TypeError, expected):
                door.flash_attn_func(q, k, k, **named)

    def test_head_dims_of_no_multiple(self):
        q, k, v = (self.random(1, n, 2, d).requires_grad_() for n, d in
                   ((20, 19), (30, 19), (30, 11)))  # fmt: skip
        wide = [one.detach().double().requires_grad_() for one in (q, k, v)]
        cu_q, cu_k = i32(0, 20), i32(0, 30)
        x, y, z = (one[0] for one in wide)
        p = (torch.einsum("ihd,jhd->hij", x, y) * 19**-0.5).softmax(-1)
        expected = torch.einsum("hij,jhd->ihd", p, z)
        expected.sin().sum().backward()
        for run in (
            lambda: door.flash_attn_func(q, k, v)[0],
            lambda: door.flash_attn_varlen_func(q[0], k[0], v[0], cu_q, cu_k, 20, 30),
        ):
            o = run()
            self.close(o, expected)
            o.float().sin().sum().backward()
            for one, other in zip((q, k, v), wide):
                self.close(one.grad, other.grad, 8e-3)
                one.grad = None


@support.needs_torch
@support.needs_interpreter
class GradientTest(OnCpu):
    def test_chunks(self):
        lengths = ((20, 20), (0, 3), (9, 30))
        cu_q, cu_k = (starts(one) for one in zip(*lengths))
        given = [self.random(int(cu[-1]), 2, 16) for cu in (cu_q, cu_k, cu_k)]
        for causal in (False, True):
            q, k, v = (one.clone().requires_grad_() for one in given)
            o = door.flash_attn_varlen_func(
                q, k, v, cu_q, cu_k, 20, 30, attention_chunk=7, causal=causal
            )
            o.float().sin().sum().backward()
            wide = [one.clone().float().requires_grad_() for one in given]
            for n in range(3):
                a, b = (slice(*cu[n : n + 2].tolist()) for cu in (cu_q, cu_k))
                one, _ = one_sequence(wide[0][a], wide[1][b], wide[2][b],
                                      chunk=7, causal=causal)  # fmt: skip
                one.sin().sum().backward()
            for one, other in zip((q, k, v), wide):
                self.close(one.grad, other.grad, 8e-3)
            q, k, v = (one[-9:][None].clone().requires_grad_() for one in given)
            door.flash_attn_func(
                q, k, v, attention_chunk=4, causal=causal
            ).float().sin().sum().backward()
            wide = [one[-9:].float().requires_grad_() for one in given]
            one_sequence(*wide, chunk=4, causal=causal)[0].sin().sum().backward()
            for one, other in zip((q, k, v), wide):
                self.close(one.grad[0], other.grad, 8e-3)

    def test_float8_keeps_its_descales(self):
        """The forward is that without requires_grad, the backward an error."""
        q, k, v = (self.random(2, 24, h, 32).to(torch.float8_e4m3fn) for h in (4, 2, 2))
        scales = dict(zip(("q_descale", "k_descale", "v_descale"),
                          (torch.rand(2, 2) * 2 for _ in "qkv")))  # fmt: skip
        cu = i32(0, 24, 48)
        runs = (
            lambda q, k, v: door.flash_attn_func(q, k, v, causal=True, **scales),
            lambda q, k, v: door.flash_attn_varlen_func(
                *(one.flatten(0, 1) for one in (q, k, v)), cu, cu, 24, 24, causal=True, **scales
            ),
            lambda q, k, v: door.flash_attn_func(q, k, v, return_attn_probs=True, **scales),
        )
        for run, which in itertools.product(runs, ((0, 1, 2), (2,))):
            given = [one.detach().clone() for one in (q, k, v)]
            expected = run(*given)
            for n in which:
                given[n].requires_grad_()
            made = run(*given)
            pair = made if isinstance(made, tuple) else (made,)
            for one, other in zip(pair, expected if len(pair) > 1 else (expected,)):
                self.assertTrue(torch.equal(one, other))
                self.assertTrue(one.requires_grad)
                with self.assertRaisesRegex(NotImplementedError, "gradients of .*float8"):
                    one.sum().backward(retain_graph=True)


@support.needs_torch
@support.needs_interpreter
class NewKeysTest(OnCpu):
    """Against rows that are written and turned by hand."""

    def check(self, *, queries=3, new=2, packed_q=False, packed_new=False, pages=0,
              pad=False, index=False, pairs=0, interleaved=False, dtype=None,
              new_dtype=None, rotary_at=None, descales=False, splits=1, **named):  # fmt: skip
        dtype = dtype or torch.float16
        lengths, d, rows = [20, 0, 37], 32, 48
        caches = 5 if index else 3
        k, v = (self.random(caches, rows, 2, d, dtype=dtype) for _ in "kv")
        q = self.random(3, queries, 4, d, dtype=dtype)
        kinds = new_dtype or dtype
        added = [self.random(3, new, 2, d, dtype=kinds) for _ in "kv"]
        of_q = [queries, 1, queries - 1] if packed_q else [queries] * 3
        of_new = [new, 0, new - 1] if packed_new else [new] * 3
        given = {"cache_seqlens": i32(*lengths), "num_splits": splits, **named}
        which = [4, 0, 2] if index else [0, 1, 2]
        if index:
            given["cache_batch_idx"] = i32(*which)
        left = [3, 0, 10] if pad else [0, 0, 0]
        if pad:
            given["cache_leftpad"] = i32(*left)
        scales = [torch.rand(3, 2) + 0.5 for _ in "kv"] if descales else [None, None]
        if descales:
            given |= dict(zip(("k_descale", "v_descale"), scales))
        table = None
        passed = [k.clone(), v.clone()]
        if pages:
            count = caches * rows // pages
            table = torch.randperm(count).view(caches, -1).to(torch.int32)
            for n, cache in enumerate((k, v)):
                passed[n] = torch.empty(count, pages, 2, d, dtype=dtype)
                passed[n].view(torch.uint8 if dtype.itemsize == 1 else dtype)[
                    table.flatten().long()
                ] = cache.view(count, pages, 2, d).view(
                    torch.uint8 if dtype.itemsize == 1 else dtype
                )
            given["page_table"] = table
        at = lengths
        if pairs:
            cos, sin = (torch.randn(64, pairs).to(kinds) for _ in "cs")
            given |= {"rotary_cos": cos, "rotary_sin": sin, "rotary_interleaved": interleaved}
        if rotary_at is not None:
            given["rotary_seqlens"] = i32(*rotary_at)
            at = rotary_at
        asked, rows_k = q, added
        if packed_q:
            asked = torch.cat([q[n, :x] for n, x in enumerate(of_q)])
            given |= {"cu_seqlens_q": starts(of_q), "max_seqlen_q": queries}
        if packed_new:
            # And two rows that are none of a sequence.
            rows_k = [torch.cat([*(x[n, :y] for n, y in enumerate(of_new)), x[0, :2]])
                      for x in added]  # fmt: skip
            given["cu_seqlens_k_new"] = starts(of_new)
        o, lse = door.flash_attn_with_kvcache(
            asked, *passed, *rows_k, return_softmax_lse=True, **given
        )
        o = o.split(of_q) if packed_q else o
        moves = named.get("causal") or "window_size" in named or "attention_chunk" in named
        loose = dtype.itemsize == 1
        wide = [one.float() for one in (k, v)]
        for n, length in enumerate(lengths):
            steps = torch.arange(of_q[n]) if moves else torch.zeros(of_q[n], dtype=int)
            row = q[n, : of_q[n]].double()
            keys, values = (one[n, : of_new[n]].double() for one in added)
            if pairs:
                row = turned(row, at[n] + steps, cos, sin, interleaved).to(dtype)
                keys = turned(keys, at[n] + torch.arange(of_new[n]), cos, sin, interleaved)
            for cache, one, scale in zip(wide, (keys, values), scales):
                if scale is not None:
                    one = one / scale[n][:, None]
                cache[which[n], length : length + of_new[n]] = one.to(dtype).float()
            part = slice(left[n], length + of_new[n])
            x, y = (
                one[which[n], part] if scale is None
                else one[which[n], part] * scale[n][:, None]
                for one, scale in zip(wide, scales)
            )  # fmt: skip
            expected, _ = one_sequence(row, x, y, causal=named.get("causal", False),
                                       window=named.get("window_size", (-1, -1)),
                                       chunk=named.get("attention_chunk", 0))  # fmt: skip
            self.close(o[n], expected, 0.2 if loose else 4e-3)
        for made, expected in zip(passed, wide):
            made = made.float()
            if pages:
                made = made[table.long()].flatten(1, 2)
            # Angles of f16 turn by rounded numbers: a step of the type at most.
            self.close(made, expected, (0.13 if loose else 2e-3) if pairs else 0)

    def test_packed_new_keys(self):
        for named in (
            {"causal": True}, {}, {"causal": True, "pages": 8}, {"index": True, "pad": True},
            {"causal": True, "splits": 3, "pages": 16, "index": True},
            {"window_size": (9, 2), "pairs": 8}, {"packed_q": True, "causal": True},
            {"packed_q": True, "causal": True, "pairs": 16, "interleaved": True},
        ):  # fmt: skip
            with self.subTest(named):
                self.check(packed_new=True, **named)

    def test_turned_queries_of_every_form(self):
        for named in (
            {"packed_q": True, "causal": True}, {"packed_q": True},
            {"queries": 4}, {"queries": 4, "rotary_at": [5, 9, 0]},
            {"packed_q": True, "causal": True, "rotary_at": [5, 9, 0], "pad": True},
            {"packed_q": True, "attention_chunk": 8, "pages": 4, "index": True},
        ):  # fmt: skip
            for interleaved in (False, True):
                with self.subTest(named, interleaved=interleaved):
                    self.check(pairs=16, interleaved=interleaved, **named)

    def test_new_float8_keys(self):
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            for named in (
                {"causal": True}, {"pages": 16}, {"packed_new": True, "packed_q": True},
                {"pad": True, "index": True}, {"pairs": 16, "causal": True},
                {"pairs": 8, "interleaved": True, "packed_q": True, "packed_new": True},
            ):  # fmt: skip
                with self.subTest(named, dtype=dtype):
                    self.check(dtype=dtype, **named)

    def test_new_keys_beyond_a_cache(self):
        """They are left out: nothing else changes."""
        q, k, rows = self.random(2, 1, 2, 16), self.random(2, 8, 2, 16), self.random(5, 2, 16)
        cache = k.clone()
        for lengths, cu in ((i32(8, 9), i32(0, 2, 5)), (i32(7, 30), i32(0, 0, 0))):
            door.flash_attn_with_kvcache(
                q, cache, cache.clone(), rows, rows, cache_seqlens=lengths,
                cu_seqlens_k_new=cu,
            )  # fmt: skip
            self.assertTrue(torch.equal(cache, k))

    def test_what_a_case_ignores(self):
        q, k = self.random(2, 1, 4, 32), self.random(2, 48, 2, 32)
        lengths = i32(20, 37)
        expected = door.flash_attn_with_kvcache(q, k, k, cache_seqlens=lengths)
        for named in (
            {"rotary_seqlens": lengths}, {"rotary_seqlens": lengths, "rotary_interleaved": 0},
            {"cu_seqlens_k_new": i32(0, 1, 2)}, {"scheduler_metadata": torch.ones(3)},
            {"sm_margin": 5},
        ):  # fmt: skip
            made = door.flash_attn_with_kvcache(q, k, k, cache_seqlens=lengths, **named)
            self.assertTrue(torch.equal(made, expected))
        new = self.random(2, 1, 2, 32)
        made = [door.flash_attn_with_kvcache(
            q, k.clone(), k.clone(), new, new, cache_seqlens=lengths, **named
        ) for named in ({}, {"rotary_seqlens": lengths})]  # fmt: skip
        self.assertTrue(torch.equal(*made))
        table = torch.ones(64, 8)
        with self.assertRaisesRegex(ValueError, "'rotary_cos': is for new keys"):
            door.flash_attn_with_kvcache(
                q, k, k, cache_seqlens=lengths, rotary_cos=table, rotary_sin=table
            )

    def test_errors(self):
        q, k = self.random(2, 1, 4, 32), self.random(2, 48, 2, 32)
        new, lengths = self.random(5, 2, 32), i32(20, 37)
        given = {"k": new, "v": new, "cache_seqlens": lengths, "cu_seqlens_k_new": i32(0, 1, 5)}
        table = torch.ones(64, 12)
        for named, expected in (
            ({"cu_seqlens_k_new": i32(0, 5)}, r"'cu_seqlens_k_new': .*expected int32 \(3,\)"),
            ({"cache_seqlens": None}, "'cache_seqlens': is needed"),
            ({"v": new[:4]}, r"'v': .*expected torch.float16 \(5, 2, 32\)"),
            ({"k": new[None], "v": new[None]}, "'k': .*shape .1, 5, 2, 32."),
            ({"v": None}, "'v': is needed"),
            ({"rotary_cos": table, "rotary_sin": table}, "'rotary_cos': 12 pairs"),
            ({"cache_batch_idx": i32(1)}, "'cache_batch_idx': "),
            ({"page_table": i32(1)}, "'page_table': expected"),
        ):
            with self.assertRaisesRegex(ValueError, expected):
                door.flash_attn_with_kvcache(q, k, k, **{**given, **named})


@support.needs_torch
@support.needs_compiler
@support.needs_driver
class LaunchTest(unittest.TestCase):
    def setUp(self):
        props = mock.Mock(multi_processor_count=132)
        for patch in (
            support.fake_gpu(), mock.patch.object(serving.call, "_sms", lambda _: 132),
            mock.patch.object(torch.cuda, "get_device_properties", lambda _: props),
            mock.patch.object(torch.cuda, "device", lambda _: mock.MagicMock()),
        ):  # fmt: skip
            patch.__enter__()
            self.addCleanup(patch.__exit__, None, None, None)
        launch.plans.clear()
        self.addCleanup(launch.plans.clear)

    def test_workspace_of_every_call(self):
        """Parts that are chosen and parts that are asked for are two calls, whatever
        their number."""
        q, new = (torch.zeros(5, 64, h, 128, dtype=torch.bfloat16) for h in (6, 1))
        cache, rows = torch.zeros(2, 5, 1024, 1, 128, dtype=torch.bfloat16)
        for splits, pack in itertools.product((1, 3, 0, 2, 4, 0), (None, True, False)):
            door.flash_attn_with_kvcache(
                q, cache, rows, new, new, cache_seqlens=i32(300, 20, 0, 9, 800),
                causal=True, num_splits=splits, pack_gqa=pack,
            )  # fmt: skip

    def test_workspace_of_packed_calls(self):
        cu = i32(0, 100, 200)
        x = torch.zeros(200, 2, 64, dtype=torch.bfloat16, requires_grad=True)
        for most in (100, 150, 40, 4000):
            for splits in (1, 0, 3):
                with torch.no_grad():
                    door.flash_attn_varlen_func(x, x, x, cu, cu, most, most, num_splits=splits)
            door.flash_attn_varlen_func(x, x, x, cu, cu, most, most).sum().backward()

    def test_many_sequences(self):
        fake = support.fake_driver()
        for count in (4096, 9000):
            cu = torch.arange(count + 1, dtype=torch.int32)
            x = torch.zeros(count, 1, 64, dtype=torch.bfloat16, requires_grad=True)
            before = fake.fakeCudaNumLaunches()
            o = door.flash_attn_varlen_func(x, x, x, cu, cu, 1, 1, cu[1:], cu[1:])
            self.assertGreater(fake.fakeCudaNumLaunches(), before)
            o.sum().backward()
            self.assertEqual(x.grad.shape, x.shape)
        with self.assertRaisesRegex(fa3.ArgumentError, "40000 sequences, expected at most"):
            cu = torch.arange(40001, dtype=torch.int32)
            x = torch.zeros(40000, 1, 64, dtype=torch.bfloat16)
            door.flash_attn_varlen_func(x, x, x, cu, cu, 1, 1)


if __name__ == "__main__":
    unittest.main()
