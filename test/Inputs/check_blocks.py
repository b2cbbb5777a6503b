#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks lists of blocks against a mask: check_blocks.py FOLDER SQ SK M N FORMULA.

The formula is Python over batch b, head h, query i and key j, and says whether
the query sees the key. FOLDER has count, index, full_count and full_index as
.npy files of i32. What is wrong is printed; otherwise how many blocks are in
each list.
"""
import ast
import itertools
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])
sq, sk, m, n = map(int, sys.argv[2:6])
code = compile(sys.argv[6], "formula", "eval")


def read(name):
    data = (folder / (name + ".npy")).read_bytes()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:end].decode())
    assert header["descr"] == "<i4" and not header["fortran_order"], header
    values = struct.unpack("<%di" % ((len(data) - end) // 4), data[end:])
    return header["shape"], values


total = {"": 0, "full_": 0}
for name in total:
    (batch, heads, rows), counts = read(name + "count")
    shape, entries = read(name + "index")
    columns = max(1, -(-sk // n))
    assert (rows, shape) == (max(1, -(-sq // m)), (batch, heads, rows, columns)), shape
    place = 0
    for b, h, row in itertools.product(range(batch), range(heads), range(rows)):
        wanted = []
        for column in range(columns):
            seen = [bool(eval(code, {"b": b, "h": h, "i": i, "j": j}))
                    for i in range(row * m, min(row * m + m, sq))
                    for j in range(column * n, min(column * n + n, sk))]
            if any(seen) and all(seen) == (name == "full_"):
                wanted.append(column)
        given = list(entries[place * columns:(place + 1) * columns])
        if counts[place] != len(wanted) or given != wanted + [0] * (columns - len(wanted)):
            sys.exit(f"{name}lists of ({b}, {h}, {row}): expects {wanted}, "
                     f"got {counts[place]} of {given}")
        total[name] += len(wanted)
        place += 1
print("right: %d masked, %d full" % (total[""], total["full_"]))
