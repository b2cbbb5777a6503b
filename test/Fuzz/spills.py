#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether kernels of random mask and score code need local memory.

Compiles the problems of code.py with real head dims, forward and gradients, with
lengths that the launch gives and lengths that are known, through ptxas. Prints
each kernel that spills or whose products ptxas serializes. What the pipeline
refuses by a limit that it states is counted apart.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import sys
import tempfile

import code as problems

HEADS_DIMS = [64, 96, 128, 192, 256]
KNOWN = 4096
DIRECTIONS = ["forward", "gradients"]
LOCAL = re.compile(r"kernel '([^']+)' keeps values in local memory: .*?(\d+) bytes of "
                   r"spill stores")
SERIAL = re.compile(r"\((C75(?!19)\d\d)\).*?(?:in|for) (?:the )?function '([^']+)'")


def module(args, number):
    """A problem of code.py whose head dim and lengths are those of a real one."""
    text, _, _ = problems.build(args.seed, number)
    dim = HEADS_DIMS[number % len(HEADS_DIMS)]
    length = str(KNOWN) if number // len(HEADS_DIMS) % 2 else "?"
    return re.sub(r"tensor<1x(\d+)x[?\d]+x\d+x(b?f16)>",
                  rf"tensor<1x\1x{length}x{dim}x\2>", text)


def keep_gradients(args, path):
    """The module's second function, the gradients of the first."""
    code, output = problems.run([args.opt, path, "--attention-differentiate", "-o", path],
                                args.timeout)
    if code == 0:
        text = path.read_text()
        functions = re.findall(r"^  func\.func .*?^  }\n", text, re.S | re.M)
        gradients = [function for function in functions if "attention.backward" in function]
        path.write_text(text[:text.index("module {")] + gradients[0])
    return code, output


def attempt(args, job):
    """(job, 'clean', 'spills', 'limit' or 'failed', what is to be said)"""
    number, direction = job
    code, output = 0, ""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(args.save or folder) / f"{number}-{direction}.mlir"
        path.write_text(module(args, number))
        if direction == "gradients":
            code, output = keep_gradients(args, path)
        if code == 0:
            code, output = problems.run(
                [args.translate, "--mlir-to-cubin", path,
                 "--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)", "-o",
                 path.with_suffix(".cubin")], args.timeout)
    found = [f"{name} {size} bytes" for name, size in LOCAL.findall(output)]
    found += [f"{name} {kind}" for kind, name in SERIAL.findall(output)]
    if code == 0:
        return job, "spills" if found else "clean", ", ".join(found)
    errors = re.findall(r"error: .*", output)
    if errors and any(re.search(limit, errors[0]) for limit in problems.LIMITS):
        return job, "limit", errors[0]
    return job, "failed", output.strip()[:2000]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--translate", default="fa3-translate")
    parser.add_argument("--opt", default="fa3-opt")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="+", metavar="N",
                        help="these problems in place of --count from --first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--save", help="folder for the modules")
    args = parser.parse_args()
    numbers = args.only or range(args.first, args.first + args.count)
    jobs = [(number, direction) for number in numbers for direction in DIRECTIONS]
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for (number, direction), result, said in pool.map(
                lambda job: attempt(args, job), jobs):
            counts[result] += 1
            if result != "clean":
                print(f"{number} d {HEADS_DIMS[number % len(HEADS_DIMS)]} {direction}: "
                      f"{result}: {said}", flush=True)
    print(f"{len(jobs)} modules, {counts['clean']} clean, {counts['spills']} spill, "
          f"{counts['limit']} limits, {counts['failed']} failed")
    return bool(counts["spills"] or counts["failed"])


if __name__ == "__main__":
    sys.exit(main())
