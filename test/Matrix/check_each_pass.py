#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the answer of every configuration of the matrix after every pass.

Each configuration of matrix.py is run on the CPU at small shapes that have a
partial block of rows and of keys, blocks that a mask decides as a whole, and
grouped heads. Distances of masks are made smaller to fit the shapes. A problem
that exceeds the device (a pass says so) is counted as a limit, anything else
that is not the same answer has failed. One line per failure; the exit code is
1 if there is any.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import matrix

# Rows, keys: two blocks of rows and three of keys; a single row; few keys.
SHAPES = [(200, 281), (1, 130), (150, 67)]

# So that windows and prefixes end inside the problem.
SMALLER = [
    ("left = 1024", "left = 150"),
    ("left = 256, right = 256", "left = 100, right = 70"),
    ("prefix<128>", "prefix<90>"),
]

# Slopes of two heads as ALiBi has them. With others, some of them negative, all queries
# may see the same key, whose gradients are then sums of hundreds of terms of order 1.
TABLE = pathlib.Path(__file__).resolve().parents[1] / "Inputs" / "table.py"
SLOPES = ["<f4", "2", "2.0 ** (-4 * (i + 1))"]

# What a pass says of a kernel that the device cannot hold.
LIMITS = re.compile(r"error: .*(registers|shared memory)")


def module(key):
    """The text of matrix.py with distances for small shapes."""
    text = matrix.module(*key)
    for old, new in SMALLER:
        text = text.replace(old, new)
    return text


def check(tool, folder, key, shape, options, timeout):
    """(name, 'same', 'limit' or 'failed', what the tool says)"""
    name = "%s-%dx%d" % ((matrix.name_of(*key),) + shape)
    source = os.path.join(folder, name + ".mlir")
    with open(source, "w") as file:
        file.write(module(key))
    more = []
    if "alibi" in name:
        more = ["--input=aux=" + os.path.join(folder, "slopes.npy")]
    try:
        run = subprocess.run(
            [tool, "--cpu", "--check-each-pass=" + options, source,
             "--dims=b=1,h=2,hk=1,sq=%d,sk=%d" % shape,
             "--completion=random", "--schedule-seed=1", *more],
            capture_output=True, text=True, timeout=timeout)
        code, text = run.returncode, run.stderr
    except subprocess.TimeoutExpired:
        return name, "failed", f"no answer in {timeout} s"
    if code == 0:
        return name, "same", ""
    is_limit = code == 1 and "the pipeline fails" in text
    if is_limit and LIMITS.search(text):
        return name, "limit", ""
    errors = re.findall(r"error: .*", text) or text.strip().splitlines()[-1:]
    return name, "failed", f"exit {code}: " + " | ".join(errors[:2])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", default="fa3-run")
    parser.add_argument("--filter", default="", help="regular expression")
    parser.add_argument("--options", default="", help="of the pipeline")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=300,
                        help="seconds per problem")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    problems = [(key, shape) for key in matrix.configurations()
                for shape in SHAPES
                if re.search(args.filter, matrix.name_of(*key))]
    if not problems:
        sys.exit(f"no configuration matches '{args.filter}'")
    begin = time.time()
    counts = {"same": 0, "limit": 0, "failed": 0}
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        slopes = os.path.join(folder, "slopes.npy")
        subprocess.run([sys.executable, TABLE, slopes, *SLOPES], check=True)
        for name, verdict, message in pool.map(
                lambda problem: check(args.tool, folder, *problem,
                                      args.options, args.timeout), problems):
            counts[verdict] += 1
            if verdict == "failed" or args.verbose:
                print(f"{verdict} {name} {message}".rstrip(), flush=True)
    print("problems: tried %d, same %d, limits %d, failed %d, seconds %.0f" % (
        len(problems), counts["same"], counts["limit"], counts["failed"],
        time.time() - begin))
    return counts["failed"] != 0


if __name__ == "__main__":
    sys.exit(main())
