# SPDX-License-Identifier: Apache-2.0
"""Random programs of PTX: what ptx_bits.py compares."""

import re

INPUTS, COLUMNS, ROWS = 6, 48, 256
SPECIAL = [0, 1, -1, 2, -2, 31, 32, 0x7FFFFFFF, -0x80000000, 0x3F800000, -0x40800000]
# Instructions by family: opcode, and its operands: r a register, i an immediate.
INTEGERS = {
    **{
        f"{name}.{type}": "rr"
        for name in ("add", "sub", "mul.lo", "min", "max")
        for type in ("s32", "u32")
    },
    "neg.s32": "r",
    "abs.s32": "r",
    "not.b32": "r",
    "popc.b32": "r",
    "clz.b32": "r",
    "brev.b32": "r",
    "and.b32": "rr",
    "or.b32": "rr",
    "xor.b32": "rr",
    "shl.b32": "rr",
    "shr.s32": "rr",
    "shr.u32": "rr",
    "mad.lo.s32": "rrr",
    "mul.hi.s32": "rr",
    "mul.hi.u32": "rr",
    "prmt.b32": "rrr",
    "lop3.b32": "rrri",
    "shf.l.wrap.b32": "rrr",
    "shf.r.clamp.b32": "rrr",
    "bfe.s32": "rrr",
    "bfe.u32": "rrr",
    "bfi.b32": "rrrr",
    "selp.b32": "rrp",
}
FLOATS = {
    **{
        f"{name}{ftz}.f32": "rr"
        for name in ("add.rn", "sub.rn", "mul.rn", "min", "max")
        for ftz in ("", ".ftz")
    },
    "fma.rn.f32": "rrr",
    "fma.rn.ftz.f32": "rrr",
    "neg.f32": "r",
    "abs.f32": "r",
    "selp.b32": "rrq",
    "cvt.rn.bf16x2.f32": "rr",
    "cvt.rn.f16x2.f32": "rr",
}
# Of a, b and c: extrema of negations, and lop3 of an operand that comes twice, see
# docs/experiments/negations-in-maxima.md and repeated-operands.md.
KNOWN = [
    ["neg.s32 {1}, b", "max.s32 {2}, a, {1}", "max.s32 {0}, {2}, c"],
    ["neg.s32 {1}, a", "max.s32 {2}, a, {1}", "max.s32 {0}, {2}, b"],
    ["neg.s32 {1}, b", "min.s32 {2}, a, {1}", "min.s32 {0}, {2}, c"],
    ["neg.s32 {1}, a", "min.s32 {2}, a, {1}", "min.s32 {0}, {2}, b"],
    [
        "neg.s32 {1}, a",
        "neg.s32 {2}, b",
        "max.s32 {3}, a, {1}",
        "max.s32 {4}, b, {2}",
        "max.s32 {0}, {3}, {4}",
    ],
    ["lop3.b32 {1}, a, b, a, 216", "xor.b32 {0}, {1}, a"],
]


def known(column):
    """A known sequence; its registers are of its own, a to c are the first inputs."""
    names = [f"%k{8 * column + i}" for i in range(8)]
    inputs = {"a": "%x0", "b": "%x1", "c": "%x2"}
    lines = [
        re.sub(r"\b[abc]\b", lambda m: inputs[m[0]], line.format(*names))
        for line in KNOWN[column % len(KNOWN)]
    ]
    return [f"{line};" for line in lines], names[0]


def sequence(chance, column, table):
    """A random one of 3 to 8 instructions."""
    values = [f"%x{i}" for i in range(INPUTS)]
    lines = []
    for step in range(chance.randrange(3, 9)):
        opcode = chance.choice(sorted(table))
        operands = []
        for kind in table[opcode]:
            if kind == "r":
                # The last results most of all, so that instructions combine; none twice
                # for lop3, which is known.
                near = chance.random() < 0.6
                names = values[-2:] if near else values
                if opcode.startswith("lop3"):
                    names = [name for name in names if name not in operands] or [
                        name for name in values if name not in operands
                    ]
                operands.append(chance.choice(names))
            elif kind == "i":
                operands.append(str(chance.randrange(256)))
            else:
                type = "s32" if kind == "p" else "f32"
                test = chance.choice(["lt", "le", "gt", "ge", "eq", "ne"])
                pair = ", ".join(chance.choice(values) for _ in range(2))
                lines.append(f"setp.{test}.{type} %p{column}, {pair};")
                operands.append(f"%p{column}")
        result = f"%k{8 * column + step}"
        lines.append(f"{opcode} {result}, {', '.join(operands)};")
        values.append(result)
    return lines, values[-1]


def make_program(columns):
    """PTX: a thread loads a row of inputs and stores a number of each column."""
    body = []
    for column, (lines, result) in enumerate(columns):
        body += [*lines, f"st.global.b32 [%rd2+{4 * column}], {result};"]
    loads = [f"ld.global.b32 %x{i}, [%rd1+{4 * i}];" for i in range(INPUTS)]
    return "\n".join(
        [
            ".version 8.0",
            ".target sm_90a",
            ".address_size 64",
            ".visible .entry program(.param .u64 in, .param .u64 out)",
            ".maxntid 128, 1, 1",
            "{",
            f".reg .b32 %x<{INPUTS}>, %k<{8 * len(columns)}>, %t<4>;",
            f".reg .pred %p<{len(columns)}>;",
            ".reg .b64 %rd<3>;",
            "ld.param.u64 %rd1, [in];",
            "ld.param.u64 %rd2, [out];",
            "mov.u32 %t0, %tid.x;",
            "mov.u32 %t1, %ctaid.x;",
            "mad.lo.u32 %t2, %t1, 128, %t0;",
            f"mad.wide.u32 %rd1, %t2, {4 * INPUTS}, %rd1;",
            f"mad.wide.u32 %rd2, %t2, {4 * len(columns)}, %rd2;",
            *loads,
            *body,
            "ret;",
            "}",
            "",
        ]
    )
