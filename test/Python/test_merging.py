# SPDX-License-Identifier: Apache-2.0
"""fa3.merge: values in the interpreter against torch, and what it refuses."""

import math
import unittest

import support

import fa3
from fa3.calls import merging

if support.HAS_TORCH:
    import torch


class TextTest(unittest.TestCase):
    def test_text(self):
        spec = merging.MergeSpec("f32", "bf16", 4, 64, batched=True, sinks=True)
        self.assertEqual(spec.inputs, ("o_parts", "lse_parts", "sinks"))
        text = spec.to_mlir()
        self.assertIn("sinks(%sinks : tensor<4xf32>)", text)
        self.assertIn("tensor<?x?x4x?x64xf32>", text)
        packed = merging.MergeSpec("f16", "f16", 4, 64, batched=False, sinks=False)
        self.assertIn("tensor<?x4x?x64xf16>", packed.to_mlir())

    @support.needs_compiler
    def test_kernel(self):
        spec = merging.MergeSpec("f32", "bf16", 4, 64, batched=True, sinks=False)
        kernel = fa3.compile(spec.to_mlir())
        names = [argument.name for argument in kernel.parse().args]
        self.assertEqual(names, ["o_parts", "lse_parts", "o", "lse"])


@support.needs_torch
@support.needs_interpreter
class MergeTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def definition(self, outs, lses, sinks=None):
        """With (parts, .., heads, rows, d); parts without keys have NaN."""
        sums = lses.double()
        if sinks is not None:
            column = sinks.double()[:, None].expand(sums.shape[1:])[None]
            sums = torch.cat([sums, column])
        largest = sums.amax(0)
        shift = torch.where(torch.isneginf(largest), torch.zeros_like(largest), largest)
        total = torch.exp(sums - shift).sum(0)
        weights = torch.exp(lses.double() - shift)[..., None]
        o = torch.where(weights == 0, torch.zeros(()).double(), weights * outs.double())
        return o.sum(0) / total.clamp(min=1e-300)[..., None], shift + torch.log(total)

    def close(self, made, expected, tolerance):
        torch.testing.assert_close(
            made.double(), expected, atol=tolerance, rtol=tolerance, equal_nan=True
        )

    def test_values(self):
        for parts, type, out_type, sinks in (
            (3, torch.float32, None, False),
            (1, torch.float16, torch.float32, True),
            (2, torch.bfloat16, torch.float16, False),
        ):
            outs = torch.randn(parts, 2, 4, 5, 16).to(type)
            lses = torch.randn(parts, 2, 4, 5)
            lses[0, 1, 2] = -math.inf
            outs[0, 1, 2] = math.nan
            sink = torch.randn(4) if sinks else None
            o, lse = fa3.merge(outs, lses, sinks=sink, out_dtype=out_type, interpret=True)
            self.assertEqual(o.dtype, out_type or type)
            expected = self.definition(outs, lses, sink)
            self.close(o, expected[0], 1e-5 if o.dtype == torch.float32 else 2e-3)
            self.close(lse, expected[1], 1e-5)

    def test_sums_of_any_size(self):
        """An lse may be any float: parts are weighed by differences."""
        most = torch.finfo(torch.float32).max
        sums = torch.tensor([
            [-most, most, -1e31, 1e9, 3e38, 12345.67, -math.inf],
            [-most, -most, -1e31, 1e9, 3e38, 12345.0, -1e31],
            [-math.inf, 1.0, -2e31, -1e9, 0.0, 12344.0, -math.inf],
        ])  # fmt: skip
        lses = sums[:, None, None].expand(3, 1, 2, 7).contiguous()
        outs = torch.randn(3, 1, 2, 7, 8)
        for sinks in (None, torch.tensor([1e9, -most])):
            for stage in ("tile", "definition"):
                with self.subTest(stage=stage, sinks=sinks):
                    o, lse = fa3.merge(outs, lses, sinks=sinks, interpret=stage)
                    expected = self.definition(outs, lses, sinks)
                    self.close(o, expected[0], 1e-5)
                    self.close(lse, expected[1].clamp(-most, most), 1e-6)

    def test_layouts(self):
        outs, lses = torch.randn(2, 3, 7, 4, 8), torch.randn(2, 3, 4, 7)
        expected, sums = self.definition(outs.transpose(2, 3), lses)
        o, lse = fa3.merge(outs, lses, layout="bshd", interpret=True)
        self.close(o, expected.transpose(1, 2), 1e-5)
        self.close(lse, sums, 1e-5)
        out, made = torch.empty(3, 7, 4, 8), torch.empty(3, 4, 7)
        o, lse = fa3.merge(outs, lses, layout="bshd", out=out, lse=made, interpret=True)
        self.assertIs(o, out)
        self.assertIs(lse, made)
        self.close(out, expected.transpose(1, 2), 1e-5)

    def test_lists_and_rows(self):
        parts = [(torch.randn(4, 9, 8), torch.randn(4, 9)) for _ in range(3)]
        o, lse = fa3.merge([p[0] for p in parts], [p[1] for p in parts], interpret=True)
        expected = self.definition(
            torch.stack([p[0] for p in parts]), torch.stack([p[1] for p in parts])
        )
        self.close(o, expected[0], 1e-5)
        self.close(lse, expected[1], 1e-5)

    def test_errors(self):
        outs, lses = torch.randn(2, 1, 4, 5, 16), torch.randn(2, 1, 4, 5)
        for named, expected in (
            ({"outs": outs[0, 0]}, "'outs': rank 3, expected 5, or 4 without batch"),
            ({"outs": outs.double()}, "'outs': element type f64, expected float16"),
            ({"outs": outs[..., :12]}, "head dim 12, expected a multiple of 8"),
            ({"lses": lses[:1]}, "'lses': f32 of shape .1, 1, 4, 5., expected f32"),
            ({"lses": lses.half()}, "'lses': f16 of shape"),
            ({"sinks": torch.ones(3)}, "'sinks': f32 of shape .3,., expected f32 .4,."),
            ({"out": torch.empty(1, 4, 5, 8)}, "'out': f32 of shape .1, 4, 5, 8., expected"),
            ({"out_dtype": torch.int32}, "'out_dtype': torch.int32, expected float16"),
            ({"layout": "sbhd"}, "'layout'"),
            ({"outs": []}, "'outs': a list, expected"),
            ({"outs": outs.clone().requires_grad_()}, "gradients, and 'outs' requires some"),
        ):
            given = {"outs": outs.detach(), "lses": lses, "interpret": True} | named
            with self.assertRaisesRegex(fa3.Fa3Error, expected):
                fa3.merge(**given)
        with self.assertRaisesRegex(fa3.ArgumentError, "device is cpu, expected CUDA"):
            fa3.merge(outs.detach(), lses)


if __name__ == "__main__":
    unittest.main()
