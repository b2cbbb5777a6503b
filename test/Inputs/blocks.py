#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the lists of blocks of a mask: blocks.py FOLDER SQ SK M N FORMULA.

The formula is Python over head h, query i and key j of SQ and SK, and says whether
the query sees the key; blocks have M queries and N keys. FOLDER gets count, index,
full_count and full_index as .npy files of i32, for one batch and --heads heads, and
q_count, q_index, full_q_count and full_q_index: the same by blocks of keys. A block
that ends behind the keys is never full, but with --cut; entries that do not count
are none of a block.
"""
import argparse
import pathlib
import struct

NOTHING = -7


def write(folder, name, shape, values):
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': (%s,), }" % (
        ", ".join(map(str, shape)))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(folder / (name + ".npy"), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode())
        file.write(struct.pack("<%di" % len(values), *values))


def classify(args, code, h, row, column):
    """The prefix of the lists that a pair of blocks is in; None for neither."""
    m, n = args.m, args.n
    seen = [bool(eval(code, {"h": h, "i": i, "j": j}))
            for i in range(row * m, min(row * m + m, args.sq))
            for j in range(column * n, min(column * n + n, args.sk))]
    is_whole = args.cut or column * n + n <= args.sk
    if not any(seen):
        return None
    return "full_" if all(seen) and is_whole else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    for name in ("sq", "sk", "m", "n"):
        parser.add_argument(name, type=int)
    parser.add_argument("formula")
    parser.add_argument("--heads", type=int, default=1)
    parser.add_argument("--cut", action="store_true")
    args = parser.parse_args()
    code = compile(args.formula, "formula", "eval")
    rows, columns = -(-args.sq // args.m), -(-args.sk // args.n)
    kinds = [[[classify(args, code, h, row, column) for column in range(columns)]
              for row in range(rows)] for h in range(args.heads)]
    by_key = [[list(one) for one in zip(*head)] for head in kinds]
    for letter, lists, outer, inner in (("", kinds, rows, columns),
                                        ("q_", by_key, columns, rows)):
        for prefix in ("", "full_"):
            found = [[number for number, kind in enumerate(line) if kind == prefix]
                     for head in lists for line in head]
            write(args.folder, f"{prefix}{letter}count", (1, args.heads, outer),
                  [len(entries) for entries in found])
            write(args.folder, f"{prefix}{letter}index",
                  (1, args.heads, outer, inner),
                  [number for entries in found
                   for number in entries + [NOTHING] * (inner - len(entries))])


main()
