# SPDX-License-Identifier: Apache-2.0
"""Architectures of transformers with tiny random configurations."""
import dataclasses
import functools

import numpy as np
import torch
import transformers as hf

LENGTH, VOCABULARY, WINDOW = 48, 64, 16
COMMON = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96,
              num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=128)
GROUPED = dict(COMMON, num_key_value_heads=2)
TOKENS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)
FALCON = dict(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2,
              num_attention_heads=4, bos_token_id=1, eos_token_id=2,
              new_decoder_architecture=False)
VISION = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
              intermediate_size=96, image_size=32, patch_size=8)
BOTH = ("sdpa", "eager")


def ids(batch=1):
    return torch.randint(3, VOCABULARY, (batch, LENGTH))


def text(batch=1):
    return dict(input_ids=ids(batch), use_cache=False)


def padded(**more):
    mask = torch.ones(2, LENGTH, dtype=torch.int64)
    mask[1, :9] = 0
    return dict(input_ids=ids(2), attention_mask=mask, **more)


def image():
    return dict(pixel_values=torch.randn(1, 3, 32, 32).half())


@dataclasses.dataclass
class Architecture:
    model: str
    config: str
    settings: dict
    inputs: object = text
    implementations: tuple = BOTH
    #: Of scores, in every layer.
    cap: float = 0
    #: Of models that call no scaled_dot_product_attention: the mask of each layer.
    masks: object = None


def causal():
    i = np.arange(LENGTH)
    return i[None] <= i[:, None]


def window():
    i = np.arange(LENGTH)
    return causal() & (i[None] > i[:, None] - WINDOW)


def alibi():
    """Of Bloom: slopes of four heads."""
    slopes = np.array([0.25 ** (head + 1) for head in range(4)], np.float32)
    bias = slopes[:, None, None] * np.arange(LENGTH, dtype=np.float32)
    return np.where(causal(), bias, -np.inf)[None]


ARCHITECTURES = {
    "llama": Architecture("LlamaForCausalLM", "LlamaConfig", GROUPED),
    "llama_padded": Architecture("LlamaForCausalLM", "LlamaConfig", GROUPED,
                                 lambda: padded(use_cache=False)),
    "mistral": Architecture("MistralForCausalLM", "MistralConfig",
                            dict(GROUPED, sliding_window=WINDOW)),
    "qwen3": Architecture("Qwen3ForCausalLM", "Qwen3Config", dict(GROUPED, head_dim=16)),
    "gemma3": Architecture("Gemma3ForCausalLM", "Gemma3TextConfig",
                           dict(GROUPED, head_dim=16, sliding_window=WINDOW,
                                query_pre_attn_scalar=16,
                                layer_types=["sliding_attention", "full_attention"])),
    "phi3": Architecture("Phi3ForCausalLM", "Phi3Config", dict(GROUPED, pad_token_id=0)),
    "gpt2": Architecture("GPT2LMHeadModel", "GPT2Config",
                         dict(vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=4,
                              n_positions=128, bos_token_id=1, eos_token_id=2)),
    "deepseek3": Architecture(
        "DeepseekV3ForCausalLM", "DeepseekV3Config",
        dict(COMMON, num_key_value_heads=4, q_lora_rank=32, kv_lora_rank=32,
             qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16,
             first_k_dense_replace=2, moe_intermediate_size=32, n_routed_experts=4,
             n_group=1, topk_group=1, num_experts_per_tok=2)),
    "llama4": Architecture(
        "Llama4ForCausalLM", "Llama4TextConfig",
        dict(GROUPED, head_dim=16, intermediate_size_mlp=96, moe_layers=[],
             attention_chunk_size=WINDOW, attn_temperature_tuning=False,
             layer_types=["chunked_attention", "full_attention"], **TOKENS)),
    # Written out it adds the slopes twice.
    "falcon_alibi": Architecture("FalconForCausalLM", "FalconConfig",
                                 dict(FALCON, alibi=True, multi_query=False),
                                 implementations=("sdpa",)),
    "falcon_mqa": Architecture("FalconForCausalLM", "FalconConfig",
                               dict(FALCON, alibi=False, multi_query=True)),
    "t5": Architecture("T5ForConditionalGeneration", "T5Config",
                       dict(vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=96, num_heads=4,
                            num_layers=2, num_decoder_layers=2, decoder_start_token_id=0),
                       lambda: dict(text(), decoder_input_ids=ids())),
    "whisper": Architecture(
        "WhisperForConditionalGeneration", "WhisperConfig",
        dict(vocab_size=VOCABULARY, num_mel_bins=8, d_model=64, encoder_layers=2,
             decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
             encoder_ffn_dim=96, decoder_ffn_dim=96, max_source_positions=LENGTH,
             max_target_positions=64, decoder_start_token_id=1, **TOKENS),
        lambda: dict(input_features=torch.randn(1, 8, 2 * LENGTH).half(),
                     decoder_input_ids=ids(), use_cache=False)),
    "bert": Architecture("BertModel", "BertConfig", COMMON, padded),
    "vit": Architecture("ViTModel", "ViTConfig", VISION, image),
    "siglip": Architecture("SiglipVisionModel", "SiglipVisionConfig", VISION, image),
    "modernbert": Architecture("ModernBertModel", "ModernBertConfig",
                               dict(COMMON, local_attention=WINDOW, pad_token_id=0,
                                    global_attn_every_n_layers=2),
                               lambda: dict(input_ids=ids())),
    "gemma2": Architecture("Gemma2ForCausalLM", "Gemma2Config",
                           dict(GROUPED, head_dim=16, sliding_window=WINDOW,
                                query_pre_attn_scalar=16),
                           implementations=("eager",), cap=50,
                           masks=lambda: [window(), causal()]),
    "gptoss": Architecture("GptOssForCausalLM", "GptOssConfig",
                           dict(GROUPED, head_dim=16, sliding_window=WINDOW,
                                num_local_experts=2, num_experts_per_tok=1,
                                layer_types=["sliding_attention", "full_attention"]),
                           implementations=("eager",),
                           masks=lambda: [window(), causal()]),
    "bloom": Architecture("BloomForCausalLM", "BloomConfig",
                          dict(vocab_size=VOCABULARY, hidden_size=64, n_layer=2, n_head=4),
                          implementations=("eager",), masks=lambda: [alibi(), alibi()]),
    "opt": Architecture("OPTForCausalLM", "OPTConfig",
                        dict(vocab_size=VOCABULARY, hidden_size=64, ffn_dim=96,
                             num_hidden_layers=2, num_attention_heads=4,
                             max_position_embeddings=128, word_embed_proj_dim=64)),
    "gptneox": Architecture("GPTNeoXForCausalLM", "GPTNeoXConfig", COMMON),
    "olmo2": Architecture("Olmo2ForCausalLM", "Olmo2Config", GROUPED),
}


class Model(torch.nn.Module):
    """A model as a function of its tensors."""

    def __init__(self, model, names, constants):
        super().__init__()
        self.model, self.names, self.constants = model, names, constants

    def forward(self, *tensors):
        out = self.model(**dict(zip(self.names, tensors)), **self.constants)
        return out.logits if hasattr(out, "logits") else out[0]


def build(name, implementation):
    """(model, inputs), of f16."""
    own = ARCHITECTURES[name]
    torch.manual_seed(1)
    config = getattr(hf, own.config)(**own.settings)
    model = getattr(hf, own.model)._from_config(config, attn_implementation=implementation)
    model = model.half().eval()
    for module in model.modules():
        # torch-mlir finds no others.
        module._non_persistent_buffers_set.clear()
    inputs = own.inputs()
    names = [key for key, value in inputs.items() if isinstance(value, torch.Tensor)]
    constants = {key: value for key, value in inputs.items() if key not in names}
    return Model(model, names, constants), [inputs[key] for key in names]


def print_program(name, implementation, form, change=None):
    """The text of a model, of which `change` edits weights: `raw`, or lowered to `linalg`."""
    from torch_mlir import fx
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table
    model, inputs = build(name, implementation)
    with torch.no_grad():
        if change:
            change(model)
        program = torch.export.export(model, tuple(inputs), strict=False)
    table, kind = {}, "raw"
    if form == "linalg":
        kind = "linalg-on-tensors"
        table = {op: rule for op, rule in get_decomposition_table().items()
                 if "scaled_dot_product" not in str(op)}
    module = fx.export_and_import(program, output_type=kind, decomposition_table=table,
                                  func_name=name)
    return module.operation.get_asm(print_generic_op_form=True, large_elements_limit=64)


@functools.cache
def watch_masks(name):
    """The mask and the cap of each attention, and tensors that masks may be made of."""
    own = ARCHITECTURES[name]
    if own.masks:
        return [(mask, own.cap) for mask in own.masks()], []
    model, inputs = build(name, "sdpa")
    found, tables = [], [x.numpy() for x in inputs]
    call = torch.nn.functional.scaled_dot_product_attention

    def watch(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, **named):
        mask = attn_mask
        if is_causal:
            mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        if mask is not None:
            mask = mask.numpy() if mask.dtype == torch.bool else mask.float().numpy()
        found.append((mask, 0))
        return call(q, k, v, attn_mask=attn_mask, is_causal=is_causal, **named)

    torch.nn.functional.scaled_dot_product_attention = watch
    try:
        with torch.no_grad():
            model(*inputs)
    finally:
        torch.nn.functional.scaled_dot_product_attention = call
    return found, tables
