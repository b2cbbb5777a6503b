#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls the doors of the Python package with random arguments and compares what they
give, in the interpreter, with attention by definition in f64.

    test/Fuzz/doors.py --count 100 --seed 7
    test/Fuzz/doors.py --door serving --only 31

Call number N of a door depends on --seed and N only. A call fails if a result is wrong
or missing, if it ends with an error that does not name what is refused, and if it has
an argument that must be refused (every tenth has one) and nobody says so. What was
refused is counted by its reason. FA3_LIBRARY names libfa3.so.
"""

import argparse
import collections
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(pathlib.Path(__file__).resolve().parent)]

import torch  # noqa: E402

import door_calls  # noqa: E402
import drop_in_calls  # noqa: E402
import fa3  # noqa: E402

DOORS = {**door_calls.DOORS, "flash": drop_in_calls.flash}

#: Errors that name what is refused. A CompileError is none: its call got past the door.
REFUSALS = (fa3.ArgumentError, fa3.UnsupportedError, fa3.TraceError)


def make_call(door, seed, number):
    drawn = random.Random(f"{seed} {door} {number}")
    torch.manual_seed(drawn.getrandbits(31))
    return DOORS[door](drawn)


def compare(made, expected):
    """What is wrong, or nothing."""
    if len(made) != len(expected):
        return f"{len(made)} results, expected {len(expected)}"
    found = [how(one, wanted) for one, (wanted, how) in zip(made, expected)]
    worst = max(found, default=0.0)
    if worst <= 1:
        return ""
    return f"result {found.index(worst)} is off {worst:.3g} times what is allowed"


def reason(error):
    """Without the numbers of a call."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {re.sub(r'-?[0-9.]*[0-9]', 'N', text)[:120]}"


def attempt(call):
    """('right', 'refused' or 'failed', what is to be said)"""
    try:
        made = call.run()
    except REFUSALS as error:
        said = reason(error)
        return ("refused", said) if str(error).strip() else ("failed", f"no reason: {said}")
    except Exception as error:  # whatever a door may raise besides
        return "failed", f"{type(error).__name__}: {str(error)[:500]}"
    if call.spoiled:
        return "failed", f"nobody refused {call.spoiled}"
    wrong = compare(made, call.define())
    return ("failed", wrong) if wrong else ("right", "")


def run(door, seed, numbers, say=print):
    """Counts of results, and of the reasons of refusals."""
    counts, refused = collections.Counter(), collections.Counter()
    for number in numbers:
        call = make_call(door, seed, number)
        result, said = attempt(call)
        counts[result] += 1
        counts["had to be"] += result == "refused" and bool(call.spoiled)
        if result == "refused":
            refused[said] += 1
        elif result == "failed":
            say(f"{door} {number} of seed {seed}: {said}\n  {call.words}")
    return counts, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--door", choices=sorted(DOORS), help="default: all")
    parser.add_argument("--count", type=int, default=100, help="calls of each door")
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="these calls")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = 0
    for door in [options.door] if options.door else DOORS:
        numbers = options.only or range(options.first, options.first + options.count)
        counts, refused = run(door, options.seed, numbers)
        for said, count in refused.most_common():
            print(f"{count:5d}  {said}")
        print(
            f"{door}: tried {len(numbers)}, right {counts['right']}, refused "
            f"{counts['refused']} ({counts['had to be']} that had to be), failed "
            f"{counts['failed']}", flush=True,
        )  # fmt: skip
        # Calls that are all refused show nothing.
        failed += counts["failed"] or (len(numbers) >= 20 and not counts["right"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
