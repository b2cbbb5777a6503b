# SPDX-License-Identifier: Apache-2.0
"""fa3 as one of transformers' FlashAttentions: tiny models of random weights, in the
interpreter, against eager attention; padding, packing, windows, sinks, continuous
batching."""

import importlib.util
import inspect
import unittest
from unittest import mock

import support
from sequences import i32, one_sequence, starts

import fa3

if support.HAS_TORCH:
    import torch

HAS = support.HAS_TORCH and importlib.util.find_spec("transformers") is not None

if HAS:
    import fa3.hf.flash


@unittest.skipUnless(HAS, "needs transformers")
@support.needs_interpreter
class ModelTest(unittest.TestCase):
    def setUp(self):
        import transformers

        fa3.hf.register(interpret=True)
        self.transformers = transformers
        torch.manual_seed(0)

    def model(self, implementation="flash_fa3", kind="Llama", **named):
        torch.manual_seed(0)
        config = getattr(self.transformers, f"{kind}Config")(
            vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, head_dim=16,
            max_position_embeddings=256, **named,
        )  # fmt: skip
        model = getattr(self.transformers, f"{kind}ForCausalLM")(config).half().eval()
        model.set_attn_implementation(implementation)
        return model

    def tokens(self, *shape):
        return torch.randint(3, 64, shape)

    def close(self, made, expected, tolerance=5e-3):
        torch.testing.assert_close(
            made.float(), expected.float(), atol=tolerance, rtol=tolerance
        )

    def test_padding_and_windows(self):
        tokens = self.tokens(2, 20)
        for kind, named in (("Llama", {}), ("Mistral", {"sliding_window": 7})):
            for left in (True, False):
                mask = torch.ones(2, 20, dtype=torch.long)
                mask[0, slice(0, 6) if left else slice(14, 20)] = 0
                with torch.no_grad():
                    made, expected = (
                        self.model(one, kind, **named)(tokens, attention_mask=mask).logits
                        for one in ("flash_fa3", "eager")
                    )
                self.close(made[mask.bool()], expected[mask.bool()])

    def test_encoder_and_decoder(self):
        """Queries of a decoder have not the padding of the encoder's keys."""
        tokens, mask = self.tokens(2, 11), torch.ones(2, 11, dtype=torch.long)
        mask[1, 7:] = 0
        torch.manual_seed(0)
        config = self.transformers.BartConfig(
            vocab_size=64, d_model=64, encoder_layers=1, decoder_layers=1,
            encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
            decoder_ffn_dim=64, max_position_embeddings=64, init_std=0.2,
        )  # fmt: skip
        model = self.transformers.BartForConditionalGeneration(config).half().eval()
        for queries in (5, 11):
            made = []
            for one in ("eager", "flash_fa3"):
                model.set_attn_implementation(one)
                with torch.no_grad():
                    made.append(model(
                        tokens, attention_mask=mask, decoder_input_ids=tokens[:, :queries]
                    ).logits)  # fmt: skip
            self.close(made[1], made[0], 2e-2)

    def test_models_without_flash_attention(self):
        """A bias would be left out, and bigbird's modules do not say what is causal."""
        for kind, named in (("T5", {"d_model": 64, "num_heads": 4, "d_kv": 16}),
                            ("BigBirdPegasus", {"d_model": 64})):  # fmt: skip
            config = getattr(self.transformers, f"{kind}Config")(vocab_size=64, **named)
            config.num_layers = config.encoder_layers = config.decoder_layers = 1
            model = getattr(self.transformers, f"{kind}ForConditionalGeneration")(config)
            with self.assertRaisesRegex(fa3.ArgumentError, "takes no FlashAttention"):
                model.set_attn_implementation("flash_fa3")

    def test_packing(self):
        """By position ids, and by lengths: no sequence sees another. With gradients."""
        lengths = (9, 3, 13)
        tokens = self.tokens(1, sum(lengths))
        ids = torch.cat([torch.arange(one) for one in lengths])[None]
        cu = starts(lengths)
        expected = self.model("eager")
        parts = [expected(one).logits for one in tokens.split(lengths, 1)]
        torch.cat(parts, 1).float().square().sum().backward()
        for named in (
            {"position_ids": ids},
            {"position_ids": ids, "cu_seq_lens_q": cu, "cu_seq_lens_k": cu,
             "max_length_q": 13, "max_length_k": 13},
        ):  # fmt: skip
            made = self.model()
            logits = made(tokens, **named).logits
            self.close(logits, torch.cat(parts, 1))
            logits.float().square().sum().backward()
            for (name, one), other in zip(made.named_parameters(), expected.parameters()):
                size = float(other.grad.float().abs().max())
                self.assertGreater(size, 0, name)
                self.close(one.grad.float() / size, other.grad.float() / size, 2e-2)

    def test_generate(self):
        tokens = self.tokens(2, 12)
        mask = torch.ones_like(tokens)
        mask[1, :5] = 0
        made, expected = (
            self.model(one).generate(
                tokens, attention_mask=mask, max_new_tokens=5, do_sample=False,
                pad_token_id=0, eos_token_id=None,
            )
            for one in ("flash_fa3", "eager")
        )  # fmt: skip
        self.assertEqual(made.tolist(), expected.tolist())

    def test_models_with_lists(self):
        """GPT-OSS lists what has sinks: fa3 has them; transformers takes another otherwise."""
        config = self.transformers.GptOssConfig(
            hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, head_dim=16, vocab_size=97, num_local_experts=2,
            num_experts_per_tok=1, sliding_window=8,
            layer_types=["sliding_attention", "full_attention"],
        )  # fmt: skip
        fa3.hf.register(interpret=True)
        torch.manual_seed(0)
        models = [
            self.transformers.AutoModelForCausalLM.from_config(
                config, attn_implementation=name
            ).half().eval()
            for name in ("eager", "flash_fa3")
        ]  # fmt: skip
        self.assertEqual(models[1].config._attn_implementation, "flash_fa3")
        models[1].load_state_dict(models[0].state_dict())
        ids = self.tokens(2, 21)
        with torch.no_grad():
            expected, made = (model(ids).logits for model in models)
        torch.testing.assert_close(made, expected, atol=1e-2, rtol=1e-2)

    def test_dropout_is_refused(self):
        model = self.model(attention_dropout=0.1).train()
        with self.assertRaisesRegex(NotImplementedError, "dropout 0.1"):
            model(self.tokens(1, 8))

    def test_continuous_batching(self):
        """Prompts together, then decoding, by lengths and by pages."""
        from transformers.generation import continuous_batching
        from transformers.generation.configuration_utils import ContinuousBatchingConfig
        from transformers.generation.continuous_batching import initialization

        self.assertTrue(hasattr(continuous_batching, "ContinuousBatchingManager"))
        prompts = [self.tokens(count).tolist() for count in (5, 17, 9)]
        calls = []
        real = fa3.hf.flash._Functions.flash_attn_with_kvcache

        def with_kvcache(functions, *args, **named):
            calls.append(named["page_table"].shape)
            return real(functions, *args, **named)

        with_kvcache.__signature__ = inspect.signature(real)
        tokens = {}
        # The path by pages is for CUDA; the function takes host memory here.
        with mock.patch.object(
            initialization, "ensure_decode_fast_path_is_available", lambda *_: None
        ), mock.patch.object(
            fa3.hf.flash._Functions, "flash_attn_with_kvcache", with_kvcache
        ):
            for name, blocks in (("sdpa", 0), ("flash_fa3", 0), ("flash_fa3", 4)):
                fa3.hf.register(interpret=True)
                made = self.model(name).generate_batch(
                    inputs=prompts, progress_bar=False, warmup=False,
                    generation_config=self.transformers.GenerationConfig(
                        max_new_tokens=6, do_sample=False, eos_token_id=-1, pad_token_id=0
                    ),
                    continuous_batching_config=ContinuousBatchingConfig(
                        page_size=16, num_blocks=16, max_batch_tokens=64,
                        max_blocks_per_request=blocks,
                    ),
                )  # fmt: skip
                tokens[name, blocks] = [
                    one.generated_tokens for _, one in sorted(made.items())
                ]
                self.assertEqual(bool(calls), blocks > 0)
        expected = tokens["sdpa", 0]
        self.assertEqual([len(one) for one in expected], [6, 6, 6])
        self.assertEqual(tokens["flash_fa3", 0], expected)
        self.assertEqual(tokens["flash_fa3", 4], expected)


@unittest.skipUnless(HAS, "needs transformers")
@support.needs_interpreter
class FunctionsTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.functions = fa3.hf.flash._Functions(True)

    def random(self, *shape):
        return torch.randn(*shape, dtype=torch.float16)

    def close(self, made, expected, tolerance=4e-3):
        torch.testing.assert_close(
            made.float(), expected.float(), atol=tolerance, rtol=tolerance
        )

    def test_sinks(self):
        q, k, sinks = self.random(20, 4, 16), self.random(20, 2, 16), self.random(4)
        o, _ = one_sequence(q, k, k, causal=True, window=(6, 6), sinks=sinks.float())
        named = {"causal": True, "window_size": (6, 6), "s_aux": sinks}
        self.close(self.functions.flash_attn_func(q[None], k[None], k[None], **named)[0], o)
        cu = i32(0, 20)
        made = self.functions.flash_attn_varlen_func(q, k, k, cu.long(), cu, 20, 20, **named)
        self.close(made, o)
        with self.assertRaisesRegex(NotImplementedError, "gradients of packed .* s_aux"):
            self.functions.flash_attn_varlen_func(
                q.requires_grad_(), k, k, cu, cu, 20, 20, **named
            )
        with self.assertRaisesRegex(ValueError, "'s_aux': shape"):
            self.functions.flash_attn_func(q[None], k[None], k[None], s_aux=sinks[:3])
        with self.assertRaisesRegex(NotImplementedError, "dropout 0.5"):
            self.functions.flash_attn_func(q[None], k[None], k[None], dropout_p=0.5)

    def test_sequences_that_fill_up_a_batch(self):
        """Of CUDA graphs: lengths of -1, without pages, beside those that count."""
        q, new = self.random(3, 1, 4, 16), self.random(3, 1, 2, 16)
        cache = self.random(5, 16, 2, 16)
        table = torch.tensor([[1, 2], [-1, -1], [3, -1]], dtype=torch.int32)
        kept = cache.clone()
        made = self.functions.flash_attn_with_kvcache(
            q, cache, cache.clone(), new, new, causal=True, page_table=table,
            cache_seqlens=i32(17, -1, 3),
        )  # fmt: skip
        self.assertEqual(made[1].abs().max(), 0)
        changed = (cache != kept).flatten(2).any(-1).nonzero().tolist()
        self.assertEqual(changed, [[2, 1], [3, 3]])
        keys = torch.cat([kept[3, :3], new[2]])
        self.close(made[2], one_sequence(q[2], keys, keys)[0])


if __name__ == "__main__":
    unittest.main()
