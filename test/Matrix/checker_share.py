#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what warp-check and hopper-check-protocol cost over the matrix.

For every configuration of matrix.py: the share of both passes in the time from
.mlir to PTX, as fa3-translate --mlir-timing tells it, the median of --runs runs
on one thread. The last line has the least, the median and the largest share;
the exit code is 1 if the largest is above --most.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import matrix

CHECKS = ("Check", "CheckProtocol")


def measure(translate, source, options):
    """Milliseconds of the checks, and of everything."""
    done = subprocess.run(
        [translate, source, "--mlir-disable-threading", "--mlir-timing",
         "--mlir-timing-display=list", "--mlir-output-format=json",
         f"--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline{{{options}}})",
         "--mlir-to-ptx", "--no-manifest", "-o", os.devnull],
        capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"fails: {source}: {done.stderr}")
    times = {}
    for entry in json.loads(done.stderr):
        if entry:
            name = entry["name"]
            times[name] = times.get(name, 0) + 1e3 * entry["wall"]["duration"]
    return sum(times[name] for name in CHECKS), times["root"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--translate", default="fa3-translate")
    parser.add_argument("--filter", default="", help="regular expression")
    parser.add_argument("--options", default="", help="of the pipeline")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--most", type=float, default=10, help="percent")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    keys = [key for key in matrix.configurations()
            if re.search(args.filter, matrix.name_of(*key))]
    if not keys:
        sys.exit(f"no configuration matches '{args.filter}'")
    shares = []
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "kernel.mlir")
        for key in keys:
            with open(source, "w") as file:
                file.write(matrix.module(*key))
            runs = [measure(args.translate, source, args.options)
                    for _ in range(args.runs)]
            checks, everything = sorted(runs, key=lambda r: r[0] / r[1])[args.runs // 2]
            shares.append(100 * checks / everything)
            if args.verbose or shares[-1] > args.most:
                print("%-28s checks %5.1f of %5.1f ms, %4.1f %%" %
                      (matrix.name_of(*key), checks, everything, shares[-1]),
                      flush=True)
    print("shares of %d kernels: least %.1f %%, median %.1f %%, "
          "largest %.1f %%" % (len(shares), min(shares),
                               statistics.median(shares), max(shares)))
    return max(shares) > args.most


if __name__ == "__main__":
    sys.exit(main())
