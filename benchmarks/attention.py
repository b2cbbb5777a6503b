#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles, checks and times attention beside other kernels. See README.md."""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
for folder in (HERE, ROOT / "test" / "Device", ROOT / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from fa3_benchmarks import compile_times, plots  # noqa: E402
from fa3_benchmarks import presets, report, rows  # noqa: E402
from fa3_benchmarks.session import Session  # noqa: E402
from fa3_device import arguments  # noqa: E402


def _words(text: str) -> list[str]:
    return text.split(",")


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--preset", type=_words, default=["table"],
        help="of " + ", ".join(presets.PRESETS),
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="print cells only")
    parser.add_argument(
        "--compile-only", action="store_true", help="needs no GPU and no torch"
    )
    parser.add_argument(
        "--compile-times", action="store_true",
        help="time of the compiler and ptxas for the cells, one at a time",
    )  # fmt: skip
    parser.add_argument(
        "--from-csv", metavar="FILE", help="report of an earlier run"
    )
    parser.add_argument(
        "--dynamic", action="store_true",
        help="batch, heads and lengths are not known to the compiler",
    )  # fmt: skip
    cells = parser.add_argument_group("parts of a preset")
    cells.add_argument("--types", type=_words)
    cells.add_argument("--dims", type=_words, help="such as 64,192x128")
    cells.add_argument("--masks", type=_words)
    cells.add_argument("--lengths", type=_numbers)
    cells.add_argument("--modes", type=_words, help="single, burst, sustained")
    cells.add_argument(
        "--variant", action="append", metavar="OPTIONS",
        help="pipeline options of a further kernel",
    )  # fmt: skip
    others = parser.add_argument_group("other kernels")
    others.add_argument(
        "--peers", type=_words, help="of " + ", ".join(presets.ALL_PEERS)
    )
    others.add_argument("--peer", help="Python file with class Reference")
    others.add_argument(
        "--peer-kernels", type=_words, help="its names, default: all that fit"
    )
    others.add_argument(
        "--triton-kernel", help="tutorial 06-fused-attention.py"
    )
    others.add_argument(
        "--slow-lengths", type=_numbers,
        help="at which kernels run that compile for each shape",
    )  # fmt: skip
    timing = parser.add_argument_group("timing")
    timing.add_argument("--iterations", type=int, default=11)
    timing.add_argument(
        "--seconds", type=float, default=2.0, help="of sustained mode"
    )
    arguments.add_tools(parser, out="benchmark-results", timeout=60)
    return parser


def _presets(given) -> list[presets.Preset]:
    chosen = []
    for name in given.preset:
        if name not in presets.PRESETS:
            raise SystemExit(f"error: no preset '{name}'")
        preset = presets.narrow(presets.PRESETS[name](), given)
        if not preset.cells:
            raise SystemExit(f"error: preset '{name}' has no such cells")
        unknown = set(preset.peers) - set(presets.ALL_PEERS)
        if unknown:
            raise SystemExit(f"error: no peer '{sorted(unknown)[0]}'")
        unknown = set(preset.modes) - {"single", "burst", "sustained"}
        if unknown:
            raise SystemExit(f"error: no mode '{sorted(unknown)[0]}'")
        chosen.append(preset)
    return chosen


def _commit() -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
            capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip() or "unknown"
    except OSError:
        return "unknown"


def _circumstances() -> str:
    """A line for the head of a report; needs torch."""
    import torch

    # The process that starts others must not touch the device.
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version",
             "--format=csv,noheader"], capture_output=True, text=True,
        )  # fmt: skip
        device = done.stdout.strip().splitlines()[:1]
    except OSError:
        device = []
    return ", ".join([
        *(device or ["device unknown"]), f"torch {torch.__version__}",
        time.strftime("%Y-%m-%d"), f"commit {_commit()}",
        "command: " + " ".join([os.path.basename(sys.argv[0]), *sys.argv[1:]]),
    ])  # fmt: skip


def _summarize(found: list[rows.Row], base: str, out: pathlib.Path) -> None:
    print()
    print(report.summary(found, base))
    print()
    for line in plots.write(found, out):
        print(line)


def _measure(chosen: list[presets.Preset], given) -> int:
    from fa3_benchmarks import peers

    head = _circumstances()
    print(head)
    out = pathlib.Path(given.out)
    (out / "circumstances.txt").write_text(head + "\n")
    names = {name for preset in chosen for name in preset.peers}
    for line in peers.absent(names, given):
        print(line)
    session = Session(given)
    for preset in chosen:
        begin = len(session.rows)
        session.run(preset)
        mine = session.rows[begin:]
        rows.add_ratios(mine)
        path = out / f"{preset.name}.csv"
        rows.write(path, mine)
        _summarize(mine, preset.base, out)
        print(f"written to {path}")
    for text in session.failures:
        print(f"FAIL {text}")
    print(f"{len(session.rows)} measurements, {len(session.failures)} failures")
    print(head)
    return 1 if session.failures else 0


def main() -> int:
    given = _parser().parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    if given.from_csv:
        found = rows.read(given.from_csv)
        bases = {presets.PRESETS[r.preset]().base for r in found}
        base = bases.pop() if len(bases) == 1 else "cudnn"
        _summarize(found, base, pathlib.Path(given.from_csv).parent)
        return 0
    chosen = _presets(given)
    if given.list:
        for preset in chosen:
            for cell in preset.cells:
                print(preset.name, cell.name, f"{cell.flops / 1e12:.3f} TFLOP")
        return 0
    arguments.prepare(given)
    if given.compile_times:
        return compile_times.run(chosen, given)
    if given.compile_only:
        session = Session(given)
        for preset in chosen:
            for name, kernels in session.compile(preset).items():
                for variant, kernel in kernels.items():
                    tile = f"{kernel.block_m} x {kernel.block_n}"
                    print(f"{name} {variant}: tile {tile}")
        return 1 if session.failures else 0
    return _measure(chosen, given)


if __name__ == "__main__":
    sys.exit(main())
