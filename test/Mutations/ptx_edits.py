# SPDX-License-Identifier: Apache-2.0
"""Edits of PTX text, by kind: what ptx.py tries."""

import re

DROPPED = {
    "drop-proxy-fence": r"fence\.proxy\.async",
    "drop-product-fence": r"wgmma\.fence",
    "drop-thread-fence": r"fence\.(acq_rel|mbarrier_init)",
    "drop-commit": r"wgmma\.commit_group",
    "drop-product": r"wgmma\.mma_async",
    "drop-product-wait": r"wgmma\.wait_group",
    "drop-arrive": r"mbarrier\.arrive\.shared",
    "drop-expect": r"mbarrier\.arrive\.expect_tx",
    "drop-init": r"mbarrier\.init",
    "drop-repeat": r"bra\s+WAIT_",
    "drop-barrier": r"bar(rier)?\.sync",
    "drop-copy": r"cp\.async\.bulk\.tensor",
    "drop-store-wait": r"cp\.async\.bulk\.wait_group",
    "drop-store-commit": r"cp\.async\.bulk\.commit_group",
    "drop-registers": r"setmaxnreg",
    "drop-store": r"(st\.(shared|global)|stmatrix)",
    "drop-shuffle": r"shfl\.sync",
}
STATEMENT = re.compile(r"^\s*(@!?%?\w+\s+)?([a-z][\w.:]+)(\s.*)?;")


def dropped(pattern):
    def edit(line, opcode):
        if re.match(pattern, opcode) or re.match(pattern, line.strip()):
            yield "//"

    return edit


def replaced(opcodes, pattern, *new):
    """Each place of the pattern in instructions of a name, by each new text."""

    def edit(line, opcode):
        if not re.match(opcodes, opcode):
            return
        for match in re.finditer(pattern, line):
            for text in new:
                changed = match.expand(text) if isinstance(text, str) else text(match)
                if changed != match.group():
                    yield line[: match.start()] + changed + line[match.end() :]

    return edit


def other_predicate(line, opcode):
    match = re.match(r"^(\s*@)(!?)(.*)", line)
    if match:
        yield match[1] + ("" if match[2] else "!") + match[3]
    if match and not opcode.startswith("bra"):
        yield re.sub(r"^(\s*)@!?%?\w+\s+", r"\1", line)


def swapped(line, opcode):
    """The two sources of what is not symmetric."""
    match = re.match(r"^(\s*(?:@\S+\s+)?\S+\s+%\w+, )(%\w+), (%\w+)(.*)", line)
    if (
        match
        and re.match(r"(sub|shl|shr|selp|div|setp\.(lt|gt|le|ge))", opcode)
        and match[2] != match[3]
    ):
        yield f"{match[1]}{match[3]}, {match[2]}{match[4]}"


def one_more(match):
    return str(int(match[0]) + 1)


def one_less(match):
    return str(int(match[0]) - 1)


def twice(match):
    return str(2 * int(match[0]))


def half(match):
    return str(int(match[0]) // 2)


EDITS = {
    **{name: dropped(pattern) for name, pattern in DROPPED.items()},
    "product-wait": replaced(r"wgmma\.wait_group", r"\d+(?=;)", one_more),
    "bytes": replaced(r"mbarrier\.arrive\.expect_tx", r"\d+(?=;)", half, twice),
    "arrivals": replaced(r"mbarrier\.init", r"\d+(?=;)", one_more, twice),
    "barrier-count": replaced(r"bar\.sync", r"\d+(?=;)", twice, half),
    "transpose": replaced(r"wgmma\.mma", r"(\d), (\d);", lambda m: f"{m[1]}, {1 - int(m[2])};"),
    "scale": replaced(r"wgmma\.mma", r"p, 1, 1", "p, -1, 1", "p, 1, -1"),
    "accumulate": replaced(r"setp\.ne\.b32", r"p, ([01]), 0;", lambda m: f"p, {1 - int(m[1])}, 0;"),
    "parity": replaced(r"xor\.b32", r", 1;", ", 0;"),
    "comparison": replaced(
        r"setp",
        r"(?<=setp\.)(lt|le|gt|ge|eq|ne)(?=\.)",
        lambda m: {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}[m[0]],
    ),
    "predicate": other_predicate,
    "swap": swapped,
    "offset": replaced(
        r"(st|ld)\.(shared|global)|stmatrix|ldmatrix",
        r"(?<=\+)\d+(?=\])",
        lambda m: str(int(m[0]) + 16),
    ),
    "parameter": replaced(r"ld\.param", r"(?<=param_)\d+(?=[\]+])", one_more),
    "descriptor": replaced(
        r"(add|or|mov|and|shl|shr)\.(b|s|u)64", r"(?<=, )-?\d+(?=;)", one_more, twice
    ),
    "constant": replaced(
        r"(add|shl|shr|and|or|mul|mad|xor|shfl)\.", r"(?<=, )\d+(?=[;,])", one_more, one_less
    ),
    "operation": replaced(
        r"(add|sub|max|min|and|or|mul)\.(rn\.)?(ftz\.)?[sfb]",
        r"\b(add|sub|max|min|and|or)(?=\.)",
        lambda m: {
            "add": "sub",
            "sub": "add",
            "max": "min",
            "min": "max",
            "and": "or",
            "or": "and",
        }[m[0]],
    ),
}


def mutants(text):
    """(kind, number of the line, new line) of every place."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        match = STATEMENT.match(line)
        if not match or line.lstrip().startswith("."):
            continue
        for kind, edit in EDITS.items():
            for changed in edit(line, match[2]):
                yield kind, number, changed
