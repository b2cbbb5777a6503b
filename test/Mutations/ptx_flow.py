# SPDX-License-Identifier: Apache-2.0
"""Statements of a kernel in PTX text, where each goes on, and what it accesses.

It reads what fa3 writes: a statement or label a line, one kernel a file. A name that
a block declares (.reg in braces) is another one than that of the next block.
"""

import functools
import re

STATEMENT = re.compile(r"^\s*(?:@(!?)(%?[\w$]+)\s+)?([a-z][\w.:]+)\b\s*(.*?);")
LABEL = re.compile(r"^\s*([\w$]+):\s*$")
NAME = re.compile(r"%[\w$]+(?:\.[xyz])?|\b[A-Za-z]\w*\b")
# The first operand is no result.
NO_RESULT = re.compile(
    r"st\.|stmatrix|red\.|bar\.|barrier\.|mbarrier\.(init|inval|expect)|cp\.|fence|bra|"
    r"ret|exit|trap|wgmma\.(fence|commit|wait)|setmaxnreg|prefetch|griddep|nanosleep|membar"
)


class Statement:
    """A line: its guard, opcode and operands, and the registers that it accesses, as
    sets of bits."""

    def __init__(self, line, match, names):
        self.line = line
        self.negated, self.guard, self.opcode, operands = match.groups()
        self.operands = operands
        first, rest = split_first(operands)
        if NO_RESULT.match(self.opcode):
            first, rest = "", operands
        self.product = self.opcode.startswith("wgmma.mma_async")
        self.writes = names(first)
        self.reads = names(rest) | (self.writes if self.product else 0)
        if self.guard:
            self.reads |= names(self.guard)
        self.accesses = self.reads | self.writes
        # Of a product: registers of the accumulators and of the left operand.
        self.fragments = names(" ".join(re.findall(r"{(.*?)}", operands)))
        self.next = []


def split_first(operands):
    """The operands behind the first comma that is in no bracket."""
    depth = 0
    for i, character in enumerate(operands):
        depth += (character in "[{") - (character in "]}")
        if character == "," and depth == 0:
            return operands[:i], operands[i + 1 :]
    return operands, ""


class Flow:
    """The statements of a text, in order; `next` are indices."""

    def __init__(self, lines):
        self.statements, self.index, self.labels, self.bits = [], {}, {}, {}
        scopes, blocks, declared, names = [], 0, {}, self.names
        for number, line in enumerate(lines):
            text = line.split("//")[0].strip()
            if text == "{":
                blocks += 1
                scopes.append(blocks)
            elif text == "}":
                scopes.pop()
            elif not scopes:
                continue
            elif match := re.match(r"\.reg\s+\.\w+\s+([\w, ]+);", text):
                for name in match[1].split(","):
                    declared[name.strip()] = f"{name.strip()}@{scopes[-1]}"
            elif match := LABEL.match(text):
                self.labels[match[1]] = len(self.statements)
            elif match := STATEMENT.match(text):
                self.index[number] = len(self.statements)
                self.statements.append(Statement(number, match, lambda part: names(part, declared)))
        for i, statement in enumerate(self.statements):
            self.connect(i, statement)

    def names(self, part, declared):
        result = 0
        for name in NAME.findall(part):
            if name.startswith("%") or name in declared:
                name = declared.get(name, name)
                result |= 1 << self.bits.setdefault(name, len(self.bits))
        return result

    def connect(self, i, statement):
        follows = [i + 1] if i + 1 < len(self.statements) else []
        if statement.opcode.startswith("bra"):
            target = self.labels[statement.operands.strip()]
            statement.next = [target] + (follows if statement.guard else [])
        elif statement.opcode in ("ret", "exit", "trap"):
            statement.next = follows if statement.guard else []
        else:
            statement.next = follows

    def live_out(self):
        """Registers that may be read behind each statement."""
        return self.live[1]

    def live_in(self):
        return self.live[0]

    @functools.cached_property
    def live(self):
        before, after = [0] * len(self.statements), [0] * len(self.statements)
        changed = True
        while changed:
            changed = False
            for i in range(len(self.statements) - 1, -1, -1):
                statement = self.statements[i]
                for n in statement.next:
                    after[i] |= before[n]
                kept = after[i] if statement.guard else after[i] & ~statement.writes
                if kept | statement.reads != before[i]:
                    before[i] = kept | statement.reads
                    changed = True
        return before, after

    def reaches(self, starts, end):
        """Whether a path leads from behind one of the statements to another one."""
        work = [n for start in starts for n in start.next]
        seen = set(work)
        while work:
            for n in self.statements[work.pop()].next:
                if n not in seen:
                    seen.add(n)
                    work.append(n)
        return self.index[end.line] in seen

    def forward(self, start, step, most):
        """Sets of states in front of each statement: `step` gives those behind one.
        None if it gives none, or there are more than `most` somewhere."""
        states = [set() for _ in self.statements]
        states[0].add(start)
        changed = True
        while changed:
            changed = False
            for i, statement in enumerate(self.statements):
                given = [step(statement, state) for state in states[i]]
                behind = set().union(*given)
                if not all(given) or len(behind) > most:
                    return None
                for n in statement.next:
                    if not behind <= states[n]:
                        states[n] |= behind
                        changed = True
        return states

    def union(self, start, step):
        """The same for sets of registers, joined where paths meet; None: unreached."""
        states = [None] * len(self.statements)
        states[0] = start
        changed = True
        while changed:
            changed = False
            for i, statement in enumerate(self.statements):
                if states[i] is None:
                    continue
                behind = step(statement, states[i])
                for n in statement.next:
                    if states[n] is None or behind & ~states[n]:
                        states[n] = behind | (states[n] or 0)
                        changed = True
        return states
