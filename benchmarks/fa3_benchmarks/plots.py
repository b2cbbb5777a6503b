"""Plots of rows as PNG files, by matplotlib if it is installed."""

from __future__ import annotations

import pathlib

from .rows import Row

_HEIGHT, _WIDTH = 3.2, 5.2  # inches of one picture


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
    axes.set_xticks(range(len(names)), [str(n) for n in names], fontsize=7)
    axes.grid(axis="y", linewidth=0.4)
    axes.set_axisbelow(True)


def _picture(pyplot, rows: list[Row], path: pathlib.Path) -> None:
    families = _unique(r.family for r in rows)
    by_length = len({r.length for r in rows}) > 1
    pictures = families if by_length else ["all"]
    across = min(len(pictures), 2)
    down = -(-len(pictures) // across)
    if not by_length:
        width = max(_WIDTH * 1.6, 1.3 * len(families))
    else:
        width = _WIDTH * across
    figure, grid = pyplot.subplots(
        down, across, squeeze=False, figsize=(width, _HEIGHT * down + 0.6)
    )
    for number, axes in enumerate(grid.flat):
        if number >= len(pictures):
            axes.axis("off")
            continue
        if by_length:
            mine = [r for r in rows if r.family == pictures[number]]
            axes.set_title(pictures[number], fontsize=9)
            _bars(axes, mine, "length")
        else:
            _bars(axes, rows, "family")
        axes.set_ylabel("TFLOP/s", fontsize=8)
    handles = {}
    for axes in grid.flat:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    figure.legend(
        handles.values(), handles.keys(), loc="lower center",
        ncols=min(len(handles), 6), fontsize=7,
    )  # fmt: skip
    first = rows[0]
    figure.suptitle(f"{first.preset}, {first.dtype}, {first.mode}", fontsize=10)
    figure.tight_layout(rect=(0, 0.04 + 0.03 * (len(handles) > 6), 1, 1))
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
