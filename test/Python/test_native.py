# SPDX-License-Identifier: Apache-2.0
"""fa3_native: what it says of tensors beside what Python says of them, and launches of
both on the fake driver."""

import contextlib
import gc
import importlib.machinery
import importlib.util
import inspect
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import support

import fa3
from fa3.support import native

if support.HAS_TORCH:
    import torch

    from fa3 import flash_attn_interface, serving
    from fa3.calls import choices, gradients, launch
    from fa3.calls.call import Call
    from fa3.serving import packed
    from fa3.support.runtime import runtime

IN_C = support.HAS_TORCH and native.module() is not None
needs_native = unittest.skipUnless(IN_C, "needs fa3_native and torch 2.10")


def samples():
    q = torch.randn(2, 4, 6, 8)
    return [
        None, q, q.clone(), q.half(), q.bfloat16(), q[:1], q.transpose(1, 2), q[..., ::2],
        q.to(torch.float8_e4m3fn), q.to(torch.float8_e5m2), q.int(), q.bool(), q.byte(),
        torch._neg_view(q), torch.nn.Parameter(q), q.clone().requires_grad_(),
        torch.tensor(1.0), torch.tensor(2.0), torch.empty(0, 3), torch.empty(0, 4), q[:0],
    ]  # fmt: skip


class StaleTest(unittest.TestCase):
    def test_other_versions_are_not_used(self):
        """One that was built from other sources is named; calls are made in Python."""
        for version in (native.VERSION + 1, None):
            made = {} if version is None else {"VERSION": version}
            with (
                mock.patch.object(native, "_find", lambda: "/some/fa3_native.abi3.so"),
                mock.patch.object(
                    importlib.util, "module_from_spec",
                    lambda spec, made=made: types.SimpleNamespace(**made),
                ),
                mock.patch.object(
                    importlib.machinery.ExtensionFileLoader, "exec_module", lambda *_: None
                ),
                self.assertLogs("fa3", "WARNING") as said,
            ):  # fmt: skip
                module, why = native._load()
            self.assertIsNone(module)
            self.assertRegex(
                why, rf"/some/fa3_native.abi3.so has version {version or 0}, "
                rf"expected {native.VERSION}",
            )  # fmt: skip
            self.assertIn(why, said.output[0])

    @needs_native
    def test_this_version_is_used(self):
        self.assertEqual(native.module().VERSION, native.VERSION)


@support.needs_torch
@needs_native
class FormTest(unittest.TestCase):
    def test_as_python_says(self):
        module = native.module()
        for a, b in itertools.product(samples(), repeat=2):
            with self.subTest(a=native.described(a), b=native.described(b)):
                same = native.described(a) == native.described(b)
                self.assertEqual(module.describe(a) == module.describe(b), same)
                self.assertIsInstance(module.describe(a, b), bytes)

    def test_several(self):
        q, k = torch.randn(2, 3), torch.randn(3, 2)
        describe = native.module().describe
        self.assertNotEqual(describe(q, k), describe(k, q))
        self.assertNotEqual(describe(q, None), describe(None, q))
        self.assertNotEqual(describe(q), describe(q, None))
        self.assertEqual(describe(), b"")

    def test_what_is_not_read_in_c(self):
        """Has the form that Python gives."""

        class Own(torch.Tensor):
            pass

        kept = []
        torch.func.grad(lambda x: (kept.append(x), x.sum())[1])(torch.randn(3))
        many = torch.zeros((1,) * 12)
        for one in (torch.zeros(3).as_subclass(Own), torch.zeros(3, device="meta"), *kept, many):
            self.assertEqual(native.module().describe(one), native.described(one))
        for one in (1.0, "q", [torch.zeros(2)]):
            self.assertIsNone(native.module().describe(torch.zeros(2), one))
        nested = torch.nested.nested_tensor([torch.zeros(2, 3)])
        self.assertIsNone(native.module().describe(torch.zeros(2), nested))
        self.assertIsNone(native.module().identify(nested))
        hundred = [torch.zeros(1, 1, 1, 1)] * 100
        self.assertEqual(native.module().describe(*hundred), native.described(*hundred))


@support.needs_torch
@needs_native
class IdentifyTest(unittest.TestCase):
    def test_numbers(self):
        """Values are told apart, but for their memory."""
        q = torch.zeros(2, 3)
        values = [
            None, True, False, 0, 1, -1, 1 << 40, 0.0, -0.0, 1.0, 0.5, float("inf"), (), (0,),
            (1,), (1, 2), (2, 1), (None, 1), (1, None), (True,), q, q.int(), q.T, q[0],
            "", "q", "k", "bhsd", "bshd", ("q",), torch.float16, torch.bfloat16, "\0",
        ]  # fmt: skip
        keys = [native.module().identify(one) for one in values]
        self.assertEqual(len(set(keys)), len(values))
        self.assertEqual(keys, [native.module().identify(one) for one in values])
        identify = native.module().identify
        self.assertNotEqual(identify((1, 2), 3), identify((1,), 2, 3))
        self.assertNotEqual(identify(1, None), identify(None, 1))
        self.assertEqual(identify(q.clone(), 1), identify(q, 1))

    def test_what_is_nothing_of_that(self):
        class Whole(int):
            pass

        q = torch.zeros(2, 3)
        for one in (
            "q" * 9, "\ud800", [1], {}, 1 << 64, -(1 << 70), Whole(1), ((1,),), 1j, torch,
            q.clone().requires_grad_(), torch.zeros(2, device="meta"), (q,),
        ):  # fmt: skip
            self.assertIsNone(native.module().identify(q, one, 1))


@support.needs_torch
@support.needs_compiler
@support.needs_driver
class LaunchTest(unittest.TestCase):
    def setUp(self):
        self.fake = support.fake_driver()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.devices = []

        @contextlib.contextmanager
        def device(number):
            self.devices.append(number)
            yield

        for one in (
            mock.patch.object(serving.call, "_sms", lambda _: 132),
            mock.patch.object(torch.cuda, "device", device), support.fake_gpu(),
        ):  # fmt: skip
            stack.enter_context(one)
        self.clear()
        self.addCleanup(self.clear)
        self.q = torch.randn(1, 4, 64, 64).to(torch.bfloat16)

    def clear(self):
        launch.plans.clear()

    def launches(self, call):
        """What was launched, but for addresses."""
        before = self.fake.fakeCudaNumLaunches()
        call()
        made = []
        for n in range(before, self.fake.fakeCudaNumLaunches()):
            one = self.fake.fakeCudaLaunch(n).contents
            made.append((
                one.kernel, tuple(one.grid), tuple(one.block), one.smem, one.cluster,
                one.early, one.num_params, one.stream,
            ))  # fmt: skip
        return made

    def calls(self):
        q = self.q
        grads = [q.clone().requires_grad_() for _ in range(3)]
        rows = torch.randn(128, 4, 64).to(torch.bfloat16)
        more = [rows.clone().requires_grad_() for _ in range(3)]
        starts = torch.tensor([0, 64, 128], dtype=torch.int32)
        one, cache, values = (torch.randn(2, n, 4, 64).to(torch.bfloat16) for n in (1, 8192, 8192))
        new, used = one.clone(), torch.full((2,), 100, dtype=torch.int32)
        table = torch.randn(64)
        run, door = fa3.attention, flash_attn_interface
        return {
            "plain": lambda: run(q, q, q, causal=True),
            "lse": lambda: run(q, q, q, return_lse=True, scale=0.5),
            "mod": lambda: run(q, q, q, score_mod=lambda s, b, h, i, j: s + table[j] * 2.5),
            "out": lambda: run(q, q, q, out=torch.empty_like(q)),
            "gradients": lambda: run(*grads, causal=True).sum().backward(),
            "packed": lambda: door.flash_attn_varlen_func(
                *more, starts, starts, 64, 64, causal=True
            ).sum().backward(),
            "splits": lambda: door.flash_attn_with_kvcache(
                one, cache, values, new, new, cache_seqlens=used, return_softmax_lse=True
            ),
        }  # fmt: skip

    @needs_native
    def test_call(self):
        """A call that was made before is one of C, with all that it depends on."""
        q, k = self.q, self.q.clone()
        turned = q.transpose(1, 2).contiguous().transpose(1, 2)
        ways = [
            {}, {"causal": True}, {"window": (3, 4)}, {"softcap": 2.0},
            {"return_lse": True}, {"out_dtype": torch.bfloat16}, {"layout": "bshd"},
        ]  # fmt: skip
        for one in (q, turned):
            for named in ways:
                first = fa3.attention(one, k, k, **named)
                with mock.patch.object(native, "form", None):
                    (made,) = [fa3.attention(one, k.clone(), k, scale=0.5, **named)]
                for a, b in zip(*[x if type(x) is tuple else (x,) for x in (first, made)]):
                    self.assertEqual((a.shape, a.stride(), a.dtype),
                                     (b.shape, b.stride(), b.dtype))  # fmt: skip
        with mock.patch.object(native, "form", None):
            self.assertEqual(
                [one.shape for one in fa3.attention(q, k, k, return_lse=True)],
                [q.shape, q.shape[:3]],
            )
            for named in ({"softcap": 2}, {"scale": 1}, {"scale": -0.5}, {"causal": 1}):
                with self.assertRaises(TypeError):
                    fa3.attention(q, k, k, **named)  # the way of Python

    @needs_native
    def test_call_of_float8(self):
        """The descales of one that nobody gives are in what is known of a call."""
        q, seen = self.q.to(torch.float8_e4m3fn), []
        for named in ({}, {"causal": True, "return_lse": True}, {"out_dtype": torch.float32}):
            expected = self.launches(lambda named=named: fa3.attention(q, q, q, **named))
            self.assertEqual(len(expected), 1)
            with mock.patch.object(native, "form", None):  # the way of Python asks for it
                made = self.launches(
                    lambda named=named: seen.append(fa3.attention(q.clone(), q, q, **named))
                )
            self.assertEqual(made, expected)
        self.assertEqual(seen[0].dtype, torch.bfloat16)
        self.assertEqual([one.dtype for one in seen[1]], [torch.bfloat16, torch.float32])
        self.assertEqual(seen[2].dtype, torch.float32)
        scales = torch.full((1, 1), 0.5)
        with mock.patch.object(native, "call") as call:
            fa3.attention(q, q, q, k_descale=scales)
        self.assertFalse(call.called)

    def test_call_of_few_arguments(self):
        """Any that is not in the key, also one that there will be, is no call of C."""
        known = {"q", "k", "v", "causal", "window", "softcap", "scale", "out_dtype",
                 "return_lse", "layout"}  # fmt: skip
        others = set(inspect.signature(fa3.attention).parameters) - known
        self.assertIn("previous", others)
        for name in sorted(others):
            with mock.patch.object(native, "call") as call, contextlib.suppress(Exception):
                fa3.attention(self.q, self.q, self.q, **{name: object()})
            self.assertFalse(call.called, name)
        with mock.patch.object(native, "call", return_value="made"):
            self.assertEqual(fa3.attention(self.q, self.q, self.q), "made")

    @needs_native
    def test_call_that_is_none(self):
        from torch.utils.flop_counter import FlopCounterMode

        q, grads = self.q, self.q.clone().requires_grad_()
        for _ in range(2):
            self.assertEqual(len(self.launches(lambda: fa3.attention(q, q, q))), 1)
        with FlopCounterMode(display=False) as counter:
            fa3.attention(q, q, q)
        self.assertGreater(counter.get_total_flops(), 0)
        self.assertTrue(fa3.attention(grads, q, q).requires_grad)
        with torch.no_grad(), mock.patch.object(native, "form", None):
            self.assertFalse(fa3.attention(grads, q, q).requires_grad)
        mapped = torch.func.vmap(lambda x: fa3.attention(x, x, x))(torch.stack([q, q]))
        self.assertEqual(mapped.shape, (2, *q.shape))
        with self.assertRaisesRegex(fa3.ArgumentError, "scale"):
            fa3.attention(q, q, q, scale=-1.0)
        nested = torch.nested.nested_tensor([q[0]])
        for one in (nested, nested.clone().requires_grad_()):
            with self.assertRaisesRegex(fa3.Fa3Error, ": a nested tensor"):
                fa3.attention(one, one, one)
        call = native.module().call
        self.assertIsNone(call({}, None, q, q, q))
        self.assertIsNone(call({}, None, q, "q", q))
        for given in ((), ([], None, q, q, q), ({}, None, q, q)):
            with self.assertRaises(TypeError):
                call(*given)
        for known in (None, (), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, ()), (1, 2, 3, (q,) * 4)):
            with self.assertRaises(TypeError):
                call({native.identify(q, q, q, 1): known}, None, q, q, q, 1)

    def test_autocast(self):
        """What is launched again has the type that autocast gave, and is no call of
        float32 without it."""
        from fa3.calls import call

        q, real, types = self.q.float(), call.Call.__call__, []

        def noted(self, q, k, v, scale):
            types.extend(one.dtype for one in (q, k, v))
            return real(self, q, k, v, scale)

        with mock.patch.object(call.Call, "__call__", noted):
            for _ in range(3):
                with torch.autocast("cpu", torch.bfloat16):
                    fa3.attention(q, q, q)
                given = len(types)
                with self.assertRaisesRegex(fa3.ArgumentError, "f32"):
                    fa3.attention(q, q, q)
                self.assertEqual(len(types), given)
        self.assertEqual(set(types), {torch.bfloat16})

    @needs_native
    def test_as_python_launches(self):
        for name, call in self.calls().items():
            made = []
            for in_c in (True, False):
                with contextlib.ExitStack() as stack:
                    if not in_c:
                        for name_in_c, in_python in (
                            ("module", lambda: None), ("form", native.described),
                            ("identify", native._nothing), ("call", native._nothing),
                        ):  # fmt: skip
                            stack.enter_context(mock.patch.object(native, name_in_c, in_python))
                    self.clear()
                    made.append([self.launches(call) for _ in range(3)])
            with self.subTest(name):
                self.assertEqual(made[0], made[1])
                self.assertTrue(made[0][0])

    def test_another_device(self):
        """Current is another device than that of the tensors."""
        call = lambda: fa3.attention(self.q, self.q, self.q)  # noqa: E731
        call()
        self.devices.clear()
        with mock.patch.object(torch._C, "_cuda_getDevice", lambda: 1):
            self.assertEqual(len(self.launches(call)), 1)
        self.assertEqual(self.devices, [0])

    def test_errors(self):
        call = lambda q: fa3.attention(q, self.q, self.q)  # noqa: E731
        call(self.q)
        memory = torch.zeros(self.q.numel() + 1, dtype=torch.bfloat16)[1:]
        for _ in range(2):
            with self.assertRaisesRegex(fa3.ArgumentError, "is not a multiple of 16"):
                call(memory.view(self.q.shape))
        (launcher,) = {one.launcher for one in _calls()}
        with self.assertRaises(TypeError):
            launcher.run(self.q)
        with self.assertRaises(TypeError):
            launcher.run(self.q, self.q, self.q, "scale")
        with self.assertRaises(AttributeError):
            launcher.run(self.q, self.q, 3, 0.125)
        self.assertEqual(len(self.launches(lambda: call(self.q))), 1)

    def test_error_of_the_driver(self):
        call = lambda: fa3.attention(self.q, self.q, self.q)  # noqa: E731
        call()
        self.fake.fakeCudaFail(b"cuLaunchKernel", 1, 719)
        with self.assertRaises(runtime.Error) as caught:
            call()
        self.assertEqual((caught.exception.code, caught.exception.driver_code), ("kernel", 719))
        self.assertEqual(len(self.launches(call)), 1)

    def test_nothing_is_held(self):
        for _ in range(3):
            fa3.attention(self.q, self.q, self.q, return_lse=True)
        gc.collect()
        count, tensors = sys.getrefcount(self.q), _count()
        for _ in range(50):
            o, lse = fa3.attention(self.q, self.q, self.q, return_lse=True)
            with contextlib.suppress(fa3.ArgumentError):
                fa3.attention(self.q, self.q, self.q, return_lse=True, scale=-1.0)
        self.assertEqual(sys.getrefcount(o), 2)
        del o, lse
        gc.collect()
        self.assertEqual(sys.getrefcount(self.q), count)
        # What tests before this one have left may go meanwhile.
        self.assertLessEqual(_count(), tensors)

    # -- gradients ----------------------------------------------------------------

    def grads(self):
        return [torch.randn(1, 4, 64, 64).to(torch.bfloat16).requires_grad_() for _ in range(3)]

    def backward(self, given, do, **named):
        """What a backward launches, and whether it was one of C alone."""
        o = fa3.attention(*given, causal=True, **named)
        real, calls = gradients.backward, []

        def noted(*args, **more):
            calls.append(args)
            return real(*args, **more)

        with mock.patch.object(gradients, "backward", noted):
            launched = self.launches(lambda: torch.autograd.grad(o, given, do))
        return launched, not calls

    @needs_native
    def test_backward(self):
        given, do = self.grads(), self.q
        # The first leaves a call, the second a backward of it.
        for _ in range(2):
            first, in_c = self.backward(given, do)
            self.assertFalse(in_c)
        for named in ({}, {}, {"scale": 0.5}):
            self.assertEqual(self.backward(given, do, **named), (first, True))
        # Tensors of another form are another backward, and one at an odd address a copy.
        self.assertFalse(self.backward(given, do.expand(1, 4, 64, 64).mT)[1])
        memory = torch.zeros(do.numel() + 1, dtype=torch.bfloat16)[1:]
        made, in_c = self.backward(given, memory.view(do.shape))
        self.assertEqual((made, in_c), (first, False))
        self.assertEqual(self.backward(given, do), (first, True))

    @needs_native
    def test_backward_of_packed_sequences(self):
        rows = [torch.randn(128, 4, 64).to(torch.bfloat16).requires_grad_() for _ in range(3)]
        do, real, python = torch.randn(128, 4, 64).to(torch.bfloat16), packed.run_kernel, []
        starts = torch.tensor([0, 64, 128], dtype=torch.int32)

        def backward(most=64, do=do, **named):
            o = flash_attn_interface.flash_attn_varlen_func(
                *rows, starts, starts, most, most, causal=True, **named
            )
            python.clear()
            with mock.patch.object(packed, "run_kernel", noted):
                made = self.launches(lambda: torch.autograd.grad(o, rows, do))
            return made, not python

        def noted(*args):
            python.append(args)
            return real(*args)

        first, in_c = backward()
        self.assertFalse(in_c)
        self.assertEqual(backward(), (first, True))
        # Other numbers, another form.
        for named in ({"most": 32}, {"softmax_scale": 0.5}, {"do": do.mT.contiguous().mT}):
            self.assertFalse(backward(**named)[1], named)
        for named in ({}, {"most": 32}, {"softmax_scale": 0.5}):
            self.assertTrue(backward(**named)[1], named)
        self.assertFalse(backward(deterministic=True)[1])
        self.assertFalse(backward(deterministic=True)[1])
        self.assertEqual(backward(), (first, True))

    @needs_native
    def test_backward_that_is_seen(self):
        """Who looks on, or wants the same bits, has Python's."""
        from torch.utils.flop_counter import FlopCounterMode

        given, do = self.grads(), self.q
        for _ in range(2):
            first, _ = self.backward(given, do)
        self.assertTrue(self.backward(given, do)[1])
        torch.use_deterministic_algorithms(True)
        try:
            made, in_c = self.backward(given, do)
        finally:
            torch.use_deterministic_algorithms(False)
        self.assertFalse(in_c)
        # Of so few queries these are the same kernels.
        self.assertEqual(made, first)
        with mock.patch.object(choices, "backward", "deterministic"):
            made, in_c = self.backward(given, do)
        self.assertFalse(in_c)
        with mock.patch.dict(os.environ, XLA_FLAGS="--xla_gpu_deterministic_ops=true"):
            made, in_c = self.backward(given, do)
        self.assertEqual((made, in_c), (first, False))
        o = fa3.attention(*given, causal=True)
        with FlopCounterMode(display=False) as counter:
            o.backward(do)
        self.assertGreater(counter.get_total_flops(), 0)
        o = fa3.attention(*given, causal=True)
        (dq,) = torch.autograd.grad(o, given[:1], do, create_graph=True)
        with self.assertRaisesRegex(fa3.UnsupportedError, "second-order"):
            dq.sum().backward()
        self.assertTrue(self.backward(given, do)[1])

    @needs_native
    def test_backward_holds_nothing(self):
        given, do = self.grads(), self.q
        for _ in range(3):
            self.backward(given, do)
        gc.collect()
        before = [sys.getrefcount(one) for one in (*given, do)], _count()
        for _ in range(50):
            o = fa3.attention(*given, causal=True)
            dq, dk, dv = torch.autograd.grad(o, given, do)
            self.assertEqual((dq.shape, sys.getrefcount(dq)), (do.shape, 2))
        del o, dq, dk, dv
        gc.collect()
        self.assertEqual(([sys.getrefcount(one) for one in (*given, do)], _count()), before)

    @needs_native
    def test_errors_of_a_backward(self):
        given, do = self.grads(), self.q
        for _ in range(2):
            self.backward(given, do)
        o = fa3.attention(*given, causal=True)
        self.fake.fakeCudaFail(b"cuLaunchKernelEx", 1, 719)
        with self.assertRaises(runtime.Error):
            o.backward(do)
        self.fake.fakeCudaReset()
        self.assertTrue(self.backward(given, do)[1])


def _calls():
    return [one for one in launch.plans.values() if type(one) is Call]


def _count():
    return sum(1 for one in gc.get_objects() if type(one) is torch.Tensor)


class OffTest(unittest.TestCase):
    def run_python(self, code, **named):
        made = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": str(support.ROOT / "python"), **named},
        )  # fmt: skip
        return made.stdout.strip()

    def test_switched_off(self):
        say = "import fa3.support.native as n; print(n.report(), n.module())"
        said = self.run_python(say, FA3_NATIVE="0")
        self.assertEqual(said, "in Python: switched off by FA3_NATIVE=0 None")

    def test_no_module(self):
        """What cannot be loaded is said, and nothing else changes."""
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            for name in (native.NAME, "libfa3_runtime.so"):
                (folder / name).write_bytes(b"nothing")
            say = "import fa3.support.native as n; print(n.report()); import fa3"
            said = self.run_python(say, FA3_RUNTIME_LIBRARY=str(folder / "libfa3_runtime.so"))
        self.assertRegex(said, f"in Python: .*{native.NAME}")


if __name__ == "__main__":
    unittest.main()
