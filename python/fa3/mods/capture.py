# SPDX-License-Identifier: Apache-2.0
"""What a mod captures: numbers, tensors and other functions in its closure.

A Capture gives a key that is equal for functions that compute the same up to
captured numbers and tensors, their values in order, and a copy of the function
with stand-ins in their places. The key says all that the code can read (reads.py):
constants and functions in cells, defaults, globals and attributes of modules, by
value or as themselves, and which of the captured tensors are one. Whatever else is
read makes a capture volatile: such a mod is traced at every call."""

from __future__ import annotations

import builtins
import functools
import sys
import types
from typing import Any, Callable

from ..support import tensors
from . import reads
from .pure import is_of_torch, is_pure, is_pure_module

_missing = object()
_BUILTINS = builtins.__dict__
#: Paths of what Dynamo cannot follow.
NOWHERE: Any = None


class Capture:
    """`paths`: says in `facts` where each thing is, for Dynamo, as (kind, path, value);
    None where something cannot be followed."""

    def __init__(
        self, *functions: Callable[..., Any] | None, paths: bool = False
    ) -> None:
        self.numbers: list[int | float] = []
        self.number_names: list[str] = []
        #: Each one once.
        self.tensors: list[Any] = []
        self.tensor_names: list[str] = []
        #: Where each was found, as steps from the functions.
        self.number_paths: list[Any] = []
        self.tensor_paths: list[Any] = []
        self.volatile = False
        #: Whether the functions themselves are run, without stand-ins.
        self.as_it_is = False
        self.facts: list[Any] | None = [] if paths else None
        self._seen: dict[Any, int] = {}
        key = []
        for n, one in enumerate(functions):
            key.append(self._key(one, "mod", (("item", n),) if paths else NOWHERE))
        torch = tensors.torch_module()
        if torch is not None:
            # What a function of torch makes of plain numbers.
            key.append(torch.get_default_dtype())
        self.key = tuple(key)

    # -- what becomes an argument ---------------------------------------------

    def _key(self, value: Any, name: str, path: Any, chains: reads.Chains = ((),)) -> Any:
        kind = type(value)
        if kind is int or kind is float:
            return self._number(value, kind, name, path)
        if kind is types.FunctionType:
            if not is_of_torch(value):
                return self._function_key(value, path)
        elif tensors.is_torch(value):
            return self._tensor(value, name, path)
        elif kind is tuple or kind is list or kind is dict:
            return self._items_key(value, name, path)
        elif kind is functools.partial:
            if self._is_again(value) or value.__dict__:
                return self._open(value)
            self.facts = None
            return (
                "partial", self._key(value.func, name, NOWHERE),
                self._key(value.args, name, NOWHERE),
                self._key(value.keywords, name, NOWHERE),
            )  # fmt: skip
        elif is_numpy_number(value):
            return self._number(value.item(), kind, name, NOWHERE)
        return self._baked(value, path, chains)

    def _number(self, value: int | float, kind: type, name: str, path: Any) -> Any:
        self.numbers.append(value)
        self.number_names.append(name)
        self.number_paths.append(path)
        if path is NOWHERE:
            self.facts = None
        return kind

    def _tensor(self, value: Any, name: str, path: Any) -> Any:
        number = self._seen.get(id(value))
        if number is None:
            number = self._seen[id(value)] = len(self.tensors)
            self.tensors.append(value)
            self.tensor_names.append(name)
            self.tensor_paths.append(path)
            key = ("tensor", value.dtype, value.dim(), value.device)
        else:
            key = ("again", number)
        if self.facts is not None:
            self._fact("tensor", path, number)
        return key

    def _items_key(self, value: Any, name: str, path: Any) -> Any:
        """Of a tuple, a list or a dictionary."""
        kind = type(value)
        if kind is not tuple and self._is_again(value):
            return self._open(value)
        self._items_fact(path, value)
        if kind is dict:
            keys = tuple(self._constant(one) for one in value)
            return (kind, keys, *(
                self._key(one, name, _step(path, "item", key))
                for key, one in value.items()
            ))  # fmt: skip
        return (kind, *(
            self._key(one, name, _step(path, "item", n)) for n, one in enumerate(value)
        ))  # fmt: skip

    def _function_key(self, function: types.FunctionType, path: Any) -> Any:
        again = self._again(function, "function")
        if again is not None:
            return again
        code = function.__code__
        read = reads.of(code)
        if read.is_open:
            self.volatile = True
            self.as_it_is |= read.as_it_is
        scope = function.__globals__
        if type(scope) is not dict:
            self.volatile = True
        key: list[Any] = [read]
        if self.facts is not None:
            self._function_facts(function, path)
        for n, cell in enumerate(function.__closure__ or ()):
            key.append(self._key(
                _contents(cell), code.co_freevars[n], path and _step(path, "cell", n),
                read.cells[n],
            ))  # fmt: skip
        if function.__defaults__ is not None:
            key.append(self._key(
                function.__defaults__, code.co_name, path and _step(path, "defaults")
            ))  # fmt: skip
        if function.__kwdefaults__ is not None:
            key.append(("named", self._key(
                function.__kwdefaults__, code.co_name, path and _step(path, "kwdefaults")
            )))  # fmt: skip
        if function.__dict__:
            key.append(("attributes", self._key(function.__dict__, code.co_name, NOWHERE)))
        for name, chains in read.globals:
            value = scope.get(name, _missing)
            if value is not _missing and tensors.is_torch(value):
                key.append(self._tensor(value, name, path and _step(path, "global", name)))
            else:
                key.append(self._global(function, name, value, chains, path))
        return tuple(key)

    # -- what is a constant of the kernel -------------------------------------

    def _global(
        self, function: types.FunctionType, name: str, value: Any, chains: reads.Chains,
        path: Any,
    ) -> Any:  # fmt: skip
        if value is not _missing:
            return self._baked(value, path and _step(path, "global", name), chains)
        self._fact("absent", path, name)
        scope = function.__builtins__
        if scope is not _BUILTINS:
            return self._open(scope)
        value = _BUILTINS.get(name, _missing)
        if value is _missing:
            return _missing
        if is_pure(value):
            return value
        return self._open(value)

    def _baked(self, value: Any, path: Any, chains: reads.Chains) -> Any:
        """The key of what is read while tracing, and not replaced."""
        kind = type(value)
        if kind is types.ModuleType:
            return tuple([self._of_module(value, one, path) for one in chains])
        if kind is types.FunctionType:
            return self._baked_function(value, path)
        if kind is types.BuiltinFunctionType or isinstance(value, type):
            self._fact("object", path, None)
            return value if is_pure(value) else self._open(value)
        if kind is tuple or kind is list or kind is dict:
            return self._baked_items(value, path)
        if kind is functools.partial and not value.__dict__:
            self.facts = None
            return (
                "partial", self._baked(value.func, NOWHERE, ((),)),
                self._baked(value.args, NOWHERE, ((),)),
                self._baked(value.keywords, NOWHERE, ((),)),
            )  # fmt: skip
        if self.facts is not None:
            self._constant_fact(path, value)
        return self._constant(value)

    def _of_module(self, value: Any, chain: tuple[str, ...], path: Any) -> Any:
        if not is_pure_module(value):
            self.facts = None  # as lists
        for n, name in enumerate(chain):
            value = value.__dict__.get(name, _missing)
            path = path and _step(path, "attribute", name)
            if type(value) is not types.ModuleType:
                return self._baked(value, path, (chain[n + 1 :],))
        return self._open(value)

    def _baked_items(self, value: Any, path: Any) -> Any:
        kind = type(value)
        if kind is not tuple and self._is_again(value):
            return self._open(value)
        self._items_fact(path, value)
        items = value.items() if kind is dict else enumerate(value)
        return (kind, *(
            (self._constant(key), self._baked(one, path and _step(path, "item", key), ((),)))
            for key, one in items
        ))  # fmt: skip

    def _baked_function(self, function: types.FunctionType, path: Any) -> Any:
        code = function.__code__
        if is_of_torch(function):
            self._fact("code", path, code)
            return function, code
        again = self._again(function, "baked")
        if again is not None:
            return again
        read = reads.of(code)
        if read.is_open or type(function.__globals__) is not dict:
            self.volatile = True
            self.as_it_is |= read.as_it_is
        if self.facts is not None:
            self._function_facts(function, path)
        scope = function.__globals__
        return (
            read,
            tuple([
                self._baked(_contents(cell), path and _step(path, "cell", n), read.cells[n])
                for n, cell in enumerate(function.__closure__ or ())
            ]),
            self._baked(function.__defaults__, path and _step(path, "defaults"), ((),)),
            self._baked(function.__kwdefaults__, path and _step(path, "kwdefaults"), ((),)),
            self._baked(function.__dict__, NOWHERE, ((),)),
            tuple([
                self._global(function, name, scope.get(name, _missing), chains, path)
                for name, chains in read.globals
            ]),
        )  # fmt: skip

    def _constant(self, value: Any) -> Any:
        """A key of a value that cannot change."""
        kind = type(value)
        if value is None or kind is str or kind is bytes or value is Ellipsis:
            return value
        if kind is int or kind is bool:
            return kind, value
        if kind is float:
            return kind, value.hex()  # zeros have signs, NaN is none's equal
        if kind.__module__ == "torch" and kind.__name__ in ("dtype", "device"):
            return value
        return self._open(value)

    def _open(self, value: Any) -> Any:
        """Of what no key says whether it has changed."""
        self.volatile = True
        self.facts = None
        return type(value)

    def _again(self, value: Any, how: str) -> Any:
        """What says that this was met before; None the first time."""
        number = self._seen.get((id(value), how))
        if number is None:
            self._seen[id(value), how] = len(self._seen)
            return None
        self.facts = None
        return "again", how, number

    def _is_again(self, value: Any) -> bool:
        return self._again(value, "items") is not None

    # -- for Dynamo -----------------------------------------------------------

    def _fact(self, kind: str, path: Any, value: Any) -> None:
        if self.facts is None:
            return
        if path is NOWHERE:
            self.facts = None
        else:
            self.facts.append((kind, path, value))

    def _items_fact(self, path: Any, value: Any) -> None:
        if type(value) is tuple or (path and path[-1][0] == "kwdefaults"):
            self._fact("length", path, len(value))
        else:
            # Of an object that can change and is held twice Dynamo guards one holder.
            self.facts = None

    def _constant_fact(self, path: Any, value: Any) -> None:
        kind = "none" if value is None else type(value).__name__
        if kind not in ("none", "bool", "int", "float", "str", "dtype"):
            self.facts = None
        elif kind == "float" and (value == 0 or value != value):
            self.facts = None  # Dynamo does not tell the signs of zeros
        else:
            self._fact(kind, path, value)

    def _function_facts(self, function: types.FunctionType, path: Any) -> None:
        self._fact("code", path, function.__code__)
        for name in ("defaults", "kwdefaults"):
            if getattr(function, f"__{name}__") is None:
                self._fact("none", _step(path, name), None)
        if function.__dict__:
            self.facts = None


def is_numpy_number(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.integer, numpy.floating))


def _step(path: Any, kind: str, name: Any = None) -> Any:
    return NOWHERE if path is NOWHERE else (*path, (kind, name))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return _missing
