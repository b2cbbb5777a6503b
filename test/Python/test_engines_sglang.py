# SPDX-License-Identifier: Apache-2.0
"""fa3 as a backend of SGLang: its interfaces as test/Engines/interfaces.json has them,
batches as it describes them, drafts, graphs; values in the interpreter against torch."""

import importlib
import types
import unittest
from unittest import mock

import engine_stubs as stubs
import support
from engine_requests import BATCHES, PAGE, Requests
from sequences import OnCpu, i32

if support.HAS_TORCH:
    import torch

    from fa3.engines import plugins
    from fa3.errors import UnsupportedError


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
        # A mask of these lengths alone is not the next batch's memory.
        other = self.sglang.Backend(self.runner(given))
        other.init_cuda_graph_state(4, 16)
        short = batch(torch.ones(2 * 4 * 5, dtype=torch.bool), seq_lens=i32(1, 1))
        other.init_forward_metadata_out_graph(short, in_capture=True)
        captured = other.forward_metadata
        replayed = batch(flat.clone())
        other.init_forward_metadata_out_graph(replayed)
        self.assertIs(other.forward_metadata, captured)
        self.check(given, self.run_backend(given, other, replayed), causal=False, mask=seen)
        other = self.sglang.Backend(self.runner(given))
        other.init_cuda_graph_state(4, 16)
        other.init_forward_metadata_out_graph(batch(room[:0]), in_capture=True)
        with self.assertRaisesRegex(UnsupportedError, "captured without"):
            other.init_forward_metadata_out_graph(batch(room))

    def test_drafts(self):
        """Of a chain: a step's keys are behind those of the request, eager and in graphs."""
        given = Requests((1, 1, 1), (50, 17, 33))
        for graph in (False, True):
            drafts = self.sglang.Drafts(self.runner(given), 1, 4)
            self.assertEqual(len(drafts.attn_backends), 3)
            for step, backend in enumerate(drafts.attn_backends):
                lengths = i32(*(n - step - 1 for n in given.lengths))
                batch = self.batch(
                    given, "decode", seq_lens=lengths, seq_lens_cpu=lengths, spec_info=object()
                )
                with self.subTest(f"step {step}, graph {graph}"):
                    if graph:
                        backend.init_cuda_graph_state(4, 4)
                        filled = self.batch(
                            given, "decode", seq_lens=i32(1, 1, 1), seq_lens_cpu=None,
                            spec_info=object(),
                        )  # fmt: skip
                        backend.init_forward_metadata_out_graph(filled, in_capture=True)
                        captured = backend.forward_metadata
                        drafts.init_forward_metadata_in_graph(batch)
                        backend.init_forward_metadata_out_graph(batch)
                        self.assertIs(backend.forward_metadata, captured)
                    else:
                        backend.init_forward_metadata(batch)
                    self.check(given, self.run_backend(given, backend, batch))
        called = []
        with mock.patch.object(
            self.sglang.Backend, "init_forward_metadata", lambda one, _: called.append(one.step)
        ):
            drafts.init_forward_metadata(None)
        self.assertEqual(called, [0, 1, 2])
        with self.assertRaisesRegex(UnsupportedError, "drafting 2 tokens a step"):
            self.sglang.Drafts(self.runner(given), 2, 4)

    def test_extension_of_drafts(self):
        """Lengths have the new tokens; in a graph they are beside the drafts, in memory of
        more requests than the batch has."""
        given = Requests((3, 3), (20, 33))
        backend = self.sglang.Backend(self.runner(given))
        batch = self.batch(given, "draft", spec_info=types.SimpleNamespace())
        backend.init_forward_metadata(batch)
        self.assertEqual(backend.forward_metadata.batch.max_q, 3)
        self.check(given, self.run_backend(given, backend, batch))
        backend.init_cuda_graph_state(4, 12)
        first = self.batch(given, "draft", seq_lens=i32(4, 4), seq_lens_cpu=None)
        backend.init_forward_metadata_out_graph(first, in_capture=True)
        captured = backend.forward_metadata
        spec = types.SimpleNamespace(extend_seq_lens_tensor=i32(3, 3, 3, 3))
        replayed = self.batch(
            given, "draft", seq_lens=i32(*given.lengths, 1, 1), seq_lens_cpu=None,
            req_pool_indices=torch.tensor([1, 2, 0, 0]), spec_info=spec,
        )  # fmt: skip
        del replayed.extend_seq_lens, replayed.extend_seq_lens_cpu
        backend.init_forward_metadata_out_graph(replayed)
        self.assertIs(backend.forward_metadata, captured)
        self.assertEqual(captured.batch.max_q, 3)
        self.check(given, self.run_backend(given, backend, replayed))

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
        with self.assertRaisesRegex(UnsupportedError, "drafting by a backend of no step"):
            backend.init_forward_metadata(self.batch(given, "decode", spec_info=object()))
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

    def test_plugin_of_drafts(self):
        """The factory of backends for drafts, whose table of names is closed."""
        plugins.register_sglang()
        ((target, hook, kind),) = self.modules["sglang.srt.plugins.hook_registry"].hooks
        self.assertEqual(kind, "AROUND")
        file, name, method = target.rsplit(".", 2)
        known = stubs.DATA["sglang"]["files"][file.replace(".", "/") + ".py"][name]["methods"]
        self.assertEqual(known[method][1:3], ["backend_name", "backend_map"])
        self.assertIn("stamps_children", known[method])
        given = Requests((1,), (20,))
        factory = types.SimpleNamespace(
            draft_model_runner=self.runner(given), topk=1, speculative_num_steps=4
        )

        def create(factory, name, known, template, **named):
            self.assertEqual(set(known), {"fa3", "fa3_compiler"})
            return known["fa3_compiler"]()

        for named, cls in (({"stamps_children": True}, "Drafts"), ({}, "Backend")):
            stamp, made = hook(create, factory, "prefill", {"fa3": None}, "", **named)
            self.assertEqual((stamp, type(made).__name__), ("fa3_compiler", cls))


if __name__ == "__main__":
    unittest.main()
