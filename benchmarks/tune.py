#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the points that fa3-tune proposes and writes a tuning table.

Every point is compiled for the extents of its cell, checked against fp32 and
timed as in attention.py. With --dynamic extents are unknown to the compiler and
a point serves all lengths of its family. Points that spill or whose products are
serialized are left out, if there is a ptxas. `fa3-tune --measure` starts this.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
for folder in (HERE, ROOT / "test" / "Device", ROOT / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from fa3_benchmarks import presets, rows, tables  # noqa: E402
from fa3_benchmarks.session import Session  # noqa: E402
from fa3_device import arguments, build, features  # noqa: E402

# What a measurement itself is made with.
PLAIN = "tuning-table=none"


def _words(text: str) -> list[str]:
    return text.split(",")


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--type", default="f16", choices=("f16", "bf16", "f8E4M3FN", "f8E5M2", "i8")
    )
    parser.add_argument(
        "--point", action="append", default=[], metavar="OPTIONS",
        help="pipeline options of a further point of all cells",
    )  # fmt: skip
    parser.add_argument(
        "--d", type=_words, default=["64", "128", "256"],
        help="head dims, such as 64,192x128",
    )  # fmt: skip
    parser.add_argument("--masks", type=_words, default=list(presets.PLAIN))
    parser.add_argument(
        "--lengths", type=_numbers, default=list(presets.LENGTHS)
    )
    parser.add_argument("--count", type=int, default=10, help="points per cell")
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument(
        "--ranges", type=int, default=3, metavar="N",
        help="kernels of a class of unknown lengths, each for a range of them",
    )  # fmt: skip
    parser.add_argument(
        "--table", default="sm_90a.json", help="file to write, below --out"
    )
    parser.add_argument(
        "--merge", metavar="FILE",
        help="table whose entries for other classes are kept",
    )  # fmt: skip
    parser.add_argument(
        "--gain", type=float, default=1.01,
        help="over the default, below which the default is kept",
    )  # fmt: skip
    parser.add_argument(
        "--budget", type=float, default=240, metavar="S",
        help="families that are not begun by then are left out",
    )  # fmt: skip
    parser.add_argument("--iterations", type=int, default=7)
    parser.add_argument(
        "--compile-only", action="store_true", help="needs no GPU and no torch"
    )
    parser.add_argument(
        "--from-csv", metavar="FILE", help="table of an earlier run's rows"
    )
    arguments.add_tools(parser, out="benchmark-results", timeout=60)
    # What measure.py asks for peers, which there are none of.
    parser.set_defaults(
        seconds=0, peer=None, peer_kernels=None, triton_kernel=None
    )
    return parser


def _points(given) -> list[dict]:
    command = [build.find_tool("fa3-tune", given.tools), "--points"]
    command += [f"--bits={8 if given.type in features.EIGHT_BITS else 16}"]
    command += [f"--{name}={','.join(map(str, values))}" for name, values in
                (("d", given.d), ("masks", given.masks),
                 ("lengths", given.lengths))]  # fmt: skip
    command += [f"--count={given.count}", f"--hidden={presets.HIDDEN}"]
    command += [f"--tokens={presets.TOKENS}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr.strip() or "error: fa3-tune failed")
    return json.loads(done.stdout)


def _family(problem: dict) -> tuple:
    return tuple(problem[name] for name in ("d", "dv", "mask"))


def _preset(given) -> presets.Preset:
    """Cells with the points of each; the first one, without options, is what
    the passes choose."""
    cells, by_cell = [], {}
    found = _points(given)
    if given.dynamic:
        # A kernel serves all lengths: the points are those of the longest, and
        # what is the default at others.
        points: dict = {}
        for problem in sorted(found, key=lambda p: -p["length"]):
            known = points.setdefault(_family(problem), [])
            new = problem["points"] if not known else problem["points"][:1]
            taken = {point["options"] for point in known}
            known += [
                point for point in new
                if point["options"] not in taken
            ]
        for problem in found:
            problem["points"] = points[_family(problem)]
    for problem in found:
        cell = presets.cell(
            given.type, problem["d"], problem["mask"], problem["length"],
            dv=problem["dv"], mask=presets.CLASSES[problem["mask"]],
        )  # fmt: skip
        options = [point["options"] for point in problem["points"]]
        options += given.point
        cells.append(cell)
        by_cell[cell.name] = {"fa3": "", **{o: o for o in options[1:]}}
    return presets.Preset(
        "tune", cells, peers=(), base="fa3", by_cell=by_cell
    )


def _measure(session: Session, preset: presets.Preset, given) -> None:
    start = time.monotonic()
    kernels = session.compile(preset)
    families: dict = {}
    for cell in preset.cells:
        families.setdefault(cell.family, []).append(cell)
    for name, cells in families.items():
        if time.monotonic() - start > given.budget:
            session.fail(f"{name}: left out, {given.budget:.0f} s are over")
            continue
        part = dataclasses.replace(preset, cells=cells)
        session.measure(part, kernels)
    print(f"compiled and measured in {time.monotonic() - start:.0f} s")


def _circumstances() -> str:
    done = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version",
         "--format=csv,noheader"], capture_output=True, text=True,
    )  # fmt: skip
    device = done.stdout.strip().splitlines()[:1]
    return ", ".join([
        *(device or ["device unknown"]), "mode single",
        time.strftime("%Y-%m-%d"),
        "fa3-tune " + " ".join(["--measure", *sys.argv[1:]]),
    ])  # fmt: skip


def main() -> int:
    given = _parser().parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    arguments.prepare(given)
    given.pipeline_options = f"{PLAIN} {given.pipeline_options}".strip()
    if not given.jit and build.find_ptxas(given.ptxas):
        given.translate_option = [
            *(given.translate_option or []), "--ptxas-strict",
        ]  # fmt: skip
    out = pathlib.Path(given.out)
    session = Session(given)
    if given.from_csv:
        session.rows = rows.read(given.from_csv)
        measured = f"rows of {pathlib.Path(given.from_csv).name}"
    else:
        preset = _preset(given)
        if given.compile_only:
            session.compile(preset)
            return 1 if session.failures else 0
        measured = _circumstances()
        _measure(session, preset, given)
        rows.write(out / "tune.csv", session.rows)
        print(f"written to {out / 'tune.csv'}")
    entries = tables.choose(
        session.rows, given.gain, given.dynamic, given.ranges
    )
    print(tables.report(session.rows, entries, given.dynamic))
    kept = tables.read(given.merge) if given.merge else []
    path = out / given.table
    tables.write(path, tables.merge(kept, entries), measured)
    print(f"written to {path}: {len(entries)} entries")
    for text in session.failures:
        print(f"FAIL {text}")
    return 1 if session.failures else 0


if __name__ == "__main__":
    sys.exit(main())
