# SPDX-License-Identifier: Apache-2.0
"""Attention of models: heads, head dims, masks and lengths of forward passes.

Numbers are those of the models' published configurations. What the forward of
this benchmark does not have is left out: head dims above 256, decoding by parts
of the keys, sinks, chunks, padding (the same work as full attention).
"""

from __future__ import annotations

import dataclasses

from fa3_device.features import Mask

FULL, CAUSAL = Mask(), Mask(causal=True)
ALIBI = Mask(causal=True, alibi=True)
BIAS = Mask(bias=True)


def window(keys: int, **more) -> Mask:
    """The last `keys` keys of each query."""
    return Mask(causal=True, window=(keys - 1, None), **more)


@dataclasses.dataclass(frozen=True)
class Model:
    """A layer: `key_heads` heads of k and v, head dims `d` and `dv` (None: as d),
    `length` keys and as many queries, or `queries`."""

    name: str
    heads: int
    key_heads: int
    d: int
    mask: Mask
    length: int
    batch: int = 1
    dv: int | None = None
    queries: int | None = None


MODELS = (
    Model("Llama-3 8B", 32, 8, 128, CAUSAL, 8192),
    Model("Llama-3 8B, 1000 tokens", 32, 8, 128, CAUSAL, 1000, 8),
    Model("Llama-3 70B", 64, 8, 128, CAUSAL, 4096),
    Model("Llama-3 70B, one of 8 GPUs", 8, 1, 128, CAUSAL, 8192),
    Model("Llama-3.1 405B", 128, 8, 128, CAUSAL, 2048),
    Model("Llama-4 Scout", 40, 8, 128, CAUSAL, 8192),
    Model("Mistral 7B", 32, 8, 128, window(4096), 16384),
    Model("Mixtral 8x7B", 32, 8, 128, CAUSAL, 4096, 2),
    Model("Gemma 2B", 8, 1, 256, CAUSAL, 8192),
    Model("Gemma 7B", 16, 16, 256, CAUSAL, 4096),
    Model("Gemma-2 2B", 8, 4, 256, Mask(causal=True, softcap=50.0), 8192),
    Model("Gemma-2 9B, local", 16, 8, 256, window(4096, softcap=50.0), 8192),
    Model("Gemma-2 27B", 32, 16, 128, Mask(causal=True, softcap=50.0), 4096),
    Model("Gemma-3 1B, local", 4, 1, 256, window(512), 8192, 2),
    Model("Gemma-3 4B, local", 8, 4, 256, window(1024), 8192),
    Model("Gemma-3 12B", 16, 8, 256, CAUSAL, 8192),
    Model("Gemma-3 27B, local", 32, 16, 128, window(1024), 8192),
    Model("GPT-OSS, local", 64, 8, 64, window(128), 8192),
    Model("GPT-OSS", 64, 8, 64, CAUSAL, 4096),
    Model("DeepSeek-V3 prefill", 128, 128, 192, CAUSAL, 4096, dv=128),
    Model("Qwen2.5 32B", 40, 8, 128, CAUSAL, 4096, 2),
    Model("Qwen2.5 72B", 64, 8, 128, CAUSAL, 8192),
    Model("Qwen3 235B", 64, 4, 128, CAUSAL, 4096),
    Model("Phi-3 mini", 32, 32, 96, window(2047), 4096, 2),
    Model("Granite", 32, 8, 80, CAUSAL, 4096, 2),
    Model("Falcon 7B", 71, 1, 64, CAUSAL, 2048, 4),
    Model("MPT 7B", 32, 32, 128, ALIBI, 2048, 4),
    Model("BLOOM", 112, 112, 128, ALIBI, 2048),
    Model("GPT-2", 12, 12, 64, CAUSAL, 1024, 16),
    Model("GPT-NeoX 20B", 64, 64, 96, CAUSAL, 2048, 2),
    Model("BERT large", 16, 16, 64, FULL, 512, 32),
    Model("BERT large, 128 tokens", 16, 16, 64, FULL, 128, 32),
    Model("T5 11B", 128, 128, 128, BIAS, 512, 4),
    Model("ViT-L/16", 16, 16, 64, FULL, 197, 64),
    Model("ViT-H/14", 16, 16, 80, FULL, 257, 64),
    Model("ViT-H/14, one image", 16, 16, 80, FULL, 577),
    Model("SigLIP so400m", 16, 16, 72, FULL, 729, 16),
    Model("SigLIP so400m, one image", 16, 16, 72, FULL, 729),
    Model("CLIP-L text", 12, 12, 64, CAUSAL, 77, 64),
    Model("Whisper large encoder", 20, 20, 64, FULL, 1500, 8),
    Model("Whisper large decoder", 20, 20, 64, CAUSAL, 448, 8),
    Model("Whisper large cross", 20, 20, 64, FULL, 1500, 8, queries=448),
    Model("SD-XL self, 4096", 10, 10, 64, FULL, 4096, 2),
    Model("SD-XL self, 1024", 20, 20, 64, FULL, 1024, 2),
    Model("SD-XL cross", 10, 10, 64, FULL, 77, 2, queries=4096),
    Model("SD3.5 large", 38, 38, 64, FULL, 4250),
    Model("Flux.1", 24, 24, 128, FULL, 4608),
    Model("Flux.1, 1536 tokens", 24, 24, 128, FULL, 1536),
    Model("Wan-2.1 14B", 40, 40, 128, FULL, 32760),
    Model("Wan-2.1 14B cross", 40, 40, 128, FULL, 512, queries=32760),
    Model("AlphaFold pair bias", 8, 8, 32, BIAS, 1024, 4),
)  # fmt: skip
