# SPDX-License-Identifier: Apache-2.0
"""Tuning tables: the best options of each class of problems."""

from __future__ import annotations

import itertools
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


def _mean(numbers: Iterable[float]) -> float:
    """The geometric one."""
    numbers = list(numbers)
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def _by_length(rows: list[Row]) -> dict[str, dict[int, float]]:
    """TFLOP/s by kernel and length, of kernels that were measured at all
    lengths."""
    lengths = {row.length for row in rows}
    by_kernel: dict = {}
    for row in rows:
        by_kernel.setdefault(row.kernel, {})[row.length] = row.tflops
    return {
        kernel: mine
        for kernel, mine in by_kernel.items()
        if set(mine) == lengths and all(mine.values())
    }


def _speeds(rows: list[Row]) -> dict[str, float]:
    """TFLOP/s by kernel: the geometric mean over the lengths."""
    return {k: _mean(mine.values()) for k, mine in _by_length(rows).items()}


def _fastest(found: dict, lengths: tuple, gain: float) -> str:
    """The kernel that is fastest at some lengths, the default unless that
    gains over it."""
    speeds = {k: _mean(mine[n] for n in lengths) for k, mine in found.items()}
    best = max(speeds, key=speeds.get)
    return best if speeds[best] >= gain * speeds[DEFAULT] else DEFAULT


def _split(found: dict, gain: float, most: int) -> list[tuple[tuple, str]]:
    """At most so many ranges of lengths with the kernel of each. A further
    range has to gain, too, in the mean over all lengths."""
    lengths = sorted(found[DEFAULT])
    chosen, reached = [], 0.0
    for count in range(1, min(most, len(lengths)) + 1):
        options = []
        for cuts in itertools.combinations(range(1, len(lengths)), count - 1):
            ends = (0, *cuts, len(lengths))
            parts = [tuple(lengths[a:b]) for a, b in itertools.pairwise(ends)]
            ranges = [(part, _fastest(found, part, gain)) for part in parts]
            speed = _mean(
                found[kernel][n] for part, kernel in ranges for n in part
            )
            options.append((speed, ranges))
        speed, ranges = max(options, key=lambda option: option[0])
        if speed >= gain * reached:
            chosen, reached = ranges, speed
    # Neighbors may have the same kernel.
    joined: list = []
    for part, kernel in chosen:
        if joined and joined[-1][1] == kernel:
            part = joined.pop()[0] + part
        joined.append((part, kernel))
    return joined


def choose(
    rows: Iterable[Row], gain: float, dynamic=False, ranges=1
) -> list[dict]:
    """An entry for every class: the fastest point, or no option unless that
    gains over the default. Where the length is not known, up to `ranges`
    entries, all but the last one for fewer keys than `below`."""
    entries = []
    for (bits, d, dv, mask, length), mine in _classes(rows, dynamic).items():
        found = _by_length(mine)
        if DEFAULT not in found:
            continue
        parts = _split(found, gain, ranges if dynamic else 1)
        for number, (lengths, kernel) in enumerate(parts):
            below = {}
            if number + 1 < len(parts):
                # Where numbers of keys are rounded to one of two lengths.
                following = parts[number + 1][0][0]
                below = {"below": round(math.sqrt(lengths[-1] * following))}
            entries.append({
                "bits": bits, "d": d, "dv": dv, "mask": mask, "length": length,
                **below, "options": "" if kernel == DEFAULT else kernel,
                "tflops": round(_mean(found[kernel][n] for n in lengths), 1),
                "default": round(_mean(found[DEFAULT][n] for n in lengths), 1),
            })  # fmt: skip
    return entries


def report(rows: Iterable[Row], entries: list[dict], dynamic=False) -> str:
    """A line per class, and how good choices without a table are."""
    lines, near, total = [], 0, 0
    for key, mine in _classes(rows, dynamic).items():
        of_class = [e for e in entries if _class(e) == key]
        if not of_class:
            continue
        speeds = _speeds(mine)
        fastest = max(speeds.values())
        total += 1
        near += speeds[DEFAULT] >= NEAR * fastest
        for entry in of_class:
            length = entry["length"] or "any"
            if entry.get("below"):
                length = f"below {entry['below']}"
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


def _class(entry: dict) -> tuple:
    return tuple(entry[n] for n in ("bits", "d", "dv", "mask", "length"))


def merge(kept: list[dict], entries: list[dict]) -> list[dict]:
    """Entries, and those of `kept` for other classes."""
    mine = {_class(entry) for entry in entries}
    return [e for e in kept if _class(e) not in mine] + entries


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
