#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the values that the passes of the whole pipeline preserve.

Runs fa3-lower-to-nvvm-pipeline on a program and takes the module before and
after one pass (--pass), or after every pass (--all), into fa3-run. What the
kernel writes must agree with the module before, and with the reference: the
lowering of attention.forward by definition, or the module of --reference.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HEADER = re.compile(
    r"^// -----// IR Dump (Before|After) \S+ \(([\w-]+)\).*//----- //$", re.M)
# From here on there is nothing that fa3-run executes.
LAST = "convert-hopper-to-nvvm"
# Modules before these hold attention.forward, which has no values by itself.
FIRST = ["attention-expand-mods", "attention-to-tile"]


def run(command, **kwargs):
    return subprocess.run(command, capture_output=True, text=True, **kwargs)


def pipelines(args):
    """The whole pipeline, or as much of it as the pass needs."""
    parts = ["tile", "specialize", "pipeline", "layout", "hopper"]
    if not args.quick:
        parts = ["lower-to-nvvm-pipeline"]
    elif args.passes.startswith("attention-"):
        parts = parts[:1]
    elif args.passes.startswith("tile-") and args.passes != "tile-to-hopper":
        parts = parts[:4]
    return [f"--fa3-{part}={args.options}" for part in parts]


def dumps(args):
    """[(When, pass, module text)] of the pipeline on the program."""
    if args.all:
        which = ["--mlir-print-ir-after-all"]
    else:
        which = [f"--mlir-print-ir-before={args.passes}",
                 f"--mlir-print-ir-after={args.passes}"]
    result = run(["fa3-opt", args.program, "--mlir-disable-threading",
                  "--mlir-print-ir-module-scope", "-o", os.devnull,
                  *pipelines(args)] + which)
    parts = HEADER.split(result.stderr)
    # What follows the brace that closes a module are diagnostics.
    modules = [part.partition("\n}\n")[0] + "\n}\n" for part in parts[3::3]]
    found = list(zip(parts[1::3], parts[2::3], modules))
    # A failure of a later pass is for that pass's test to find.
    if result.returncode and (args.all or not found or found[-1][0] != "After"):
        errors = re.findall(r"^.*error: .*$", result.stderr, re.M)
        sys.exit("fa3-opt failed\n" + "\n".join(errors[:4]))
    for number, (_, name, _) in enumerate(found):
        if name == LAST:
            found = found[:number]
            break
    if not found:
        sys.exit(f"the pipeline has no pass '{args.passes}' to compare")
    return found


class Checker:
    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.failed = False

    def write(self, name, text):
        path = os.path.join(self.folder, name + ".mlir")
        with open(path, "w") as file:
            file.write(text)
        return path

    def reference(self):
        if self.args.reference:
            return self.args.reference
        result = run(["fa3-opt", self.args.program, "--attention-expand-mods",
                      "--attention-to-reference"])
        if result.returncode:
            sys.exit(f"the program has no reference\n{result.stderr}")
        return self.write("reference", result.stdout)

    def compare(self, what, module, against, atol, flags):
        for dims in self.args.dims:
            result = run(["fa3-run", "--cpu", module, "--against", against,
                          f"--dims={dims}", f"--atol={atol}"]
                         + self.args.run + flags)
            if result.returncode:
                self.failed = True
                print(f"{what}, {dims}: FAILED\n{result.stdout}"
                      f"{result.stderr[-1500:]}")
            elif not result.stdout:
                self.failed = True
                print(f"{what}, {dims}: nothing was compared")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--pass", dest="passes")
    group.add_argument("--all", action="store_true")
    parser.add_argument("--options", default="", help="of the pipeline")
    parser.add_argument("--dims", action="append", required=True)
    parser.add_argument("--quick", action="store_true",
                        help="for the first dims only, beside the module before "
                             "only, if that has to be the same, and without what "
                             "comes behind the passes on tiles")
    parser.add_argument("--reference", help="module that states the values")
    parser.add_argument("--atol", default="0.02", help="to the reference")
    parser.add_argument("--step", default="0", help="tolerance of one pass")
    parser.add_argument("--run", action="append", default=[],
                        help="further arguments of fa3-run")
    parser.add_argument("--after", action="append", default=[],
                        help="arguments of fa3-run for the module after")
    args = parser.parse_args()
    if args.quick:
        del args.dims[1:]
    is_same = args.step == "0" and not args.after
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(args, folder)
        reference = None
        before = None
        for number, (when, name, text) in enumerate(dumps(args)):
            if when == "After" and name == FIRST[0]:
                continue
            module = checker.write(f"{number}-{when}-{name}", text)
            if when == "Before":
                before = module if name not in FIRST else None
                continue
            is_compared = before and not args.all
            if not (args.quick and is_same and is_compared):
                reference = reference or checker.reference()
                checker.compare(f"{name} and the reference", module, reference,
                                args.atol, args.after)
            if is_compared:
                checker.compare(f"{name} and the module before", module,
                                before, args.step, [])
            print(f"after {name}: {'FAILED' if checker.failed else 'equal'}")
    return checker.failed


if __name__ == "__main__":
    sys.exit(main())
