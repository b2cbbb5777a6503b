# SPDX-License-Identifier: Apache-2.0
"""fa3 as a backend of vLLM and SGLang: their interfaces as test/Engines/interfaces.json has
them, batches as they describe them, values in the interpreter against torch."""

import importlib
import pathlib
import re
import sys
import types
import unittest

import engine_stubs as stubs
import support
from sequences import OnCpu, i32, one_sequence, starts

if support.HAS_TORCH:
    import torch

    from fa3.kernels import invariance
    from fa3.engines import calls, plugins
    from fa3.errors import UnsupportedError

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = 16


class Requests:
    """Requests with new queries behind a context, and a cache in pages."""

    def __init__(self, queries, lengths, heads=(4, 2), dim=64, dtype=None):
        self.queries, self.lengths, self.heads, self.dim = queries, lengths, heads, dim
        self.dtype = dtype or torch.float16
        self.q = [self.random(n, heads[0]) for n in queries]
        self.k, self.v = ([self.random(n, heads[1]) for n in lengths] for _ in "kv")
        self.width = -(-max(lengths) // PAGE)
        count = len(lengths) * self.width + 1
        order = torch.randperm(count - 1) + 1
        self.table = order.reshape(-1, self.width).to(torch.int32)
        self.pages = count

    def random(self, rows, heads):
        return torch.randn(rows, heads, self.dim).to(self.dtype)

    def slots(self, n, first=0):
        at = torch.arange(first, self.lengths[n])
        return self.table[n, at // PAGE].long() * PAGE + at % PAGE

    def new_slots(self):
        """Where the keys of new queries go."""
        return torch.cat([
            self.slots(n, length - rows)
            for n, (rows, length) in enumerate(zip(self.queries, self.lengths))
        ])  # fmt: skip

    def new(self, given):
        return torch.cat([
            one[one.shape[0] - rows :] for one, rows in zip(given, self.queries)
        ])

    def expected(self, n, **named):
        return one_sequence(self.q[n], self.k[n], self.v[n], **named)

    def cut(self, o):
        at = starts(self.queries)
        return [o[slice(*at[n : n + 2].tolist())] for n in range(len(self.queries))]


BATCHES = (
    ((20, 33), (20, 33)), ((1, 1, 1), (50, 17, 1)), ((1, 5, 20, 1), (50, 17, 20, 33)),
)  # fmt: skip


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


class Mode:
    """SGLang's forward modes, as far as the backend asks."""

    def __init__(self, name):
        self.name = name

    def is_decode_or_idle(self):
        return self.name == "decode"

    def is_target_verify(self):
        return self.name == "verify"

    def is_draft_extend_v2(self):
        return self.name == "draft"

    def __repr__(self):
        return self.name


class Pool:
    def __init__(self, given, dtype):
        rows = given.pages * PAGE
        self.k, self.v = (
            torch.zeros(rows, given.heads[1], given.dim, dtype=dtype) for _ in "kv"
        )

    def get_kv_buffer(self, layer):
        return self.k, self.v

    def set_kv_buffer(self, layer, where, k, v, k_scale=None, v_scale=None):
        for kept, new, scale in ((self.k, k, k_scale), (self.v, v, v_scale)):
            new = new.view(-1, *kept.shape[1:])
            kept[where.loc] = (new if scale is None else new / scale).to(kept.dtype)


@support.needs_torch
@support.needs_interpreter
class SglangTest(OnCpu):
    def setUp(self):
        super().setUp()
        self.modules = stubs.sglang_modules()
        manager = stubs.installed(self.modules, "fa3.engines.sglang")
        manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        self.sglang = importlib.import_module("fa3.engines.sglang")

    def runner(self, given, dtype=None, **named):
        most = given.width * PAGE
        tokens = torch.zeros(len(given.lengths) + 2, most, dtype=torch.int32)
        at = torch.arange(most)
        for n, row in enumerate(given.table):
            tokens[n + 1] = row[at // PAGE] * PAGE + at % PAGE
        pool = Pool(given, dtype or given.dtype)
        for n, (rows, length) in enumerate(zip(given.queries, given.lengths)):
            old = given.slots(n)[: length - rows]
            pool.k[old], pool.v[old] = (
                one[n][: length - rows].to(pool.k.dtype) for one in (given.k, given.v)
            )
        return types.SimpleNamespace(**{
            "token_to_kv_pool": pool, "page_size": PAGE, "device": "cpu",
            "req_to_token_pool": types.SimpleNamespace(req_to_token=tokens),
            "model_config": types.SimpleNamespace(is_encoder_decoder=False, context_len=most),
            "server_args": types.SimpleNamespace(enable_deterministic_inference=False), **named,
        })  # fmt: skip

    def batch(self, given, mode, **named):
        count = len(given.queries)
        old = i32(*(n - rows for n, rows in zip(given.lengths, given.queries)))
        lengths = old if mode == "verify" else i32(*given.lengths)
        return types.SimpleNamespace(**{
            "forward_mode": Mode(mode), "batch_size": count, "seq_lens": lengths,
            "seq_lens_cpu": lengths, "req_pool_indices": torch.arange(count) + 1,
            "extend_seq_lens": i32(*given.queries), "extend_seq_lens_cpu": list(given.queries),
            "spec_info": None, "out_cache_loc": given.new_slots(), **named,
        })  # fmt: skip

    def layer(self, given, **named):
        kind = self.modules["sglang.srt.layers.radix_attention"].AttentionType.DECODER
        return types.SimpleNamespace(**{
            "tp_q_head_num": given.heads[0], "tp_k_head_num": given.heads[1],
            "tp_v_head_num": given.heads[1], "head_dim": given.dim, "v_head_dim": given.dim,
            "scaling": given.dim**-0.5, "sliding_window_size": -1, "logit_cap": 0.0,
            "layer_id": 0, "k_scale": None, "v_scale": None, "attn_type": kind,
            "is_cross_attention": False, **named,
        })  # fmt: skip

    def run_backend(self, given, backend, batch, **named):
        decodes = batch.forward_mode.is_decode_or_idle()
        forward = backend.forward_decode if decodes else backend.forward_extend
        more = {name: named.pop(name) for name in ("sinks", "return_lse") if name in named}
        made = forward(
            torch.cat(given.q).flatten(1), given.new(given.k), given.new(given.v),
            self.layer(given, **named), batch, **more,
        )  # fmt: skip
        o = made[0] if isinstance(made, tuple) else made
        return given.cut(o.view(-1, given.heads[0], given.dim))

    def check(self, given, made, tolerance=3e-3, **named):
        for n, o in enumerate(made):
            more = {name: one[n] if isinstance(one, list) else one for name, one in named.items()}
            self.close(o, given.expected(n, **{"causal": True, **more})[0], tolerance)

    def test_interface(self):
        folder = "sglang/srt/layers/attention/"
        known = stubs.DATA["sglang"]["files"][folder + "base_attn_backend.py"]["AttentionBackend"]
        known = {"methods": {
            name: [one for one in given if one != "**"]
            for name, given in known["methods"].items() if name != "__init__"
        }}  # fmt: skip
        self.assertEqual(list(stubs.differences(self.sglang.Backend, known, "Backend")), [])
        for name in ("init_cuda_graph_state", "get_cuda_graph_seq_len_fill_value",
                     "forward_decode", "forward_extend"):  # fmt: skip
            self.assertIn(name, vars(self.sglang.Backend))
        self.assertEqual(stubs.DATA["sglang"]["version"], "0.5.23")

    def test_batches(self):
        sinks = torch.randn(4)
        for queries, lengths in BATCHES:
            for asked, named in (
                ({}, {}), ({"sliding_window_size": 8}, {"window": (8, 0)}),
                ({"logit_cap": 2.0}, {"softcap": 2.0}), ({"sinks": sinks}, {"sinks": sinks}),
            ):  # fmt: skip
                with self.subTest(f"{queries} {asked}"):
                    given = Requests(queries, lengths)
                    backend = self.sglang.Backend(self.runner(given))
                    mode = "decode" if max(queries) == 1 else "extend"
                    batch = self.batch(given, mode)
                    backend.init_forward_metadata(batch)
                    self.check(given, self.run_backend(given, backend, batch, **asked), **named)

    def test_caches_of_8_bits(self):
        small = torch.float8_e4m3fn
        for queries, lengths in BATCHES[1:]:
            given = Requests(queries, lengths, dtype=torch.bfloat16)
            given.k, given.v = ([x.to(small).to(x.dtype) for x in y] for y in (given.k, given.v))
            backend = self.sglang.Backend(self.runner(given, small))
            batch = self.batch(given, "decode" if max(queries) == 1 else "extend")
            backend.init_forward_metadata(batch)
            made = self.run_backend(
                given, backend, batch, k_scale=torch.tensor(1.0), v_scale=torch.tensor(1.0)
            )
            self.check(given, made, 6e-2)

    def test_verification(self):
        """Of a chain, and of a tree, whose mask is of all keys."""
        given = Requests((4, 4, 4), (50, 17, 33))
        chain = types.SimpleNamespace(draft_token_num=4, custom_mask=None, topk=1)
        backend = self.sglang.Backend(self.runner(given))
        batch = self.batch(given, "verify", spec_info=chain)
        backend.init_forward_metadata(batch)
        self.check(given, self.run_backend(given, backend, batch))
        seen = []
        for rows, length in zip(given.queries, given.lengths):
            one = torch.rand(rows, length) < 0.5
            one[:, : length - rows] = True
            seen.append(one)
        mask = torch.cat([one.flatten() for one in seen])
        for asked in ({"topk": 2}, {}):  # n-grams have no topk
            tree = types.SimpleNamespace(draft_token_num=4, custom_mask=mask, **asked)
            batch = self.batch(given, "verify", spec_info=tree)
            backend.init_forward_metadata(batch)
            self.check(given, self.run_backend(given, backend, batch), causal=False, mask=seen)

    def test_verification_in_graphs(self):
        """Lengths and trees in the memory that was captured; none where there was none."""
        given = Requests((4, 4), (50, 17))
        backend = self.sglang.Backend(self.runner(given))
        backend.init_cuda_graph_state(4, 16)
        room = torch.ones(4 * 2 * given.width * PAGE, dtype=torch.bool)

        def batch(mask, **named):
            spec = types.SimpleNamespace(draft_token_num=4, custom_mask=mask, topk=2)
            return self.batch(given, "verify", spec_info=spec, seq_lens_cpu=None, **named)

        backend.init_forward_metadata_out_graph(batch(room, seq_lens=i32(1, 1)), in_capture=True)
        captured = backend.forward_metadata
        self.assertEqual(captured.tree[0].data_ptr(), room.data_ptr())
        seen = [torch.rand(4, n) < 0.5 for n in given.lengths]
        for one, length in zip(seen, given.lengths):
            one[:, : length - 4] = True
        flat = torch.cat([one.flatten() for one in seen])
        room[: flat.shape[0]] = flat
        replayed = batch(room)
        backend.init_forward_metadata_out_graph(replayed)
        self.assertIs(backend.forward_metadata, captured)
        made = self.run_backend(given, backend, replayed)
        self.check(given, made, causal=False, mask=seen)
        other = self.sglang.Backend(self.runner(given))
        other.init_cuda_graph_state(4, 16)
        other.init_forward_metadata_out_graph(batch(room[:0]), in_capture=True)
        with self.assertRaisesRegex(UnsupportedError, "captured without"):
            other.init_forward_metadata_out_graph(batch(room))

    def test_graphs(self):
        """One memory for all batches of a number of requests, other lengths in it."""
        given = Requests((1, 1, 1), (50, 17, 33))
        backend = self.sglang.Backend(self.runner(given))
        backend.init_cuda_graph_state(4, 4)
        fill = backend.get_cuda_graph_seq_len_fill_value()
        batch = self.batch(given, "decode", seq_lens=i32(fill, fill, fill), seq_lens_cpu=None)
        backend.init_forward_metadata_out_graph(batch, in_capture=True)
        captured = backend.forward_metadata.batch
        places = [getattr(captured, n).data_ptr() for n in ("cu_q", "used_k", "table")]
        batch = self.batch(given, "decode", seq_lens_cpu=None)
        backend.init_forward_metadata_out_graph(batch)
        replayed = backend.forward_metadata.batch
        self.assertEqual(
            places, [getattr(replayed, n).data_ptr() for n in ("cu_q", "used_k", "table")]
        )
        self.assertEqual((captured.max_q, captured.max_k), (replayed.max_q, replayed.max_k))
        self.check(given, self.run_backend(given, backend, batch))

    def test_refusals(self):
        given = Requests((1,), (20,))
        for named, text in (
            ({"use_mla_backend": True}, "MLA"),
            ({"model_config": types.SimpleNamespace(is_encoder_decoder=True)}, "encoder-decoder"),
            ({"token_to_kv_pool": types.SimpleNamespace(swa_kv_pool=1)}, "pool of its own"),
        ):  # fmt: skip
            with self.subTest(text), self.assertRaisesRegex(UnsupportedError, text):
                self.sglang.Backend(self.runner(given, **named))
        backend = self.sglang.Backend(self.runner(given))
        for mode, named, text in (
            ("draft", {}, "draft"), ("decode", {"spec_info": object()}, "drafting")
        ):
            with self.subTest(text), self.assertRaisesRegex(UnsupportedError, text):
                backend.init_forward_metadata(self.batch(given, mode, **named))
        backend.init_forward_metadata(self.batch(given, "decode"))
        with self.assertRaisesRegex(UnsupportedError, "score_mod"):
            backend.forward_decode(
                given.q[0], None, None, self.layer(given), None, score_mod=lambda *a: a
            )

    def test_plugin(self):
        registry = self.modules["sglang.srt.layers.attention.attention_registry"]
        for _ in "ab":
            plugins.register_sglang()
        given = Requests((1,), (20,))
        made = registry.ATTENTION_BACKENDS["fa3_compiler"](self.runner(given))
        self.assertIs(type(made), self.sglang.Backend)
        self.assertEqual(self.modules["sglang.srt.server_args"].choices, ["fa3_compiler"] * 2)


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
