# SPDX-License-Identifier: Apache-2.0
"""What the operators of fa3.attention are asked for: the tensors and numbers besides q, k
and v, the program, and whether there are gradients."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

from ..calls import choices
from ..errors import ArgumentError, ArgumentTypeError, UnsupportedError
from ..kernels import checks
from ..kernels.arguments import Arguments
from ..kernels.blocks import Lists
from ..kernels.program import EXTRAS, mods_text, to_text
from ..mods.trace import Traced, trace_mods
from ..support.values import number


def state_of(p: Any, q: Any, state: Any, generator: Any = None) -> Any:
    """Seed and offset of a call with dropout: those that are given, or new ones of
    torch's generator, on the device, so that graphs draw them, too."""
    checks.check_dropout(p)
    if state is not None:
        if generator is not None:
            raise ArgumentError("generator", "is given beside rng_state")
        if not isinstance(state, torch.Tensor):
            raise ArgumentTypeError("rng_state", f"{type(state).__name__}, expected a tensor")
        return state.view(torch.int64) if state.dtype == torch.uint64 else state
    if not isinstance(generator, (torch.Generator, type(None))):
        raise ArgumentTypeError(
            "generator", f"{type(generator).__name__}, expected a torch.Generator"
        )
    return torch.randint(
        0, 2**63 - 1, (2,), generator=generator, dtype=torch.int64, device=q.device
    )


def with_plain_scale(asked: Arguments) -> Arguments:
    """A call whose scale is what operators of torch take: a number of Python or, where
    Dynamo traces, a symbol of one."""
    scale = asked.scale
    is_plain = isinstance(scale, (float, int, torch.SymFloat, torch.SymInt))
    if scale is None or is_plain and not isinstance(scale, bool):
        return asked
    if isinstance(scale, torch.Tensor):
        return asked.replace(scale=number("scale", scale))
    return asked.replace(scale=checks.check_scale(scale, 1))


def prepare(
    q: Any, k: Any, v: Any, asked: Arguments,
    requires_grad: Callable[[Any], bool] = lambda one: one.requires_grad,
) -> tuple[list[Any], list[float], str, bool]:  # fmt: skip
    """The extras, numbers and program of an operator, and whether it is the one with
    gradients."""
    kind = choices.check_backward(asked.backward) or choices.backward
    traced, mods, tables, numbers = asked.score_mod, "", (), []
    if isinstance(traced, tuple):  # dynamo.Described
        mods, tables, numbers = traced
        traced = None
    elif traced is not None or asked.mask_mod is not None:
        if not isinstance(traced, Traced):
            traced = trace_mods(traced, asked.mask_mod)
        mods, tables = mods_text(traced), traced.tensors
        numbers = [float(one) for one in traced.scalars]
    given, lists = asked.extras, asked.lists
    extras = [one for one in given if one is not None]
    names = ",".join(
        name for name, one in zip(EXTRAS, given) if one is not None
    )  # fmt: skip
    size = None
    if lists is not None:
        extras += [*lists.tensors, *lists.by_key]
        names += "," + ",".join(lists.all_names)
        size = lists.size
    needs_grad = torch.is_grad_enabled() and (
        requires_grad(q) or requires_grad(k) or requires_grad(v)
        or any(requires_grad(one) for one in extras)
        or any(requires_grad(one) for one in tables)
    )  # fmt: skip
    if needs_grad:
        reason = _no_backward(q, k, v, asked, kind, traced)
        if lists is not None and not reason:
            reason = _no_lists(lists, kind, given, tables, requires_grad)
        if reason:
            raise UnsupportedError(f"gradients of fa3.attention: {reason}")
        if kind != "torch":
            checks.check_scale(asked.scale, q.shape[3], gradients=True)
    # A backward needs lse.
    program = to_text(
        asked.replace(
            return_lse=asked.return_lse or needs_grad or asked.max_logits, top_left=False
        ),
        names, mods, kind if needs_grad else None,
        _grads(given, tables, requires_grad) if needs_grad else "", size,
    )  # fmt: skip
    return [*extras, *tables], numbers, program, needs_grad


def _no_lists(
    lists: Lists, kind: str | None, given: Sequence[Any], tables: Sequence[Any],
    requires_grad: Callable[[Any], bool],
) -> str:  # fmt: skip
    """Why there are no gradients beside lists of blocks; "" if there are."""
    if kind not in choices.OWN:
        return "torch's backward takes no lists of blocks (block_mask)"
    if not lists.by_key:
        return f"lists of blocks of {lists.size} (block_mask) that are for the forward"
    others = _grads(given, tables, requires_grad)
    return f"those of {others} beside lists of blocks (block_mask)" if others else ""


#: Extras that are in o and lse: torch computes their gradients of these.
_BY_TORCH = ("sinks", "previous_o", "previous_lse")


def _grads(
    given: Sequence[Any], tables: Sequence[Any], requires_grad: Callable[[Any], bool]
) -> str:
    """The names of extras whose gradients are asked for."""
    names = [
        name for name, one in zip(EXTRAS, given)
        if one is not None and requires_grad(one) and name not in _BY_TORCH
    ]  # fmt: skip
    names += [f"aux{n}" for n, one in enumerate(tables) if requires_grad(one)]
    return ",".join(names)


def _no_backward(
    q: Any, k: Any, v: Any, asked: Arguments, kind: str | None, traced: Traced | None
) -> str:
    """Why there are no gradients; "" if there are."""
    if kind is None:
        return "they are switched off by set_backward(None); use torch.no_grad()"
    if q.is_nested and q.layout == torch.strided:
        return "a nested tensor, expected a plain one"
    if q.dtype not in (torch.float16, torch.bfloat16):
        return f"element type {q.dtype}, the backward takes float16 and bfloat16"
    if kind in choices.OWN:
        given = asked.out_dtype
        return "" if given in (None, q.dtype) else f"out_dtype {given}, expected {q.dtype}"
    if traced is not None or any(one is not None for one in asked.extras):
        return "torch's backward takes no mods, bias, slopes, sinks, previous or dropout"
    if q.shape[3] != v.shape[3]:
        return f"head dims {q.shape[3]} and {v.shape[3]}, torch's backward takes equal ones"
    if asked.softcap:
        return f"softcap {asked.softcap}, torch's backward takes none"
    _, _, s = checks.DIMS[asked.layout]
    if asked.causal and q.shape[s] != k.shape[s]:
        return (
            f"causal with {q.shape[s]} queries and {k.shape[s]} keys, torch's backward "
            "takes equal numbers"
        )
    return ""
