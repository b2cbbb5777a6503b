# SPDX-License-Identifier: Apache-2.0
"""FlashAttention-2's functions and modules by fa3.install_flash_attn_2(), with values in
the interpreter against torch's math; ring-flash-attn on them, where it is installed."""

import importlib
import importlib.util
import inspect
import pathlib
import sys
import types
import unittest
from unittest import mock

import support
from sequences import i32, one_sequence, starts

if support.HAS_TORCH:
    import torch

    import fa3
    from fa3 import flash_attn_2, serving
    from test_dropout import kept

RING = pathlib.Path(__file__).parent / "Inputs" / "ring.py"
LENGTHS = (20, 12)


class Installed(unittest.TestCase):
    def setUp(self):
        fa3.install_flash_attn_2(interpret=True)
        self.addCleanup(fa3.uninstall_flash_attn_2)
        self.module = importlib.import_module("flash_attn")
        self.by_hand = importlib.import_module("flash_attn.flash_attn_interface")
        torch.manual_seed(0)

    def random(self, *shape):
        return torch.randn(*shape, dtype=torch.float16)

    def close(self, made, expected, tolerance=4e-3):
        torch.testing.assert_close(
            made.float(), expected.float(), atol=tolerance, rtol=tolerance
        )

    def compiled(self, function):
        torch._dynamo.reset()
        return torch.compile(function, backend="aot_eager", fullgraph=True)

    def dense(self, q, k, v, do, slopes=None, **named):
        """o, lse, dq, dk, dv in f64, of tensors with a batch."""
        wide = [one.detach().double().requires_grad_() for one in (q, k, v)]
        if slopes is not None:
            made = self.with_slopes(*wide, slopes)
        else:
            made = [one_sequence(*one, **named) for one in zip(*wide)]
            made = [torch.stack(one) for one in zip(*made)]
        return *made, *torch.autograd.grad(made[0], wide, do.to(made[0]))

    def with_slopes(self, q, k, v, slopes):
        k, v = (one.repeat_interleave(q.shape[2] // k.shape[2], 2) for one in (k, v))
        s = torch.einsum("bihd,bjhd->bhij", q, k) * q.shape[3] ** -0.5
        i, j = torch.arange(s.shape[2])[:, None], torch.arange(s.shape[3])
        s = s - slopes[:, None, None] * (i + s.shape[3] - s.shape[2] - j).abs()
        return torch.einsum("bhij,bjhd->bihd", s.softmax(-1), v), s.logsumexp(-1)

    def sequences(self, q, k, v, do, **named):
        wide = [one.detach().double().requires_grad_() for one in (q, k, v)]
        ends = starts(LENGTHS).tolist()
        parts = [
            one_sequence(*(one[a:b] for one in wide), **named)
            for a, b in zip(ends, ends[1:])
        ]  # fmt: skip
        o, lse = torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts], 1)
        return o, lse, *torch.autograd.grad(o, wide, do.double())


@support.needs_torch
@support.needs_interpreter
class FunctionsTest(Installed):
    def test_dense(self):
        q, k, v = self.random(2, 20, 4, 16), self.random(2, 30, 2, 16), self.random(2, 30, 2, 16)
        do, slopes = self.random(2, 20, 4, 16), torch.rand(4)
        for named, math in (
            ({"causal": True, "softcap": 3.0}, {"causal": True, "softcap": 3.0}),
            ({"window_size": (9, 2), "deterministic": True}, {"window": (9, 2)}),
            ({"alibi_slopes": slopes, "softcap": -1.0}, {"slopes": slopes}),
        ):  # fmt: skip
            expected = self.dense(q, k, v, do, **math)
            for call in (self.module.flash_attn_func,
                         self.compiled(self.module.flash_attn_func)):  # fmt: skip
                given = [one.clone().requires_grad_() for one in (q, k, v)]
                o, lse, mask = call(*given, **named, return_attn_probs=True)
                self.assertIsNone(mask)
                made = (o, lse, *torch.autograd.grad(o, given, do))
                for one, other in zip(made, expected):
                    self.close(one, other, 1e-2)
        self.close(self.module.flash_attn_func(q, k, v, 0.0, 0.25, True),
                   self.dense(q, k, v, do, causal=True)[0])  # fmt: skip

    def test_packed_in_one_tensor(self):
        qkv, do = self.random(1, 20, 3, 2, 16).requires_grad_(), self.random(1, 20, 2, 16)
        expected = self.dense(*qkv.unbind(2), do, causal=True)
        for call in (
            lambda: self.module.flash_attn_qkvpacked_func(qkv, causal=True),
            lambda: self.module.flash_attn_kvpacked_func(qkv[:, :, 0], qkv[:, :, 1:], causal=True),
        ):
            o = call()
            self.close(o, expected[0])
            (grad,) = torch.autograd.grad(o, qkv, do)
            self.close(grad, torch.stack(expected[2:], 2), 1e-2)
        with self.assertRaisesRegex(ValueError, "'qkv': shape .* 3 of dimension 2"):
            self.module.flash_attn_qkvpacked_func(qkv[:, :, :2])

    def test_sequences(self):
        cu = starts(LENGTHS)
        qkv, do = self.random(32, 3, 2, 16).requires_grad_(), self.random(32, 2, 16)
        expected = self.sequences(*qkv.unbind(1), do, causal=True)
        for call in (
            lambda: self.module.flash_attn_varlen_qkvpacked_func(
                qkv, cu, 20, causal=True, return_attn_probs=True
            ),
            lambda: self.module.flash_attn_varlen_kvpacked_func(
                qkv[:, 0], qkv[:, 1:], cu, cu, 20, 20, causal=True, return_attn_probs=True
            ),
            lambda: self.compiled(self.module.flash_attn_varlen_func)(
                *qkv.unbind(1), cu, cu, 20, 20, causal=True, deterministic=True,
                return_attn_probs=True,
            ),
        ):  # fmt: skip
            o, lse, mask = call()
            self.assertIsNone(mask)
            self.close(o, expected[0])
            self.close(lse, expected[1])
            (grad,) = torch.autograd.grad(o, qkv, do)
            self.close(grad, torch.stack(expected[2:], 1), 1e-2)

    def test_pages(self):
        q, pages = self.random(32, 4, 16), self.random(6, 16, 2, 16)
        table = torch.tensor([[3, 1], [0, 5]], dtype=torch.int32)
        keys = (25, 16)
        o = self.module.flash_attn_varlen_func(
            q, pages, pages, starts(LENGTHS), starts(keys), 20, 25, causal=True,
            block_table=table,
        )  # fmt: skip
        for n, (a, b) in enumerate(((0, 20), (20, 32))):
            k = pages[table[n].long()].flatten(0, 1)[: keys[n]]
            self.close(o[a:b], one_sequence(q[a:b], k, k, causal=True)[0])
        cache = [self.random(2, 32, 2, 16) for _ in range(2)]
        with mock.patch.object(
            fa3.flash_attn_interface.serving, "attention",
            lambda *args, real=serving.attention, **named: real(
                *args, **named, interpret=True
            ),
        ):  # fmt: skip
            o, lse = self.module.flash_attn_with_kvcache(
                q.reshape(2, 16, 4, 16), *cache, cache_seqlens=i32(30, 17), causal=True,
                softcap=-1.0, return_softmax_lse=True,
            )  # fmt: skip
        for n, keys in enumerate((30, 17)):
            expected = one_sequence(
                q.reshape(2, 16, 4, 16)[n], *(one[n, :keys] for one in cache), causal=True
            )
            self.close(o[n], expected[0])
            self.close(lse[n], expected[1])

    # -- by hand ------------------------------------------------------------------

    def ring(self, q, k, v, do, o, lse):
        """As rings call them: all arguments by name, memory for gradients."""
        named = {
            "dropout_p": 0.0, "softmax_scale": 0.25, "causal": True, "window_size_left": -1,
            "window_size_right": -1, "softcap": 0.0, "alibi_slopes": None,
        }  # fmt: skip
        made = self.by_hand._flash_attn_forward(q=q, k=k, v=v, return_softmax=False, **named)
        grads = [torch.empty_like(one) for one in (q, k, v)]
        sums = self.by_hand._flash_attn_backward(
            dout=do, q=q, k=k, v=v, out=o, softmax_lse=lse, dq=grads[0], dk=grads[1],
            dv=grads[2], deterministic=False, **named,
        )  # fmt: skip
        return *made[:2], *grads, sums

    def test_by_hand(self):
        q, k, v = self.random(2, 20, 4, 16), self.random(2, 30, 2, 16), self.random(2, 30, 2, 16)
        do = self.random(2, 20, 4, 16)
        o, lse, *grads = self.dense(q, k, v, do, causal=True)
        # As rings keep it: transposed.
        turned = lse.float().transpose(1, 2).contiguous().transpose(1, 2)
        for call in (self.ring, self.compiled(self.ring)):
            made = call(q, k, v, do, o.half(), turned)
            for one, other in zip(made, (o, lse, *grads)):
                self.close(one, other, 1e-2)
            self.close(made[5], (do * o).sum(-1).transpose(1, 2), 2e-2)

    def test_sequences_by_hand(self):
        cu = starts(LENGTHS)
        q, k, do = self.random(32, 4, 16), self.random(32, 2, 16), self.random(32, 4, 16)
        o, lse, *grads = self.sequences(q, k, k, do, causal=True)

        def run(q, k, do, o, lse):
            made = self.by_hand._flash_attn_varlen_forward(
                q, k, k, cu, cu, 20, 20, 0.0, 0.25, True, num_splits=2
            )
            memory = [torch.empty_like(one) for one in (q, k, k)]
            self.by_hand._flash_attn_varlen_backward(
                do, q, k, k, o, lse, *memory, cu, cu, 20, 20, 0.0, 0.25, True, -1, -1, 0.0,
                None, True,
            )  # fmt: skip
            return *made[:2], *memory

        for call in (run, self.compiled(run)):
            for one, other in zip(
                call(q, k, do, o.half(), lse.float()), (o, lse, *grads)
            ):
                self.close(one, other, 1e-2)

    def test_dropout(self):
        """Dropped by the state that is given back, forward and backward."""
        q, k = self.random(1, 12, 2, 16), self.random(1, 20, 2, 16)
        do = self.random(1, 12, 2, 16)
        o, lse, empty, state = self.by_hand._flash_attn_forward(
            q, k, k, 0.3, 0.25, False, -1, -1, 0.0, None, False
        )
        self.assertEqual(empty.numel(), 0)
        wide = [one.double().transpose(1, 2).requires_grad_() for one in (q, k, k)]
        weights = (wide[0] @ wide[1].mT * 0.25).softmax(-1)
        mask = kept(tuple(state.tolist()), 0.3, *weights.shape)
        expected = (weights * mask / 0.7) @ wide[2]
        self.close(o, expected.transpose(1, 2))
        expected = torch.autograd.grad(expected, wide, do.double().transpose(1, 2))
        made = [torch.empty_like(one) for one in (q, k, k)]
        self.by_hand._flash_attn_backward(
            do, q, k, k, o, lse, *made, 0.3, 0.25, False, -1, -1, 0.0, None, False, state
        )
        for one, other in zip(made, expected):
            self.close(one, other.transpose(1, 2), 1e-2)
        torch.manual_seed(1)
        one = self.module.flash_attn_func(q, k, k, 0.3)
        torch.manual_seed(1)
        self.assertTrue(torch.equal(one, self.module.flash_attn_func(q, k, k, 0.3)))
        self.assertFalse(torch.equal(one, self.module.flash_attn_func(q, k, k, 0.3)))

    # -- what is refused ----------------------------------------------------------

    def test_refused(self):
        q, cu = self.random(32, 2, 16), starts(LENGTHS)
        flat, dense = (q, q, q, cu, cu, 20, 20), (q[None],) * 3
        module, by_hand = self.module, self.by_hand
        hand = (0.0, 0.25, False, -1, -1, 0.0, None)
        for call, expected in (
            (lambda: module.flash_attn_varlen_func(*flat, dropout_p=0.1), "'dropout_p' of packed"),
            (lambda: module.flash_attn_varlen_func(*flat, alibi_slopes=torch.rand(2)),
             "'alibi_slopes' of packed"),
            (lambda: module.flash_attn_func(*dense, alibi_slopes=torch.rand(1, 2)),
             "alibi_slopes of 2 dimensions"),
            (lambda: module.flash_attn_func(*dense, 0.1, return_attn_probs=True), "S_dmask"),
            (lambda: by_hand._flash_attn_forward(*dense, *hand, True), "return_softmax"),
            (lambda: by_hand._flash_attn_varlen_forward(*flat, *hand, zero_tensors=True),
             "'zero_tensors'"),
            (lambda: module.flash_attn_with_kvcache(*dense, alibi_slopes=torch.rand(2)),
             "'alibi_slopes'"),
        ):  # fmt: skip
            with self.assertRaisesRegex(NotImplementedError, expected):
                call()
        for grads, expected in (
            ((None, q[None], q[None]), "'dq': is None"),
            ((q[None], q[None, :3], q[None]), "'dk': .* expected"),
        ):
            with self.assertRaisesRegex(ValueError, expected):
                by_hand._flash_attn_backward(
                    *(q[None],) * 5, torch.zeros(1, 2, 32), *grads, *hand, False
                )
        with self.assertRaisesRegex(ValueError, "'rng_state': is None"):
            by_hand._flash_attn_backward(
                *(q[None],) * 5, torch.zeros(1, 2, 32), *dense, 0.1, *hand[1:], False
            )


@support.needs_torch
class InstallTest(unittest.TestCase):
    def test_modules(self):
        for _ in range(2):
            fa3.install_flash_attn_2()
            fa3.install_flash_attn_2()
            for path in flash_attn_2.MODULES:
                self.assertIsNotNone(importlib.util.find_spec(path))
                module = importlib.import_module(path)
                self.assertIs(module.flash_attn_func, flash_attn_2.flash_attn_func)
            self.assertEqual(importlib.import_module("flash_attn").__version__, "2.8.4+fa3")
            q = torch.zeros(1, 8, 2, 16, dtype=torch.float16)
            with self.assertRaisesRegex(ValueError, "device is cpu, expected CUDA"):
                module.flash_attn_func(q, q, q)
            fa3.uninstall_flash_attn_2()
            for path in flash_attn_2.MODULES:
                self.assertNotIn(path, sys.modules)

    def test_what_is_there_already(self):
        theirs = types.ModuleType("flash_attn")
        with mock.patch.dict(sys.modules, {"flash_attn": theirs}):
            with self.assertRaisesRegex(fa3.Fa3Error, "flash_attn is loaded"):
                fa3.install_flash_attn_2()
            self.assertIs(sys.modules["flash_attn"], theirs)

    def test_signatures(self):
        """As callers pass arguments by position, and rings by the names that there are."""
        common = "dropout_p softmax_scale causal window_size_left window_size_right softcap "
        forward = "q k v " + common + "alibi_slopes return_softmax"
        backward = "dout q k v out softmax_lse dq dk dv {}" + common + (
            "alibi_slopes deterministic rng_state"
        )
        arrays = "cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k "
        for function, expected in (
            (flash_attn_2._flash_attn_forward, forward),
            (flash_attn_2._flash_attn_backward, backward.format("")),
            (flash_attn_2._flash_attn_varlen_forward, "q k v " + arrays + common
             + "alibi_slopes return_softmax block_table leftpad_k seqused_k zero_tensors "
             "num_splits"),
            (flash_attn_2._flash_attn_varlen_backward,
             backward.format(arrays) + " zero_tensors"),
        ):  # fmt: skip
            self.assertEqual(list(inspect.signature(function).parameters), expected.split())


@support.needs_torch
@support.needs_interpreter
@unittest.skipUnless(
    importlib.util.find_spec("ring_flash_attn"), "needs ring-flash-attn"
)
class RingTest(unittest.TestCase):
    def test_two_processes(self):
        support.run_two_processes(self, RING)


if __name__ == "__main__":
    unittest.main()
