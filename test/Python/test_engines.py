# SPDX-License-Identifier: Apache-2.0
"""fa3 as a backend of vLLM: its interfaces as test/Engines/interfaces.json has them, batches
as it describes them, values in the interpreter against torch; entry points of all engines
(SGLang: test_engines_sglang.py)."""

import importlib
import pathlib
import re
import sys
import types
import unittest

import engine_stubs as stubs
import support
from engine_requests import BATCHES, PAGE, Requests
from sequences import OnCpu, i32, starts

if support.HAS_TORCH:
    import torch

    from fa3.kernels import invariance
    from fa3.engines import calls, plugins
    from fa3.errors import UnsupportedError

ROOT = pathlib.Path(__file__).resolve().parents[2]


@support.needs_torch
@support.needs_interpreter
class VllmTest(OnCpu):
    def setUp(self):
        super().setUp()
        self.modules = stubs.vllm_modules()
        self.enterContext(stubs.installed(self.modules, "fa3.engines.vllm"))
        self.vllm = importlib.import_module("fa3.engines.vllm")
        self.base = self.modules["vllm.v1.attention.backend"]

    if sys.version_info < (3, 11):

        def enterContext(self, manager):  # noqa: N802
            made = manager.__enter__()
            self.addCleanup(manager.__exit__, None, None, None)
            return made

    def test_interface(self):
        known = stubs.DATA["vllm"]["files"]["vllm/v1/attention/backend.py"]
        pairs = (
            (self.vllm.Backend, "AttentionBackend"), (self.vllm.Impl, "AttentionImpl"),
            (self.vllm.Builder, "AttentionMetadataBuilder"),
        )  # fmt: skip
        for cls, name in pairs:
            self.assertEqual(list(stubs.differences(cls, known[name], name)), [])
            self.assertEqual(cls.__abstractmethods__, frozenset())
        self.assertEqual(self.vllm.Backend.get_name(), "CUSTOM")
        self.assertIs(self.vllm.Backend.get_impl_cls(), self.vllm.Impl)
        self.assertIs(self.vllm.Backend.get_builder_cls(), self.vllm.Builder)
        self.assertEqual(stubs.DATA["vllm"]["version"], "0.33.0")

    def metadata(self, given, **named):
        made = self.base.CommonAttentionMetadata(
            query_start_loc=starts(given.queries), seq_lens=i32(*given.lengths),
            num_reqs=len(given.queries), num_actual_tokens=sum(given.queries),
            max_query_len=max(given.queries), max_seq_len=max(given.lengths),
            block_table_tensor=given.table, slot_mapping=given.new_slots(),
            **{"causal": True, **named},
        )  # fmt: skip
        builder = self.vllm.Builder(None, [], None, torch.device("cpu"))
        return builder.build(0, made)

    def layer(self, k_scale=1.0, v_scale=1.0):
        return types.SimpleNamespace(
            _q_scale=torch.tensor(1.0), _k_scale=torch.tensor(k_scale),
            _v_scale=torch.tensor(v_scale),
        )  # fmt: skip

    def cache(self, given, impl, layer, dtype, heads_first=False):
        """(blocks, key heads, rows, 2 d), filled with the contexts by the backend."""
        shape = (given.pages, PAGE, given.heads[1], 2 * given.dim)
        if heads_first:
            made = torch.zeros(shape[0], shape[2], shape[1], shape[3], dtype=dtype)
        else:
            made = torch.zeros(shape, dtype=dtype).transpose(1, 2)
        for n, (rows, length) in enumerate(zip(given.queries, given.lengths)):
            old = given.slots(n)[: length - rows]
            impl.do_kv_cache_update(layer, given.k[n], given.v[n], made, old)
        return made

    def run_backend(self, given, layer=None, heads_first=False, cache=None, query=None,
                    meta=None, **named):  # fmt: skip
        impl = self.vllm.Impl(given.heads[0], given.dim, given.dim**-0.5, given.heads[1], **named)
        layer = layer or self.layer()
        kv = self.cache(given, impl, layer, cache or given.dtype, heads_first)
        meta = meta or self.metadata(given)
        # Rows behind the tokens fill up a graph's batch.
        q = torch.cat([*given.q, given.random(3, given.heads[0])])
        k, v = (torch.cat([given.new(one), given.random(3, given.heads[1])])
                for one in (given.k, given.v))  # fmt: skip
        impl.do_kv_cache_update(layer, k, v, kv, meta.slot_mapping)
        output = torch.full((q.shape[0], given.heads[0], given.dim), 7.0).to(given.dtype)
        q = q if query is None else q.to(query)
        made = impl.forward(layer, q, k, v, kv, meta, output)
        self.assertIs(made, output)
        self.assertTrue(bool((output[-3:] == 7).all()))
        return given.cut(output)

    def check(self, given, made, tolerance=3e-3, **named):
        for n, o in enumerate(made):
            more = {name: one[n] if isinstance(one, list) else one for name, one in named.items()}
            self.close(o, given.expected(n, **{"causal": True, **more})[0], tolerance)

    def test_batches(self):
        for queries, lengths in BATCHES:
            for heads_first in (False, True):
                with self.subTest(f"{queries} {heads_first}"):
                    given = Requests(queries, lengths)
                    self.check(given, self.run_backend(given, heads_first=heads_first))

    def test_older_caches(self):
        """K and V one behind the other: the same values."""
        given = Requests(*BATCHES[2])
        impl, layer = self.vllm.Impl(4, 64, 0.125, 2), self.layer()
        meta = self.metadata(given)
        made = []
        shapes = (given.pages, 2, PAGE, 128), (given.pages, 2, PAGE, 2, 64)
        for shape in shapes:
            kv = torch.zeros(shape).half()
            for n in range(len(given.lengths)):
                impl.do_kv_cache_update(layer, given.k[n], given.v[n], kv, given.slots(n))
            q = torch.cat(given.q)
            made.append(impl.forward(layer, q, None, None, kv, meta, torch.empty_like(q)))
        self.assertTrue(torch.equal(*made))

    def test_layers(self):
        sinks = torch.randn(4).to(torch.bfloat16)
        for asked, named in (
            ({"sliding_window": 9}, {"window": (8, 0)}),
            ({"logits_soft_cap": 2.0}, {"softcap": 2.0}),
            ({"sinks": sinks, "sliding_window": 20},
             {"sinks": sinks.float(), "window": (19, 0)}),
        ):  # fmt: skip
            with self.subTest(asked):
                given = Requests(*BATCHES[2])
                self.check(given, self.run_backend(given, **asked), **named)

    def test_alibi(self):
        given = Requests((1, 5), (50, 17))
        slopes = [0.5, 0.25, 0.125, 0.0625]

        def change(n):
            rows, keys = given.queries[n], given.lengths[n]
            away = torch.arange(keys) - (torch.arange(rows)[:, None] + keys - rows)
            return lambda s: s + torch.tensor(slopes)[:, None, None] * away

        made = self.run_backend(given, alibi_slopes=slopes)
        self.check(given, made, scores=[change(0), change(1)])

    def test_causal(self):
        given = Requests((5, 5), (50, 17))
        meta = self.metadata(given, causal=False)
        self.check(given, self.run_backend(given, meta=meta), causal=False)
        meta = self.metadata(given, causal=torch.tensor([True, False]))
        self.check(given, self.run_backend(given, meta=meta), causal=[True, False])

    def test_ranges(self):
        """Images of prompts, beside a window that does not hold in them."""
        given = Requests((30, 17), (50, 17))
        doc = {0: [(22, 40), (45, 45)], 1: [(0, 3), (5, 9)]}
        meta = self.metadata(given, mm_req_doc_ranges=doc)

        def mask(n, left):
            row = torch.arange(given.queries[n])[:, None] + given.lengths[n] - given.queries[n]
            key = torch.arange(given.lengths[n])
            seen = (key <= row) & (row - key <= left)
            for a, b in doc[n]:
                if a < b:
                    seen |= (row >= a) & (row <= b) & (key >= a) & (key <= b)
            return seen

        for window, left in ((None, 99), (9, 8)):
            made = self.run_backend(given, meta=meta, sliding_window=window)
            self.check(given, made, causal=False, mask=[mask(0, left), mask(1, left)])
        layer = self.layer()
        layer.mm_prefix_clamp_sliding_window = True
        with self.assertRaisesRegex(UnsupportedError, "mm_prefix_clamp_sliding_window"):
            self.run_backend(given, layer=layer, meta=meta)

    def test_encoders(self):
        given = Requests((20, 33), (20, 33))
        kind = self.base.AttentionType.ENCODER_ONLY
        meta = self.metadata(given)
        impl = self.vllm.Impl(4, 64, 0.125, 2, attn_type=kind, sliding_window=9)
        q, k, v = map(torch.cat, (given.q, given.k, given.v))
        output = torch.empty_like(q)
        impl.do_kv_cache_update(self.layer(), k, v, None, meta.slot_mapping)
        impl.forward(self.layer(), q, k, v, None, meta, output)
        self.check(given, given.cut(output), causal=False, window=(8, 8))

    def test_caches_of_8_bits(self):
        """Queries of 8 bits, of 16 in a batch of one length, and of several."""
        small = torch.float8_e4m3fn
        for queries, lengths in BATCHES[1:]:
            for query in (small, torch.bfloat16):
                with self.subTest(f"{queries} {query}"):
                    given = Requests(queries, lengths, dtype=torch.bfloat16)
                    layer = self.layer(0.5, 2.0)
                    made = self.run_backend(
                        given, layer=layer, cache=torch.uint8, query=query, kv_cache_dtype="fp8",
                    )  # fmt: skip
                    for name, scale in (("k", 0.5), ("v", 2.0)):
                        rounded = [
                            (x.float() / scale).to(small).float() * scale
                            for x in getattr(given, name)
                        ]
                        setattr(given, name, rounded)
                    if query == small:
                        given.q = [x.to(small).float() for x in given.q]
                    self.check(given, made, 6e-2)

    def test_slots_below_0(self):
        """Of rows that fill up a batch: they change nothing."""
        impl = self.vllm.Impl(4, 64, 0.125, 2)
        kv = torch.randn(3, 2, PAGE, 128).half()
        before = kv.clone()
        k, v = torch.randn(4, 2, 64).half(), torch.randn(4, 2, 64).half()
        impl.do_kv_cache_update(self.layer(), k, v, kv, torch.tensor([-1] * 4))
        self.assertTrue(torch.equal(kv, before))
        impl.do_kv_cache_update(self.layer(), k, v, kv, torch.tensor([-1, 20, -1, 0]))
        changed = before.clone()
        for slot, n in ((20, 1), (0, 3)):
            changed[slot // PAGE, :, slot % PAGE] = torch.cat((k[n], v[n]), -1)
        self.assertTrue(torch.equal(kv, changed))

    def test_support(self):
        backend = self.vllm.Backend
        self.assertTrue(backend.supports_head_size(512) and not backend.supports_head_size(100))
        self.assertTrue(backend.supports_compute_capability(types.SimpleNamespace(major=9)))
        self.assertFalse(backend.supports_compute_capability(types.SimpleNamespace(major=10)))
        asked = (torch.bfloat16, "fp8", 16, False, False, False, False, None)
        self.assertIsNone(backend.supports_combination(128, *asked))
        self.assertIn("head size 72", backend.supports_combination(72, *asked))
        for kind, holds in (("decoder", True), ("encoder_only", True), ("other", False)):
            self.assertEqual(backend.supports_attn_type(kind), holds)
        with self.assertRaisesRegex(ValueError, "sinks of shape .3,."):
            self.vllm.Impl(4, 64, 0.125, 2, sinks=torch.zeros(3))
        given = Requests((1,), (5,))
        impl = self.vllm.Impl(4, 64, 0.125, 2)
        with self.assertRaisesRegex(UnsupportedError, "fused output quantization"):
            impl.forward(None, given.q[0], None, None, None, None, given.q[0], torch.ones(1))
        self.assertTrue(bool((impl.forward(
            None, given.q[0], None, None, None, None, torch.ones(1, 4, 64)) == 0).all()))

    def test_batch_invariance(self):
        self.modules["vllm.envs"].VLLM_BATCH_INVARIANT = True
        impl = self.vllm.Impl(4, 64, 0.125, 2)
        self.assertEqual(
            invariance.part_keys(impl.layer.batch_invariant), invariance.PART
        )
        given = Requests(*BATCHES[2])
        whole = self.run_backend(given)
        alone = Requests(given.queries[:1], given.lengths[:1])
        alone.q, alone.k, alone.v = given.q[:1], given.k[:1], given.v[:1]
        self.assertTrue(torch.equal(self.run_backend(alone)[0], whole[0]))

    def test_plugin(self):
        registry = self.modules["vllm.v1.attention.backends.registry"]
        for _ in "ab":
            plugins.register_vllm()
        path = registry._ATTN_OVERRIDES[registry.AttentionBackendEnum.CUSTOM]
        name, _, cls = path.rpartition(".")
        self.assertIs(getattr(importlib.import_module(name), cls), self.vllm.Backend)
        registry._ATTN_OVERRIDES[registry.AttentionBackendEnum.CUSTOM] = "another.Backend"
        plugins.register_vllm()
        self.assertEqual(list(registry._ATTN_OVERRIDES.values()), ["another.Backend"])


@support.needs_torch
class WriteTest(unittest.TestCase):
    """Beside no stand-ins: modes of torch import modules, which would leave with them."""

    def test_writes_wait_for_nothing(self):
        """A number that the host reads would end the capture of a graph."""
        read = (torch.ops.aten._local_scalar_dense, torch.ops.aten.nonzero)

        class Watch(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
                if operator.overloadpacket in read:
                    raise AssertionError(f"{operator} waits for the device")
                return operator(*args, **(kwargs or {}))

        rows = [torch.randn(4, 2, 8).half() for _ in "kv"]
        for dtype in (torch.float16, torch.float8_e4m3fn):
            for slots in ([3, -1, 0, 17], [-1] * 4):
                with self.subTest(f"{dtype} {slots}"):
                    caches = [torch.zeros(3, 8, 2, 8).to(dtype) for _ in "kv"]
                    expected = [one.float() for one in caches]
                    with Watch():
                        calls.write(rows, caches, torch.tensor(slots), (torch.tensor(1.0),) * 2)
                    for one, cache, wanted in zip(rows, caches, expected):
                        for row, slot in zip(one, slots):
                            if slot >= 0:
                                wanted[slot // 8, slot % 8] = row.to(dtype).float()
                        self.assertTrue(torch.equal(cache.float(), wanted))


@support.needs_torch
class EntryPointsTest(unittest.TestCase):
    def test_entry_points(self):
        """Of the wheel lead to functions that are there."""
        text = (ROOT / "pyproject.toml").read_text()
        for group, name in (("vllm.general_plugins", "vllm"), ("sglang.srt.plugins", "sglang")):
            found = re.search(
                rf'\[project.entry-points."{re.escape(group)}"\]\n(\S+) = "(\S+):(\S+)"', text
            )
            self.assertIsNotNone(found, group)
            self.assertEqual(found[2], "fa3.engines.plugins")
            self.assertEqual(found[3], f"register_{name}")
            self.assertTrue(callable(getattr(plugins, found[3])))

    def test_padded_limit(self):
        """Queries of 16 bits that would be padded beyond all bounds are refused."""
        q = torch.empty(1, 1, 1).expand(10, 64, 128)
        batch = calls.Batch(i32(0, 10), i32(10), None, 1 << 20, 10)
        k = torch.empty(1, 16, 8, 128, dtype=torch.float8_e4m3fn)
        with self.assertRaisesRegex(UnsupportedError, "expected at most"):
            calls.attend(calls.Layer(1.0), batch, q, k, k)


if __name__ == "__main__":
    unittest.main()
