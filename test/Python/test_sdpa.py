# SPDX-License-Identifier: Apache-2.0
"""The switch behind scaled_dot_product_attention without a GPU: on the CPU's
dispatch key, where stubs stand for torch's kernels and the interpreter for fa3's.
Autograd and torch.compile are torch's own."""

import contextlib
import unittest
from unittest import mock

import support

import fa3

if support.HAS_TORCH:
    import torch
    from torch.nn import functional
    from test_torch import definition

    import fa3.torch as door
    from fa3 import sdpa

HAS_KERNELS = support.HAS_TORCH and hasattr(torch.library, "get_kernel")
NAMES = ("flash", "cudnn", "efficient")


@support.needs_torch
@unittest.skipUnless(HAS_KERNELS, "needs torch.library.get_kernel, torch 2.9")
@support.needs_interpreter
class SwitchTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.q = torch.randn(2, 4, 17, 32, dtype=torch.float16)
        self.k, self.v = (
            torch.randn(2, 2, 17, 32, dtype=torch.float16) for _ in range(2)
        )
        self.calls = []
        stubs = torch.library.Library("aten", "IMPL")
        for name in NAMES:
            for kind in ("", "_backward"):
                stubs.impl(
                    f"_scaled_dot_product_{name}_attention{kind}",
                    self.stub(name + kind), "CPU",
                )  # fmt: skip
        self.addCleanup(stubs._destroy)
        sdpa.report(reset=True)
        self.switch = sdpa._Switch(False, "CPU", interpret=True)
        self.addCleanup(self.switch.remove)

    def stub(self, name):
        """A kernel of torch that says that it ran: outputs are 7."""

        def run(*args, **named):
            self.calls.append(name)
            if name.endswith("backward"):
                first = 1
                made = [torch.full_like(one, 7) for one in args[first : first + 3]]
                return (*made, None) if "efficient" in name else tuple(made)
            q = args[0]
            o, lse = torch.full_like(q, 7), q.new_zeros(q.shape[:3], dtype=torch.float32)
            state = torch.zeros((), dtype=torch.int64)
            if name == "efficient":
                return o, lse, state, state
            return o, lse, None, None, q.shape[2], 17, state, state, None

        return run

    def run_backend(self, name, q, k, v, bias=None, causal=False, scale=None, drop=0.0):
        operator = getattr(torch.ops.aten, f"_scaled_dot_product_{name}_attention")
        if name == "flash":
            return operator(q, k, v, drop, causal, False, scale=scale)[0]
        return operator(q, k, v, bias, True, drop, causal, scale=scale)[0]

    def close(self, made, expected, tolerance=5e-3):
        torch.testing.assert_close(
            made.float(), expected.float(), atol=tolerance, rtol=tolerance
        )

    def test_takes_all_backends_and_their_gradients(self):
        for name in NAMES:
            for named in ({}, {"causal": True}, {"scale": 0.4}):
                with self.subTest(f"{name} {named}"):
                    grads = []
                    for ours in (True, False):
                        given = [
                            one.detach().clone().requires_grad_()
                            for one in (self.q, self.k, self.v)
                        ]
                        if ours:
                            o = self.run_backend(name, *given, **named)
                        else:
                            o = definition(*given, **named)[0]
                        (o.float() * torch.linspace(0, 1, 32)).sum().backward()
                        grads.append([o, *(one.grad for one in given)])
                    for made, expected in zip(*grads):
                        self.close(made, expected)
        self.assertEqual(self.calls, [])
        self.assertEqual((sdpa.report().ran, sdpa.report().gradients), (9, 9))

    def test_mask(self):
        bias = torch.randn(2, 1, 17, 24, dtype=torch.float16)[..., :17]
        bias[:, :, 3, :] = float("-inf")
        bias[:, :, :, 9:] = float("-inf")
        wide = bias.expand(2, 4, 17, 17)
        for name in ("cudnn", "efficient"):
            grads = []
            for ours in (True, False):
                given = [
                    one.detach().clone().requires_grad_()
                    for one in (self.q, self.k, self.v)
                ]
                if ours:
                    o = self.run_backend(name, *given, bias=wide)
                else:
                    finite = wide.clone()
                    finite[:, :, 3] = 0
                    o = definition(*given, bias=finite)[0]
                o = o[:, :, torch.arange(17) != 3]  # a row of nothing but -inf
                (o.float() * torch.linspace(0, 1, 32)).sum().backward()
                grads.append([o, *(one.grad for one in given)])
            for made, expected in zip(*grads):
                self.close(made, expected)
        self.assertEqual(self.calls, [])

    def test_forms_of_lse(self):
        operators = torch.ops.aten
        _, lse = definition(self.q, self.k, self.v)
        made = operators._scaled_dot_product_cudnn_attention(
            self.q, self.k, self.v, None, True
        )
        self.assertEqual(made[1].shape, (2, 4, 17, 1))
        self.close(made[1][..., 0], lse)
        made = operators._scaled_dot_product_efficient_attention(
            self.q, self.k, self.v, None, True
        )
        self.assertEqual(made[1].shape, (2, 4, 32))
        self.close(made[1][..., :17], lse)
        self.assertTrue(bool(torch.isinf(made[1][..., 17:]).all()))
        self.assertEqual(made[0].stride(), (17 * 4 * 32, 32, 4 * 32, 1))
        made = operators._scaled_dot_product_efficient_attention(
            self.q, self.k, self.v, None, False
        )
        self.assertEqual(made[1].shape, (2, 4, 0))

    def test_causal_of_unequal_lengths(self):
        # The memory-efficient kernel counts from the first query, as torch says.
        k, v = self.k[:, :, :9], self.v[:, :, :9]
        o = self.run_backend("efficient", self.q, k, v, causal=True)
        i, j = torch.arange(17)[:, None], torch.arange(9)[None]
        expected, _ = definition(
            self.q, k, v, score=lambda s, b, h, *_: s.masked_fill(j > i, -torch.inf)
        )
        self.close(o, expected)
        # FlashAttention from the last one.
        o = self.run_backend("flash", self.q[:, :, :9], self.k, self.v, causal=True)
        self.close(o, definition(self.q[:, :, :9], self.k, self.v, causal=True)[0])
        self.assertEqual(self.calls, [])
        self.run_backend("cudnn", self.q, k, v, causal=True)
        self.assertEqual(self.calls, ["cudnn"])

    def test_declines(self):
        q, k = self.q, self.k
        for change, why in (
            ({"drop": 0.5}, "dropout"),
            ({"q": q.float(), "k": k.float(), "v": k.float()}, "element type torch.float32"),
            ({"scale": -1.0}, "scale -1.0"),
            ({"q": q.mT.contiguous().mT}, "last dimension not contiguous"),
            ({"q": torch.randn(2, 4, 17, 40).half()[..., 1:33]}, "addresses that are no"),
        ):
            for name in NAMES:
                named = {"q": q, "k": k, "v": self.v, **change}
                made = self.run_backend(name, **named)
                self.assertTrue(bool((made == 7).all()))
                self.assertEqual(self.calls.pop(), name)
            self.assertIn(why, str(sdpa.report()))
        for bias, why in (
            (torch.zeros(2, 1, 17, 17, dtype=torch.float16), "no multiples of 16 bytes"),
            (torch.zeros(2, 1, 17, 1, dtype=torch.float16), "mask of shape"),
            (torch.zeros(3, 1, 17, 17, dtype=torch.float16), "mask of shape"),
        ):
            self.run_backend("cudnn", q, k, self.v, bias=bias)
            self.assertIn(why, str(sdpa.report()))
        self.assertIn("fa3 ran 0 calls and 0 gradients, torch 18", str(sdpa.report()))
        self.switch.strict = True
        with self.assertRaisesRegex(fa3.UnsupportedError, "attention: dropout"):
            self.run_backend("flash", q, k, self.v, drop=0.5)

    def test_gradient_of_a_mask_is_torch_s(self):
        bias = torch.zeros(2, 4, 17, 24, dtype=torch.float16, requires_grad=True)
        q = self.q.requires_grad_()
        o = self.run_backend("efficient", q, self.k, self.v, bias=bias[..., :17])
        with contextlib.suppress(RuntimeError):  # the stub gives no gradient of it
            o.sum().backward()
        self.assertEqual(self.calls, ["efficient_backward"])
        self.assertIn("gradients: the mask requires", str(sdpa.report()))

    def test_set_backward(self):
        door.set_backward("torch")
        self.addCleanup(door.set_backward, "fa3")
        for name in NAMES:
            q = self.q.detach().clone().requires_grad_()
            self.run_backend(name, q, self.k, self.v).sum().backward()
            self.assertTrue(bool((q.grad == 7).all()))
        self.assertEqual(self.calls, [f"{name}_backward" for name in NAMES])

    def test_under_compile(self):
        def call(q, k, v):
            operator = torch.ops.aten._scaled_dot_product_flash_attention
            return operator(q * 1.0, k, v, 0.0, True, scale=0.4)[0] * 1.0

        torch._dynamo.reset()
        compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
        grads = []
        for function in (compiled, call):
            q = self.q.detach().clone().requires_grad_()
            function(q, self.k, self.v).sum().backward()
            grads.append(q.grad)
        torch.testing.assert_close(*grads)
        self.assertEqual((sdpa.report().ran, sdpa.report().gradients), (2, 2))

    def test_removed(self):
        self.switch.remove()
        made = self.run_backend("flash", self.q, self.k, self.v)
        self.assertTrue(bool((made == 7).all()))
        self.switch = sdpa._Switch(False, "CPU", interpret=True)


@support.needs_torch
@unittest.skipUnless(HAS_KERNELS, "needs torch.library.get_kernel, torch 2.9")
class ActivateTest(unittest.TestCase):
    def test_activate_and_deactivate(self):
        q = torch.randn(1, 2, 8, 16)
        before = functional.scaled_dot_product_attention(q, q, q)
        with mock.patch.object(torch.library, "get_kernel", lambda *_: None):
            door.activate()
            try:
                self.assertTrue(door.is_active())
                if hasattr(torch.nn.attention, "current_flash_attention_impl"):
                    self.assertEqual(
                        torch.nn.attention.current_flash_attention_impl(),
                        sdpa.IMPLEMENTATION,
                    )
                # Nothing changes for others.
                after = functional.scaled_dot_product_attention(q, q, q)
                torch.testing.assert_close(before, after)
            finally:
                door.deactivate()
        self.assertFalse(door.is_active())

    def test_torch_without_kernels_to_get(self):
        with mock.patch.object(torch, "library", mock.Mock(spec=[])):
            with self.assertRaisesRegex(fa3.UnsupportedError, "get_kernel"):
                door.activate()


if __name__ == "__main__":
    unittest.main()
