# SPDX-License-Identifier: Apache-2.0
"""Which kernels calls get: a quick one first where another takes long, by the fake
driver."""

import contextlib
import importlib.util
import threading
import unittest
from unittest import mock

import support

import fa3
from fa3.build import cache, driver
from fa3.calls import call, launch
from fa3.kernels import compiled as kernels

if support.HAS_TORCH:
    import torch


@support.needs_torch
@support.needs_driver
class QuickKernelTest(unittest.TestCase):
    def setUp(self):
        self.made, self.may_end = [], threading.Event()
        real = kernels.compile_traced

        def record(text, traced, **options):
            later = threading.current_thread().name == "fa3-kernel"
            if later:
                self.assertTrue(self.may_end.wait(60), "nobody waits for it")
            self.made.append((options.get("edges"), later))
            return real(text, traced, **options)

        kernels._failed.clear()
        for patch in (
            mock.patch.object(kernels, "compile_traced", record),
            mock.patch.object(driver, "_driver", driver.Driver(cache.Cache(None), [])),
            support.fake_gpu(),
        ):
            patch.__enter__()
            self.addCleanup(patch.__exit__, None, None, None)

    def call(self, d, **named):
        named = named or {"mask_mod": lambda b, h, i, j: (i >= j) & (i - j < 70)}
        q = torch.zeros(1, 2, 33, d, dtype=torch.bfloat16)
        fa3.attention(q, q, q, **named)

    def test_wide_heads_with_a_mask(self):
        self.call(256)
        self.assertEqual(self.made, [("none", False)])
        self.call(256)
        self.assertEqual((self.made, len(launch.plans)), ([("none", False)], 0))
        self.may_end.set()
        kernels.wait()
        self.assertEqual(self.made, [("none", False), ("together", True)])
        self.call(256)
        self.assertEqual((len(self.made), len(launch.plans)), (2, 1))
        # Nothing to compile: no quick one.
        kernels.kernels.clear()
        launch.plans.clear()
        self.call(256)
        self.assertEqual(self.made[2:], [("together", False)])
        self.assertEqual(len(launch.plans), 1)

    def test_others(self):
        self.call(128)
        self.call(256, causal=True)
        self.assertEqual(self.made, [("together", False), (None, False)])
        made = [one for one in launch.plans.values() if isinstance(one, call.Call)]
        self.assertEqual(len(made), 2)

    def test_a_captured_call_waits(self):
        self.may_end.set()
        with mock.patch.object(kernels, "_is_capturing", lambda: True):
            self.call(256)
        self.assertEqual(self.made, [("together", True)])
        self.assertEqual(len(launch.plans), 1)

    @unittest.skipUnless(importlib.util.find_spec("jax"), "needs jax")
    def test_jax_asks_again(self):
        from fa3 import jax as door
        from fa3.kernels import program
        from fa3.kernels.arguments import Arguments
        from fa3.mods import trace

        traced = trace.trace_mods(None, lambda b, h, i, j: (i >= j) & (i - j < 70))
        text = program.to_text(Arguments(), mods=program.mods_text(traced))
        rows = torch.zeros(4, 1, 2, 33, 256, dtype=torch.bfloat16)
        views = [fa3.support.tensors.view("x", one) for one in rows]
        frame = mock.Mock()
        frame.device.return_value, frame.stream.return_value = 0, 77
        frame.operands.return_value, frame.results.return_value = views[:3], views[3:]
        frame.text.side_effect = lambda name: text if name == "program" else "None"
        frame.scratch = lambda size: contextlib.nullcontext(0)
        support.plans("jax").clear()
        door._forward(frame, False)
        self.assertEqual((self.made, len(support.plans("jax"))), ([("none", False)], 0))
        self.may_end.set()
        kernels.wait()
        door._forward(frame, False)
        self.assertEqual((len(self.made), len(support.plans("jax"))), (2, 1))
        support.plans("jax").clear()

    def test_what_cannot_be_compiled(self):
        """The quick one stays, if there is one; an error is that of the call."""
        real = kernels.compile_traced

        def fail(text, traced, **options):
            if options["edges"] == "together":
                raise fa3.UnsupportedError("no registers")
            return real(text, traced, **options)

        self.may_end.set()
        with mock.patch.object(kernels, "compile_traced", fail):
            with self.assertLogs("fa3", "WARNING") as logs:
                self.call(256)
                kernels.wait()
            self.assertIn("for later calls: no registers", logs.output[0])
            self.call(256)
        self.assertEqual(self.made, [("none", False)])
        self.assertEqual(len(launch.plans), 1)

        def say(*args, **options):
            raise fa3.UnsupportedError("no")

        for known in (kernels.kernels, kernels._failed, launch.plans):
            known.clear()
        with mock.patch.object(kernels, "compile_traced", say):
            with self.assertLogs("fa3", "WARNING"):
                with self.assertRaisesRegex(fa3.UnsupportedError, "no"):
                    self.call(256)
                kernels.wait()


if __name__ == "__main__":
    unittest.main()
