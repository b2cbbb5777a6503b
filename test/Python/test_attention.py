# SPDX-License-Identifier: Apache-2.0
"""fa3.attention without a GPU: what is asked of the compiler, the launches that
the fake driver sees, errors."""

import os
import tempfile
import threading
import unittest
from unittest import mock

import support

import fa3
from fa3.build import compiler, driver, tiles
from fa3.calls import call, launch
from fa3.kernels.arguments import Arguments
from fa3.kernels import compiled as kernels, spec

if support.HAS_TORCH:
    import torch

if "FA3_CACHE_DIR" not in os.environ:
    os.environ["FA3_CACHE_DIR"] = tempfile.mkdtemp(prefix="fa3-test-")
os.environ.setdefault("FA3_PTXAS", "0")


@support.needs_compiler
class CompileTest(unittest.TestCase):
    def test_kernel(self):
        kernel = fa3.attention_kernel("bf16", 64, causal=True, return_lse=True)
        names = [argument.name for argument in kernel.parse().args]
        self.assertEqual(names, ["q", "k", "v", "scale", "o", "lse"])
        self.assertEqual(kernel.manifest["chip"], "sm_90a")
        self.assertIn(".visible .entry attention(", kernel.ptx)
        self.assertIn("attention.forward", kernel.ir("attention"))
        self.assertIn("define", kernel.ir("llvm"))
        with self.assertRaisesRegex(ValueError, "argument 'stage': 'x', expected"):
            kernel.ir("x")

    @support.needs_interpreter
    def test_stages(self):
        kernel = fa3.attention_kernel("f16", 64)
        for stage, expected in (
            ("tile", "tile.dot"), ("hopper", "hopper.wgmma"), ("nvvm", "llvm.func"),
        ):  # fmt: skip
            self.assertIn(expected, kernel.ir(stage))

    @support.needs_interpreter
    def test_timeline(self):
        kernel = fa3.attention_kernel("f16", 64, causal=True)
        trace = kernel.timeline(b=1, h=1, hk=1, sq=200, sk=200)["traceEvents"]
        names = {one["args"]["name"] for one in trace if one["name"] == "thread_name"}
        self.assertIn("load", names)
        longer = kernel.timeline(b=1, h=1, hk=1, sq=200, sk=900, scale=0.5)["traceEvents"]
        self.assertGreater(
            max(one.get("ts", 0) for one in longer), max(one.get("ts", 0) for one in trace)
        )
        extents = {"b": 1, "h": 1, "hk": 1, "sq": 200}
        for wrong, expected in (
            ({}, "'sk': None, expected an extent of 'k'"),
            ({"sk": -1}, "'sk': -1, expected"),
            ({"sk": 9, "keys": 5}, "'keys': is no extent of the kernel: b, h, sq, "),
        ):
            with self.assertRaisesRegex(fa3.ArgumentError, expected):
                kernel.timeline(**extents, **wrong)
        with self.assertRaisesRegex(fa3.CompileError, "at least one multiprocessor"):
            kernel.timeline(**extents, sk=9, sms=0)

    def test_diagnostics(self):
        with self.assertRaises(fa3.CompileError) as caught:
            fa3.compile("module {\n  %0 = wrong.op : i32\n}\n")
        (error,) = [
            one for one in caught.exception.diagnostics if one.severity == "error"
        ]
        self.assertEqual((error.file, error.line), ("<input>", 2))

    def test_ptx_version(self):
        kernel = fa3.attention_kernel("f16", 64, ptx_version=80)
        self.assertIn(".version 8.0", kernel.ptx)

    def test_text_of_all_mods(self):
        kernel = fa3.compile(
            spec.Spec(
                "f16", "f16", "f16", "f16", 64, 96, True, (128, 0), 30.0, True,
                spec.Auxiliary("f16", 4), True,
            ).to_mlir()
        )  # fmt: skip
        names = [argument.name for argument in kernel.parse().args]
        self.assertEqual(
            names, ["q", "k", "v", "scale", "bias", "alibi", "o", "lse"]
        )

    def test_bad_arguments(self):
        for named, expected in (
            ({"q_dtype": "f32"}, "argument 'q': element type f32, expected f16"),
            ({"head_dim": 100}, "argument 'head_dim': head dim 100, expected a mult"),
            ({"head_dim": 584}, "argument 'head_dim': head dim 584, expected .* up to 576"),
            ({"head_dim_v": 520}, "argument 'head_dim_v': head dim 520"),
            ({"window": 5}, "argument 'window': 5, expected \\(left, right\\)"),
            ({"window": (-2, 0)}, "argument 'window': -2, expected None, -1 or 0"),
            ({"softcap": -1.0}, "argument 'softcap': -1.0, expected 0 or"),
        ):
            with self.assertRaisesRegex(fa3.ArgumentError, expected):
                fa3.attention_kernel(**named)


@support.needs_torch
@support.needs_compiler
@support.needs_driver
class LaunchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fake = support.fake_driver()

    def setUp(self):
        gpu = support.fake_gpu()
        gpu.__enter__()
        self.addCleanup(gpu.__exit__, None, None, None)
        self.fake.fakeCudaReset()
        self.q = torch.randn(2, 8, 100, 64, dtype=torch.float16)
        self.k = torch.randn(2, 2, 200, 64, dtype=torch.float16)

    def launches(self):
        return self.fake.fakeCudaNumLaunches()

    def test_again_and_again(self):
        for count in range(1, 4):
            o = fa3.attention(self.q, self.k, self.k, causal=True)
            self.assertEqual(o.shape, self.q.shape)
            self.assertEqual(o.dtype, torch.float16)
            self.assertEqual(self.launches(), count)
            launch = self.fake.fakeCudaLaunch(count - 1).contents
            self.assertEqual((launch.kernel, launch.stream), (b"attention", 77))
        fa3.attention(self.q, self.k, self.k, causal=True, scale=0.5)
        launch = self.fake.fakeCudaLaunch(3).contents
        self.assertIn(0x3F000000, list(launch.params))

    def test_negative_views(self):
        """Never launched as their memory is, nor later calls as they were."""
        fa3.attention(self.q, self.k, self.k)
        for number in range(3):
            given = [self.q, self.k, self.k]
            given[number] = torch._neg_view(given[number])
            for _ in range(2):
                with mock.patch.object(
                    call.Call, "launch", autospec=True, side_effect=call.Call.launch
                ) as launch:
                    fa3.attention(*given)
                one = launch.call_args.args[1][number]
                self.assertFalse(one.is_neg())
                torch.testing.assert_close(one, given[number])
        table = torch.randn(100, 200)
        for bias in (table, torch._neg_view(table), table):
            fa3.attention(self.q, self.k, self.k,
                          score_mod=lambda s, b, h, q, kv, bias=bias: s + bias[q, kv])  # fmt: skip
            params = list(self.fake.fakeCudaLaunch(self.launches() - 1).contents.params)
            self.assertEqual(table.data_ptr() in params, not bias.is_neg())
        with self.assertRaisesRegex(fa3.ArgumentError, "'out': is a negative view"):
            fa3.attention(self.q, self.k, self.k, out=torch._neg_view(self.q.clone()))

    def test_numbers_of_mods_that_do_not_fit(self):
        def mod(n):
            return lambda b, h, q, kv: q - kv <= n

        fa3.attention(self.q, self.k, self.k, mask_mod=mod(7))
        count = self.launches()
        with self.assertRaisesRegex(fa3.errors.Fa3Error, "4294967303"):
            fa3.attention(self.q, self.k, self.k, mask_mod=mod(7 + (1 << 32)))
        self.assertEqual(self.launches(), count)

    def test_tile_of_64_bit_ids(self):
        for dtype, expected in ((torch.int64, True), (torch.int32, False)):
            ids = torch.zeros(200, dtype=dtype)
            kernels.kernels.clear()
            fa3.attention(self.q, self.k, self.k,
                          mask_mod=lambda b, h, q, kv, ids=ids: ids[q] == ids[kv])  # fmt: skip
            (kernel,) = kernels.kernels.values()
            self.assertEqual("block-m=128" in kernel.options.pipeline, expected)

    def test_one_kernel_for_all_sizes_of_a_group(self):
        with mock.patch.object(
            compiler.get_compiler(), "compile", wraps=compiler.get_compiler().compile
        ) as compile:
            driver.set_driver(driver.Driver(fa3.build.driver.caches.Cache(None), []))
            self.addCleanup(driver.set_driver, None)
            for q, k in (
                (self.q, self.k),
                (self.q[:1, :4, :33], self.k[:1]),
                (torch.zeros(3, 5, 7, 64).half(), torch.zeros(3, 1, 9, 64).half()),
                (self.q.transpose(1, 2).contiguous().transpose(1, 2), self.k),
            ):
                fa3.attention(q, k, k, causal=True)
            q, k = (one.transpose(1, 2).contiguous() for one in (self.q, self.k))
            o = fa3.attention(q, k, k, causal=True, layout="bshd")
            self.assertEqual(o.shape, q.shape)
            self.assertEqual(compile.call_count, 3)  # groups of 4, of 2, of any number
        self.assertEqual(self.launches(), 5)

    def test_smaller_tile_where_registers_run_out(self):
        def mod(s, b, h, q, kv):
            # All of them are alive at once.
            powers = [torch.exp2(s * (n + 1)) for n in range(11)]
            for one in powers:
                s = s + one
            for one in powers:
                s = s * one
            return s

        for _ in range(2):  # compiled, then of the cache
            driver.set_driver(None)
            self.addCleanup(driver.set_driver, None)
            kernels.kernels.clear()
            launch.plans.clear()
            fa3.attention(self.q, self.k, self.k, score_mod=mod)
            (kernel,) = kernels.kernels.values()
            first, tile = kernel.options.pipeline.split(" ", 1)
            self.assertEqual(first, "variants=1")
            self.assertIn(tile, tiles._TILES)
            self.assertIn("registers ran out", str(kernel.diagnostics[-1]))
        self.assertEqual(kernel.source, "cache")
        # Who chooses a tile gets that, or an error.
        with self.assertRaisesRegex(fa3.CompileError, "registers per thread"):
            fa3.compile(kernel.text, block_m=192, block_n=128, ptxas="")

    def test_mods_of_a_compiled_function_break_its_graph(self):
        def run(q, k):
            return fa3.attention(q, k, k, mask_mod=lambda b, h, q, kv: q >= kv) + 1

        o = torch.compile(run, backend="eager")(self.q, self.k)
        self.assertEqual(o.shape, self.q.shape)
        self.assertEqual(self.launches(), 1)

    def test_order_of_output_is_that_of_q(self):
        q = self.q.transpose(1, 2).contiguous().transpose(1, 2)
        for _ in range(2):
            o = fa3.attention(q, self.k, self.k)
            self.assertEqual(o.stride(), q.stride())
        v = torch.zeros(2, 2, 200, 32).half()
        o = fa3.attention(q, self.k, v)
        self.assertEqual(o.shape, (2, 8, 100, 32))
        self.assertEqual(o.transpose(1, 2).stride(), (100 * 8 * 32, 8 * 32, 32, 1))

    def test_window_as_a_list(self):
        for _ in range(2):
            fa3.attention(self.q, self.k, self.k, window=[5, 0])
        self.assertEqual(self.launches(), 2)

    def test_outputs(self):
        out, lse = torch.empty_like(self.q), torch.empty(2, 8, 100)
        made = fa3.attention(
            self.q, self.k, self.k, return_lse=True, out=out, lse=lse
        )
        self.assertIs(made[0], out)
        self.assertIs(made[1], lse)
        o, lse = fa3.attention(self.q, self.k, self.k, return_lse=True)
        self.assertEqual((lse.shape, lse.dtype), ((2, 8, 100), torch.float32))

    def test_mods_with_tables_and_numbers(self):
        def mods(slopes, size):
            def score_mod(s, b, h, q, kv):
                return s - slopes[h] * torch.abs(q - kv)

            return score_mod, lambda b, h, q, kv: q - kv < size

        slopes = torch.rand(8)
        for size in (5, 6):
            score_mod, mask_mod = mods(slopes, size)
            fa3.attention(
                self.q, self.k, self.k, score_mod=score_mod, mask_mod=mask_mod
            )
            params = list(self.fake.fakeCudaLaunch(self.launches() - 1).contents.params)
            self.assertIn(slopes.data_ptr(), params)
            self.assertIn(size, params)
        with self.assertRaisesRegex(
            fa3.ArgumentError, "'slopes': 4 elements of dimension 0 are read at 8"
        ):
            fa3.attention(
                self.q, self.k, self.k, score_mod=mods(torch.rand(4), 5)[0]
            )

    def test_a_mod_is_not_that_of_the_next_call(self):
        mod = lambda s, b, h, q, kv: s * 2.0  # noqa: E731
        kernels = fa3.kernels.compiled.kernels
        for number in range(2):
            fa3.attention(self.q, self.k, self.k, score_mod=mod)
            self.assertEqual(len(kernels), 1 + number)
            fa3.attention(self.q, self.k, self.k)
            self.assertEqual(len(kernels), 2)
        other = lambda s, b, h, q, kv: s * 3.0  # noqa: E731
        fa3.attention(self.q, self.k, self.k, score_mod=other)
        self.assertEqual(len(kernels), 3)
        self.assertEqual(self.launches(), 5)

    def test_overhead_of_mods(self):
        slopes = torch.rand(8)
        mod = lambda s, b, h, q, kv: s - slopes[h]  # noqa: E731
        fa3.attention(self.q, self.k, self.k, score_mod=mod)
        self.assertLess(support.least_seconds(
            lambda: fa3.attention(self.q, self.k, self.k, score_mod=mod), 50, 100e-6
        ), 100e-6)  # fmt: skip

    def test_table_that_is_longer(self):
        keep = torch.ones(500, dtype=torch.bool)
        fa3.attention(self.q, self.k, self.k, mask_mod=lambda b, h, q, kv: keep[kv])
        self.assertEqual(self.launches(), 1)

    def test_documents(self):
        document = torch.zeros(300, dtype=torch.int32)
        fa3.attention(
            self.q, self.k, self.k,
            mask_mod=lambda b, h, q, kv: document[q] == document[kv],
        )  # fmt: skip
        self.assertEqual(self.launches(), 1)

    def test_what_the_compiler_refuses_has_the_line_of_the_user(self):
        def score_mod(s, b, h, q, kv):
            return s + (kv * 3000000000) % 7

        with self.assertRaisesRegex(
            fa3.TraceError, "test_attention.py:[0-9]+: .*32 bits, got 3000000000"
        ) as caught:
            fa3.attention(self.q, self.k, self.k, score_mod=score_mod)
        self.assertEqual(
            caught.exception.line, score_mod.__code__.co_firstlineno + 1
        )

    def test_bias_and_slopes(self):
        bias = torch.zeros(1, 8, 100, 200).half()
        fa3.attention(
            self.q, self.k, self.k, bias=bias, alibi_slopes=torch.ones(8)
        )
        with self.assertRaisesRegex(
            fa3.ArgumentError, "'bias': extent 3 of dimension 1, expected 8 or 1"
        ):
            fa3.attention(self.q, self.k, self.k, bias=bias[:, :3])
        with self.assertRaisesRegex(fa3.ArgumentError, "'alibi_slopes': f32 of shape"):
            fa3.attention(self.q, self.k, self.k, alibi_slopes=torch.ones(3))

    def test_bad_arguments(self):
        q, k = self.q, self.k
        for args, named, error, expected in (
            ((q, k, k), {"scale": -1.0}, ValueError, "'scale': -1.0, expected above 0"),
            ((q, k, k), {"scale": 1e6}, ValueError, "'scale': 1000000.0, .* at most 2\\^16"),
            ((q, k, k), {"scale": "x"}, TypeError, "'scale': 'x', expected a number"),
            ((q, k[:1], k), {}, ValueError, "'k': batch 1, expected 2 as q"),
            ((q, k, k[:, :1]), {}, ValueError, "'v': 1 heads, expected 2 as k"),
            ((q, k, k[:, :, :9]), {}, ValueError, "'v': 9 keys, expected 200 as k"),
            ((q[:, :3], k, k), {}, ValueError, "'k': 2 heads, expected a divisor of q's 3"),
            ((q[0], k, k), {}, ValueError, "'q': rank 3, expected 4"),
            ((q, k.float(), k), {}, TypeError, "'k': element type f32, expected f16 as q"),
            ((q.double(), k, k), {}, TypeError, "'q': element type f64, expected f16"),
            ((q[..., :60], k[..., :60], k), {}, ValueError, "'q': head dim 60"),
            ((q[..., :32], k, k), {}, ValueError, "'k': head dim 64, expected 32 as q"),
            ((q, k, k), {"layout": "sbhd"}, ValueError, "'layout': 'sbhd', expected 'bhsd'"),
            ((q, k, 3), {}, TypeError, "'v': builtins.int, expected a torch tensor"),
            ((q.mT.contiguous().mT, k, k), {}, ValueError, "'q': stride 100 of the last"),
            ((q, k, k), {"out": torch.empty(2)}, ValueError, "'out': shape \\(2,\\), expe"),
            ((q, k, k), {"out": torch.empty(q.shape)}, TypeError, "'out': element type"),
            ((q, k, k), {"lse": q}, ValueError, "'lse': is given, but return_lse"),
            ((q, k, k), {"q_descale": q}, ValueError, "'q_descale': is for float8"),
            ((q, k, k), {"out_dtype": torch.float64}, TypeError, "'out_dtype': torch.flo"),
        ):  # fmt: skip
            with self.assertRaisesRegex(error, expected):
                fa3.attention(*args, **named)
        self.assertEqual(self.launches(), 0)

    def test_float8(self):
        q = torch.zeros(2, 8, 100, 64).to(torch.float8_e4m3fn)
        k = torch.zeros(2, 2, 200, 64).to(torch.float8_e4m3fn)
        scales = torch.ones(2, 2)
        o = fa3.attention(q, k, k, q_descale=scales, k_descale=scales)
        self.assertEqual(o.dtype, torch.bfloat16)
        one = fa3.calls.call.ones(torch, q.device).data_ptr()
        for number in range(2):
            fa3.attention(q, k, k, out_dtype=torch.float16)
            # All three descales are 1, in a repeated call as well.
            params = list(self.fake.fakeCudaLaunch(1 + number).contents.params)
            self.assertEqual(params.count(one), 3)
        self.assertEqual(self.launches(), 3)
        with self.assertRaisesRegex(
            fa3.ArgumentError, "'k_descale': extent 3, expected a divisor of heads 8"
        ):
            fa3.attention(q, k, k, k_descale=torch.ones(2, 3))

    def test_autocast_again(self):
        """A call that was made before gets what it was made for, and not float32."""
        given, real = [], call.Call.__call__

        def noted(made, q, k, v, scale):
            given.append(q.dtype)
            return real(made, q, k, v, scale)

        q = torch.zeros(1, 2, 40, 64)
        with mock.patch.object(call.Call, "__call__", noted):
            with torch.autocast("cpu", torch.bfloat16):
                for _ in range(3):
                    self.assertEqual(fa3.attention(q, q, q).dtype, torch.bfloat16)
        self.assertEqual(given, 2 * [torch.bfloat16])

    def test_empty(self):
        q = self.q[:, :, :0]
        fa3.attention(q, self.k, self.k)
        o = fa3.attention(self.q, self.k[:, :, :0], self.k[:, :, :0])
        self.assertEqual(o.shape, self.q.shape)

    def test_threads(self):
        def work():
            for _ in range(50):
                fa3.attention(self.q, self.k, self.k)

        fa3.attention(self.q, self.k, self.k)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.launches(), 201)

    def test_overhead(self):
        fa3.attention(self.q, self.k, self.k, causal=True)
        self.assertLess(support.least_seconds(
            lambda: fa3.attention(self.q, self.k, self.k, causal=True), 100, 60e-6
        ), 60e-6)  # fmt: skip

    def test_overhead_of_the_operator(self):
        text = fa3.kernels.program.to_text(Arguments(True))
        given = (self.q, self.k, self.k, [], [], text, None)
        fa3.torch  # noqa: B018  registers it
        operator = torch.ops.fa3.inference.default
        with torch.no_grad():
            o, lse = operator(*given)
            self.assertEqual((o.shape, lse.shape), (self.q.shape, (0,)))
            best = support.least_seconds(lambda: operator(*given), 100, 60e-6)
        self.assertLess(best, 60e-6)

    def test_operators_with_captured_numbers(self):
        """What was run before is found by all but the numbers, which are passed on."""
        for size in (5, 6, 5):
            fa3.torch.attention(
                self.q, self.k, self.k,
                mask_mod=lambda b, h, q, kv: q - kv < size,  # noqa: B023
            )  # fmt: skip
            params = list(self.fake.fakeCudaLaunch(self.launches() - 1).contents.params)
            self.assertIn(size, params)

    def test_cpu_is_refused(self):
        with mock.patch.object(fa3.support.tensors, "view", support.real_view):
            with self.assertRaisesRegex(
                fa3.ArgumentError, "'q': device is cpu, expected CUDA"
            ):
                fa3.attention(self.q, self.k, self.k)


if __name__ == "__main__":
    unittest.main()
