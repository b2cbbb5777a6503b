# SPDX-License-Identifier: Apache-2.0
"""fa3.autotune and kernel_options: which kernel is launched, kept and found again, by
the fake driver and times that are not measured."""

import tempfile
import unittest
from unittest import mock

import support

import fa3
from fa3 import bench, tuning
from fa3.build import cache, driver
from fa3.calls import launch
from fa3.kernels import compiled as kernels
from fa3.support import tensors

if support.HAS_TORCH:
    import torch

SHAPE = (1, 2, 1, 64, 96, 64)


def mod(score, b, h, q, kv):
    return score * 0.5 + (q - kv)


@support.needs_torch
@support.needs_compiler
@support.needs_driver
class TuningTest(unittest.TestCase):
    def setUp(self):
        gpu = support.fake_gpu()
        gpu.__enter__()
        self.addCleanup(gpu.__exit__, None, None, None)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addCleanup(self.restart)
        self.addCleanup(driver.set_driver, None)
        self.restart()
        real = tensors.allocate
        for module, name, other in (
            (tuning, "_device", lambda: "cpu"),
            (tensors, "allocate", lambda *given: real(*given).zero_()),
        ):
            patch = mock.patch.object(module, name, other)
            patch.start()
            self.addCleanup(patch.stop)

    def restart(self):
        """As another process that has the same cache."""
        driver.set_driver(driver.Driver(cache.Cache(self.folder), bundles=[]))
        kernels.kernels.clear()
        launch.plans.clear()

    def tune(self, seconds, points, **named):
        times = iter(seconds)

        def measure(call):
            call()
            return next(times)

        with mock.patch.object(bench, "measure", measure):
            return fa3.autotune(mod, [SHAPE], points=points, **named)

    def launched(self):
        """The kernel of a call."""
        q, k = torch.randn(2, 2, 30, 64).bfloat16(), torch.randn(2, 1, 70, 64).bfloat16()
        fa3.attention(q, k, k, score_mod=mod)
        (kernel,) = support.kernels()
        return kernel

    def ptx(self, **options):
        kernel = self.launched()
        return fa3.compile(kernel.text, variants=1, **options).ptx

    def test_the_fastest_is_kept(self):
        told = {}
        plain = self.launched().ptx
        made = self.tune(
            (1.0, 0.5, 2.0),
            ({"block_m": 64, "block_n": 64}, {"mode": "sideways"}, {"block_m": 128}),
            progress=told.__setitem__,
        )
        self.assertEqual(made.options, {"block_m": 64, "block_n": 64})
        self.assertEqual(made.gain, 2.0)
        self.assertEqual(made.times["block_m=128"], [2.0])
        self.assertIn("got 'sideways'", made.refused["mode=sideways"])
        self.assertEqual(told["block_m=64 block_n=64"], "500000.0 us")
        small = self.launched().ptx
        self.assertNotEqual(small, plain)
        self.assertEqual(small, self.ptx(block_m=64, block_n=64))
        self.restart()
        kernel = self.launched()
        self.assertEqual((kernel.ptx, kernel.source), (small, "cache"))
        self.assertTrue(tuning.forget(mod, 64))
        self.assertFalse(tuning.forget(mod, 64))
        self.assertEqual(self.launched().ptx, plain)

    def test_a_slower_one_is_not(self):
        plain = self.launched().ptx
        made = self.tune((1.0, 0.999), ({"block_m": 64, "block_n": 64},))
        self.assertEqual((made.options, made.gain), ({}, 1.0))
        self.assertEqual(self.launched().ptx, plain)

    def test_other_results_are_left_out(self):
        def spoil(self, one, kernel):
            results = [torch.full((4,), float(len(found))) for _ in range(1)]
            found.append(kernel)
            return 1.0 / len(found), results

        found = []
        with mock.patch.object(tuning._Search, "_run", spoil):
            made = fa3.autotune(mod, [SHAPE], points=({"block_m": 64, "block_n": 64},))
        self.assertEqual(made.options, {})
        self.assertIn("results are not those", made.refused["block_m=64 block_n=64"])

    def test_wrong_arguments(self):
        for shapes, expected in (
            ([(1, 2, 3)], "expected \\(batch, heads, key heads"),
            ([SHAPE, (1, 2, 1, 64, 96, 128)], "2 kernels, expected shapes of one head dim"),
            ([], "0 kernels"),
        ):
            with self.assertRaisesRegex(fa3.ArgumentError, expected):
                fa3.autotune(mod, shapes)

    def test_kernel_options(self):
        q = torch.randn(1, 2, 64, 64).bfloat16()
        for _ in range(2):
            fa3.flex_attention(q, q, q, mod, kernel_options={"block_m": 64, "block_n": 64})
        (kernel,) = kernels.kernels.values()
        self.assertEqual(kernel.ptx, self.ptx(block_m=64, block_n=64))
        # Hints of others change nothing.
        plain = self.launched()
        hints = {"BLOCK_M": 64, "num_warps": 4, "fwd_BLOCK_M": 64, "PRESCALE_QK": True}
        fa3.flex_attention(q, q, q, mod, kernel_options=hints)
        self.assertEqual(support.kernels(), [plain])
        self.assertEqual(len(kernels.kernels), 2)
        for name, expected in (
            ("BLOCKM", "'BLOCKM' is no option .*; did you mean 'BLOCK_M'"),
            ("bwd_BLOCK_M3", "did you mean 'bwd_BLOCK_M.?'"), ("TILES", "'TILES' is no option"),
            (7, "key 7, expected a string"),
        ):  # fmt: skip
            with self.assertRaisesRegex(fa3.ArgumentError, expected):
                fa3.flex_attention(q, q, q, mod, kernel_options={name: 1})
        with self.assertRaisesRegex(fa3.ArgumentTypeError, "str, expected a dictionary"):
            fa3.flex_attention(q, q, q, mod, kernel_options="BLOCK_M")
        with self.assertRaisesRegex(fa3.UnsupportedError, "block_m with interpret"):
            fa3.flex_attention(
                q, q, q, mod, kernel_options={"block_m": 64}, interpret=True
            )
        with self.assertRaisesRegex(fa3.Fa3Error, "blok-m"):
            fa3.flex_attention(q, q, q, mod, kernel_options={"blok_m": 64})
        q.requires_grad_()
        with self.assertRaisesRegex(fa3.UnsupportedError, "block_m, with gradients"):
            fa3.flex_attention(q, q, q, mod, kernel_options={"block_m": 64})


if __name__ == "__main__":
    unittest.main()
