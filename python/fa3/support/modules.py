# SPDX-License-Identifier: Apache-2.0
"""Modules that stand for those of another package in this process."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import Any, Mapping, Sequence

from ..errors import Fa3Error


def make(path: str, like: Mapping[str, Any], is_package: bool, **contents: Any) -> types.ModuleType:
    """One of that name; `like` are the globals of the file that it stands for."""
    module = types.ModuleType(path, like["__doc__"])
    module.__file__ = like["__file__"]
    # What asks whether there is such a module looks at this.
    module.__spec__ = importlib.machinery.ModuleSpec(
        path, None, origin=like["__file__"], is_package=is_package
    )
    if is_package:
        module.__path__ = []
    vars(module).update(contents, is_fa3=True)
    return module


def check(names: Sequence[str], function: str, package: str) -> None:
    """That none of them is somebody else's."""
    for name in names:
        if not getattr(sys.modules.get(name), "is_fa3", name not in sys.modules):
            raise is_loaded(name, function, package)


def is_loaded(name: str, function: str, package: str) -> Fa3Error:
    return Fa3Error(
        f"{function}: {name} is loaded, {package} itself or what stands for it; nothing is "
        "put in its place"
    )


class Installed:
    """Modules that were put among those of this process."""

    def __init__(self) -> None:
        self._modules: dict[str, types.ModuleType] = {}

    def put(self, modules: Mapping[str, types.ModuleType]) -> None:
        """Those that are not there."""
        for name, module in modules.items():
            if name not in sys.modules:
                sys.modules[name] = self._modules[name] = module

    def remove(self) -> None:
        for name, module in self._modules.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
        self._modules.clear()
