# SPDX-License-Identifier: Apache-2.0
"""fa3 in HuggingFace transformers:

    fa3.hf.register()
    AutoModel.from_pretrained(..., attn_implementation="fa3")
"""

from __future__ import annotations

from typing import Any

from . import api
from .errors import ArgumentError, UnsupportedError


def register(name: str = "fa3", interpret: bool | str = False) -> str:
    """Registers fa3 as an attention of transformers, and the masks for it, which
    are those of sdpa: none where a model is causal or full, else an array of
    booleans, which the kernel reads. Gives `name`. `interpret` as in
    fa3.attention: models on the CPU, for tests."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    def forward(module: Any, query: Any, key: Any, value: Any, attention_mask: Any,
                **named: Any) -> Any:  # fmt: skip
        return attention_forward(
            module, query, key, value, attention_mask, interpret=interpret, **named
        )

    AttentionInterface.register(name, forward)
    AttentionMaskInterface.register(name, sdpa_mask)
    return name


def attention_forward(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any,
    dropout: float = 0.0, scaling: float | None = None,
    sliding_window: int | None = None, softcap: float | None = None,
    is_causal: bool | None = None, s_aux: Any = None,
    interpret: bool | str = False, **named: Any,
) -> tuple[Any, None]:  # fmt: skip
    """An attention function of transformers: query (b, h, s, d), key and value with
    the key heads; gives (b, s, h, d). A window is in the mask, as for sdpa; s_aux are
    attention sinks."""
    if dropout:
        raise UnsupportedError(f"fa3 in transformers: dropout {dropout}")
    if is_causal is None:
        is_causal = bool(getattr(module, "is_causal", True))
    mask_mod = bias = None
    if attention_mask is not None:
        is_causal = False
        mask = attention_mask[:, :, :, : key.shape[2]]
        if mask.dim() != 4:
            raise ArgumentError("attention_mask", f"rank {mask.dim()}, expected 4")
        if str(mask.dtype) == "torch.bool":
            mask_mod = _mask_mod(mask)
        else:
            bias = mask.to(query.dtype)
    o = api.attention(
        query, key, value, causal=is_causal and query.shape[2] > 1, scale=scaling,
        softcap=softcap or 0.0, mask_mod=mask_mod, bias=bias,
        sinks=None if s_aux is None else s_aux.float(), interpret=interpret,
    )  # fmt: skip
    return o.transpose(1, 2).contiguous(), None


def _mask_mod(mask: Any) -> Any:
    batches, heads = mask.shape[:2]
    if batches == 1 and heads == 1:
        table = mask[0, 0]
        return lambda b, h, q, kv: table[q, kv]
    if heads == 1:
        table = mask[:, 0]
        return lambda b, h, q, kv: table[b, q, kv]
    if batches == 1:
        table = mask[0]
        return lambda b, h, q, kv: table[h, q, kv]
    return lambda b, h, q, kv: mask[b, h, q, kv]
