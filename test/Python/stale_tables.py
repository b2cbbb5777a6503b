# SPDX-License-Identifier: Apache-2.0
"""Pairs of a mod and a change of what it reads, made of tables: where a value is held,
and what the value is (stale_pairs.py)."""

import collections
import contextvars
import dataclasses
import functools
import math
import types

import torch

SIZE = 16  # queries and keys

# -----------------------------------------------------------------------------
# What is read: an expression with @ for the value, the value, and another one
# -----------------------------------------------------------------------------


def window(size):
    return lambda q, kv: q - kv <= size


VALUES = {
    "int": ("q - kv <= @", 3, 7),
    "float": ("q - kv <= @ * 2.0", 1.5, 3.25),
    "divisor": ("q // @ == kv // @", 4, 8),
    "type": ("(q + kv) / 2 <= @ // 2 + kv", 9, 9.0),
    "branch": ("(q >= kv) if @ else (q <= kv)", True, False),
    "string": ("(q >= kv) if @ == 'causal' else (q <= kv)", "causal", "other"),
    "none": ("(q >= kv) if @ is None else (q - kv <= @)", None, 5),
    "type of torch": ("(q + kv / 2).to(@) <= kv", torch.int32, torch.float32),
    "tuple": ("(q - kv <= @[0]) & (kv - q <= @[1])", (3, 4), (3, 9)),
    "function": ("@(q, kv)", window(3), window(8)),
    "another function": ("@(q, kv)", window(3), lambda q, kv: q + kv <= 20),
    "table": ("kv <= @[q]", torch.arange(SIZE), torch.arange(SIZE) // 2),
    "table's type": ("kv <= @[q]", torch.arange(SIZE), torch.arange(SIZE) / 3),
    "table's end": ("kv <= @[-1] + q * 0", torch.arange(4), torch.arange(9)),
    "table's size": ("kv < @.shape[0] + q * 0", torch.arange(4), torch.arange(9)),
}  # fmt: skip

# -----------------------------------------------------------------------------
# Where it is held: an expression for the value, with its names, and how to change it
# -----------------------------------------------------------------------------


def function(source, scope=None, name="mod"):
    """What the source defines, with these globals."""
    scope = {"torch": torch, "math": math, **(scope or {})}
    exec(source, scope)
    return scope[name]


def mask(expression, scope=None):
    return function(f"def mod(b, h, q, kv):\n    return {expression}\n", scope)


def _read(access, scope, change):
    """A holder whose value `access` reads."""

    def pair(expression, new):
        mod = mask(expression.replace("@", access), scope)
        yield mod
        change(new)
        yield mod

    return pair


def _closure(change_cell):
    def hold(old):
        def pair(expression, new):
            make = function(
                "def make(x):\n    return lambda b, h, q, kv: " + expression.replace("@", "x"),
                name="make",
            )
            mod = make(old)
            yield mod
            if change_cell:
                mod.__closure__[0].cell_contents = new
            yield mod if change_cell else make(new)

        return pair

    return hold


def _global(old):
    def pair(expression, new):
        mod = mask(expression.replace("@", "X"), {"X": old})
        yield mod
        mod.__globals__["X"] = new
        yield mod

    return pair


def _inner(old):
    def pair(expression, new):
        mod = mask(f"(lambda x: {expression.replace('@', 'X')})(0)", {"X": old})
        yield mod
        mod.__globals__["X"] = new
        yield mod

    return pair


def _default(named):
    def hold(old):
        def pair(expression, new):
            source = f"def mod(b, h, q, kv, {'*, ' if named else ''}x=old):\n    return "
            mod = function(source + expression.replace("@", "x"), {"old": old})
            yield mod
            if named:
                mod.__kwdefaults__["x"] = new
            else:
                mod.__defaults__ = (new,)
            yield mod

        return pair

    return hold


def _helper(where):
    """A global function that holds the value."""

    def hold(old):
        def pair(expression, new):
            body = expression.replace("@", "x")
            source = {
                "default": f"def helper(q, kv, x=X):\n    return {body}",
                "kwdefault": f"def helper(q, kv, *, x=X):\n    return {body}",
                "global": f"def helper(q, kv):\n    return {expression.replace('@', 'X')}",
                "cell": f"helper = (lambda x: lambda q, kv: {body})(X)",
                "attribute": "def helper(q, kv):\n    return "
                + expression.replace("@", "helper.x") + "\nhelper.x = X",
                "code": f"def helper(q, kv):\n    x = X\n    return {body}",
            }[where]  # fmt: skip
            helper = function(source, {"X": old}, "helper")
            mod = mask("helper(q, kv)", {"helper": helper})
            yield mod
            if where == "default":
                helper.__defaults__ = (new,)
            elif where == "kwdefault":
                helper.__kwdefaults__ = {"x": new}
            elif where == "global":
                helper.__globals__["X"] = new
            elif where == "cell":
                helper.__closure__[0].cell_contents = new
            elif where == "attribute":
                helper.x = new
            else:
                other = f"def helper(q, kv):\n    x = Y\n    return {body}"
                helper.__globals__["Y"] = new
                helper.__code__ = function(other, {}, "helper").__code__
            yield mod

        return pair

    return hold


def _module(old):
    config = types.ModuleType("config")
    config.x = old
    return _read("config.x", {"config": config}, functools.partial(setattr, config, "x"))


def _package(old):
    package, config = types.ModuleType("package"), types.ModuleType("package.config")
    package.config, config.x = config, old
    return _read("package.config.x", {"package": package}, functools.partial(setattr, config, "x"))


def _module_in_a_cell(old):
    config = types.ModuleType("config")
    config.x = old

    def pair(expression, new):
        make = "def make(config):\n    return lambda b, h, q, kv: "
        mod = function(make + expression.replace("@", "config.x"), name="make")(config)
        yield mod
        config.x = new
        yield mod

    return pair


def _class(old):
    class Config:
        x = old

    return _read("Config.x", {"Config": Config}, functools.partial(setattr, Config, "x"))


def _base_class(old):
    class Base:
        x = staticmethod(old) if callable(old) else old

    class Config(Base):
        pass

    def change(new):
        Base.x = staticmethod(new) if callable(new) else new

    return _read("Config.x", {"Config": Config}, change)


def _object(old):
    config = types.SimpleNamespace(x=old)
    return _read("config.x", {"config": config}, functools.partial(setattr, config, "x"))


def _nested_object(old):
    config = types.SimpleNamespace(inner=types.SimpleNamespace(x=old))
    change = functools.partial(setattr, config.inner, "x")
    return _read("config.inner.x", {"config": config}, change)


def _property(old):
    class Config:
        held = [old]

        @property
        def x(self):
            return self.held[0]

    return _read("config.x", {"config": Config()}, functools.partial(Config.held.__setitem__, 0))


def _dataclass(old):
    @dataclasses.dataclass
    class Config:
        x: object

    config = Config(old)
    return _read("config.x", {"config": config}, functools.partial(setattr, config, "x"))


def _list(old):
    held = [1, old]
    return _read("held[1]", {"held": held}, functools.partial(held.__setitem__, 1))


def _dict(old):
    held = {"x": old}
    return _read("held['x']", {"held": held}, functools.partial(held.__setitem__, "x"))


def _default_dict(old):
    held = collections.defaultdict(lambda: old)
    return _read("held['x']", {"held": held}, functools.partial(held.__setitem__, "x"))


def _context(old):
    held = contextvars.ContextVar("x", default=old)
    return _read("held.get()", {"held": held}, held.set)


def _in_a_cell(container, place):
    def hold(old):
        def pair(expression, new):
            make = f"def make(x):\n    return lambda b, h, q, kv: {expression.replace('@', place)}"
            held = container(old)
            mod = function(make, name="make")(held)
            yield mod
            if isinstance(held, (list, dict)):
                held["x" if isinstance(held, dict) else 1] = new
            else:
                held.x = new
            yield mod

        return pair

    return hold


def _partial(named):
    def hold(old):
        def pair(expression, new):
            source = f"def mod(x, b, h, q, kv):\n    return {expression.replace('@', 'x')}"
            if named:
                source = source.replace("(x, b, h, q, kv)", "(b, h, q, kv, x=None)")
            mod = function(source)
            yield functools.partial(mod, x=old) if named else functools.partial(mod, old)
            yield functools.partial(mod, x=new) if named else functools.partial(mod, new)

        return pair

    return hold


def _method(kind):
    def hold(old):
        def pair(expression, new):
            name = "__call__" if kind == "callable" else "forward" if kind == "module" else "mod"
            source = f"def {name}(self, b, h, q, kv):\n    return "
            source += expression.replace("@", "self.x")
            base = torch.nn.Module if kind == "module" else object
            owner = type("Owner", (base,), {name: function(source, name=name)})()
            owner.x = old
            yield owner.mod if kind == "method" else owner
            owner.x = new
            yield owner.mod if kind == "method" else owner

        return pair

    return hold


HOLDERS = {
    "closure made anew": _closure(False), "cell": _closure(True), "global": _global,
    "global of an inner function": _inner, "default": _default(False),
    "named default": _default(True), "helper's default": _helper("default"),
    "helper's named default": _helper("kwdefault"), "helper's global": _helper("global"),
    "helper's cell": _helper("cell"), "helper's attribute": _helper("attribute"),
    "helper's code": _helper("code"), "module": _module, "package": _package,
    "module in a cell": _module_in_a_cell, "class": _class, "base class": _base_class,
    "object": _object, "nested object": _nested_object, "property": _property,
    "dataclass": _dataclass, "list": _list, "dictionary": _dict,
    "default dictionary": _default_dict, "context": _context,
    "list in a cell": _in_a_cell(lambda x: [1, x], "x[1]"),
    "dictionary in a cell": _in_a_cell(lambda x: {"x": x}, "x['x']"),
    "object in a cell": _in_a_cell(lambda x: types.SimpleNamespace(x=x), "x.x"),
    "partial": _partial(False), "partial by name": _partial(True),
    "method": _method("method"), "callable object": _method("callable"),
    "torch module": _method("module"),
}  # fmt: skip
