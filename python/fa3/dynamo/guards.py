# SPDX-License-Identifier: Apache-2.0
"""What Dynamo guards of a function that it traces into: cells, globals, elements and
attributes of instances, but not defaults and code of helpers, nor what a class or a
module of the user gives (torch 2.11); and what a trace of mods depends on."""

from __future__ import annotations

import contextlib
import types
from typing import Any

import torch

from ..kernels.program import mods_text
from ..mods import trace
from ..mods.capture import Capture

_PLAIN = (int, float, bool, str, bytes, type(None), torch.dtype, torch.device)


def guards_all_of(*mods: Any) -> bool:
    """Whether all that the mods read is of the kinds that Dynamo guards."""
    return all(mod is None or _guards_function(mod) for mod in mods)


def _guards_function(function: Any) -> bool:
    if function.__defaults__ or function.__kwdefaults__:
        return False
    names = _names(function.__code__)
    read = _contents(function)
    read += [function.__globals__[n] for n in names if n in function.__globals__]
    seen: set[int] = set()
    return all(_guards_value(one, names, seen) for one in read)


def _guards_inner(function: Any, seen: set[int]) -> bool:
    """Of a mod that a function of an installed package has in a cell."""
    if id(function) in seen or _is_installed(function.__module__):
        return _guards_value(function, set(), seen)
    return _guards_function(function)


def _is_installed(name: str | None) -> bool:
    return (name or "").partition(".")[0] in ("torch", "transformers", "fa3")


def _names(code: Any) -> set[str]:
    """Names of globals and attributes, those of functions inside as well."""
    names = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            names |= _names(one)
    return names


def _contents(function: Any) -> list[Any]:
    """Of cells that have some."""
    made = []
    for cell in getattr(function, "__closure__", None) or ():
        with contextlib.suppress(ValueError):
            made.append(cell.cell_contents)
    return made


def _guards_value(value: Any, names: set[str], seen: set[int]) -> bool:
    if id(value) in seen or type(value) in _PLAIN or isinstance(value, torch.Tensor):
        return True
    seen.add(id(value))
    if isinstance(value, types.ModuleType):
        return value.__name__ == "math" or _is_installed(value.__name__)
    if isinstance(value, (types.FunctionType, type)) and _is_installed(value.__module__):
        # What it has been made with is guarded; the rest nobody changes.
        return all(
            _guards_value(one, names, seen) if not isinstance(one, types.FunctionType)
            else _guards_inner(one, seen)
            for one in _contents(value)
        )
    if type(value) in (list, tuple):
        return all(_guards_value(one, names, seen) for one in value)
    if type(value) is dict:
        return all(_guards_value(one, names, seen) for one in value.values())
    own = dict(getattr(value, "__dict__", {}))
    if isinstance(value, torch.nn.Module):
        own |= {**own["_parameters"], **own["_buffers"], **own["_modules"]}
    elif callable(value) or not own:
        return False
    # An instance: what is its own is guarded, what its class gives is not.
    return all(
        _guards_value(own[n], names, seen) if n in own else not hasattr(type(value), n)
        for n in names
    )


def describe_mods(score_mod: Any, mask_mod: Any) -> Any:
    """For torch.compile: traced mods as text; where the tensors and numbers that are
    its arguments are, and the numbers that are its constants, as paths for
    fa3.dynamo.follow; and all else that the trace depends on, as facts. None if that
    is not known, or cannot be followed."""
    capture = Capture(score_mod, mask_mod, paths=True)
    if capture.volatile or capture.facts is None:
        return None
    entry, _ = trace.find_entry(capture, {"score_mod": score_mod, "mask_mod": mask_mod})
    if capture.volatile or -1 in entry.tensors:
        return None
    constants = tuple((capture.number_paths[n], value) for n, value in entry.constants.items())
    if any(value == 0 or value != value for _, value in constants):
        return None  # Dynamo does not tell the signs of zeros
    return (
        mods_text(entry.traced),
        tuple(capture.tensor_paths[n] for n in entry.tensors),
        tuple(capture.number_paths[n] for n in entry.numbers),
        constants,
        tuple(
            (kind, path, capture.tensor_paths[value] if kind == "tensor" else value)
            for kind, path, value in capture.facts
        ),
        tuple(
            (capture.tensor_paths[n], one.dtype, one.dim(), one.device)
            for n, one in enumerate(capture.tensors)
        ),
        tuple((capture.tensor_paths[n], what, value) for n, what, value in entry.reads),
        tuple(
            (capture.number_paths[n], capture.tensor_paths[t], dim) for n, t, dim in entry.indices
        ),
    )
