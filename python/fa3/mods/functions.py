# SPDX-License-Identifier: Apache-2.0
"""What mods may call: the functions and operators of torch that are traced, as
nodes of a graph; and errors with the user's file and line."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable

from ..errors import TraceError
from .graph import (
    BOOL,
    FLOAT,
    INDEX,
    INT8,
    INT16,
    UINT8,
    Graph,
    Node,
    common_narrow,
    value_of,
)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class NeedsNumber(BaseException):
    """Tracing needs the value of captured numbers: they become constants. No mod
    catches that."""

    def __init__(self, numbers: frozenset[int]) -> None:
        super().__init__(numbers)
        self.numbers = numbers


class ReadsElements(TraceError):
    """A mod reads elements of a tensor while it is traced."""


class EndsGradient(TraceError):
    """A mod says that something has no gradient, or another one, which kernels do not
    know."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}: gradients that end in a mod are not supported", *current_place()
        )


# -----------------------------------------------------------------------------
# Places in the user's code
# -----------------------------------------------------------------------------


def is_ours(file: str) -> bool:
    return file.startswith(_PACKAGE + os.sep) or f"{os.sep}torch{os.sep}" in file


def current_place() -> tuple[str, int]:
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_ours(file):
            return file, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return "", 0


def error_here(message: str) -> TraceError:
    return TraceError(message, *current_place())


# -----------------------------------------------------------------------------
# Functions
# -----------------------------------------------------------------------------


def _math(name: str) -> Callable[..., Node]:
    return lambda graph, x: graph.math(name, x)


def _arithmetic(name: str) -> Callable[..., Node]:
    return lambda graph, a, b: graph.arithmetic(name, a, b)


def _add(graph: Graph, a: Node, b: Node, alpha: Node | None = None) -> Node:
    return graph.arithmetic("add", a, graph.arithmetic("mul", b, alpha) if alpha else b)


def _sub(graph: Graph, a: Node, b: Node, alpha: Node | None = None) -> Node:
    if a.type == b.type == BOOL:
        raise error_here("the difference of two booleans, which torch has not; use ^")
    return graph.arithmetic("sub", a, graph.arithmetic("mul", b, alpha) if alpha else b)


def _needs_constant(node: Node, what: str) -> None:
    if node.is_constant:
        if value_of(node) == 0:
            raise error_here(f"{what} by 0")
        return
    if node.numbers and not node.varies:
        raise NeedsNumber(node.numbers)
    raise error_here(f"{what} by a value that is not a constant")


def _floor_divide(graph: Graph, a: Node, b: Node) -> Node:
    if a.type != FLOAT and b.type != FLOAT:
        _needs_constant(b, "whole division")
    return graph.floor_divide(a, b)


def _remainder(graph: Graph, a: Node, b: Node) -> Node:
    if a.type != FLOAT and b.type != FLOAT:
        _needs_constant(b, "remainder of a division")
    return graph.modulo(a, b)


def truncating(graph: Graph, a: Node, b: Node) -> tuple[Node, Node]:
    """Quotient towards zero and its remainder."""
    if a.type == FLOAT or b.type == FLOAT:
        quotient = _trunc(graph, graph.divide(a, b))
    elif a.nonnegative and b.nonnegative:
        quotient = _floor_divide(graph, a, b)
    else:
        _needs_constant(b, "whole division")
        narrow = common_narrow(a, b)
        a, b = graph.cast(a, INDEX), graph.cast(b, INDEX)
        quotient = graph.add("arith.divsi", (a, b), INDEX, narrow=narrow)
    product = graph.arithmetic("mul", quotient, b)
    return quotient, graph.arithmetic("sub", a, product)


def _whole_quotient(graph: Graph, x: Node) -> tuple[Node, Node] | None:
    """The whole numbers that a quotient is of, by which it is rounded without an error.
    A captured number that divides has to be a constant."""
    if x.op != "quotient" or x.operands[0].op != "arith.sitofp":
        return None
    divisor = x.attribute
    if divisor is None and x.operands[1].numbers and not x.operands[1].varies:
        raise NeedsNumber(x.operands[1].numbers)
    if divisor is None or divisor != int(divisor):
        return None
    (narrow,) = x.operands[0].operands
    return graph.widened(narrow.operands[0]), graph.constant(int(divisor))


def _floor(graph: Graph, x: Node) -> Node:
    whole = _whole_quotient(graph, x)
    if whole is not None:
        return graph.cast(graph.floor_divide(*whole), FLOAT)
    return x if x.type != FLOAT else graph.math("floor", x)


def _ceil(graph: Graph, x: Node) -> Node:
    whole = _whole_quotient(graph, x)
    if whole is not None:
        below = graph.floor_divide(_neg(graph, whole[0]), whole[1])
        return graph.cast(_neg(graph, below), FLOAT)
    return x if x.type != FLOAT else graph.math("ceil", x)


def to_whole(graph: Graph, x: Node, narrow: str = "") -> Node:
    """As a whole number of 32 bits, or of the type `narrow`: towards zero."""
    whole = _whole_quotient(graph, x)
    x = graph.cast(x, INDEX) if whole is None else truncating(graph, *whole)[0]
    return graph.narrowed(x, narrow) if narrow else graph.widened(x)


def _trunc(graph: Graph, x: Node) -> Node:
    if x.type != FLOAT:
        return x
    if _whole_quotient(graph, x) is not None:
        return graph.cast(to_whole(graph, x), FLOAT)
    below = graph.compare("lt", x, graph.constant(0.0))
    return graph.select(below, graph.math("ceil", x), graph.math("floor", x))


def _round(graph: Graph, x: Node) -> Node:
    return x if x.type != FLOAT else graph.math("roundeven", x)


def _abs(graph: Graph, x: Node) -> Node:
    if x.type == FLOAT:
        return graph.math("absf", x)
    if x.nonnegative:
        return x
    return graph.arithmetic("maximum", x, graph.arithmetic("sub", graph.constant(0), x))


def _neg(graph: Graph, x: Node) -> Node:
    if x.type == FLOAT:
        if x.is_constant:
            return graph.constant(-value_of(x))
        return graph.add("arith.negf", (x,), FLOAT)
    return graph.arithmetic("sub", graph.constant(0), x)


def _not(graph: Graph, x: Node) -> Node:
    if x.type == FLOAT:
        raise error_here("~ of a float")
    if x.is_constant:
        value = value_of(x)
        return graph.constant(not value if x.type == BOOL else ~value)
    ones = graph.constant(True if x.type == BOOL else -1)
    made = graph.add("arith.xori", (x, ones), x.type)
    return graph.narrowed(made, x.narrow)


def _bitwise(name: str) -> Callable[..., Node]:
    def apply(graph: Graph, a: Node, b: Node) -> Node:
        if FLOAT in (a.type, b.type):
            raise error_here(f"bitwise {name} of a float")
        return graph.bitwise(name, a, b)

    return apply


def _shift(name: str) -> Callable[..., Node]:
    def apply(graph: Graph, a: Node, b: Node) -> Node:
        return graph.shift(name, graph.cast(a, INDEX), graph.cast(b, INDEX))

    return apply


def _logical(name: str) -> Callable[..., Node]:
    def apply(graph: Graph, a: Node, b: Node) -> Node:
        return graph.bitwise(name, graph.cast(a, BOOL), graph.cast(b, BOOL))

    return apply


def _compare(name: str) -> Callable[..., Node]:
    return lambda graph, a, b: graph.compare(name, a, b)


def _where(graph: Graph, condition: Node, a: Node, b: Node) -> Node:
    return graph.select(graph.cast(condition, BOOL), a, b)


def _clamp(graph: Graph, x: Node, min: Node | None = None,
           max: Node | None = None) -> Node:  # fmt: skip
    for name, whole, limit in (("lt", "maximum", min), ("gt", "minimum", max)):
        if limit is None:
            continue
        if FLOAT in (x.type, limit.type):
            # At the limit the gradient is that of x.
            x = graph.select(graph.compare(name, x, limit), limit, x)
        else:
            x = graph.arithmetic(whole, x, limit)
    return x


def _sigmoid(graph: Graph, x: Node) -> Node:
    one = graph.constant(1.0)
    exponential = graph.math("exp", _neg(graph, graph.cast(x, FLOAT)))
    return graph.divide(one, graph.arithmetic("add", one, exponential))


def _whole_pow(graph: Graph, x: Node, y: Node) -> Node:
    """Of whole numbers, a whole number; 0 for exponents below 0, as torch's tensors."""
    if x.is_constant and value_of(x) == 2 and not x.type == BOOL:
        bits = graph.arithmetic("minimum", y, graph.constant(31))
        power = graph.shift("left", graph.constant(1), bits)
        if y.nonnegative:
            return power
        below = graph.compare("lt", y, graph.constant(0))
        return graph.select(below, graph.constant(0), power)
    zero, one = graph.constant(0), graph.constant(1)
    power = graph.math("powf", _abs(graph, graph.cast(x, INDEX)), y)
    power = graph.cast(graph.math("roundeven", power), INDEX)
    if not x.nonnegative:
        is_odd = graph.cast(graph.bitwise("and", y, one), BOOL)
        negative = graph.bitwise("and", graph.compare("lt", x, zero), is_odd)
        power = graph.select(negative, _neg(graph, power), power)
    return graph.select(graph.compare("eq", y, zero), one, power)


def _pow(graph: Graph, x: Node, y: Node) -> Node:
    if y.type == FLOAT:
        x = graph.cast(x, FLOAT)
    if y.is_constant and value_of(y) == 0:
        return graph.cast(graph.constant(1), x.type)
    if y.is_constant and value_of(y) == int(value_of(y)) and 1 <= value_of(y) <= 8:
        result = x
        for _ in range(int(value_of(y)) - 1):
            result = graph.arithmetic("mul", result, x)
        return result
    if y.is_constant and value_of(y) == 0.5:
        return graph.math("sqrt", x)
    if FLOAT not in (x.type, y.type):
        return _whole_pow(graph, x, y)
    if x.is_constant and value_of(x) == 2:
        return graph.math("exp2", y)
    return graph.math("powf", x, y)


def _masked_fill(graph: Graph, x: Node, mask: Node, value: Node) -> Node:
    if x.type != FLOAT and value.type == FLOAT:
        raise error_here("masked_fill of whole numbers with a float")
    value = graph.cast(value, x.type)
    return graph.select(graph.cast(mask, BOOL), graph.narrowed(value, x.narrow), x)


def _sign(graph: Graph, x: Node) -> Node:
    zero = graph.cast(graph.constant(0), x.type)
    ones = [graph.cast(graph.constant(n), x.type) for n in (1, -1)]
    below = graph.select(graph.compare("lt", x, zero), ones[1], zero)
    made = graph.select(graph.compare("gt", x, zero), ones[0], below)
    return graph.narrowed(made, x.narrow)


def _number(graph: Graph, value: Node | None, default: float) -> Node:
    return graph.constant(default) if value is None else value


def _silu(graph: Graph, x: Node, inplace: Node | None = None) -> Node:
    return graph.arithmetic("mul", x, _sigmoid(graph, x))


def _softplus(
    graph: Graph, x: Node, beta: Node | None = None, threshold: Node | None = None
) -> Node:
    beta, limit = _number(graph, beta, 1.0), _number(graph, threshold, 20.0)
    scaled = graph.arithmetic("mul", graph.cast(x, FLOAT), beta)
    soft = graph.divide(graph.math("log1p", graph.math("exp", scaled)), beta)
    return graph.select(graph.compare("gt", scaled, limit), x, soft)


def _elu(
    graph: Graph, x: Node, alpha: Node | None = None, inplace: Node | None = None
) -> Node:
    x = graph.cast(x, FLOAT)
    below = graph.arithmetic(
        "mul", _number(graph, alpha, 1.0), graph.math("expm1", x)
    )
    return graph.select(graph.compare("gt", x, graph.constant(0.0)), x, below)


def _leaky_relu(graph: Graph, x: Node, negative_slope: Node | None = None,
                inplace: Node | None = None) -> Node:  # fmt: skip
    below = graph.arithmetic("mul", x, _number(graph, negative_slope, 0.01))
    return graph.select(graph.compare("gt", x, graph.constant(0.0)), x, below)


def _hardtanh(graph: Graph, x: Node, min_val: Node | None = None,
              max_val: Node | None = None, inplace: Node | None = None) -> Node:  # fmt: skip
    # As clamp, but without a gradient at the limits.
    low, high = _number(graph, min_val, -1.0), _number(graph, max_val, 1.0)
    if FLOAT not in (x.type, low.type, high.type):
        return _clamp(graph, x, low, high)
    for name, limit in (("le", low), ("ge", high)):
        x = graph.select(graph.compare(name, x, limit), limit, x)
    return x


def _relu(graph: Graph, x: Node) -> Node:
    zero = graph.cast(graph.constant(0), x.type)
    if x.type != FLOAT:
        return graph.arithmetic("maximum", x, zero)
    # At 0 there is no gradient.
    return graph.select(graph.compare("le", x, zero), zero, x)


def _lerp(graph: Graph, start: Node, end: Node, weight: Node) -> Node:
    step = graph.arithmetic("mul", weight, graph.arithmetic("sub", end, start))
    return graph.arithmetic("add", start, step)


def _addcmul(
    graph: Graph, x: Node, a: Node, b: Node, value: Node | None = None
) -> Node:
    product = graph.arithmetic("mul", a, b)
    if value is not None:
        product = graph.arithmetic("mul", product, value)
    return graph.arithmetic("add", x, product)


def _logaddexp(graph: Graph, a: Node, b: Node) -> Node:
    a, b = graph.cast(a, FLOAT), graph.cast(b, FLOAT)
    far = _neg(graph, _abs(graph, graph.arithmetic("sub", a, b)))
    # Of two infinite ones there is no difference.
    far = graph.select(graph.compare("eq", a, b), graph.constant(0.0), far)
    rest = graph.math("log1p", graph.math("exp", far))
    return graph.arithmetic("add", graph.arithmetic("maximum", a, b), rest)


def _refuse(name: str, why: str) -> Callable[..., Node]:
    def refuse(graph: Graph, *operands: Any) -> Node:
        raise TraceError(f"{name}: {why}")

    return refuse


def _detach(graph: Graph, *operands: Any) -> Node:
    raise EndsGradient("detach")


FUNCTIONS: dict[str, Callable[..., Node]] = {
    "silu": _silu, "softplus": _softplus, "elu": _elu, "leaky_relu": _leaky_relu,
    "hardtanh": _hardtanh, "lerp": _lerp, "addcmul": _addcmul, "logaddexp": _logaddexp,
    "logsigmoid": lambda graph, x: _neg(graph, _softplus(graph, _neg(graph, x))),
    "add": _add, "sub": _sub, "mul": _arithmetic("mul"),
    "div": lambda graph, a, b: graph.divide(a, b),
    "floor_divide": _floor_divide, "remainder": _remainder,
    "fmod": lambda graph, a, b: truncating(graph, a, b)[1],
    "maximum": _arithmetic("maximum"), "minimum": _arithmetic("minimum"),
    "pow": _pow, "abs": _abs, "neg": _neg, "positive": lambda graph, x: x,
    "bitwise_not": _not, "bitwise_and": _bitwise("and"), "bitwise_or": _bitwise("or"),
    "bitwise_xor": _bitwise("xor"), "bitwise_left_shift": _shift("left"),
    "bitwise_right_shift": _shift("right"), "logical_and": _logical("and"),
    "logical_or": _logical("or"), "logical_xor": _logical("xor"),
    "logical_not": lambda graph, x: _not(graph, graph.cast(x, BOOL)),
    "eq": _compare("eq"), "ne": _compare("ne"), "lt": _compare("lt"),
    "le": _compare("le"), "gt": _compare("gt"), "ge": _compare("ge"),
    "where": _where, "clamp": _clamp, "masked_fill": _masked_fill,
    "tanh": _math("tanh"), "exp": _math("exp"), "exp2": _math("exp2"),
    "expm1": _math("expm1"), "log": _math("log"), "log2": _math("log2"),
    "log1p": _math("log1p"), "sqrt": _math("sqrt"), "rsqrt": _math("rsqrt"),
    "sin": _math("sin"), "cos": _math("cos"), "erf": _math("erf"),
    "atan": _math("atan"), "atan2": lambda graph, a, b: graph.math("atan2", a, b),
    "sigmoid": _sigmoid,
    "relu": _relu,
    "clamp_min": lambda graph, x, min: _clamp(graph, x, min),
    "clamp_max": lambda graph, x, max: _clamp(graph, x, None, max),
    "square": lambda graph, x: graph.arithmetic("mul", x, x),
    "reciprocal": lambda graph, x: graph.divide(graph.constant(1.0), x),
    "floor": _floor, "ceil": _ceil, "trunc": _trunc, "round": _round, "sign": _sign,
    "float": lambda graph, x: graph.cast(x, FLOAT),
    "int": to_whole, "short": lambda graph, x: to_whole(graph, x, INT16),
    "char": lambda graph, x: to_whole(graph, x, INT8),
    "byte": lambda graph, x: to_whole(graph, x, UINT8),
    "bool": lambda graph, x: graph.cast(x, BOOL),
    "clone": lambda graph, x: x,
    "detach": _detach, "detach_": _detach, "requires_grad_": _detach,
    "fmax": _refuse("fmax", "a number beside NaN is not supported, use maximum"),
    "fmin": _refuse("fmin", "a number beside NaN is not supported, use minimum"),
}  # fmt: skip

ALIASES = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div",
    "absolute": "abs", "negative": "neg", "greater": "gt", "less": "lt",
    "greater_equal": "ge", "less_equal": "le", "not_equal": "ne", "clip": "clamp",
    "max": "maximum", "min": "minimum",
    "long": "int",
    "half": "float", "bfloat16": "float", "double": "float",
    "contiguous": "clone", "fix": "trunc", "special_erf": "erf", "rsub": "rsub",
    "item": "clone", "arctan": "atan", "log_sigmoid": "logsigmoid",
    "special_expit": "sigmoid", "special_expm1": "expm1", "special_log1p": "log1p",
    "cuda": "clone", "cpu": "clone",
}  # fmt: skip


