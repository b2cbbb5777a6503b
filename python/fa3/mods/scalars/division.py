# SPDX-License-Identifier: Apache-2.0
"""Quotients, remainders, rounding and powers in mods, as torch has them: of whole numbers
whole ones, without an error."""

from __future__ import annotations

from .graph import BOOL, FLOAT, INDEX, Graph, Node, common_narrow, value_of
from .places import NeedsNumber, error_here


def absolute(graph: Graph, x: Node) -> Node:
    if x.type == FLOAT:
        return graph.math("absf", x)
    if x.nonnegative:
        return x
    return graph.arithmetic("maximum", x, graph.arithmetic("sub", graph.constant(0), x))


def negated(graph: Graph, x: Node) -> Node:
    if x.type == FLOAT:
        if x.is_constant:
            return graph.constant(-value_of(x))
        return graph.add("arith.negf", (x,), FLOAT)
    return graph.arithmetic("sub", graph.constant(0), x)


def _needs_constant(node: Node, what: str) -> None:
    if node.is_constant:
        if value_of(node) == 0:
            raise error_here(f"{what} by 0")
        return
    if node.numbers and not node.varies:
        raise NeedsNumber(node.numbers)
    raise error_here(f"{what} by a value that is not a constant")


def floor_divide(graph: Graph, a: Node, b: Node) -> Node:
    if a.type != FLOAT and b.type != FLOAT:
        _needs_constant(b, "whole division")
    return graph.floor_divide(a, b)


def remainder(graph: Graph, a: Node, b: Node) -> Node:
    if a.type != FLOAT and b.type != FLOAT:
        _needs_constant(b, "remainder of a division")
    return graph.modulo(a, b)


def truncating(graph: Graph, a: Node, b: Node) -> Node:
    """A quotient towards zero."""
    if FLOAT in (a.type, b.type):
        return trunc(graph, graph.divide(a, b))
    if a.nonnegative and b.nonnegative:
        return floor_divide(graph, a, b)
    _needs_constant(b, "whole division")
    narrow = common_narrow(a, b)
    (a, b), _ = graph.join(graph.cast(a, INDEX), graph.cast(b, INDEX))
    if a.nonnegative and b.nonnegative:
        return graph.floor_divide(a, b)
    return graph.narrowed(graph.add("arith.divsi", (a, b), INDEX), narrow)


def fmod(graph: Graph, a: Node, b: Node) -> Node:
    """What a quotient towards zero leaves, of the sign of a."""
    quotient = truncating(graph, a, b)
    if FLOAT not in (a.type, b.type):
        (a, b), _ = graph.join(a, b)
        return graph.arithmetic("sub", a, graph.arithmetic("mul", quotient, b))
    a, b, zero = graph.cast(a, FLOAT), graph.cast(b, FLOAT), graph.constant(0.0)
    rest = graph.math("fma", negated(graph, quotient), b, a)
    # A quotient just below a whole number may have been rounded to that.
    size = graph.math("absf", b)
    for predicate, opposite, name in (("gt", "lt", "add"), ("lt", "gt", "sub")):
        is_over = graph.bitwise(
            "and", graph.compare(predicate, a, zero), graph.compare(opposite, rest, zero)
        )
        rest = graph.select(is_over, graph.arithmetic(name, rest, size), rest)
    return rest


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


def floor(graph: Graph, x: Node) -> Node:
    whole = _whole_quotient(graph, x)
    if whole is not None:
        return graph.cast(graph.floor_divide(*whole), FLOAT)
    return x if x.type != FLOAT else graph.math("floor", x)


def ceil(graph: Graph, x: Node) -> Node:
    whole = _whole_quotient(graph, x)
    if whole is not None:
        below = graph.floor_divide(negated(graph, whole[0]), whole[1])
        return graph.cast(negated(graph, below), FLOAT)
    return x if x.type != FLOAT else graph.math("ceil", x)


def to_whole(graph: Graph, x: Node, narrow: str = "") -> Node:
    """As a whole number of 32 bits, or of the type `narrow`: towards zero."""
    whole = _whole_quotient(graph, x)
    x = graph.cast(x, INDEX) if whole is None else truncating(graph, *whole)
    return graph.narrowed(x, narrow) if narrow else graph.widened(x)


def trunc(graph: Graph, x: Node) -> Node:
    if x.type != FLOAT:
        return x
    if _whole_quotient(graph, x) is not None:
        return graph.cast(to_whole(graph, x), FLOAT)
    below = graph.compare("lt", x, graph.constant(0.0))
    return graph.select(below, graph.math("ceil", x), graph.math("floor", x))


def round_even(graph: Graph, x: Node) -> Node:
    return x if x.type != FLOAT else graph.math("roundeven", x)


def _product_of(graph: Graph, x: Node, count: int) -> Node:
    """x ** count, of 32 bits."""
    if count < 0:
        raise error_here("** of a whole number by a negative one, which torch has not")
    if x.is_constant:
        return graph.constant((value_of(x) ** count + 2**31) % 2**32 - 2**31)
    product = graph.constant(1)
    for bit in f"{count:b}":
        product = graph.arithmetic("mul", product, product)
        product = graph.arithmetic("mul", product, x) if bit == "1" else product
    return product


def _whole_power(graph: Graph, x: Node, y: Node) -> Node:
    """Of whole numbers, a whole number, which wraps as products do. An exponent below 0
    leaves 1 and -1 only; one above 255 is 254 or 255."""
    zero, one = graph.constant(0), graph.constant(1)
    narrow = common_narrow(x, y)
    x, y = to_whole(graph, x), to_whole(graph, y)
    is_below = graph.compare("lt", y, zero)
    if x.is_constant and value_of(x) == 2:
        power = graph.select(is_below, zero, graph.shift("left", one, y))
        return graph.narrowed(power, narrow)
    if y.is_constant:
        return graph.narrowed(_product_of(graph, x, value_of(y)), narrow)
    is_odd = graph.bitwise("and", y, one)
    few = graph.arithmetic("add", is_odd, graph.constant(254))
    few = graph.select(graph.compare("gt", y, graph.constant(255)), few, y)
    product, square = one, x
    for bit in range(8):
        has_bit = graph.bitwise("and", few, graph.constant(1 << bit))
        factor = graph.select(graph.cast(has_bit, BOOL), square, one)
        product = graph.arithmetic("mul", product, factor)
        square = _product_of(graph, square, 2)
    has_inverse = graph.compare("eq", absolute(graph, x), one)
    small = graph.select(graph.cast(is_odd, BOOL), x, one)
    power = graph.select(is_below, graph.select(has_inverse, small, zero), product)
    return graph.narrowed(power, narrow)


def power(graph: Graph, x: Node, y: Node) -> Node:
    if y.type == FLOAT:
        x = graph.cast(x, FLOAT)
    if y.is_constant and value_of(y) == 0:
        return graph.cast(graph.constant(1), x.type)
    if y.is_constant and 1 <= value_of(y) <= 8 and value_of(y) == int(value_of(y)):
        result = x
        for _ in range(int(value_of(y)) - 1):
            result = graph.arithmetic("mul", result, x)
        return result
    if y.is_constant and value_of(y) == 0.5:
        return graph.math("sqrt", x)
    if FLOAT not in (x.type, y.type):
        if y.numbers and not y.varies:
            raise NeedsNumber(y.numbers)
        return _whole_power(graph, x, y)
    if x.is_constant and value_of(x) == 2:
        return graph.math("exp2", y)
    return graph.math("powf", x, y)
