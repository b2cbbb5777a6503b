# SPDX-License-Identifier: Apache-2.0
"""fa3 as one of transformers' FlashAttentions, "flash_fa3": what transformers does for
these, masks as lengths and windows as numbers, padding taken out, packing by cu_seq_lens
or position ids, continuous batching, is done for fa3. Names of FlashAttentions have
"flash" in them; transformers asks for nothing else."""

from __future__ import annotations

import functools
from typing import Any

import torch

from .. import api, serving
from .. import flash_attn_interface as functions
from ..errors import ArgumentError, UnsupportedError
from ..serving import packed
from ..support import values, watch

#: The functions behind the names that are registered.
_names: dict[str, tuple[Any, ...]] = {}


def is_possible() -> bool:
    """Whether transformers has what a name is registered with."""
    from transformers import modeling_flash_attention_utils as utils

    return hasattr(utils, "_lazy_imports") and hasattr(utils, "_loaded_implementation")


def register(name: str, interpret: bool | str, with_masks: Any) -> None:
    """`with_masks` is fa3.hf.attention_forward."""
    from transformers import AttentionInterface, modeling_flash_attention_utils
    from transformers.integrations.flash_attention import flash_attention_forward
    from transformers.masking_utils import AttentionMaskInterface, flash_attention_mask

    if "flash" not in name:
        raise ArgumentError("name", f"{name!r}, expected 'flash' in it, as transformers does")
    _patch(modeling_flash_attention_utils)
    made = _Functions(interpret)
    _names[name] = (
        made.flash_attn_func, made.flash_attn_varlen_func, made.flash_attn_with_kvcache
    )
    if modeling_flash_attention_utils._loaded_implementation == name:
        modeling_flash_attention_utils._loaded_implementation = None
    AttentionInterface.register(name, _forward_of(
        flash_attention_forward, functools.partial(with_masks, interpret=interpret)
    ))  # fmt: skip
    AttentionMaskInterface.register(name, flash_attention_mask)


def _forward_of(flash: Any, with_masks: Any) -> Any:
    """transformers' function of FlashAttentions. Where a decoder looks at an encoder's
    keys, it takes the mask of these for that of the queries, so that padded calls of such
    models have a mask instead; and it leaves out a bias without a word."""

    def forward(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **named: Any
    ) -> Any:
        if named.get("position_bias") is not None:
            raise UnsupportedError("flash_fa3 in transformers: 'position_bias'; expected 'fa3'")
        is_causal = named.get("is_causal")
        is_causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        both = getattr(getattr(module, "config", None), "is_encoder_decoder", False)
        if both and not is_causal and attention_mask is not None and attention_mask.dim() == 2:
            keys = attention_mask[:, None, None, : key.shape[2]].to(torch.bool)
            return with_masks(module, query, key, value, keys, **named)
        return flash(module, query, key, value, attention_mask, **named)

    return forward


def _patch(utils: Any) -> None:
    """transformers looks for functions of a name in packages and on the Hub, by a function
    that has no list of others: this is put in front of it."""
    if not is_possible():
        raise UnsupportedError(
            "flash_fa3: transformers without modeling_flash_attention_utils._lazy_imports, "
            "expected 5.24"
        )
    real = utils._lazy_imports
    if getattr(real, "is_of_fa3", False):
        return

    def lazy_imports(implementation: Any, *args: Any, **named: Any) -> Any:
        found = _names.get(implementation)
        if found is None:
            return real(implementation, *args, **named)
        return (*found, utils._pad_input, utils._unpad_input)

    lazy_imports.is_of_fa3 = True  # type: ignore[attr-defined]
    utils._lazy_imports = lazy_imports
    _allow_in_lists()


#: What models with sinks list; another that has all that it has may stand for it.
_WITH_SINKS = "kernels-community/vllm-flash-attn3"


def _allow_in_lists() -> None:
    """Models that list the FlashAttentions that they can have, for their sinks, can have
    this one: transformers takes the first of the list for a name that is not in it. Those
    that can have none are refused, what transformers does for names that it knows: their
    modules pass biases, or do not say whether they are causal."""
    from transformers import PreTrainedModel

    real = getattr(PreTrainedModel, "_check_and_adjust_attn_implementation", None)
    if real is None:
        return

    def check(model: Any, attn_implementation: Any, *args: Any, **named: Any) -> Any:
        if attn_implementation in _names and not getattr(model, "_supports_flash_attn", False):
            raise ArgumentError(
                "attn_implementation", f"{attn_implementation!r}, and {type(model).__name__} "
                "takes no FlashAttention (_supports_flash_attn); expected 'fa3'",
            )  # fmt: skip
        listed = getattr(model, "_compatible_flash_implementations", None) or ()
        if attn_implementation in _names and _WITH_SINKS in listed:
            if attn_implementation not in listed:
                model._compatible_flash_implementations = [*listed, attn_implementation]
        return real(model, attn_implementation, *args, **named)

    PreTrainedModel._check_and_adjust_attn_implementation = check  # type: ignore[method-assign]


class _Functions:
    """Functions with the arguments that transformers passes where a signature has them;
    what it would leave out without a word is in them, to be refused."""

    def __init__(self, interpret: bool | str) -> None:
        self.interpret = interpret

    def flash_attn_func(
        self, q: Any, k: Any, v: Any, dropout_p: float = 0.0, softmax_scale: Any = None,
        causal: bool = False, window_size: Any = (-1, -1), softcap: float = 0.0,
        deterministic: bool = False, s_aux: Any = None,
    ) -> Any:  # fmt: skip
        sinks = _checked(q, dropout_p, s_aux)

        def run(q: Any, k: Any, v: Any, named: dict[str, Any], grads: bool) -> Any:
            named |= {"layout": "bshd", "sinks": sinks, "interpret": self.interpret}
            del named["chunk"]
            if deterministic and grads:
                from .. import torch as door

                return door.attention(q, k, v, backward="deterministic", **named)
            return api.attention(q, k, v, **named)

        named = functions._named(q, softmax_scale, causal, window_size, softcap, 0)
        return functions._with_head_dims(q, k, v, named | {"return_lse": False}, run)

    def flash_attn_varlen_func(
        self, q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any,
        max_seqlen_q: Any, max_seqlen_k: Any, dropout_p: float = 0.0,
        softmax_scale: Any = None, causal: bool = False, window_size: Any = (-1, -1),
        softcap: float = 0.0, deterministic: bool = False, s_aux: Any = None,
    ) -> Any:  # fmt: skip
        sinks = _checked(q, dropout_p, s_aux)
        cu_q, cu_k = (one.to(torch.int32) for one in (cu_seqlens_q, cu_seqlens_k))
        max_q = values.whole("max_seqlen_q", max_seqlen_q)
        max_k = values.whole("max_seqlen_k", max_seqlen_k)
        derived = sinks is not None and (
            watch.transforms() or torch.is_grad_enabled()
            and any([one.requires_grad for one in (q, k, v, s_aux)])
        )  # fmt: skip
        if derived:
            raise UnsupportedError("flash_fa3: gradients of packed sequences with s_aux")

        def run(q: Any, k: Any, v: Any, named: dict[str, Any], grads: bool) -> Any:
            named |= {"interpret": self.interpret}
            if grads:
                return packed.attention(
                    q, k, v, cu_q=cu_q, cu_k=cu_k, max_q=max_q, max_k=max_k,
                    deterministic=deterministic, **named,
                )  # fmt: skip
            return serving.attention(
                q, k, v, cu_q=cu_q, cu_k=cu_k, max_q=max_q, max_k=max_k, sinks=sinks,
                **named,
            )  # fmt: skip

        named = functions._named(q, softmax_scale, causal, window_size, softcap, 0)
        return functions._with_head_dims(q, k, v, named | {"return_lse": False}, run)

    def flash_attn_with_kvcache(
        self, q: Any, k_cache: Any, v_cache: Any, k: Any = None, v: Any = None,
        dropout_p: float = 0.0, softmax_scale: Any = None, causal: bool = False,
        window_size: Any = (-1, -1), softcap: float = 0.0, s_aux: Any = None,
        page_table: Any = None, cache_seqlens: Any = None,
    ) -> Any:  # fmt: skip
        sinks = _checked(q, dropout_p, s_aux)
        given = [one for one in (q, k_cache, v_cache, k, v, s_aux) if one is not None]
        if torch.is_grad_enabled() and any([one.requires_grad for one in given]):
            raise UnsupportedError("flash_attn_with_kvcache: gradients")
        # Sequences that fill up a batch have no row (-1) and no pages.
        return serving.attention(
            q, k_cache, v_cache, used_k=cache_seqlens, page_table=page_table, sinks=sinks,
            k_new=k, v_new=v, return_lse=False, interpret=self.interpret,
            **functions._named(q, softmax_scale, causal, window_size, softcap, 0),
        )  # fmt: skip


def _checked(q: Any, dropout: float, s_aux: Any) -> Any:
    """Sinks of a call."""
    if dropout:
        raise UnsupportedError(f"fa3 in transformers: dropout {dropout}")
    if s_aux is None:
        return None
    sinks = s_aux.reshape(-1).float()
    if sinks.shape[0] != q.shape[-2]:
        raise ArgumentError("s_aux", f"shape {tuple(s_aux.shape)}, expected ({q.shape[-2]},)")
    return sinks
