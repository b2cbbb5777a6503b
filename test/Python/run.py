#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of this folder and says how many were skipped.

    python3 test/Python/run.py [--all] [-v] [--jobs N] [test_*.py...]

With --all none may be skipped: torch, JAX, transformers, the compiler (FA3_LIBRARY)
and the fake driver (FA3_LIBCUDA) have to be there. With --jobs so many processes share
the tests, each with a cache of its own.
"""

import argparse
import collections
import concurrent.futures
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
#: Tests that use these where they are found do not say that they were skipped.
NEEDED = ("torch", "jax", "transformers")


#: Files with tests of half a minute, which are begun first.
SLOW = ("test_values", "test_stale_mods", "test_transformers", "test_distributed", "test_bundle")


class Claimed(unittest.TestSuite):
    """The tests that no other process has begun. `claims` is a folder in which a file
    says that a test is taken."""

    _cleanup = False

    def __init__(self, tests, claims):
        super().__init__(tests)
        self.claims = claims

    def __iter__(self):
        for number, test in enumerate(self._tests):
            try:
                os.close(os.open(self.claims / str(number), os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            yield test


class Result(unittest.TextTestResult):
    """Knows how long tests take."""

    def startTest(self, test):
        self.begun = time.perf_counter()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.seconds = getattr(self, "seconds", [])
        self.seconds.append((time.perf_counter() - self.begun, test.id()))


def flatten(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from flatten(one)
        else:
            yield one


def run_shared(files, options):
    """In several processes, each of which takes the next test when it is done with one;
    what they print comes when they have ended."""
    command = [sys.executable, __file__]
    command += ["--all"] * options.all + ["--verbose"] * options.verbose
    running = []
    with tempfile.TemporaryDirectory() as claims:
        for number in range(options.jobs):
            environment = dict(os.environ)
            if "FA3_CACHE_DIR" in environment:
                environment["FA3_CACHE_DIR"] += f"/{number}"
            running.append(
                subprocess.Popen(
                    [*command, "--claims", claims, *(one.name for one in files)],
                    env=environment, text=True, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
            )  # fmt: skip
        # Side by side, so that none waits for a reader.
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            printed = list(pool.map(lambda one: one.communicate()[0], running))
    total, failed, slowest = [0, 0, 0], 0, []
    for process, output in zip(running, printed):
        print(output, end="", flush=True)
        failed |= process.returncode
        counts = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.M)
        if not counts:
            failed = 1
        for i, count in enumerate(counts[-1] if counts else ()):
            total[i] += int(count)
        found = re.findall(r"^ *([\d.]+) s, (\S+)$", output, re.M)
        slowest += [(float(seconds), name) for seconds, name in found]
    print("all: {} passed, {} failed, {} skipped".format(*total))
    print_slowest(slowest)
    if not total[0]:
        print("run.py: found no test", file=sys.stderr)
        return 1
    return 1 if failed else 0


def print_slowest(seconds):
    for one, name in sorted(seconds, reverse=True)[:8]:
        print(f"{one:7.1f} s, {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="a skipped test is a failure")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--claims", type=pathlib.Path, help=argparse.SUPPRESS)
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
    if options.jobs > 1:
        return run_shared(files, options)
    sys.path.insert(0, str(HERE))
    files.sort(key=lambda one: one.stem not in SLOW)
    suite = unittest.defaultTestLoader.loadTestsFromNames([one.stem for one in files])
    if options.claims:
        suite = Claimed(flatten(suite), options.claims)
    runner = unittest.TextTestRunner(
        verbosity=2 if options.verbose else 1, resultclass=Result
    )
    result = runner.run(suite)
    reasons = collections.Counter(reason for _, reason in result.skipped)
    for reason, count in reasons.items():
        print(f"skipped {count}: {reason}")
    skipped = len(result.skipped)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    print_slowest(getattr(result, "seconds", []))
    if result.testsRun == 0 and not options.claims:
        print("run.py: found no test", file=sys.stderr)
        return 1
    if options.all and skipped:
        print("run.py: no test may be skipped with --all", file=sys.stderr)
        return 1
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
