# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions as a graph: what a traced mod computes, and its text in the
arith and math dialects. Equal expressions are one node.

Values are `index`, `f32` or `i1`; what is loaded is converted to one of them. Whole
numbers of 8 and 16 bits wrap as torch's do: `narrow` says which of them have which type.
"""

from __future__ import annotations

import dataclasses
import math
import struct
from typing import Any, Sequence

INDEX, FLOAT, BOOL = "index", "f32", "i1"
#: The types of `narrow`.
INT8, UINT8, INT16 = "i8", "u8", "i16"
#: Of one region, with its yield: the limit of the compiler (Attention.h).
MAX_OPERATIONS = 1024


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """One operation. `varies` says whether it depends on score or indices;
    `numbers` are the captured numbers that it depends on; `narrow` is the type of a whole
    number of 8 or 16 bits."""

    op: str
    operands: tuple["Node", ...]
    type: str
    attribute: Any = None
    varies: bool = False
    numbers: frozenset[int] = frozenset()
    nonnegative: bool = False
    place: tuple[str, int] = ("", 0)
    narrow: str = ""

    @property
    def is_constant(self) -> bool:
        return self.op == "arith.constant"


class Graph:
    """The nodes of one region, in order."""

    def __init__(self) -> None:
        self._known: dict[Any, Node] = {}
        #: Where the user's code is; set by the tracer before it adds nodes.
        self.place: tuple[str, int] = ("", 0)

    def add(
        self, op: str, operands: Sequence[Node], type: str, attribute: Any = None,
        nonnegative: bool = False, varies: bool = False,
        numbers: frozenset[int] = frozenset(), narrow: str = "",
    ) -> Node:  # fmt: skip
        key = (op, tuple(id(one) for one in operands), type, attribute, narrow)
        found = self._known.get(key)
        if found is None:
            found = Node(
                op, tuple(operands), type, attribute,
                varies or any(one.varies for one in operands),
                numbers.union(*(one.numbers for one in operands)),
                nonnegative, self.place, narrow,
            )  # fmt: skip
            self._known[key] = found
        return found

    def argument(self, name: str, type: str) -> Node:
        """A parameter of the region."""
        return self.add(
            "argument", (), type, name, nonnegative=type == INDEX, varies=True
        )

    def number(self, position: int, type: str) -> Node:
        """A captured number, a scalar argument of the kernel: i32 or f32."""
        numbers = frozenset([position])
        node = self.add("number", (), type, position, numbers=numbers)
        return self.add("arith.index_cast", (node,), INDEX) if type != FLOAT else node

    def constant(self, value: bool | int | float) -> Node:
        if isinstance(value, bool):
            return self.add("arith.constant", (), BOOL, value)
        if isinstance(value, int):
            return self.add("arith.constant", (), INDEX, value, nonnegative=value >= 0)
        # NaN is not equal to itself, zeros are, whatever their sign.
        bits = struct.unpack("<I", struct.pack("<f", _to_f32(value)))[0]
        return self.add("arith.constant", (), FLOAT, ("bits", bits))

    def cast(self, node: Node, type: str) -> Node:
        """A value as another type, as Python's bool, int and float convert."""
        if node.type == type:
            return node
        if node.is_constant:
            value = value_of(node)
            if type == FLOAT:
                return self.constant(float(value))
            if type == INDEX:
                return self.constant(int(value))
            return self.constant(bool(value))
        if type == BOOL:
            zero = self.constant(0.0 if node.type == FLOAT else 0)
            return self.compare("ne", node, zero)
        if type == INDEX:
            if node.type == BOOL:
                wide = self.add("arith.extui", (node,), "i32", nonnegative=True)
            else:
                wide = self.add("arith.fptosi", (node,), "i32")
            return self.add(
                "arith.index_cast", (wide,), INDEX, nonnegative=wide.nonnegative
            )
        if node.type == BOOL:
            return self.select(node, self.constant(1.0), self.constant(0.0))
        narrow = self.add("arith.index_cast", (node,), "i32")
        return self.add("arith.sitofp", (narrow,), FLOAT)

    def join(self, *nodes: Node) -> tuple[list[Node], str]:
        """Values as their common type: bool below int below float. Numbers of Python
        beside narrow ones are such."""
        order = (BOOL, INDEX, FLOAT)
        type = max((one.type for one in nodes), key=order.index)
        narrow = common_narrow(*nodes)
        made = [self.cast(one, type) for one in nodes]
        return [one if one.varies else self.narrowed(one, narrow) for one in made], type

    def narrowed(self, node: Node, narrow: str) -> Node:
        """The last bits of a whole number, as one of the type `narrow`."""
        if not narrow or node.narrow == narrow:
            return node
        bits, least = _BITS_AND_LEAST[narrow]
        if node.is_constant:
            return self.constant((value_of(node) - least) % (1 << bits) + least)
        low = self.constant((1 << bits) - 1)
        if not least:
            return self.add("arith.andi", (node, low), INDEX, nonnegative=True, narrow=narrow)
        above = self.add("arith.addi", (node, self.constant(-least)), INDEX)
        above = self.add("arith.andi", (above, low), INDEX, nonnegative=True)
        return self.add("arith.subi", (above, self.constant(-least)), INDEX, narrow=narrow)

    def widened(self, node: Node) -> Node:
        """The same whole number, of 32 bits."""
        if not node.narrow:
            return node
        return self.add(node.op, node.operands, node.type, node.attribute, node.nonnegative)

    def arithmetic(self, name: str, a: Node, b: Node) -> Node:
        """add, sub, mul, maximum, minimum. Sums and products of two booleans are
        booleans."""
        if a.type == b.type == BOOL and name != "sub":
            return self.bitwise("or" if name in ("add", "maximum") else "and", a, b)
        narrow = common_narrow(a, b)
        (a, b), type = self.join(a, b)
        if type == BOOL:
            a, b, type = self.cast(a, INDEX), self.cast(b, INDEX), INDEX
        if a.is_constant and b.is_constant:
            x, y = value_of(a), value_of(b)
            folded = {
                "add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y,
                "maximum": lambda: max(x, y), "minimum": lambda: min(x, y),
            }[name]()  # fmt: skip
            if not (isinstance(folded, float) and math.isnan(folded)):
                return self.constant(folded)
        nonnegative = (
            type == INDEX and name != "sub" and a.nonnegative and b.nonnegative
        )
        ops = {
            INDEX: {"add": "addi", "sub": "subi", "mul": "muli",
                    "maximum": "maxsi", "minimum": "minsi"},
            FLOAT: {"add": "addf", "sub": "subf", "mul": "mulf",
                    "maximum": "maximumf", "minimum": "minimumf"},
        }[type]  # fmt: skip
        if type == FLOAT or name in ("maximum", "minimum"):
            return self.add(
                f"arith.{ops[name]}", (a, b), type, nonnegative=nonnegative,
                narrow=narrow if type == INDEX else "",
            )  # fmt: skip
        made = self.add(f"arith.{ops[name]}", (a, b), type, nonnegative=nonnegative)
        return self.narrowed(made, narrow)

    def divide(self, a: Node, b: Node) -> Node:
        """True division, in f32: by a constant, if it has an inverse, `quotient` of a
        and that, whose attribute is the constant; else of a and b. printer.py says
        what a quotient is in code."""
        a, b = self.cast(a, FLOAT), self.cast(b, FLOAT)
        if b.is_constant:
            value = value_of(b)
            if a.is_constant and value:
                return self.constant(value_of(a) / value)
            inverse = 1.0 / value if value and math.isfinite(value) else 0.0
            if 1e-37 < abs(inverse) < 1e37:
                if math.frexp(value)[0] in (0.5, -0.5):
                    return self.arithmetic("mul", a, self.constant(inverse))
                return self.add("quotient", (a, self.constant(inverse)), FLOAT, value)
        return self.add("quotient", (a, b), FLOAT)

    def floor_divide(self, a: Node, b: Node) -> Node:
        """Rounded down, as Python does. An integer divisor is constant."""
        narrow = common_narrow(a, b)
        (a, b), type = self.join(a, b)
        if type == FLOAT:
            return self._floored(a, b)[0]
        a, b = self.cast(a, INDEX), self.cast(b, INDEX)
        if value_of(b) == 1:
            return a
        if value_of(b) == -1:
            return self.arithmetic("sub", self.constant(0), a)
        if a.is_constant:
            return self.constant(value_of(a) // value_of(b))
        both = a.nonnegative and b.nonnegative
        op = "arith.divsi" if both else "arith.floordivsi"
        return self.add(op, (a, b), INDEX, nonnegative=both, narrow=narrow)

    def modulo(self, a: Node, b: Node) -> Node:
        """With the sign of the divisor, as Python does."""
        narrow = common_narrow(a, b)
        (a, b), type = self.join(a, b)
        if type == FLOAT:
            return self._floored(a, b)[1]
        a, b = self.cast(a, INDEX), self.cast(b, INDEX)
        if a.is_constant:
            return self.constant(value_of(a) % value_of(b))
        if a.nonnegative and b.nonnegative:
            return self.add("arith.remsi", (a, b), INDEX, nonnegative=True, narrow=narrow)
        floor = self.floor_divide(a, b)
        rest = self.arithmetic("sub", a, self.arithmetic("mul", floor, b))
        return rest

    def _floored(self, a: Node, b: Node) -> tuple[Node, Node]:
        """A quotient of floats that is rounded down, and what is left, without an error:
        a quotient just below a whole number may have been rounded to that."""
        floor = self.add("math.floor", (self.divide(a, b),), FLOAT)
        rest = self.math("fma", self.add("arith.negf", (floor,), FLOAT), b, a)
        zero = self.constant(0.0)
        above = self.bitwise(
            "and", self.compare("lt", rest, zero), self.compare("gt", b, zero)
        )
        below = self.bitwise(
            "and", self.compare("gt", rest, zero), self.compare("lt", b, zero)
        )
        is_over = self.bitwise("or", above, below)
        less = self.arithmetic("sub", floor, self.constant(1.0))
        more = self.arithmetic("add", rest, b)
        return self.select(is_over, less, floor), self.select(is_over, more, rest)

    def bitwise(self, name: str, a: Node, b: Node) -> Node:
        """and, or, xor."""
        narrow = common_narrow(a, b)
        (a, b), type = self.join(a, b)
        if type == BOOL:
            for one, other in ((a, b), (b, a)):
                if one.is_constant and name != "xor":
                    neutral = (name == "and") == value_of(one)
                    return other if neutral else one
        nonnegative = a.nonnegative and b.nonnegative
        return self.add(
            f"arith.{name}i", (a, b), type, nonnegative=nonnegative, narrow=narrow
        )

    def shift(self, name: str, a: Node, b: Node) -> Node:
        """By 32 and more: nothing is left, but the sign of a number to the right."""
        narrow = common_narrow(a, b)
        (a, b), _ = self.join(a, b)
        few = b
        if not (b.is_constant and 0 <= value_of(b) < 32):
            few = self.arithmetic("minimum", self.widened(b), self.constant(31))
        if name == "right":
            return self.add(
                "arith.shrsi", (a, few), INDEX, nonnegative=a.nonnegative, narrow=narrow
            )
        made = self.add("arith.shli", (a, few), INDEX, nonnegative=a.nonnegative)
        if few is not b:
            fits = self.compare("lt", b, self.constant(32))
            made = self.select(fits, made, self.constant(0))
        return self.narrowed(made, narrow)

    def compare(self, predicate: str, a: Node, b: Node) -> Node:
        """eq, ne, lt, le, gt, ge."""
        (a, b), type = self.join(a, b)
        if type == BOOL and predicate not in ("eq", "ne"):
            a, b, type = self.cast(a, INDEX), self.cast(b, INDEX), INDEX
        if a.is_constant and b.is_constant:
            x, y = value_of(a), value_of(b)
            return self.constant(
                {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y,
                 "ge": x >= y}[predicate]
            )  # fmt: skip
        if predicate == "lt" and a.nonnegative and b.is_constant and not value_of(b):
            return self.constant(False)
        if type == FLOAT:
            name = ("une" if predicate == "ne" else "o" + predicate)
            return self.add("arith.cmpf", (a, b), BOOL, name)
        name = predicate if predicate in ("eq", "ne") else "s" + predicate
        if type == INDEX:
            a, b = self._in_full(a, b)
        return self.add("arith.cmpi", (a, b), BOOL, name)

    def _in_full(self, a: Node, b: Node) -> tuple[Node, Node]:
        """Whole numbers to be compared: elements of 64 bits with each other and with
        constants in all their bits, everything else in the 32 of a kernel."""
        wide = [_is_wide(one) for one in (a, b)]
        if not any(wide) or not all(w or one.is_constant for w, one in zip(wide, (a, b))):
            return a, b
        first, second = (
            one.operands[0] if w else self.add("arith.constant", (), "i64", one.attribute)
            for w, one in zip(wide, (a, b))
        )
        return first, second

    def select(self, condition: Node, a: Node, b: Node) -> Node:
        narrow = common_narrow(a, b)
        (a, b), type = self.join(a, b)
        if condition.is_constant:
            return a if value_of(condition) else b
        both = a.nonnegative and b.nonnegative
        return self.add(
            "arith.select", (condition, a, b), type, nonnegative=both,
            narrow=narrow if type == INDEX else "",
        )  # fmt: skip

    def math(self, name: str, *operands: Node) -> Node:
        """An operation of the math dialect on f32."""
        given = [self.cast(one, FLOAT) for one in operands]
        return self.add(f"math.{name}", given, FLOAT)

    def load(self, aux: int, type: str, indices: Sequence[Node], kind: str) -> Node:
        """An element of auxiliary tensor `aux`, as index, f32 or i1 (`kind`)."""
        raw = self.add("load", indices, type, aux, varies=True)
        if kind == BOOL:
            zero = self.add("arith.constant", (), type, 0)
            return self.add("arith.cmpi", (raw, zero), BOOL, "ne")
        if kind == FLOAT:
            return raw if type == "f32" else self.add("arith.extf", (raw,), FLOAT)
        if kind == "unsigned":
            wide = self.add("arith.extui", (raw,), "i32", nonnegative=True)
            return self.add(
                "arith.index_cast", (wide,), INDEX, nonnegative=True, narrow=UINT8
            )
        narrow = type if type in (INT8, INT16) else ""
        return self.add("arith.index_cast", (raw,), INDEX, narrow=narrow)


#: Of each type of `narrow`: its bits, and the least number that it has.
_BITS_AND_LEAST = {INT8: (8, -128), UINT8: (8, 0), INT16: (16, -(2**15))}


def common_narrow(*nodes: Node) -> str:
    """The narrow type that torch computes in, or "": numbers of Python take the type of
    what they are beside, and booleans do."""
    found = {one.narrow for one in nodes if one.type == INDEX and one.varies}
    if not found or "" in found or any(one.type == FLOAT for one in nodes):
        return ""
    return found.pop() if len(found) == 1 else INT16


def _is_wide(node: Node) -> bool:
    return node.op == "arith.index_cast" and node.operands[0].type == "i64"


def value_of(node: Node) -> Any:
    """The value of a constant."""
    assert node.is_constant, node.op
    if isinstance(node.attribute, tuple):
        return struct.unpack("<f", struct.pack("<I", node.attribute[1]))[0]
    return node.attribute


def _to_f32(value: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
