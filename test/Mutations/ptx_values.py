# SPDX-License-Identifier: Apache-2.0
"""Rules for edits of PTX text after which every register that is read has the value
that it had: facts about bits, lanes and factors that are zero, each from a few
definitions in the text."""

import re

import ptx_flow

# -2^100: what a row's maximum is before it has seen a score (section 4.5.2, "0f").
FIRST_MAXIMUM = "0fF1800000"
ITS_NEGATION = "0f71800000"


class Values:
    def __init__(self, flow):
        self.flow = flow
        self.joins = set(flow.labels.values())
        self.writers, self.readers = {}, {}
        for i, statement in enumerate(flow.statements):
            for bit in bits(statement.writes):
                self.writers.setdefault(bit, []).append(i)
            for bit in bits(statement.reads):
                self.readers.setdefault(bit, []).append(i)

    def parts(self, name, at=None, is_end=False):
        """(opcode, operands behind the result) of what gave a register its value:
        in the straight code in front of a statement, or without one the only
        definition in the text. None if there is no such one. `is_end`: that code is
        reached by falling through, though there is a label."""
        bit = self.flow.bits.get(name)
        found = None
        if at is None:
            writers = self.writers.get(bit, [])
            found = writers[0] if len(writers) == 1 else None
        else:
            for i in range(at - 1, -1, -1):
                if i + 1 in self.joins and not (is_end and i + 1 == at):
                    break
                if bit is not None and self.flow.statements[i].writes >> bit & 1:
                    found = i
                    break
        if found is None or self.flow.statements[found].guard:
            return None
        statement = self.flow.statements[found]
        return statement.opcode, split(statement.operands)[1:], found

    def find(self, old, line):
        new = ptx_flow.STATEMENT.match(line)
        if not new:
            return ""
        for rule in (
            self.zero_bits,
            self.signs,
            self.low_bits,
            self.high_bits,
            self.butterfly,
            self.broadcast,
            self.zero_block,
        ):
            if name := rule(old, new):
                return name
        return ""

    def zero_bits(self, old, new):
        """A mask that changes in bits which a shift has made zero (9.7.8.8)."""
        if not old.opcode.startswith("and.b") or new[3] != old.opcode:
            return ""
        (_, source, mask), (_, other, edited) = split(old.operands), split(new[4])
        shift = self.parts(source)
        if (
            source != other
            or not shift
            or not shift[0].startswith("shl")
            or not shift[1][1].isdigit()
            or not is_number(mask)
            or not is_number(edited)
        ):
            return ""
        changed = int(mask) ^ int(edited)
        return "masks of bits that are zero" if changed < 1 << int(shift[1][1]) else ""

    def signs(self, old, new):
        """Shifts that leave only signs: amounts are clamped to the width (9.7.8.9)."""
        match = re.match(r"shr\.s(32|64)$", old.opcode)
        was, edited = split(old.operands), split(new[4])
        if not match or new[3] != old.opcode or was[:2] != edited[:2]:
            return ""
        amounts = [was[2], edited[2]]
        all_gone = all(one.isdigit() and int(one) >= int(match[1]) - 1 for one in amounts)
        return "shifts that leave only signs" if all_gone else ""

    def low_bits(self, old, new):
        """Sums that differ by a multiple of a power of two below which all readers
        mask."""
        amounts = []
        for opcode, operands in ((old.opcode, old.operands), (new[3], new[4])):
            match = re.match(r"(add|sub)\.[su]32$", opcode)
            last = split(operands)[-1]
            if not match or not is_number(last):
                return ""
            amounts.append(int(last) if match[1] == "add" else -int(last))
        if split(old.operands)[:2] != split(new[4])[:2] or amounts[0] == amounts[1]:
            return ""
        difference = amounts[0] - amounts[1]
        step = difference & -difference
        for bit in bits(old.writes):
            for i in self.readers.get(bit, []):
                reader = self.flow.statements[i]
                mask = split(reader.operands)[-1]
                if reader.opcode != "and.b32" or not mask.isdigit() or int(mask) >= step:
                    return ""
        return "sums of which only low bits are read, which are the same"

    def high_bits(self, old, new):
        """Shifts of signs by other amounts (9.7.8.9): the highest bits are the sign
        either way, and all readers shift the others out."""
        was, edited = split(old.operands), split(new[4])
        if old.opcode != "shr.s32" or new[3] != old.opcode or was[:2] != edited[:2]:
            return ""
        if not was[2].isdigit() or not edited[2].isdigit():
            return ""
        lost = 31 - min(int(was[2]), int(edited[2]))
        for bit in bits(old.writes):
            for i in self.readers.get(bit, []):
                reader = self.flow.statements[i]
                _, source, amount = (split(reader.operands) + ["", ""])[:3]
                if (
                    not re.match(r"shr\.[su]32$", reader.opcode)
                    or source != was[0]
                    or not amount.isdigit()
                    or int(amount) < lost
                ):
                    return ""
        return "shifts of which only signs are read"

    def butterfly(self, old, new):
        """shfl.bfly (9.7.9.6) with another mask, where lanes hold the same: the source
        is a symmetric function of a value and of that of the lane that differs by the
        change of the mask."""
        if not old.opcode.startswith("shfl.sync.bfly") or new[3] != old.opcode:
            return ""
        (_, source, lanes, *rest), (_, other, edited, *more) = (split(old.operands), split(new[4]))
        if source != other or rest != more or not is_number(lanes) or not is_number(edited):
            return ""
        change = int(lanes) ^ int(edited)
        at = self.flow.index[old.line]
        both = self.parts(source, at)
        if not both or not re.match(r"(max|min|add)\.", both[0]):
            return ""
        for one, partner in (both[1], both[1][::-1]):
            shuffle = self.parts(partner, both[2])
            if shuffle and shuffle[0] == old.opcode and shuffle[1] == [one, str(change), *rest]:
                return "lanes that hold the same"
        return ""

    def broadcast(self, old, new):
        """shfl.idx (9.7.9.6) from another lane, of a value that all lanes hold."""
        if not old.opcode.startswith("shfl.sync.idx") or new[3] != old.opcode:
            return ""
        was, edited = split(old.operands), split(new[4])
        if was[:2] + was[3:] != edited[:2] + edited[3:] or was[3:] != ["31", "-1"]:
            return ""
        names = set()
        if not self.is_uniform(was[1], names) or not self.are_joined(names):
            return ""
        return "lanes that hold the same"

    def is_uniform(self, name, seen):
        """Whether all lanes that execute the definitions of a register give it one
        value; `seen` gets the names that it comes from."""
        if name in seen or not name.startswith("%"):
            return True
        seen.add(name)
        writers = self.writers.get(self.flow.bits.get(name), [])
        if not writers:
            return re.match(r"%n?(ctaid|smid|ntid)", name) is not None
        for i in writers:
            statement = self.flow.statements[i]
            if re.match(r"vote\.sync|shfl\.sync\.idx", statement.opcode):
                continue
            if not re.match(
                r"(mov|add|sub|mul|mad|shl|shr|and|or|xor|not|neg|abs|min|max|"
                r"setp|selp|cvta?|ld)\.",
                statement.opcode,
            ):
                return False
            rest = ptx_flow.split_first(statement.operands)[1]
            names = [*ptx_flow.NAME.findall(rest), *filter(None, [statement.guard])]
            if not all(self.is_uniform(one, seen) for one in names):
                return False
        return True

    def are_joined(self, names):
        """Whether lanes that part give none of the registers another value: between a
        branch that not all take and its target none is written, or those that take it
        are done."""
        written = 0
        for name in names:
            written |= 1 << self.flow.bits[name] if name in self.flow.bits else 0
        for i, statement in enumerate(self.flow.statements):
            if (
                statement.opcode.split(".")[0] != "bra"
                or not statement.guard
                or self.is_uniform(statement.guard, set())
            ):
                continue
            target = self.flow.labels[statement.operands.strip()]
            if self.flow.statements[target].opcode in ("ret", "exit"):
                continue
            if any(
                s.writes & written for s in self.flow.statements[min(i, target) : max(i, target)]
            ):
                return False
        return True

    def lowers(self, name, seen=None):
        """Jumps that are taken less often if a number is lower, as indices; None if
        it may do anything else. Numbers become thresholds that integers are compared
        with, as the bits of a float that is not negative, else as the least one."""
        seen = set() if seen is None else seen
        if name in seen:
            return set()
        seen.add(name)
        jumps = set()
        for i in self.readers.get(self.flow.bits[name], []):
            statement = self.flow.statements[i]
            result, *operands = split(statement.operands)
            opcode = statement.opcode
            if re.match(r"mov\.b32", opcode) or (
                re.match(r"mul\.", opcode) and re.match(r"0f[0-7]", operands[1])
            ):
                found = self.lowers(result, seen)
            elif opcode.startswith("selp.b32") and operands[1] == "-2147483648":
                found = self.lowers(result, seen) if operands[0] == name else None
            elif re.match(r"setp\.ge(\.ftz)?\.f32", opcode) and operands == [name, "0f00000000"]:
                found = self.only_selects(result, name)
            elif opcode == "setp.ge.s32" and operands[1] == name:
                found = self.holds_more(result)
            else:
                found = None
            if found is None:
                return None
            jumps |= found
        return jumps

    def only_chosen(self, name):
        """Whether a number is only ever a choice of selp, or the larger of two (9.7.1.18,
        9.7.8.3), and what comes of that is the smaller of two."""
        for i in self.readers.get(self.flow.bits[name], []):
            statement = self.flow.statements[i]
            result, *operands = split(statement.operands)
            if re.match(r"min\.s32", statement.opcode):
                continue
            chooses = re.match(r"selp\.b32", statement.opcode) and operands[2] != name
            if not (chooses or re.match(r"max\.s32", statement.opcode)):
                return False
            if not self.only_chosen(result):
                return False
        return True

    def only_selects(self, predicate, name):
        readers = [self.flow.statements[i] for i in self.readers[self.flow.bits[predicate]]]
        ok = all(split(s.operands)[1:] == [name, "-2147483648", predicate] for s in readers)
        return set() if ok else None

    def holds_more(self, predicate, negated=False):
        """The same of a predicate that holds more often, or less if negated."""
        jumps = set()
        for i in self.readers.get(self.flow.bits[predicate], []):
            statement = self.flow.statements[i]
            if statement.guard == predicate:
                found = (
                    {i}
                    if statement.opcode == "bra" and negated != bool(statement.negated)
                    else None
                )
            elif re.match(r"or\.pred|vote\.sync\.any", statement.opcode):
                found = self.holds_more(split(statement.operands)[0], negated)
            elif statement.opcode == "not.pred":
                found = self.holds_more(split(statement.operands)[0], not negated)
            else:
                found = None
            if found is None:
                return None
            jumps |= found
        return jumps

    def zero_block(self, old, new):
        """A jump over a block that only writes what is there already, zeros."""
        at = self.flow.index[old.line]
        if not old.guard or new[3] != "bra" or old.opcode != "bra":
            return ""
        end = self.flow.labels[old.operands.strip()]
        if end <= at or any(i in self.joins for i in range(at + 1, end)):
            return ""
        written = 0
        for statement in self.flow.statements[at + 1 : end]:
            if not re.match(r"(mov|sub|add|mul|selp|ex2)\.", statement.opcode):
                return ""
            written |= statement.writes
        live = self.flow.live_in()[end]
        for name, bit in self.flow.bits.items():
            if (written & live) >> bit & 1 and not (
                self.is_zero(name, at) and self.is_zero(name, end, is_end=True)
            ):
                return ""
        return "jumps over blocks that write the zeros that are there"

    def is_zero(self, name, at, is_end=False):
        """Whether a register is +0 in front of a statement."""
        if name == "0f00000000":
            return True
        parts = self.parts(name, at, is_end)
        if not parts:
            return False
        opcode, operands, where = parts
        if opcode.startswith("mov"):
            return self.is_zero(operands[0], where)
        if opcode.startswith("selp"):
            return all(self.is_zero(operand, where) for operand in operands[:2])
        if opcode.startswith("mul"):
            return "0f00000000" in operands and any(
                self.is_finite_power(operand, where) for operand in operands
            )
        return False

    def is_finite_power(self, name, at):
        """Whether it is 2^x, and x is at most 0 (ex2, 9.7.3.23)."""
        parts = self.parts(name, at)
        if not parts or not parts[0].startswith("ex2"):
            return False
        difference = self.parts(parts[1][0], parts[2])
        if not difference or not difference[0].startswith("sub"):
            return False
        first, maximum = difference[1]
        start = self.parts(first, difference[2])
        return (
            bool(start)
            and start[1] == [FIRST_MAXIMUM]
            and self.is_at_least_first(maximum, difference[2])
        )

    def is_at_least_first(self, name, at):
        """Whether it is -2^100, or u * s where fma(u, s, 2^100) > 0: rounding is
        monotonic and -2^100 is a number, so that u * s is no less."""
        chosen = self.parts(name, at)
        if not chosen or not chosen[0].startswith("selp") or chosen[1][1] != FIRST_MAXIMUM:
            return False
        product = self.parts(chosen[1][0], chosen[2])
        condition = self.parts(chosen[1][2], chosen[2])
        if (
            not product
            or not product[0].startswith("mul")
            or not condition
            or not condition[0].startswith("setp.gt.")
            or not re.match(r"0f[0-7]", condition[1][1])
        ):
            return False
        sum_ = self.parts(condition[1][0], condition[2])
        return (
            bool(sum_) and sum_[0].startswith("fma.rn") and sum_[1] == [*product[1], ITS_NEGATION]
        )


def bits(number):
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def split(operands):
    return [operand.strip() for operand in operands.split(",")]


def is_number(text):
    return re.fullmatch(r"-?\d+", text) is not None
