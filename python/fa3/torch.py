# SPDX-License-Identifier: Apache-2.0
"""fa3 in torch: attention as operators that torch.compile, autograd and opcheck know
(fa3.autograd.operators), and the switch that puts fa3 behind
scaled_dot_product_attention (fa3.sdpa).

    fa3.torch.activate()      # F.scaled_dot_product_attention runs fa3 where it can
    fa3.torch.report()        # what ran, and why the rest did not
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Callable

import torch

from . import _list_in_torch
from .autograd import nodes
from .autograd.namespace import NAME
from .autograd.operators import ops
from .autograd.prepare import prepare, state_of, with_plain_scale
from .calls import choices
from .errors import ArgumentError
from .kernels.arguments import Arguments
from .kernels.blocks import Lists
from .mods.trace import Traced
from .support import tensors, watch

if TYPE_CHECKING:
    from .sdpa import Report, activate, deactivate, is_active, register, report

__all__ = [
    "Report", "activate", "attention", "deactivate", "is_active", "register", "report",
    "set_backward",
]  # fmt: skip

#: Those of the switch, imported at the first use: a call needs none of them.
_OF_THE_SWITCH = ("Report", "activate", "deactivate", "is_active", "register", "report")

if NAME == "fa3":  # not a second copy of the package
    _list_in_torch()


def __getattr__(name: str) -> Any:
    if name in _OF_THE_SWITCH:
        value = getattr(importlib.import_module(".sdpa", __package__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def set_backward(kind: str | None) -> None:
    """How gradients are computed: "fa3" by fa3's kernels (the default),
    "deterministic" by those that give the same bits in every run, which
    torch.use_deterministic_algorithms(True) selects, too, "torch" by
    aten::_flash_attention_backward, where it computes the same attention; None: not
    at all, a call that asks for some is an error."""
    choices.backward = choices.check_backward(kind)


nodes.run_in_c(nodes.Dense)


def set_unused_rows(kind: str) -> None:
    """What rows of o hold that are no query's, of packed and padded sequences: in front
    of and behind those of cu_seqlens_q, or behind seqused_q. "kept": what was there
    (the default), nothing writes them; "zero": 0, and -inf in lse, in caller's memory
    (out=) as well. That writes all of o once more."""
    if kind not in ("kept", "zero"):
        raise ArgumentError("kind", f"{kind!r}, expected 'kept' or 'zero'")
    choices.zeroes_unused_rows = kind == "zero"


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool = False,
    window: tuple[int | None, int | None] | None = None, softcap: float = 0.0,
    scale: float | None = None,
    score_mod: Callable[..., Any] | Traced | tuple[Any, ...] | None = None,
    mask_mod: Callable[..., Any] | None = None, bias: torch.Tensor | None = None,
    alibi_slopes: torch.Tensor | None = None, sinks: torch.Tensor | None = None,
    q_descale: torch.Tensor | None = None, k_descale: torch.Tensor | None = None,
    v_descale: torch.Tensor | None = None, out_dtype: torch.dtype | None = None,
    return_lse: bool = False, layout: str = "bhsd", interpret: bool | str = False,
    backward: str | None = None, lists: Lists | None = None, dropout_p: float = 0.0,
    rng_state: torch.Tensor | None = None, max_logits: bool = False,
    previous: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> Any:  # fmt: skip
    """fa3.attention as an operator of torch, torch.ops.fa3.forward, or inference where
    there are no gradients: for torch.compile and for gradients, of q, k, v, sinks,
    bias, slopes and the tensors of mods, and through lse. `backward` as set_backward
    has it; `lists` of blocks, as fa3.kernels.blocks reads them, for_gradients where there are
    some. With `max_logits` o, lse and the largest score of every query, which carries no
    gradient, by torch.ops.fa3.forward_max or inference_max."""
    return run(q, k, v, Arguments(
        causal, window, softcap, scale, score_mod, mask_mod, bias=bias,
        alibi_slopes=alibi_slopes, sinks=sinks, q_descale=q_descale, k_descale=k_descale,
        v_descale=v_descale, out_dtype=out_dtype, return_lse=return_lse, layout=layout,
        interpret=interpret, backward=backward, lists=lists, dropout_p=dropout_p,
        rng_state=rng_state, max_logits=max_logits, previous=previous,
    ))  # fmt: skip


def run(q: Any, k: Any, v: Any, asked: Arguments) -> Any:
    """attention() of what is asked for."""
    compiling = torch.compiler.is_compiling()
    asked = with_plain_scale(asked)
    if watch.is_derived() if compiling else watch.is_watched():
        if compiling:
            from . import dynamo

            return dynamo.run_watched(q, k, v, asked)
        from .autograd import watched

        return watched.attention(q, k, v, asked)
    if asked.dropout_p:
        asked = asked.replace(rng_state=state_of(asked.dropout_p, q, asked.rng_state))
    q, k, v = tensors.autocast(q, k, v)
    extras, numbers, program, needs_grad = prepare(q, k, v, asked)
    extras = tensors.beside(q, extras)
    if asked.max_logits:
        operator = ops.forward_max if needs_grad else ops.inference_max
        return operator(q, k, v, extras, numbers, program, asked.scale)
    if needs_grad and not compiling and nodes.takes(q, k, v, *extras):
        of_node = nodes.Asked(program, asked.scale, tuple(numbers))
        o, lse = nodes.Dense.apply(q, k, v, of_node, *extras)
    else:
        operator = ops.forward if needs_grad else ops.inference
        o, lse = operator(q, k, v, extras, numbers, program, asked.scale)
    return (o, lse) if asked.return_lse else o
