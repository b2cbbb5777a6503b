# SPDX-License-Identifier: Apache-2.0
"""Quotients of tile numbers, for more tiles than a run here has.

A kernel divides by multiplying with a factor from its parameters, ceil(2^62 / d). An
edit of that arithmetic may show from millions of tiles on. The few instructions around
it are evaluated by themselves, as they are and edited, for numbers up to 2^24 and
divisors of all sizes below.
"""

import random
import re

import ptx_flow

MASK = (1 << 64) - 1
TRIES = 4000
MOST = 1 << 24
OPERATIONS = {
    "cvt.u64.u32": lambda a: a & 0xFFFFFFFF,
    "cvt.u32.u64": lambda a: a & 0xFFFFFFFF,
    "and.b64": lambda a, b: a & b,
    "shr.u64": lambda a, b: a >> b if b < 64 else 0,
    "mul.lo.s64": lambda a, b: a * b & MASK,
    "mad.lo.s64": lambda a, b, c: a * b + c & MASK,
}


def operands_of(text):
    return [operand.strip() for operand in text.split(",")]


class Slice:
    """Instructions that give a register its value, down to one tile number and one
    factor."""

    def __init__(self, rules, number, line):
        self.values, self.flow = rules.values, rules.flow
        self.number, self.edit = number, ptx_flow.STATEMENT.match(line)
        self.leaves = {}

    def code_of(self, statement, edited):
        if edited and statement.line == self.number:
            return self.edit[3], operands_of(self.edit[4])
        return statement.opcode, operands_of(statement.operands)

    def last(self):
        """The statement that takes bits 30 and up, which the edited one leads to."""
        at = self.flow.index[self.number]
        for i in range(at, len(self.flow.statements)):
            statement = self.flow.statements[i]
            if (
                re.match(r"shr\.u64", statement.opcode)
                and operands_of(statement.operands)[2] == "30"
                and self.leads(at, i)
            ):
                return i
        return None

    def leads(self, start, end):
        """Whether the value of one statement is part of another's."""
        if start == end:
            return True
        sources = operands_of(self.flow.statements[end].operands)[1:]
        return any(
            (i := self.definition(name)) is not None and self.leads(start, i) for name in sources
        )

    def definition(self, name):
        bit = self.flow.bits.get(name)
        writers = self.values.writers.get(bit, [])
        if bit is None or len(writers) != 1:
            return None
        statement = self.flow.statements[writers[0]]
        known = statement.opcode in OPERATIONS and not statement.guard
        # A tile number starts as 32 bits, also where it is a quotient.
        return writers[0] if known and statement.opcode != "cvt.u32.u64" else None

    def evaluate(self, at, numbers, edited):
        opcode, (_, *sources) = self.code_of(self.flow.statements[at], edited)
        given = []
        for name in sources:
            if re.fullmatch(r"-?\d+", name):
                given.append(int(name) & MASK)
                continue
            i = self.definition(name)
            if i is None:
                self.leaves[name] = True
                given.append(numbers[name])
            else:
                given.append(self.evaluate(i, numbers, edited))
        return OPERATIONS[opcode](*given)


def find(rules, number, line):
    """A tile number and a divisor with another quotient, or ''."""
    part = Slice(rules, number, line)
    old = rules.flow.statements[rules.flow.index[number]]
    if old.opcode not in OPERATIONS or not part.edit or part.edit[3] != old.opcode or part.edit[2]:
        return ""
    at = part.last()
    if at is None:
        return ""

    class Zeros(dict):
        def __missing__(self, name):
            return 0

    part.evaluate(at, Zeros(), False)
    factors = [name for name in part.leaves if name.startswith("%rd")]
    tiles = [name for name in part.leaves if not name.startswith("%rd")]
    if len(factors) != 1 or len(tiles) != 1:
        return ""
    chance = random.Random(1)
    for _ in range(TRIES):
        divisor = chance.randrange(1, 1 << chance.randrange(1, 24))
        tile = chance.randrange(MOST // divisor) * divisor + chance.choice([0, divisor - 1])
        if tile >= MOST:
            continue
        numbers = {factors[0]: -(-(1 << 62) // divisor), tiles[0]: tile}
        if part.evaluate(at, numbers, False) != tile // divisor:
            return ""
        if part.evaluate(at, numbers, True) != tile // divisor:
            return f"another quotient of tile {tile} by {divisor}"
    return ""
