# SPDX-License-Identifier: Apache-2.0
"""Pairs of a mod and a change of what it reads that are of no table (stale_pairs.py)."""

import contextlib
import enum
import functools
import math
import os
import types

import torch
from stale_tables import SIZE, function, mask, window

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
    tools.window = window(3)
    mod = mask("tools.window(q, kv)", {"tools": tools})
    yield mod
    tools.window = window(8)
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
    parts = [window(3)]
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
    near = window(3)
    yield make(near, near)
    yield make(near, window(8))


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
