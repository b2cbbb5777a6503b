# SPDX-License-Identifier: Apache-2.0
"""transformers' masks as code: what its mask functions say is what attention computes,
and no array of (batch, 1, queries, keys) is made. In the interpreter, against torch's
math on the array."""

import importlib.util
import unittest
from unittest import mock

import support

import fa3

if support.HAS_TORCH:
    import torch

HAS = support.HAS_TORCH and importlib.util.find_spec("transformers") is not None


class Module:
    is_causal = True


def inside_operator():
    from fa3.dynamo import inside

    return inside.operator is not None


def compiled_shapes(function, *given):
    """What one graph gives, and the shapes of all that is in it."""
    from torch._dynamo.backends.common import aot_autograd

    shapes = []

    def keep(graph, inputs):
        values = [node.meta.get("val") for node in graph.graph.nodes]
        shapes.extend(tuple(one.shape) for one in values if isinstance(one, torch.Tensor))
        return graph

    compiled = torch.compile(function, backend=aot_autograd(fw_compiler=keep), fullgraph=True)
    with torch.no_grad():
        return compiled(*given), shapes


@unittest.skipUnless(HAS, "needs transformers")
@support.needs_interpreter
class MasksTest(unittest.TestCase):
    def setUp(self):
        import transformers
        from transformers import masking_utils

        from fa3.hf import masks as hf_masks

        self.transformers, self.masks, self.codes = transformers, masking_utils, hf_masks
        torch.manual_seed(0)

    def padding(self, keys, left=(0, 3)):
        made = torch.ones(2, keys, dtype=torch.bool)
        for row, count in enumerate(left):
            made[row, :count] = False
        return made

    def functions(self):
        """(queries, keys, offsets, padding, function, whether its terms are known)."""
        masks = self.masks
        window = masks.sliding_window_causal_mask_function(7)
        first = torch.tensor([0, 3])
        chunk = masks.chunked_causal_mask_function(5, first)
        ids = torch.tensor([[0] * 6 + [1] * 9 + [2] * 5, [0] * 13 + [1] * 7])
        positions = torch.cat([torch.arange(one) for one in (6, 9, 5)])
        positions = torch.stack([positions, torch.cat([torch.arange(13), torch.arange(7)])])
        packed = masks.packed_sequence_mask_function(ids)

        def together(function):
            return masks.and_masks(
                masks.remap_positions_for_packed_sequence(function, positions), packed
            )

        yield 20, 20, (0, 0), None, window
        yield 6, 20, (14, 0), self.padding(20), window
        yield 1, 7, (19, 13), self.padding(20, (0, 15)), window
        yield 20, 20, (0, 0), self.padding(20), masks.causal_mask_function
        yield 20, 20, (0, 0), self.padding(20), chunk
        yield 6, 20, (14, 0), None, chunk
        yield 20, 20, (0, 0), None, together(masks.causal_mask_function)
        yield 20, 20, (0, 0), None, together(window)
        yield 20, 20, (0, 0), self.padding(20), masks.bidirectional_mask_function
        yield 20, 20, (0, 0), self.padding(20), (
            masks.sliding_window_bidirectional_mask_function(4)
        )

    def named(self, queries, keys, offsets, padding, function):
        return {
            "batch_size": 2, "q_length": queries, "kv_length": keys, "q_offset": offsets[0],
            "kv_offset": offsets[1], "attention_mask": padding, "mask_function": function,
        }  # fmt: skip

    def array(self, **named):
        return self.masks.sdpa_mask(**named, allow_is_causal_skip=False)

    def test_values(self):
        for case in self.functions():
            named = self.named(*case)
            queries, keys = case[:2]
            array = self.array(**named)
            code = self.codes.make(lambda: self.fail("an array was asked for"), named)
            self.assertIsNotNone(code, case)
            q, k = (
                torch.randn(2, heads, count, 16).half().requires_grad_()
                for heads, count in ((4, queries), (2, keys))
            )
            made, _ = fa3.hf.attention_forward(Module(), q, k, k, code, interpret=True)
            do = torch.randn_like(made)
            with support.only_interpreted():
                grads = torch.autograd.grad(made, (q, k), do)
            wide = [one.detach().double().requires_grad_() for one in (q, k)]
            keys = wide[1].repeat_interleave(2, 1)
            scores = (wide[0] @ keys.transpose(2, 3) / 4).masked_fill(~array, -torch.inf)
            weights = scores.softmax(-1).nan_to_num()
            expected = (weights @ keys).transpose(1, 2)
            torch.testing.assert_close(made.double(), expected, atol=4e-3, rtol=4e-3)
            weights.register_hook(torch.nan_to_num)
            scores.register_hook(torch.nan_to_num)
            for one, other in zip(grads, torch.autograd.grad(expected, wide, do.double())):
                torch.testing.assert_close(one.double(), other, atol=1e-2, rtol=1e-2)

    @unittest.skipUnless(HAS and inside_operator(), "needs a newer torch")
    def test_in_graphs(self):
        """Every function in one graph without an array, a static cache too."""
        cases = [*self.functions()]
        window = self.masks.sliding_window_causal_mask_function(7)
        static = (3, 30, (torch.tensor(11), 0), self.padding(30), window)
        for case in (cases[0], *cases[2:8:2], cases[8], static):
            named = self.named(*case)
            queries, keys = case[:2]
            q, k = torch.randn(2, 4, queries, 16).half(), torch.randn(2, 2, keys, 16).half()
            expected, _ = fa3.hf.attention_forward(
                Module(), q, k, k, self.array(**named), interpret=True
            )

            def run(q, k):
                code = self.codes.make(lambda: None, named)  # noqa: B023
                return fa3.hf.attention_forward(Module(), q, k, k, code, interpret=True)[0]

            torch._dynamo.reset()
            made, shapes = compiled_shapes(run, q, k)
            torch.testing.assert_close(made, expected, atol=1e-3, rtol=1e-3)
            self.assertNotIn((queries, keys), [shape[-2:] for shape in shapes])

    @unittest.skipUnless(HAS and inside_operator(), "needs a newer torch")
    def test_compiled_model(self):
        """Two layers of windows and padding: two operators, no array of scores' extents."""
        fa3.hf.register("fa3", interpret=True)
        torch.manual_seed(0)
        model = self.transformers.MistralForCausalLM(self.transformers.MistralConfig(
            vocab_size=64, hidden_size=64, intermediate_size=96, head_dim=16,
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            sliding_window=7,
        )).half().eval()  # fmt: skip
        ids, mask = torch.randint(0, 64, (2, 21)), self.padding(21).long()
        model.set_attn_implementation("eager")
        expected = model(ids, attention_mask=mask).logits
        model.set_attn_implementation("fa3")
        torch._dynamo.reset()
        made, shapes = compiled_shapes(
            lambda ids, mask: model(ids, attention_mask=mask, use_cache=False).logits,
            ids, mask,
        )  # fmt: skip
        seen = mask.bool()
        torch.testing.assert_close(made[seen], expected[seen], atol=5e-3, rtol=5e-3)
        self.assertNotIn((21, 21), [shape[-2:] for shape in shapes])

    def test_what_stays_an_array(self):
        window = self.masks.sliding_window_causal_mask_function(7)
        masks = self.masks
        for case in (
            (20, 20, (0, 0), None, masks.causal_mask_function),  # no mask at all
            (20, 30, (0, 0), None, window),  # a static cache
            (1, 30, (torch.tensor(4), 0), None, window),
            (20, 20, (0, 0), None, lambda b, h, q, kv: q >= kv),
            (20, 20, (0, 0), None, masks.or_masks(window, window)),
            (20, 20, (0, 0), None, masks.and_masks(window, lambda b, h, q, kv: q >= kv)),
        ):  # fmt: skip
            self.assertIsNone(self.codes.make(lambda: None, self.named(*case)))
        # What is no longer of the extents of attention is an array again.
        named = self.named(20, 20, (0, 0), None, window)
        code = self.codes.make(lambda: self.array(**named), named)
        self.assertTrue(torch.equal(code[:, :, 2:4], self.array(**named)[:, :, 2:4]))
        q = torch.randn(2, 2, 20, 16).half()
        made, _ = fa3.hf.attention_forward(Module(), q, q[:, :, :9], q[:, :, :9], code,
                                           interpret=True)  # fmt: skip
        expected, _ = fa3.hf.attention_forward(
            Module(), q, q[:, :, :9], q[:, :, :9], self.array(**named), interpret=True
        )
        self.assertTrue(torch.equal(made, expected))

    def test_models(self):
        """No array is made, in training, prompts and decoding."""
        fail = mock.Mock(side_effect=AssertionError("an array of a mask is made"))
        real = self.masks.sdpa_mask
        with mock.patch.object(self.masks, "sdpa_mask", fail):
            fa3.hf.register("fa3", interpret=True)
        self.addCleanup(fa3.hf.register, "fa3", interpret=True)
        self.assertIsNot(real, fail)
        mask = torch.ones(2, 20, dtype=torch.long)
        mask[1, :5] = 0
        ids = torch.cat([torch.arange(12), torch.arange(8)])[None]
        for kind, named, given, new in (
            ("Mistral", {"sliding_window": 7}, {"attention_mask": mask}, 2),
            ("Llama", {}, {"position_ids": ids, "use_cache": False}, 0),
        ):  # fmt: skip
            results = []
            tokens = torch.randint(3, 64, (2 if new else 1, 20))
            for implementation in ("fa3", "eager"):
                torch.manual_seed(0)
                config = getattr(self.transformers, f"{kind}Config")(
                    vocab_size=64, hidden_size=64, intermediate_size=96, head_dim=16,
                    num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                    **named,
                )  # fmt: skip
                model = getattr(self.transformers, f"{kind}ForCausalLM")(config)
                model = model.half().eval()
                model.set_attn_implementation(implementation)
                with support.only_interpreted():
                    results.append([model(tokens, **given).logits])
                    if new:
                        results[-1].append(model.generate(
                            tokens, **given, max_new_tokens=new, do_sample=False,
                            pad_token_id=0,
                        ))  # fmt: skip
            (logits, *made), (expected, *other) = results
            seen = mask.bool() if new else torch.ones_like(tokens, dtype=torch.bool)
            torch.testing.assert_close(
                logits[seen].float(), expected[seen].float(), atol=5e-3, rtol=5e-3
            )
            for one, another in zip(made, other):
                self.assertEqual(one.tolist(), another.tolist())


if __name__ == "__main__":
    unittest.main()
