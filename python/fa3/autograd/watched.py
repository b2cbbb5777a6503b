# SPDX-License-Identifier: Apache-2.0
"""fa3.attention where somebody looks on (fa3.support.watch): always an operator of torch, or
its rule for transforms of torch.func, so that it is recorded, counted and derived."""

from __future__ import annotations

from typing import Any

import torch

from ..calls.request import run_program
from ..calls.traced import read
from ..errors import ArgumentError, ArgumentTypeError, UnsupportedError
from ..kernels.arguments import Arguments
from ..support import outputs, tensors, watch
from . import flops
from .derivatives import Attention
from .operators import ops
from .nodes import Asked
from .prepare import prepare, state_of, with_plain_scale


@watch.by_hand
def attention(q: Any, k: Any, v: Any, asked: Arguments) -> Any:
    asked = with_plain_scale(asked)
    if asked.dropout_p:
        if watch.transforms():
            # A transform takes batches apart, by which weights are dropped.
            raise UnsupportedError("dropout_p under a transform of torch.func")
        state = state_of(asked.dropout_p, q, asked.rng_state, asked.generator)
        asked = asked.replace(rng_state=state, generator=None)
    if asked.max_logits and watch.transforms():
        raise UnsupportedError("return_max_logit under a transform of torch.func")
    watch.check_tangents("fa3.attention", q, k, v, *asked.extras)
    q, k, v = tensors.autocast(q, k, v)
    # torch.jit.trace checks a second graph, made without gradients, against the first.
    grad_mode = torch.is_grad_enabled() or watch.is_tracing()
    with watch.unseen(), torch.set_grad_enabled(grad_mode):
        asked, grads = read(q, k, v, asked, grad_mode, watch.requires_grad)
        traced = asked.score_mod
        watch.check_tangents("fa3.attention", *(traced.tensors if traced else ()))
        if grads and asked.has_outputs:
            raise UnsupportedError(
                "gradients of fa3.attention: there are none with given outputs; use torch.no_grad()"
            )
        extras, numbers, program, needs_grad = prepare(q, k, v, asked, watch.requires_grad)
    flops.count()
    extras = tensors.beside(q, extras)
    if asked.max_logits:
        operator = ops.forward_max if needs_grad else ops.inference_max
        made = operator(q, k, v, extras, numbers, program, asked.scale)
    elif watch.transforms():
        made = Attention.apply(q, k, v, Asked(program, asked.scale, tuple(numbers)), *extras)
    else:
        operator = ops.forward if needs_grad else ops.inference
        made = operator(q, k, v, extras, numbers, program, asked.scale)
    return _written(made, asked)


def _written(made: Any, asked: Arguments) -> Any:
    """What a caller gets, of o, lse and perhaps the largest scores."""
    for name, one, target in (("out", made[0], asked.out), ("lse", made[1], asked.lse)):
        if target is not None:
            if name == "lse" and not asked.return_lse:
                raise ArgumentError("lse", "is given, but return_lse is False")
            watch.check_output(name, one, target)
            target.copy_(one)
    given = (asked.out, asked.lse, None)
    made = tuple(one if target is None else target for one, target in zip(made, given))
    return made if asked.return_lse or asked.max_logits else made[0]


def with_previous(q: Any, k: Any, v: Any, asked: Arguments) -> Any:
    """A call with results of other keys, straight into the memory that is given where
    nobody looks on and there are no gradients."""
    if not all(map(tensors.is_torch, asked.previous)):
        raise ArgumentTypeError("previous", "no tensors of torch, and q is one")
    if not asked.has_outputs:
        return attention(q, k, v, asked)
    target = {"out": asked.out, "lse": asked.lse}
    o, lse = asked.previous
    outputs.check(target, {"q": q, "k": k, "v": v, "previous o": o, "previous lse": lse})
    if watch.is_watched() or asked.block_mask is not None or asked.dropout_p:
        return attention(q, k, v, asked)
    asked = with_plain_scale(asked)
    if asked.lse is not None and not asked.return_lse:
        raise ArgumentError("lse", "is given, but return_lse is False")
    extras, numbers, text, needs_grad = prepare(q, k, v, asked)
    if needs_grad or asked.generator is not None:
        return attention(q, k, v, asked)
    outputs.mark(asked.out, asked.lse)
    with torch.no_grad():
        return run_program(
            q, k, v, extras, numbers, text, asked.scale, asked.out, asked.lse
        )
