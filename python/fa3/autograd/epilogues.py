# SPDX-License-Identifier: Apache-2.0
"""Calls of fa3.attention with an epilogue, of torch tensors: code on the output, with
gradients of q, k, v and of what it reads. The forward keeps the output as it was, which
the backward starts from."""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

import torch

from .. import torch as door
from ..calls import gradients
from ..calls.launch import plans
from ..calls.request import program_request
from ..errors import ArgumentError, UnsupportedError
from ..kernels import blocks
from ..kernels.program import parse
from ..mods.trace import trace_mods
from ..support import native, tensors, watch

#: What prepare() takes in its order.
_GIVEN = (
    "q_descale", "k_descale", "v_descale", "bias", "alibi_slopes", "sinks", "previous_o",
    "previous_lse", "rng_state",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class _Asked:
    """All of a call that is no tensor."""

    text: str
    scale: float | None
    numbers: tuple[float, ...]


class Edited(torch.autograd.Function):
    """o and lse of a call with an epilogue."""

    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any, asked: _Asked, *extras: Any) -> Any:  # type: ignore[override]
        o, lse, plain = _run(q, k, v, extras, asked, keeps_plain=True)
        ctx.save_for_backward(q, k, v, plain, lse, *extras)
        ctx.set_materialize_grads(False)
        ctx.asked = asked
        return o, lse

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, do: Any, dlse: Any) -> Any:  # type: ignore[override]
        q, k, v, plain, lse, *extras = ctx.saved_tensors
        of_extras: list[Any] = [None for _ in extras]
        if do is None and dlse is None:
            return None, None, None, None, *of_extras
        if do is None:
            do = torch.zeros_like(plain)
        asked, program = ctx.asked, parse(ctx.asked.text)
        with torch.no_grad():
            *made, given = gradients.backward(
                do, dlse, q, k, v, plain, lse, extras, asked.numbers, asked.text, asked.scale
            )
        names = gradients.extra_names(program, extras)
        for name, one in zip(program.grads, given):
            of_extras[names.index(name)] = one
        return *made, None, *of_extras


def attention(q: Any, k: Any, v: Any, epilogue: Any, **named: Any) -> Any:
    """fa3.attention with an epilogue; `named` are its other arguments."""
    for name in "qkv":
        one = {"q": q, "k": k, "v": v}[name]
        if tensors.is_wrapped(one) or watch.is_fake(one):
            raise UnsupportedError(f"an epilogue under a transform of torch, of '{name}'")
    if named["dropout_p"]:
        named["rng_state"] = door.state_of(
            named["dropout_p"], q, named["rng_state"], named["generator"]
        )
    elif named["generator"] is not None:
        raise ArgumentError("generator", "is given without dropout_p")
    q, k, v = tensors.autocast(q, k, v)
    mask_mod, lists = named["mask_mod"], None
    if named["block_mask"] is not None:
        lists, mask_mod = _lists(q, k, v, epilogue, named)
    traced = trace_mods(named["score_mod"], mask_mod, epilogue)
    extras, numbers, text, needs_grad = door.prepare(
        q, k, v, named["causal"], named["window"], named["softcap"], named["scale"],
        traced, None, [named.get(name) for name in _GIVEN], named["out_dtype"],
        named["return_lse"], named["layout"], named["interpret"], None, lists,
        dropout_p=named["dropout_p"],
    )  # fmt: skip
    extras = tensors.beside(q, extras)
    asked = _Asked(text, named["scale"], tuple(numbers))
    if needs_grad:
        _check_gradients(q, named)
        o, lse = Edited.apply(q, k, v, asked, *extras)
        return (o, lse) if named["return_lse"] else o
    return _run(q, k, v, extras, asked, out=named["out"], lse=named["lse"])


def _lists(q: Any, k: Any, v: Any, epilogue: Any, named: dict[str, Any]) -> Any:
    """Lists of blocks, where kernels have them, and the mask beside them."""
    from ..api import extents

    if named["mask_mod"] is not None:
        raise ArgumentError("mask_mod", "is given beside block_mask, which has one")
    lists, mask = blocks.read(
        named["block_mask"], *extents(q, k, named["layout"]),
        named["causal"] or named["window"] is not None,
    )  # fmt: skip
    tables = trace_mods(named["score_mod"], mask, epilogue).tensors
    given = (q, k, v, named["bias"], named["alibi_slopes"], *tables)
    if torch.is_grad_enabled() and any(one is not None and one.requires_grad for one in given):
        return None, blocks.as_mask(lists, mask)
    if not lists.fits:
        return None, blocks.as_mask(lists, mask)
    return lists, mask


def _check_gradients(q: Any, named: dict[str, Any]) -> None:
    why = ""
    sinks, dtype = named["sinks"], named["out_dtype"]
    if sinks is not None and sinks.requires_grad:
        why = "those of sinks"
    elif dtype is not None and dtype != q.dtype:
        why = f"out_dtype {dtype}, expected {q.dtype}"
    elif not (named["out"] is named["lse"] is None):
        why = "out or lse are given; use torch.no_grad()"
    if why:
        raise UnsupportedError(f"gradients of fa3.attention beside an epilogue: {why}")


def _run(
    q: Any, k: Any, v: Any, extras: Sequence[Any], asked: _Asked,
    keeps_plain: bool = False, out: Any = None, lse: Any = None,
) -> Any:  # fmt: skip
    """o, lse if it is asked for, and o as it was where that is kept."""
    program = parse(asked.text)
    traced = program.traced(extras, asked.numbers)
    key: Any = (asked.text, keeps_plain, native.form(q, k, v, *extras))
    call = None if program.interpret or not (out is lse is None) else plans.get(key)
    if call is None:
        with torch.no_grad():
            return program_request(
                q, k, v, extras, program, asked.scale, traced, out=out, lse=lse,
                return_lse=program.return_lse, keeps_plain=keeps_plain,
                key=None if program.interpret else key,
            ).run()  # fmt: skip
    return call.again(
        (q, k, v, *program.of_forward(extras)), asked.scale,
        traced.scalars if traced else (),
    )  # fmt: skip
