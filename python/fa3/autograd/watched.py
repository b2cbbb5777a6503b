# SPDX-License-Identifier: Apache-2.0
"""fa3.attention where somebody looks on (fa3.support.watch): always an operator of torch, or
its rule for transforms of torch.func, so that it is recorded, counted and derived."""

from __future__ import annotations

from typing import Any

import torch

from .. import api
from .. import torch as door
from ..errors import ArgumentError, UnsupportedError
from ..kernels import blocks
from ..mods.trace import Traced, trace_mods
from ..support import tensors, watch
from . import flops
from .derivatives import Attention
from .namespace import ops
from .nodes import Asked


@watch.by_hand
def attention(
    q: Any, k: Any, v: Any, *, causal: Any = False, window: Any = None,
    softcap: Any = 0.0, scale: Any = None, score_mod: Any = None, mask_mod: Any = None,
    block_mask: Any = None, bias: Any = None, alibi_slopes: Any = None, sinks: Any = None,
    q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
    out_dtype: Any = None, return_lse: Any = False, layout: Any = "bhsd", out: Any = None,
    lse: Any = None, interpret: Any = False, backward: Any = None, lists: Any = None,
    dropout_p: Any = 0.0, rng_state: Any = None, generator: Any = None,
    max_logits: bool = False, previous: Any = None,
) -> Any:  # fmt: skip
    of_others = previous or (None, None)
    given = (q_descale, k_descale, v_descale, bias, alibi_slopes, sinks, *of_others)
    if max_logits and watch.transforms():
        raise UnsupportedError("return_max_logit under a transform of torch.func")
    if dropout_p:
        if watch.transforms():
            # A transform takes batches apart, by which weights are dropped.
            raise UnsupportedError("dropout_p under a transform of torch.func")
        given = (*given, door.state_of(dropout_p, q, rng_state, generator))
    watch.check_tangents("fa3.attention", q, k, v, *given)
    q, k, v = tensors.autocast(q, k, v)
    # torch.jit.trace checks a second graph, made without gradients, against the first.
    grad_mode = torch.is_grad_enabled() or watch.is_tracing()
    with watch.unseen(), torch.set_grad_enabled(grad_mode):
        if block_mask is not None:
            if mask_mod is not None:
                raise ArgumentError("mask_mod", "is given beside block_mask, which has one")
            lists, mask_mod = blocks.read(
                block_mask, *api.extents(q, k, layout), causal or window is not None
            )
        grads = grad_mode and any(watch.requires_grad(one) for one in (q, k, v, *given))
        traced = score_mod
        if not isinstance(traced, Traced):
            traced = None
            if not (score_mod is mask_mod is None):
                traced = trace_mods(score_mod, mask_mod)
        tables = traced.tensors if traced is not None and grad_mode else ()
        others = any(watch.requires_grad(one) for one in (bias, alibi_slopes, *tables))
        grads = grads or grad_mode and others
        if lists is not None and (grads or not lists.fits):
            found = blocks.for_gradients(lists, others) if grads else None
            if found is None:
                traced = trace_mods(score_mod, blocks.as_mask(lists, mask_mod))
            lists = found
        watch.check_tangents("fa3.attention", *(traced.tensors if traced else ()))
        if grads and not (out is lse is None):
            raise UnsupportedError(
                "gradients of fa3.attention: there are none with given outputs; use torch.no_grad()"
            )
        extras, numbers, program, needs_grad = door.prepare(
            q, k, v, causal, window, softcap, scale, traced, None, given, out_dtype,
            return_lse, layout, interpret, backward, lists, watch.requires_grad,
            dropout_p, max_logits,
        )  # fmt: skip
    flops.count()
    extras = tensors.beside(q, extras)
    if max_logits:
        operator = ops.forward_max if needs_grad else ops.inference_max
        made = operator(q, k, v, extras, numbers, program, scale)
    elif watch.transforms():
        asked = Asked(program, scale, tuple(numbers))
        made = Attention.apply(q, k, v, asked, *extras)
    elif needs_grad:
        made = ops.forward(q, k, v, extras, numbers, program, scale)
    else:
        made = ops.inference(q, k, v, extras, numbers, program, scale)
    for name, one, target in (("out", made[0], out), ("lse", made[1], lse)):
        if target is not None:
            if name == "lse" and not return_lse:
                raise ArgumentError("lse", "is given, but return_lse is False")
            watch.check_output(name, one, target)
            target.copy_(one)
    made = tuple(one if target is None else target for one, target in zip(made, (out, lse, None)))
    return made if return_lse or max_logits else made[0]
