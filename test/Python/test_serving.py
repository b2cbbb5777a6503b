# SPDX-License-Identifier: Apache-2.0
"""Sequences of different lengths, caches and pages, through FlashAttention-3's
functions: values in the interpreter against torch, launches by the fake driver."""

import itertools
import re
import unittest
from unittest import mock

import support
from sequences import OnCpu, i32, one_sequence, starts

if support.HAS_TORCH:
    import torch

    import fa3
    from fa3 import flash_attn_interface as door
    from fa3 import serving
    from fa3.build import answers
    from fa3.calls import launch
    from fa3.kernels.arguments import Sequences
    from fa3.kernels.serving_spec import ServingSpec
    from fa3.kernels.spec import Spec
    from fa3.serving import packed
    from fa3.support.runtime import runtime
    from fa3.support.tensors import contiguous


@support.needs_torch
@support.needs_interpreter
class ServingTest(OnCpu):
    def check_packed(self, lengths, used_q=None, used_k=None, splits=1, **named):
        """Against every sequence by itself."""
        cu_q, cu_k = (starts(one) for one in zip(*lengths))
        q = self.random(int(cu_q[-1]), 4, 16)
        k, v = (self.random(int(cu_k[-1]), 2, 16) for _ in range(2))
        most = [max(one) for one in zip(*lengths)]
        o, lse = door.flash_attn_varlen_func(
            q, k, v, cu_q, cu_k, *most, seqused_q=used_q, seqused_k=used_k,
            return_attn_probs=True, num_splits=splits,
            **{{"window": "window_size", "chunk": "attention_chunk"}.get(n, n): x
               for n, x in named.items()},
        )  # fmt: skip
        for n, (rows, keys) in enumerate(lengths):
            rows = rows if used_q is None else min(rows, int(used_q[n]))
            keys = keys if used_k is None else min(keys, int(used_k[n]))
            a, b = int(cu_q[n]), int(cu_k[n])
            expected, sums = one_sequence(
                q[a : a + rows], k[b : b + keys], v[b : b + keys], **named
            )
            self.close(o[a : a + rows], expected)
            self.close(lse[:, a : a + rows], sums)

    def test_varlen(self):
        lengths = ((7, 20), (0, 5), (26, 25), (3, 40))
        for named in (
            {}, {"causal": True}, {"window": (6, 2)}, {"causal": True, "softcap": 2.0},
            {"chunk": 8, "causal": True}, {"splits": 3, "causal": True},
        ):  # fmt: skip
            with self.subTest(named):
                self.check_packed(lengths, **named)
        self.check_packed(lengths, used_q=i32(5, 0, 26, 1), used_k=i32(20, 3, 11, 40), causal=True)

    def test_heads_of_a_group_are_rows(self):
        """The compiler knows the group, not the heads: kernels serve all models of it."""
        made = []
        real = serving.eager.ServingSpec

        def spec(*args, **named):
            made.append(real(*args, **named))
            return made[-1]

        def asked(key_heads=2, rows=300, **named):
            cu = i32(0, rows)
            q, k = (self.random(rows, h, 16) for h in (8, key_heads))
            serving.attention(q, k, k, cu_q=cu, cu_k=cu, max_q=rows, **named)
            text = made[-1].to_mlir()
            self.assertIn("%q: tensor<?x?x16xf16>", text)
            found = re.search(r"\bgroup (\d+)", text)
            return int(found[1]) if found else None, made[-1].options

        packs = {"pack_gqa": True}
        with mock.patch.object(serving.eager, "ServingSpec", spec):
            self.assertEqual(asked(causal=True), (4, {}))
            self.assertEqual(asked(window=(20, 3)), (4, {}))
            self.assertEqual(asked(), (None, {}))
            self.assertEqual(asked(key_heads=8, causal=True), (None, {}))
            self.assertEqual(asked(causal=True, pack_heads=False), (None, {}))
            # Tiles of short sequences are fuller with them.
            self.assertEqual(asked(rows=100), (4, packs))
            self.assertEqual(asked(rows=100, causal=True), (4, {}))

    def check_cache(self, queries, lengths, *, pad=None, index=None, page=0, rows=96,
                    splits=1, **named):  # fmt: skip
        batch = len(lengths)
        q = self.random(batch, queries, 4, 16)
        caches = 5 if index is not None else batch
        k, v = (self.random(caches, rows, 2, 16) for _ in range(2))
        given = {"cache_seqlens": i32(*lengths), "num_splits": splits}
        if pad is not None:
            given["cache_leftpad"] = i32(*pad)
        if index is not None:
            given["cache_batch_idx"] = i32(*index)
        passed = k, v
        if page:
            # Pages in any order, and two that nobody has.
            pages = rows // page
            order = torch.randperm(caches * pages + 2)[: caches * pages]
            passed = tuple(self.random(caches * pages + 2, page, 2, 16) for _ in "kv")
            for paged, plain in zip(passed, (k, v)):
                paged[order] = plain.reshape(caches * pages, page, 2, 16)
            given["page_table"] = order.reshape(caches, pages).to(torch.int32)
        o, lse = door.flash_attn_with_kvcache(
            q, *passed, return_softmax_lse=True, **given,
            **{{"window": "window_size", "chunk": "attention_chunk"}.get(n, n): x
               for n, x in named.items()},
        )  # fmt: skip
        for n, length in enumerate(lengths):
            first = 0 if pad is None else pad[n]
            which = n if index is None else index[n]
            expected, sums = one_sequence(
                q[n], k[which, first:length], v[which, first:length], **named
            )
            self.close(o[n], expected)
            self.close(lse[n], sums)

    def test_cache(self):
        for named in (
            {}, {"causal": True}, {"causal": True, "window": (20, 0)},
            {"causal": True, "chunk": 16}, {"causal": True, "splits": 4},
            {"pad": (3, 10), "causal": True}, {"index": (4, 1), "causal": True},
        ):  # fmt: skip
            with self.subTest(named):
                self.check_cache(33, (90, 41), **named)
                self.check_cache(1, (96, 33), **named)

    def test_pages(self):
        for page, named in itertools.product(
            (4, 8, 16, 32), ({"causal": True}, {"causal": True, "splits": 3})
        ):
            with self.subTest(f"{page} {named}"):
                self.check_cache(1, (90, 41, 64), page=page, **named)
                self.check_cache(20, (90, 41, 64), page=page, **named)
        self.check_cache(1, (90, 41), page=16, index=(4, 1), causal=True)

    def test_packed_queries_on_a_cache(self):
        cu = starts((3, 1, 8))
        q = self.random(12, 4, 16)
        k, v = (self.random(3, 48, 2, 16) for _ in range(2))
        lengths = i32(40, 9, 30)
        o = door.flash_attn_with_kvcache(
            q, k, v, cache_seqlens=lengths, cu_seqlens_q=cu, max_seqlen_q=8, causal=True
        )
        for n, length in enumerate(lengths.tolist()):
            here = slice(*cu[n : n + 2].tolist())
            expected, _ = one_sequence(q[here], k[n, :length], v[n, :length], causal=True)
            self.close(o[here], expected)

    def test_sinks(self):
        q, k = self.random(2, 3, 4, 16), self.random(2, 40, 2, 16)
        sinks = torch.randn(4)
        o, lse = serving.attention(
            q, k, k, used_k=i32(40, 7), causal=True, sinks=sinks, return_lse=True
        )
        for n, length in enumerate((40, 7)):
            expected, sums = one_sequence(
                q[n], k[n, :length], k[n, :length], causal=True, sinks=sinks
            )
            self.close(o[n], expected)
            self.close(lse[n], sums)

    def test_number_of_splits(self):
        def choose(q, k, **named):
            call = serving.call.Call(q, k, k, Sequences(**named))
            return call.choose_splits(None, True)

        def empty(*shape):
            return torch.empty(*shape, dtype=torch.float16)

        k = empty(1, 8192, 2, 64)
        self.assertEqual(choose(empty(1, 1, 8, 64), k), 16)  # keys / 256 were 32
        self.assertEqual(choose(empty(8, 1, 8, 64), k.expand(8, -1, -1, -1)), 8)
        self.assertEqual(choose(empty(64, 1, 8, 64), k.expand(64, -1, -1, -1)), 1)
        self.assertEqual(choose(empty(1, 1, 8, 64), k[:, :300]), 1)
        pages = empty(900, 16, 2, 64)
        table = torch.zeros(2, 256, dtype=torch.int32)
        self.assertEqual(choose(empty(2, 1, 8, 64), pages, page_table=table), 16)

    def test_number_of_splits_is_that_of_a_launch(self):
        """What libfa3 answers and what a launch takes that is told of none."""

        def array(*shape, type="f16"):
            return runtime.Array(1 << 20, type, shape, contiguous(shape))

        for heads, key_heads, packs in ((8, 2, True), (8, 8, False), (128, 1, True)):
            spec = ServingSpec(
                Spec(*4 * ("f16",), 64, 64, True), ("used_k",), splits=True,
                heads=(heads, key_heads) if packs else None,
            )  # fmt: skip
            kernel = fa3.compile(spec.to_mlir(), **spec.options, ptxas="", ptx_version=90)
            for sms in (132, 78):
                program = kernel.parse(device_sms=sms)
                for batch, queries, keys in (
                    (1, 1, 8192), (8, 1, 8192), (64, 1, 8192), (1, 1, 300), (3, 5, 100000),
                    (25, 1, 30000),
                ):  # fmt: skip
                    q, k = array(batch, queries, heads, 64), array(batch, keys, key_heads, 64)
                    count = answers.count_parts(
                        batch, queries, keys, heads, key_heads, sms, packs
                    )
                    by_launch, as_told, other = (
                        program.workspace_size(
                            q=q, k=k, v=k, scale=1.0, used_k=array(batch, type="i32"),
                            splits=splits, o=q,
                        )  # fmt: skip
                        for splits in (0, count, count + 1)
                    )
                    with self.subTest(heads=heads, sms=sms, batch=batch, keys=keys):
                        self.assertEqual(by_launch, as_told)
                        self.assertNotEqual(by_launch, other)

    def test_gradients_of_packed_sequences(self):
        lengths = ((7, 20), (0, 5), (26, 26), (3, 40))
        cu_q, cu_k = (starts(one) for one in zip(*lengths))
        for named in ({}, {"causal": True}, {"window": (6, 2), "softcap": 2.0}):
            given = [self.random(int(cu[-1]), h, 16) for cu, h in ((cu_q, 4), (cu_k, 2), (cu_k, 2))]
            weights = torch.linspace(-1, 1, 16)
            grads = []
            for ours in (True, False):
                q, k, v = (one.detach().clone().requires_grad_() for one in given)
                if ours:
                    with mock.patch.object(
                        packed,
                        "attention",
                        lambda *args, real=packed.attention, **more: real(
                            *args, **more, interpret=True
                        ),
                    ):
                        o, lse = door.flash_attn_varlen_func(
                            q, k, v, cu_q, cu_k, 26, 40, return_attn_probs=True,
                            **{{"window": "window_size"}.get(n, n): x
                               for n, x in named.items()},
                        )  # fmt: skip
                    loss = (o.float() * weights).sum() + lse.sin().sum()
                else:
                    loss = 0
                    for n in range(len(lengths)):
                        a, b = (slice(*cu[n : n + 2].tolist()) for cu in (cu_q, cu_k))
                        o, lse = one_sequence(q[a], k[b], v[b], **named)
                        loss = loss + (o * weights).sum() + lse.sin().sum()
                loss.backward()
                grads.append([one.grad for one in (q, k, v)])
            for made, expected in zip(*grads):
                self.close(made, expected, 8e-3)

    def test_gradients_with_used_lengths(self):
        lengths, used = ((7, 20), (0, 5), (26, 26)), ((5, 20), (0, 3), (26, 11))
        cu_q, cu_k = (starts(one) for one in zip(*lengths))
        used_q, used_k = (i32(*one) for one in zip(*used))
        given = [self.random(int(cu[-1]) + 2, 2, 16) for cu in (cu_q, cu_k, cu_k)]
        real = packed.attention
        with mock.patch.object(
            packed, "attention", lambda *a, **more: real(*a, **more, interpret=True)
        ):
            q, k, v = (one.clone().requires_grad_() for one in given)
            o = door.flash_attn_varlen_func(
                q, k, v, cu_q, cu_k, 26, 26, used_q, used_k, causal=True
            )
        weights = torch.zeros(o.shape)
        expected = [torch.zeros(one.shape) for one in given]
        for n, (a, b) in enumerate(used):
            i, j = int(cu_q[n]), int(cu_k[n])
            rows, keys = slice(i, i + a), slice(j, j + b)
            weights[rows] = torch.linspace(-1, 1, 16)
            x, y, z = (one[s].float().requires_grad_() for one, s in zip(given, (rows, keys, keys)))
            made, _ = one_sequence(x, y, z, causal=True)
            (made * weights[rows]).sum().backward()
            for sums, s, one in zip(expected, (rows, keys, keys), (x, y, z)):
                sums[s] = one.grad
        o.backward(weights.half())
        for made, wanted in zip((q, k, v), expected):
            self.close(made.grad, wanted, 8e-3)

    def test_errors(self):
        q, k = self.random(33, 4, 16), self.random(50, 2, 16)
        start = starts((33,))
        for args, error, expected in (
            ((q, k, k, start.long(), start, 33, 50), TypeError, "'cu_seqlens_q': i64"),
            ((q, k, k, start, start[:1], 33, 50), TypeError, "'cu_seqlens_k': i32 of"),
            ((q[None], k, k, start, start, 33, 50), ValueError, "'q': rank 4, expected 3"),
            ((q, k, k[:9], start, start, 33, 50), ValueError, "'v': shape .9, 2, 16."),
            ((q[:, :3], k, k, start, start, 33, 50), ValueError, "'k': 2 heads, expec"),
            ((q, k, k, start, start, -1, 50), ValueError, "'max_seqlen_q': -1, expected"),
        ):
            with self.assertRaisesRegex(error, expected):
                door.flash_attn_varlen_func(*args)
        for name in ("causal", "return_lse", "max_logits", "rotary_interleaved"):
            with self.assertRaisesRegex(TypeError, f"'{name}': 2, expected True or False"):
                serving.attention(
                    q, k, k, cu_q=start, cu_k=start, max_q=33, max_k=50, **{name: 2}
                )
        cache = self.random(2, 40, 2, 16)
        q = self.random(2, 1, 4, 16)
        for named, expected in (
            ({"cache_seqlens": i32(1)}, "'seqused_k': i32 of shape .1,., expec"),
            ({"page_table": torch.zeros(2, 1)}, "'page_table': f32 of shape .2, 1."),
            ({"cache_leftpad": i32(1, 2, 3)}, "'leftpad': i32 of shape .3,."),
            ({"num_splits": -1}, "'splits': -1, expected at least 0"),
        ):
            with self.assertRaisesRegex(ValueError, expected):
                door.flash_attn_with_kvcache(q, cache, cache, **named)
        with self.assertRaisesRegex(ValueError, "'k': batch 2, expected 1 as q"):
            door.flash_attn_with_kvcache(q[:1], cache, cache)
        with self.assertRaisesRegex(NotImplementedError, "gradients"):
            door.flash_attn_with_kvcache(q.requires_grad_(), cache, cache)

    def test_gradients_are_refused(self):
        q, cache = self.random(2, 1, 4, 16), self.random(2, 40, 2, 16)
        rows = self.random(2, 1, 2, 16)
        named = {"used_k": i32(20, 30), "interpret": True}
        sinks, table = torch.zeros(4), torch.zeros(40)
        expected = serving.attention(q, cache, cache, **named)

        def wants(one):
            return one.clone().requires_grad_()

        for change, name in (
            ({"q": wants(q)}, "'q'"),
            ({"v": wants(cache)}, "'v'"),
            ({"sinks": wants(sinks)}, "'sinks'"),
            ({"k_new": wants(rows), "v_new": rows}, "'k_new'"),
        ):
            given = {"q": q, "k": cache.clone(), "v": cache.clone(), **named, **change}
            sentence = f"gradients of fa3.serving.attention, and {name} requires some"
            with self.assertRaisesRegex(NotImplementedError, sentence):
                serving.attention(**given)
            with torch.no_grad():
                serving.attention(**given)
        table = wants(table)

        def biased(score, b, h, q, kv):
            return score + table[kv]

        with self.assertRaisesRegex(NotImplementedError, "a tensor of a mod requires some"):
            serving.attention(q, cache, cache, score_mod=biased, **named)
        with torch.no_grad():
            made = serving.attention(wants(q), cache, cache, score_mod=biased, **named)
        self.assertTrue(torch.equal(made, expected))

    def test_negative_views(self):
        q, cache = self.random(2, 1, 4, 16), self.random(2, 40, 2, 16)
        for given in (
            (torch._neg_view(q), cache, cache), (q, torch._neg_view(cache), cache),
        ):  # fmt: skip
            with self.assertRaisesRegex(ValueError, "'[qk]': is a negative view"):
                door.flash_attn_with_kvcache(*given)

    def test_what_is_missing_is_named(self):
        q = self.random(2, 1, 4, 16)
        with self.assertRaisesRegex(ValueError, "'qv': element type"):
            door.flash_attn_with_kvcache(q, q, q, qv=q.float())


@support.needs_torch
@support.needs_compiler
@support.needs_driver
class LaunchTest(unittest.TestCase):
    def test_under_compile(self):
        """One graph, whose operators launch."""
        fake = support.fake_driver()
        cu, x = starts((30, 40)), torch.zeros(70, 4, 64, dtype=torch.bfloat16)
        cache, lengths = torch.zeros(2, 96, 2, 64, dtype=torch.bfloat16), i32(90, 17)

        def packed_rows(x):
            return door.flash_attn_varlen_func(x * 1, x, x, cu, cu, 40, 40, causal=True) + 1

        def on_a_cache(q):
            return door.flash_attn_with_kvcache(q * 1, cache, cache, cache_seqlens=lengths) + 1

        with (
            support.fake_gpu(),
            mock.patch.object(serving.call, "_sms", lambda _: 132),
            mock.patch.object(torch.cuda, "device", lambda _: mock.MagicMock()),
        ):
            for run, given in ((packed_rows, x), (on_a_cache, x[:2].reshape(2, 1, 4, 64))):
                torch._dynamo.reset()
                compiled = torch.compile(run, backend="eager", fullgraph=True)
                for _ in range(2):
                    before = fake.fakeCudaNumLaunches()
                    self.assertEqual(compiled(given).shape, given.shape)
                    self.assertEqual(fake.fakeCudaNumLaunches() - before, 1)
            launch.plans.clear()

    def test_launches(self):
        fake = support.fake_driver()
        q = torch.zeros(2, 1, 8, 64, dtype=torch.bfloat16)
        pages = torch.zeros(300, 16, 2, 64, dtype=torch.bfloat16)
        table = torch.zeros(2, 128, dtype=torch.int32)
        props = mock.Mock(multi_processor_count=132)
        with (
            support.fake_gpu(),
            mock.patch.object(torch.cuda, "get_device_properties", lambda device: props),
            mock.patch.object(torch.cuda, "device", lambda device: mock.MagicMock()),
        ):
            launch.plans.clear()
            for _ in range(2):
                before = fake.fakeCudaNumLaunches()
                door.flash_attn_with_kvcache(
                    q, pages, pages, cache_seqlens=i32(2000, 17), page_table=table,
                    causal=True,
                )  # fmt: skip
                # The parts, and what merges them, which waits for them itself.
                self.assertEqual(fake.fakeCudaNumLaunches() - before, 2)
                early = [fake.fakeCudaLaunch(before + i).contents.early for i in (0, 1)]
                self.assertEqual(early, [0, 1])
            self.assertEqual(len(support.plans("serving")), 1)
            # Splits of as many heads as key heads, and of many queries.
            for heads, queries in ((2, 1), (8, 40)):
                before = fake.fakeCudaNumLaunches()
                door.flash_attn_with_kvcache(
                    torch.zeros(2, queries, heads, 64, dtype=torch.bfloat16), pages,
                    pages, cache_seqlens=i32(2000, 17), page_table=table, num_splits=3,
                )  # fmt: skip
                self.assertEqual(fake.fakeCudaNumLaunches() - before, 2)
            # More splits need a larger workspace.
            for splits in (2, 9, 3):
                door.flash_attn_with_kvcache(
                    q, pages, pages, cache_seqlens=i32(2000, 17), page_table=table,
                    num_splits=splits,
                )  # fmt: skip
            # Calls that were made before: what is passed is that of the call.
            for scale in (0.25, 0.5):
                table, lengths = (torch.zeros(2, 128, dtype=torch.int32), i32(2000, 17))
                made = door.flash_attn_with_kvcache(
                    q, pages, pages, cache_seqlens=lengths, page_table=table,
                    num_splits=1, softmax_scale=scale, return_softmax_lse=True,
                )  # fmt: skip
                one = fake.fakeCudaLaunch(fake.fakeCudaNumLaunches() - 1).contents
                params = list(one.params)[: one.num_params]
                for one in (table, lengths, made[1]):
                    self.assertIn(one.data_ptr(), params)
                bits = {0.25: 0x3E800000, 0.5: 0x3F000000}
                self.assertIn(bits[scale], [one & 0xFFFFFFFF for one in params])
            with self.assertRaisesRegex(ValueError, "'scale': -1.0"):
                door.flash_attn_with_kvcache(
                    q, pages, pages, cache_seqlens=lengths, page_table=table,
                    num_splits=1, softmax_scale=-1.0, return_softmax_lse=True,
                )  # fmt: skip
            # Scales of 8-bit numbers are those of the call, too; what is left out is 1.
            small_q, small = (x.to(torch.float8_e4m3fn) for x in (q, pages))
            for _ in range(2):
                scales = torch.ones(2, 2), torch.ones(2, 2)
                made = door.flash_attn_with_kvcache(
                    small_q, small, small, cache_seqlens=lengths, page_table=table,
                    num_splits=1, q_descale=scales[0], v_descale=scales[1],
                )  # fmt: skip
                one = fake.fakeCudaLaunch(fake.fakeCudaNumLaunches() - 1).contents
                params = list(one.params)[: one.num_params]
                for one in scales:
                    self.assertIn(one.data_ptr(), params)
                self.assertEqual((made.dtype, made.shape), (torch.bfloat16, q.shape))
            launch.plans.clear()


if __name__ == "__main__":
    unittest.main()
