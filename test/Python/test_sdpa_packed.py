# SPDX-License-Identifier: Apache-2.0
"""torch's FlashAttention operators behind the switch: varlen_attn and direct calls, on the
CPU's dispatch key, where stubs stand for torch's kernels and the interpreter for fa3's."""

import os
import subprocess
import sys
import unittest
from unittest import mock

import support
from sequences import i32, one_sequence, starts

import fa3

if support.HAS_TORCH:
    import torch
    from torch.nn import attention as nn_attention

    import fa3.torch as door
    from fa3 import sdpa

LISTED = support.HAS_TORCH and hasattr(nn_attention, "register_flash_attention_impl")


@support.needs_torch
@unittest.skipUnless(LISTED, "needs torch.nn.attention.register_flash_attention_impl, torch 2.11")
@support.needs_interpreter
class PackedTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.calls = []
        stubs = torch.library.Library("aten", "IMPL")
        stubs.impl("_flash_attention_forward", self.forward, "CPU")
        stubs.impl("_flash_attention_backward", self.backward, "CPU")
        for name in ("flash", "cudnn", "efficient"):
            for kind in ("", "_backward"):
                stubs.impl(f"_scaled_dot_product_{name}_attention{kind}", self.whole, "CPU")
        self.addCleanup(stubs._destroy)
        sdpa.report(reset=True)
        real = sdpa._Switch
        patch = mock.patch.object(sdpa, "_Switch", lambda strict: real(strict, "CPU", True))
        patch.start()
        self.addCleanup(patch.stop)
        nn_attention.activate_flash_attention_impl("fa3-compiler")
        self.addCleanup(door.deactivate)

    def forward(self, q, *args, **named):
        self.calls.append("forward")
        state = torch.zeros((2,), dtype=torch.uint64)
        lse = q.new_zeros(q.shape[1], q.shape[0], dtype=torch.float32)
        return torch.full_like(q, 7), lse, state, state[0], q.new_empty(0)

    def backward(self, do, *args, **named):
        self.calls.append("backward")
        return tuple(torch.full_like(one, 7) for one in args[:3])

    def whole(self, q, k, v, *args, **named):
        """A kernel of torch that calls the other, as torch's does."""
        made = torch.ops.aten._flash_attention_forward(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), None, None, q.shape[2],
            k.shape[2], 0.0, False, False,
        )  # fmt: skip
        state = torch.zeros((), dtype=torch.int64)
        lse = q.new_zeros(q.shape[:3], dtype=torch.float32)
        return made[0].transpose(1, 2), lse, None, None, 1, 1, state, state, None

    def random(self, *shape):
        return torch.randn(*shape, dtype=torch.float16)

    def close(self, made, expected, tolerance=8e-3):
        torch.testing.assert_close(
            made.float(), expected.float(), atol=tolerance, rtol=tolerance
        )

    def expected(self, q, k, v, lengths, **named):
        rows, keys, parts = 0, 0, []
        for x, y in lengths:
            parts.append(one_sequence(
                q[rows : rows + x], k[keys : keys + y], v[keys : keys + y], **named
            ))  # fmt: skip
            rows, keys = rows + x, keys + y
        return torch.cat([o for o, _ in parts]), torch.cat([lse for _, lse in parts], 1)

    def test_varlen_attn(self):
        from torch.nn.attention.varlen import AuxRequest, varlen_attn

        lengths = ((20, 20), (3, 3), (9, 9))
        cu = starts([x for x, _ in lengths])
        do = self.random(32, 4, 16)
        compiled = torch.compile(varlen_attn, backend="aot_eager", fullgraph=True)
        for window, named in (
            ((-1, -1), {}), ((-1, 0), {"causal": True}),
            ((5, 0), {"causal": True, "window": (5, 0)}),
        ):  # fmt: skip
            given = [self.random(32, 4, 16).requires_grad_() for _ in range(3)]
            wide = [one.detach().double().requires_grad_() for one in given]
            o, lse = self.expected(*wide, lengths, **named)
            grads = torch.autograd.grad(o, wide, do.double())
            torch._dynamo.reset()
            for call in (varlen_attn, compiled):
                made, sums = call(
                    *given, cu, cu, 20, 20, window_size=window,
                    return_aux=AuxRequest(lse=True),
                )  # fmt: skip
                self.close(made, o)
                self.close(sums, lse)
                for one, other in zip(torch.autograd.grad(made, given, do), grads):
                    self.close(one, other, 1e-2)
        self.assertEqual(self.calls, [])
        self.assertEqual((sdpa.report().ran, sdpa.report().gradients), (6, 6))

    def test_dense(self):
        q, k = self.random(2, 20, 4, 16), self.random(2, 30, 2, 16)
        do = self.random(2, 20, 4, 16)
        aten = torch.ops.aten
        made = aten._flash_attention_forward(
            q, k, k, None, None, 20, 30, 0.0, True, False, scale=0.25,
            window_size_left=12, window_size_right=0,
        )  # fmt: skip
        grads = aten._flash_attention_backward(
            do, q, k, k, made[0], made[1], None, None, 20, 30, 0.0, True, made[2], made[3],
            scale=0.25, window_size_left=12, window_size_right=0,
        )  # fmt: skip
        wide = [one.double().requires_grad_() for one in (q, k, k)]
        for i in range(2):
            o, lse = one_sequence(*(one[i] for one in wide), causal=True, window=(12, 0))
            self.close(made[0][i], o)
            self.close(made[1][i], lse)
            for one, other in zip(grads, torch.autograd.grad(o, wide, do[i].double())):
                self.close(one[i], other[i], 1e-2)
        o, _ = one_sequence(q[1], k[1, :7], k[1, :7])
        made = aten._flash_attention_forward(
            q, k, k, None, None, 20, 30, 0.0, False, False, seqused_k=i32(30, 7)
        )
        self.close(made[0][1], o)
        self.assertEqual(self.calls, [])

    def test_what_is_torch_s(self):
        x, cu = self.random(20, 2, 16), i32(0, 20)
        run = torch.ops.aten._flash_attention_forward
        for given, named, why in (
            ((x, x, x, cu, cu, 20, 20, 0.1, False, False), {}, "dropout"),
            ((x, x, x, cu, cu, 20, 20, 0.0, False, True), {}, "return_debug_mask"),
            ((x, x, x, cu, cu, 20, 20, 0.0, False, False),
             {"alibi_slopes": torch.ones(2)}, "argument alibi_slopes"),
            ((x, x, x, cu.long(), cu.long(), 20, 20, 0.0, False, False), {},
             "lengths of torch.int64"),
            ((x.float(),) * 3 + (cu, cu, 20, 20, 0.0, False, False), {}, "torch.float32"),
            ((x[..., :12],) * 3 + (cu, cu, 20, 20, 0.0, False, False), {}, "head dim 12"),
            ((x, x, x, cu, None, 20, 20, 0.0, False, False), {}, "starts of queries or"),
        ):  # fmt: skip
            self.assertTrue(bool((run(*given, **named)[0] == 7).all()))
            self.assertIn(f"1 {why}", str(sdpa.report(reset=True)).replace("element type ", ""))
            self.assertEqual(self.calls.pop(), "forward")
            sdpa._active.strict = True
            with self.assertRaisesRegex(fa3.UnsupportedError, "_flash_attention_forward: "):
                run(*given, **named)
            sdpa._active.strict = False

    def test_torch_s_kernel_calls_the_other(self):
        """What was declined once runs torch's kernels all the way."""
        q = self.random(1, 2, 20, 16)
        made = torch.ops.aten._scaled_dot_product_flash_attention(q, q, q, 0.0, False, True)
        self.assertTrue(bool((made[0] == 7).all()))
        self.assertEqual(self.calls, ["forward"])
        self.assertEqual(dict(sdpa.report().declined), {"return_debug_mask": 1})
        made = torch.ops.aten._scaled_dot_product_flash_attention(q, q, q, 0.0, False, False)
        self.assertFalse(bool((made[0] == 7).all()))
        self.assertEqual(self.calls, ["forward"])

    def test_registry(self):
        self.assertIn("fa3-compiler", nn_attention.list_flash_attention_impls())
        self.assertEqual(nn_attention.current_flash_attention_impl(), "fa3-compiler")
        self.assertTrue(door.is_active())
        nn_attention.restore_flash_attention_impl()
        self.assertFalse(door.is_active())
        x, cu = self.random(20, 2, 16), i32(0, 20)
        run = torch.ops.aten._flash_attention_forward
        made = run(x, x, x, cu, cu, 20, 20, 0.0, False, False)
        self.assertTrue(bool((made[0] == 7).all()))
        door.activate(strict=True)
        self.assertEqual(nn_attention.current_flash_attention_impl(), "fa3-compiler")
        with self.assertRaisesRegex(fa3.UnsupportedError, "dropout"):
            run(x, x, x, cu, cu, 20, 20, 0.5, False, False)


@unittest.skipUnless(LISTED, "needs torch.nn.attention.register_flash_attention_impl, torch 2.11")
class ListedTest(unittest.TestCase):
    def test_import_lists_fa3(self):
        program = (
            "import torch, fa3, sys\n"
            "assert 'fa3-compiler' in torch.nn.attention.list_flash_attention_impls()\n"
            "assert torch.nn.attention.current_flash_attention_impl() is None\n"
            "assert 'fa3.sdpa' not in sys.modules"
        )
        path = os.pathsep.join([str(support.ROOT / "python"), *sys.path])
        subprocess.run([sys.executable, "-c", program], check=True,
                       env={**os.environ, "PYTHONPATH": path})  # fmt: skip


if __name__ == "__main__":
    unittest.main()
