# SPDX-License-Identifier: Apache-2.0
"""Time from a module to PTX, and of the assembler, one kernel at a time."""

from __future__ import annotations

import collections
import pathlib
import re
import statistics
import subprocess
import time

from fa3_device import build

from .minima import MINIMA, Verdict


def _timed(command: list[str], timeout: float) -> tuple[float, str]:
    """Seconds, and what went to the error stream; raises SystemExit."""
    start = time.monotonic()
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout
    )
    seconds = time.monotonic() - start
    if done.returncode:
        raise SystemExit(f"error: {' '.join(command)}: {done.stderr.strip()}")
    return seconds, done.stderr


# Lines of the list that are no passes; the last one runs all others.
_NO_PASSES = (
    "root", "Total", "Rest", "Parser", "Output", "{anonymous}::LowerTuned",
)  # fmt: skip


def _passes(text: str) -> dict[str, float]:
    """Seconds of each pass in the list of --mlir-timing."""
    found: dict = collections.defaultdict(float)
    for line in text.splitlines():
        match = re.match(r"\s*([0-9.]+) \(\s*[0-9.]+%\)\s+(\S+)$", line)
        if match and match[2] not in _NO_PASSES:
            found[match[2]] += float(match[1])
    return found


def _line(name: str, seconds: list[float]) -> str:
    return (
        f"{name}: median {statistics.median(seconds):.3f} s, "
        f"largest {max(seconds):.3f} s, {len(seconds)} kernels"
    )


def run(chosen, given) -> int:
    translate = build.find_tool("fa3-translate", given.tools)
    optimizer = build.find_tool("fa3-opt", given.tools)
    ptxas = None if given.jit else build.find_ptxas(given.ptxas)
    folder = pathlib.Path(given.out) / "compile-times"
    folder.mkdir(parents=True, exist_ok=True)
    options = given.pipeline_options
    pipeline = build.PIPELINE + (f"{{{options}}}" if options else "")
    pipeline = f"--pass-pipeline=builtin.module({pipeline})"
    to_ptx, to_cubin = [], []
    passes: dict = collections.defaultdict(float)
    for cell in (cell for preset in chosen for cell in preset.cells):
        source = folder / f"{cell.name}.mlir"
        source.write_text(cell.module(given.dynamic))
        ptx = source.with_suffix(".ptx")
        command = [translate, str(source), pipeline, "--mlir-to-ptx"]
        command += [*(given.translate_option or []), "-o", str(ptx)]
        to_ptx.append(_timed(command, given.compile_timeout)[0])
        command = [optimizer, str(source), pipeline, "-o", "/dev/null"]
        command += ["--mlir-timing", "--mlir-timing-display=list"]
        text = _timed(command, given.compile_timeout)[1]
        for name, seconds in _passes(text).items():
            passes[name] += seconds
        if ptxas:
            command = [ptxas, "-arch=sm_90a", str(ptx), "-o"]
            command.append(str(source.with_suffix(".cubin")))
            to_cubin.append(_timed(command, given.compile_timeout)[0])
    print(_line("module to PTX", to_ptx))
    if to_cubin:
        print(_line("ptxas", to_cubin))
    for name in sorted(passes, key=passes.get, reverse=True)[:3]:
        print(f"pass {name}: {passes[name] / len(to_ptx):.4f} s per kernel")
    for name, seconds in (("ptx", to_ptx), ("ptxas", to_cubin)):
        limit = MINIMA["compile"][f"{name}_seconds"]
        median = statistics.median(seconds) if seconds else None
        print(Verdict(f"median seconds to {name}", median, limit, False))
    return 0
