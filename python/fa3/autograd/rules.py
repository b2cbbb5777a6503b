# SPDX-License-Identifier: Apache-2.0
"""The gradients of fa3.attention, whoever asks for them: of q, k and v, and of what a
program names."""

from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import torch

from ..calls import gradients
from ..errors import UnsupportedError
from ..kernels.program import Program


def gradients_of(
    program: Program, do: Any, dlse: Any, saved: Sequence[Any], extras: Sequence[Any],
    scale: Any, run: Callable[[Any, Any], Sequence[Any]], needed: Sequence[bool],
) -> tuple[Sequence[Any], list[Any]]:  # fmt: skip
    """The gradients of q, k and v, and those of extras, where some are `needed`, of
    `saved`: q, k, v, o, lse. `run` gives what torch.ops.fa3.backward does."""
    q, k, v, o, lse = saved
    of_extras: list[Any] = [None for _ in extras]
    if program.backward == "None" or not program.return_lse:
        raise UnsupportedError(
            "gradients of torch.ops.fa3.forward: its program asks for none; "
            "call fa3.torch.attention"
        )
    if program.backward == "torch":
        return _backward_of_torch(program, do, q, k, v, o, lse, scale), of_extras
    if do is None:
        do = torch.zeros_like(o)
    dq, dk, dv, *given = run(do, dlse)
    names = gradients.extra_names(program, extras)
    for name, one in zip(program.grads, given):
        of_extras[names.index(name)] = one
    if "sinks" in program.extras:
        number = program.extras.index("sinks")
        if needed[number]:
            of_extras[number] = _of_sinks(extras[number], do, dlse, o, lse, program)
    if "previous_o" in program.extras:
        number = program.extras.index("previous_o")
        if needed[number] or needed[number + 1]:
            of_extras[number : number + 2] = _of_previous(
                *extras[number : number + 2], do, dlse, o, lse, program
            )
    return (dq, dk, dv), of_extras


def _of_sinks(
    sinks: torch.Tensor, do: torch.Tensor, dlse: Any, o: torch.Tensor,
    lse: torch.Tensor, program: Program,
) -> torch.Tensor:  # fmt: skip
    """A sink is a score without a value: its gradient is its weight times what
    every score's gradient has subtracted."""
    delta = _delta(do, dlse, o, program)
    weights = torch.exp(sinks[None, :, None] - lse)
    return -(weights * delta).sum((0, 2))


def _of_previous(
    other: torch.Tensor, other_lse: torch.Tensor, do: torch.Tensor, dlse: Any,
    o: torch.Tensor, lse: torch.Tensor, program: Program,
) -> list[torch.Tensor]:  # fmt: skip
    """o and lse of other keys are a value and its score. Where there were no keys the
    value may be anything, and has no gradient."""
    there = other_lse != -torch.inf
    weights = torch.where(there, torch.exp(other_lse - lse), 0.0)
    along = weights.transpose(1, 2) if program.layout == "bshd" else weights
    value = torch.where(along.unsqueeze(-1) != 0, other.float(), 0.0)
    of_score = _rows((do.float() * value).sum(-1), program) - _delta(do, dlse, o, program)
    return [(along.unsqueeze(-1) * do.float()).to(other.dtype), weights * of_score]


def _rows(numbers: torch.Tensor, program: Program) -> torch.Tensor:
    return numbers.transpose(1, 2) if program.layout == "bshd" else numbers


def _delta(do: torch.Tensor, dlse: Any, o: torch.Tensor, program: Program) -> torch.Tensor:
    delta = _rows((do.float() * o.float()).sum(-1), program)
    return delta if dlse is None else delta - dlse


def _backward_of_torch(
    program: Program, do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, scale: Any
) -> list[Any]:
    if do is None:
        return [None, None, None]
    swap = program.layout == "bhsd"
    given = [one.transpose(1, 2) if swap else one for one in (do, q, k, v, o)]
    given = [one if one.stride(-1) == 1 else one.contiguous() for one in given]
    left, right = program.window or (None, None)
    state = torch.zeros((2,), dtype=torch.uint64, device=q.device)
    grads = torch.ops.aten._flash_attention_backward(
        *given, lse, None, None, given[1].shape[1], given[2].shape[1], 0.0,
        program.causal, state, state[:1],
        scale=scale if scale is not None else 1.0 / math.sqrt(q.shape[3]),
        window_size_left=left, window_size_right=right,
    )  # fmt: skip
    return [one.transpose(1, 2) if swap else one for one in grads]
