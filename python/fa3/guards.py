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
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            made.append(cell.cell_contents)
    return made


def _guards_value(value: Any, names: set[str], seen: set[int]) -> bool:
    if id(value) in seen or type(value) in _PLAIN or isinstance(value, torch.Tensor):
        return True
    seen.add(id(value))
    if isinstance(value, types.ModuleType):
        return value.__name__ in ("torch", "math") or value.__name__.startswith("torch.")
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
