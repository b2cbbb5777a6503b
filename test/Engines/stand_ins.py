# SPDX-License-Identifier: Apache-2.0
"""What engines import and their tests of attention never call, where it is not installed:
compiled extensions, and packages of servers, grammars and models' formats.

A module that stands in has any name that is asked of it: a class that can be a base, a
type of a field, a decorator. A package that is installed is left alone."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types


class _Meta(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return make(name)

    def __getitem__(cls, key):
        return cls

    def __iter__(cls):
        return iter(())


class Anything(metaclass=_Meta):
    """An object of a module that stands in."""

    def __init__(self, *args, **named):
        pass

    def __init_subclass__(cls, **named):
        pass

    def __class_getitem__(cls, key):
        return cls

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *args, **named):
        # A decorator gives back what it is put on.
        return args[0] if len(args) == 1 and callable(args[0]) and not named else Anything()

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        from pydantic_core import core_schema

        return core_schema.any_schema()


def make(name):
    return _Meta(name, (Anything,), {})


class _Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = make(name)
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes last, so that it is asked for what nobody else has."""

    def __init__(self, names):
        self.names, self.used = set(names), set()

    def find_spec(self, name, path=None, target=None):
        parts = name.split(".")
        for n in range(len(parts)):
            top = ".".join(parts[: n + 1])
            # A module of a package that is installed is missing for a reason.
            if top in self.names and (n + 1 == len(parts) or top in self.used):
                self.used.add(top)
                return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def install(names):
    """Returns the finder, which tells what was used of the names."""
    made = Finder(names)
    sys.meta_path.append(made)
    return made
