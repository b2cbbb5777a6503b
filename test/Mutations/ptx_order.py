# SPDX-License-Identifier: Apache-2.0
"""Rules that show barriers, fences and registers to order nothing that something else
does not order, too: by what happens before what, on every path of the text.

The four warps of a warp group execute the same barriers, products and waits for them.
What each warp did before it issued a product is before all that any of them does
behind a wait for that product (it needs all four, section 9.7.15.7); a barrier of the
group (9.7.13.1) is the same at one place. That a text without an edit is right is
assumed: slots and phases are those that belong together.
"""

import functools
import itertools
import re

import ptx_flow
import ptx_values

# What no other warp or proxy can notice.
ALONE = re.compile(
    r"(mov|add|sub|mul|mad|fma|shl|shr|shf|and|or|xor|not|neg|abs|min|max|setp|selp|prmt|lop3|"
    r"cvt|cvta|ex2|lg2|rcp|div|tanh|sin|cos|bfe|bfi|bfind|vote\.sync|shfl\.sync|elect\.sync|"
    r"ld\.param|ld\.const|ld\.global\.nc|bra|ret|exit|setmaxnreg|trap)\b"
)
WAIT = re.compile(r"mbarrier\.(try|test)_wait")
ARRIVE = re.compile(r"mbarrier\.arrive\.(?!expect)")
BARRIER = re.compile(r"bar(rier)?\.(cta\.)?(sync|arrive|red)")
READ = re.compile(r"ld(matrix|\.shared)")
FENCE = re.compile(r"fence\.(acq_rel|proxy\.async)")
STORE = re.compile(r"cp\.(reduce\.)?async\.bulk\..*global\.shared")
COPY = re.compile(r"cp\.async\.bulk\..*shared::c\w+\.global")
GROUP = 128
MASK = (1 << 32) - 1
OPERATIONS = {
    "mov.u32": lambda a: a,
    "mov.b32": lambda a: a,
    "shfl.sync.idx.b32": lambda a: a,
    "add.s32": lambda a, b: a + b,
    "sub.s32": lambda a, b: a - b,
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "xor.b32": lambda a, b: a ^ b,
    "shl.b32": lambda a, b: a << b,
    "shr.u32": lambda a, b: a >> b,
}
MATRIX = re.compile(r"(ld|st)matrix\..*\.x4\.")
# What a warp has done since something that all warps of the group have passed: it has
# waited or made a fence, accessed memory that only it accesses, been at the barrier of
# another group, or done something else that others may notice; four bits higher what of
# that was before the edited barrier; and whether it has passed that.
WAITED, OWN, TURN, OTHER = 1, 2, 4, 8
LOST, PASSED = 4, 256


class Order:
    def __init__(self, lines, flow, values):
        self.lines, self.flow, self.values = lines, flow, values

    def find(self, old, line):
        for rule in (self.barrier, self.fence, self.registers):
            if name := rule(old, line):
                return name
        return ""

    def offset(self, name, depth=0):
        """The constants in a sum that is an address, which name an array of slots."""
        if name.isdigit():
            return int(name)
        parts = self.values.parts(name)
        if not parts or depth > 30:
            return 0
        opcode, operands, _ = parts
        if re.match(r"(add\.[su]|mov\.b)32", opcode):
            return sum(self.offset(operand, depth + 1) for operand in operands)
        return 0

    def address(self, statement):
        """The same of the first operand in brackets; None if there is none."""
        found = re.search(r"\[(%\w+)(?:\+(\d+))?[\],]", statement.operands)
        return self.offset(found[1]) + int(found[2] or 0) if found else None

    @functools.lru_cache(maxsize=None)  # noqa: B019
    def evaluate(self, name, thread, unknown):
        """A register of a thread, 32 bits; `unknown` for what is the same in all lanes."""
        if re.fullmatch(r"-?\d+", name):
            return int(name) & MASK
        if name == "%tid.x":
            return thread
        parts = self.values.parts(name)
        if not parts:
            if name in self.flow.bits and self.values.is_uniform(name, set()):
                return unknown
            raise NotImplementedError
        opcode, operands, _ = parts
        if re.match(r"(cvt\.u32\.u64|mov\.b64)", opcode):
            return 0  # Where shared memory starts.
        if opcode not in OPERATIONS:
            raise NotImplementedError
        given = operands[:1] if opcode.startswith(("mov", "shfl")) else operands
        return OPERATIONS[opcode](*(self.evaluate(one, thread, unknown) for one in given)) & MASK

    def behind(self, start):
        """Statements that a path leads to."""
        seen, work = set(), list(start.next)
        while work:
            i = work.pop()
            if i not in seen:
                seen.add(i)
                work += self.flow.statements[i].next
        return [self.flow.statements[i] for i in sorted(seen)]

    def is_noticed(self, statement):
        """Whether others may have to come behind it. An arrival is noticed by those who
        wait for its mbarrier, and the mbarrier orders these."""
        if not ARRIVE.match(statement.opcode):
            return not ALONE.match(statement.opcode)
        place = self.address(statement)
        waits = [s for s in self.behind(statement) if WAIT.match(s.opcode)]
        return place is None or any(self.address(s) in (place, None) for s in waits)

    def name_of_group(self, operands):
        """Of a barrier of one warp group: its name, a number and a constant."""
        name, *threads = ptx_values.split(operands)
        parts = self.values.parts(name)
        if threads != [str(GROUP)] or not parts or parts[0] != "add.s32":
            return ""
        group = self.values.parts(parts[1][0])
        is_group = group and group[0] == "shr.u32" and group[1][1] == "2"
        return name if is_group and parts[1][1].isdigit() else ""

    def barrier(self, old, line):
        """A barrier of a warp group that is gone, or that two of its warps open."""
        new = ptx_flow.STATEMENT.match(line)
        name = "" if old.guard or old.opcode != "bar.sync" else self.name_of_group(old.operands)
        half = new and not new[2] and new[3] == old.opcode and new[4] == f"{name}, {GROUP // 2}"
        if not name or not (half or line.strip() == "//"):
            return ""
        states = self.flow.forward((0, 0, ()), self.step_of(old, name, half), most=256)
        return "barriers whose order products and other barriers give" if states else ""

    def step_of(self, old, name, half):
        """States are what is done, lost or passed and in no product yet, in products of
        the next group, and in those of each group in flight. No state: not ordered."""
        noticed = {id(s) for s in self.flow.statements if self.is_noticed(s)}
        own = {id(s) for s in self.flow.statements if id(s) in noticed and self.is_own(s)}

        def step(statement, state):
            done, current, groups = state
            known = done | current | functools.reduce(int.__or__, groups, 0)
            if statement is old:
                passed = PASSED if half else 0
                lost = [bits | (bits & 15) << LOST for bits in (done, current, *groups)]
                return [] if known & PASSED else [(lost[0] | passed, lost[1], tuple(lost[2:]))]
            if statement.opcode.startswith("wgmma."):
                is_lost = statement.product and known & OTHER << LOST
                return [] if is_lost else self.pass_product(statement, state)
            if BARRIER.match(statement.opcode):
                here, *threads = ptx_values.split(statement.operands)
                if here == name and known & PASSED:
                    return []
                all_pass = threads == [str(GROUP)] if here == name else not threads
                if all_pass and statement.opcode == "bar.sync" and not statement.guard:
                    return [(0, 0, (0,) * len(groups))]
            is_arrival = ARRIVE.match(statement.opcode)
            if id(statement) not in noticed and not is_arrival:
                return [state]
            # What a warp waits for, and its own fence, need nothing of other warps.
            is_wait = WAIT.match(statement.opcode) or (
                FENCE.match(statement.opcode) and not statement.guard
            )
            is_turn = BARRIER.match(statement.opcode)
            is_own = id(statement) in own
            new = WAITED if is_wait else OWN if is_own else TURN if is_turn else OTHER
            # Nor does memory that no other warp accesses. Who arrives somewhere else
            # need not come behind those who go to another group's barrier.
            fatal = {WAITED: 0, OWN: 0, TURN: 15, OTHER: 15}[new] & ~(TURN if is_arrival else 0)
            if known >> LOST & fatal:
                return []
            return [(done | (new if id(statement) in noticed else 0), current, groups)]

        return step

    @functools.cached_property
    def own_arrays(self):
        """Arrays that threads access by ldmatrix and stmatrix alone, each warp at other
        addresses, and that no product or bulk store reads."""
        places = {}
        for statement in self.flow.statements:
            if re.match(r"(ld|st|atom|red)(matrix)?\.\w*\.?.*shared", statement.opcode):
                places.setdefault(self.address(statement), []).append(statement)
        products = {
            self.offset(ptx_values.split(s.operands)[1])
            for s in self.flow.statements
            if re.match(r"(shr|bfe)\.[ub]\d+", s.opcode) and ", 4" in s.operands
        }
        stores = [s.operands for s in self.flow.statements if STORE.match(s.opcode)]
        read = products.union(
            self.offset(name) for operands in stores for name in re.findall(r"\[(%r\w+)", operands)
        )
        return {
            place
            for place, users in places.items()
            if place is not None
            and place not in read
            and all(MATRIX.match(s.opcode) for s in users)
            and self.are_apart(users)
        }

    def is_own(self, statement):
        return MATRIX.match(statement.opcode) and self.address(statement) in self.own_arrays

    def are_apart(self, users):
        """Whether no two warps have an address in common: evaluated for all threads,
        and unknown numbers (of slots) that are 0 or 1."""
        names = {re.search(r"\[(%\w+)", s.operands)[1] for s in users}
        threads = int(re.search(r"\.maxntid (\d+)", "\n".join(self.lines))[1])
        for slot, thread in itertools.product((0, 1), range(threads)):
            if thread % GROUP == 0:
                seen = {}
            try:
                found = [self.evaluate(name, thread, slot) & ~15 for name in names]
            except NotImplementedError:
                return False
            warp = thread // 32
            if any(seen.setdefault(address, warp) != warp for address in found):
                return False
        return True

    def pass_product(self, statement, state):
        done, current, groups = state
        if statement.guard:
            return []
        if statement.product:
            return [(0, current | done, groups)]
        if ".commit_group" in statement.opcode:
            return [(done, 0, (*groups, current))]
        if ".wait_group" in statement.opcode:
            left = int(statement.operands)
            return [(done, current, groups[len(groups) - left :] if left < len(groups) else groups)]
        return [state] if ".fence" in statement.opcode else []

    def fence(self, old, line):
        """fence.acq_rel, which orders what threads have read before a copy that writes
        over it (8.10, 9.7.13.4; barriers and mbarriers order the threads themselves):
        another one comes before the arrival that lets the copy start."""
        if line.strip() != "//" or old.guard or not old.opcode.startswith("fence.acq_rel.cta"):
            return ""
        reads = [s for s in self.flow.statements if READ.match(s.opcode)]
        bit = {id(s): 1 << i for i, s in enumerate(reads)}
        releases = {}
        for statement in self.flow.statements:
            if ARRIVE.match(statement.opcode):
                place = self.address(statement)
                releases[id(statement)] = sum(
                    bit[id(s)] for s in reads if self.may_release(place, s)
                )
        all_reads = (1 << len(reads)) - 1

        def step(statement, dirty):
            read, lost = dirty & all_reads, dirty >> len(reads)
            if statement is old:
                return (read | lost) << len(reads)
            if FENCE.match(statement.opcode) and not statement.guard:
                return 0
            read |= bit.get(id(statement), 0)
            return read | lost << len(reads)

        states = self.flow.union(0, step)
        for statement, dirty in zip(self.flow.statements, states):
            lost = (dirty or 0) >> len(reads)
            released = releases.get(id(statement), 0)
            if lost and COPY.match(statement.opcode):
                return ""
            if lost & released:
                return ""
        return "fences with another one before the arrival that hands over what was read"

    def may_release(self, place, read):
        """Whether an arrival may let a copy start that writes where threads have read:
        not if every copy there waits for mbarriers of one other array, each time. A
        read is not below its array; nothing is written over an mbarrier."""
        where = self.address(read)
        copies = [s for s in self.flow.statements if COPY.match(s.opcode)]
        starts = [self.address(s) for s in copies]
        if place is None or where is None or None in starts:
            return True
        if any(max(starts, default=0) < barrier <= where for barrier in self.arrays()):
            return False
        here = [s for s, start in zip(copies, starts) if start >= where]
        awaited = [
            array
            for array in self.arrays()
            if here and all(self.is_awaited(copy, array) for copy in here)
        ]
        return len(awaited) != 1 or place in awaited

    def arrays(self):
        waits = [s for s in self.flow.statements if WAIT.match(s.opcode)]
        return {self.address(s) for s in waits} - {None}

    @functools.lru_cache(maxsize=None)  # noqa: B019
    def is_awaited(self, copy, array):
        """Whether every path to a copy, from the start and from a copy to the same
        place, has a wait for one of the mbarriers."""
        where = self.address(copy)

        def step(statement, free):
            if WAIT.match(statement.opcode):
                return 0 if self.address(statement) == array else free
            same = COPY.match(statement.opcode) and self.address(statement) == where
            return 1 if same else free

        states = self.flow.union(1, step)
        return not states[self.flow.statements.index(copy)]

    def registers(self, old, line):
        """setmaxnreg (9.7.19.5): who asks for no more leaves them to others. Who gives
        none back keeps nobody waiting, if nobody asks."""
        if line.strip() != "//" or not old.opcode.startswith("setmaxnreg"):
            return ""
        again = [s for s in self.behind(old) if s.opcode.startswith("setmaxnreg")]
        asks = [s for s in self.flow.statements if s.opcode.startswith("setmaxnreg.inc")]
        if again or (asks and not old.opcode.startswith("setmaxnreg.inc")):
            return ""
        return "registers that nobody waits for"
