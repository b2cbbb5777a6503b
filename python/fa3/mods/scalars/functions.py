# SPDX-License-Identifier: Apache-2.0
"""What mods may call: the functions and operators of torch that are traced, as
nodes of a graph."""

from __future__ import annotations

from typing import Any, Callable

from ...errors import TraceError
from .division import (
    absolute,
    ceil,
    floor,
    floor_divide,
    fmod,
    negated,
    power,
    remainder,
    round_even,
    to_whole,
    trunc,
)
from .graph import BOOL, FLOAT, INDEX, INT8, INT16, UINT8, Graph, Node, value_of
from .places import EndsGradient, error_here


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


def _rsub(graph: Graph, a: Node, b: Node, alpha: Node | None = None) -> Node:
    return _sub(graph, b, a, alpha)


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
    exponential = graph.math("exp", negated(graph, graph.cast(x, FLOAT)))
    return graph.divide(one, graph.arithmetic("add", one, exponential))


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
    if x.type != FLOAT:
        return _clamp(graph, x, graph.cast(low, INDEX), graph.cast(high, INDEX))
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
    far = negated(graph, absolute(graph, graph.arithmetic("sub", a, b)))
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
    "logsigmoid": lambda graph, x: negated(graph, _softplus(graph, negated(graph, x))),
    "add": _add, "sub": _sub, "rsub": _rsub, "mul": _arithmetic("mul"),
    "div": lambda graph, a, b: graph.divide(a, b),
    "floor_divide": floor_divide, "remainder": remainder,
    "fmod": fmod,
    "maximum": _arithmetic("maximum"), "minimum": _arithmetic("minimum"),
    "pow": power, "abs": absolute, "neg": negated, "positive": lambda graph, x: x,
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
    "floor": floor, "ceil": ceil, "trunc": trunc, "round": round_even, "sign": _sign,
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
    "contiguous": "clone", "fix": "trunc", "special_erf": "erf",
    "item": "clone", "arctan": "atan", "log_sigmoid": "logsigmoid",
    "special_expit": "sigmoid", "special_expm1": "expm1", "special_log1p": "log1p",
    "cuda": "clone", "cpu": "clone",
}  # fmt: skip


