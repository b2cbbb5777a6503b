# SPDX-License-Identifier: Apache-2.0
"""FlashAttention-3's operators and modules by fa3.install_flash_attn_3(): values in the
interpreter against torch's math, schemas, graphs, and what is refused."""

import importlib
import importlib.util
import os
import subprocess
import sys
import tomllib
import types
import unittest
from unittest import mock

import support
from sequences import i32, one_sequence, starts

if support.HAS_TORCH:
    import torch

    import fa3
    from fa3 import flash_attn_3
    from fa3 import flash_attn_interface as functions

    fp16 = torch.float16


@support.needs_torch
@support.needs_interpreter
class InstalledTest(unittest.TestCase):
    def setUp(self):
        fa3.install_flash_attn_3(interpret=True)
        self.addCleanup(fa3.uninstall_flash_attn_3)
        self.ops = torch.ops.flash_attn_3
        self.module = importlib.import_module("flash_attn_3.flash_attn_interface")
        torch.manual_seed(0)

    def random(self, *shape):
        return torch.randn(*shape, dtype=fp16)

    def close(self, made, expected, tolerance=4e-3):
        torch.testing.assert_close(
            made.float(), expected.float(), atol=tolerance, rtol=tolerance
        )

    def compiled(self, function):
        torch._dynamo.reset()
        return torch.compile(function, backend="aot_eager", fullgraph=True)

    def reference(self, q, k, v, do=None, **named):
        """o, lse and, for do, gradients, of dense tensors by one_sequence, in f64."""
        wide = [one.detach().double().requires_grad_() for one in (q, k, v)]
        made = [one_sequence(*one, **named) for one in zip(*wide)]
        o, lse = (torch.stack(one) for one in zip(*made))
        if do is None:
            return o, lse
        return o, lse, *torch.autograd.grad(o, wide, do.to(o))

    # -- fwd ----------------------------------------------------------------------

    def test_dense(self):
        q, k, v = self.random(2, 20, 4, 16), self.random(2, 30, 2, 16), self.random(2, 30, 2, 24)
        o, lse = self.reference(q, k, v, window=(9, 2), softcap=3.0)
        for out in (None, self.random(2, 20, 4, 24)):
            made = self.ops.fwd(
                q, k, v, window_size_left=9, window_size_right=2, softcap=3.0, out=out
            )
            self.close(made[0], o)
            self.close(made[1], lse)
            self.assertEqual([one.numel() for one in made[2:]], [0, 0])
            if out is not None:
                self.assertEqual(made[0].data_ptr(), out.data_ptr())
        o, _ = self.reference(q, k, v, causal=True, chunk=8)
        self.close(self.ops.fwd(q, k, v, is_causal=True, attention_chunk=8)[0], o)
        # Scores of two parts: q k^T + q_v v^T.
        q_v = self.random(2, 20, 4, 24)
        o, lse = self.reference(torch.cat((q, q_v), -1), torch.cat((k, v), -1), v)
        made = self.ops.fwd(q, k, v, q_v=q_v)
        self.close(made[0], o)
        self.close(made[1], lse)
        with self.assertRaisesRegex(NotImplementedError, "'q_v' with 'k_new'"):
            self.ops.fwd(q, k, v, k, v, q_v, seqused_k=i32(1, 2))
        with self.assertRaisesRegex(ValueError, "'max_seqlen_k': is None"):
            self.ops.fwd(q[0], k[0], v[0], cu_seqlens_q=i32(0, 20), max_seqlen_q=20,
                         cu_seqlens_k=i32(0, 30))  # fmt: skip

    def test_sequences(self):
        lengths = ((20, 25), (3, 9))
        cu_q, cu_k = (starts(one) for one in zip(*lengths))
        q, k = self.random(23, 4, 16), self.random(34, 2, 16)
        made = self.ops.fwd(
            q, k, k, None, None, None, None, cu_q, cu_k, None, None, i32(22, 9), 20, 25,
            None, None, None, None, None, None, None, None, None, 0.3, True, -1, -1, 0, 0.0,
            True, None, 2, None, 0,
        )  # fmt: skip
        wide = q * 0.3 * 4
        for rows, keys in (((0, 20), (0, 22)), ((20, 23), (25, 34))):
            x, y = wide[slice(*rows)], k[slice(*keys)]
            o, lse = one_sequence(x, y, y, causal=True)
            self.close(made[0][slice(*rows)], o)
            self.close(made[1][:, slice(*rows)], lse)

    def test_cache(self):
        """Pages, new keys with rotary embedding, metadata, memory for the result."""
        q, new = self.random(2, 3, 4, 16), self.random(2, 3, 2, 16)
        table = torch.tensor([[3, 1, 5], [0, 6, 2]], dtype=torch.int32)
        lengths = i32(30, 12)
        angles = torch.arange(64.0)[:, None] * torch.rand(8)
        metadata = self.ops.get_scheduler_metadata(2, 3, 48, 4, 2, 16, 16, fp16, lengths)
        self.assertEqual((metadata.dtype, metadata.numel()), (torch.int32, 0))
        caches = [[self.random(7, 16, 2, 16) for _ in range(2)]]
        caches.append([one.clone() for one in caches[0]])
        out = self.random(2, 3, 4, 16)
        made = self.ops.fwd(
            q, *caches[0], new, 2 * new, out=out, seqused_k=lengths, page_table=table,
            rotary_cos=angles.cos().half(), rotary_sin=angles.sin().half(), is_causal=True,
            scheduler_metadata=metadata, is_rotary_interleaved=True,
        )  # fmt: skip
        self.assertEqual(made[0].data_ptr(), out.data_ptr())
        with mock.patch.object(
            functions.serving, "attention",
            lambda *args, real=functions.serving.attention, **named: real(
                *args, **named, interpret="definition"
            ),
        ):  # fmt: skip
            expected = functions.flash_attn_with_kvcache(
                q, *caches[1], new, 2 * new, cache_seqlens=lengths, page_table=table,
                rotary_cos=angles.cos().half(), rotary_sin=angles.sin().half(), causal=True,
            )  # fmt: skip
        self.close(out, expected)
        for one, other in zip(*caches):
            self.close(one, other)

    # -- bwd ----------------------------------------------------------------------

    def test_gradients(self):
        q, k, v = self.random(2, 20, 4, 16), self.random(2, 30, 2, 16), self.random(2, 30, 2, 24)
        do = self.random(2, 20, 4, 24)
        o, lse, *expected = self.reference(q, k, v, do, causal=True, window=(12, 0))
        given = [self.random(*one.shape) for one in (q, k, v)]
        sums, *nothing = self.ops.bwd(
            do, q, k, v, o.half(), lse.float(), *given, is_causal=True, window_size_left=12,
            deterministic=True,
        )  # fmt: skip
        for one, other in zip(given, expected):
            self.close(one, other, 1e-2)
        self.assertEqual(sums.shape, (2, 4, 128))
        self.close(sums[..., :20], (do * o.half()).float().sum(-1).transpose(1, 2), 2e-2)
        self.assertEqual(len(nothing), 4)
        for name, changed in (("dk", [given[0], None, given[2]]), ("dv", [*given[:2], q])):
            with self.assertRaisesRegex(ValueError, f"'{name}'"):
                self.ops.bwd(do, q, k, v, o.half(), lse.float(), *changed)

    def test_gradients_of_sequences(self):
        """Packed ones, and padded ones of which some rows count."""
        q, do = (self.random(2, 20, 4, 16) for _ in range(2))
        k = self.random(2, 30, 2, 16)
        used = (i32(20, 7), i32(30, 11))
        cu = (i32(0, 20, 27), i32(0, 30, 41))
        rows = [(slice(0, 20), slice(0, 30)), (slice(0, 7), slice(0, 11))]
        parts = [
            self.reference(q[i, None, x], k[i, None, y], k[i, None, y], do[i, None, x],
                           causal=True)
            for i, (x, y) in enumerate(rows)
        ]  # fmt: skip

        def packed(one, which):
            return torch.cat([one[i, each[which]] for i, each in enumerate(rows)])

        o, lse = torch.zeros(2, 20, 4, 16), torch.zeros(2, 4, 20)
        for i, (x, _) in enumerate(rows):
            o[i, x], lse[i, :, x] = parts[i][0][0], parts[i][1][0]
        for is_packed in (True, False):
            if is_packed:
                given = [packed(one, 0).half() for one in (do, q)]
                given += [packed(k, 1)] * 2 + [packed(o, 0).half()]
                given.append(packed(lse.transpose(1, 2), 0).T.contiguous())
                arrays, most = (*cu, None, None), (20, 30)
            else:
                given = [do, q, k, k, o.half(), lse]
                arrays, most = (None, None, *used), (None, None)
            made = [torch.full_like(one, 7) for one in given[1:4]]
            (sums, *_) = self.ops.bwd(*given, *made, *arrays, *most, is_causal=True)
            for number, one in enumerate(made):
                which = int(number > 0)
                one = one if is_packed else packed(one, which)
                expected = torch.cat([part[2 + number][0] for part in parts])
                self.close(one, expected, 1e-2)
            if not is_packed:
                self.assertEqual(made[1][1, 11:].abs().max(), 0)
                continue
            expected = (given[0] * given[4]).float().sum(-1).T
            self.assertEqual(sums.shape, (4, -(-(27 + 256) // 128) * 128))
            self.close(sums[:, :20], expected[:, :20], 2e-2)
            self.close(sums[:, 128:135], expected[:, 20:], 2e-2)

    def test_functions_with_gradients(self):
        """_flash_attn_forward, and _flash_attn_backward as a ring calls it."""
        cu = starts((20, 12))
        q, k, v = (self.random(32, heads, 16).requires_grad_() for heads in (4, 2, 2))
        do, dlse = self.random(32, 4, 16), torch.rand(4, 32)
        wide = [one.detach().double().requires_grad_() for one in (q, k, v)]
        parts = [
            one_sequence(*(one[x] for one in wide), causal=True)
            for x in (slice(0, 20), slice(20, 32))
        ]  # fmt: skip
        o, lse = torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts], 1)
        expected = torch.autograd.grad((o, lse), wide, (do.double(), dlse.double()),
                                       retain_graph=True)  # fmt: skip
        run = self.module._flash_attn_forward
        named = {
            "cu_seqlens_q": cu, "cu_seqlens_k": cu, "max_seqlen_q": 20, "max_seqlen_k": 20,
            "softmax_scale": 0.25, "causal": True,
        }  # fmt: skip
        for call in (run, self.compiled(run), self.ops._flash_attn_forward):
            made, sums, *_ = call(q, k, v, **named)
            self.close(made, o)
            self.close(sums, lse)
            grads = torch.autograd.grad((made, sums), (q, k, v), (do, dlse))
            for one, other in zip(grads, expected):
                self.close(one, other, 1e-2)
        with torch.no_grad():
            plain = [one.detach() for one in (q, k, v)]
            for call in (self.module._flash_attn_backward, self.ops._flash_attn_backward):
                made = [torch.empty_like(one) for one in plain]
                call(do, *plain, o.half(), lse.float(), cu, cu, None, None, 20, 20, *made,
                     0.25, True)  # fmt: skip
                for one, other in zip(
                    made, torch.autograd.grad(o, wide, do.double(), retain_graph=True)
                ):
                    self.close(one, other, 1e-2)
        with self.assertRaisesRegex(NotImplementedError, "gradients with 'page_table'"):
            run(q[None], k[None], v[None], page_table=i32(0)[None])

    def test_combine(self):
        o, lse = torch.randn(3, 2, 5, 4, 16), torch.randn(3, 2, 5, 4)
        expected = (o * torch.softmax(lse, 0)[..., None]).sum(0)
        out = torch.empty(2, 5, 4, 16, dtype=fp16)
        made, sums = self.ops.fwd_combine(o, lse, out, fp16)
        self.assertEqual(made.data_ptr(), out.data_ptr())
        self.close(made, expected)
        self.close(sums, lse.logsumexp(0))
        self.close(self.ops.fwd_combine(o, lse)[0], expected)

    # -- graphs -------------------------------------------------------------------

    def test_compile(self):
        """The operators themselves, also those that write into what they are given."""
        q, cu = self.random(2, 20, 2, 16), starts((20, 20))
        flat = q.flatten(0, 1)
        calls = (
            lambda q: self.ops.fwd(q, q, q, is_causal=True)[:2],
            lambda q: self.ops.fwd(
                q, q, q, out=torch.ones_like(q) * 2, window_size_left=4
            )[0] + 1,
            lambda q: self.ops._flash_attn_forward(q, q, q, causal=True)[0] * 2,
            lambda q: self.ops.fwd(
                flat, flat, q.flatten(0, 1), cu_seqlens_q=cu, cu_seqlens_k=cu,
                max_seqlen_q=20, max_seqlen_k=20,
            )[0],
            lambda q: self.ops.fwd_combine(q[None].float() + 1, q[None, ..., 0].float())[0],
        )  # fmt: skip
        for call in calls:
            expected, made = call(q), self.compiled(call)(q)
            for one, other in zip(made, expected):
                self.assertTrue(torch.equal(one, other))

        def gradients(q, do):
            o, lse, *_ = self.ops.fwd(q, q, q, is_causal=True)
            grads = [torch.empty_like(q) for _ in range(3)]
            sums = self.module._flash_attn_backward(
                do, q, q, q, o, lse, None, None, None, None, None, None, *grads, None, True
            )
            return grads[0] + grads[1] + grads[2], sums

        do = self.random(2, 20, 2, 16)
        expected, made = gradients(q, do), self.compiled(gradients)(q, do)
        for one, other in zip(made, expected):
            self.assertTrue(torch.equal(one, other))

    def test_given_memory_in_graphs(self):
        """Rows of `out` that are of no sequence stay, as in an eager call."""
        q, new = self.random(30, 2, 16), self.random(2, 3, 2, 16)
        cu, used = i32(2, 20, 25), i32(7, 9)

        def packed(q, out, used):
            return self.ops.fwd(
                q, q, q, cu_seqlens_q=cu, cu_seqlens_k=cu, max_seqlen_q=18, max_seqlen_k=18,
                seqused_q=used, out=out, is_causal=True,
            )[0]  # fmt: skip

        def padded(q, out, used):
            q, out = q.reshape(2, 15, 2, 16), out.reshape(2, 15, 2, 16)
            return self.ops.fwd(q, q, q, seqused_q=used, seqused_k=used, out=out)[0]

        for call in (packed, padded):
            for given in (i32(7, 4), None) if call is packed else (used,):
                made = []
                for one in (call, self.compiled(call)):
                    out = torch.full_like(q, 3.0)
                    one(q, out, given)
                    made.append(out)
                self.assertTrue(torch.equal(*made))
                self.assertEqual(made[0].flatten()[-1], 3.0)

        def cached(q, cache, new, out):
            self.ops.fwd(q, cache, cache, new, new, seqused_k=i32(5, 6), out=out)
            return out + 1

        caches = [self.random(2, 16, 2, 16)] * 2
        made = [
            (call(new, cache, new, torch.zeros_like(new)), cache)
            for call, cache in zip((cached, self.compiled(cached)),
                                   [one.clone() for one in caches])
        ]  # fmt: skip
        for one, other in zip(*made):
            self.assertTrue(torch.equal(one, other))
        with self.assertRaisesRegex(Exception, "'out': torch.float16 of shape"):
            self.compiled(packed)(q, torch.zeros(29, 2, 16).half(), None)

    def test_opcheck(self):
        q, lengths = self.random(2, 12, 2, 16), i32(7, 9)
        o, lse, *_ = self.ops.fwd(q, q, q)
        grads = [torch.empty_like(q) for _ in range(3)]
        tests = ("test_schema", "test_autograd_registration", "test_faketensor")
        torch.library.opcheck(self.ops.fwd, (q, q, q), test_utils=tests)
        torch.library.opcheck(
            self.ops.fwd, (q, q, q), {"out": torch.empty_like(q)}, test_utils=tests
        )
        torch.library.opcheck(self.ops.bwd, (o, q, q, q, o, lse, *grads))
        torch.library.opcheck(
            self.ops.fwd_combine, (q[None], q[None, ..., 0].float()), test_utils=tests
        )
        torch.library.opcheck(
            self.ops.get_scheduler_metadata, (2, 3, 48, 4, 2, 16, 16, fp16, lengths)
        )

    # -- as others look for it ----------------------------------------------------

    def test_names(self):
        for path in ("flash_attn_interface", "flash_attn_3.flash_attn_interface"):
            self.assertIsNotNone(importlib.util.find_spec(path))
            module = importlib.import_module(path)
            self.assertIs(module.flash_attn_func, functions.flash_attn_func)
            self.assertIs(module._flash_attn_forward, flash_attn_3._flash_attn_forward)
        self.assertEqual(importlib.import_module("flash_attn_3").__version__, "3.0.0+fa3")

    def test_torch_fa3(self):
        """What torch's own "FA3" calls, for scaled_dot_product_attention and
        varlen_attn."""
        try:
            from torch.nn.attention import _fa3
        except ImportError:
            self.skipTest("needs torch.nn.attention._fa3, torch 2.11")
        _fa3._fa3_import_module("flash_attn_interface")
        q, k = self.random(20, 4, 16), self.random(30, 2, 16)
        cu_q, cu_k = i32(0, 20), i32(0, 30)
        do = self.random(20, 4, 16)
        o, lse, *expected = self.reference(q[None], k[None], k[None], do[None], causal=True)
        made, sums = _fa3._fa3_run_forward(
            q, k, k, cu_q, cu_k, 20, 30, None, True, None, None, None
        )
        self.close(made, o[0])
        self.close(sums, lse[0])
        grads = _fa3._fa3_run_backward(
            do, q, k, k, made, sums, cu_q, cu_k, 20, 30, None, True, -1, -1
        )
        for one, other in zip(grads, expected):
            self.close(one, other[0], 1e-2)

    def test_schemas(self):
        """As callers pass arguments by position, and graphs that were exported by name."""
        masks = "is_causal window_size_left window_size_right "
        common = "cu_seqlens_q cu_seqlens_k {}seqused_q seqused_k max_seqlen_q max_seqlen_k "
        for name, arguments, results in (
            ("fwd", "q k v k_new v_new q_v out " + common.format("cu_seqlens_k_new ")
             + "page_table kv_batch_idx leftpad_k rotary_cos rotary_sin seqlens_rotary "
             "q_descale k_descale v_descale softmax_scale " + masks + "attention_chunk softcap "
             "is_rotary_interleaved scheduler_metadata num_splits pack_gqa sm_margin", 4),
            ("bwd", "dout q k v out softmax_lse dq dk dv " + common.format("")
             + "softmax_scale " + masks + "softcap deterministic sm_margin", 5),
            ("fwd_combine", "out_partial lse_partial out out_dtype", 2),
            ("get_scheduler_metadata", "batch_size max_seqlen_q max_seqlen_k num_heads "
             "num_heads_k headdim headdim_v qkv_dtype seqused_k cu_seqlens_q cu_seqlens_k "
             "cu_seqlens_k_new seqused_q leftpad_k page_size max_seqlen_k_new " + masks
             + "attention_chunk has_softcap num_splits pack_gqa sm_margin", 1),
        ):  # fmt: skip
            schema = getattr(self.ops, name).default._schema
            self.assertEqual([one.name for one in schema.arguments], arguments.split())
            self.assertEqual(len(schema.returns), results)
            for one in schema.arguments:
                changed = one.name in ("k_new", "v_new", "dq", "dk", "dv") or (
                    one.name == "out" and name != "bwd"
                )
                self.assertEqual(bool(one.alias_info and one.alias_info.is_write), changed)


@support.needs_torch
class InstallTest(unittest.TestCase):
    def test_distribution(self):
        """The modules of python/drop_in, in a process of their own."""
        program = """
import flash_attn_3._C, torch
ops = torch.ops.flash_attn_3
assert len(ops.fwd.default._schema.arguments) == 34
import flash_attn_3.flash_attn_interface as one, flash_attn_interface as other, fa3
assert one.flash_attn_func is other.flash_attn_func is fa3.flash_attn_interface.flash_attn_func
assert one._flash_attn_backward is other._flash_attn_backward
assert flash_attn_3.__version__ == fa3.flash_attn_3.VERSION
fa3.install_flash_attn_3()
import sys
assert sys.modules["flash_attn_interface"] is other
"""
        folder = support.ROOT / "python" / "drop_in"
        path = os.pathsep.join([str(folder), str(folder.parent), *sys.path])
        subprocess.run([sys.executable, "-c", program], check=True,
                       env={**os.environ, "PYTHONPATH": path})  # fmt: skip
        with open(folder / "pyproject.toml", "rb") as file:
            project = tomllib.load(file)["project"]
        self.assertEqual((project["name"], project["version"]),
                         ("flash-attn-3", flash_attn_3.VERSION))  # fmt: skip

    def test_what_is_there_already(self):
        theirs = types.ModuleType("flash_attn_interface")
        with mock.patch.dict(sys.modules, {"flash_attn_interface": theirs}):
            with self.assertRaisesRegex(fa3.Fa3Error, "flash_attn_interface is loaded"):
                fa3.install_flash_attn_3()
            self.assertIs(sys.modules["flash_attn_interface"], theirs)
        with mock.patch.object(flash_attn_3, "_names", None), mock.patch.object(
            torch._C, "_dispatch_get_all_op_names", lambda: ["flash_attn_3::fwd"]
        ):
            with self.assertRaisesRegex(fa3.Fa3Error, r"torch.ops.flash_attn_3.fwd is loaded"):
                fa3.install_flash_attn_3()

    def test_uninstall(self):
        for _ in range(2):
            fa3.install_flash_attn_3()
            fa3.install_flash_attn_3()
            kept = torch.ops.flash_attn_3.fwd
            q = torch.zeros(1, 8, 2, 16, dtype=torch.float16)
            with self.assertRaisesRegex(ValueError, "device is cpu, expected CUDA"):
                kept(q, q, q)
            fa3.uninstall_flash_attn_3()
            fa3.uninstall_flash_attn_3()
            for path in flash_attn_3.MODULES:
                self.assertNotIn(path, sys.modules)
            with self.assertRaisesRegex(NotImplementedError, "flash_attn_3::fwd"):
                kept(q, q, q)


if __name__ == "__main__":
    unittest.main()
