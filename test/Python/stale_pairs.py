# SPDX-License-Identifier: Apache-2.0
"""Pairs of a mod and a change of what it reads, made of tables: where a value is held,
and what the value is; and those that are of no table. A pair is a generator that gives
the mod, changes something, and gives the mod after that. See test_stale_mods.py."""

import collections
import contextlib
import contextvars
import dataclasses
import enum
import functools
import math
import os
import types

import torch

SIZE = 16  # queries and keys

# -----------------------------------------------------------------------------
# What is read: an expression with @ for the value, the value, and another one
# -----------------------------------------------------------------------------


def _window(size):
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
    "function": ("@(q, kv)", _window(3), _window(8)),
    "another function": ("@(q, kv)", _window(3), lambda q, kv: q + kv <= 20),
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

# -----------------------------------------------------------------------------
# Of no table
# -----------------------------------------------------------------------------

OTHERS = {}


def other(made):
    OTHERS[made.__name__.replace("_", " ")] = made
    return made


def documents(of_queries, of_keys):
    return lambda b, h, q, kv: of_queries[q] == of_keys[kv]


@other
def one_table_then_two():
    one = torch.arange(SIZE) // 4
    yield documents(one, one)
    yield documents(one, one + torch.arange(SIZE) % 2)


@other
def two_tables_then_one():
    one = torch.arange(SIZE) // 4
    yield documents(one, one + torch.arange(SIZE) % 2)
    yield documents(one, one)


@other
def one_table_then_two_in_a_tuple():
    make = lambda x: lambda b, h, q, kv: x[0][q] + x[1][kv] > x[2][q]  # noqa: E731
    one, two, three = (torch.arange(SIZE) * n // 3 for n in (2, 1, 4))
    yield make((one, two, one))
    yield make((one, two, three))


@other
def tables_change_places():
    one, two = torch.arange(SIZE), torch.arange(SIZE) // 2
    yield documents(one, two)
    yield documents(two, one)


@other
def table_written_in_place():
    table = torch.arange(SIZE)
    yield documents(table, table)
    table //= 4
    yield documents(table, table)


@other
def last_of_a_table_written_in_place():
    table = torch.arange(4)
    mod = mask("kv <= table[-1] + q * 0", {"table": table})
    yield mod
    table += 5
    yield mod


def of_table(name, expression, old, new):
    def made():
        make = function(f"def make(t):\n    return lambda b, h, q, kv: {expression}", name="make")
        yield make(old())
        yield make(new())

    OTHERS[name] = made


def _size(n):
    return lambda: torch.arange(n)


of_table("numel", "kv <= t.numel() + q * 0", _size(4), _size(7))
of_table("nelement", "kv <= t.nelement() + q * 0", _size(4), _size(7))
of_table("len", "kv <= len(t) + q * 0", _size(4), _size(7))
of_table("size()", "kv <= t.size(0) + q * 0", _size(4), _size(7))
of_table("size(-1)", "kv <= t.size(-1) + q * 0", _size(4), _size(7))
of_table("shape of a row", "kv <= t[0].shape[0] + q * 0",
         lambda: torch.zeros(SIZE, 4), lambda: torch.zeros(SIZE, 7))  # fmt: skip
of_table("ndim", "kv <= t.ndim * 3 + q * 0", _size(4), lambda: torch.zeros(4, 4))
of_table("dim()", "kv <= t.dim() * 3 + q * 0", _size(4), lambda: torch.zeros(4, 4))
of_table("stride", "kv <= t.stride(0) + q * 0",
         lambda: torch.zeros(4, 4), lambda: torch.zeros(4, 7))  # fmt: skip
of_table("strides", "kv <= t.stride()[1] * 3 + q * 0",
         lambda: torch.zeros(4, 4), lambda: torch.zeros(4, 4).T)  # fmt: skip
of_table("is_contiguous", "(q >= kv) if t.is_contiguous() else (q <= kv)",
         lambda: torch.zeros(4, 4), lambda: torch.zeros(4, 4).T)  # fmt: skip
of_table("is_floating_point", "(q >= kv) if t.is_floating_point() else (q <= kv)",
         lambda: torch.zeros(4), _size(4))  # fmt: skip
of_table("dtype", "(q >= kv) if t.dtype == torch.float32 else (q <= kv)",
         lambda: torch.zeros(4), _size(4))  # fmt: skip
of_table("requires_grad", "(q >= kv) if t.requires_grad else (q <= kv)",
         lambda: torch.zeros(4, requires_grad=True), lambda: torch.zeros(4))  # fmt: skip
of_table("element_size", "kv <= t.element_size() + q * 0", _size(4), lambda: torch.zeros(4))
of_table("item", "kv <= t[1].item() + q * 0", lambda: torch.arange(4), lambda: torch.arange(4) * 3)
of_table("int()", "kv <= int(t[1]) + q * 0", _size(4), lambda: torch.arange(4) * 3)
of_table("float()", "kv <= float(t[1]) + q * 0", _size(4), lambda: torch.arange(4) * 3)
of_table("bool()", "(q >= kv) if t[1] > 2 else (q <= kv)", _size(4), lambda: torch.arange(4) * 3)
of_table("tolist", "kv <= t.tolist()[1] + q * 0", _size(4), lambda: torch.arange(4) * 3)
of_table("numpy", "kv <= int(t.numpy()[1]) + q * 0", _size(4), lambda: torch.arange(4) * 3)
of_table("sum", "kv <= t.sum() + q * 0", _size(4), lambda: torch.arange(3) * 3)
of_table("max", "kv <= t.max().item() + q * 0", _size(4), lambda: torch.arange(4) * 3)
of_table("0-d tensor", "kv <= t + q", lambda: torch.tensor(3), lambda: torch.tensor(5))
of_table("0-d tensor and its item", "kv <= t.item() + q * 0",
         lambda: torch.tensor(3), lambda: torch.tensor(5))  # fmt: skip
of_table("torch's own tracing", "torch.nn.functional.gelu((kv - q).float()) < t[q]",
         lambda: torch.rand(SIZE), lambda: torch.rand(SIZE))  # fmt: skip
of_table("torch's own tracing of a number of a tensor",
         "torch.nn.functional.gelu((kv - q).float()) < t.tolist()[1]",
         lambda: torch.arange(4), lambda: torch.arange(4) * 3)  # fmt: skip
of_table("torch's own tracing of a 0-d tensor",
         "torch.nn.functional.gelu((kv - q).float()) < t",
         lambda: torch.tensor(1.0), lambda: torch.tensor(4.0))  # fmt: skip
of_table("torch's own tracing of an extent",
         "torch.nn.functional.gelu((kv - q).float()) < t.shape[0]", _size(2), _size(7))


def of_number(name, expression, old, new):
    def made():
        make = function(f"def make(x):\n    return lambda b, h, q, kv: {expression}", name="make")
        yield make(old)
        yield make(new)

    OTHERS[name] = made


of_number("sign of zero", "(q >= kv) if math.copysign(1, x) > 0 else (q <= kv)", 0.0, -0.0)
of_number("not a number", "(q >= kv) if x == x else (q <= kv)", 1.0, math.nan)
of_number("truth and one", "(q >= kv) if x is True else (q <= kv)", True, 1)
of_number("isinstance", "(q >= kv) if isinstance(x, int) else (q <= kv)", 1, 1.0)
of_number("type()", "(q >= kv) if type(x) is int else (q <= kv)", 1, 1.0)
of_number("format", "(q >= kv) if f'{x}' == '1' else (q <= kv)", 1, 2)
of_number("repr", "(q >= kv) if repr(x) == '1' else (q <= kv)", 1, 2)
of_number("key of a dictionary", "(q >= kv) if {1: True}.get(x) else (q <= kv)", 1, 2)
of_number("range", "sum(q - kv == n for n in range(x)) > 0", 3, 6)
of_number("index from the end", "kv <= torch.arange(5)[x] + q * 0", -1, -3)


@other
def index_that_is_captured():
    table = torch.arange(9)
    make = lambda n: lambda b, h, q, kv: kv <= table[n] + q * 0  # noqa: E731
    yield make(3)
    yield make(-2)


@other
def end_of_another_table_by_a_captured_index():
    make = lambda t, n: lambda b, h, q, kv: kv <= t[n] + q * 0  # noqa: E731
    yield make(torch.arange(5), -1)
    yield make(torch.arange(9), -1)


@other
def function_of_torch_is_replaced():
    mod = mask("torch.abs(q - kv) <= 4", {"torch": _copy_of_torch()})
    yield mod
    mod.__globals__["torch"].abs = lambda x: x
    yield mod


@other
def function_of_math_is_replaced():
    mod = mask("q - kv <= math.sqrt(9)", {"math": types.SimpleNamespace(sqrt=math.sqrt)})
    yield mod
    mod.__globals__["math"].sqrt = lambda x: x
    yield mod


@other
def module_of_torch_is_replaced():
    mod = mask("torch.abs(q - kv) <= 4")
    yield mod
    mod.__globals__["torch"] = types.SimpleNamespace(abs=lambda x: x)
    yield mod


@other
def function_of_a_module_is_replaced():
    tools = types.ModuleType("tools")
    tools.window = _window(3)
    mod = mask("tools.window(q, kv)", {"tools": tools})
    yield mod
    tools.window = _window(8)
    yield mod


@other
def default_of_a_function_of_a_module():
    tools = types.ModuleType("tools")
    tools.window = lambda q, kv, size=3: q - kv <= size
    mod = mask("tools.window(q, kv)", {"tools": tools})
    yield mod
    tools.window.__defaults__ = (8,)
    yield mod


@other
def method_is_replaced():
    class Owner:
        def mod(self, b, h, q, kv):
            return q - kv <= 3

    owner = Owner()
    yield owner.mod
    Owner.mod = lambda self, b, h, q, kv: q - kv <= 8
    yield owner.mod


@other
def code_is_replaced():
    mod = mask("q - kv <= 3")
    yield mod
    mod.__code__ = mask("q + kv <= 20").__code__
    yield mod


@other
def name_becomes_a_global():
    mod = mask("abs(q - kv) <= 4")
    yield mod
    mod.__globals__["abs"] = lambda x: x
    yield mod


@other
def global_is_removed():
    mod = mask("abs(q - kv) <= 4", {"abs": lambda x: x})
    yield mod
    del mod.__globals__["abs"]
    yield mod


@other
def list_grows():
    sizes = [1]
    mod = mask("sum(q - kv == size for size in sizes) > 0", {"sizes": sizes})
    yield mod
    sizes.append(3)
    yield mod


@other
def list_of_functions_grows():
    parts = [_window(3)]
    make = lambda parts: lambda b, h, q, kv: sum(one(q, kv) for one in parts) > 0  # noqa: E731
    mod = make(parts)
    yield mod
    parts.append(lambda q, kv: q == 2 * kv)
    yield mod


@other
def set_grows():
    sizes = {1}
    mod = mask("sum(q - kv == size for size in sizes) > 0", {"sizes": sizes})
    yield mod
    sizes.add(3)
    yield mod


@other
def masks_are_joined_otherwise():
    from torch.nn.attention.flex_attention import and_masks, or_masks

    near, far = (lambda b, h, q, kv: q - kv <= 3), (lambda b, h, q, kv: q >= kv)
    yield and_masks(near, far)
    yield or_masks(near, far)


@other
def mask_in_a_join_reads_a_global():
    from torch.nn.attention.flex_attention import and_masks

    near = mask("q - kv <= X", {"X": 3})
    mod = and_masks(near, lambda b, h, q, kv: q >= kv)
    yield mod
    near.__globals__["X"] = 7
    yield mod


@other
def environment():
    with _set_environment("3"):
        mod = mask("q - kv <= int(os.environ['FA3_TEST_SIZE'])", {"os": os})
        yield mod
    with _set_environment("7"):
        yield mod


@other
def member_of_an_enumeration():
    class Kind(enum.Enum):
        NEAR = 3
        FAR = 7

    holder = types.SimpleNamespace(kind=Kind.NEAR)
    mod = mask("q - kv <= holder.kind.value", {"holder": holder})
    yield mod
    holder.kind = Kind.FAR
    yield mod


@other
def import_inside():
    config = types.ModuleType("fa3_test_config")
    config.X = 3
    source = "def mod(b, h, q, kv):\n    import fa3_test_config as c\n    return q - kv <= c.X"
    with _set_module(config):
        mod = function(source)
        yield mod
        config.X = 7
        yield mod


@other
def parameter_of_a_module():
    module = torch.nn.Linear(1, SIZE)
    make = lambda owner: lambda b, h, q, kv: (kv - q).float() < owner.bias[q] * 9  # noqa: E731
    mod = make(module)
    with torch.no_grad():
        yield mod
        module.bias = torch.nn.Parameter(torch.rand(SIZE))
        yield mod


@other
def wrapped_function():
    def decorate(inner):
        @functools.wraps(inner)
        def outer(b, h, q, kv):
            return inner(b, h, q, kv)

        return outer

    inner = mask("q - kv <= X", {"X": 3})
    mod = decorate(inner)
    yield mod
    inner.__globals__["X"] = 7
    yield mod


@other
def function_that_calls_itself():
    def make(size):
        def count(q, kv, n):
            return q - kv == size if n == 0 else (q - kv == n) | count(q, kv, n - 1)

        return lambda b, h, q, kv: count(q, kv, 3)

    mod = make(1)
    yield mod
    yield make(8)


@other
def one_function_then_two():
    make = lambda f, g: lambda b, h, q, kv: f(q, kv) & g(kv, q)  # noqa: E731
    near = _window(3)
    yield make(near, near)
    yield make(near, _window(8))


@other
def score_and_mask_of_one_table():
    """Two mods: the pair has them in a tuple, (score_mod, mask_mod)."""
    one, two = torch.arange(SIZE), torch.arange(SIZE) // 2
    score = lambda t: lambda s, b, h, q, kv: s + t[q]  # noqa: E731
    near = lambda t: lambda b, h, q, kv: kv <= t[q]  # noqa: E731
    yield score(one), near(one)
    yield score(one), near(two)


@other
def score_and_a_module():
    config = types.ModuleType("config")
    config.scale = 0.5
    mod = function(
        "def mod(s, b, h, q, kv):\n    return s * config.scale - (q - kv)", {"config": config}
    )
    yield mod, None
    config.scale = 2.0
    yield mod, None


def _copy_of_torch():
    copy = types.ModuleType("torch")
    copy.abs = torch.abs
    return copy


@contextlib.contextmanager
def _set_environment(value):
    from unittest import mock

    with mock.patch.dict(os.environ, {"FA3_TEST_SIZE": value}):
        yield


@contextlib.contextmanager
def _set_module(module):
    import sys
    from unittest import mock

    with mock.patch.dict(sys.modules, {module.__name__: module}):
        yield


def pairs():
    """Names and generators."""
    for holder, hold in HOLDERS.items():
        for what, (expression, old, new) in VALUES.items():
            yield f"{what} in {holder}", hold(old)(expression, new)
    for name, made in OTHERS.items():
        yield name, made()
