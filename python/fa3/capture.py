# SPDX-License-Identifier: Apache-2.0
"""What a mod captures: numbers, tensors and other functions in its closure.

A Capture gives a key that is equal for functions that compute the same up to
captured numbers and tensors, their values in order, and a copy of the function
with stand-ins in their places. Anything else that can change between calls
makes it volatile: such a mod is traced at every call.
"""

from __future__ import annotations

import functools
import types
from typing import Any, Callable

from . import tensors

_CONSTANTS = (type(None), bool, str, bytes, complex, type, types.ModuleType,
              types.BuiltinFunctionType)  # fmt: skip


class Capture:
    def __init__(self, *functions: Callable[..., Any] | None) -> None:
        self.numbers: list[int | float] = []
        self.number_names: list[str] = []
        self.tensors: list[Any] = []
        self.tensor_names: list[str] = []
        #: Where each was found, as steps from the functions; None where there are
        #: none that Dynamo can follow.
        self.number_paths: list[Any] = []
        self.tensor_paths: list[Any] = []
        #: Numbers in globals are baked into the kernel.
        self.reads_globals = False
        self.volatile = False
        #: A function that captures itself is run as it is.
        self.recursive = False
        self._active: list[Any] = []
        self.key = tuple(
            self._key(one, "mod", (("item", n),)) for n, one in enumerate(functions)
        )

    # -- what is there --------------------------------------------------------

    def _key(self, value: Any, name: str, path: Any) -> Any:
        if isinstance(value, bool) or isinstance(value, _CONSTANTS):
            return value
        if isinstance(value, (int, float)):
            self.numbers.append(value)
            self.number_names.append(name)
            self.number_paths.append(path)
            return type(value)
        if tensors.is_torch(value):
            self.tensors.append(value)
            self.tensor_names.append(name)
            self.tensor_paths.append(path)
            return ("tensor", value.dtype, value.dim(), value.device.type == "cpu")
        if isinstance(value, types.FunctionType):
            return self._function_key(value, path)
        if isinstance(value, functools.partial):
            return (
                "partial",
                self._key(value.func, name, None),
                self._key(value.args, name, None),
                self._key(tuple(value.keywords.values()), name, None),
                tuple(value.keywords),
            )
        if type(value) in (tuple, list):
            return (type(value), *(
                self._key(one, name, _step(path, "item", n))
                for n, one in enumerate(value)
            ))  # fmt: skip
        if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
            return value
        self.volatile = True
        return ("object", type(value))

    def _function_key(self, function: types.FunctionType, path: Any) -> Any:
        if function in self._active:  # recursive
            self.volatile = self.recursive = True
            return function.__code__
        self._active.append(function)
        code = function.__code__
        cells = tuple(
            self._key(_contents(cell), name, _step(path, "cell", n))
            for n, (name, cell) in enumerate(
                zip(code.co_freevars, function.__closure__ or ())
            )
        )
        key = (
            code,
            cells,
            self._key(function.__defaults__, code.co_name, _step(path, "defaults", 0)),
            self._key(
                tuple((function.__kwdefaults__ or {}).values()), code.co_name, None
            ),
            tuple(
                (name, self._key(value, name, None))
                for name, value in _global_tensors(code, function.__globals__)
            ),
            tuple(self._global_keys(code, function.__globals__, True)),
        )
        self._active.pop()
        return key

    def _global_keys(
        self, code: types.CodeType, scope: dict[str, Any], has_tensors: bool = False
    ) -> list[Any]:
        """`has_tensors`: those of `scope` are captured."""
        keys = []
        for name in code.co_names:
            if name not in scope:
                continue
            value = scope[name]
            if isinstance(value, (int, float)):
                # Baked into the kernel: the key has the value.
                keys.append((name, value))
                self.reads_globals = True
            elif isinstance(value, _CONSTANTS):
                continue
            elif has_tensors and tensors.is_torch(value):
                continue
            elif isinstance(value, types.FunctionType):
                if value.__closure__ or value in self._active:
                    self.volatile = True
                else:
                    self._active.append(value)
                    keys.append((name, value.__code__, *self._global_keys(
                        value.__code__, value.__globals__)))  # fmt: skip
                    self._active.pop()
            else:
                self.volatile = True
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                keys += self._global_keys(constant, scope, has_tensors)
        return keys

    # -- stand-ins ------------------------------------------------------------

    @staticmethod
    def substitute(value: Any, replace: Callable[[Any], Any]) -> Any:
        """A copy of a function with `replace` of every captured number and
        tensor, in the order in which they were found."""
        if isinstance(value, bool) or isinstance(value, _CONSTANTS):
            return value
        if isinstance(value, (int, float)) or tensors.is_torch(value):
            return replace(value)
        if isinstance(value, types.FunctionType):
            code = value.__code__
            cells = tuple(
                types.CellType(Capture.substitute(_contents(cell), replace))
                for cell in value.__closure__ or ()
            )
            defaults = Capture.substitute(value.__defaults__, replace)
            named = value.__kwdefaults__
            if named is not None:
                named = dict(
                    zip(named, Capture.substitute(tuple(named.values()), replace))
                )
            scope = value.__globals__
            replaced = {
                name: replace(one) for name, one in _global_tensors(code, scope)
            }
            made = types.FunctionType(
                code, {**scope, **replaced} if replaced else scope, value.__name__,
                defaults, cells,
            )  # fmt: skip
            made.__kwdefaults__ = named
            return made
        if isinstance(value, functools.partial):
            function = Capture.substitute(value.func, replace)
            args = Capture.substitute(value.args, replace)
            named = Capture.substitute(tuple(value.keywords.values()), replace)
            return functools.partial(
                function, *args, **dict(zip(value.keywords, named))
            )
        if type(value) in (tuple, list):
            return type(value)(Capture.substitute(one, replace) for one in value)
        return value


def _global_tensors(
    code: types.CodeType, scope: dict[str, Any]
) -> list[tuple[str, Any]]:
    """The tensors among the globals that a function, or one in it, may read."""
    torch = tensors.torch_module()
    if torch is None:
        return []
    found = {
        name: scope[name] for name in code.co_names
        if isinstance(scope.get(name), torch.Tensor)
    }  # fmt: skip
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _global_tensors(constant, scope)
    return list(found.items())


def _step(path: Any, kind: str, number: int) -> Any:
    return None if path is None else (*path, (kind, number))


def follow(functions: Any, path: Any) -> Any:
    """What a path leads to. Simple enough for Dynamo, which guards every step."""
    value = functions
    for kind, number in path:
        if kind == "cell":
            value = value.__closure__[number].cell_contents
        elif kind == "defaults":
            value = value.__defaults__
        else:
            value = value[number]
    return value


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None
