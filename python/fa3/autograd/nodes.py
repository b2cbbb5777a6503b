# SPDX-License-Identifier: Apache-2.0
"""Nodes of autograd for calls at which nobody looks (fa3.support.watch). They go past torch's
dispatcher: a rule that torch.library calls costs more host time than all of the call.
Where somebody looks on while a backward runs, that is an operator."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from ..calls import choices, gradients
from ..calls.call import Call
from ..calls.launch import keep, plans
from ..calls.request import run_again, run_program
from ..kernels import checks
from ..kernels.program import Program, parse
from ..support import native, watch
from ..support.tensors import is_wrapped
from . import flops
from .namespace import ops
from .rules import gradients_of


@dataclasses.dataclass(frozen=True)
class Asked:
    """All of a call that is no tensor; the Call, if it was made before."""

    text: str
    scale: float | None
    numbers: tuple[float, ...] = ()
    call: Call | None = None
    #: For fa3_native: launches of the backward, at which nobody looked on, by the form of
    #: q, k, v, o, lse and gradients, and the numbers behind these, which is the scale.
    known: dict[Any, Any] | None = None
    behind: tuple[float, ...] = ()

    @property
    def program(self) -> Program:
        return parse(self.text)


class Dense(torch.autograd.Function):
    """o and lse of fa3.attention."""

    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any, asked: Asked, *extras: Any) -> Any:  # type: ignore[override]
        if asked.call is not None:
            made = asked.call(q, k, v, asked.scale)
        else:
            made = run(q, k, v, extras, asked.numbers, asked.text, asked.scale)
        # save_for_backward and set_materialize_grads
        ctx.to_save = (q, k, v, *made, *extras)
        ctx.materialize_grads = False
        ctx.asked = asked
        if asked.program.backward == "torch":
            ctx.mark_non_differentiable(made[1])
        return made

    @staticmethod
    @watch.by_hand
    def backward(ctx: Any, do: Any, dlse: Any) -> Any:  # type: ignore[override]
        q, k, v, o, lse, *extras = ctx.saved_tensors
        none = (None,) * (1 + len(extras))
        if do is None and dlse is None:
            return None, None, None, *none
        asked = ctx.asked
        saved = (q, k, v, o, lse)
        rest = (extras, asked.numbers, asked.text, asked.scale)
        looks_on = torch.is_grad_enabled() or watch.is_special(do) or watch.is_special(dlse)
        if looks_on or watch.is_watched():
            watch.check_gradients("fa3.attention", do, dlse, q, k, v, *extras)
            flops.count()
            looks_on = True

        def run(do: Any, dlse: Any) -> tuple[Any, ...]:
            if looks_on:
                *made, of_extras = ops.backward(do, dlse, *saved, *rest)
            else:
                *made, of_extras = gradients.backward(do, dlse, saved, *rest)
            return (*made, *of_extras)

        if not extras and do is not None and asked.program.backward != "torch":
            made = run(do, dlse)
            if asked.known is not None and not looks_on:
                gradients.remember(asked.known, do, dlse, q, k, v, o, lse, asked.text)
            return *made, *none
        made, of_extras = gradients_of(
            asked.program, do, dlse, saved, extras, asked.scale, run,
            ctx.needs_input_grad[4:],
        )  # fmt: skip
        return *made, None, *of_extras


def takes(*given: Any) -> bool:
    """Whether a node may have these tensors, whose memory is what it seems to be."""
    return all(
        [
            (type(one) is torch.Tensor or type(one) is torch.nn.Parameter)
            and (one.is_cuda or one.is_cpu)
            and not one.is_neg()
            for one in given
        ]
    )


def run(
    q: Any, k: Any, v: Any, extras: Any, numbers: Any, text: str, scale: float | None
) -> Any:  # fmt: skip
    """o and lse, or o and an empty tensor, of a program."""
    made = run_again(q, k, v, extras, numbers, text, scale)
    if made is None:
        with torch.no_grad():
            made = run_program(q, k, v, extras, numbers, text, scale, ahead=gradients.compile_ahead)
    if type(made) is tuple:
        return made
    return made, torch.empty((0,), dtype=torch.float32, device=q.device)


# -----------------------------------------------------------------------------
# Calls of q, k and v alone, made before
# -----------------------------------------------------------------------------


def again(q: Any, k: Any, v: Any, key: Any, scale: float | None) -> Any:
    """o and lse of a call that `remember` has, else None."""
    known = plans.get(key)
    if known is None:
        return None
    if scale is not None:
        if scale != known.scale:
            known = with_scale(known, checks.check_scale(scale, q.shape[3], gradients=True))
    if is_wrapped(q) or is_wrapped(k) or is_wrapped(v):
        return Dense.apply(q, k, v, known)  # of a transform that has ended
    return _apply(q, k, v, known)


def with_scale(asked: Asked, scale: float) -> Asked:
    """The same with another scale, which was checked."""
    return Asked(asked.text, scale, (), asked.call, asked.known, (scale,))


def made_again(text: str, call: Call) -> Asked:
    """What is asked of a call of q, k and v alone that was made before."""
    return Asked(text, None, (), call, {}, (call.default_scale,))


def run_in_c(function: type[torch.autograd.Function], width: int = 4) -> None:
    """Has fa3_native run the backward of a function of `width` arguments, where nobody
    looks on and it was made before; else its own runs. What the class has as `count` is
    called then. Its `asked` has `known` and `behind` (Asked)."""
    module = native.module()
    made = getattr(function, "_backward_cls", None)
    if module is None or made is None:
        return
    module.watch(*watch.asked_in_c())
    module.watch_backward(*watch.asked_in_backward(choices))
    count = getattr(function, "count", None)
    function._backward_cls = type(  # type: ignore[attr-defined]
        made.__name__, (module.Node, made),
        {"count": None if count is None else staticmethod(count), "width": width},
    )  # fmt: skip


#: Dense.apply without what it does for transforms, at which somebody looks.
_apply = super(torch.autograd.Function, Dense).apply


def remember(q: Any, k: Any, v: Any, key: Any, text: str) -> None:
    """Keeps what a call that was just made has left, if it can be made again."""
    call = plans.get((text, native.form(q, k, v)))
    if call is not None:
        keep(key, lambda: made_again(text, call))
