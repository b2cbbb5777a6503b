# SPDX-License-Identifier: Apache-2.0
"""Rows: measurements as they lie in CSV files."""

from __future__ import annotations

import csv
import dataclasses
from typing import Iterable


@dataclasses.dataclass
class Row:
    """One measurement of one kernel. Numbers that were not taken are 0."""

    preset: str
    family: str
    d: int
    dv: int
    mask: str
    length: int
    batch: int
    heads: int
    key_heads: int
    dtype: str
    mode: str
    kernel: str
    options: str = ""  # of the pipeline
    block_m: int = 0
    block_n: int = 0
    ms: float = 0.0
    low: float = 0.0
    high: float = 0.0
    tflops: float = 0.0
    clock_mhz: float = 0.0
    watts: float = 0.0
    of_cudnn: float = 0.0  # ratio of throughputs
    error: float = 0.0  # relative, against the oracle
    gbps: float = 0.0  # of keys and values, where queries are few

    @property
    def problem(self) -> tuple:
        """What rows must share to be compared."""
        return (
            self.preset, self.dtype, self.family, self.length, self.batch,
            self.heads, self.key_heads, self.mode,
        )  # fmt: skip


def row(preset: str, cell, mode: str, kernel: str, time, **more) -> Row:
    """The row of a timing.Time."""
    return Row(
        preset=preset, family=cell.family, d=cell.d, dv=cell.dv,
        mask=cell.mask_name, length=cell.length, batch=cell.batch,
        heads=cell.heads, key_heads=cell.key_heads, dtype=cell.type,
        mode=mode, kernel=kernel, ms=time.ms, low=time.low, high=time.high,
        tflops=time.tflops(cell.flops), clock_mhz=time.mhz,
        gbps=getattr(cell, "bytes", 0) / time.ms / 1e6, **more,
    )  # fmt: skip


def ratios(rows: Iterable[Row], base: str) -> dict[tuple[tuple, str], float]:
    """Throughput over that of the kernel `base`, by problem and kernel."""
    rows = list(rows)
    bases = {r.problem: r.tflops for r in rows if r.kernel == base}
    return {
        (r.problem, r.kernel): r.tflops / bases[r.problem]
        for r in rows
        if bases.get(r.problem)
    }


def add_ratios(rows: Iterable[Row]) -> None:
    rows = list(rows)
    found = ratios(rows, "cudnn")
    for r in rows:
        r.of_cudnn = found.get((r.problem, r.kernel), 0.0)


_PLACES = {
    "ms": 5, "low": 5, "high": 5, "tflops": 2, "clock_mhz": 0, "watts": 0,
    "of_cudnn": 4, "gbps": 0,
}  # fmt: skip


def _text(name: str, value) -> str:
    if isinstance(value, float):
        if not value:
            return ""
        if name in _PLACES:
            return f"{value:.{_PLACES[name]}f}"
        return f"{value:.3g}"
    return str(value)


def write(path, rows: Iterable[Row]) -> None:
    names = [field.name for field in dataclasses.fields(Row)]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for r in rows:
            writer.writerow([_text(n, getattr(r, n)) for n in names])


def read_lines(path, columns: Iterable[str] = ()) -> list[dict[str, str]]:
    """The lines of a file with these columns; raises SystemExit."""
    try:
        with open(path, newline="") as file:
            reader = csv.DictReader(file)
            lines = list(reader)
    except OSError as error:
        raise SystemExit(f"error: {path}: {error.strerror}") from None
    missing = [c for c in columns if c not in (reader.fieldnames or ())]
    if missing:
        raise SystemExit(f"error: {path}: has no column '{missing[0]}'")
    return lines


def read(path) -> list[Row]:
    """The rows of a file; its ratios are computed again."""
    kinds = {"str": str, "int": int, "float": float}
    fields = [(f.name, kinds[f.type]) for f in dataclasses.fields(Row)]
    rows = [
        Row(**{name: kind(line[name] or 0) if kind is not str else line[name]
               for name, kind in fields if name in line})
        for line in read_lines(path, (n for n, _ in fields if n != "gbps"))
    ]  # fmt: skip
    add_ratios(rows)
    return rows
