# SPDX-License-Identifier: Apache-2.0
"""Functions and types that give the same for the same arguments, whatever else has
happened: mods that call no others are traced once."""

from __future__ import annotations

import builtins
import math
import sys
import types
from typing import Any

from .scalars.functions import ALIASES, FUNCTIONS

_BUILTINS = frozenset((
    "abs", "all", "any", "bin", "bool", "chr", "dict", "divmod", "enumerate", "filter",
    "float", "format", "frozenset", "int", "iter", "len", "list", "map", "max", "min",
    "next", "ord", "pow", "range", "reversed", "round", "set", "slice", "sorted", "str",
    "sum", "tuple", "zip",
))  # fmt: skip
#: Of torch, besides those that are traced: what it has decompositions of.
_OF_TORCH = frozenset((
    "acos", "acosh", "addcdiv", "asin", "asinh", "atanh", "celu", "copysign", "cosh",
    "erfc", "frac", "full_like", "gelu", "hardshrink", "hardsigmoid", "hardswish",
    "heaviside", "hypot", "isfinite", "isinf", "isnan", "log10", "mish", "nan_to_num",
    "ones_like", "relu6", "selu", "sinh", "softshrink", "softsign", "tan", "tanhshrink",
    "threshold", "xlogy", "zeros_like",
)) | FUNCTIONS.keys() | ALIASES.keys()  # fmt: skip
_FOLDERS_OF_TORCH = ("torch", "torch.functional", "torch.nn.functional", "torch.special")

_known: dict[int, Any] = {}
_MAX_KNOWN = 4096


def is_pure(value: Any) -> bool:
    """Whether a function of C, or a type, is one of those."""
    if _known.get(id(value)) is value:
        return True
    pure = _look_at_type(value) if isinstance(value, type) else _look_at_builtin(value)
    if pure:
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        _known[id(value)] = value
    return pure


def _look_at_builtin(value: Any) -> bool:
    if type(value) is not types.BuiltinFunctionType:
        return False
    owner = value.__self__
    if owner is builtins:
        return value.__name__ in _BUILTINS
    if owner is math:
        return True
    torch, name = sys.modules.get("torch"), value.__name__
    if torch is None or name not in _OF_TORCH:
        return False
    places = (torch._C._VariableFunctions, torch._C._nn, torch._C._special)
    return any(getattr(one, name, None) == value for one in places)


def _look_at_type(value: type) -> bool:
    if value.__module__ == "builtins":
        same = getattr(builtins, value.__name__, None) is value
        return same and (value.__name__ in _BUILTINS or issubclass(value, BaseException))
    torch = sys.modules.get("torch")
    return torch is not None and (value is torch.finfo or value is torch.iinfo)


def is_of_torch(function: types.FunctionType) -> bool:
    """Whether a function of Python is torch's own, and one of those."""
    if function.__name__ not in _OF_TORCH or function.__closure__:
        return False
    name = function.__globals__.get("__name__")
    module = sys.modules.get(name) if name in _FOLDERS_OF_TORCH else None
    return module is not None and module.__dict__ is function.__globals__


def is_pure_module(value: types.ModuleType) -> bool:
    """Whether that is torch or math, which no program replaces."""
    return value is math or value is sys.modules.get("torch") or (
        value is sys.modules.get("torch.nn.functional")
    )  # fmt: skip
