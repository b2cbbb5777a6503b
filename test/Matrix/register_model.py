#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the register model is right, in both directions.

For each configuration the tile that the pipeline chooses without a tuning table
must go through ptxas without a spill, or a fitted constant is too small. The
next wider block of keys must not: if it does, a constant is too careful, and the
kernel slower than it could be. Blocks that end where wider ones bring nothing,
or where shared memory has no room for two stages of wider ones, say nothing
about registers. What is known to be too careful is listed in
register_model_careful.txt; a line there that no longer holds is an error, too.
lib/Machine/RegisterModel.cpp has the constants.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import matrix

CAREFUL = pathlib.Path(__file__).with_name("register_model_careful.txt")
# What fa3-tune --explain says of a forward.
TILE = re.compile(r"^  tile: (\d+) rows x (\d+) keys", re.MULTILINE)
ROOM = re.compile(r"^  a block has steps of (\d+) keys, memory for (-?\d+), "
                  r"and gains by (\d+) at most", re.MULTILINE)


def configurations():
    """Of the matrix, one type of each width: registers do not tell them apart."""
    for dim, mask, element in matrix.configurations():
        if mask.startswith(matrix.BACKWARD):
            continue  # has tiles of its own
        if element in ("f16", "f8E4M3FN", matrix.TWO_TERMS):
            yield dim, mask, element


def read_careful():
    lines = CAREFUL.read_text().splitlines()
    return {line.strip() for line in lines
            if line.strip() and not line.startswith("#")}


def get_inside(text, start):
    """What stands between `start` and its closing parenthesis, on one line.
    Warnings of the run may stand behind it."""
    rest = text[text.index(start) + len(start):]
    depth = 1
    for end, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return " ".join(rest[:end].split())
    sys.exit(f"no end of '{start}': {text[:300]}")


class Runner:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.unchecked = self.get_unchecked_pipeline()

    def run(self, command):
        return subprocess.run(command, capture_output=True, text=True,
                              timeout=self.args.timeout)

    def get_plan(self, source):
        """Rows and keys of the tile that is chosen; by how many keys a block is
        wider, for how many there is memory, and how many bring anything."""
        run = self.run([self.args.tune, "--explain", "--tuning-table=none",
                        source])
        tile, room = TILE.search(run.stdout), ROOM.search(run.stdout)
        if not tile or not room:
            sys.exit(f"{source} has no plan: {run.stderr[:300]}")
        return [*map(int, tile.groups())], [*map(int, room.groups())]

    def get_unchecked_pipeline(self):
        """The passes of fa3-pipeline, with every tile let through: what fits is
        asked of ptxas, not of the model."""
        run = self.run([self.args.opt, os.devnull, "--dump-pass-pipeline",
                        "--pass-pipeline=builtin.module(fa3-pipeline)"])
        passes = get_inside(run.stderr, "builtin.module(")
        passes, count = re.subn(r"(tile-check-registers\{[^}]*?)(?<!-)registers=0",
                                r"\1registers=255", passes)
        if count != 1:
            sys.exit("fa3-pipeline has no tile-check-registers: " + passes)
        return passes

    def compile(self, source, options, checked=True):
        """'fits', 'spills', 'registers' or 'memory'; and the message."""
        pipeline = ("builtin.module(fa3-lower-to-nvvm-pipeline"
                    "{tuning-table=none %s})" % options)
        if not checked:
            given = "{%s}" % options
            pipeline = (f"builtin.module(fa3-tile{given},fa3-specialize{given},"
                        f"{self.unchecked},fa3-layout{given},fa3-ptx{given})")
        run = self.run([self.args.translate, source,
                        f"--pass-pipeline={pipeline}", "--mlir-to-cubin",
                        "--ptxas-strict", "-o", source + ".cubin"])
        if run.returncode == 0:
            return "fits", ""
        message = next(iter(re.findall(r"error: (.*)", run.stderr)),
                       run.stderr[-200:])
        if "registers per thread" in message:
            return "registers", message
        if "shared memory" in message or "smem" in message:
            return "memory", message
        if "spill stores" in message or "insufficient register" in message:
            return "spills", message
        sys.exit(f"{source} [{options}] does not compile: {message}")

    def check(self, key):
        """(name, tile, verdict of the tile, of the next one, message)"""
        name = matrix.name_of(*key)
        source = os.path.join(self.folder, name + ".mlir")
        with open(source, "w") as file:
            file.write(matrix.module(*key))
        (rows, keys), (step, in_memory, useful) = self.get_plan(source)
        own, message = self.compile(source, "")
        if own != "fits" or keys + step > useful:
            return name, (rows, keys), own, "width", message
        if keys + step > in_memory:
            return name, (rows, keys), own, "memory", message
        wider, _ = self.compile(source, f"block-m={rows} block-n={keys + step}",
                                checked=False)
        return name, (rows, keys), own, wider, message


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--translate", default="fa3-translate")
    parser.add_argument("--opt", default="fa3-opt")
    parser.add_argument("--tune", default="fa3-tune")
    parser.add_argument("--filter", default="", help="regular expression")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    keys = [key for key in configurations()
            if re.search(args.filter, matrix.name_of(*key))]
    if not keys:
        sys.exit(f"no configuration matches '{args.filter}'")
    known = read_careful()
    count = collections.Counter()
    failed = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runner = Runner(args, folder)
        for name, tile, own, wider, message in pool.map(runner.check, keys):
            error = ""
            if own != "fits":
                error = f"a constant is too small: {message}"
            elif wider == "fits" and name not in known:
                error = "a constant is too careful: the next wider block fits"
            elif wider != "fits" and name in known:
                error = f"{CAREFUL.name} says that a wider block fits"
            count[wider] += 1
            failed += bool(error)
            if error or args.verbose:
                print(f"{'FAIL' if error else 'pass'} {name} "
                      f"{tile[0]} x {tile[1]}, next: {wider}; {error}"
                      .rstrip("; "), flush=True)
    print(f"{len(keys)} tiles, {failed} wrong; the next wider block: "
          f"{count['spills']} spill, {count['registers']} refused, "
          f"{count['memory']} without memory, {count['width']} not wanted, "
          f"{count['fits']} fit and are listed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
