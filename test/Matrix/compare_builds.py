#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the kernels of two builds: PTX and manifest, byte for byte.

What is compared are the examples, every configuration of matrix.py and what
every entry of the tuning table is for, each with the table that a build ships.
A change that moves code or renames words shows with it that no kernel has
changed. One line per difference; the exit code is 1 if there is any.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import matrix

ROOT = pathlib.Path(__file__).resolve().parents[2]


def kernels(args):
    """(name, source for the base, source for the new build)"""
    for path in sorted((ROOT / "examples").glob("*.mlir")):
        yield (path.stem, (args.base_examples / path.name).read_text(),
               path.read_text())
    keys = [(*key, None) for key in matrix.configurations()]
    keys += matrix.configurations_of(args.entries)
    for key in dict.fromkeys(
            (*what, known and tuple(known)) for *what, known in keys):
        *what, known = key
        text = matrix.module(*what, known=known)
        yield matrix.name_of(*key), text, text


def compile_one(translate, folder, text):
    """(PTX, manifest), or (None, the first error)."""
    os.makedirs(folder)
    source = os.path.join(folder, "kernel.mlir")
    ptx, manifest = (os.path.join(folder, "kernel" + end)
                     for end in (".ptx", ".json"))
    pathlib.Path(source).write_text(text)
    run = subprocess.run(
        [translate, "kernel.mlir", "--mlir-to-ptx",
         "--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)",
         "-o", "kernel.ptx"],
        cwd=folder, capture_output=True, text=True, timeout=300)
    if run.returncode:
        return None, (re.findall(r"error: .*", run.stderr) or [run.stderr])[0]
    return (pathlib.Path(ptx).read_bytes(), pathlib.Path(manifest).read_bytes())


def compare(args, folder, number, kernel):
    """The name and what differs, if anything."""
    name, *texts = kernel
    base, new = (
        compile_one(os.path.join(build, "fa3-translate"),
                    os.path.join(folder, f"{number}-{which}"), text)
        for which, build, text in zip("ab", (args.base, args.new), texts))
    if base[0] is None or new[0] is None:
        said = ["compiles" if ptx is not None else text
                for ptx, text in (base, new)]
        return name, "" if base == new else " / ".join(said), base == new
    what = [word for word, a, b in zip(("PTX", "manifest"), base, new)
            if a != b]
    return name, " and ".join(what), False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", type=os.path.abspath,
                        help="folder of the base build's tools")
    parser.add_argument("new", type=os.path.abspath,
                        help="folder of the new build's tools")
    parser.add_argument("--base-examples", type=pathlib.Path,
                        default=ROOT / "examples",
                        help="examples in the words of the base build")
    parser.add_argument("--entries", metavar="TABLE",
                        default=ROOT / "lib/Tuning/sm_90a.json")
    parser.add_argument("--filter", default="", help="regular expression")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    chosen = [k for k in kernels(args) if re.search(args.filter, k[0])]
    if not chosen:
        sys.exit(f"no kernel matches '{args.filter}'")
    differences = refused = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, what, is_refused in pool.map(
                lambda item: compare(args, folder, *item), enumerate(chosen)):
            differences += bool(what)
            refused += is_refused
            if what:
                print(f"DIFFERENT {name}: {what}", flush=True)
    print(f"{len(chosen)} kernels, {differences} different, {refused} refused "
          f"by both")
    return differences != 0


if __name__ == "__main__":
    sys.exit(main())
