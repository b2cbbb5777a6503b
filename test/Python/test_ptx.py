# SPDX-License-Identifier: Apache-2.0
"""interpret="ptx": every door by the PTX of its kernels, on the CPU, beside the
interpreter."""

import time
import unittest

import support

import fa3
from fa3.build import compiler
from fa3.support import tensors

if support.HAS_TORCH:
    import torch
    from fa3 import serving


@support.needs_torch
@support.needs_interpreter
class TextTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)

    def check(self, call):
        """The same results as of tiles, but for approximations of instructions."""
        made, wanted = call("ptx"), call(True)
        self.assertEqual(len(made), len(wanted))
        for one, other in zip(made, wanted):
            self.assertTrue(torch.isfinite(other).any())
            torch.testing.assert_close(one, other, atol=4e-3, rtol=4e-3)

    def randn(self, *shape):
        return torch.randn(shape).half()

    def test_attention_and_gradients(self):
        q, k, v = self.randn(1, 4, 70, 64), self.randn(1, 2, 130, 64), self.randn(1, 2, 130, 64)
        weights = self.randn(1, 4, 70, 64)

        def call(stage):
            leaves = [one.clone().requires_grad_() for one in (q, k, v)]
            o, lse = fa3.attention(*leaves, causal=True, return_lse=True, interpret=stage)
            (o * weights).sum().backward()
            return o.detach(), lse.detach(), *(one.grad for one in leaves)

        self.check(call)

    def test_mods(self):
        q, k, v = (self.randn(2, 2, 90, 32) for _ in range(3))
        ids = torch.arange(90) // 20

        def call(stage):
            return [fa3.attention(q, k, v, mask_mod=lambda b, h, i, j: ids[i] == ids[j],
                                  softcap=5.0, layout="bhsd", interpret=stage)]  # fmt: skip

        self.check(call)

    def test_strides_and_results_that_are_given(self):
        q, k, v = (self.randn(1, 60, 3, 64)[:, 5:65] for _ in range(3))
        large = torch.full((1, 55, 5, 64), 7.0).half()

        def call(stage):
            out = large.clone()[:, :, 1:4]
            fa3.attention(q, k, v, layout="bshd", out=out, interpret=stage)
            self.assertTrue(bool((out._base[:, :, [0, 4]] == 7).all()))
            return [out]

        self.check(call)

    def test_packed_sequences(self):
        cu = torch.tensor([0, 30, 30, 101], dtype=torch.int32)
        q, k, v = (self.randn(101, 2, 64) for _ in range(3))
        self.check(lambda stage: serving.attention(
            q, k, v, cu_q=cu, cu_k=cu, max_q=71, max_k=71, causal=True, return_lse=True,
            interpret=stage))  # fmt: skip

    def test_pages_in_parts(self):
        pages = torch.tensor([[2, 0, 5], [4, 1, 3]], dtype=torch.int32)
        used = torch.tensor([40, 17], dtype=torch.int32)
        q, k, v = self.randn(2, 1, 4, 64), self.randn(6, 16, 2, 64), self.randn(6, 16, 2, 64)
        for parts in (1, 3):
            self.check(lambda stage: serving.attention(
                q, k, v, page_table=pages, used_k=used, splits=parts, return_lse=True,
                interpret=stage))  # fmt: skip

    def test_merge(self):
        outs = [self.randn(1, 2, 9, 64) for _ in range(3)]
        lses = [torch.randn(1, 2, 9) for _ in range(3)]
        self.check(lambda stage: fa3.merge(outs, lses, interpret=stage))

    def test_tile_of_128(self):
        """The speed that docs/Interpreter.md promises, with room for other work."""
        q, k, v = (self.randn(1, 1, 128, 128) for _ in range(3))
        fa3.attention(q, k, v, interpret="ptx")
        begin = time.process_time()
        fa3.attention(q, k, v, interpret="ptx")
        self.assertLess(time.process_time() - begin, 6)

    def test_refused(self):
        q, k, v = (self.randn(1, 1, 8, 16) for _ in range(3))
        for stage in ("nvvm", "PTX", 3):
            with self.assertRaisesRegex(fa3.ArgumentError, "interpret.*expected True or one of"):
                fa3.attention(q, k, v, interpret=stage)
            with self.assertRaisesRegex(fa3.ArgumentError, "interpret.*expected True or one of"):
                fa3.merge([q, q], [torch.zeros(1, 1, 8)] * 2, interpret=stage)

    def test_arguments_are_checked(self):
        text = (support.ROOT / "test/Mutations/Inputs/full_64.mlir").read_text()
        views = [tensors.view("q", self.randn(1, 1, 8, 64)).array() for _ in range(4)]
        with self.assertRaisesRegex(fa3.CompileError, "expects 5 arguments, got 4"):
            compiler.get_compiler().interpret(text, views, compiler.CompileOptions(), "ptx")


if __name__ == "__main__":
    unittest.main()
