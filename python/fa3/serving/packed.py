# SPDX-License-Identifier: Apache-2.0
"""Gradients of packed sequences, by kernels that take the rows as they lie."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Sequence

import torch

from .. import serving
from ..autograd import flops, nodes
from ..build.compiler import CompileOptions, run_on_host
from ..calls import gradients
from ..calls.launch import Launcher, keep, makers, plans
from ..errors import ArgumentError, Fa3Error, UnsupportedError
from ..kernels import checks, compiled
from ..kernels.serving_spec import ServingBackwardSpec, ServingSpec
from ..kernels.spec import Spec
from ..support import native, tensors, watch


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_q: torch.Tensor,
    cu_k: torch.Tensor, max_q: int, max_k: int, used_q: Any, used_k: Any, *,
    causal: bool, window: Any, softcap: float, chunk: int, scale: float | None,
    return_lse: bool, interpret: bool = False, deterministic: bool = False,
    max_logits: bool = False,
) -> Any:  # fmt: skip
    """serving.attention with gradients of q, k and v, through o and lse."""
    compiling = torch.compiler.is_compiling()
    if compiling or watch.is_recorded() and not watch.transforms():
        from .. import dynamo
        from . import operators

        if not compiling:
            watch.check_tangents(_WHAT, q, k, v)
            flops.count()
        more = {"max_logits": True} if max_logits else {}
        if more and not compiling:
            raise UnsupportedError("max_logits of a call that is recorded")
        door = operators.attention
        if compiling and (more or watch.is_derived()):
            door = dynamo.run_packed
        return door(
            q, k, v, cu_q, cu_k, max_q, max_k, used_q, used_k, causal=causal,
            window=window, softcap=softcap, chunk=chunk, scale=scale,
            return_lse=return_lse, interpret=interpret, deterministic=deterministic,
            **more,
        )  # fmt: skip
    from .. import torch as door

    if door._kind not in door.OWN:
        raise UnsupportedError(f"gradients of packed sequences, set_backward({door._kind})")
    _run_in_c(door)
    if not isinstance(max_k, int) or max_k < 0:
        raise ArgumentError("max_seqlen_k", f"{max_k!r}, expected at least 0")
    cu_q, cu_k, used_q, used_k = serving.with_empty_sequences(cu_q, cu_k, used_q, used_k)
    same = deterministic or gradients.is_deterministic()
    window = tuple(window) if window else None
    columns = q.shape[-1]
    key = _name_of(
        max_q, max_k, causal, window, softcap, chunk, scale, interpret, same, columns, max_logits
    )
    call = plans.get(key) or keep(key, lambda: _Call(
        max_q, max_k, {
            "causal": causal, "window": window, "softcap": softcap, "chunk": chunk,
            "scale": scale, "interpret": interpret,
        }, same, {}, _numbers(scale, columns, max_q), max_logits,
    ))  # fmt: skip
    watch.check_tangents(_WHAT, q, k, v)
    if max_logits and watch.transforms():
        raise UnsupportedError("max_logits under a transform of torch.func")
    # Nodes in C have two results.
    node = _Attention if max_logits or watch.is_watched() else _Node
    made = node.apply(q, k, v, cu_q, cu_k, used_q, used_k, call)
    return made if return_lse or max_logits else made[0]


def _name_of(*values: Any) -> tuple[Any, ...]:
    """All that a _Call depends on: lengths, causal, window, softcap, chunk, scale,
    interpret, whether it is deterministic, columns, max_logits."""
    return "packed", *values


def again(name: Any, given: Sequence[Any], deterministic: bool) -> Any:
    """o and lse of a call that `learn` has, at which nobody looks; else None."""
    call = plans.get(name)
    if call is None or call.deterministic != (deterministic or gradients.is_deterministic()):
        return None
    from .. import torch as door

    return _apply(*given[:7], call) if door._kind in door.OWN else None


def learn(
    name: Any, given: tuple[Any, ...], named: dict[str, Any], max_q: int, max_k: int,
    deterministic: bool,
) -> None:  # fmt: skip
    """Keeps what a call that was just made has left, if it can be made again."""
    window, scale = tuple(named["window"]) if named["window"] else None, named["scale"]
    same = deterministic or gradients.is_deterministic()
    call = plans.get(_name_of(
        max_q, max_k, named["causal"], window, named["softcap"], named["chunk"], scale, False,
        same, given[0].shape[-1], False,
    ))  # fmt: skip
    known = None if call is None else _known(given[:7], call)
    if known is not None:
        keep(name, lambda: dataclasses.replace(call, forward=known))


_WHAT = "packed sequences"


@dataclasses.dataclass(frozen=True)
class _Call:
    """All of a call that is no tensor."""

    max_q: int
    max_k: int
    named: dict[str, Any]
    deterministic: bool
    #: As nodes.Asked has them; behind tensors are the scale and max_q.
    known: dict[Any, Any]
    behind: tuple[float, int] | None
    max_logits: bool = False
    #: What makes o and lse of tensors of one form.
    forward: Any = None


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
        return serving.attention(
            q, k, v, cu_q=cu_q, cu_k=cu_k, max_q=call.max_q, max_k=call.max_k,
            used_q=used_q, used_k=used_k, return_lse=True, max_logits=call.max_logits,
            **call.named,
        )  # fmt: skip

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

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise watch.forward_mode(_WHAT)

    @staticmethod
    @watch.by_hand
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:  # type: ignore[override]
        return watch.one_by_one(_Attention.apply, info, in_dims, args)


class _Node(torch.autograd.Function):
    """_Attention without transforms, at less host time."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:  # type: ignore[override]
        *given, call = inputs
        known = call.forward or _known(given, call)
        if known is not None:
            made = known.again((*given, *_OTHERS), call.named["scale"])
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
        if not (call.deterministic or call.named["interpret"]):
            _remember(call, do, dlse, saved, grads)
        return *grads, *(None,) * 5


#: _Node.apply without what it does for transforms, at which somebody looks.
_apply = super(torch.autograd.Function, _Node).apply


def _known(given: Sequence[Any], call: _Call) -> Any:
    """The forward of such a call, if that was made before."""
    named = call.named
    if named["interpret"]:
        return None
    return serving.known(
        (*given, *_OTHERS), causal=named["causal"], window=named["window"],
        softcap=named["softcap"], chunk=named["chunk"], splits=0, pack_heads=None,
        max_q=call.max_q, max_k=call.max_k, return_lse=True,
    )  # fmt: skip


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
    values = dict(zip(_SAVED, (*saved, do, dlse)))
    found = plans.get(_key(values | dict(zip(_GRADS, grads)), call.named, False))
    if found is None:
        return
    launcher, names = found
    order = {name: n for n, name in enumerate((*_SAVED, "scale", "max_q", *_GRADS))}
    places = [order[name] for name in names]
    # One kernel for all three zeroes them.
    in_c = launcher.rearranged(places, makers(*grads), torch._foreach_zero_).in_c
    if in_c is not None:
        keep(native.form(*values.values()), lambda: in_c, call.known)


@functools.lru_cache(maxsize=None)
def _run_in_c(door: Any) -> None:
    nodes.run_in_c(_Node, door, 8)


class _Gradients(torch.autograd.Function):
    """dq, dk and dv."""

    @staticmethod
    def forward(
        do: Any, dlse: Any, q: Any, k: Any, v: Any, cu_q: Any, cu_k: Any, used_q: Any,
        used_k: Any, o: Any, lse: Any, call: _Call,
    ) -> Any:  # fmt: skip
        if watch.is_recorded():
            from . import operators

            return operators.backward(
                do, dlse, (q, k, v, o, lse), (cu_q, cu_k, used_q, used_k), call.max_q,
                call.max_k, call.named, call.deterministic,
            )  # fmt: skip
        values = {
            "q": q, "k": k, "v": v, "o": o, "lse": lse,
            "do": do.resolve_neg().contiguous(),
            "dlse": None if dlse is None else dlse.resolve_neg().contiguous(),
            "cu_q": cu_q, "cu_k": cu_k, "used_q": used_q, "used_k": used_k,
            "max_q": call.max_q,
        }  # fmt: skip
        # Rows that are none of a sequence are written by nobody.
        grads = {f"d{name}": values[name].new_zeros(values[name].shape) for name in "qkv"}
        _run(values | grads, call.named, call.deterministic)
        return tuple(grads.values())

    @staticmethod
    @watch.by_hand
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    @watch.by_hand
    def backward(ctx: Any, *grads: Any) -> Any:  # type: ignore[override]
        raise watch.second_order(_WHAT)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise watch.forward_mode(f"gradients of {_WHAT}")

    @staticmethod
    @watch.by_hand
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:  # type: ignore[override]
        return watch.one_by_one(_Gradients.apply, info, in_dims, args)


def _key(values: dict[str, Any], named: dict[str, Any], deterministic: bool) -> Any:
    """All that a backward depends on but addresses and numbers."""
    return (
        "packed backward", native.form(*[values[name] for name in _TENSORS]), deterministic,
        named["causal"], tuple(named["window"]) if named["window"] else None,
        named["softcap"], named["chunk"], named["interpret"],
    )  # fmt: skip


def _run(values: dict[str, Any], named: dict[str, Any], deterministic: bool) -> None:
    """Computes dq, dk and dv, which are among the values by name."""
    key = _key(values, named, deterministic)
    ready = plans.get(key)
    scale = checks.check_scale(named["scale"], values["q"].shape[-1], gradients=True)
    numbers = {"scale": scale, "max_q": values["max_q"]}
    if ready is not None:
        launcher, names = ready
        launcher.run(*[numbers[n] if n in numbers else values[n] for n in names])
        return
    backward = _describe(values, named)
    names = (*backward.inputs, *backward.outputs)
    given = [numbers[n] if n in numbers else values[n] for n in names]
    described = [
        ("f32" if name == "scale" else "i32", value) if name in numbers
        else tensors.view(name, value).array()
        for name, value in zip(names, given)
    ]  # fmt: skip
    if named["interpret"]:
        run_on_host(backward.to_mlir(), described, CompileOptions(), named["interpret"])
        return
    kernel = compiled.get(backward, None, (("deterministic", deterministic),))
    device = values["q"].get_device()
    with torch.cuda.device(device):
        launcher, _ = keep(
            key,
            lambda: (Launcher(kernel, device, described, place=values["q"].device), names),
        )
    launcher.run(*given)


#: What these sequences have none of, behind used_k in serving.NAMES.
_OTHERS = (None,) * (len(serving.NAMES) - 7)
_SAVED = (
    "q", "k", "v", "cu_q", "cu_k", "used_q", "used_k", "o", "lse", "do", "dlse",
)  # fmt: skip
_GRADS = ("dq", "dk", "dv")
_TENSORS = (
    "q", "k", "v", "cu_q", "cu_k", "used_q", "used_k", "o", "lse", "do", "dlse", "dq", "dk",
    "dv",
)  # fmt: skip


def _describe(values: dict[str, Any], named: dict[str, Any]) -> ServingBackwardSpec:
    """The kernel of a call, which is checked."""
    q, v = values["q"], values["v"]
    types = [tensors.view(name, values[name]).type for name in "qkv"]
    if types[0] not in ("f16", "bf16"):
        raise UnsupportedError(f"gradients of {types[0]}")
    spec = Spec(
        types[0], types[1], types[2], types[0], q.shape[-1], v.shape[-1],
        bool(named["causal"]), checks.check_window(named["window"]),
        checks.check_softcap(named["softcap"]), True,
    )  # fmt: skip
    arrays = tuple(
        name for name in ("cu_q", "cu_k", "used_q", "used_k") if values[name] is not None
    )
    starts = values["cu_q"]
    sequences = q.shape[0] if starts is None else starts.numel() - 1
    return ServingBackwardSpec(
        ServingSpec(
            spec, arrays, chunk=named["chunk"],
            many=sequences if starts is not None and (
                sequences > serving.FEW_SEQUENCES
            ) else None,
        ),
        values["dlse"] is not None,
    )  # fmt: skip
