#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of this folder and says how many were skipped.

    python3 test/Python/run.py [--all] [-v] [--jobs N] [test_*.py...]

With --all none may be skipped: torch, JAX, transformers, the compiler (FA3_LIBRARY)
and the fake driver (FA3_LIBCUDA) have to be there. With --jobs the files are shared
among so many processes, each with a cache of its own.
"""

import argparse
import collections
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
#: Tests that use these where they are found do not say that they were skipped.
NEEDED = ("torch", "jax", "transformers")


def share(files, count):
    """The files in `count` lots of about the same size."""
    lots = [[] for _ in range(count)]
    for file in sorted(files, key=lambda one: -one.stat().st_size):
        min(lots, key=lambda lot: sum(one.stat().st_size for one in lot)).append(file)
    return [lot for lot in lots if lot]


def run_lots(lots, options):
    """Each in a process; what it prints comes when it has ended."""
    command = [sys.executable, __file__]
    command += ["--all"] * options.all + ["--verbose"] * options.verbose
    running = []
    for number, lot in enumerate(lots):
        environment = dict(os.environ)
        if "FA3_CACHE_DIR" in environment:
            environment["FA3_CACHE_DIR"] += f"/{number}"
        running.append(
            subprocess.Popen(
                command + [one.name for one in lot], env=environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
        )  # fmt: skip
    total, failed = [0, 0, 0], 0
    for process in running:
        output, _ = process.communicate()
        print(output, end="", flush=True)
        failed |= process.returncode
        counts = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.M)
        if not counts:
            failed = 1
        for i, count in enumerate(counts[-1] if counts else ()):
            total[i] += int(count)
    print("all: {} passed, {} failed, {} skipped".format(*total))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="a skipped test is a failure")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("files", nargs="*", help="default: all")
    options = parser.parse_args()
    found = sorted(HERE.glob("test_*.py"))
    wrong = set(options.files) - {one.name for one in found}
    if wrong:
        parser.error(f"no such tests: {', '.join(sorted(wrong))}")
    files = [one for one in found if one.name in options.files or not options.files]
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if options.all and missing:
        print(f"run.py: {sys.executable} has no {', '.join(missing)}", file=sys.stderr)
        return 1
    if options.jobs > 1 and len(files) > 1:
        return run_lots(share(files, options.jobs), options)
    sys.path.insert(0, str(HERE))
    suite = unittest.defaultTestLoader.loadTestsFromNames([one.stem for one in files])
    runner = unittest.TextTestRunner(verbosity=2 if options.verbose else 1)
    result = runner.run(suite)
    reasons = collections.Counter(reason for _, reason in result.skipped)
    for reason, count in reasons.items():
        print(f"skipped {count}: {reason}")
    skipped = len(result.skipped)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    if result.testsRun == 0:
        print("run.py: found no test", file=sys.stderr)
        return 1
    if options.all and skipped:
        print("run.py: no test may be skipped with --all", file=sys.stderr)
        return 1
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
