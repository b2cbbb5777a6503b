# SPDX-License-Identifier: Apache-2.0
"""fa3 in HuggingFace transformers:

    fa3.hf.register()
    AutoModel.from_pretrained(..., attn_implementation="fa3")

Every argument that a model passes is used, known to change nothing here, or refused
by name. What a mask and `is_causal` mean is what they mean for transformers' sdpa:
a mask says all, and without one causal counts from the first key.
"""

from __future__ import annotations

from typing import Any

from .. import api
from ..errors import ArgumentError, ArgumentTypeError, UnsupportedError
from ..kernels.arguments import Sequences

_MADE_BEFORE = "the module has used it before the call"
_IN_MASK = "the mask and the rotary embedding were made from it"
_OF_OUTPUTS = "says what the model returns, not what attention computes"

#: Arguments that reach an attention function and change nothing in it, and why. All
#: others are refused where they have a value.
HARMLESS: dict[str, str] = {
    "position_ids": _IN_MASK,
    "cache_position": _IN_MASK,
    "token_type_ids": _IN_MASK,
    "mm_token_type_ids": _IN_MASK,
    "position_embeddings": _MADE_BEFORE,
    "use_cache": _MADE_BEFORE,
    "cache": _MADE_BEFORE,
    "past_key_value": _MADE_BEFORE,
    "past_key_values": _MADE_BEFORE,
    "seq_idx": "is for layers with a state, which have no attention",
    "num_items_in_batch": "divides the loss",
    "logits_to_keep": _OF_OUTPUTS,
    "output_hidden_states": _OF_OUTPUTS,
    "output_router_logits": _OF_OUTPUTS,
    "return_dict": _OF_OUTPUTS,
}
#: Those whose false values ask for nothing, and what the others ask for.
_IF_FALSE = {
    "output_attentions": "fa3 makes no weights; 'eager' does",
    "return_attn_weights": "fa3 makes no weights; 'eager' does",
}


def register(name: str = "fa3", interpret: bool | str = False) -> str:
    """Registers fa3 as an attention of transformers, and the masks for it, which
    are those of sdpa: none where a model is causal or full, code for windows, padding,
    packed sequences and chunks, else an array of booleans, which the kernel reads. Gives
    `name`. And "flash_" and the name, as one of transformers' FlashAttentions
    (fa3.hf.flash), where transformers, from 5.24 on, has what that takes. `interpret` as
    in fa3.attention: models on the CPU, for tests."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    def make_mask(*args: Any, **named: Any) -> Any:
        if not says_is_causal(type(named.get("config"))):
            named["allow_is_causal_skip"] = False
            if "allow_is_bidirectional_skip" in named:
                named["allow_is_bidirectional_skip"] = False
        if not args and takes_code(type(named.get("config"))):
            from . import masks as hf_masks

            always = {
                name: False for name in ("allow_is_causal_skip", "allow_is_bidirectional_skip")
            }
            made = hf_masks.make(lambda: sdpa_mask(**(named | always)), named)
            if made is not None:
                return made
        return sdpa_mask(*args, **named)

    def forward(module: Any, query: Any, key: Any, value: Any, attention_mask: Any,
                **named: Any) -> Any:  # fmt: skip
        return attention_forward(
            module, query, key, value, attention_mask, interpret=interpret, **named
        )

    AttentionInterface.register(name, forward)
    AttentionMaskInterface.register(name, make_mask)
    from . import flash as hf_flash

    if hf_flash.is_possible():
        hf_flash.register(f"flash_{name}", interpret, attention_forward)
    return name


_known: dict[tuple[type, str], bool] = {}


def says_is_causal(config: type) -> bool:
    """Whether modules of models with such a config say by `is_causal` what a mask that
    is left out would have said: that is what supporting sdpa takes."""
    return _all_say(config, "_supports_sdpa")


def takes_code(config: type) -> bool:
    """Whether models with such a config pass on masks that are no arrays, as those that
    support FlexAttention do."""
    return _all_say(config, "_supports_flex_attn")


def _all_say(config: type, attribute: str) -> bool:
    import torch

    if torch.compiler.is_compiling():
        # Dynamo has no list of classes.
        return api.dynamo_door().as_constant(_look_at, config, attribute)
    return _look_at(config, attribute)


def _look_at(config: type, attribute: str) -> bool:
    from transformers import PreTrainedModel

    if (config, attribute) in _known:
        return _known[config, attribute]
    found, left = [], [PreTrainedModel]
    while left:
        one = left.pop()
        left += one.__subclasses__()
        if getattr(one, "config_class", None) is config:
            found.append(one)
    made = bool(found) and all(getattr(one, attribute, False) for one in found)
    return _known.setdefault((config, attribute), made)


def attention_forward(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any,
    dropout: float = 0.0, scaling: Any = None, sliding_window: int | None = None,
    softcap: float | None = None, is_causal: bool | None = None, s_aux: Any = None,
    position_bias: Any = None, deterministic: bool | None = None,
    cu_seq_lens_q: Any = None, cu_seq_lens_k: Any = None, max_length_q: Any = None,
    max_length_k: Any = None, interpret: bool | str = False, **named: Any,
) -> tuple[Any, None]:  # fmt: skip
    """An attention function of transformers: query (b, h, s, d), key and value with
    the key heads; gives (b, s, h, d).

    attention_mask (b or 1, h or 1, queries or 1, keys or more): booleans, or numbers
      that are added; or its code (fa3.hf.masks). It says all: causal, window and
      sequences are in it.
    is_causal: without a mask, key j is visible to query i if j <= i, both from 0, as
      a static cache means it whose further keys are not written yet. One query sees
      all keys. The module's if None.
    sliding_window: is in the mask; without one it must not matter.
    cu_seq_lens_q, cu_seq_lens_k: without a mask, where packed sequences begin.
    position_bias: is added to scores. s_aux: attention sinks, one for each head.
    deterministic: of gradients."""
    import torch

    _refuse_unknown(named)
    if dropout and not (cu_seq_lens_q is cu_seq_lens_k is None):
        raise UnsupportedError(f"fa3 in transformers: dropout {dropout} with cu_seq_lens_q")
    query, key, value = _autocast(torch, query, key, value)
    for name, one in (("query", query), ("key", key), ("value", value)):
        if one.dim() != 4:
            raise ArgumentError(name, f"rank {one.dim()}, expected 4")
    if is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    queries, keys = query.shape[2], key.shape[2]
    is_causal = bool(is_causal) and queries > 1 and attention_mask is None
    common = {
        "scale": _number("scaling", scaling), "softcap": softcap or 0.0,
        "interpret": interpret,
    }  # fmt: skip
    sinks = None
    if s_aux is not None:
        sinks = s_aux.reshape(-1).float()
        if sinks.shape[0] != query.shape[1]:
            raise ArgumentError(
                "s_aux", f"shape {tuple(s_aux.shape)}, expected ({query.shape[1]},)"
            )
    if attention_mask is None and not (cu_seq_lens_q is cu_seq_lens_k is None):
        if position_bias is not None:
            raise UnsupportedError("position_bias with cu_seq_lens_q")
        asked = Sequences(
            cu_seq_lens_q, cu_seq_lens_k, max_length_q, max_length_k, causal=is_causal,
            sinks=sinks, **common,
        )  # fmt: skip
        o = _packed(query, key, value, asked, sliding_window, bool(deterministic))
        return o, None
    mask_mod = window = None
    if getattr(attention_mask, "make_array", None) is not None and (
        attention_mask.shape != (query.shape[0], 1, queries, keys)
    ):
        attention_mask = attention_mask.array()
    if getattr(attention_mask, "make_array", None) is not None:
        terms, mask_mod = attention_mask.terms, attention_mask.mask_mod
        is_causal, window = terms.causal, terms.window
    elif attention_mask is None:
        if sliding_window is not None and keys > sliding_window:
            raise ArgumentError(
                "sliding_window",
                f"{sliding_window} of {keys} keys without attention_mask, which has it "
                "where transformers makes one",
            )
        if is_causal and keys > queries:
            # Those behind are seen by no query.
            key, value = key[:, :, :queries], value[:, :, :queries]
            if position_bias is not None:
                position_bias = position_bias[..., :queries]
        elif is_causal and keys < queries:
            is_causal = False
            attention_mask = torch.ones(
                (1, 1, queries, keys), dtype=torch.bool, device=query.device
            ).tril()
    if attention_mask is not None and mask_mod is window is None:
        mask = _checked(torch, "attention_mask", attention_mask, query, key)
        if mask.dtype == torch.bool and torch.compiler.is_compiling():
            # A mod that is made here would break the graph.
            zero = torch.zeros((), dtype=query.dtype, device=query.device)
            mask = torch.where(mask, zero, torch.full_like(zero, -torch.inf))
        if mask.dtype == torch.bool:
            mask_mod = _mask_mod(mask)
        elif position_bias is None:
            position_bias = mask
        else:
            position_bias = position_bias + mask
    bias = None
    if position_bias is not None:
        bias = _checked(torch, "position_bias", position_bias, query, key)
    query, key, value = (
        _as_kernels_read(torch, one) for one in (query, key, value)
    )
    o = _attention(torch)(
        deterministic, query, key, value, causal=is_causal, window=window,
        mask_mod=mask_mod, bias=bias, sinks=sinks, dropout_p=dropout,
        **common,
    )
    # As modules expect it; as it lies where q's rows lie so, as they mostly do.
    return o.transpose(1, 2).contiguous(), None


def _attention(torch: Any) -> Any:
    def call(deterministic: Any, q: Any, k: Any, v: Any, **named: Any) -> Any:
        if deterministic and torch.is_grad_enabled():
            from .. import torch as door

            return door.attention(q, k, v, backward="deterministic", **named)
        return api.attention(q, k, v, **named)

    return call


def _refuse_unknown(named: dict[str, Any]) -> None:
    for name, value in named.items():
        if value is None or name in HARMLESS:
            continue
        if name in _IF_FALSE and value is False:
            continue
        what = _IF_FALSE.get(name, "no argument that fa3 knows")
        raise UnsupportedError(f"fa3 in transformers: argument '{name}': {what}")


def _autocast(torch: Any, *given: Any) -> tuple[Any, ...]:
    """As torch's scaled_dot_product_attention under autocast."""
    kind = given[0].device.type
    if not torch.is_autocast_enabled(kind):
        return given
    dtype = torch.get_autocast_dtype(kind)
    return tuple(
        one.to(dtype) if one.dtype == torch.float32 else one for one in given
    )


def _as_kernels_read(torch: Any, one: Any) -> Any:
    """A tensor whose elements lie one behind the other and whose rows are aligned;
    a copy where a model has turned it."""
    step = 16 // one.element_size()
    *rest, last = one.stride()
    good = last == 1 or one.shape[3] == 1
    from ..support import watch

    # Dynamo, transforms of torch.func and fake tensors know no addresses.
    unknown = torch.compiler.is_compiling() or watch.is_wrapped(one) or watch.is_fake(one)
    good = good and (unknown or not one.data_ptr() % 16) and all(
        extent == 1 or stride % step == 0 for extent, stride in zip(one.shape, rest)
    )
    return one if good else one.clone(memory_format=torch.contiguous_format)


def _number(name: str, value: Any) -> float | None:
    """A number, which may be a tensor; its gradient would be lost."""
    if getattr(value, "requires_grad", False):
        raise UnsupportedError(f"fa3 in transformers: gradient of '{name}'")
    return None if value is None else float(value)


def _checked(torch: Any, name: str, mask: Any, query: Any, key: Any) -> Any:
    """A mask or bias, cut to the keys that there are."""
    if not isinstance(mask, torch.Tensor):
        raise ArgumentTypeError(name, f"{type(mask).__name__}, expected a tensor")
    if mask.dim() != 4:
        raise ArgumentError(name, f"rank {mask.dim()}, expected 4")
    kinds = (torch.float16, torch.bfloat16, torch.float32)
    if mask.dtype not in kinds and (mask.dtype != torch.bool or name == "position_bias"):
        raise ArgumentTypeError(
            name, f"element type {mask.dtype}, expected booleans, float16, bfloat16 or "
            "float32",
        )  # fmt: skip
    mask = mask[..., : key.shape[2]]
    limits = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    for d, (extent, limit) in enumerate(zip(mask.shape, limits)):
        if extent not in (1, limit):
            raise ArgumentError(
                name, f"extent {extent} of dimension {d}, expected {limit} or 1"
            )
    if mask.dtype == torch.bool:
        mask = mask.expand(-1, -1, limits[2], -1)
    mask = mask.expand(-1, -1, -1, limits[3])
    return mask if limits[3] <= 1 or mask.stride(3) == 1 else mask.contiguous()


def _mask_mod(mask: Any) -> Any:
    """The code that reads an array of booleans, as `_checked` gives it."""
    same_batch, same_head, *_ = (
        extent == 1 or stride == 0 for extent, stride in zip(mask.shape, mask.stride())
    )
    if same_batch and same_head:
        table = mask[0, 0]
        return lambda b, h, q, kv: table[q, kv]
    if same_head:
        table = mask[:, 0]
        return lambda b, h, q, kv: table[b, q, kv]
    if same_batch:
        table = mask[0]
        return lambda b, h, q, kv: table[h, q, kv]
    return lambda b, h, q, kv: mask[b, h, q, kv]


def _packed(
    query: Any, key: Any, value: Any, asked: Sequences, window: int | None,
    deterministic: bool,
) -> Any:  # fmt: skip
    """Sequences that lie one behind the other in a batch of one."""
    import torch

    from .. import serving
    from ..serving import packed

    for name, one in (("cu_seq_lens_q", asked.cu_q), ("cu_seq_lens_k", asked.cu_k)):
        if one is None:
            raise ArgumentError(name, "is None, expected both or none")
    if query.shape[0] != 1:
        raise ArgumentError("cu_seq_lens_q", f"is for a batch of 1, not {query.shape[0]}")
    q, k, v = (one[0].transpose(0, 1) for one in (query, key, value))
    cu_q, cu_k = (one.to(torch.int32) for one in (asked.cu_q, asked.cu_k))
    max_q, max_k = (
        int((cu[1:] - cu[:-1]).max()) if given is None else int(given)
        for given, cu in ((asked.max_q, cu_q), (asked.max_k, cu_k))
    )
    ends = None
    if window is not None:
        ends = (window - 1, 0 if asked.causal else window - 1)
    named = asked.replace(cu_q=cu_q, cu_k=cu_k, max_q=max_q, max_k=max_k, window=ends).named
    given = [one for one in (q, k, v, asked.sinks) if one is not None]
    if torch.is_grad_enabled() and any(one.requires_grad for one in given):
        if asked.sinks is not None:
            raise UnsupportedError("gradients of s_aux with cu_seq_lens_q")
        o = packed.attention(q, k, v, deterministic=deterministic, **named)
    else:
        o = serving.attention(q, k, v, **named)
    return o.unsqueeze(0)
