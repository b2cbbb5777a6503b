# SPDX-License-Identifier: Apache-2.0
"""Copies of functions with stand-ins for what they captured, in the order in which a
Capture found it."""

from __future__ import annotations

import functools
import types
from typing import Any, Callable

from ..support import tensors
from . import reads
from .capture import is_numpy_number
from .pure import is_of_torch


class Copies:
    """`number(value)` and `tensor(value)` give the stand-in of the next number, and of
    the next tensor that was not there before. What was one object stays one."""

    def __init__(
        self, number: Callable[[Any], Any], tensor: Callable[[Any], Any]
    ) -> None:
        self._number, self._tensor = number, tensor
        #: By the identity of an original, which is kept.
        self._made: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any) -> Any:
        kind = type(value)
        if kind is int or kind is float:
            return self._number(value)
        known = self._made.get(id(value))
        if known is not None:
            return known[1]
        if tensors.is_torch(value):
            return self._keep(value, self._tensor(value))
        if kind is types.FunctionType:
            return value if is_of_torch(value) else self._function(value)
        if kind is tuple:
            return tuple(self.of(one) for one in value)
        if kind is list:
            copied: list[Any] = self._keep(value, [])
            copied.extend(self.of(one) for one in value)
            return copied
        if kind is dict:
            named: dict[Any, Any] = self._keep(value, {})
            named.update({key: self.of(one) for key, one in value.items()})
            return named
        if kind is functools.partial and not value.__dict__:
            function, args = self.of(value.func), self.of(value.args)
            return self._keep(
                value, functools.partial(function, *args, **self.of(value.keywords))
            )
        return self._number(value) if is_numpy_number(value) else value

    def _keep(self, value: Any, made: Any) -> Any:
        self._made[id(value)] = (value, made)
        return made

    def _function(self, function: types.FunctionType) -> Any:
        code, scope = function.__code__, function.__globals__
        named = [one for one, _ in reads.of(code).globals if tensors.is_torch(scope.get(one))]
        if named:
            scope = dict(scope)
        # It may capture itself.
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        made = self._keep(function, types.FunctionType(
            code, scope, function.__name__, None, cells
        ))  # fmt: skip
        for new, cell in zip(cells, function.__closure__ or ()):
            try:
                contents = cell.cell_contents
            except ValueError:  # not yet assigned
                continue
            new.cell_contents = self.of(contents)
        if function.__defaults__ is not None:
            made.__defaults__ = self.of(function.__defaults__)
        if function.__kwdefaults__ is not None:
            made.__kwdefaults__ = self.of(function.__kwdefaults__)
        if function.__dict__:
            made.__dict__.update(self.of(function.__dict__))
        for name in named:
            scope[name] = self.of(scope[name])
        return made
