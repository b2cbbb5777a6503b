#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a table of numbers: table.py FILE TYPE SHAPE FORMULA.

TYPE is that of a .npy file (|b1, |i1, <i2, <i4, <i8, <f4), SHAPE as in 2,3, the
formula is Python over the indices i, j, k, l of an element.
"""
import itertools
import math
import struct
import sys

CODES = {"|b1": "?", "|i1": "b", "<i2": "h", "<i4": "i", "<i8": "q", "<f4": "f"}
path, kind, shape, formula = sys.argv[1:]
extents = [int(extent) for extent in shape.split(",")]
code = compile(formula, "formula", "eval")
values = [eval(code, {"math": math}, dict(zip("ijkl", index)))
          for index in itertools.product(*map(range, extents))]
header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (
    kind, ", ".join(map(str, extents)))
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
    file.write(header.encode())
    file.write(struct.pack("<%d%s" % (len(values), CODES[kind]), *values))
