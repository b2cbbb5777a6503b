# SPDX-License-Identifier: Apache-2.0
"""What Dynamo guards of a function that it traces into: cells, globals, elements and
attributes of instances, but not defaults and code of helpers, nor what a class or a
module of the user gives (torch 2.11)."""

from __future__ import annotations

import contextlib
import types
from typing import Any

import torch

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
