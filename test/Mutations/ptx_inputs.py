# SPDX-License-Identifier: Apache-2.0
"""Queries and keys that decide when running maxima are rescaled: one score of a row, or
one step from block to block, and nothing else that would make the warp do the same."""

import array
import math
import re
import struct

SIZES = {"sq": 128, "sk": 384}
# Of steps, in units of a power of two, by blocks of 64 keys; and the same backward, as
# a kernel may start at either end.
LEVELS = [
    [-40, *[-10] * 5],
    [*[-40] * 3, *[-10] * 3],
    [-3, -10, -20, -30, -40, -5],
    [1, 8, 20, 40, 60, 80],
]
# Rows, of 16 that a warp has, of a lane's first and second row, and of the last lanes.
NEEDLE_ROWS = [0, 8, 7, 15]
# In a middle block, whichever end a kernel starts at.
FIRST_NEEDLE, NEEDLES = 128, 64


class Shape:
    """Of q and k in a module; unknown extents are given by name."""

    def __init__(self, module):
        self.dims = {}
        for name, heads in (("q", "h"), ("k", "hk")):
            found = re.search(rf"%{name}: tensor<\?x(\?|\d+)x\?x(\d+)x", module)
            self.dims[heads] = None if found[1] == "?" else int(found[1])
            self.d = int(found[2])
        self.has_scales = "q_scale" in module

    def sizes(self, batch, heads):
        given = {"b": batch, **SIZES}
        if self.dims["h"] is None:
            given.update(h=heads, hk=heads)
        return given

    def heads(self, given):
        return self.dims["h"] or given["h"], self.dims["hk"] or given["hk"]


def write_npy(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
    path.write_bytes(start + header.encode() + array.array("f", values).tobytes())


def write(folder, name, shape, given, query, key):
    """Arguments for q[.., row, :] and k[.., key, :], each one element that is not 0:
    its place and value, or None."""
    heads, key_heads = shape.heads(given)
    words = []
    for tensor, count, rows, element in (
        ("q", heads, given["sq"], query),
        ("k", key_heads, given["sk"], key),
    ):
        values = array.array("f", bytes(4 * given["b"] * count * rows * shape.d))
        for b in range(given["b"]):
            for head in range(count):
                for row in range(rows):
                    found = element(b * key_heads + head * key_heads // count, row)
                    if found:
                        at = ((b * count + head) * rows + row) * shape.d
                        values[at + found[0]] = found[1]
        path = folder / f"{name}.{tensor}.npy"
        write_npy(path, (given["b"], count, rows, shape.d), values)
        words += ["--input", f"{tensor}={path}"]
    dims = ",".join(f"{dim}={size}" for dim, size in given.items())
    return ["--dims", dims, "--sms=1", *words]


def scales(shape, q_scale):
    names = {"q_scale": q_scale, "k_scale": 1, "v_scale": 1}
    return [f"--fill={name}={value}" for name, value in names.items()] if shape.has_scales else []


def steps(folder, shape):
    """Every second 8 rows of a warp have scores that step from block to block, others
    have 0: a lane's first row, or its second one."""
    given = shape.sizes(1, 1)
    unit = 1 / math.log2(math.e) * math.sqrt(shape.d)
    for q_scale in [1, 200] if shape.has_scales else [1]:
        for number, levels in enumerate([*LEVELS, *(levels[::-1] for levels in LEVELS)]):
            for half in (0, 1):
                yield write(
                    folder,
                    f"steps-{q_scale}-{number}-{half}",
                    shape,
                    given,
                    lambda _, row, half=half: (0, 1.0) if row % 16 // 8 == half else None,
                    lambda _, key, levels=levels, q_scale=q_scale: (
                        0,
                        levels[key // 64] * unit / q_scale,
                    ),
                ) + scales(shape, q_scale)


def needles(folder, shape):
    """One row of a warp has one score that is not 0, for each of 64 keys."""
    rows = SIZES["sq"] // 16
    # Beyond what lazy rescaling tolerates, and near enough for others to count.
    height = 7.0 * math.sqrt(shape.d)
    given = shape.sizes(NEEDLES // rows // 2, 2)
    for first in NEEDLE_ROWS:

        def query(_, row, first=first):
            return (row // 16, 1.0) if row % 16 == first else None

        def key(number, key):
            at = key - FIRST_NEEDLE - number * rows
            return (at, height) if 0 <= at < rows else None

        yield write(folder, f"needles-{first}", shape, given, query, key) + scales(shape, 1)


def problems(folder, module):
    shape = Shape(module)
    folder.mkdir()
    return [*steps(folder, shape), *needles(folder, shape)]
