# SPDX-License-Identifier: Apache-2.0
"""fa3 in torch: operators that torch.compile, autograd and opcheck know, and the
switch that puts fa3 behind scaled_dot_product_attention (fa3.sdpa).

    fa3.torch.activate()      # F.scaled_dot_product_attention runs fa3 where it can
    fa3.torch.report()        # what ran, and why the rest did not
"""

from __future__ import annotations

import inspect
import math
import sys
from typing import Any, Callable, Sequence

import torch

from . import api, sdpa
from .autograd import flops, nodes
from .autograd.namespace import NAME, ops
from .calls import gradients
from .errors import ArgumentError, ArgumentTypeError, UnsupportedError
from .kernels import checks
from .kernels.blocks import Lists
from .kernels.program import EXTRAS, Program, mods_text, parse, to_text
from .mods.trace import Traced, trace_mods
from .sdpa import Report, activate, deactivate, is_active, register, report
from .support import tensors, watch
from .support.values import number

__all__ = [
    "Report", "activate", "attention", "deactivate", "is_active", "register", "report",
    "set_backward",
]  # fmt: skip

# -----------------------------------------------------------------------------
# Operators
# -----------------------------------------------------------------------------

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


def _forward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, extras: Sequence[torch.Tensor],
    numbers: Sequence[float], program: str, scale: float | None,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    return nodes.run(q, k, v, extras, numbers, program, scale)


def _inference(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, extras: Sequence[torch.Tensor],
    numbers: Sequence[float], program: str, scale: float | None,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    # What was recorded without gradients may run with tensors that require some.
    if torch.is_grad_enabled() and (
        q.requires_grad or k.requires_grad or v.requires_grad
        or any([one.requires_grad for one in extras])
    ):  # fmt: skip
        raise UnsupportedError(
            "gradients of torch.ops.fa3.inference, which a graph without them was made of"
        )
    return _forward(q, k, v, extras, numbers, program, scale)


def _forward_fake(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, extras: Sequence[torch.Tensor],
    numbers: Sequence[float], program: str, scale: float | None,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
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


def _backward(
    do: torch.Tensor, dlse: torch.Tensor | None, q: torch.Tensor, k: torch.Tensor,
    v: torch.Tensor, o: torch.Tensor, lse: torch.Tensor, extras: Sequence[torch.Tensor],
    numbers: Sequence[float], program: str, scale: float | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[torch.Tensor]]:  # fmt: skip
    with torch.no_grad():
        return gradients.backward(do, dlse, q, k, v, o, lse, extras, numbers, program, scale)


def _backward_fake(
    do: torch.Tensor, dlse: torch.Tensor | None, q: torch.Tensor, k: torch.Tensor,
    v: torch.Tensor, o: torch.Tensor, lse: torch.Tensor, extras: Sequence[torch.Tensor],
    numbers: Sequence[float], program: str, scale: float | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[torch.Tensor]]:  # fmt: skip
    made = [
        torch.empty_strided(
            one.shape, tensors.dense_like(tuple(one.shape), one.stride()),
            dtype=one.dtype, device=one.device,
        )
        for one in (q, k, v)
    ]  # fmt: skip
    named = parse(program)
    names = gradients.extra_names(named, extras)
    given = [extras[names.index(name)] for name in named.grads]
    return *made, [one.new_empty(one.shape) for one in given]  # type: ignore[return-value]


def _setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, extras, numbers, program, scale = inputs
    o, lse, *largest = output
    ctx.save_for_backward(q, k, v, o, lse, *extras)
    ctx.set_materialize_grads(False)
    ctx.numbers, ctx.program, ctx.scale = numbers, program, scale
    # The largest scores are for who looks on: they carry no gradient.
    if parse(program).backward not in OWN:
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


def _no_second_order(ctx: Any, *grads: Any) -> Any:
    raise watch.second_order("fa3.attention")


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


for _key in ("CUDA", "CPU"):
    for _end in ("", "_max"):
        _library.impl(f"forward{_end}", watch.kernel(_forward), _key)
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
if NAME == "fa3":  # not a second copy of the package
    register()

# -----------------------------------------------------------------------------
# The function
# -----------------------------------------------------------------------------

_kind: str | None = "fa3"

#: What says that gradients are those of fa3's kernels.
OWN = ("fa3", "deterministic")


def set_backward(kind: str | None) -> None:
    """How gradients are computed: "fa3" by fa3's kernels (the default),
    "deterministic" by those that give the same bits in every run, which
    torch.use_deterministic_algorithms(True) selects, too, "torch" by
    aten::_flash_attention_backward, where it computes the same attention; None: not
    at all, a call that asks for some is an error."""
    global _kind
    _kind = _check_backward(kind)


nodes.run_in_c(nodes.Dense, sys.modules[__name__])
sdpa.run_in_c(sys.modules[__name__])


def set_unused_rows(kind: str) -> None:
    """What rows of o hold that are no query's, of packed and padded sequences: in front
    of and behind those of cu_seqlens_q, or behind seqused_q. "kept": what was there
    (the default), nothing writes them; "zero": 0, and -inf in lse, in caller's memory
    (out=) as well. That writes all of o once more."""
    if kind not in ("kept", "zero"):
        raise ArgumentError("kind", f"{kind!r}, expected 'kept' or 'zero'")
    from . import serving

    serving._zeroes_unused_rows = kind == "zero"


def _check_backward(kind: Any) -> str | None:
    if kind not in (None, "torch", *OWN):
        raise ArgumentError(
            "backward", f"{kind!r}, expected None, 'fa3', 'deterministic' or 'torch'"
        )
    return kind


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    softcap: float = 0.0,
    scale: float | None = None,
    score_mod: Callable[..., Any] | Traced | tuple[Any, ...] | None = None,
    mask_mod: Callable[..., Any] | None = None,
    bias: torch.Tensor | None = None,
    alibi_slopes: torch.Tensor | None = None,
    sinks: torch.Tensor | None = None,
    q_descale: torch.Tensor | None = None,
    k_descale: torch.Tensor | None = None,
    v_descale: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    return_lse: bool = False,
    layout: str = "bhsd",
    interpret: bool | str = False,
    backward: str | None = None,
    lists: Lists | None = None,
    dropout_p: float = 0.0,
    rng_state: torch.Tensor | None = None,
    max_logits: bool = False,
    previous: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> Any:
    """fa3.attention as an operator of torch, torch.ops.fa3.forward, or inference where
    there are no gradients: for torch.compile and for gradients, of q, k, v, sinks,
    bias, slopes and the tensors of mods, and through lse. `backward` as set_backward
    has it; `lists` of blocks, as fa3.kernels.blocks reads them, for_gradients where there are
    some. With `max_logits` o, lse and the largest score of every query, which carries no
    gradient, by torch.ops.fa3.forward_max or inference_max."""
    compiling = torch.compiler.is_compiling()
    if isinstance(scale, torch.Tensor):
        scale = number("scale", scale)
    if watch.is_derived() if compiling else watch.is_watched():
        door = api.dynamo_door().run_watched if compiling else api.watched_door()
        return door(
            q, k, v, causal=causal, window=window, softcap=softcap, scale=scale,
            score_mod=score_mod, mask_mod=mask_mod, bias=bias, alibi_slopes=alibi_slopes,
            sinks=sinks, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale,
            out_dtype=out_dtype, return_lse=return_lse, layout=layout,
            interpret=interpret, backward=backward, lists=lists, dropout_p=dropout_p,
            rng_state=rng_state, max_logits=max_logits, previous=previous,
        )  # fmt: skip
    if dropout_p:
        rng_state = state_of(dropout_p, q, rng_state)
    q, k, v = tensors.autocast(q, k, v)
    of_others = previous or (None, None)
    extras, numbers, program, needs_grad = prepare(
        q, k, v, causal, window, softcap, scale, score_mod, mask_mod,
        (q_descale, k_descale, v_descale, bias, alibi_slopes, sinks, *of_others, rng_state),
        out_dtype, return_lse, layout, interpret, backward, lists, dropout_p=dropout_p,
        max_logits=max_logits,
    )  # fmt: skip
    extras = tensors.beside(q, extras)
    if max_logits:
        operator = ops.forward_max if needs_grad else ops.inference_max
        return operator(q, k, v, extras, numbers, program, scale)
    if needs_grad and not compiling and nodes.takes(q, k, v, *extras):
        asked = nodes.Asked(program, scale, tuple(numbers))
        o, lse = nodes.Dense.apply(q, k, v, asked, *extras)
    else:
        operator = ops.forward if needs_grad else ops.inference
        o, lse = operator(q, k, v, extras, numbers, program, scale)
    return (o, lse) if return_lse else o


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


def prepare(
    q: Any, k: Any, v: Any, causal: Any, window: Any, softcap: Any, scale: Any,
    score_mod: Any, mask_mod: Any, given: Sequence[Any], out_dtype: Any, return_lse: Any,
    layout: Any, interpret: Any, backward: Any, lists: Any,
    requires_grad: Callable[[Any], bool] = lambda one: one.requires_grad,
    dropout_p: float = 0.0, max_logits: bool = False,
) -> tuple[list[Any], list[float], str, bool]:  # fmt: skip
    """The extras, numbers and program of an operator, and whether it is the one with
    gradients."""
    kind = _check_backward(backward) or _kind
    traced, mods, tables, numbers = None, "", (), []
    if isinstance(score_mod, tuple):  # dynamo.Described
        mods, tables, numbers = score_mod
    elif score_mod is not None or mask_mod is not None:
        traced = score_mod if isinstance(score_mod, Traced) else trace_mods(
            score_mod, mask_mod
        )  # fmt: skip
        mods, tables = mods_text(traced), traced.tensors
        numbers = [float(one) for one in traced.scalars]
    if not dropout_p:
        given = given[: EXTRAS.index("rng_state")]
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
        reason = _no_backward(
            q, k, v, causal, softcap, layout, kind, given, traced, requires_grad, out_dtype
        )
        if lists is not None and not reason:
            reason = _no_lists(lists, kind, given, tables, requires_grad)
        if reason:
            raise UnsupportedError(f"gradients of fa3.attention: {reason}")
        if kind != "torch":
            checks.check_scale(scale, q.shape[3], gradients=True)
    # A backward needs lse.
    program = to_text(
        causal, window, softcap, out_dtype, return_lse or needs_grad or max_logits, layout,
        names, mods, kind if needs_grad else None, interpret, False,
        _grads(given, tables, requires_grad) if needs_grad else "", size, dropout_p,
        max_logits,
    )  # fmt: skip
    return [*extras, *tables], numbers, program, needs_grad


def _no_lists(
    lists: Lists, kind: str | None, given: Sequence[Any], tables: Sequence[Any],
    requires_grad: Callable[[Any], bool],
) -> str:  # fmt: skip
    """Why there are no gradients beside lists of blocks; "" if there are."""
    if kind not in OWN:
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
    q: Any, k: Any, v: Any, causal: Any, softcap: Any, layout: str, kind: str | None,
    given: Sequence[Any], traced: Traced | None, requires_grad: Callable[[Any], bool],
    out_dtype: Any = None,
) -> str:  # fmt: skip
    """Why there are no gradients; "" if there are."""
    if kind is None:
        return "they are switched off by set_backward(None); use torch.no_grad()"
    if q.is_nested and q.layout == torch.strided:
        return "a nested tensor, expected a plain one"
    if q.dtype not in (torch.float16, torch.bfloat16):
        return f"element type {q.dtype}, the backward takes float16 and bfloat16"
    if kind in OWN:
        return "" if out_dtype in (None, q.dtype) else f"out_dtype {out_dtype}, expected {q.dtype}"
    if traced is not None or any(one is not None for one in given):
        return "torch's backward takes no mods, bias, slopes, sinks, previous or dropout"
    if q.shape[3] != v.shape[3]:
        return f"head dims {q.shape[3]} and {v.shape[3]}, torch's backward takes equal ones"
    if softcap:
        return f"softcap {softcap}, torch's backward takes none"
    _, _, s = checks.DIMS[layout]
    if causal and q.shape[s] != k.shape[s]:
        return (
            f"causal with {q.shape[s]} queries and {k.shape[s]} keys, torch's backward "
            "takes equal numbers"
        )
    return ""
