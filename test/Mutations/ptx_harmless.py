# SPDX-License-Identifier: Apache-2.0
"""Rules that show an edit of PTX text to be harmless, on every path of the text.

A rule looks at the text alone, so that it holds for every size, unless it says that
it is by running. What no rule takes is missed: there is no list of exceptions.
"""

import re

import ptx_flow
import ptx_values


class Rules:
    def __init__(self, lines):
        self.lines = lines
        self.flow = ptx_flow.Flow(lines)
        self.values = ptx_values.Values(self.flow)

    def find(self, kind, number, line):
        """The name of a rule that shows the edit to be harmless, or ''."""
        old = self.flow.statements[self.flow.index[number]]
        for rule in (
            self.ordered_products,
            self.groups,
            self.unread,
            self.more_threads,
            self.values.find,
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
        if re.match(r"bar\.sync|fence\.", old.opcode) and (line.strip() == "//" or is_fewer):
            return "by running: orders nothing that two warps or proxies access"
        return ""
