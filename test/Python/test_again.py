# SPDX-License-Identifier: Apache-2.0
"""Calls that were made before, on the fake driver: which way they go, what they launch
with, and when they do not go it."""

import contextlib
import unittest
from unittest import mock

import support

import fa3
from fa3.build import answers

if support.HAS_TORCH:
    import switch_case
    import torch
    from torch.nn import functional

    import fa3.torch as door
    from fa3 import flash_attn_interface, sdpa, serving
    from fa3.autograd import nodes
    from fa3.calls import launch
    from fa3.serving import packed
    from fa3.support import native

IN_C = support.HAS_TORCH and native.module() is not None
HAS_KERNELS = support.HAS_TORCH and hasattr(torch.library, "get_kernel")


@support.needs_torch
@support.needs_compiler
@support.needs_driver
class Again(unittest.TestCase):
    def setUp(self):
        self.fake = support.fake_driver()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        for one in (
            mock.patch.object(serving.call, "_sms", lambda _: 132),
            mock.patch.object(torch.cuda, "device", contextlib.nullcontext),
            support.fake_gpu(),
        ):
            stack.enter_context(one)
        self.addCleanup(launch.plans.clear)

    def launches(self, call):
        """What `call` gives, and its launches."""
        before = self.fake.fakeCudaNumLaunches()
        made = call()
        after = self.fake.fakeCudaNumLaunches()
        return made, [
            self.fake.fakeCudaLaunch(n).contents.kernel.decode() for n in range(before, after)
        ]


class NodeTest(Again):
    BACKWARD = ["attention_backward_delta", "attention_backward_dkdv",
                "attention_backward_dq"]  # fmt: skip
    #: Of many queries or keys.
    BACKWARD_LONG = ["attention_backward_delta", "attention_backward_grads",
                     "attention_backward_dq"]  # fmt: skip

    def setUp(self):
        super().setUp()
        self.q, self.k, self.v = (
            torch.randn(1, 4, 64, 64).to(torch.bfloat16).requires_grad_() for _ in range(3)
        )
        self.do = torch.randn(1, 4, 64, 64).to(torch.bfloat16)

    def call(self, **named):
        return fa3.attention(self.q, self.k, self.v, causal=True, **named)

    def test_past_the_dispatcher(self):
        """Calls that nobody looks at are no operators, forward and backward, and the
        second is found at once."""
        with mock.patch.object(torch.ops.fa3, "forward", None), mock.patch.object(
            torch.ops.fa3, "backward", None
        ):  # fmt: skip
            for run in range(3):
                patch = contextlib.nullcontext()
                if run:
                    patch = mock.patch.object(door, "run", None)
                with patch:
                    o, launched = self.launches(self.call)
                self.assertEqual(launched, ["attention"])
                made, launched = self.launches(
                    lambda o=o: torch.autograd.grad(o, (self.q, self.k, self.v), self.do)
                )
                self.assertEqual(launched, self.BACKWARD)
                self.assertEqual([one.shape for one in made], 3 * [self.q.shape])
            self.assertEqual(len(support.plans("backward")), 1)
            o, lse = self.call(return_lse=True)
            self.assertEqual((o.requires_grad, lse.shape), (True, (1, 4, 64)))
            torch.autograd.grad((o, lse), self.q, (self.do, torch.ones_like(lse)))
            self.assertEqual(len(support.plans("backward")), 2)

    def test_kernels_by_length(self):
        """Few queries and keys have the split form."""
        below = answers.split_below(64, 64, True)
        self.assertGreater(below, 1000)
        self.assertGreater(answers.split_below(64, 64, True, deterministic=True), below)
        for queries, keys, launches in (
            (below - 1, 100, self.BACKWARD), (below, 100, self.BACKWARD_LONG),
            (100, below - 1, self.BACKWARD), (100, below, self.BACKWARD_LONG),
        ):  # fmt: skip
            q = torch.randn(1, 1, queries, 64).bfloat16().requires_grad_()
            k = torch.randn(1, 1, keys, 64).bfloat16()
            for layout in ("bhsd", "bshd"):
                with self.subTest(queries=queries, keys=keys, layout=layout):
                    a, b = (q, k) if layout == "bhsd" else (q.transpose(1, 2), k.transpose(1, 2))
                    o = fa3.attention(a, b, b, causal=True, layout=layout)
                    _, launched = self.launches(
                        lambda o=o: torch.autograd.grad(o, q, torch.ones_like(o))
                    )
                    self.assertEqual(launched, launches)

    def test_what_is_asked_each_time(self):
        self.call()
        for scale, error in ((-1.0, "scale"), (2000.0, "scale"), (float("nan"), "scale")):
            with self.assertRaisesRegex(fa3.ArgumentError, error):
                self.call(scale=scale)
        door.set_backward(None)
        self.addCleanup(door.set_backward, "fa3")
        with self.assertRaisesRegex(fa3.UnsupportedError, "switched off"):
            self.call()
        door.set_backward("deterministic")
        self.call().backward(self.do)
        self.assertEqual([same for _, _, same, _ in support.plans("backward")], [True])
        # A view with the other sign in memory is no call of its own.
        _, launched = self.launches(
            lambda: fa3.attention(torch._neg_view(self.q), self.k, self.v, causal=True)
        )
        self.assertEqual(launched, ["attention"])

    def test_what_new_tensors_are_made_like_holds_no_memory(self):
        """It outlives the call, which owners of pools do not allow (reduce-overhead)."""
        self.call().backward(self.do)
        likes = [
            given for calls in (support.plans("attention"), support.plans("backward"))
            for launcher in calls.values() for make, args, _ in launcher.made
            for given in args if make is torch.empty_like
        ]  # fmt: skip
        self.assertTrue(likes)
        self.assertEqual({one.untyped_storage().nbytes() for one in likes}, {0})

    def test_saved_tensors_that_came_back_otherwise(self):
        """Hooks may give tensors of other strides, and gradients may lie anyhow."""
        turned = torch.randn(1, 64, 4, 64).to(torch.bfloat16).transpose(1, 2)
        self.q = turned.detach().requires_grad_()
        self.call().backward(self.do)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x.contiguous()):
            o = self.call()
        o.backward(self.do)
        makers = [one.made[0] for one in support.plans("backward").values()]
        strides = {make(*args, **named).stride() for make, args, named in makers}
        self.assertEqual(strides, {self.q.stride(), (16384, 4096, 64, 1)})
        known = len(support.plans("backward"))
        wide = torch.zeros(1, 4, 64, 65, dtype=torch.bfloat16)
        for do in (
            torch.zeros((), dtype=torch.bfloat16).expand(1, 4, 64, 64), wide[..., 1:],
            self.do.mT,
        ):  # fmt: skip
            for _ in range(2):
                self.call().backward(do)
        # They were copied to what the first was.
        self.assertEqual(len(support.plans("backward")), known)
        # At an address that is no multiple of 16 bytes, which kernels refuse.
        memory = torch.zeros(4 * 64 * 64 + 1, dtype=torch.bfloat16)[1:]
        self.call().backward(memory.view(1, 4, 64, 64))
        self.assertEqual(len(support.plans("backward")), known)

    def test_second_order(self):
        for create in (False, True):
            o = self.call()
            if create:
                (dq,) = torch.autograd.grad(o, self.q, self.do, create_graph=True)
                with self.assertRaisesRegex(fa3.UnsupportedError, "second-order"):
                    dq.float().sum().backward()
            else:
                torch.autograd.grad(o, self.q, self.do)

    def test_operands_that_have_changed(self):
        """Changed tensors that a backward needs are torch's error, as of any node."""
        o = self.call()
        with torch.no_grad():
            self.k.mul_(2)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            o.backward(self.do)

    def test_takes(self):
        x = torch.zeros(2)
        self.assertTrue(nodes.takes(x, torch.nn.Parameter(x)))
        self.assertFalse(nodes.takes(x, torch.zeros(2, device="meta")))
        self.assertFalse(nodes.takes(torch._neg_view(x)))


class SequencesTest(Again):
    def test_packed_gradients(self):
        rows = [torch.zeros(96, 4, 64, dtype=torch.bfloat16).requires_grad_() for _ in "qkv"]
        starts = torch.tensor([0, 64, 96], dtype=torch.int32)
        known = []
        for most in (64, 64, 40):
            o, launched = self.launches(
                lambda most=most: flash_attn_interface.flash_attn_varlen_func(
                    *rows, starts, starts, most, most, causal=True
                )
            )
            self.assertEqual(launched, ["attention_serving"])
            _, launched = self.launches(lambda o=o: o.backward(torch.ones_like(o)))
            known.append(launched)
        self.assertEqual(known[0], known[1])
        self.assertEqual(len(support.plans("packed backward")), 1)
        ready = [one for one in launch.plans.values() if isinstance(one, packed._Call)]
        self.assertEqual(sum(one.forward is not None for one in ready), 2 * IN_C)
        run, more = flash_attn_interface.flash_attn_varlen_func, {"return_attn_probs": True}
        run(*rows, starts, starts, 64, 64, softmax_scale=0.3, causal=True, **more)
        with mock.patch.object(packed, "known", None) if IN_C else contextlib.nullcontext():
            o, launched = self.launches(lambda: run(*rows, starts, starts, 64, 64, causal=True))
            self.assertEqual((launched, o.requires_grad), (["attention_serving"], True))
            o, lse = run(*rows, starts, starts, 64, 64, softmax_scale=0.3, causal=True, **more)
            self.assertEqual((o.shape, lse.shape), (rows[0].shape, (4, 96)))
            torch.autograd.grad((o, lse), rows, (torch.ones_like(o), torch.ones_like(lse)))
        with torch.no_grad():
            self.assertFalse(run(*rows, starts, starts, 64, 64, causal=True).requires_grad)
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        run(*rows, starts, starts, 64, 64, causal=True).sum().backward()
        self.assertEqual(len(support.plans("packed backward")), 3)
        with self.assertRaisesRegex(fa3.UnsupportedError, "second-order"):
            o = flash_attn_interface.flash_attn_varlen_func(*rows, starts, starts, 64, 64)
            (dq,) = torch.autograd.grad(o.float().sum(), rows[0], create_graph=True)
            dq.sum().backward()

    def test_more_sequences_than_kernels_look_among(self):
        """Starts that were made longer for a call are made for each."""
        count = serving.call.FEW_SEQUENCES + 10
        starts = torch.arange(count + 1, dtype=torch.int32)
        q = torch.zeros(count, 2, 64, dtype=torch.bfloat16)
        lengths, real = [], serving.eager.Launcher

        def launcher(*args):
            made = real(*args)
            run = made.run

            def noted(*values):
                lengths.append([x.numel() for x in values if getattr(x, "ndim", 0) == 1])
                return run(*values)

            made.run = noted
            return made

        with mock.patch.object(serving.eager, "Launcher", launcher):
            for _ in range(2):
                flash_attn_interface.flash_attn_varlen_func(q, q, q, starts, starts, 1, 1)
        self.assertEqual(lengths, 2 * [[8193, 8193]])

    def test_nothing_is_held(self):
        q = torch.zeros(2, 1, 4, 64, dtype=torch.bfloat16)
        cache = torch.zeros(2, 64, 4, 64, dtype=torch.bfloat16)
        flash_attn_interface.flash_attn_with_kvcache(q, cache, cache)
        (ready,) = set(support.plans("serve").values())
        self.assertFalse(any(one is q or one is cache for one in ready.values))


@unittest.skipUnless(HAS_KERNELS, "needs torch.library.get_kernel, torch 2.9")
class SwitchAgainTest(Again):
    def setUp(self):
        super().setUp()
        self.calls = []
        stubs = torch.library.Library("aten", "IMPL")
        for name in switch_case.NAMES:
            for kind in ("", "_backward"):
                stubs.impl(
                    f"_scaled_dot_product_{name}_attention{kind}",
                    switch_case.SwitchCase.stub(self, name + kind), "CPU",
                )  # fmt: skip
        self.addCleanup(stubs._destroy)
        sdpa.report(reset=True)
        self.switch = sdpa._Switch(False, "CPU")
        self.addCleanup(self.switch.remove)
        self.q = torch.zeros(1, 4, 32, 64, dtype=torch.bfloat16)
        self.k = torch.zeros(1, 4, 48, 64, dtype=torch.bfloat16)

    def run_by(self, name, k, **named):
        operator = getattr(torch.ops.aten, f"_scaled_dot_product_{name}_attention")
        if name == "flash":
            return operator(self.q, k, k, 0.0, True, False, **named)
        return operator(self.q, k, k, None, True, 0.0, True, **named)

    def test_again(self):
        for name in ("flash", "cudnn"):
            for run in range(2):
                patch = contextlib.nullcontext()
                if run:
                    patch = mock.patch.object(self.switch, "_run", None)
                with patch:
                    (o, lse, *_), launched = self.launches(
                        lambda name=name: self.run_by(name, self.q)
                    )
                self.assertEqual(launched, ["attention"])
                self.assertEqual(o.shape, self.q.shape)
        self.assertEqual((sdpa.report().ran, self.calls), (4, []))

    def test_operators_do_not_answer_for_each_other(self):
        """What FlashAttention's takes, cuDNN's declines: causal with other lengths."""
        for _ in range(2):
            self.run_by("flash", self.k)
        self.assertEqual(self.calls, [])
        for _ in range(2):
            self.run_by("cudnn", self.k)
        self.assertEqual(self.calls, 2 * ["cudnn"])

    def test_what_is_asked_each_time(self):
        self.run_by("flash", self.q)
        memory = torch.zeros(4 * 32 * 64 + 1, dtype=torch.bfloat16)[1:].view(self.q.shape)
        for call in (
            lambda: self.run_by("flash", memory), lambda: self.run_by("flash", self.q, scale=-1.0)
        ):  # fmt: skip
            call()
        self.assertEqual(self.calls, 2 * ["flash"])
        self.assertEqual(len(sdpa.report().declined), 2)

    def test_gradients_again(self):
        o, lse, *rest = self.run_by("cudnn", self.q)
        backward = torch.ops.aten._scaled_dot_product_cudnn_attention_backward
        for run in range(2):
            patch = contextlib.nullcontext()
            if run:
                patch = mock.patch.object(sdpa.operators, "declines_cudnn", None)
            with patch:
                made, launched = self.launches(lambda: backward(
                    o, self.q, self.q, self.q, o, lse, rest[4], rest[5], None, None, None,
                    32, 32, 0.0, True,
                ))  # fmt: skip
            self.assertEqual((len(made), launched), (3, NodeTest.BACKWARD))
        door.set_backward(None)
        self.addCleanup(door.set_backward, "fa3")
        backward(
            o, self.q, self.q, self.q, o, lse, rest[4], rest[5], None, None, None, 32, 32,
            0.0, True,
        )  # fmt: skip
        self.assertEqual(self.calls, ["cudnn_backward"])


@unittest.skipUnless(HAS_KERNELS, "needs torch.library.get_kernel, torch 2.9")
class AtOnceTest(SwitchAgainTest):
    """scaled_dot_product_attention itself, past torch's choice of an operator."""

    def setUp(self):
        super().setUp()
        self.whole = []
        self.switch.whole = self
        self.step = 8

    def call_boxed(self, keys, q, k, v, mask, dropout, causal, *, scale, enable_gqa):
        """What torch has: cuDNN's operator."""
        self.whole.append("mask" if mask is not None else "plain")
        grads = torch.is_grad_enabled() and q.requires_grad
        if q.is_nested:
            return q
        padded = [functional.pad(one, (0, -one.shape[-1] % self.step)) for one in (q, k, v)]
        if q.shape[-1] % self.step == 0:
            padded = (q, k, v)
        operator = torch.ops.aten._scaled_dot_product_cudnn_attention
        return operator(*padded, mask, grads, dropout, causal, scale=scale)[0]

    def sdpa(self, q, *rest, **named):
        k, v = rest or (q, q)
        return functional.scaled_dot_product_attention(q, k, v, **named)

    def test_the_choice_is_not_asked_again(self):
        for run in range(3):
            o, launched = self.launches(lambda: self.sdpa(self.q, is_causal=True))
            self.assertEqual((launched, o.shape), (["attention"], self.q.shape))
            self.assertEqual((self.whole, sdpa.report().ran), (["plain"], run + 1))
        # Of a scale it is, and of what else a choice depends on.
        self.sdpa(self.q, is_causal=True, scale=0.3)
        self.assertEqual(len(self.whole), 1)
        self.sdpa(self.q)
        self.assertEqual(len(self.whole), 2)
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            self.sdpa(self.q)
        self.assertEqual(len(self.whole), 3)
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        self.sdpa(self.q)
        self.assertEqual(len(self.whole), 4)

    def test_calls_that_go_the_long_way(self):
        memory = torch.zeros(4 * 32 * 64 + 1, dtype=torch.bfloat16)[1:].view(self.q.shape)
        mask = torch.ones(32, 32, dtype=torch.bool)
        self.sdpa(self.q)
        calls = (
            lambda: self.sdpa(memory), lambda: self.sdpa(self.q, scale=-1.0),
            lambda: self.sdpa(self.q, dropout_p=0.5), lambda: self.sdpa(self.q, attn_mask=mask),
            lambda: self.sdpa(torch._neg_view(self.q)),
            lambda: self.sdpa(self.q, self.k, self.k, is_causal=True),
            lambda: self.sdpa(torch.nested.nested_tensor([self.q[0]]), dropout_p=0.0),
        )  # fmt: skip
        for n, call in enumerate(calls):
            for _ in range(2):
                self.whole.clear()
                call()
                self.assertEqual(len(self.whole), 1, n)
        # Operators that were called with others: padded here.
        self.step = 128
        for _ in range(2):
            self.whole.clear()
            self.sdpa(self.q, is_causal=True)
            self.assertEqual(len(self.whole), 1)

    def test_gradients(self):
        q = self.q.requires_grad_()
        for run in range(3):
            o, launched = self.launches(lambda: self.sdpa(q, is_causal=True))
            self.assertEqual((launched, len(self.whole)), (["attention"], 1))
            _, launched = self.launches(lambda o=o: o.sum().backward())
            self.assertEqual(launched, NodeTest.BACKWARD)
            self.assertEqual((sdpa.report().ran, sdpa.report().gradients), 2 * (run + 1,))
        with torch.no_grad():
            self.sdpa(q, is_causal=True)
        self.assertEqual(len(self.whole), 2)
        self.assertFalse(self.sdpa(q.detach(), is_causal=True).requires_grad)
        door.set_backward(None)
        self.addCleanup(door.set_backward, "fa3")
        for _ in range(2):
            self.whole.clear()
            self.sdpa(q, is_causal=True)
            self.assertEqual(len(self.whole), 1)

    def test_somebody_looks_on(self):
        from torch.utils.flop_counter import FlopCounterMode

        for _ in range(2):
            self.sdpa(self.q)
        with FlopCounterMode(display=False) as counter:
            self.sdpa(self.q)
        self.assertEqual(counter.get_total_flops(), 4 * 4 * 32 * 32 * 64)


if __name__ == "__main__":
    unittest.main()
