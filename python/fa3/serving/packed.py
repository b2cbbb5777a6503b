# SPDX-License-Identifier: Apache-2.0
"""Gradients of packed sequences, by kernels that take the rows as they lie."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Sequence

import torch

from .. import serving
from ..autograd import flops, nodes
from ..calls import choices, gradients
from ..calls.launch import keep, makers, plans
from ..errors import ArgumentError, Fa3Error, UnsupportedError
from ..kernels import checks
from ..kernels.arguments import Sequences
from ..support import native, watch
from .call import with_empty_sequences
from .packed_kernels import ARRAYS, GRADS, READ, as_read, key_of
from .packed_kernels import run as run_kernel
from .eager import NAMES, known


def attention(q: Any, k: Any, v: Any, *, deterministic: bool = False, **named: Any) -> Any:
    """serving.attention with gradients of q, k and v, through o and lse; `named` as it has
    them, starts, lengths, what is seen and how it is scaled."""
    asked = Sequences(**named)
    compiling = torch.compiler.is_compiling()
    if compiling or watch.is_recorded() and not watch.transforms():
        from . import operators  # which flops.count looks for

        if not compiling:
            watch.check_tangents(_WHAT, q, k, v)
            flops.count()
            if asked.max_logits:
                raise UnsupportedError("max_logits of a call that is recorded")
        elif asked.max_logits or watch.is_derived():
            from .. import dynamo

            named = asked.named | {"deterministic": deterministic}
            return dynamo.run_eagerly(attention, (q, k, v), named)
        return operators.attention(q, k, v, asked, deterministic)
    choices.check_own("gradients of packed sequences")
    _run_in_c()
    if not isinstance(asked.max_k, int) or asked.max_k < 0:
        raise ArgumentError("max_seqlen_k", f"{asked.max_k!r}, expected at least 0")
    arrays = with_empty_sequences(asked.cu_q, asked.cu_k, asked.used_q, asked.used_k)
    same = deterministic or gradients.is_deterministic()
    rest, columns = _of_no_tensor(asked), q.shape[-1]
    key = "packed", rest, same, columns
    call = plans.get(key) or keep(
        key, lambda: _Call(rest, same, {}, _numbers(asked.scale, columns, asked.max_q))
    )
    watch.check_tangents(_WHAT, q, k, v)
    if asked.max_logits and watch.transforms():
        raise UnsupportedError("max_logits under a transform of torch.func")
    # Nodes in C have two results.
    node = _Attention if asked.max_logits or watch.is_watched() else _Node
    made = node.apply(q, k, v, *arrays, call)
    return made if asked.return_lse or asked.max_logits else made[0]


def _of_no_tensor(asked: Sequences) -> Sequences:
    """All of a call that is no tensor, as a _Call has it."""
    return asked.replace(
        cu_q=None, cu_k=None, used_q=None, used_k=None, return_lse=True,
        window=tuple(asked.window) if asked.window else None,
    )  # fmt: skip


def again(name: Any, given: Sequence[Any], deterministic: bool) -> Any:
    """o and lse of a call that `learn` has, at which nobody looks; else None."""
    call = plans.get(name)
    if call is None or call.deterministic != (deterministic or gradients.is_deterministic()):
        return None
    return _apply(*given[:7], call) if choices.backward in choices.OWN else None


def learn(name: Any, given: Sequence[Any], asked: Sequences, deterministic: bool) -> None:
    """Keeps what a call that was just made has left, if it can be made again."""
    same = deterministic or gradients.is_deterministic()
    call = plans.get(("packed", _of_no_tensor(asked), same, given[0].shape[-1]))
    forward = None if call is None else _known(given[:7], call)
    if forward is not None:
        keep(name, lambda: dataclasses.replace(call, forward=forward))


_WHAT = "packed sequences"


@dataclasses.dataclass(frozen=True)
class _Call:
    """All of a call that is no tensor."""

    asked: Sequences
    deterministic: bool
    #: As nodes.Asked has them; behind tensors are the scale and max_q.
    known: dict[Any, Any]
    behind: tuple[float, int] | None
    #: What makes o and lse of tensors of one form.
    forward: Any = None

    def of(self, arrays: Sequence[Any]) -> Sequences:
        return self.asked.replace(**dict(zip(ARRAYS, arrays)))


def _numbers(scale: Any, columns: int, max_q: int) -> tuple[float, int] | None:
    """The scale and max_q of a backward; None where that will be an error."""
    try:
        return checks.check_scale(scale, columns, gradients=True), max_q
    except Fa3Error:
        return None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        q: Any, k: Any, v: Any, cu_q: Any, cu_k: Any, used_q: Any, used_k: Any, call: _Call
    ) -> Any:
        return serving.attention(q, k, v, **call.of((cu_q, cu_k, used_q, used_k)).named)

    @staticmethod
    @watch.by_hand
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        *given, call = inputs
        ctx.save_for_backward(*given, *output[:2])
        ctx.mark_non_differentiable(*output[2:])
        ctx.call = call
        ctx.set_materialize_grads(False)

    @staticmethod
    @watch.by_hand
    def backward(ctx: Any, do: Any, dlse: Any, *_of_largest: Any) -> Any:  # type: ignore[override]
        if do is None and dlse is None:
            return (None,) * 8
        *_, o, _lse = ctx.saved_tensors
        watch.check_gradients(_WHAT, do, dlse)
        do = torch.zeros_like(o) if do is None else do
        grads = _Gradients.apply(do, dlse, *ctx.saved_tensors, ctx.call)
        return *grads, *(None,) * 5

    jvp = watch.refusal(watch.forward_mode, _WHAT)

    @staticmethod
    @watch.by_hand
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:  # type: ignore[override]
        return watch.one_by_one(_Attention.apply, info, in_dims, args)


class _Node(torch.autograd.Function):
    """_Attention without transforms, at less host time."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:  # type: ignore[override]
        *given, call = inputs
        forward = call.forward or _known(given, call)
        if forward is not None:
            made = forward.again((*given, *_OTHERS), call.asked.scale)
        else:
            made = _Attention.forward(*inputs)
        ctx.asked = ctx.call = call
        # save_for_backward and set_materialize_grads
        ctx.to_save = (*given, *made)
        ctx.materialize_grads = False
        return made

    @staticmethod
    @watch.by_hand
    def backward(ctx: Any, do: Any, dlse: Any) -> Any:  # type: ignore[override]
        if do is None or torch.is_grad_enabled() or watch.is_watched() or (
            watch.is_special(do) or watch.is_special(dlse)
        ):  # fmt: skip
            return _Attention.backward(ctx, do, dlse)
        saved, call = ctx.saved_tensors, ctx.call
        grads = _Gradients.forward(do, dlse, *saved, call)
        if not (call.deterministic or call.asked.interpret):
            _remember(call, do, dlse, saved, grads)
        return *grads, *(None,) * 5


#: _Node.apply without what it does for transforms, at which somebody looks.
_apply = super(torch.autograd.Function, _Node).apply


def _known(given: Sequence[Any], call: _Call) -> Any:
    """The forward of such a call, if that was made before."""
    return None if call.asked.interpret else known((*given, *_OTHERS), call.asked)


def _remember(call: _Call, do: Any, dlse: Any, saved: Any, grads: Any) -> None:
    """Keeps what launches a backward that was just run, if it took its tensors as they
    are, by their form: for fa3_native."""
    if (
        call.behind is None
        or not do.is_contiguous()
        or dlse is not None
        and not dlse.is_contiguous()
    ):
        return
    values = dict(zip(READ, (*saved, do, dlse)))
    found = plans.get(key_of(values | dict(zip(GRADS, grads)), call.asked, False))
    if found is None:
        return
    launcher, names = found
    order = {name: n for n, name in enumerate((*READ, "scale", "max_q", *GRADS))}
    places = [order[name] for name in names]
    # One kernel for all three zeroes them.
    in_c = launcher.rearranged(places, makers(*grads), torch._foreach_zero_).in_c
    if in_c is not None:
        keep(native.form(*values.values()), lambda: in_c, call.known)


@functools.cache
def _run_in_c() -> None:
    nodes.run_in_c(_Node, 8)


class _Gradients(torch.autograd.Function):
    """dq, dk and dv."""

    @staticmethod
    def forward(do: Any, dlse: Any, *given: Any) -> Any:
        *saved, call = given
        if watch.is_recorded():
            from . import operators

            return operators.backward(do, dlse, saved, call.asked, call.deterministic)
        values = dict(zip(READ, saved)) | as_read(do, dlse)
        # Rows that are none of a sequence are written by nobody.
        grads = {f"d{name}": values[name].new_zeros(values[name].shape) for name in "qkv"}
        run_kernel(values | grads, call.asked, call.deterministic)
        return tuple(grads.values())

    setup_context = staticmethod(watch.saves_nothing)
    backward = watch.refusal(watch.second_order, _WHAT)
    jvp = watch.refusal(watch.forward_mode, f"gradients of {_WHAT}")

    @staticmethod
    @watch.by_hand
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:  # type: ignore[override]
        return watch.one_by_one(_Gradients.apply, info, in_dims, args)


#: What these sequences have none of, behind used_k in NAMES.
_OTHERS = (None,) * (len(NAMES) - 7)
