# SPDX-License-Identifier: Apache-2.0
"""Plots of rows as PNG files, by matplotlib if it is installed."""

from __future__ import annotations

import pathlib

from .minima import OURS
from .rows import Row

_HEIGHT, _WIDTH = 3.2, 5.2  # inches of one picture
_MOST_COLORS = 10


def _unique(items) -> list:
    return list(dict.fromkeys(items))


def _bars(axes, rows: list[Row], columns: str) -> None:
    """Groups of bars: a group for each column, a bar for each kernel."""
    names = _unique(getattr(r, columns) for r in rows)
    kernels = _unique(r.kernel for r in rows)
    width = 0.85 / max(len(kernels), 1)
    for k, kernel in enumerate(kernels):
        found = {getattr(r, columns): r for r in rows if r.kernel == kernel}
        places = [i for i, name in enumerate(names) if name in found]
        axes.bar(
            [i - 0.425 + width * (k + 0.5) for i in places],
            [found[names[i]].tflops for i in places],
            width,
            label=kernel,
        )
    texts = [str(name).replace(" ", "\n") for name in names]
    axes.set_xticks(range(len(names)), texts, fontsize=7)
    axes.grid(axis="y", linewidth=0.4)
    axes.set_axisbelow(True)


def _list(axes, rows: list[Row]) -> None:
    """A bar for each kernel of one problem, named at its side."""
    rows = rows[::-1]
    colors = ["C1" if r.kernel == OURS else "C0" for r in rows]
    axes.barh(range(len(rows)), [r.tflops for r in rows], color=colors)
    axes.set_yticks(range(len(rows)), [r.kernel for r in rows], fontsize=6)
    axes.set_xlabel("TFLOP/s", fontsize=7)
    axes.grid(axis="x", linewidth=0.4)
    axes.set_axisbelow(True)


def _figure(pyplot, count: int, width: float, height: float):
    """A figure and as many places in it, at most two in a row."""
    across = min(count, 2)
    down = -(-count // across)
    figure, grid = pyplot.subplots(
        down, across, squeeze=False,
        figsize=(width * across, height * down + 0.6),
    )  # fmt: skip
    for axes in grid.flat[count:]:
        axes.axis("off")
    return figure, list(grid.flat[:count])


def _lists(pyplot, rows: list[Row]):
    """A picture for each problem."""
    problems = _unique(r.problem for r in rows)
    height = 0.14 * len({r.kernel for r in rows}) + 0.9
    figure, places = _figure(pyplot, len(problems), _WIDTH, height)
    for problem, axes in zip(problems, places):
        mine = [r for r in rows if r.problem == problem]
        axes.set_title(f"{mine[0].family} {mine[0].length}", fontsize=9)
        _list(axes, mine)
    figure.tight_layout(rect=(0, 0, 1, 0.98))
    return figure


def _groups(pyplot, rows: list[Row]):
    """A picture for each family with several lengths, or one for all."""
    families = _unique(r.family for r in rows)
    if len({r.length for r in rows}) > 1:
        figure, places = _figure(pyplot, len(families), _WIDTH, _HEIGHT)
        for family, axes in zip(families, places):
            axes.set_title(family, fontsize=9)
            _bars(axes, [r for r in rows if r.family == family], "length")
    else:
        width = max(_WIDTH * 1.6, 0.8 * len(families))
        figure, places = _figure(pyplot, 1, width, _HEIGHT)
        _bars(places[0], rows, "family")
    handles = {}
    for axes in places:
        axes.set_ylabel("TFLOP/s", fontsize=8)
        for handle, label in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    figure.legend(
        handles.values(), handles.keys(), loc="lower center",
        ncols=len(handles), fontsize=7,
    )  # fmt: skip
    figure.tight_layout(rect=(0, 0.04, 1, 0.98))
    return figure


def _picture(pyplot, rows: list[Row], path: pathlib.Path) -> None:
    many = len({r.kernel for r in rows}) > _MOST_COLORS
    figure = (_lists if many else _groups)(pyplot, rows)
    first = rows[0]
    figure.suptitle(f"{first.preset}, {first.dtype}, {first.mode}", fontsize=10)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def write(rows: list[Row], folder: pathlib.Path) -> list[str]:
    """One picture for each preset, type and mode; lines that say where."""
    try:
        import matplotlib
    except ImportError:
        return ["plots: matplotlib is not installed"]
    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = []
    for key in _unique((r.preset, r.dtype, r.mode) for r in rows):
        some = [r for r in rows if (r.preset, r.dtype, r.mode) == key]
        path = folder / f"{'-'.join(key)}.png"
        _picture(pyplot, some, path)
        lines.append(f"written to {path}")
    return lines
