# SPDX-License-Identifier: Apache-2.0
"""Runs a compiled model of models.py and compares with what torch computed.

    whole_model.py FOLDER [--runtime libfa3_runtime.so] [--times N]

FOLDER has what `models.py --prepare` writes: the program as a library, inputs and the
expected output as files, model.json. Needs neither torch nor numpy; the libraries of a
folder that was prepared for a GPU, fa3's runtime too, are in it.
"""

import argparse
import ctypes
import json
import pathlib
import struct
import sys
import time

CODES = {"f16": "e", "f32": "f", "i64": "q"}


def descriptor(rank):
    """MLIR's description of an array (StridedMemRefType)."""

    class Array(ctypes.Structure):
        _fields_ = [
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
            ("sizes", ctypes.c_int64 * rank),
            ("strides", ctypes.c_int64 * rank),
        ]

    return Array


def count(shape):
    number = 1
    for extent in shape:
        number *= extent
    return number


def describe(address, shape):
    strides = [count(shape[d + 1 :]) for d in range(len(shape))]
    kind = descriptor(len(shape))
    return kind(address, address, 0, type(kind().sizes)(*shape), type(kind().strides)(*strides))


def read(array, kind):
    """The elements of an array, in order."""
    code = CODES[kind]
    rank, width = len(array.sizes), struct.calcsize(code)
    extent = 1 + sum((n - 1) * s for n, s in zip(array.sizes, array.strides))
    data = ctypes.string_at(array.aligned + array.offset * width, extent * width)
    places = [0]
    for d in range(rank):
        places = [p + i * array.strides[d] for p in places for i in range(array.sizes[d])]
    return [struct.unpack_from(code, data, p * width)[0] for p in places]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runtime", help="FOLDER/libfa3_runtime.so")
    parser.add_argument("--times", type=int, default=2)
    args = parser.parse_args()
    about = json.loads((args.folder / "model.json").read_text())
    runtime = args.runtime or str(args.folder.resolve() / "libfa3_runtime.so")
    ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(args.folder.resolve() / "model.so"))
    function = getattr(library, "_mlir_ciface_" + about["function"])
    function.restype = None
    buffers, inputs = [], []
    for one in about["inputs"]:
        data = (args.folder / one["file"]).read_bytes()
        # Copies of memrefs may be aligned to 64 bytes.
        buffers.append(ctypes.create_string_buffer(len(data) + 64))
        address = -(-ctypes.addressof(buffers[-1]) // 64) * 64
        ctypes.memmove(address, data, len(data))
        inputs.append(describe(address, one["shape"]))
    shape, kind = about["output"]["shape"], about["output"]["type"]
    data = (args.folder / about["output"]["file"]).read_bytes()
    expected = struct.unpack(f"{len(data) // struct.calcsize(CODES[kind])}{CODES[kind]}", data)
    worst = 0.0
    for _ in range(args.times):
        output = descriptor(len(shape))()
        begin = time.perf_counter()
        function(ctypes.byref(output), *(ctypes.byref(x) for x in inputs))
        seconds = time.perf_counter() - begin
        if list(output.sizes) != shape:
            sys.exit(f"expects an output of {shape}, got {list(output.sizes)}")
        found = read(output, kind)
        # A NaN is as far away as can be.
        worst = max(worst, *(abs(a - b) if a == a else float("inf")
                             for a, b in zip(found, expected)))
    largest = max(abs(x) for x in expected)
    print(f"{about['name']}, {about['way']}: {len(expected)} elements, largest {largest:.3g}, "
          f"at most {worst:.2g} off, {seconds:.3f} s")
    if largest < 0.05 or not worst <= about["tolerance"] * largest:
        sys.exit(f"expects at most {about['tolerance']} of the largest")


if __name__ == "__main__":
    main()
