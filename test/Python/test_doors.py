# SPDX-License-Identifier: Apache-2.0
"""The interfaces of others: flex_attention and FlashAttention-3's functions, with
values in the interpreter against torch."""

import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import support

import fa3
from fa3 import api, errors
from fa3.calls import merging

if support.HAS_TORCH:
    import torch
    from torch.nn.attention import flex_attention as flex

    from fa3 import flash_attn_interface as door


class Interpreted(unittest.TestCase):
    """fa3.attention on the CPU, whoever calls it."""

    def setUp(self):
        real = api.attention
        patch = mock.patch.object(
            api, "attention", lambda *args, **named: real(*args, **(named | {"interpret": True}))
        )
        patch.start()
        self.addCleanup(patch.stop)
        torch.manual_seed(0)
        self.q, self.k, self.v = (
            torch.randn(2, heads, length, 16, dtype=torch.float16)
            for heads, length in ((4, 33), (2, 50), (2, 50))
        )

    def close(self, made, expected, tolerance=2e-3):
        torch.testing.assert_close(
            made.float(), expected.float(), atol=tolerance, rtol=tolerance
        )


@support.needs_torch
@support.needs_interpreter
class FlexTest(Interpreted):
    def check(self, score_mod=None, mask_mod=None, tolerance=2e-3):
        mask = None
        if mask_mod is not None:
            mask = flex.create_block_mask(mask_mod, None, None, 33, 50, device="cpu")
        expected, lse = flex.flex_attention(
            self.q.float(), self.k.float(), self.v.float(), score_mod, mask,
            enable_gqa=True, return_lse=True,
        )  # fmt: skip
        o, made = fa3.flex_attention(
            self.q, self.k, self.v, score_mod, mask, enable_gqa=True, return_lse=True
        )
        self.close(o, expected, tolerance)
        self.close(made, lse, tolerance)

    def test_masks(self):
        document = torch.arange(50) // 7
        start = torch.randint(0, 20, (33,), dtype=torch.int32)

        def window(size):
            return lambda b, h, q, kv: (q >= kv) & (q - kv <= size)

        causal = lambda b, h, q, kv: q >= kv  # noqa: E731
        prefix = lambda b, h, q, kv: kv < 11  # noqa: E731
        for mod in (
            causal,
            window(9),
            flex.or_masks(causal, prefix),
            flex.and_masks(window(20), lambda b, h, q, kv: (q - kv) % 2 == 0),
            lambda b, h, q, kv: document[q] == document[kv],
            lambda b, h, q, kv: kv >= start[q],
            lambda b, h, q, kv: (q // 8 == kv // 8) | (kv < 4),
            lambda b, h, q, kv: (kv + h < 40) ^ (b == 1),
            lambda b, h, q, kv: torch.where(q > 10, kv < 30, kv > 20),
        ):
            with self.subTest(inspect.getsource(mod)):
                self.check(mask_mod=mod)

    def test_scores(self):
        slopes = torch.rand(4)
        bias = torch.randn(33, 50, dtype=torch.float16)

        def alibi(heads):
            def score_mod(s, b, h, q, kv):
                return s + (kv - q) * torch.exp2(-((h + 1) * 8.0 / heads))

            return score_mod

        for mod in (
            alibi(4),
            lambda s, b, h, q, kv: 20.0 * torch.tanh(s / 20.0),
            lambda s, b, h, q, kv: s - slopes[h] * torch.abs(q - kv),
            lambda s, b, h, q, kv: s + bias[q, kv],
            lambda s, b, h, q, kv: torch.where(q >= kv, s, -float("inf")),
            lambda s, b, h, q, kv: s * torch.sigmoid(s) + torch.sqrt(s * s + 1),
            lambda s, b, h, q, kv: torch.clamp(s, -1.0, 0.5) / (1 + h) - b,
        ):
            with self.subTest(inspect.getsource(mod)):
                self.check(score_mod=mod, tolerance=4e-3)

    def test_what_is_interpreted_is_compiled(self):
        error = fa3.CompileError([errors.Diagnostic("error", "no such kernel")])
        with mock.patch.object(support, "compile_for_gpu", side_effect=error):
            with self.assertRaisesRegex(fa3.CompileError, "no such kernel"):
                api.attention(self.q, self.k, self.v, softcap=12.625)

    def test_activations(self):
        from torch.nn import functional

        for mod in (
            lambda s, b, h, q, kv: functional.silu(s) + functional.leaky_relu(s, 0.2),
            lambda s, b, h, q, kv: functional.softplus(s) - functional.elu(s, 0.5),
            lambda s, b, h, q, kv: functional.logsigmoid(s) * 2,
            lambda s, b, h, q, kv: torch.lerp(s, s * s, 0.25) + torch.logaddexp(s, -s),
            lambda s, b, h, q, kv: torch.addcmul(s, s, s, value=-0.1),
            lambda s, b, h, q, kv: functional.hardtanh(s, -0.5, 0.75),
        ):
            with self.subTest(inspect.getsource(mod)):
                self.check(score_mod=mod, tolerance=4e-3)

    def test_what_only_torch_can_trace(self):
        from torch.nn import functional

        factor, table = 1.5, torch.rand(4)

        def in_place(s, b, h, q, kv):
            made = s * 1.0
            made.mul_(factor).add_(table[h])
            return made

        for mod in (
            in_place,
            lambda s, b, h, q, kv: functional.gelu(s, approximate="tanh"),
            lambda s, b, h, q, kv: functional.mish(s) + functional.hardswish(s) * factor,
            lambda s, b, h, q, kv: functional.softsign(s) * table[h],
        ):
            with self.subTest(inspect.getsource(mod)):
                self.check(score_mod=mod, tolerance=4e-3)
        factor = 0.5  # another constant, another kernel
        self.check(score_mod=in_place, tolerance=4e-3)

    def test_signature(self):
        ours = list(inspect.signature(fa3.flex_attention).parameters)
        theirs = list(inspect.signature(flex.flex_attention).parameters)
        self.assertEqual(ours, [*theirs, "interpret"])

    def test_aux(self):
        o, aux = fa3.flex_attention(
            self.q, self.q, self.q, return_aux=flex.AuxRequest(lse=True)
        )
        self.assertEqual(aux.lse.shape, (2, 4, 33))

    def test_errors(self):
        q, k = self.q, self.k
        with self.assertRaisesRegex(fa3.ArgumentError, "'key': 2 heads, query has 4"):
            fa3.flex_attention(q, k, k)
        causal = lambda b, h, q, kv: q >= kv  # noqa: E731
        mask = flex.create_block_mask(causal, None, None, 16, 16, device="cpu")
        with self.assertRaisesRegex(fa3.ArgumentError, "'block_mask': is for lengths"):
            fa3.flex_attention(q, q, q, block_mask=mask)
        with self.assertRaisesRegex(fa3.ArgumentError, "'block_mask': is a function"):
            fa3.flex_attention(q, q, q, block_mask=causal)
        with self.assertRaisesRegex(fa3.ArgumentError, "'kernel_options': BLOCKS 'all'"):
            fa3.flex_attention(q, q, q, kernel_options={"BLOCKS": "all"})


@support.needs_torch
@support.needs_interpreter
class FlexInterpretTest(unittest.TestCase):
    def test_interpret(self):
        q, k, bias = torch.randn(2, 4, 33, 16), torch.randn(2, 2, 50, 16), torch.randn(33, 50)
        mod = lambda s, b, h, i, j: s + bias[i, j]  # noqa: E731
        mask = flex.create_block_mask(
            lambda b, h, i, j: (j <= i + 17) & (i % 7 != 3), None, None, 33, 50, device="cpu"
        )
        named = {"block_mask": mask, "enable_gqa": True, "scale": 0.3}
        expected = flex.flex_attention(q, k, k, mod, **named)
        q, k = q.half(), k.half()
        for how in (True, "definition"):
            o = fa3.flex_attention(q, k, k, mod, interpret=how, **named)
            torch.testing.assert_close(o.float(), expected, atol=4e-3, rtol=4e-3)


@support.needs_torch
@support.needs_interpreter
class FlashTest(Interpreted):
    def setUp(self):
        super().setUp()
        self.q, self.k, self.v = (
            one.transpose(1, 2) for one in (self.q, self.k, self.v)
        )

    def reference(self, q, k, v, mask):
        """(b, s, h, d) and a mask (b, 1, queries, keys)."""
        k, v = (one.repeat_interleave(q.shape[2] // k.shape[2], 2) for one in (k, v))
        scores = torch.einsum("bihd,bjhd->bhij", q.float(), k.float()) / 4
        scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, -1).nan_to_num()
        o = torch.einsum("bhij,bjhd->bihd", weights, v.float())
        return o, torch.logsumexp(scores, -1)

    def masks(self, q, k):
        i = torch.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1]
        return i, torch.arange(k.shape[1])[None]

    def test_func(self):
        i, j = self.masks(self.q, self.k)
        every = torch.ones(33, 50, dtype=torch.bool)
        for named, mask in (
            ({}, every),
            ({"causal": True}, j <= i),
            ({"window_size": (5, 3)}, (j >= i - 5) & (j <= i + 3)),
            ({"window_size": (5, -1)}, j >= i - 5),
            ({"attention_chunk": 16}, i // 16 == j // 16),
            ({"attention_chunk": 16, "causal": True}, (i // 16 == j // 16) & (j <= i)),
            ({"num_splits": 3, "pack_gqa": True, "sm_margin": 4}, every),
        ):
            o, lse = door.flash_attn_func(
                self.q, self.k, self.v, return_attn_probs=True, **named
            )
            expected, sums = self.reference(self.q, self.k, self.v, mask)
            self.close(o, expected)
            self.close(lse, sums)

    def test_packed(self):
        qkv = torch.randn(2, 20, 3, 4, 16, dtype=torch.float16)
        mask = torch.ones(20, 20, dtype=torch.bool).tril()
        expected, _ = self.reference(*qkv.unbind(2), mask)
        self.close(door.flash_attn_qkvpacked_func(qkv, causal=True), expected)
        flat = torch.randn(2, 20, 8, 16, dtype=torch.float16)
        expected, _ = self.reference(*flat.split([4, 2, 2], 2), mask)
        made = door.flash_attn_qkvpacked_func(flat, causal=True, num_heads_q=4)
        self.close(made, expected)

    def test_combine(self):
        i, j = self.masks(self.q, self.k)
        parts = [
            self.reference(self.q, self.k, self.v, mask)
            for mask in ((j <= i) & (j < 8), (j <= i) & (j >= 8))
        ]
        real = merging.run
        with mock.patch.object(
            merging, "run", lambda *given, **named: real(*given, **named | {"interpret": True})
        ):
            o, lse = door.flash_attn_combine(
                torch.stack([part[0] for part in parts]).float(),
                torch.stack([part[1].transpose(1, 2) for part in parts]),
            )
        expected, sums = self.reference(self.q, self.k, self.v, j <= i)
        self.close(o, expected)
        self.close(lse, sums.transpose(1, 2))


@support.needs_torch
@support.needs_interpreter
class ExampleTest(unittest.TestCase):
    def test_runs(self):
        done = subprocess.run(
            [sys.executable, support.ROOT / "examples" / "attention.py"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("window of 30", done.stdout)

    def test_installed_package_comes_first(self):
        """A clone has no compiler until it is built; an installed wheel has."""
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder, "fa3")
            package.mkdir()
            (package / "__init__.py").write_text("raise SystemExit('the installed one')")
            for name in ("attention.py", "tour.py"):
                done = subprocess.run(
                    [sys.executable, support.ROOT / "examples" / name],
                    capture_output=True, text=True, check=False,
                    env={**os.environ, "PYTHONPATH": folder},
                )  # fmt: skip
                self.assertIn("the installed one", done.stderr)

    def test_tour(self):
        done = subprocess.run(
            [sys.executable, support.ROOT / "examples" / "tour.py"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("documents, by lists", "dslopes", "tensor core", "cycles predicted"):
            self.assertIn(text, done.stdout)


if __name__ == "__main__":
    unittest.main()
