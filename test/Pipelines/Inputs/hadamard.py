#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rotates the identity, by the definition and by kernels, and checks that what
comes out is a Hadamard matrix with the signs of its rows. Says what is wrong.

    hadamard.py FA3_RUN PREFIX
"""
import struct
import subprocess
import sys

MODULE = """
func.func @rotate(%x: tensor<1x1x?xDxf16>, %signs: tensor<Dxf32>)
    -> (tensor<1x1x?xDxf8E4M3FN>, tensor<1x1x?xf32>) {
  %y, %s = attention.quantize %x rotate %signs : tensor<Dxf32> rows 1
    : tensor<1x1x?xDxf16> -> tensor<1x1x?xDxf8E4M3FN>, tensor<1x1x?xf32>
  return %y, %s : tensor<1x1x?xDxf8E4M3FN>, tensor<1x1x?xf32>
}
"""


def write_npy(path, code, format, shape, values):
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + struct.pack(f"<{len(values)}{format}", *values))


def rotate(run, prefix, d, executor, signs):
    module, x, s, y = (f"{prefix}.{end}" for end in ("mlir", "x.npy", "s.npy", "y.npy"))
    with open(module, "w") as file:
        file.write(MODULE.replace("xD", f"x{d}").replace("<D", f"<{d}"))
    identity = [float(i == j) for i in range(d) for j in range(d)]
    write_npy(x, "<f2", "e", (1, 1, d, d), identity)
    write_npy(s, "<f4", "f", (d,), signs)
    subprocess.run(
        [run, module, f"--executor={executor}", f"--dims=s={d},x_scale.2={d}",
         f"--input=x={x}", f"--input=signs={s}", f"--output=x8={y}"],
        check=True, capture_output=True,
    )  # fmt: skip
    with open(y, "rb") as file:
        numbers = struct.unpack(f"<{d * d}f", file.read()[-4 * d * d :])
    # Every element has the largest magnitude, which becomes the largest number.
    if {abs(number) for number in numbers} != {448.0}:
        print("wrong: magnitudes at", d)
    return [[int(n / 448) for n in numbers[i * d : (i + 1) * d]] for i in range(d)]


def main(run, prefix):
    # Factors 1, 12 and 20 of a power of two.
    for d in (16, 96, 80):
        plain = rotate(run, prefix, d, "reference", [1.0] * d)
        for i, row in enumerate(plain):
            for j, other in enumerate(plain):
                if sum(a * b for a, b in zip(row, other)) != (d if i == j else 0):
                    print(f"wrong: rows {i} and {j} of {d}")
        signs = [-1.0 if i * i % 5 == 1 else 0.5 for i in range(d)]
        signed = [[-n if s < 0 else n for n in row] for s, row in zip(signs, plain)]
        for executor in ("reference", "interpreter"):
            if rotate(run, prefix, d, executor, signs) != signed:
                print(f"wrong: signs at {d}, {executor}")


main(*sys.argv[1:])
