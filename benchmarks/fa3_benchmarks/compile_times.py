# SPDX-License-Identifier: Apache-2.0
"""Time from a module to PTX, and of the assembler, one kernel at a time."""

from __future__ import annotations

import collections
import csv
import pathlib
import re
import resource
import statistics
import subprocess
import time

from fa3_device import build

from .minima import MINIMA, Verdict


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _timed(command: list[str], timeout: float) -> tuple[float, float, str]:
    """Seconds, seconds of a core, and what went to the error stream; raises
    SystemExit."""
    start, used = time.monotonic(), _processor_seconds()
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout
    )
    seconds = time.monotonic() - start
    if done.returncode:
        raise SystemExit(f"error: {' '.join(command)}: {done.stderr.strip()}")
    return seconds, _processor_seconds() - used, done.stderr


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


def _join(*options: str | None) -> str:
    text = " ".join(option for option in options if option)
    return f"{{{text}}}" if text else ""


def run(chosen, given) -> int:
    """Every kernel of the presets' cells; a row of `compile-times.csv` each."""
    translate = build.find_tool("fa3-translate", given.tools)
    optimizer = build.find_tool("fa3-opt", given.tools)
    ptxas = None if given.jit else build.find_ptxas(given.ptxas)
    folder = pathlib.Path(given.out) / "compile-times"
    folder.mkdir(parents=True, exist_ok=True)
    to_ptx, of_core, to_cubin = [], [], []
    passes: dict = collections.defaultdict(float)
    rows = []
    kernels = [
        (preset, cell, variant, options)
        for preset in chosen
        for cell in preset.cells
        for variant, options in preset.variants_of(cell).items()
    ]
    for preset, cell, variant, options in kernels:
        source = folder / f"{cell.name}-{variant.replace(' ', '-')}.mlir"
        source.write_text(preset.module_of(cell, variant, given.dynamic))
        ptx = source.with_suffix(".ptx")
        pipeline = build.PIPELINE + _join(options, given.pipeline_options)
        pipeline = f"--pass-pipeline=builtin.module({pipeline})"
        command = [translate, str(source), pipeline, "--mlir-to-ptx"]
        command += [*(given.translate_option or []), "-o", str(ptx)]
        seconds, core, _ = _timed(command, given.compile_timeout)
        to_ptx.append(seconds)
        of_core.append(core)
        rows.append(
            [preset.name, cell.name, variant, f"{seconds:.3f}", f"{core:.3f}"]
        )
        command = [optimizer, str(source), pipeline, "-o", "/dev/null"]
        command += ["--mlir-timing", "--mlir-timing-display=list"]
        text = _timed(command, given.compile_timeout)[2]
        for name, seconds in _passes(text).items():
            passes[name] += seconds
        if ptxas:
            command = [ptxas, "-arch=sm_90a", str(ptx), "-o"]
            command.append(str(source.with_suffix(".cubin")))
            seconds = _timed(command, given.compile_timeout)[0]
            to_cubin.append(seconds)
            rows[-1].append(f"{seconds:.3f}")
    with open(folder / "compile-times.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        header = ["preset", "cell", "kernel", "ptx_seconds", "core_seconds"]
        writer.writerow(header + ["ptxas_seconds"] * bool(ptxas))
        writer.writerows(rows)
    print(_line("module to PTX", to_ptx))
    print(_line("module to PTX, of one core", of_core))
    if to_cubin:
        print(_line("ptxas", to_cubin))
    for name in sorted(passes, key=passes.get, reverse=True)[:3]:
        print(f"pass {name}: {passes[name] / len(to_ptx):.4f} s per kernel")
    cells = [cell for _, cell, _, _ in kernels]
    gradients = all(getattr(cell, "gradient", False) for cell in cells)
    limits = MINIMA["compile"]["gradients" if gradients else "kernels"]
    for name, seconds in (("ptx", to_ptx), ("ptxas", to_cubin)):
        limit = limits[f"{name}_seconds"]
        median = statistics.median(seconds) if seconds else None
        print(Verdict(f"median seconds to {name}", median, limit, False))
    return 0
