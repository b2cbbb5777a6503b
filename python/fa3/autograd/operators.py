# SPDX-License-Identifier: Apache-2.0
"""The operators of fa3.attention, torch.ops.fa3.forward and its kin, that torch.compile,
autograd and opcheck know: to import this defines them."""

from __future__ import annotations

import inspect
from typing import Any, Sequence

import torch

from ..calls import choices, gradients
from ..errors import UnsupportedError
from ..kernels import checks
from ..kernels.program import parse
from ..support import tensors, watch
from . import flops, nodes
from .namespace import NAME, ops
from .rules import gradients_of

__all__ = ["ops"]

# `program` is a fa3.kernels.program.Program as text, `extras` the tensors that it names and
# then those of mods, `numbers` what mods have captured. No argument has a default:
# torch strips those, and then its autograd for lists of tensors counts wrong.
_library = torch.library.Library(NAME, "DEF")
# What has no gradients is an operator of its own: a rule for them in Python costs as
# much host time as the dispatch itself, also where nobody asks for gradients.
# Those with _max have the largest score of every query as well.
for _name, _made in (
    ("forward", "Tensor, Tensor"), ("inference", "Tensor, Tensor"),
    ("forward_max", "Tensor, Tensor, Tensor"), ("inference_max", "Tensor, Tensor, Tensor"),
):  # fmt: skip
    _library.define(
        f"{_name}(Tensor q, Tensor k, Tensor v, Tensor[] extras, float[] numbers, "
        f"str program, float? scale) -> ({_made})",
        tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides),
    )
# A rule that refuses gradients of gradients costs 20 us at every call, so what runs
# where nobody can ask for some (without autograd, as in compiled graphs) has none.
for _name in ("backward", "backward_without_autograd"):
    _library.define(
        f"{_name}(Tensor do, Tensor? dlse, Tensor q, Tensor k, Tensor v, Tensor o, "
        "Tensor lse, Tensor[] extras, float[] numbers, str program, float? scale)"
        " -> (Tensor, Tensor, Tensor, Tensor[])",
        tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides),
    )


def _inference(q: Any, k: Any, v: Any, extras: Sequence[Any], *rest: Any) -> Any:
    # What was recorded without gradients may run with tensors that require some.
    if torch.is_grad_enabled() and (
        q.requires_grad or k.requires_grad or v.requires_grad
        or any([one.requires_grad for one in extras])
    ):  # fmt: skip
        raise UnsupportedError(
            "gradients of torch.ops.fa3.inference, which a graph without them was made of"
        )
    return nodes.run(q, k, v, extras, *rest)


def _forward_fake(
    q: Any, k: Any, v: Any, extras: Any, numbers: Any, program: str, scale: Any
) -> tuple[torch.Tensor, ...]:
    named = parse(program)
    shape = (*q.shape[:3], v.shape[3])
    dtype = getattr(torch, named.out_dtype) if named.out_dtype else q.dtype
    if named.out_dtype is None and q.element_size() == 1:
        dtype = torch.bfloat16
    o = torch.empty_strided(
        shape, tensors.dense_like(shape, q.stride()), dtype=dtype, device=q.device
    )
    rows: tuple[Any, ...] = (0,)
    if named.return_lse:
        b, h, s = checks.DIMS[named.layout]
        rows = (q.shape[b], q.shape[h], q.shape[s])
    lse = q.new_empty(rows, dtype=torch.float32)
    if not named.max_logits:
        return o, lse
    return o, lse, q.new_empty(rows, dtype=torch.float32)


def _backward(do: Any, dlse: Any, *given: Any) -> Any:
    with torch.no_grad():
        return gradients.backward(do, dlse, given[:5], *given[5:])


def _backward_fake(do: Any, dlse: Any, *given: Any) -> Any:
    extras, _, program, _ = given[5:]
    made = [
        torch.empty_strided(
            one.shape, tensors.dense_like(tuple(one.shape), one.stride()),
            dtype=one.dtype, device=one.device,
        )
        for one in given[:3]
    ]  # fmt: skip
    named = parse(program)
    names = gradients.extra_names(named, extras)
    of_extras = [extras[names.index(name)] for name in named.grads]
    return *made, [one.new_empty(one.shape) for one in of_extras]


def _setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, extras, numbers, program, scale = inputs
    o, lse, *largest = output
    ctx.save_for_backward(q, k, v, o, lse, *extras)
    ctx.set_materialize_grads(False)
    ctx.numbers, ctx.program, ctx.scale = numbers, program, scale
    # The largest scores are for who looks on: they carry no gradient.
    if parse(program).backward not in choices.OWN:
        largest.append(lse)
    if largest:
        ctx.mark_non_differentiable(*largest)


def _backward_rule(ctx: Any, do: Any, dlse: Any, *_of_largest: Any) -> Any:
    q, k, v, o, lse, *extras = ctx.saved_tensors
    # One for every argument, and for every tensor of a list; an empty list is one
    # of tensors.
    rest = (None if ctx.numbers else [], None, None)
    if do is None and dlse is None:
        return None, None, None, [None for _ in extras], *rest
    watch.check_gradients("fa3.attention", do, dlse, q, k, v, *extras)

    def run(do: Any, dlse: Any) -> tuple[Any, ...]:
        flops.count()
        looks_on = torch.is_grad_enabled()
        function = ops.backward if looks_on else ops.backward_without_autograd
        *made, given = function(
            do, dlse, q, k, v, o, lse, extras, ctx.numbers, ctx.program, ctx.scale
        )
        return (*made, *given)

    made, of_extras = gradients_of(
        parse(ctx.program), do, dlse, (q, k, v, o, lse), extras, ctx.scale, run,
        [one.requires_grad for one in extras],
    )  # fmt: skip
    return (*made, of_extras, *rest)


def _no_second_order(ctx: Any, *grads: Any) -> Any:
    raise watch.second_order("fa3.attention")


for _key in ("CUDA", "CPU"):
    for _end in ("", "_max"):
        _library.impl(f"forward{_end}", watch.kernel(nodes.run), _key)
        _library.impl(f"inference{_end}", watch.kernel(_inference), _key)
    _library.impl("backward", watch.kernel(_backward), _key)
    _library.impl("backward_without_autograd", watch.kernel(_backward), _key)
# register_fake asks inspect for this line, which then looks for the module of this file
# among all that are loaded, 30 ms with torch. So inspect's cache says it at once.
inspect.modulesbyfile.setdefault(__file__, __name__)
for _end in ("", "_max"):
    torch.library.register_fake(f"{NAME}::forward{_end}", _forward_fake, lib=_library)
    torch.library.register_fake(f"{NAME}::inference{_end}", _forward_fake, lib=_library)
    torch.library.register_autograd(
        f"{NAME}::forward{_end}", _backward_rule, setup_context=_setup_context, lib=_library
    )
for _end in ("", "_without_autograd"):
    torch.library.register_fake(f"{NAME}::backward{_end}", _backward_fake, lib=_library)
torch.library.register_autograd(f"{NAME}::backward", _no_second_order, lib=_library)
flops.register()
