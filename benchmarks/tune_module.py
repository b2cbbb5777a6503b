#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles a module of any score code, or of plain tile kernels, with one point of
options after the other, checks and times each, and says which is the fastest.

The module runs through fa3-run, so its results are compared: attention with its
definition, kernels with their own text in the interpreter where --check is given. A
point that does not compile, or is wrong, is named and left out. `fa3-tune --measure
MODULE.mlir` starts this.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

_ATTENTION = re.compile(r"^[^/]*\battention\.(forward|backward)\b", re.MULTILINE)

# One option after the other, each beside the best of those before. Words that a
# module has no use for change nothing, and are then no faster.
ROUNDS = (
    ("mode=cta", "mode=static", "mode=dynamic"),
    ("stages=1", "stages=2", "stages=3"),
    ("max-depth=2", "max-depth=3", "max-depth=6"),
    ("store=staged", "store=in-place", "store=direct"),
    ("ping-pong=on",),
    ("order=rows", "order=longest-first"),
)
TILES = tuple(
    f"block-m={m} block-n={n}"
    for m, n in itertools.chain(
        itertools.product((64,), (64, 128)), itertools.product((128,), (64, 96, 128, 160)),
        itertools.product((192,), (48, 64, 80, 96, 112)), itertools.product((256,), (32, 48, 64)),
    )
)  # fmt: skip


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        epilog="What is not listed goes to fa3-run: --dims, --scalar, --lengths, --device.",
    )
    parser.add_argument("module", type=pathlib.Path, help="MLIR text")
    parser.add_argument(
        "--point", action="append", default=[], metavar="OPTIONS",
        help="options of fa3-lower-to-nvvm-pipeline to try, instead of those that are "
        "tried by themselves; may be given more than once",
    )  # fmt: skip
    parser.add_argument("--iterations", type=int, default=20, help="timed runs of a point")
    parser.add_argument(
        "--check", action="store_true",
        help="compare kernels that are no attention with the interpreter, which is slow",
    )  # fmt: skip
    parser.add_argument("--tools", type=pathlib.Path, help="folder of fa3-run")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="all points, as JSON")
    options, options.run = parser.parse_known_args(arguments)
    if not options.module.is_file():
        parser.error(f"there is no file {options.module}")
    return options


def find_tool(options: argparse.Namespace) -> str:
    for folder in (options.tools, ROOT / "bin", ROOT / "build" / "bin"):
        if folder is not None and (folder / "fa3-run").exists():
            return str(folder / "fa3-run")
    return "fa3-run"


class Runner:
    """Times points by fa3-run; `results` has microseconds, or why there are none."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.tool = options, find_tool(options)
        self.is_attention = bool(_ATTENTION.search(options.module.read_text()))
        self.results: dict[str, float | str] = {}

    def command(self, point: str) -> list[str]:
        made = [
            self.tool, str(self.options.module), "--executor=device", "--json",
            "--time=single", f"--iterations={self.options.iterations}", *self.options.run,
        ]  # fmt: skip
        if not self.is_attention and not self.options.check:
            made.append("--no-check")
        if point:
            made.append(f"--pipeline-options={point}")
        return made

    def measure(self, point: str) -> float | None:
        if point not in self.results:
            done = subprocess.run(self.command(point), capture_output=True, text=True)
            self.results[point] = self._read(done)
            said = self.results[point]
            said = f"{said:10.2f} us" if isinstance(said, float) else said
            print(f"{point or 'default':44} {said}", flush=True)
        value = self.results[point]
        return value if isinstance(value, float) else None

    def _read(self, done: subprocess.CompletedProcess[str]) -> float | str:
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not lines:
            said = [line for line in done.stderr.splitlines() if line.strip()]
            errors = [line for line in said if "error: " in line and line[-2:] != ": "]
            why = (errors or said or [f"fa3-run ended with {done.returncode}"])[0]
            return "left out: " + why.split("error: ", 1)[-1]
        return 1e3 * json.loads(lines[-1])["times"][0]["ms"]


def search(runner: Runner) -> str:
    """The fastest point."""
    best, least = "", runner.measure("")
    if runner.options.point:
        rounds = [tuple(runner.options.point)]
    else:
        rounds = [TILES, *ROUNDS] if runner.is_attention else list(ROUNDS)
    for points in rounds:
        base = best
        for point in points:
            whole = f"{base} {point}".strip()
            time = runner.measure(whole)
            # A percent is what two runs of one kernel may differ by.
            if time is not None and (least is None or time < 0.99 * least):
                best, least = whole, time
    return best


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    runner = Runner(options)
    best = search(runner)
    least, default = runner.results[best], runner.results[""]
    if options.out is not None:
        options.out.write_text(json.dumps(runner.results, indent=1) + "\n")
    if not isinstance(least, float):
        print("no point ran: the default was " + str(least), file=sys.stderr)
        return 1
    gain = f", {default / least:.3f} times the default" if isinstance(default, float) else ""
    print(f"fastest: {best or 'the default'}, {least:.2f} us{gain}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
