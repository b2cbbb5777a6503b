#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which weights #attention.dropout keeps, from the published scheme alone.

dropout.py --tool fa3-run FILE runs the function `dropped` of FILE for ten seeds
with scores of 0 and an identity for v: an element of o that is not 0 is a weight
that was kept. All have to be those that are computed here, from Philox as Salmon
et al. define it and the places that FlashAttention-2 gives its bytes; as many as
p says; and those kept get 1 / (1 - p) of their weight.
"""
import argparse
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 2, 70, 100, 104
WORD = (1 << 32) - 1


def philox(seed, counter, rounds=7):
    """Philox4x32 of a key of two words and a counter of four."""
    key = [seed & WORD, seed >> 32 & WORD]
    x = list(counter)
    for _ in range(rounds):
        first, second = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
        x = [second >> 32 ^ x[1] ^ key[0], second & WORD,
             first >> 32 ^ x[3] ^ key[1], first & WORD]
        key = [key[0] + 0x9E3779B9 & WORD, key[1] + 0xBB67AE85 & WORD]
    return x


def get_byte(seed, offset, row, query, key):
    """The random byte of a weight; `row` is batch * heads + head."""
    lane = query % 8 * 4 + key % 8 // 2
    low = (offset + row * 32 + lane) % (1 << 64)
    words = philox(seed, [low & WORD, low >> 32, query // 16, key // 32])
    number = query % 16 // 8 * 2 + key % 2
    return words[key % 32 // 8] >> 8 * number & 255


def write_array(path, kind, shape, code, values):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (
        kind, tuple(shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                     header.encode() + struct.pack("<%d%s" % (len(values), code),
                                                   *values))


def read_halves(path):
    data = path.read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack("<%de" % ((len(data) - start) // 2), data[start:])


def check(args, folder, p, seed, offset):
    signed = [n - (1 << 64) if n >> 63 else n for n in (seed, offset)]
    write_array(folder / "rng.npy", "<i8", [2], "q", signed)
    output = folder / "o.npy"
    command = [args.tool, "--cpu", args.file, "--function=dropped",
               f"--dims=b={BATCH},h={HEADS},hk=1,sq={QUERIES},sk={KEYS}",
               "--fill", "q=0", "--fill", "k=0",
               "--input", f"v={folder / 'v.npy'}",
               "--input", f"rng={folder / 'rng.npy'}", "--output", f"o={output}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return done.stdout + done.stderr
    o = read_halves(output)
    threshold = math.floor((1 - p) * 255)
    kept = 0
    for n in range(BATCH * HEADS * QUERIES * KEYS):
        row, rest = divmod(n, QUERIES * KEYS)
        query, key = divmod(rest, KEYS)
        weight = o[(row * QUERIES + query) * WIDTH + key]
        expected = get_byte(seed, offset, row, query, key) <= threshold
        kept += expected
        if abs(weight - expected / KEYS / (1 - p)) > 1e-4:
            return (f"seed {seed}, offset {offset}: weight of row {row}, query "
                    f"{query}, key {key} is {weight}, kept: {expected}")
    count = BATCH * HEADS * QUERIES * KEYS
    share = (threshold + 1) / 256
    if abs(kept - count * share) > 3 * math.sqrt(count * share * (1 - share)):
        return f"seed {seed} keeps {kept} of {count}, expected {count * share}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--p", type=float, default=0.25)
    parser.add_argument("file")
    args = parser.parse_args()
    # Random123's known answer for ten rounds.
    assert philox(0, [0] * 4, rounds=10) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C,
                                             0x9B00DBD8]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        identity = [float(i % WIDTH == i // WIDTH % KEYS)
                    for i in range(BATCH * KEYS * WIDTH)]
        write_array(folder / "v.npy", "<f2", [BATCH, 1, KEYS, WIDTH], "e",
                    identity)
        for n in range(10):
            # The first offset overflows its low word, the last ones are torch's.
            seed = (n * 0x9E3779B97F4A7C15 + n) % (1 << 64)
            offset = (1 << 32) - 50 if n == 0 else n * 4096 + (n % 2 << 40)
            if wrong := check(args, folder, args.p, seed, offset):
                print(wrong)
                return 1
    print("the mask of 10 seeds is that of FlashAttention-2")
    return 0


if __name__ == "__main__":
    sys.exit(main())
