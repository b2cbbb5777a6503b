# SPDX-License-Identifier: Apache-2.0
"""The rules of fa3.attention for transforms of torch.func: gradients, and vmap, whose
dimension is more batch. Rules that torch.library takes have no part in those."""

from __future__ import annotations

import re
from typing import Any, Sequence

import torch

from ..kernels.program import Program
from ..support import watch
from . import flops
from .operators import ops
from .nodes import Asked
from .rules import gradients_of

_WHAT = "fa3.attention"
_USES_BATCH = re.compile(r"%b\b")


class Attention(torch.autograd.Function):
    """torch.ops.fa3.forward(q, k, v, extras, numbers, program, scale)."""

    @staticmethod
    def forward(q: Any, k: Any, v: Any, asked: Asked, *extras: Any) -> Any:
        return ops.inference(
            q, k, v, list(extras), list(asked.numbers), asked.text, asked.scale
        )

    @staticmethod
    @watch.by_hand
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        q, k, v, asked, *extras = inputs
        ctx.save_for_backward(q, k, v, *output, *extras)
        ctx.set_materialize_grads(False)
        ctx.asked = asked

    @staticmethod
    @watch.by_hand
    def backward(ctx: Any, do: Any, dlse: Any) -> Any:  # type: ignore[override]
        q, k, v, o, lse, *extras = ctx.saved_tensors
        asked = ctx.asked
        if do is None and dlse is None:
            return (None,) * (4 + len(extras))

        def run(do: Any, dlse: Any) -> tuple[Any, ...]:
            flops.count()
            return Gradients.apply(do, dlse, q, k, v, o, lse, asked, *extras)

        made, of_extras = gradients_of(
            asked.program, do, dlse, (q, k, v, o, lse), extras, asked.scale, run,
            ctx.needs_input_grad[4:],
        )  # fmt: skip
        return (*made, None, *of_extras)

    jvp = watch.refusal(watch.forward_mode, _WHAT)

    @staticmethod
    @watch.by_hand
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:  # type: ignore[override]
        q, k, v, asked, *extras = args
        size, program = info.batch_size, asked.program
        merged = _merge_extras(program, extras, in_dims[4:], size, q, in_dims[0], ())
        if merged is None:
            return watch.one_by_one(Attention.apply, info, in_dims, args)
        rows = [_merge(one, d, size) for one, d in zip((q, k, v), in_dims)]
        o, lse = Attention.apply(*rows, asked, *merged)
        if not program.return_lse:
            return (_split(o, size), lse), (0, None)
        return (_split(o, size), _split(lse, size)), (0, 0)


class Gradients(torch.autograd.Function):
    """torch.ops.fa3.backward: dq, dk, dv, and those of extras that the program names."""

    @staticmethod
    def forward(
        do: Any, dlse: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, asked: Asked,
        *extras: Any,
    ) -> Any:  # fmt: skip
        *made, given = ops.backward(
            do, dlse, q, k, v, o, lse, list(extras), list(asked.numbers), asked.text,
            asked.scale,
        )  # fmt: skip
        return (*made, *given)

    setup_context = staticmethod(watch.saves_nothing)
    backward = watch.refusal(watch.second_order, _WHAT)
    jvp = watch.refusal(watch.forward_mode, f"gradients of {_WHAT}")

    @staticmethod
    @watch.by_hand
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:  # type: ignore[override]
        *rows, asked = args[:8]
        extras, size, program = args[8:], info.batch_size, args[7].program
        merged = _merge_extras(
            program, extras, in_dims[8:], size, args[2], in_dims[2], program.grads
        )
        if merged is None:
            return watch.one_by_one(Gradients.apply, info, in_dims, args)
        rows = [
            None if one is None else _merge(one, d, size)
            for one, d in zip(rows, in_dims)
        ]
        made = Gradients.apply(*rows, asked, *merged)
        made = [_split(one, size) for one in made]
        if "bias" in program.grads:
            # Of one for all of a batch, which was repeated for it.
            number = program.extras.index("bias")
            one, dim = extras[number], in_dims[8 + number]
            if one.movedim(dim, 0).shape[1] == 1 if dim is not None else one.shape[0] == 1:
                made[3] = made[3].sum(1, keepdim=True)
        return tuple(made), (0,) * len(made)


def _merge(one: Any, dim: int | None, size: int) -> Any:
    """A tensor whose dimension `dim`, of so many, is more of its first one."""
    if dim is None:
        made = one.expand(size, *one.shape)
    else:
        made = one.movedim(dim, 0)
    made = made.flatten(0, 1)
    step = max(16 // made.element_size(), 1)
    good = made.dim() < 4 or (
        made.stride(-1) == 1 and all(stride % step == 0 for stride in made.stride()[:-1])
    )
    return made if good else made.contiguous()


def _split(one: Any, size: int) -> Any:
    return one.unflatten(0, (size, one.shape[0] // size))


def _merge_extras(
    program: Program, extras: Sequence[Any], dims: Sequence[int | None], size: int,
    q: Any, q_dim: int | None, grads: Sequence[str],
) -> list[Any] | None:  # fmt: skip
    """Extras for a call with a larger batch; None where a kernel cannot have them so:
    mods that ask for the batch, and what has no batch and is mapped, or gradients of
    it (`grads`)."""
    batch = q.shape[1 if q_dim == 0 else 0]
    if _USES_BATCH.search(program.regions.score + program.regions.mask):
        return None
    if any(name.startswith("aux") or name == "alibi" for name in grads):
        return None
    made = []
    for number, (one, dim) in enumerate(zip(extras, dims)):
        name = _name(program, number)
        if name in _WITH_BATCH and one.dim() - (dim is not None) == _WITH_BATCH[name]:
            extent = one.movedim(dim, 0).shape[1] if dim is not None else one.shape[0]
            if extent not in (1, batch):
                return None
            shares = name not in grads and not name.startswith("previous")
            if dim is None and extent == 1 and shares:
                made.append(one)
                continue
            rest = one.movedim(dim, 0) if dim is not None else one.expand(size, *one.shape)
            made.append(_merge(rest.expand(size, batch, *rest.shape[2:]), 0, size))
        elif dim is not None:
            return None
        else:
            made.append(one)
    return made


#: Ranks of extras whose first dimension is the batch, or 1 for all of it.
_WITH_BATCH = {
    "q_descale": 2, "k_descale": 2, "v_descale": 2, "bias": 4, "block_count": 3,
    "block_index": 4, "full_count": 3, "full_index": 4, "block_count_q": 3,
    "block_index_q": 4, "full_count_q": 3, "full_index_q": 4, "previous_o": 4,
    "previous_lse": 3,
}  # fmt: skip


def _name(program: Program, number: int) -> str:
    return program.extras[number] if number < len(program.extras) else "aux"
