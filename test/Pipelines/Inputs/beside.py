# SPDX-License-Identifier: Apache-2.0
"""Writes an array of f16 in which some rows count, and others hold what they like.

beside.py FILE.npy SHAPE AXIS OTHER ROWS..

Rows are counted along AXIS. ROWS are `begin-end`, or `n@begin-end` for those with
index n along the first axis. Numbers are random, the same for the same SHAPE; all
elements of other rows are OTHER (0, nan, inf, 65504)."""

import itertools
import random
import struct
import sys


def main(path, shape, axis, other, *ranges):
    shape = [int(extent) for extent in shape.split("x")]
    axis, used = int(axis), set()
    for one in ranges:
        first, _, rows = one.rpartition("@")
        begin, end = map(int, rows.split("-"))
        firsts = [int(first)] if first else range(shape[0] if axis else 1)
        used.update((n, row) for n in firsts for row in range(begin, end))
    numbers = random.Random(str(shape))
    values = []
    for index in itertools.product(*map(range, shape)):
        value = numbers.gauss(0, 1)
        is_used = (index[0] if axis else 0, index[axis]) in used
        values.append(value if is_used else float(other))
    header = str({"descr": "<f2", "fortran_order": False, "shape": tuple(shape)})
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + struct.pack(f"<{len(values)}e", *values))


main(*sys.argv[1:])
