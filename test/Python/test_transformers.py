# SPDX-License-Identifier: Apache-2.0
"""fa3 in transformers: every argument that a model passes is right or refused by
name, and a sample of transformers_models.py, in the interpreter, whose kernels are
compiled for the GPU as well."""

import importlib.util
import unittest
from unittest import mock

import support

import fa3
from fa3 import api, hf
from fa3.calls import request

HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None

if support.HAS_TORCH:
    import torch

if support.HAS_TORCH and HAS_TRANSFORMERS:
    import transformers
    import transformers_models as models


def compiled_too(test):
    """Compiles all that the interpreter runs in a test to PTX, in the end."""
    modules, real = set(), request.Request._interpret

    def spy(self, made):
        modules.add(self.spec.to_mlir())
        return real(self, made)

    patch = mock.patch.object(request.Request, "_interpret", spy)
    patch.start()

    def finish():
        patch.stop()
        for text in sorted(modules):
            test.assertIn(".target sm_90a", fa3.compile(text, ptxas="").ptx)

    test.addCleanup(finish)


class Module:
    """As much of a module as an attention function looks at."""

    is_causal = True


@support.needs_torch
@support.needs_interpreter
class ArgumentsTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        compiled_too(self)
        self.q = self.tensor(2, 4, 9, 16)
        self.k, self.v = self.tensor(2, 2, 13, 16), self.tensor(2, 2, 13, 16)

    def tensor(self, b, h, s, d):
        return torch.randn(b, s, h, d, dtype=torch.float16).transpose(1, 2)

    def run_ours(self, mask=None, q=None, k=None, v=None, module=None, **named):
        given = (
            one if given is None else given
            for one, given in zip((self.q, self.k, self.v), (q, k, v))
        )
        o, weights = hf.attention_forward(
            module or Module(), *given, mask, interpret=True, **named
        )
        self.assertIsNone(weights)
        self.assertTrue(o.is_contiguous())
        return o

    def reference(self, visible=None, q=None, keys=None, bias=0.0, scale=0.25, cap=0.0,
                  sinks=None):  # fmt: skip
        """(b, s, h, d) by torch, where `visible` (b, h, q, k) says what is seen."""
        q = self.q if q is None else q
        k, v = (
            one[:, :, :keys].float().repeat_interleave(2, 1) for one in (self.k, self.v)
        )
        scores = torch.einsum("bhid,bhjd->bhij", q.float(), k) * scale
        if cap:
            scores = cap * torch.tanh(scores / cap)
        scores = scores + bias
        if visible is not None:
            scores = scores.masked_fill(~visible, -torch.inf)
        if sinks is not None:
            sinks = sinks.float().reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
            scores = torch.cat([scores, sinks], -1)
        weights = torch.softmax(scores, -1)[..., : v.shape[2]]
        return torch.einsum("bhij,bhjd->bihd", weights, v)

    def close(self, made, expected, tolerance=4e-3):
        torch.testing.assert_close(
            made.float(), expected, atol=tolerance, rtol=tolerance
        )

    def causal(self, queries=9, keys=13):
        return torch.ones(queries, keys, dtype=torch.bool).tril()

    def test_causal_counts_from_the_first_key(self):
        self.close(self.run_ours(), self.reference(self.causal()))
        self.close(self.run_ours(is_causal=True), self.reference(self.causal()))
        long = self.tensor(2, 4, 20, 16)
        self.close(
            self.run_ours(q=long), self.reference(self.causal(20), q=long)
        )
        same = {"k": self.k[:, :, :9], "v": self.v[:, :, :9]}
        self.close(self.run_ours(**same), self.reference(self.causal(9, 9), keys=9))

    def test_what_is_not_causal(self):
        self.close(self.run_ours(is_causal=False), self.reference())
        module = mock.Mock(is_causal=False)
        self.close(self.run_ours(module=module), self.reference())
        # A single query, as in decoding, sees all.
        one = self.q[:, :, :1]
        self.close(self.run_ours(q=one), self.reference(q=one))

    def test_masks_of_any_form(self):
        every = torch.rand(2, 4, 9, 16) > 0.3
        every[..., 0] = True
        for index in (
            (slice(None), slice(None), slice(None)),
            (slice(None), slice(1), slice(None)),
            (slice(1), slice(None), slice(None)),
            (slice(1), slice(1), slice(None)),
            (slice(None), slice(1), slice(1)),
            (slice(1), slice(1), slice(1)),
        ):
            mask = every[index]
            expected = self.reference(mask[..., :13])
            self.close(self.run_ours(mask), expected)
            wide = mask[..., :13].expand(2, -1, -1, -1)
            self.close(self.run_ours(wide), expected)
            for dtype in (torch.float16, torch.float32):
                added = torch.where(mask, 0.0, torch.finfo(dtype).min).to(dtype)
                self.close(self.run_ours(added), expected)
            turned = mask[..., :13].mT.contiguous().mT
            self.close(self.run_ours(turned), expected)
            self.close(self.run_ours(torch.where(turned, 0.0, -1e4).half()), expected)
        rows = torch.tensor([True, True])[:, None, None, None]
        self.close(self.run_ours(rows), self.reference())

    def test_masks_that_are_refused(self):
        for mask, why in (
            (torch.ones(2, 9, 13).bool(), "'attention_mask': rank 3, expected 4"),
            (torch.ones(2, 13).bool(), "'attention_mask': rank 2"),
            (torch.ones(2, 1, 9, 12).bool(), "'attention_mask': extent 12 of dimension 3"),
            (torch.ones(2, 3, 9, 13).bool(), "'attention_mask': extent 3 of dimension 1"),
            (torch.ones(2, 1, 9, 13).long(), "'attention_mask': element type torch.int64"),
            (torch.ones(2, 1, 9, 13).double(), "element type torch.float64"),
            ("causal", "'attention_mask': str, expected a tensor"),
        ):
            with self.assertRaisesRegex(fa3.ArgumentError, why):
                self.run_ours(mask)

    def test_position_bias(self):
        bias = torch.randn(1, 4, 9, 13, dtype=torch.float16)
        mask = self.causal()[None, None].expand(2, 1, 9, 13)
        expected = self.reference(mask, bias=bias.float())
        self.close(self.run_ours(position_bias=bias), expected)
        self.close(self.run_ours(mask, position_bias=bias), expected)
        added = torch.where(mask, 0.0, -torch.inf).half()
        self.close(self.run_ours(added, position_bias=bias), expected)
        self.close(
            self.run_ours(position_bias=bias, is_causal=False),
            self.reference(bias=bias.float()),
        )
        bias = bias[:, :, :1].float()
        self.close(self.run_ours(position_bias=bias, is_causal=False),
                   self.reference(bias=bias))  # fmt: skip

    def test_gradient_of_position_bias(self):
        bias = torch.randn(1, 4, 9, 13)
        grads = []
        for ours in (True, False):
            given = bias.clone().requires_grad_()
            if ours:
                o = self.run_ours(position_bias=given, is_causal=False)
            else:
                o = self.reference(bias=given)
            (o.float() * torch.linspace(0, 1, 16)).sum().backward()
            grads.append(given.grad)
        self.close(*grads)

    def test_numbers(self):
        cap = 1.5
        self.close(
            self.run_ours(softcap=cap, scaling=0.7, is_causal=False),
            self.reference(scale=0.7, cap=cap),
        )
        self.close(
            self.run_ours(scaling=torch.tensor(0.7), softcap=None, is_causal=False),
            self.reference(scale=0.7),
        )
        with self.assertRaisesRegex(fa3.UnsupportedError, "gradient of 'scaling'"):
            self.run_ours(scaling=torch.tensor(0.7, requires_grad=True))

    def test_dropout(self):
        import test_dropout

        torch.manual_seed(5)
        o = self.run_ours(dropout=0.5, scaling=0.25, is_causal=False)
        torch.manual_seed(5)
        state = torch.randint(0, 2**63 - 1, (2,), dtype=torch.int64)
        q, k, v = (one.float() for one in (self.q, self.k, self.v))
        self.assertEqual(q.shape[3], 16)
        self.close(o, test_dropout.definition(q, k, v, state, 0.5)[0].transpose(1, 2))
        starts = torch.tensor([0, self.q.shape[2]], dtype=torch.int32)
        with self.assertRaisesRegex(fa3.UnsupportedError, "dropout 0.1 with cu_seq_lens_q"):
            self.run_ours(
                dropout=0.1, q=self.q[:1], k=self.k[:1], v=self.v[:1],
                cu_seq_lens_q=starts, cu_seq_lens_k=starts,
            )  # fmt: skip

    def test_sinks(self):
        sinks = torch.randn(4, dtype=torch.float16)
        expected = self.reference(self.causal(), sinks=sinks)
        self.close(self.run_ours(s_aux=sinks), expected)
        self.close(self.run_ours(s_aux=sinks.view(1, 4, 1, 1)), expected)
        with self.assertRaisesRegex(fa3.ArgumentError, "'s_aux': shape"):
            self.run_ours(s_aux=torch.zeros(2, 4, 9, 1))

    def test_what_is_not_known_is_refused(self):
        for name, value in (
            ("head_mask", torch.ones(4)), ("layer_head_mask", torch.ones(4)),
            ("sinks", torch.zeros(2, 4, 9, 1)), ("indices", torch.zeros(2, 9, 4).int()),
            ("block_indices", torch.zeros(2, 1, 9, 4)), ("window_size", (3, 0)),
            ("alibi", torch.ones(4)), ("anything", 0), ("kernel_options", {}),
            ("block_table", torch.zeros(2, 2)), ("output_attentions", True),
            ("relative_position", False),
        ):  # fmt: skip
            with self.assertRaisesRegex(fa3.UnsupportedError, f"argument '{name}'"):
                self.run_ours(**{name: value})
            self.run_ours(**{name: None})

    def test_what_is_harmless(self):
        expected = self.run_ours()
        for name, why in hf.HARMLESS.items():
            self.assertTrue(why)
            torch.testing.assert_close(self.run_ours(**{name: object()}), expected)
        torch.testing.assert_close(self.run_ours(output_attentions=False), expected)

    def test_window(self):
        mask = self.causal() & ~self.causal().tril(-4)
        self.close(
            self.run_ours(mask[None, None], sliding_window=4), self.reference(mask)
        )
        # Longer than the keys: transformers makes no mask.
        self.close(self.run_ours(sliding_window=13), self.reference(self.causal()))
        with self.assertRaisesRegex(fa3.ArgumentError, "'sliding_window': 4 of 13 keys"):
            self.run_ours(sliding_window=4)

    def test_packed_sequences(self):
        q, k, v = (self.tensor(1, h, 13, 16) for h in (4, 2, 2))
        starts = torch.tensor([0, 4, 11, 13])
        parts = [slice(0, 4), slice(4, 11), slice(11, 13)]
        named = {"cu_seq_lens_q": starts, "cu_seq_lens_k": starts}
        for more in (
            {}, {"is_causal": False}, {"softcap": 2.0}, {"s_aux": torch.randn(4)},
            {"max_length_q": 7, "max_length_k": torch.tensor(7), "scaling": 0.4},
        ):  # fmt: skip
            made = self.run_ours(None, q, k, v, **named, **more)
            more = {a: b for a, b in more.items() if not a.startswith("max")}
            expected = torch.cat([
                self.run_ours(None, q[:, :, one], k[:, :, one], v[:, :, one], **more)
                for one in parts
            ], 1)  # fmt: skip
            self.close(made, expected.float())
        with torch.no_grad():
            made = self.run_ours(None, q, k, v, **named, sliding_window=3)
        window = self.causal(13, 13) & ~self.causal(13, 13).tril(-3)
        document = torch.bucketize(torch.arange(13), starts[1:], right=True)
        mask = window & (document[:, None] == document)
        self.close(made, self.run_ours(mask[None, None], q, k, v).float())
        # A mask says all; without one sequences are refused where they cannot be.
        self.close(
            self.run_ours(mask[None, None], q, k, v, **named), made.float()
        )
        with self.assertRaisesRegex(fa3.ArgumentError, "'cu_seq_lens_q': is for a batch"):
            self.run_ours(**named)
        with self.assertRaisesRegex(fa3.ArgumentError, "'cu_seq_lens_k': is None"):
            self.run_ours(None, q, k, v, cu_seq_lens_q=starts)

    def test_gradients_of_packed_sequences(self):
        starts = torch.tensor([0, 4, 13])
        grads = []
        for ours in (True, False):
            torch.manual_seed(1)
            q, k, v = (self.tensor(1, h, 13, 16).requires_grad_() for h in (4, 2, 2))
            if ours:
                o = self.run_ours(None, q, k, v, cu_seq_lens_q=starts,
                                  cu_seq_lens_k=starts, deterministic=True)  # fmt: skip
            else:
                o = torch.cat([
                    self.run_ours(None, q[:, :, one], k[:, :, one], v[:, :, one])
                    for one in (slice(0, 4), slice(4, 13))
                ], 1)  # fmt: skip
            (o.float() * torch.linspace(0, 1, 16)).sum().backward()
            grads.append([one.grad.float() for one in (q, k, v)])
        for made, expected in zip(*grads):
            self.close(made, expected)

    def test_deterministic_gradients(self):
        door = api.torch_door()
        q = self.q.clone().requires_grad_()
        with mock.patch.object(door, "attention", side_effect=door.attention) as spy:
            self.run_ours(q=q, deterministic=True).sum().backward()
        self.assertEqual(spy.call_args.kwargs["backward"], "deterministic")
        self.assertIsNotNone(q.grad)

    def test_output_is_not_copied(self):
        made = []
        real = api.attention

        def spy(*args, **named):
            made.append(real(*args, **named))
            return made[-1]

        with mock.patch.object(api, "attention", spy):
            o = self.run_ours()
        self.assertEqual(o.data_ptr(), made[0].data_ptr())

    def test_turned_operands(self):
        expected = self.run_ours()
        q, k = (one.mT.contiguous().mT for one in (self.q, self.k))
        torch.testing.assert_close(self.run_ours(q=q, k=k), expected)
        odd = torch.empty(2, 2, 13, 17, dtype=torch.float16)[..., 1:]
        odd.copy_(self.v)
        torch.testing.assert_close(self.run_ours(v=odd), expected)

    def test_autocast(self):
        expected = self.run_ours()
        with torch.autocast("cpu", dtype=torch.float16):
            made = self.run_ours(q=self.q.float(), k=self.k.float())
        torch.testing.assert_close(made, expected)
        with self.assertRaisesRegex(fa3.ArgumentTypeError, "'q': element type f32"):
            self.run_ours(q=self.q.float())


@support.needs_torch
@support.needs_interpreter
@unittest.skipUnless(HAS_TRANSFORMERS, "needs transformers")
class ModelsTest(unittest.TestCase):
    """A sample; transformers_models.py has all."""

    def setUp(self):
        transformers.logging.set_verbosity_error()
        fa3.hf.register("fa3", interpret=True)
        compiled_too(self)

    def test_sample(self):
        for name, kind in (
            ("llama", "none"), ("llama", "static"), ("qwen2", "quantized"),
            ("mistral", "dynamic"), ("gemma2", "static"), ("gpt_oss", "full"),
            ("opt", "beams"), ("t5", "static"), ("modernbert", "none"),
            ("bigbird_pegasus", "static"), ("gemma3", "quantized"), ("llama", "offloaded"),
            ("exaone4", "offloaded_static"), ("qwen3", "fp8"),
        ):  # fmt: skip
            with self.subTest(f"{name} {kind}"):
                models.compare(name, kind)

    def test_under_compile(self):
        """One graph, with masks and without, of the values that a model has without."""
        model = models.make(models.MODELS["llama"])
        model.set_attn_implementation("fa3")
        ids = torch.randint(3, 96, (2, 11))
        seen = torch.ones_like(ids)
        seen[1, :4] = 0
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        with torch.no_grad():
            for mask in (None, seen):
                named = {"input_ids": ids, "attention_mask": mask, "use_cache": False}
                expected, made = model(**named).logits, compiled(**named).logits
                torch.testing.assert_close(
                    made[seen.bool()], expected[seen.bool()], atol=2e-2, rtol=2e-2
                )

    def test_difference_is_seen(self):
        # What these models pass matters to the comparison.
        for name, argument in (("gemma2", "softcap"), ("gpt_oss", "s_aux")):
            def drop(*args, _argument=argument, **named):
                named.pop(_argument)
                return hf.attention_forward(*args, interpret=True, **named)

            transformers.AttentionInterface.register("dropped", drop)
            transformers.AttentionMaskInterface.register(
                "dropped", transformers.masking_utils.sdpa_mask
            )
            with self.assertRaises(AssertionError):
                models.compare(name, "dynamic", "dropped")

    def test_unknown_argument_of_a_model(self):
        model = models.make(models.MODELS["llama"])
        model.set_attn_implementation("fa3")
        ids = torch.ones(1, 4, dtype=torch.int64)
        with torch.no_grad(), self.assertRaisesRegex(
            fa3.UnsupportedError, "argument 'head_mask'"
        ):
            model(input_ids=ids, head_mask=torch.ones(4))


if __name__ == "__main__":
    unittest.main()
