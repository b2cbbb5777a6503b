# SPDX-License-Identifier: Apache-2.0
"""Packed sequences, caches and merges under torch.compile: one graph, and the values
of the uncompiled call, which other tests compare with torch's math."""

import unittest
from unittest import mock

import support
from sequences import OnCpu, i32, one_sequence, starts

if support.HAS_TORCH:
    import torch

    from fa3 import flash_attn_interface as door
    from fa3.calls import merging
    from fa3.serving import operators  # noqa: F401


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, backend="aot_eager", fullgraph=True)


@support.needs_torch
@support.needs_interpreter
class CompiledTest(OnCpu):
    def setUp(self):
        super().setUp()
        real = merging.run
        patch = mock.patch.object(
            merging, "run", lambda *args, **named: real(*args, **{**named, "interpret": True})
        )
        patch.start()
        self.addCleanup(patch.stop)

    def same(self, run, *given, exact=True):
        expected = run(*given)
        made = compiled(run)(*given)
        for one, other in zip(
            made if isinstance(made, tuple) else (made,),
            expected if isinstance(expected, tuple) else (expected,),
        ):  # fmt: skip
            self.assertEqual((one.shape, one.dtype, one.stride()),
                             (other.shape, other.dtype, other.stride()))  # fmt: skip
            self.assertTrue(torch.equal(one, other))
        return made

    def test_packed(self):
        lengths = ((20, 20), (3, 30), (9, 9))
        cu_q, cu_k = (starts(one) for one in zip(*lengths))
        q, k, v = self.random(32, 4, 16), self.random(59, 2, 16), self.random(59, 2, 24)

        def run(q, k, v, used):
            o, lse = door.flash_attn_varlen_func(
                q * 2, k, v, cu_q, cu_k, 20, 30, seqused_k=used, causal=True,
                window_size=(12, -1), softcap=3.0, return_attn_probs=True,
            )  # fmt: skip
            return o + 1, lse

        o, _ = self.same(run, q, k, v, i32(20, 25, 5))
        expected, _ = one_sequence(
            2 * q[20:23], k[20:45], v[20:45], causal=True, window=(12, -1), softcap=3.0
        )
        self.close(o[20:23], expected + 1)

    def test_packed_gradients(self):
        cu = starts((20, 3, 9))
        used = i32(20, 2, 9)
        given = [self.random(32, heads, 16) for heads in (4, 2, 2)]

        def run(q, k, v):
            o, lse = door.flash_attn_varlen_func(
                q, k, v, cu, cu, 20, 20, used, used, causal=True, attention_chunk=8,
                deterministic=True, return_attn_probs=True,
            )  # fmt: skip
            # What no query has is not written.
            return (o[:22].float().sin().sum() + o[23:].float().sin().sum()
                    + lse[:, :22].sum() + lse[:, 23:].cos().sum())  # fmt: skip

        grads = []
        for function in (run, compiled(run)):
            ones = [one.clone().requires_grad_() for one in given]
            function(*ones).backward()
            grads.append([one.grad for one in ones])
        for one, other in zip(*grads):
            self.assertTrue(torch.equal(one, other))
            self.assertGreater(other.abs().max(), 0.01)

    def test_no_gradients_of_gradients(self):
        cu, x = starts((12, 8)), self.random(20, 2, 16).requires_grad_()

        @compiled
        def run(x):
            return door.flash_attn_varlen_func(x, x, x, cu, cu, 12, 12)

        with self.assertRaisesRegex((NotImplementedError, RuntimeError), "gradients|backward"):
            (grad,) = torch.autograd.grad(run(x).float().sum(), x, create_graph=True)
            grad.float().sum().backward()

    def test_lengths_change_without_a_new_graph(self):
        graphs = []

        def backend(graph, inputs):
            graphs.append(graph)
            return graph.forward

        def run(x, cu, most):
            return door.flash_attn_varlen_func(x, x, x, cu, cu, most, most, causal=True)

        torch._dynamo.reset()
        call = torch.compile(run, backend=backend, fullgraph=True, dynamic=True)
        for lengths in ((20, 12), (7, 30), (30, 30)):
            x = self.random(sum(lengths), 2, 16)
            made = call(x, starts(lengths), max(lengths))
            rows = x[: lengths[0]]
            expected, _ = one_sequence(rows, rows, rows, causal=True)
            self.close(made[: lengths[0]], expected)
        self.assertEqual(len(graphs), 1)

    def test_cache(self):
        q = self.random(2, 3, 4, 16)
        cache, pages = self.random(2, 40, 2, 16), self.random(7, 16, 2, 16)
        table = torch.tensor([[3, 1, 5], [0, 6, 2]], dtype=torch.int32)
        for kv, named in (
            (cache, {}), (pages, {"page_table": table}), (cache, {"num_splits": 3}),
            (cache, {"cache_batch_idx": i32(1, 0), "cache_leftpad": i32(4, 0)}),
        ):  # fmt: skip

            def run(q, kv, lengths):
                return door.flash_attn_with_kvcache(
                    q * 1, kv, kv, cache_seqlens=lengths, causal=True,
                    return_softmax_lse=True, **named,
                )  # fmt: skip

            o, _ = self.same(run, q, kv, i32(37, 12))
        keys = cache[1, 4:37]
        expected, _ = one_sequence(q[0], keys, keys, causal=True)
        self.close(o[0], expected)

    def test_new_keys(self):
        q, new = self.random(2, 3, 4, 16), self.random(2, 3, 2, 16)
        cos, sin = (f(torch.arange(64.0)[:, None] * torch.rand(8)).half()
                    for f in (torch.cos, torch.sin))  # fmt: skip
        pages = self.random(7, 16, 2, 16)
        table = torch.tensor([[3, 1, 5], [0, 6, 2]], dtype=torch.int32)
        cu = starts((2, 3))
        for kv, named, rows in (
            (self.random(2, 40, 2, 16), {}, new),
            (pages, {"page_table": table, "rotary_cos": cos, "rotary_sin": sin}, new),
            (self.random(2, 40, 2, 16), {"cu_seqlens_k_new": cu}, new.flatten(0, 1)[:5]),
        ):

            def run(q, k, v, rows, lengths):
                o = door.flash_attn_with_kvcache(
                    q, k, v, rows, rows * 2, cache_seqlens=lengths, causal=True, **named
                )
                return o + k.flatten()[0]

            caches = [[kv.clone(), kv.clone() + 1] for _ in range(2)]
            made = [
                function(q, *mine, rows, i32(30, 12))
                for function, mine in zip((run, compiled(run)), caches)
            ]
            self.assertTrue(torch.equal(*made))
            for one, other in zip(*caches):
                self.assertTrue(torch.equal(one, other))
            self.assertFalse(torch.equal(caches[1][0], kv))

        with self.assertRaisesRegex(ValueError, "'v': is needed: k and v go together"):
            compiled(lambda q: door.flash_attn_with_kvcache(q, kv, kv, rows))(q)

    def test_float8(self):
        q, k = (self.random(2, n, 2, 16).to(torch.float8_e4m3fn) for n in (5, 40))
        scale = torch.rand(2, 2) + 0.5

        def run(q, k):
            return door.flash_attn_with_kvcache(
                q, k, k, cache_seqlens=30, k_descale=scale, v_descale=scale, causal=True
            )

        self.same(run, q, k)

    def test_combine(self):
        o, lse = torch.randn(3, 2, 5, 4, 16), torch.randn(3, 2, 5, 4)

        def run(o, lse):
            return door.flash_attn_combine(o * 1, lse, out_dtype=torch.float16)

        made, _ = self.same(run, o, lse)
        self.close(made, (o * torch.softmax(lse, 0)[..., None]).sum(0))
        with self.assertRaisesRegex((NotImplementedError, RuntimeError), "merge: gradients"):
            compiled(run)(o.requires_grad_(), lse)

    def test_opcheck(self):
        ops = torch.ops.fa3
        cu, x = starts((12, 8)), self.random(20, 2, 16)
        none, mask = (None,), (True, None, None, 0.0, 0, None)
        serve = (cu, cu, *none * 9, 12, 12, *mask, 1, None, True, "tile")
        torch.library.opcheck(ops.serve, (x, x, x, *serve))
        packed = (cu, cu, None, None, 12, 12, *mask, True, "tile")
        leaf = [x.clone().requires_grad_() for _ in range(3)]
        torch.library.opcheck(ops.packed, (*leaf, *packed))
        o, lse = ops.packed(x, x, x, *packed)
        torch.library.opcheck(ops.packed_backward, (o, None, x, x, x, o, lse, *packed))
        torch.library.opcheck(
            ops.merge, (torch.randn(2, 1, 2, 4, 8), torch.randn(2, 1, 2, 4), None, "bhsd",
                        torch.float16, "tile"),
        )  # fmt: skip
        q, kv = self.random(2, 1, 2, 16), self.random(2, 20, 2, 16)
        torch.library.opcheck(ops.append, (
            q, kv.clone(), kv.clone(), None, None, None, i32(7, 9), *none * 7, None, None,
            *mask, 1, None, True, "tile", q, q, None, None, False, None, None,
        ))  # fmt: skip


if __name__ == "__main__":
    unittest.main()
