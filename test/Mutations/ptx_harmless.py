# SPDX-License-Identifier: Apache-2.0
"""Rules that show an edit of PTX text to be harmless, on every path of the text.

A rule looks at the text alone, so that it holds for every size, unless it says that
it is by running. What no rule takes is missed: there is no list of exceptions.
"""

import re

import ptx_flow
import ptx_order
import ptx_values


class Rules:
    def __init__(self, lines):
        self.lines = lines
        self.flow = ptx_flow.Flow(lines)
        self.values = ptx_values.Values(self.flow)
        self.order = ptx_order.Order(lines, self.flow, self.values)

    def find(self, kind, number, line):
        """The name of a rule that shows the edit to be harmless, or ''."""
        old = self.flow.statements[self.flow.index[number]]
        for rule in (
            self.ordered_products,
            self.groups,
            self.unread,
            self.more_threads,
            self.barrier_names,
            self.values.find,
            self.order.find,
        ):
            if name := rule(old, line):
                return name
        return ""

    def ordered_products(self, old, line):
        """wgmma.fence (section 9.7.15.7.1): behind every access to a register by
        anything but a product, another fence comes before any product with it; and one
        before the first product."""
        if old.opcode != "wgmma.fence.sync.aligned" or line.strip() != "//":
            return ""
        used = 0
        for statement in self.flow.statements:
            used |= statement.fragments if statement.product else 0

        def step(statement, dirty):
            if statement.product:
                return dirty
            if statement.opcode == old.opcode and statement is not old:
                return 0
            return dirty | (statement.accesses & used)

        states = self.flow.union(used, step)
        ok = all(
            not s.product or dirty is None or not s.fragments & dirty
            for s, dirty in zip(self.flow.statements, states)
        )
        return "products whose registers another wgmma.fence orders" if ok else ""

    def groups(self, old, line):
        """Groups complete in order (sections 9.7.15.7.3, 9.7.9.25.6.2): on every path
        the edited text has not more in flight behind any wait than the text had."""
        for prefix, issues in (
            ("wgmma", r"wgmma\.mma_async"),
            (r"cp\.async\.bulk", r"cp\.(reduce\.)?async\.bulk.*\.bulk_group"),
        ):
            if re.match(prefix + r"\.(commit|wait)_group", old.opcode):
                return self.compare_groups(prefix, issues, old, line)
        return ""

    def compare_groups(self, prefix, issues, old, line):
        new = ptx_flow.STATEMENT.match(line)
        family = [
            s
            for s in self.flow.statements
            if re.match(issues, s.opcode) or re.match(prefix + r"\.(commit|wait)_group", s.opcode)
        ]
        first = [s for s in family if re.match(issues, s.opcode)]
        if ".wait_group" in old.opcode and not self.flow.reaches(first, old):
            return "waits that no issue reaches"
        # Threads that issue execute all of the family, others none of it.
        if any((s.guard, s.negated) != (first[0].guard, first[0].negated) for s in family):
            return ""
        if new and (new[2], new[1]) != (old.guard, old.negated):
            return ""

        def act(groups, opcode, operands):
            if re.match(issues, opcode):
                return (*groups[:-1], groups[-1] + 1)
            if ".commit_group" in opcode:
                return (*groups, 0)
            return groups[-1 - int(operands) :]

        members = set(map(id, family))

        def step(statement, state):
            if id(statement) not in members:
                return [state]
            text, edited = state
            behind = act(text, statement.opcode, statement.operands)
            if statement is not old:
                edited = act(edited, statement.opcode, statement.operands)
            elif new:
                edited = act(edited, new[3], new[4])
            # No state ends the search.
            return [] if sum(edited) > sum(behind) else [(behind, edited)]

        states = self.flow.forward(((0,), (0,)), step, most=64)
        return "groups of which no wait leaves more in flight" if states else ""

    def unread(self, old, line):
        """Only results change that nothing reads before they are written again."""
        new = ptx_flow.STATEMENT.match(line)
        if (
            not new
            or not old.writes
            or old.product
            or re.match(r"atom|mbarrier|ld\.|ldmatrix|elect|shfl|vote", old.opcode)
        ):
            return ""
        first = ptx_flow.split_first(old.operands)[0]
        if ptx_flow.split_first(new[4])[0] != first or ptx_flow.NO_RESULT.match(new[3]):
            return ""
        live = self.flow.live_out()[self.flow.index[old.line]]
        return "" if live & old.writes else "results that nothing reads"

    def more_threads(self, old, line):
        """A wait for bulk groups by more threads than before: those of a thread that
        has issued none are complete (section 9.7.9.25.6.2)."""
        new = ptx_flow.STATEMENT.match(line)
        more = (
            new
            and old.guard
            and not new[2]
            and new[3] == old.opcode
            and old.opcode.startswith("cp.async.bulk.wait_group")
        )
        return "waits by threads that have issued nothing" if more else ""

    def barrier_names(self, old, line):
        """Barriers (section 9.7.13.1) of warp groups by other names: a group's number
        and a constant. All others in the text have lower ones. That a name is below 16
        is no matter of sizes: the text says how many groups there are."""
        new = ptx_flow.STATEMENT.match(line)
        if old.opcode != "add.s32" or not new or new[3] != old.opcode or old.guard or new[2]:
            return ""
        (name, group, was), (other, same, now) = map(
            ptx_values.split, (old.operands, new[4])
        )
        number = self.values.parts(group)
        if (name, group) != (other, same) or not was.isdigit() or not now.isdigit():
            return ""
        if not number or number[0] != "shr.u32" or not self.values.parts(name):
            return ""
        least = min(int(was), int(now))
        for statement in self.flow.statements:
            first, *rest = ptx_values.split(statement.operands)
            is_barrier = re.match(r"bar(rier)?\.(cta\.)?(sync|arrive)", statement.opcode)
            if is_barrier and first != name and not (first.isdigit() and int(first) < least):
                return ""
            reads = statement.reads >> self.flow.bits[name] & 1
            if reads and not (is_barrier and first == name and name not in rest):
                return ""
        return "other names of barriers"

    CAREFUL = (
        "by running: a guard that skips work less often, which changes nothing "
        "where it is not needed"
    )

    def careful_jumps(self, number, line):
        """If an edit only lowers a threshold, below which jumps are taken that skip work
        (Values.lowers): the lines of those jumps."""
        old = self.flow.statements[self.flow.index[number]]
        new = ptx_flow.STATEMENT.match(line)
        match = re.match(r"add\.rn(\.ftz)?\.f32$", old.opcode)
        if (
            not match
            or not new
            or new[3] != old.opcode.replace("add", "sub")
            or new[4] != old.operands
            or not re.search(r", 0f[0-7]\w+$", old.operands)
        ):
            return []
        jumps = self.values.lowers(old.operands.split(",")[0])
        return [self.flow.statements[i].line for i in jumps or ()]

    def find_by_running(self, kind, number, line):
        """What holds because all problems have given the same bits without an error, in
        every schedule tried: only for edits that change no value but an order, which
        the executor checks whatever the schedule was."""
        old = self.flow.statements[self.flow.index[number]]
        if old.opcode.startswith("setmaxnreg"):
            return "by running: setmaxnreg, which changes no value and nobody waits for"
        new = ptx_flow.STATEMENT.match(line)
        is_fewer = (
            new
            and new[3] == old.opcode == "bar.sync"
            and int(new[4].split(",")[-1]) < int(old.operands.split(",")[-1])
        )
        if line.strip() == "//" and old.opcode == "wgmma.fence.sync.aligned":
            return "by running: a wgmma.fence that no product of any problem needs"
        if re.match(r"bar\.sync|fence\.", old.opcode) and (line.strip() == "//" or is_fewer):
            return "by running: orders nothing that two warps or proxies access"
        return ""

    DEAD = "by running: lanes whose rows nothing stores, whatever they hold"

    def dead_lanes(self, number, line):
        """If a butterfly exchange (section 9.7.9.6) is clamped to fewer lanes, which
        only those of the last row see: what may stand behind it, so that this row has
        garbage in all lanes."""
        old = self.flow.statements[self.flow.index[number]]
        new = ptx_flow.STATEMENT.match(line)
        if not old.opcode.startswith("shfl.sync.bfly") or not new or new[3] != old.opcode:
            return []
        was, edited = ptx_values.split(old.operands), ptx_values.split(new[4])
        kept = was[:3] + was[4:] == edited[:3] + edited[4:]
        last = edited[3] in ("28", "29", "30")
        if not kept or was[2] not in ("1", "2") or was[3] != "31" or not last:
            return []
        return [
            f"{{ .reg .pred q; .reg .b32 t; mov.u32 t, %laneid; setp.ge.u32 q, t, 28; "
            f"@q mov.b32 {was[0]}, {garbage}; }}"
            for garbage in ("0f7E000000", "0fFE000000", "0f7FFFFFFF")
        ]

    EQUAL = "by running: a choice among two numbers that are always the same"

    def unequal(self, number, line):
        """If an edit makes a choice the other way round: what stops where it matters."""
        old = self.flow.statements[self.flow.index[number]]
        new = ptx_flow.STATEMENT.match(line)
        if old.opcode != "selp.b32" or old.guard or not new or new[3] != old.opcode:
            return ""
        name, a, b, which = ptx_values.split(old.operands)
        if ptx_values.split(new[4]) != [name, b, a, which]:
            return ""
        return f"{{ .reg .pred q; setp.ne.b32 q, {a}, {b}; @q trap; }}"

    LOWEST = (
        "by running: fewer blocks are skipped, which changes nothing where none is "
        "skipped for this reason"
    )

    def lowest(self, number, line):
        """If an edit makes a number lower, that others only become the larger or smaller
        one of: the number as low as can be."""
        old = self.flow.statements[self.flow.index[number]]
        new = ptx_flow.STATEMENT.match(line)
        match = re.match(r"(add|sub)\.s32$", new[3]) if new else None
        was, edited = ptx_values.split(old.operands), ptx_values.split(new[4]) if new else []
        if old.opcode != "add.s32" or not match or was[:2] != edited[:2]:
            return ""
        if not was[2].isdigit() or not edited[2].isdigit():
            return ""
        if int(edited[2]) * (1 if match[1] == "add" else -1) >= int(was[2]):
            return ""
        return f"mov.b32 {was[0]}, -1073741824;" if self.values.only_chosen(was[0]) else ""
