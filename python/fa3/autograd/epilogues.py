# SPDX-License-Identifier: Apache-2.0
"""Calls of fa3.attention with an epilogue, of torch tensors: code on the output, with
gradients of q, k, v and of what it reads. The forward keeps the output as it was, which
the backward starts from."""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

import torch

from ..calls import gradients
from ..calls.launch import plans
from ..calls.request import program_request
from ..errors import ArgumentError, UnsupportedError
from ..kernels import blocks
from ..kernels.arguments import Arguments
from ..kernels.program import parse
from ..mods.trace import trace_mods
from ..support import native, tensors, watch
from .prepare import prepare, state_of, with_plain_scale

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
                do, dlse, (q, k, v, plain, lse), extras, asked.numbers, asked.text, asked.scale
            )
        names = gradients.extra_names(program, extras)
        for name, one in zip(program.grads, given):
            of_extras[names.index(name)] = one
        return *made, None, *of_extras


def attention(q: Any, k: Any, v: Any, asked: Arguments) -> Any:
    """fa3.attention with an epilogue."""
    for name, one in zip("qkv", (q, k, v)):
        if tensors.is_wrapped(one) or watch.is_fake(one):
            raise UnsupportedError(f"an epilogue under a transform of torch, of '{name}'")
    asked = with_plain_scale(asked)
    if asked.dropout_p:
        state = state_of(asked.dropout_p, q, asked.rng_state, asked.generator)
        asked = asked.replace(rng_state=state)
    elif asked.generator is not None:
        raise ArgumentError("generator", "is given without dropout_p")
    q, k, v = tensors.autocast(q, k, v)
    asked = blocks.read_asked(q, k, asked)
    mask_mod, lists = asked.mask_mod, asked.lists
    if lists is not None and (not lists.fits or _has_gradients(q, k, v, asked)):
        lists, mask_mod = None, blocks.as_mask(lists, mask_mod)
    traced = trace_mods(asked.score_mod, mask_mod, asked.epilogue)
    extras, numbers, text, needs_grad = prepare(
        q, k, v, asked.replace(score_mod=traced, mask_mod=None, lists=lists)
    )
    extras = tensors.beside(q, extras)
    call = _Asked(text, asked.scale, tuple(numbers))
    if needs_grad:
        _check_gradients(q, asked)
        o, lse = Edited.apply(q, k, v, call, *extras)
        return (o, lse) if asked.return_lse else o
    return _run(q, k, v, extras, call, out=asked.out, lse=asked.lse)


def _has_gradients(q: Any, k: Any, v: Any, asked: Arguments) -> bool:
    tables = trace_mods(asked.score_mod, asked.mask_mod, asked.epilogue).tensors
    given = (q, k, v, asked.bias, asked.alibi_slopes, *tables)
    return torch.is_grad_enabled() and any(
        one is not None and one.requires_grad for one in given
    )


def _check_gradients(q: Any, asked: Arguments) -> None:
    why = ""
    if asked.sinks is not None and asked.sinks.requires_grad:
        why = "those of sinks"
    elif asked.out_dtype is not None and asked.out_dtype != q.dtype:
        why = f"out_dtype {asked.out_dtype}, expected {q.dtype}"
    elif asked.has_outputs:
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
