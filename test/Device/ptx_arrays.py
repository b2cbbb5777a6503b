# SPDX-License-Identifier: Apache-2.0
"""Arrays of ptx_bits.py: files of fa3-run, bytes as a device holds them, numbers."""

import functools
import math
import re
import struct
import sys

# Bytes of an element, and its code for struct where that has one.
TYPES = {
    "i1": (1, "B"),
    "i8": (1, "b"),
    "i16": (2, "h"),
    "i32": (4, "i"),
    "i64": (8, "q"),
    "f16": (2, "e"),
    "f32": (4, "f"),
    "f64": (8, "d"),
    "bf16": (2, ""),
    "f8E4M3FN": (1, ""),
    "f8E5M2": (1, ""),
}
# Rounding of the types that a module may have, the coarsest first.
ROUNDINGS = {"bf16": 2.0**-8, "f16": 2.0**-11, "f8": 2.0**-11}


def rounding_of(module):
    return next(value for key, value in ROUNDINGS.items() if key in module)


def approximation_of(module):
    """How far what instructions approximate moves a weight: by a rounding to 8 bits that
    goes the other way, or to the operands' type, of gradients, whose weights are not
    below 1 with random statistics; or by tanh of a score (2^-11, section 9.7.3.22),
    times its cap."""
    caps = re.findall(r"softcap<([\d.]+)", module)
    of_gradients = rounding_of(module) if "attention.backward" in module else 0.0
    of_weights = max(2.0**-4 * ("f8" in module), of_gradients)
    return max(of_weights, *(float(cap) * 2.0**-11 for cap in caps), 0.0)


def write_npy(path, rows, columns, values):
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, columns)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode()
        + struct.pack(f"<{len(values)}i", *values)
    )


def read_npy(path, kind):
    """(shape, bytes of elements of this type). Floats that NumPy does not have are f32
    in files of fa3-run."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<H", data, 8)
    header, data = data[10 : 10 + size].decode(), data[10 + size :]
    words = re.search(r"'shape': \(([^)]*)\)", header)[1].split(",")
    shape = [int(word) for word in words if word.strip()]
    if "<f4" in header and kind != "f32":
        data = narrow(kind, data)
    wanted = math.prod(shape) * TYPES[kind][0]
    if len(data) != wanted:
        sys.exit(f"{path}: {len(data)} bytes, expected {wanted} of {shape} {kind}")
    return shape, data


def narrow(kind, data):
    """Bytes of a type whose elements are given as f32, without rounding."""
    if kind == "bf16":
        result = bytearray(len(data) // 2)
        result[0::2], result[1::2] = data[2::4], data[3::4]
        return bytes(result)
    numbers = numbers_of(kind)
    codes = {struct.pack("<f", number): code for code, number in enumerate(numbers)}
    return bytes(codes.get(data[i : i + 4], 0x7F) for i in range(0, len(data), 4))


@functools.cache
def numbers_of(kind):
    """By its byte, what an 8-bit float stands for."""
    if kind == "f8E5M2":
        return struct.unpack("<256e", b"".join(bytes([0, code]) for code in range(256)))
    numbers = []
    for code in range(256):
        exponent, fraction = code >> 3 & 15, code & 7
        number = (fraction + 8 * (exponent > 0)) * 2.0 ** (max(exponent, 1) - 10)
        number = math.nan if code & 127 == 127 else number
        numbers.append(math.copysign(number, -1 if code >> 7 else 1))
    return tuple(numbers)


def decode(kind, data):
    if kind == "bf16":
        words = struct.unpack(f"<{len(data) // 2}H", data)
        return struct.unpack(
            f"<{len(words)}f", struct.pack(f"<{len(words)}I", *(word << 16 for word in words))
        )
    size, code = TYPES[kind]
    if not code:
        return tuple(map(numbers_of(kind).__getitem__, data))
    return struct.unpack(f"<{len(data) // size}{code}", data)


def is_same(kind, one, two):
    """Whether elements have the same bits. Which NaN a float is is not defined, and
    what nobody writes is one on the CPU and another one on a GPU."""
    return one == two or all(
        a == b and math.copysign(1, a) == math.copysign(1, b) or (a != a and b != b)
        for a, b in zip(decode(kind, one), decode(kind, two))
    )


def find_far(kind, rounding, approximation, one, two):
    """Elements that differ by more than 4 roundings, and an approximation of the
    largest, and the worst, or ''."""
    far, worst, what = 0, 0.0, ""
    numbers = decode(kind, one)
    largest = max((abs(a) for a in numbers if abs(a) < math.inf), default=0.0)
    for at, (a, b) in enumerate(zip(numbers, decode(kind, two))):
        # NaN or infinite in both, or near.
        if a == b or (a != a and b != b):
            continue
        allowed = 4 * rounding * (1 + abs(a)) + approximation * largest
        distance = abs(a - b) / allowed
        if distance <= 1:
            continue
        far += 1
        if not distance <= worst:
            worst, what = distance, f"element {at}: {a} on the CPU, {b}"
    return f"{far} of {at + 1} differ; {what}" if far else ""
