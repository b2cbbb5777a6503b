#!/usr/bin/env python3
"""Measures what flow-check and hopper-check-protocol cost over the matrix.

For every configuration of matrix.py: processor time from .mlir to PTX with the
checks and without them (least of --runs each), without starting the process;
the difference is the checks'. The last line has the least, the median and the
largest share; the exit code is 1 if the largest is above --most.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

import matrix


def processor_time(command):
    """Milliseconds of user and system time."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit("fails: " + " ".join(command))
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def measure(translate, source, options, runs):
    """Milliseconds with and without checks."""
    times = {"true": [], "false": []}
    for _ in range(runs):
        for check in times:
            pipeline = f"fa3-lower-to-nvvm-pipeline{{check={check} {options}}}"
            times[check].append(processor_time(
                [translate, source, "--mlir-disable-threading",
                 f"--pass-pipeline=builtin.module({pipeline})",
                 "--mlir-to-ptx", "--no-manifest", "-o", os.devnull]))
    return min(times["true"]), min(times["false"])


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
    start = min(processor_time([args.translate, "--version"])
                for _ in range(10))
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "kernel.mlir")
        for key in keys:
            with open(source, "w") as file:
                file.write(matrix.module(*key))
            checked, unchecked = measure(args.translate, source, args.options,
                                         args.runs)
            shares.append(100 * (checked - unchecked) / (checked - start))
            if args.verbose or shares[-1] > args.most:
                print("%-28s checks %5.1f of %5.1f ms, %4.1f %%" %
                      (matrix.name_of(*key), checked - unchecked,
                       checked - start, shares[-1]), flush=True)
    print("shares of %d kernels: least %.1f %%, median %.1f %%, "
          "largest %.1f %%" % (len(shares), min(shares),
                               statistics.median(shares), max(shares)))
    return max(shares) > args.most


if __name__ == "__main__":
    sys.exit(main())
