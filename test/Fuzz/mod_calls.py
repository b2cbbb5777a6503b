# SPDX-License-Identifier: Apache-2.0
"""Random score and mask functions, as source of Python on torch's tensors, for calls of
fa3.attention: elements of all types, whole division, booleans in arithmetic.

Numbers are as torch computes them, of the type that torch gives them: whole numbers of 8
and 16 bits wrap, two booleans add up to a boolean. What rounding decides is left out: no
score is rounded to a whole number or compared for equality. Needs torch."""

import torch

#: Tables by name: how to make one of `count` elements.
TABLES = {
    "f": lambda count: torch.randn(count),
    "g": lambda count: torch.randn(count).half(),
    "t": lambda count: torch.randint(-9, 40, (count,), dtype=torch.int32),
    "w": lambda count: torch.randint(-9, 40, (count,)) * 2**33,
    "c": lambda count: torch.randint(-128, 128, (count,), dtype=torch.int8),
    "u": lambda count: torch.randint(0, 256, (count,), dtype=torch.uint8),
    "n": lambda count: torch.randint(-(2**15), 2**15, (count,), dtype=torch.int16),
    "z": lambda count: torch.rand(count) < 0.5,
}


class Writer:
    """Writes one function. A kind is a letter: f for floats, i for whole numbers, n for
    those of 8 and 16 bits, z for booleans."""

    def __init__(self, r, has_score):
        self.r, self.has_score = r, has_score

    def write(self, kind, depth):
        if depth <= 0 or self.r.random() < 0.1:
            return self.leaf(kind)
        text = self.r.choice(FORMS[kind])
        while "{" in text:
            place = text.index("{")
            made = self.filled(text[place + 1], depth - 1)
            text = text[:place] + made + text[place + 3 :]
        return text

    def filled(self, hole, depth):
        if hole == "k":
            return str(self.r.choice([2, 3, 5, 7, 10, 41, 49]))
        if hole == "x":
            return str(self.r.choice([0.5, 1.5, -0.75, 3.0, 0.1]))
        if hole == "l":
            return self.r.choice(["<", "<=", ">", ">=", "==", "!="])
        if hole == "m":
            return self.r.choice(["<", ">"])
        return self.write(hole, depth)

    def leaf(self, kind):
        table = {"f": "fg", "i": "t", "n": "cun", "z": "z"}[kind]
        names = [f"{one}[{at}]" for one in table for at in "hij"]
        if kind == "f":
            names = [f"{one}.float()" for one in names] + ["s"] * 4 * self.has_score
        if kind == "i":
            names += ["i", "j", "i", "j", "h"]
        if kind == "z":
            names += ["(i >= j)", "(w[i] == w[j])", "(w[j] != w[i])", "(j % 3 == h)"]
        return self.r.choice(names)


FORMS = {
    "f": [
        "({f} + {f})", "({f} - {i})", "({f} * {x})", "({f} * {z})", "({i} / {k})",
        "({f} / {x})", "({i} * {x})", "torch.maximum({f}, {f})", "torch.where({z}, {f}, {x})",
        "torch.where({z}, {i}, {f})", "torch.tanh({f})", "{f}.abs()", "(-{f})",
        "torch.clamp({f}, -2.0, 1.5)", "torch.sigmoid({f})", "torch.sin({f})", "{i}.float()",
        "{n}.float()", "{z}.float()", "torch.floor({i} / {k})", "torch.ceil({i} / {k})",
        "torch.trunc({i} / {k})", "torch.round({i} / {k})", "({z} + {f})",
        "torch.sqrt({f}.abs() + 0.5)", "torch.exp(-{f}.abs())", "({f} / ({i}.abs() + 1))",
        "{f}.masked_fill({z}, {x})", "torch.relu({f})", "({f} ** 2)", "({z} + {z}).float()",
        "torch.logaddexp({f}, {f})", "{i}.to(torch.float32)", "{f}.to({f})", "{f}.type({f}.dtype)",
        "torch.floor({i} / ({i}.abs() + 1))",
    ],
    "i": [
        "({i} + {i})", "({i} - {i})", "({i} * {k})", "({i} // {k})", "({i} % {k})",
        "{i}.abs()", "(-{i})", "torch.maximum({i}, {i})", "torch.minimum({i}, {n})",
        "torch.where({z}, {i}, {i})", "({i} & {i})", "({i} | {k})", "({i} ^ {i})", "(~{i})",
        "({i} << 2)", "({i} >> 1)", "({z} + {i})", "({z} * {i})", "({n} + {i})",
        "{n}.to(torch.int32)", "{n}.long()", "({i} / {k}).int()", "({i} / {k}).floor().long()",
        "torch.div({i}, {k}, rounding_mode='floor')", "torch.fmod({i}, {k})",
        "torch.div({i}, {k}, rounding_mode='trunc')", "{i}.clamp(-3, 20)", "{z}.int()",
        "(2 ** ({i} % 5))", "(({i} % 7) ** 2)", "(({i} % 5 - 2) ** ({i} % 4))", "{i}.sign()",
        "torch.ceil({i} / {k}).to(torch.int32)", "(1 - {z}.int())",
    ],
    "n": [
        "({n} + {n})", "({n} - {n})", "({n} * {k})", "(~{n})", "(-{n})", "({n} // {k})",
        "({n} % {k})", "({n} & {n})", "({n} ^ {n})", "{i}.to(torch.int8)", "{i}.to(torch.uint8)",
        "{i}.to(torch.int16)", "{i}.short()", "torch.maximum({n}, {n})", "({n} << 2)", "({n} >> 1)",
        "torch.where({z}, {n}, {n})", "{n}.abs()", "({n} + {k})", "({z} + {n})", "{n}.to({n})",
        "({n} ** 2)", "{n}.clamp(3, 50)",
    ],
    "z": [
        "({i} {l} {i})", "({i} {l} {k})", "({n} {l} {n})", "({n} {l} {k})", "({f} {m} {f})",
        "({f} {m} {x})", "({z} & {z})", "({z} | {z})", "({z} ^ {z})", "(~{z})", "({z} + {z})",
        "({z} * {z})", "(~({z} * {z}))", "torch.logical_and({z}, {z})", "torch.logical_not({i})",
        "torch.logical_xor({z}, {n})", "({z} == {z})", "torch.maximum({z}, {z})",
        "(~torch.minimum({z}, {z}))", "{z}.masked_fill({z}, 0)", "(~{z}.masked_fill({z}, 1))",
        "torch.where({z}, {z}, {z})", "{i}.bool()", "{n}.bool()", "(({i} / {k}) {l} {k})",
        "(torch.floor({i} / {k}) == torch.floor({i} / {k}))", "(({i} / {k}).int() {l} {i})",
        "((({z} + {z}) * 2) {l} 2)", "torch.bitwise_not({z})", "({i} % {k} == {i} % {k})",
    ],
}  # fmt: skip


def function(source, tables):
    """The function of a source, and what it is called with."""
    code = compile(source, "<random mod>", "eval")
    return eval(code, {"torch": torch, **tables})


def mods(r, rows):
    """Arguments score_mod and mask_mod, or one of them, and their sources. Tables are
    as long as the longest of `rows`."""
    tables = {name: make(max(rows)) for name, make in TABLES.items()}
    made, sources = {}, []
    which = r.choice(["score_mod", "mask_mod", "both"])
    if which != "mask_mod":
        value = Writer(r, True).write("f", r.randint(1, 4))
        sources.append(f"lambda s, b, h, i, j: s * 0.5 + torch.clamp({value}, -6.0, 6.0)")
        made["score_mod"] = function(sources[-1], tables)
    if which != "score_mod":
        value = Writer(r, False).write("z", r.randint(1, 4))
        sources.append(f"lambda b, h, i, j: {value}")
        made["mask_mod"] = function(sources[-1], tables)
    return made, sources
