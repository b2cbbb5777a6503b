# SPDX-License-Identifier: Apache-2.0
"""What torch.compile must not trace, and what it may take for constant. Imported only
while something is traced: torch.compiler.disable and assume_constant_result import
torch._dynamo, which takes more than half as long as torch itself."""

from __future__ import annotations

from types import FunctionType
from typing import Any, NamedTuple

import torch

from . import guards
from . import inside as inside  # for fa3.api

_describe_mods = torch.compiler.assume_constant_result(guards.describe_mods)
_guards_all_of = torch.compiler.assume_constant_result(guards.guards_all_of)


@torch.compiler.assume_constant_result
def as_constant(function: Any, *args: Any) -> Any:
    """function(*args), once, where Dynamo traces: of what does not change."""
    return function(*args)


class Described(NamedTuple):
    """Mods under torch.compile: traced when Dynamo traces, their numbers and tensors
    read, and so guarded, by Dynamo."""

    text: str
    tensors: tuple[Any, ...]
    numbers: list[float]


def are_made_inside(score_mod: Any, mask_mod: Any) -> bool:
    """Whether one of them is made by the function that is compiled, or is no function."""
    for mod in (score_mod, mask_mod):
        # What is made inside has no cells yet.
        if mod is not None and not (type(mod) is FunctionType and hasattr(mod, "__closure__")):
            return True
    return False


def are_guarded(score_mod: Any, mask_mod: Any) -> bool:
    """Whether Dynamo traces them again when what they read has changed."""
    return are_made_inside(score_mod, mask_mod) or _guards_all_of(score_mod, mask_mod)


def describe(score_mod: Any, mask_mod: Any) -> Described | None:
    """Mods for fa3.torch.attention, where Dynamo traces; None where that is not known
    now. Dynamo reads all that the trace depends on here, and so guards it; what
    differs was changed by the function that is compiled, and is not yet there."""
    mods = (score_mod, mask_mod)
    if are_made_inside(score_mod, mask_mod):
        return None
    found = _describe_mods(score_mod, mask_mod)
    if found is None:
        return None
    text, tables, numbers, constants, facts, kinds, reads, indices = found
    for kind, path, expected in facts:
        if not _holds(kind, follow(mods, path), expected, mods):
            return None
    for path, value in constants:
        # A guard: another number is another trace.
        if follow(mods, path) != value:
            return None
    for path, dtype, rank, device in kinds:
        one = follow(mods, path)
        if one.dtype != dtype or one.dim() != rank or one.device != device:
            return None
    for path, what, value in reads:
        if not _is(follow(mods, path), what, value):
            return None
    for path, of_tensor, dim in indices:
        if not 0 <= follow(mods, path) < follow(mods, of_tensor).shape[dim]:
            return None
    return Described(
        text, tuple([follow(mods, path) for path in tables]),
        [float(follow(mods, path)) for path in numbers],
    )  # fmt: skip


def _holds(kind: str, value: Any, expected: Any, mods: Any) -> bool:
    if kind == "code":
        return value.__code__ is expected
    if kind == "length":
        return len(value) == expected
    if kind == "tensor":
        return value is follow(mods, expected)
    if kind == "absent":
        return expected not in value.__globals__
    if kind == "object":
        return callable(value)
    if kind == "none":
        return value is None
    # Dynamo compares no types.
    if kind == "bool":
        return isinstance(value, bool) and value == expected
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool) and value == expected
    if kind == "float":
        return isinstance(value, float) and value == expected
    if kind == "dtype":
        return value == expected
    return isinstance(value, str) and value == expected


def _is(tensor: Any, what: str, expected: Any) -> bool:
    """Whether a property of a tensor is that of fa3.mods.standins.PROPERTIES."""
    if what == "requires_grad":
        return tensor.requires_grad == expected
    if tensor.dim() != len(expected):
        return False
    for d in range(len(expected)):
        if (tensor.shape[d] if what == "shape" else tensor.stride(d)) != expected[d]:
            return False
    return True


def follow(functions: Any, path: Any) -> Any:
    """What a path of a Capture leads to. Dynamo guards every step."""
    value = functions
    for kind, name in path:
        if kind == "cell":
            value = value.__closure__[name].cell_contents
        elif kind == "defaults":
            value = value.__defaults__
        elif kind == "kwdefaults":
            value = value.__kwdefaults__
        elif kind == "global":
            value = value.__globals__[name]
        elif kind == "attribute":
            value = getattr(value, name)
        else:
            value = value[name]
    return value


@torch.compiler.disable
def run_eagerly(function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A function, as if nothing were compiled: of a call that writes into given memory, is
    under a transform, or cannot be in a graph."""
    return function(*given, **named)


@torch.compiler.disable
def run_edited(*args: Any) -> Any:
    """A call of fa3.attention with an epilogue: the graph breaks here."""
    from ..autograd.epilogues import attention

    return attention(*args)


@torch.compiler.disable
def run_watched(*args: Any) -> Any:
    """A call of fa3.torch.attention under a transform, as if nothing were compiled."""
    from ..autograd.watched import attention

    return attention(*args)
