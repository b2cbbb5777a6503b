# SPDX-License-Identifier: Apache-2.0
"""The switch behind scaled_dot_product_attention without a GPU: on the CPU's
dispatch key, where stubs stand for torch's kernels and the interpreter for fa3's.
Autograd and torch.compile are torch's own."""

import contextlib
import unittest
import warnings
from unittest import mock

import support
import switch_case

import fa3

if support.HAS_TORCH:
    import torch
    from torch.nn import attention as nn_attention
    from torch.nn import functional
    from test_torch import definition

    import fa3.torch as door
    from fa3 import sdpa

HAS_KERNELS = support.HAS_TORCH and hasattr(torch.library, "get_kernel")
NAMES = switch_case.NAMES


@support.needs_torch
@unittest.skipUnless(HAS_KERNELS, "needs torch.library.get_kernel, torch 2.9")
@support.needs_interpreter
class SwitchTest(switch_case.SwitchCase):
    def setUp(self):
        super().setUp()
        self.q = torch.randn(2, 4, 17, 32, dtype=torch.float16)
        self.k, self.v = (
            torch.randn(2, 2, 17, 32, dtype=torch.float16) for _ in range(2)
        )

    def run_backend(self, name, q, k, v, bias=None, causal=False, scale=None, drop=0.0):
        operator = getattr(torch.ops.aten, f"_scaled_dot_product_{name}_attention")
        if name == "flash":
            return operator(q, k, v, drop, causal, False, scale=scale)[0]
        return operator(q, k, v, bias, True, drop, causal, scale=scale)[0]

    def close(self, made, expected, tolerance=5e-3):
        torch.testing.assert_close(
            made.float(), expected.float(), atol=tolerance, rtol=tolerance
        )

    def test_derivatives_and_recorders(self):
        """torch's rules, around fa3's kernels: values, or an error."""
        from torch.autograd import forward_ad
        from torch.fx.experimental.proxy_tensor import make_fx
        from torch.utils.flop_counter import FlopCounterMode

        k, v = self.k.repeat_interleave(2, 1), self.v.repeat_interleave(2, 1)
        other, weights = 0.5 * self.q + 1, torch.linspace(-1, 1, 32)
        wanted, _ = definition(other, k, v)
        leaf = other.clone().requires_grad_()
        (gradient,) = torch.autograd.grad((definition(leaf, k, v)[0] * weights).sum(), leaf)
        for name in NAMES:

            def call(q):
                return self.run_backend(name, q, k, v)

            def loss(q):
                return (call(q).float() * weights).sum()

            with self.subTest(name):
                sdpa.report(reset=True)
                if name == "efficient":  # torch traces the others from above
                    self.close(torch.jit.trace(call, (self.q,))(other), wanted)
                self.close(make_fx(call)(self.q)(other), wanted)
                self.close(torch.func.grad(loss)(other), gradient)
                several = torch.stack([self.q, other])
                self.close(torch.func.vmap(call)(several)[1], wanted)
                made = torch.func.vmap(torch.func.grad(loss))(several)
                self.close(made[1], gradient)
                with FlopCounterMode(display=False) as counter:
                    call(other)
                self.assertGreater(counter.get_total_flops(), 0)
                q = other.clone().requires_grad_()
                (made,) = torch.autograd.grad(loss(q), q, create_graph=True)
                with self.assertRaisesRegex(RuntimeError, "derivative.*not implemented"):
                    torch.autograd.grad((made.square() + q).float().sum(), q)
                with forward_ad.dual_level():
                    with self.assertRaisesRegex(NotImplementedError, "forward AD"):
                        call(forward_ad.make_dual(self.q, self.q))
                self.assertFalse(sdpa.report().declined)

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
            ({"drop": 1.0}, "dropout"),
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
            (torch.zeros(2, 1, 17, 18, dtype=torch.float16), "mask of shape"),
            (torch.zeros(3, 1, 17, 17, dtype=torch.float16), "mask of shape"),
            (torch.zeros(1, 2, 1, 17, 17, dtype=torch.float16), "mask of shape"),
            (torch.zeros(17, 17, dtype=torch.bool), "mask of torch.bool"),
            (torch.zeros(17, 17, dtype=torch.float64), "mask of torch.float64"),
        ):
            self.run_backend("cudnn", q, k, self.v, bias=bias)
            self.assertIn(why, str(sdpa.report()))
        self.assertIn("fa3 ran 0 calls and 0 gradients, torch 20", str(sdpa.report()))
        self.switch.strict = True
        with self.assertRaisesRegex(fa3.UnsupportedError, "attention: dropout"):
            self.run_backend("flash", q, k, self.v, drop=1.0)

    def test_dropout(self):
        """FlashAttention's operator gives seed and offset, by which weights are dropped."""
        import test_dropout

        k, v = self.k.repeat_interleave(2, 1), self.v.repeat_interleave(2, 1)
        given = [one.clone().requires_grad_() for one in (self.q, k, v)]
        o, *_, state, _, _ = torch.ops.aten._scaled_dot_product_flash_attention(
            *given, 0.5, True, False
        )
        self.assertEqual(state.dtype, torch.uint64)
        wide = [one.detach().float().requires_grad_() for one in given]
        expected, _ = test_dropout.definition(
            *wide, state.view(torch.int64), 0.5, causal=True
        )
        self.close(o, expected)
        do = torch.randn_like(o)
        for one, other in zip(
            torch.autograd.grad(o, given, do),
            torch.autograd.grad(expected, wide, do.float()),
        ):
            self.close(one, other, 2e-2)
        # Others do not say what they drop so, and stay torch's.
        self.assertEqual(self.calls, [])
        for name in ("cudnn", "efficient"):
            self.run_backend(name, self.q, k, v, drop=0.5)
            self.assertEqual(self.calls.pop(), name)

    def math(self, q, k, v, mask=None, **named):
        """What torch's math says, in f32."""
        k, v = (one.float().repeat_interleave(q.shape[1] // k.shape[1], 1) for one in (k, v))
        mask = mask if mask is None or mask.dtype == torch.bool else mask.float()
        with nn_attention.sdpa_kernel(nn_attention.SDPBackend.MATH):
            return functional.scaled_dot_product_attention(
                q.float(), k, v, attn_mask=mask, **named
            )

    def check(self, name, mask, visible=None, tolerance=5e-3):
        """o and gradients of a mask, with `visible` in its place for torch."""
        grads = []
        for ours in (True, False):
            given = [
                one.detach().clone().requires_grad_() for one in (self.q, self.k, self.v)
            ]
            if ours:
                o = self.run_backend(name, *given, bias=mask)
            else:
                o = self.math(*given, mask if visible is None else visible)
            (o.float() * torch.linspace(0, 1, 32)).sum().backward()
            grads.append([o, *(one.grad for one in given)])
        for made, expected in zip(*grads):
            self.close(made, expected, tolerance)
        self.assertEqual(self.calls, [])

    def test_masks_of_any_form(self):
        full = torch.randn(2, 4, 17, 17)
        for number, index in enumerate((
            (slice(None), slice(None), slice(None)), (0,), (0, slice(1)), (0, 0),
            (0, 0, slice(1)), (0, 0, 0), (slice(None), slice(1)),
            (slice(1), slice(None), slice(1)), (..., slice(1)), (0, 0, ..., slice(1)),
        )):  # fmt: skip
            for dtype in (torch.float16, torch.float32)[number % 2 :]:
                mask = full[index].to(dtype)
                with self.subTest(f"{tuple(mask.shape)} {dtype}"):
                    self.check("efficient", mask)
                    self.check("cudnn", mask)
        turned = full.to(torch.float16).mT
        self.check("cudnn", turned)
        self.check("cudnn", turned[:1, :1].expand(2, 4, 17, 17))
        self.check("cudnn", torch.cat([turned, turned], 3)[..., 3:20])
        self.check("cudnn", torch._neg_view(turned))

    def test_rows_without_visible_keys(self):
        seen = torch.rand(2, 1, 17, 17) > 0.4
        seen[:, :, 3] = False
        seen[1] = False
        mask = torch.where(seen, 0.0, -torch.inf).half()
        for name in ("cudnn", "efficient"):
            self.check(name, mask, seen)
            o = self.run_backend(name, self.q, self.k, self.v, bias=mask)
            self.assertFalse(bool(o[:, :, 3].any()))
            self.assertFalse(bool(o[1].any()))

    def test_booleans_before_torch_chooses(self):
        """What reaches torch's choice: -inf, not the -65504 of its way to cuDNN."""
        seen = torch.rand(17, 17) > 0.4
        seen[3] = False
        made = []
        real = self.switch.whole.call_boxed
        with mock.patch.object(self.switch, "whole") as whole:
            def call_boxed(keys, *args, **named):
                made.append(args[3])
                return real(keys, *args, **named)

            whole.call_boxed = call_boxed
            for dtype in (torch.float16, torch.bfloat16):
                for q in (self.q.to(dtype), self.q.to(dtype).requires_grad_()):
                    o = functional.scaled_dot_product_attention(q, q, q, attn_mask=seen)
                    mask = made[-1]
                    self.assertEqual(mask.dtype, dtype)
                    self.assertEqual(mask.isinf().logical_not().tolist(), seen.tolist())
                    self.close(o, self.math(q, q, q, seen), 2e-2)
            o = functional.scaled_dot_product_attention(q, q, q, is_causal=True)
            self.assertIsNone(made[-1])
            self.close(o, self.math(q, q, q, is_causal=True), 2e-2)

    def test_negative_views(self):
        for name in NAMES:
            o = self.run_backend(name, torch._neg_view(self.q), self.k, self.v)
            self.close(o, self.math(-self.q, self.k, self.v))
            o = self.run_backend(name, self.q, self.k, torch._neg_view(self.v))
            self.close(o, self.math(self.q, self.k, -self.v))
            q = self.q.detach().clone().requires_grad_()
            o = self.run_backend(name, torch._neg_view(q), self.k, self.v)
            o.backward(torch._neg_view(torch.ones_like(o)))
            expected = self.q.float().requires_grad_()
            self.math(-expected, self.k, self.v).sum().neg().backward()
            self.close(q.grad, expected.grad)

    def test_sizes_of_0(self):
        for name in NAMES:
            for q, k in (
                (self.q[:0], self.k[:0]), (self.q[:, :, :0], self.k),
                (self.q, self.k[:, :, :0]),
            ):  # fmt: skip
                q = q.detach().clone().requires_grad_()
                o = self.run_backend(name, q, k, k)
                self.assertEqual(o.shape, q.shape)
                self.assertFalse(bool(o.any()))
                o.sum().backward()
                self.assertFalse(bool(q.grad.any()))
        self.assertEqual(self.calls, [], sdpa.report())

    def test_what_does_not_fit_is_torch_s(self):
        q, k, v = self.q, self.k, self.v
        for given, why in (
            ((q, k[:1], v), "batches of different size"),
            ((q, k[:, :, :9], v), "shapes that do not fit"),
            ((q, k, v.bfloat16()), "element types torch.float16 and torch.bfloat16"),
            ((q, k[0], v), "rank 3"),
        ):
            self.run_backend("cudnn", *given)
            self.assertEqual(self.calls.pop(), "cudnn")
            self.assertIn(why, str(sdpa.report()))

    def test_what_fa3_refuses_is_torch_s(self):
        error = fa3.UnsupportedError("no such kernel\nat all")
        with mock.patch.object(sdpa.operators, "run_program", side_effect=error):
            for name in NAMES:
                o = self.run_backend(name, self.q, self.k, self.v)
                self.assertTrue(bool((o == 7).all()))
            self.assertIn("3 UnsupportedError: no such kernel", str(sdpa.report()))
            self.switch.strict = True
            with self.assertRaises(fa3.UnsupportedError):
                self.run_backend("flash", self.q, self.k, self.v)

    def test_gradient_of_a_mask_is_torch_s(self):
        bias = torch.zeros(2, 4, 17, 24, dtype=torch.float16, requires_grad=True)
        q = self.q.detach().requires_grad_()
        o = self.run_backend("efficient", q, self.k, self.v, bias=bias[..., :17])
        with contextlib.suppress(RuntimeError):  # the stub gives no gradient of it
            o.sum().backward()
        self.assertEqual(self.calls, ["efficient", "efficient_backward"])
        self.assertIn("1 gradients: the mask requires", str(sdpa.report()))
        self.assertIn("1 the mask requires", str(sdpa.report()))
        # Of a mask that there is not: its error.
        self.calls.clear()
        operator = torch.ops.aten._scaled_dot_product_efficient_attention
        given = [self.q.detach(), self.k, self.v]
        o, lse, *state = operator(*given, None, True)
        backward = torch.ops.aten._scaled_dot_product_efficient_attention_backward
        backward(o, *given, None, o, lse, *state, 0.0, (True,) * 4, False)
        self.assertEqual(self.calls, ["efficient_backward"])

    def test_set_backward(self):
        door.set_backward("torch")
        self.addCleanup(door.set_backward, "fa3")
        for name in NAMES:
            q = self.q.detach().clone().requires_grad_()
            self.run_backend(name, q, self.k, self.v).sum().backward()
            self.assertTrue(bool((q.grad == 7).all()))
        self.assertEqual(self.calls, [f"{name}_backward" for name in NAMES])

    def test_what_is_not_deterministic(self):
        """Is done where torch is to warn only, and warned of as torch's kernels do."""
        kernels = {"flash": "Flash Attention", "cudnn": "cuDNN Attention",
                   "efficient": "Memory Efficient attention"}  # fmt: skip
        self.addCleanup(torch.use_deterministic_algorithms, False)
        gradients, asked = sdpa.operators.gradients, []
        real = gradients.backward

        def backward(*given, deterministic, **named):
            asked.append(deterministic)
            return real(*given, deterministic=deterministic, **named)

        q = self.q.clone().requires_grad_()
        with mock.patch.object(gradients, "backward", backward):
            for name, kernel in kernels.items():
                o = self.run_backend(name, q, self.k, self.v)
                torch.use_deterministic_algorithms(True, warn_only=True)
                with self.assertWarnsRegex(UserWarning, f"{kernel} defaults to a non-determ"):
                    o.sum().backward(retain_graph=True)
                torch.use_deterministic_algorithms(True)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    o.sum().backward()
                torch.use_deterministic_algorithms(False)
        self.assertEqual(asked, 3 * [False, True])

    def test_outputs_are_of_their_call(self):
        """Nothing that a call gives is kept for the next one: the pool of a CUDA graph
        holds outputs (mode="reduce-overhead")."""
        k, v = self.k.repeat_interleave(2, 1), self.v.repeat_interleave(2, 1)
        for name in NAMES:
            operator = getattr(torch.ops.aten, f"_scaled_dot_product_{name}_attention")
            more = () if name == "flash" else (None, True)
            with self.subTest(name):
                made = [
                    one for _ in range(2) for one in operator(self.q, k, v, *more)
                    if isinstance(one, torch.Tensor) and one.numel()
                ]  # fmt: skip
                places = {one.data_ptr() for one in made}
                self.assertEqual(len(places), len(made))

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
        real = torch.library.get_kernel

        def get_kernel(name, key):
            # torch for CPUs has none of the fused ones.
            return None if "aten::_scaled" in name else real(name, key)

        with mock.patch.object(torch.library, "get_kernel", get_kernel):
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
