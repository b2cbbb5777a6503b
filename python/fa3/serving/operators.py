# SPDX-License-Identifier: Apache-2.0
"""Packed, padded and paged sequences, and merges, as operators: torch.ops.fa3.serve,
append, packed, packed_backward, merge. torch.compile puts them into its graphs; eager
calls go past them. Imported while something is traced."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from ..autograd import flops
from ..autograd.namespace import NAME, ops
from ..calls import gradients, merging
from ..errors import UnsupportedError
from ..kernels.arguments import Sequences
from ..support import watch
from . import nibbles, packed_kernels
from .eager import run

_ARRAYS = "Tensor? cu_q, Tensor? cu_k, Tensor? used_q, Tensor? used_k"
_PLACES = "Tensor? batch_index, Tensor? leftpad, Tensor? page_table"
_SCALES = "Tensor? sinks, Tensor? q_descale, Tensor? k_descale, Tensor? v_descale"
_MASK = (
    "bool causal, int? window_left, int? window_right, float softcap, int chunk, "
    "float? scale"
)
_HOW = "int splits, bool? pack_heads, bool return_lse, str interpret"
_NEW = (
    "Tensor? k_new, Tensor? v_new, Tensor? rotary_cos, Tensor? rotary_sin, "
    "bool rotary_interleaved, Tensor? rotary_at, Tensor? cu_new"
)
_MOST = "SymInt? max_q, SymInt? max_k"

# No argument has a default, as in fa3.torch.
_library = torch.library.Library(NAME, "FRAGMENT")
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides)
for _schema in (
    f"serve(Tensor q, Tensor k, Tensor v, {_ARRAYS}, {_PLACES}, {_SCALES}, {_MOST}, "
    f"{_MASK}, {_HOW}) -> (Tensor, Tensor)",
    # New keys and values are written into k and v.
    f"append(Tensor q, Tensor(a!) k, Tensor(b!) v, {_ARRAYS}, {_PLACES}, {_SCALES}, "
    f"{_MOST}, {_MASK}, {_HOW}, {_NEW}) -> (Tensor, Tensor)",
    f"packed(Tensor q, Tensor k, Tensor v, {_ARRAYS}, SymInt max_q, SymInt max_k, {_MASK}, "
    "bool deterministic, str interpret) -> (Tensor, Tensor)",
    "packed_backward(Tensor do, Tensor? dlse, Tensor q, Tensor k, Tensor v, Tensor o, "
    f"Tensor lse, {_ARRAYS}, SymInt max_q, SymInt max_k, {_MASK}, bool deterministic, "
    "str interpret) -> (Tensor, Tensor, Tensor)",
    "merge(Tensor outs, Tensor lses, Tensor? sinks, str layout, ScalarType? out_dtype, "
    "str interpret) -> (Tensor, Tensor)",
):
    _library.define(_schema, tags=_TAGS)

# -----------------------------------------------------------------------------
# Forward
# -----------------------------------------------------------------------------


def _spelled(interpret: bool | str) -> str:
    return interpret if isinstance(interpret, str) else "tile" if interpret else ""


def _ends(window: Any) -> tuple[int | None, int | None]:
    left, right = (None, None) if window is None else window
    return left, right


_FIRST = (
    "cu_q", "cu_k", "used_q", "used_k", "batch_index", "leftpad", "page_table", "sinks",
    "q_descale", "k_descale", "v_descale", "max_q", "max_k", "causal",
)  # fmt: skip
_LAST = ("chunk", "scale", "splits", "pack_heads", "return_lse")
_NEW_NAMES = (
    "k_new", "v_new", "rotary_cos", "rotary_sin", "rotary_interleaved", "rotary_at",
    "cu_new",
)  # fmt: skip
_NAMES = (*_FIRST, "left", "right", "softcap", *_LAST, "interpret", *_NEW_NAMES)


def serve(q: Any, k: Any, v: Any, asked: Sequences) -> Any:
    """serving.attention, where graphs are made, or others record; `out` by a copy."""
    if not torch.compiler.is_compiling():
        flops.count()
    left, right = _ends(asked.window)
    rest = [getattr(asked, name) for name in _FIRST]
    rest += [left, right, float(asked.softcap)]
    rest += [getattr(asked, name) for name in _LAST]
    rest.append(_spelled(asked.interpret))
    new = [getattr(asked, name) for name in _NEW_NAMES]
    if all([one is None for one in (*new[:4], *new[5:])]):
        o, lse = ops.serve(q, k, v, *rest)
    else:
        o, lse = ops.append(q, k, v, *rest, *new)
    out = asked.out
    if out is not None:
        watch.check_output("out", o, out)
        out.copy_(o)
        o = out
    return (o, lse) if asked.return_lse else o


def _asked(names: Sequence[str], given: Sequence[Any]) -> Sequences:
    """What an operator is asked for, of its arguments by name."""
    named = dict(zip(names, given))
    ends = named.pop("left"), named.pop("right")
    named["interpret"] = named["interpret"] or False
    return Sequences(window=None if ends == (None, None) else ends, **named)


def _serve(q: Any, k: Any, v: Any, *given: Any) -> Any:
    asked = _asked(_NAMES, given)
    made = run(q, k, v, asked)
    return made if asked.return_lse else (made, q.new_empty((0,), dtype=torch.float32))


def _outputs(q: Any, k: Any, v: Any, return_lse: bool) -> Any:
    """o and lse of a fake call, in the memory order of serving.attention."""
    dtype = q.dtype if q.element_size() > 1 else torch.bfloat16
    columns = v.shape[-1] * (2 if nibbles.are_in(q, v) else 1)
    o = q.new_empty((*q.shape[:-1], columns), dtype=dtype)
    if not return_lse:
        return o, q.new_empty((0,), dtype=torch.float32)
    rows = (q.shape[1], q.shape[0]) if q.dim() == 3 else (q.shape[0], q.shape[2], q.shape[1])
    return o, q.new_empty(rows, dtype=torch.float32)


def _serve_fake(q: Any, k: Any, v: Any, *rest: Any) -> Any:
    return _outputs(q, k, v, rest[21])


# -----------------------------------------------------------------------------
# With gradients
# -----------------------------------------------------------------------------


_PACKED_NAMES = (
    "cu_q", "cu_k", "used_q", "used_k", "max_q", "max_k", "causal", "left", "right",
    "softcap", "chunk", "scale", "deterministic", "interpret",
)  # fmt: skip


def _described(asked: Sequences, deterministic: bool) -> tuple[Any, ...]:
    """Arguments of an operator behind starts and lengths."""
    left, right = _ends(asked.window)
    return (
        asked.max_q, asked.max_k, asked.causal, left, right, float(asked.softcap), asked.chunk,
        asked.scale, deterministic, _spelled(asked.interpret),
    )  # fmt: skip


def attention(q: Any, k: Any, v: Any, asked: Sequences, deterministic: bool) -> Any:
    """packed.attention, where Dynamo traces, or others record."""
    o, lse = ops.packed(
        q, k, v, asked.cu_q, asked.cu_k, asked.used_q, asked.used_k,
        *_described(asked, deterministic or gradients.is_deterministic()),
    )  # fmt: skip
    return (o, lse) if asked.return_lse else o


def _packed(q: Any, k: Any, v: Any, *given: Any) -> Any:
    *rest, _, interpret = given
    names = [name for name in _PACKED_NAMES if name != "deterministic"]
    return run(q, k, v, _asked(names, (*rest, interpret)).replace(return_lse=True))


def _packed_fake(q: Any, k: Any, v: Any, *rest: Any) -> Any:
    return _outputs(q, k, v, True)


def _setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    *given, max_q, max_k, causal, left, right, softcap, chunk, scale, same, where = inputs
    ctx.save_for_backward(*given, *output)
    ctx.rest = (max_q, max_k, causal, left, right, softcap, chunk, scale, same, where)
    ctx.set_materialize_grads(False)


def _backward_rule(ctx: Any, do: Any, dlse: Any) -> Any:
    none = (None,) * 14
    if do is None and dlse is None:
        return None, None, None, *none
    q, k, v, cu_q, cu_k, used_q, used_k, o, lse = ctx.saved_tensors
    if do is None:
        do = torch.zeros_like(o)
    watch.check_gradients("packed sequences", do, dlse)
    grads = ops.packed_backward(
        do, dlse, q, k, v, o, lse, cu_q, cu_k, used_q, used_k, *ctx.rest
    )
    return *grads, *none


def _packed_backward(do: Any, dlse: Any, *given: Any) -> Any:
    saved, (*rest, deterministic, interpret) = given[:5], given[5:]
    names = [name for name in _PACKED_NAMES if name != "deterministic"]
    grads = [one.new_zeros(one.shape) for one in saved[:3]]
    asked = _asked(names, (*rest, interpret))
    packed_kernels.gradients(do, dlse, saved, grads, asked, deterministic)
    return tuple(grads)


def backward(
    do: Any, dlse: Any, given: Sequence[Any], asked: Sequences, deterministic: bool
) -> Any:
    """dq, dk and dv of packed sequences; `given` are the tensors of a call and its
    results, as packed_kernels.READ has them."""
    flops.count()
    q, k, v, *arrays, o, lse = given
    return ops.packed_backward(
        do, dlse, q, k, v, o, lse, *arrays, *_described(asked, deterministic)
    )


def _packed_backward_fake(do: Any, dlse: Any, q: Any, k: Any, v: Any, *rest: Any) -> Any:
    return tuple(one.new_empty(one.shape) for one in (q, k, v))


def _without(what: str) -> Any:
    def rule(ctx: Any, *grads: Any) -> Any:
        raise UnsupportedError(what)

    return rule


# -----------------------------------------------------------------------------
# Merges
# -----------------------------------------------------------------------------


def merge(
    outs: Any, lses: Any, sinks: Any, layout: str, out_dtype: Any, interpret: bool | str
) -> Any:
    """fa3.merge, where Dynamo traces, or others record."""
    outs, lses = (
        torch.stack(list(one)) if isinstance(one, (list, tuple)) else one
        for one in (outs, lses)
    )
    for name, one in (("outs", outs), ("lses", lses), ("sinks", sinks)):
        if one is not None and one.requires_grad and torch.is_grad_enabled():
            raise UnsupportedError(f"merge: gradients, and '{name}' requires some")
    return ops.merge(outs, lses, sinks, layout, out_dtype, _spelled(interpret))


def _merge(
    outs: Any, lses: Any, sinks: Any, layout: str, out_dtype: Any, interpret: str
) -> Any:
    return merging.run(
        outs, lses, sinks=sinks, layout=layout, out_dtype=out_dtype, interpret=interpret or False
    )


def _merge_fake(
    outs: Any, lses: Any, sinks: Any, layout: str, out_dtype: Any, interpret: str
) -> Any:
    return (
        outs.new_empty(outs.shape[1:], dtype=out_dtype or outs.dtype),
        lses.new_empty(lses.shape[1:]),
    )


for _name, _function, _fake in (
    ("serve", _serve, _serve_fake),
    ("append", _serve, _serve_fake),
    ("packed", _packed, _packed_fake),
    ("packed_backward", _packed_backward, _packed_backward_fake),
    ("merge", _merge, _merge_fake),
):
    for _key in ("CUDA", "CPU"):
        _library.impl(_name, watch.kernel(_function), _key)
    torch.library.register_fake(f"{NAME}::{_name}", _fake, lib=_library)
torch.library.register_autograd(
    f"{NAME}::packed", _backward_rule, setup_context=_setup_context, lib=_library
)
for _name, _what in (
    ("packed_backward", str(watch.second_order("packed sequences"))),
    ("serve", "gradients of torch.ops.fa3.serve; fa3.serving.packed.attention has some"),
    ("merge", "gradients of fa3.merge"),
):
    torch.library.register_autograd(f"{NAME}::{_name}", _without(_what), lib=_library)
flops.register()
