#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the lists of blocks of a mask: blocks.py FOLDER SQ SK M N FORMULA.

The formula is Python over query i and key j of SQ and SK, and says whether the
query sees the key; blocks have M queries and N keys. FOLDER gets count, index,
full_count and full_index as .npy files of i32, for one batch and one head. A
block that ends behind the keys is never full; entries that do not count are
none of a block.
"""
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])
sq, sk, m, n = map(int, sys.argv[2:6])
code = compile(sys.argv[6], "formula", "eval")
NOTHING = -7


def write(name, shape, values):
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': (%s,), }" % (
        ", ".join(map(str, shape)))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(folder / (name + ".npy"), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode())
        file.write(struct.pack("<%di" % len(values), *values))


rows, columns = -(-sq // m), -(-sk // n)
lists = {"": [], "full_": []}
for row in range(rows):
    found = {name: [] for name in lists}
    for column in range(columns):
        seen = [bool(eval(code, {"i": i, "j": j}))
                for i in range(row * m, min(row * m + m, sq))
                for j in range(column * n, min(column * n + n, sk))]
        isWhole = column * n + n <= sk
        if any(seen):
            found["full_" if all(seen) and isWhole else ""].append(column)
    for name, entries in found.items():
        lists[name].append(entries)
for name, entries in lists.items():
    write(name + "count", (1, 1, rows), [len(entry) for entry in entries])
    write(name + "index", (1, 1, rows, columns),
          [number for entry in entries
           for number in entry + [NOTHING] * (columns - len(entry))])
