#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of this folder and says how many were skipped.

    python3 test/Python/run.py [--all] [-v]

With --all none may be skipped: torch, JAX, transformers, the compiler (FA3_LIBRARY)
and the fake driver (FA3_LIBCUDA) have to be there.
"""

import argparse
import collections
import importlib.util
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
#: Tests that use these where they are found do not say that they were skipped.
NEEDED = ("torch", "jax", "transformers")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="a skipped test is a failure")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if options.all and missing:
        print(f"run.py: {sys.executable} has no {', '.join(missing)}", file=sys.stderr)
        return 1
    suite = unittest.defaultTestLoader.discover(str(HERE), top_level_dir=str(HERE))
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
