# SPDX-License-Identifier: Apache-2.0
"""Which kernels and problems `run.py serving` checks.

Kernels are pairwise covers, one without and one with new keys: every value of an
axis occurs with every value of each other axis. Each kernel then meets all
batches, tables, numbers of new keys and numbers of parts.
"""

import dataclasses
import itertools

LENGTHS = [0, 1, 63, 64, 65, 127, 128, 129, 1000]
BATCHES = [1, 2, 7, 33]
TABLES = ["identity", "reversed", "random", "shared", "wild"]
TOKENS = [1, 2, 17, 64]
SPLITS = [1, 2, 3, 7, 33]  # blocks of 64 keys or more: 33 is more than there are

# Rows of a page; other places have none.
PAGES = [1, 4, 8, 16, 32, 64, 128, 256]
AXES = {
    "place": ["packed", "padded", *PAGES],
    "dims": [
        (64, 64), (80, 80), (128, 128), (192, 128), (256, 256), (512, 512), (576, 512),
    ],
    "heads": [(1, 1), (8, 8), (32, 8), (64, 8), (71, 1), (128, 1)],
    "mask": ["none", "causal", "window", "softcap"],
    "splits": [False, True],
    "sinks": [False, True],
    "type": ["bf16", "f16"],
    "known": ["heads", "group"],
}
# New keys: turned elements of a row, and how. Nothing is appended to packed ones.
NEW = {
    **AXES,
    "place": ["padded", *PAGES],
    "dims": [(64, 64), (80, 80), (128, 128), (192, 128), (256, 256)],
    "new": ["plain", "half", "all", "half interleaved", "all interleaved"],
}
# 8-bit operands: what scales of q, k and v are for. Copies of a few keys have at
# least 128 bytes.
FLOATS_8 = {
    "place": ["packed", "padded", "indexed", 8, 16, 32, 64, 128, 256],
    "dims": [(64, 64), (96, 96), (128, 128), (192, 128), (256, 256)],
    "heads": AXES["heads"],
    "mask": AXES["mask"],
    "splits": [False, True],
    "sinks": [False, True],
    "type": ["f8E4M3FN", "f8E5M2"],
    "scales": ["tensor", "sequence", "head"],
    "known": AXES["known"],
}
# Keys and values of 4 bits, two in a byte, with scales of rows.
NIBBLES = {
    **FLOATS_8,
    "place": ["packed", "padded", "indexed", *PAGES],
    "dims": [(64, 64), (96, 96), (128, 128), (192, 128), (256, 256)],
    "type": ["bf16", "f16"],
    "scales": ["rows"],
}


@dataclasses.dataclass(frozen=True)
class Case:
    """One kernel: `form` is packed, padded, indexed, paged, append or dense append.
    `scales` of 8-bit operands are for all, for sequences, or for their heads; those of
    rows are beside keys of 4 bits. With
    `by_group` the compiler knows how many heads a key head has, not how many there
    are."""

    form: str
    type: str = "bf16"
    d: int = 128
    dv: int = 128
    heads: int = 8
    key_heads: int = 2
    page: int = 0
    mask: str = "causal"
    splits: bool = False
    sinks: bool = False
    pairs: int = 0
    interleaved: bool = False
    scales: str = ""
    by_group: bool = False

    @property
    def name(self):
        parts = ["serving", self.form, self.type, f"d{self.d}x{self.dv}",
                 f"h{self.heads}x{self.key_heads}", self.mask]  # fmt: skip
        parts += [self.scales] if self.scales else []
        parts += [f"page{self.page}"] if self.page else []
        parts += ["splits"] if self.splits else []
        parts += ["sinks"] if self.sinks else []
        parts += ["group"] if self.by_group else []
        if self.pairs:
            parts.append(f"rotary{self.pairs}{'i' if self.interleaved else ''}")
        return "-".join(parts)

    @property
    def appends(self):
        return self.form.endswith("append")

    @property
    def is_small(self):
        """Whether operands have 8 bits."""
        return self.type in FLOATS_8["type"]

    @property
    def has_nibbles(self):
        return self.scales == "rows"

    @property
    def packed(self):
        return self.form == "packed"


def cover(axes):
    """Rows of values, one for each axis, in which every pair of values of two
    axes occurs. Greedy, the same for the same axes."""
    open_pairs = {}
    for a, b in itertools.combinations(axes, 2):
        for x, y in itertools.product(axes[a], axes[b]):
            open_pairs[(a, x), (b, y)] = None
    order = {name: i for i, name in enumerate(axes)}

    def gain(row, name, value):
        found = 0
        for other, taken in row.items():
            pair = sorted([(name, value), (other, taken)], key=lambda p: order[p[0]])
            found += tuple(pair) in open_pairs
        return found

    rows = []
    while open_pairs:
        row = dict(next(iter(open_pairs)))
        for name, values in axes.items():
            if name in row:
                continue
            # Of equal ones those that have been taken least.
            row[name] = max(
                values,
                key=lambda v: (gain(row, name, v), -sum(r[name] == v for r in rows)),
            )
        row = {name: row[name] for name in axes}
        for pair in itertools.combinations(row.items(), 2):
            open_pairs.pop(pair, None)
        rows.append(row)
    return rows


def _case(row):
    place, new, (d, dv) = row["place"], row.get("new", "no"), row["dims"]
    page = place if isinstance(place, int) else 0
    form = place if not page else "paged"
    if new != "no":
        form = "append" if page else "dense-append"
    turned = 0 if new in ("no", "plain") else d if new.startswith("all") else d // 2
    return Case(form, row["type"], d, dv, *row["heads"], page, row["mask"], row["splits"],
                row["sinks"], turned // 16 * 8, new.endswith("interleaved"),
                row.get("scales", ""), row["known"] == "group")  # fmt: skip


def kernels():
    return [_case(row) for axes in (AXES, NEW, FLOATS_8, NIBBLES)
            for row in cover(axes)]


@dataclasses.dataclass(frozen=True)
class Plan:
    """One problem of a kernel."""

    batch: int
    seed: int
    table: str
    tokens: int
    splits: int

    def __str__(self):
        return (f"batch {self.batch}, table {self.table}, new keys {self.tokens}, "
                f"parts {self.splits}")  # fmt: skip


def plans(case):
    """All batches; all tables, numbers of new keys and of parts with one of them."""
    tables = TABLES if case.page else ["none"]
    tokens = TOKENS if case.appends else [0]
    splits = SPLITS if case.splits else [0]
    for seed, batch in enumerate(BATCHES):
        count = max(len(tables), len(tokens), len(splits)) if batch == 7 else 1
        for n in range(count):
            at = seed + n
            yield Plan(batch, at, tables[at % len(tables)], tokens[at % len(tokens)],
                       splits[at % len(splits)])  # fmt: skip
