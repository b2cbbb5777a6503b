# SPDX-License-Identifier: Apache-2.0
"""Minima: which of them the rows of a preset hold."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Callable, Iterator, Optional

from . import cells, presets
from .rows import Row

PATH = pathlib.Path(__file__).resolve().parents[1] / "minima.json"
MINIMA: dict = json.loads(PATH.read_text())
OURS = "fa3"


@dataclasses.dataclass
class Verdict:
    """`value` is None where nothing was measured."""

    what: str
    value: Optional[float]
    limit: float
    at_least: bool = True
    note: str = ""

    @property
    def holds(self) -> Optional[bool]:
        if self.value is None:
            return None
        if self.at_least:
            return self.value >= self.limit
        return self.value <= self.limit

    def __str__(self) -> str:
        if self.value is None:
            return f"not measured: {self.what}{self.note}"
        word = "holds" if self.holds else "MISSED"
        sign = ">=" if self.at_least else "<="
        return (
            f"{word}: {self.what} {self.value:.3f} {sign} {self.limit:.2f}"
            f"{self.note}"
        )


class _Rows:
    """Rows in the mode of the minima, by what is asked for."""

    def __init__(self, rows: list[Row]):
        self._rows = [r for r in rows if r.mode == MINIMA["mode"]]

    def find(self, family: str, kernel: str = OURS, length: int = 0,
             dtype: str = "") -> Optional[Row]:  # fmt: skip
        for r in self._rows:
            if (
                r.family == family
                and r.kernel == kernel
                and (not length or r.length == length)
                and (not dtype or r.dtype == dtype)
            ):
                return r
        return None

    def ours(self) -> list[Row]:
        return [r for r in self._rows if r.kernel == OURS]


def _over(a: Optional[Row], b: Optional[Row], name: str) -> Optional[float]:
    """Quotient of an attribute, None if a row is missing."""
    if a is None or b is None or not getattr(b, name):
        return None
    return getattr(a, name) / getattr(b, name)


def _table(rows: _Rows) -> Iterator[Verdict]:
    table = MINIMA["table"]
    aims = []
    for family, limits in table["ratio_to_cudnn"].items():
        for length, limit in zip(table["lengths"], limits):
            ours = rows.find(family, length=length)
            cudnn = rows.find(family, "cudnn", length)
            ratio = _over(ours, cudnn, "tflops")
            note = ""
            if ratio is not None:
                aim = limit * table["aim_over_minimum"]
                aims.append(ratio >= aim)
                note = f", aim {aim:.2f} {'reached' if aims[-1] else 'not yet'}"
            yield Verdict(
                f"{family} {length} over cuDNN", ratio, limit, note=note
            )
    if aims:
        yield Verdict(
            "share of cells at the aim",
            sum(aims) / len(aims),
            table["share_of_cells_at_aim"],
            note=f" ({sum(aims)} of {len(aims)} measured)",
        )
    for family, reference in table["ratio_to_reference"].items():
        kernel = reference["kernel"]
        for length in table["lengths"]:
            ours = rows.find(family, length=length)
            theirs = rows.find(family, kernel, length)
            ratio = _over(ours, theirs, "tflops")
            yield Verdict(
                f"{family} {length} over {kernel}", ratio, reference["minimum"]
            )


def _bf16(rows: _Rows) -> Iterator[Verdict]:
    for ours in rows.ours():
        if ours.dtype != "bf16":
            continue
        half = rows.find(ours.family, length=ours.length, dtype="f16")
        yield Verdict(
            f"{ours.family} {ours.length} bf16 over f16",
            _over(ours, half, "tflops"),
            MINIMA["bf16"]["ratio_to_f16"],
        )


def _fp8(rows: _Rows) -> Iterator[Verdict]:
    limits = MINIMA["fp8"]
    for family, minima in limits["tflops"].items():
        for length, limit in zip(limits["lengths"], minima):
            ours = rows.find(family, length=length)
            yield Verdict(
                f"{family} {length} 8-bit TFLOP/s",
                ours.tflops if ours else None,
                limit,
            )


def _gqa(rows: _Rows) -> Iterator[Verdict]:
    length = MINIMA["gqa"]["length"]
    ours = rows.find("d128 causal", length=length)
    cudnn = rows.find("d128 causal", "cudnn", length=length)
    limit = MINIMA["gqa"]["ratio_to_cudnn"]
    yield Verdict(f"GQA {length} over cuDNN", _over(ours, cudnn, "tflops"), limit)


def _touched(row: Row, mask) -> int:
    return cells.touched_scores(mask, row.length, row.block_m, row.block_n)


def _window(rows: _Rows) -> Iterator[Verdict]:
    limit = MINIMA["window"]["time_over_share_of_tiles"]
    for name, (mask, base_name) in presets.WINDOWS.items():
        ours = rows.find(f"d128 {name}")
        base = rows.find(f"d128 {base_name}")
        share = _over(ours, base, "ms")
        note = ""
        if share is not None and ours.block_m and base.block_m:
            tiles = _touched(ours, mask)
            tiles /= _touched(base, presets.PLAIN[base_name])
            note = (
                f": {ours.ms:.4f} ms, {share:.4f} of {base_name}; "
                f"{tiles:.4f} of its tiles ({ours.block_m} x {ours.block_n})"
            )
            share /= tiles
        else:
            share = None
        yield Verdict(
            f"{name} time over share of tiles", share, limit, False, note
        )


def _mods(rows: _Rows) -> Iterator[Verdict]:
    for name, limit in MINIMA["mods"]["time_over_plain"].items():
        plain = "causal no lse" if name.endswith(" no lse") else "causal"
        time = _over(rows.find(f"d128 {name}"), rows.find(f"d128 {plain}"), "ms")
        yield Verdict(f"{name} time over causal", time, limit, False)


def padded_share(d: int, dv: int) -> float:
    """Useful share of the operations when the products are padded: the first
    one sums over multiples of 16, the second one writes multiples of 8."""
    padded = -(-d // 16) * 16 + -(-dv // 8) * 8
    return (d + dv) / padded


def _head_dims(rows: _Rows) -> Iterator[Verdict]:
    limit = MINIMA["head-dims"]["ratio_to_next_power_of_two"]
    for (d, dv), power in presets.HEAD_DIMS.items():
        dims = f"d{d}" if d == dv else f"d{d}x{dv}"
        for mask in presets.PLAIN:
            ours = rows.find(f"{dims} {mask}")
            base = rows.find(f"d{power} {mask}")
            # The exponentials of a score cost the same at every head dim.
            note = (
                f" (products padded to 16 and 8 leave {padded_share(d, dv):.2f}"
                f"; operations per score {(d + dv) / 2 / power:.2f})"
            )
            yield Verdict(
                f"{dims} {mask} over d{power}",
                _over(ours, base, "tflops"),
                limit,
                note=note,
            )


_CHECKS: dict[str, Callable[[_Rows], Iterator[Verdict]]] = {
    "table": _table,
    "bf16": _bf16,
    "fp8": _fp8,
    "gqa": _gqa,
    "window": _window,
    "mods": _mods,
    "head-dims": _head_dims,
}


def verdicts(preset: str, rows: list[Row]) -> Optional[list[Verdict]]:
    """Those of a preset, None if no minimum is known for it."""
    if preset not in _CHECKS:
        return None
    mine = [r for r in rows if r.preset == preset]
    return list(_CHECKS[preset](_Rows(mine)))
