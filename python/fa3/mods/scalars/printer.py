# SPDX-License-Identifier: Apache-2.0
"""The text of a graph in the arith and math dialects.

A quotient is a product with the inverse, or a division of the chip, which is within 2
units in the last place: 49 / 49 may be less than 1. Where a floor, a comparison or the
like decides by a quotient that has nothing to do with the score, it is rounded as torch
rounds it, by what is left over (Markstein, Computation of elementary functions on the IBM
RISC System/6000 processor)."""

from __future__ import annotations

import math
from typing import Iterator, Sequence

from ...errors import TraceError
from .graph import BOOL, FLOAT, MAX_OPERATIONS, Node, value_of

_GIVEN = ("argument", "number")  # print nothing
_FAST = " fastmath<reassoc, contract>"
_FAST_OPS = ("arith.addf", "arith.subf", "arith.mulf")
#: What a last bit of an operand can turn.
_DECIDES = ("math.floor", "math.ceil", "math.roundeven", "arith.fptosi", "arith.cmpf")


class Printer:
    """The text of a region, and for each of its lines the user's place."""

    def __init__(self, tensor_types: Sequence[str]) -> None:
        self._tensors = tensor_types
        self._names: dict[int, str] = {}
        self._exact: set[int] = set()
        self.lines: list[str] = []
        self.places: list[tuple[str, int]] = []

    def print(self, name: str, result: Node) -> str:
        """The region `name`, which yields `result`. Raises TraceError at the first
        operation that is one too many for the compiler."""
        self._exact = _exact_quotients(result)
        # A list of what is left to do: chains may be longer than Python's stack.
        left = [result]
        while left:
            node = left[-1]
            if id(node) in self._names:
                left.pop()
                continue
            missing = [one for one in node.operands if id(one) not in self._names]
            if missing:
                left += reversed(missing)
                continue
            left.pop()
            if len(self.lines) + 1 >= MAX_OPERATIONS and node.op not in _GIVEN:
                raise TraceError(
                    f"{name} has more than {MAX_OPERATIONS} operations, the limit",
                    *node.place,
                )
            self._define(node)
        self._line(
            f"attention.yield {self._names[id(result)]} : {result.type}", result.place
        )
        return "\n".join(self.lines)

    def _line(self, text: str, place: tuple[str, int]) -> None:
        self.lines.append("      " + text)
        self.places.append(place)

    def _define(self, node: Node) -> None:
        """A name for a node whose operands have theirs."""
        if node.op == "argument":
            name = "%" + node.attribute
        elif node.op == "number":
            name = f"%arg{node.attribute}"
        elif id(node) in self._exact:
            name = self._exact_quotient(node)
        else:
            operands = [self._names[id(one)] for one in node.operands]
            name = self._value(self._operation(node, operands), node)
        self._names[id(node)] = name

    def _value(self, operation: str, node: Node) -> str:
        name = f"%{len(self.lines)}"
        self._line(f"{name} = {operation}", node.place)
        return name

    def _exact_quotient(self, node: Node) -> str:
        """Rounded once. Where an infinite number or a 0 leaves no remainder, as it is."""
        a, b = (self._names[id(one)] for one in node.operands)
        is_inverse = node.attribute is not None

        def add(operation: str, type: str = FLOAT) -> str:
            return self._value(f"{operation} : {type}", node)

        first = add(f"{'arith.mulf' if is_inverse else 'arith.divf'} {a}, {b}")
        if is_inverse:
            minus = add(f"arith.constant {-node.attribute:.8e}")
            rest = add(f"math.fma {first}, {minus}, {a}")
            made = add(f"math.fma {rest}, {b}, {first}")
            if _is_whole(node.operands[0]):
                return made
        else:
            minus = add(f"arith.negf {first}")
            rest = add(f"math.fma {minus}, {b}, {a}")
            rest = add(f"arith.divf {rest}, {b}")
            made = add(f"arith.addf {first}, {rest}")
        is_number = add(f"arith.cmpf ord, {made}, {made}")
        return add(f"arith.select {is_number}, {made}, {first}")

    def _operation(self, node: Node, operands: list[str]) -> str:
        op, type = node.op, node.type
        if op == "arith.constant":
            return f"arith.constant {_literal(node)}"
        if op == "quotient":
            inverse = node.attribute is not None
            op = "arith.mulf" if inverse else "arith.divf"
        if op == "load":
            return (
                f"tensor.extract %aux{node.attribute}[{', '.join(operands)}] : "
                f"{self._tensors[node.attribute]}"
            )
        text = ", ".join(operands)
        source = node.operands[0].type
        if op in ("arith.cmpi", "arith.cmpf"):
            return f"{op} {node.attribute}, {text} : {source}"
        if op in ("arith.index_cast", "arith.extui", "arith.fptosi", "arith.sitofp",
                  "arith.extf"):  # fmt: skip
            return f"{op} {text} : {source} to {type}"
        return f"{op} {text}{_FAST if op in _FAST_OPS else ''} : {type}"


def _literal(node: Node) -> str:
    if node.type == BOOL:
        return "true" if node.attribute else "false"
    if not isinstance(node.attribute, tuple):
        return f"{node.attribute} : {node.type}"
    value = value_of(node)
    if math.isfinite(value):
        return f"{value:.8e} : f32"
    return f"0x{node.attribute[1]:08X} : f32"


def _is_whole(node: Node) -> bool:
    return node.op == "arith.sitofp"


def _below(starts: Sequence[Node]) -> Iterator[Node]:
    """What nodes depend on, and they themselves."""
    seen, left = set(), list(starts)
    while left:
        node = left.pop()
        if id(node) not in seen:
            seen.add(id(node))
            left += node.operands
            yield node


def _exact_quotients(result: Node) -> set[int]:
    deciding = [one for one in _below([result]) if one.op in _DECIDES]
    found = [one for one in _below(deciding) if one.op == "quotient"]
    return {
        id(one) for one in found
        if not any(below.attribute == "score" for below in _below([one]))
    }  # fmt: skip
