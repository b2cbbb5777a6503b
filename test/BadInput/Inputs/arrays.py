# SPDX-License-Identifier: Apache-2.0
"""Writes damaged .npy files with the given prefix."""
import struct
import sys


def write(name, shape, data):
    header = ("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % shape)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(sys.argv[1] + name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + data)


write(".short.npy", "(64, 96)", bytes(100))
write(".rank.npy", "(64,)", bytes(256))
with open(sys.argv[1] + ".header.npy", "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + b"{'descr'")
