# SPDX-License-Identifier: Apache-2.0
"""Tables and verdicts as text."""

from __future__ import annotations

from typing import Iterable

from . import minima
from .rows import Row, ratios


# Presets with a line for each family, however few.
IN_LINES = ("decode", "paged", "append", "varlen", "mixed", "backward-varlen")


def _unique(items: Iterable) -> list:
    return list(dict.fromkeys(items))


def _grid(corner: str, columns: list[str], lines: list[list[str]]) -> str:
    """Lines with a name and a text for each column, aligned."""
    cells = [[corner, *columns], *lines]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    text = []
    for line in cells:
        first = line[0].ljust(widths[0])
        rest = [t.rjust(w) for t, w in zip(line[1:], widths[1:])]
        text.append("  ".join([first, *rest]).rstrip())
    return "\n".join(text)


def _entry(row: Row, ratio: float | None) -> str:
    text = f"{row.gbps:.0f} GB/s" if row.gbps else f"{row.tflops:.0f}"
    if ratio is not None:
        text += f" {ratio:.2f}"
    if row.mode == "sustained":
        text += f" {row.clock_mhz:.0f} MHz {row.watts:.0f} W"
    return text


def table(rows: list[Row], columns: str, base: str, title: str) -> str:
    """TFLOP/s and ratio to `base`; kernels by the attribute `columns`."""
    names = _unique(getattr(r, columns) for r in rows)
    found = ratios(rows, base)
    lines = []
    for kernel in _unique(r.kernel for r in rows):
        line = [kernel]
        for name in names:
            mine = [
                r
                for r in rows
                if r.kernel == kernel and getattr(r, columns) == name
            ]
            line.append(
                _entry(mine[0], found.get((mine[0].problem, kernel)))
                if mine
                else "-"
            )
        lines.append(line)
    head = f"{title} (TFLOP/s, ratio to {base})"
    return f"{head}\n{_grid('kernel', list(map(str, names)), lines)}"


def lines(rows: list[Row], base: str, title: str) -> str:
    """A line for each family, and a column for each kernel, with its
    time in microseconds."""
    kernels = _unique(r.kernel for r in rows)
    found = ratios(rows, base)
    text = []
    for family in _unique(r.family for r in rows):
        mine = {r.kernel: r for r in rows if r.family == family}
        line = [family]
        for kernel in kernels:
            row = mine.get(kernel)
            entry = "-"
            if row:
                ratio = found.get((row.problem, kernel))
                entry = f"{1e3 * row.ms:.1f} us {_entry(row, ratio)}"
            line.append(entry)
        text.append(line)
    head = f"{title} (time, TFLOP/s, ratio to {base})"
    return f"{head}\n{_grid('layer', kernels, text)}"


def tables(rows: list[Row], base: str) -> Iterable[str]:
    """One for each family with several lengths; where families have one length
    each, one for all of them, with a line for each if there are many."""
    many = 12
    for key in _unique((r.preset, r.dtype, r.mode) for r in rows):
        preset, dtype, mode = key
        some = [r for r in rows if (r.preset, r.dtype, r.mode) == key]
        lengths = _unique(r.length for r in some)
        families = _unique((r.family, r.length) for r in some)
        are_alone = len(families) == len(_unique(f for f, _ in families))
        if are_alone and (len(families) > many or preset in IN_LINES):
            yield lines(some, base, f"{preset}, {dtype}, {mode}")
            continue
        if len(lengths) == 1:
            title = f"{preset}, {dtype}, {mode}, length {lengths[0]}"
            yield table(some, "family", base, title)
            continue
        for family in _unique(r.family for r in some):
            mine = [r for r in some if r.family == family]
            title = f"{preset}, {family}, {dtype}, {mode}"
            yield table(mine, "length", base, title)


def summary(rows: list[Row], base: str) -> str:
    """Tables, then which minima hold, for all presets of the rows."""
    parts = list(tables(rows, base))
    for preset in _unique(r.preset for r in rows):
        found = minima.verdicts(preset, rows)
        if found is None:
            parts.append(f"minima of {preset}: none known")
            continue
        measured = [v for v in found if v.holds is not None]
        held = sum(bool(v.holds) for v in measured)
        head = (
            f"minima of {preset} on {minima.MINIMA['device']}, "
            f"{minima.MINIMA['mode']}: {held} of {len(measured)} hold, "
            f"{len(found) - len(measured)} not measured"
        )
        parts.append("\n".join([head, *(f"  {v}" for v in measured)]))
    return "\n\n".join(parts)


def progress(row: Row) -> str:
    """One line for a measurement as it comes."""
    text = (
        f"{row.dtype} {row.family} b{row.batch} s{row.length} {row.kernel} "
        f"{row.mode}: {row.ms:.4f} ms, {row.tflops:.0f} TFLOP/s"
    )
    if row.gbps:
        text += f", {row.gbps:.0f} GB/s"
    if row.clock_mhz:
        text += f", {row.clock_mhz:.0f} MHz"
    if row.watts:
        text += f", {row.watts:.0f} W"
    return text + f", error {row.error:.1e}"
