#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs torch's own tests of attention with fa3 behind scaled_dot_product_attention and
varlen_attn (fa3.torch.activate()).

    torch_tests.py FOLDER --ids 3000 --seed 1 --out results.jsonl

FOLDER is test/ of a clone of github.com/pytorch/pytorch, of the version of torch that is
installed: test_transformers.py and test_varlen_attention.py. All tests on a GPU of the
classes below are drawn from, as many of each function as there are, and run as
flash_attn_tests.py does it. What fails is run again without fa3: what fails then, too,
counts as skipped. A table says what fa3 ran, and what it declined, with reasons. The exit
code is 1 if one failed.

It needs torch, expecttest and a Hopper GPU.
"""

import argparse
import collections
import importlib
import json
import os
import pathlib
import random
import re
import sys
import time
import unittest

from fa3_device import test_processes

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLASSES = {
    "test_varlen_attention": ("TestVarlenAttentionCUDA",),
    "test_transformers": (
        "TestSDPACudaOnlyCUDA", "TestSDPACUDA", "TestSDPAFailureModesCUDA",
        "TestAttnBiasCUDA",
    ),
}  # fmt: skip


def load(folder):
    """Classes of tests by their names."""
    sys.path.insert(0, str(pathlib.Path(folder).resolve()))
    return {
        name: getattr(module, name) for module, names in (
            (importlib.import_module(module), names) for module, names in CLASSES.items()
        ) for name in names
    }  # fmt: skip


def functions_of(classes):
    """Names of tests, (class, method), by that of their function."""
    made = collections.defaultdict(list)
    for name, one in classes.items():
        source = pathlib.Path(sys.modules[one.__module__].__file__).read_text()
        # Behind these, torch's names have parameters, the device, the type.
        known = re.findall(r"def (test_\w+)\(", source)
        for method in unittest.TestLoader().getTestCaseNames(one):
            made[max((n for n in known if method.startswith(n)), key=len)].append((name, method))
    return dict(made)


def draw(functions, count, seed):
    """`count` tests, evenly over functions."""
    generator = random.Random(seed)
    left, made = count, []
    for rest, name in enumerate(sorted(functions, key=lambda n: (len(functions[n]), n))):
        share = min(len(functions[name]), left // (len(functions) - rest))
        left -= share
        made += [(name, *one) for one in generator.sample(functions[name], share)]
    generator.shuffle(made)
    return made


# -----------------------------------------------------------------------------
# A process that runs tests, one a line
# -----------------------------------------------------------------------------


def work(folder, on):
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.path.insert(0, str(ROOT / "python"))
    classes = load(folder)
    import torch

    import fa3

    torch.zeros(1, device="cuda")
    if on:
        fa3.torch.activate()
    print(json.dumps({"ready": True}), file=out, flush=True)
    for line in sys.stdin:
        _, name, method = json.loads(line)
        begin = time.monotonic()
        made = run_one(classes[name](method))
        report = fa3.torch.report(reset=True)
        made |= {
            "ran": report.ran, "gradients": report.gradients,
            "declined": dict(report.declined), "seconds": round(time.monotonic() - begin, 3),
        }  # fmt: skip
        print(json.dumps(made), file=out, flush=True)
        if made["outcome"] == "broken":
            return
        if torch.cuda.memory_reserved() > 3 << 30 or made["outcome"] == "memory":
            torch.cuda.empty_cache()


def run_one(case):
    import torch

    result = unittest.TestResult()
    case.run(result)
    for _, why in result.failures + result.errors:
        # The last line is the exception; the one above it says where.
        text = " ".join(one.strip() for one in why.strip().splitlines()[-12:])[-700:]
        if "out of memory" in why.lower():
            return {"outcome": "memory", "why": text}
        try:
            torch.cuda.synchronize()
        except Exception:
            return {"outcome": "broken", "why": text}
        return {"outcome": "broken" if "CUDA error" in why else "failed", "why": text}
    if result.skipped:
        return {"outcome": "skipped", "why": result.skipped[0][1]}
    if result.unexpectedSuccesses:
        return {"outcome": "failed", "why": "unexpected success"}
    return {"outcome": "passed", "why": ""}


def check_without(options, results):
    """Runs what failed without fa3."""
    failed = [one for one in results if one["outcome"] == "failed"]
    worker = test_processes.Worker(
        [sys.executable, __file__, options.folder, "--work", "off"], options.timeout
    )
    for one in failed[: options.most]:
        name, method = one["id"].split(".")
        made = worker.run((one["function"], name, method))
        if made["outcome"] == "failed":
            one["outcome"], one["why"] = "skipped", f"without fa3: {made['why']}"
    worker.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--ids", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="names of functions, with commas between")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds of a test")
    parser.add_argument("--seconds", type=float, default=1e9,
                        help="begin no test after so many")  # fmt: skip
    parser.add_argument("--most", type=int, default=100,
                        help="run so many of what failed without fa3")  # fmt: skip
    parser.add_argument("--out", help="a file for results, a line of JSON each")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        return work(options.folder, options.work == "on")
    begin = time.monotonic()
    functions = functions_of(load(options.folder))
    if options.only:
        functions = {name: functions[name] for name in options.only.split(",")}
    cases = draw(functions, options.ids, options.seed)
    total = sum(len(one) for one in functions.values())
    print(f"{len(cases)} of {total} tests, seed {options.seed}, {options.processes} processes",
          flush=True)  # fmt: skip
    out = open(options.out, "w") if options.out else None
    command = [sys.executable, __file__, options.folder, "--work", "on"]
    results, left = test_processes.run_all(
        options, lambda case: (f"{case[1]}.{case[2]}", case[0]), cases, command, command, out
    )
    check_without(options, results)
    test_processes.table(results, left, time.monotonic() - begin)
    declined = collections.Counter()
    for one in results:
        declined.update(one.get("declined", {}))
    print(f"fa3 ran {sum(one.get('ran', 0) for one in results)} calls and "
          f"{sum(one.get('gradients', 0) for one in results)} gradients, torch "
          f"{sum(declined.values())}")  # fmt: skip
    for why, count in declined.most_common():
        print(f"{count:8} {why[:150]}")
    return 1 if any(one["outcome"] == "failed" for one in results) else 0


if __name__ == "__main__":
    sys.exit(main())
