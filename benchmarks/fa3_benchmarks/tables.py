# SPDX-License-Identifier: Apache-2.0
"""Tuning tables: the best options of each class of problems."""

from __future__ import annotations

import json
import math
from typing import Iterable

from .rows import Row

DEFAULT = "fa3"
# What the cost model has to come within of the best point.
NEAR = 0.95


def _classes(rows: Iterable[Row], dynamic: bool) -> dict[tuple, list[Row]]:
    """Rows by class: (bits, d, dv, mask, length), length 0 if it is not known to
    the compiler."""
    found: dict = {}
    for row in rows:
        if row.preset == "tune":
            length = 0 if dynamic else row.length
            bits = 8 if row.dtype.startswith("f8") else 16
            key = bits, row.d, row.dv, row.mask, length
            found.setdefault(key, []).append(row)
    return found


def _speeds(rows: list[Row]) -> dict[str, float]:
    """TFLOP/s by kernel: the geometric mean over the lengths, for kernels that
    were measured at all of them."""
    lengths = {row.length for row in rows}
    by_kernel: dict = {}
    for row in rows:
        by_kernel.setdefault(row.kernel, {})[row.length] = row.tflops
    return {
        kernel: math.exp(sum(map(math.log, mine.values())) / len(mine))
        for kernel, mine in by_kernel.items()
        if set(mine) == lengths and all(mine.values())
    }


def choose(rows: Iterable[Row], gain: float, dynamic=False) -> list[dict]:
    """An entry for every class: the fastest point, or no option unless that
    gains over the default."""
    entries = []
    for (bits, d, dv, mask, length), mine in _classes(rows, dynamic).items():
        speeds = _speeds(mine)
        if DEFAULT not in speeds:
            continue
        best = max(speeds, key=speeds.get)
        if speeds[best] < gain * speeds[DEFAULT]:
            best = DEFAULT
        entries.append({
            "bits": bits, "d": d, "dv": dv, "mask": mask, "length": length,
            "options": "" if best == DEFAULT else best,
            "tflops": round(speeds[best], 1),
            "default": round(speeds[DEFAULT], 1),
        })  # fmt: skip
    return entries


def report(rows: Iterable[Row], entries: list[dict], dynamic=False) -> str:
    """A line per class, and how good choices without a table are."""
    lines, near, total = [], 0, 0
    by_class = {_key(e): e for e in entries}
    for key, mine in _classes(rows, dynamic).items():
        key += (0,)
        if key not in by_class:
            continue
        entry, speeds = by_class[key], _speeds(mine)
        fastest = max(speeds.values())
        total += 1
        near += speeds[DEFAULT] >= NEAR * fastest
        length = entry["length"] or "any"
        lines.append(
            f"d {_dims(entry)} {entry['mask']} {length}: "
            f"{entry['options'] or 'no option'}: {entry['tflops']:.0f}, "
            f"default {entry['default']:.0f} TFLOP/s, "
            f"{len(speeds)} points from {min(speeds.values()):.0f} to "
            f"{fastest:.0f}"
        )
    lines.append(
        f"without a table within {100 - 100 * NEAR:.0f} % of the best point: "
        f"{near} of {total}"
    )
    return "\n".join(lines)


def _dims(entry: dict) -> str:
    d, dv = entry["d"], entry["dv"]
    return f"{d}" if d == dv else f"{d}x{dv}"


def _key(entry: dict) -> tuple:
    names = ("bits", "d", "dv", "mask", "length")
    return *(entry[n] for n in names), entry.get("below", 0)


def merge(kept: list[dict], entries: list[dict]) -> list[dict]:
    """Entries, and those of `kept` for other classes."""
    mine = {_key(entry) for entry in entries}
    return [e for e in kept if _key(e) not in mine] + entries


def read(path) -> list[dict]:
    with open(path) as file:
        return json.load(file)["entries"]


def write(path, entries: list[dict], measured: str) -> None:
    """One line per entry, so that differences can be read."""
    head = {"schema": 1, "device": "sm_90a", "measured": measured}
    text = "{\n"
    for name, value in head.items():
        text += f"  {json.dumps(name)}: {json.dumps(value)},\n"
    lines = ",\n".join("    " + json.dumps(entry) for entry in entries)
    text += '  "entries": [' + (f"\n{lines}\n  " if lines else "") + "]\n}\n"
    with open(path, "w") as file:
        file.write(text)
