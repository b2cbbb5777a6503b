#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/Performance.md, docs/Serving.md and docs/Testing.md, and a
picture, from docs/figures.

Each CSV file starts with lines `# key: value`: what, device, date, mode,
commit, command. A table stands between `<!-- table: NAME -->` and
`<!-- end -->`; NAME is a function below.

Without arguments the check compares; with --update it rewrites.
"""

import argparse
import csv
import re
import sys
from pathlib import Path

import wrap

DOCS = Path(__file__).resolve().parent
LENGTHS = ["512", "1024", "2048", "4096", "8192", "16384"]
TABLE = re.compile(r"(?P<start><!-- table: (?P<name>[\w-]+) -->\n).*?(?P<end><!-- end -->)", re.S)


class Figures:
    """One CSV file: `about` holds its header lines, `rows` its rows."""

    def __init__(self, name):
        lines = (DOCS / "figures" / f"{name}.csv").read_text().splitlines()
        header = [line for line in lines if line.startswith("# ")]
        self.about = dict(line[2:].split(": ", 1) for line in header)
        self.rows = list(csv.DictReader(lines[len(header) :]))

    def source(self):
        about = self.about
        text = (
            f"{about['what']}. {about['device']}, {about['date']}, mode "
            f"`{about['mode']}`, commit {about['commit']}; `{about['command']}`."
        )
        return "\n".join(wrap.fill(text, "", ""))


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def by_length(figures, cell):
    """One line for each head dim and mask, one column for each length."""
    lines = {}
    for row in figures.rows:
        lines.setdefault(f"d {row['head_dim']} {row['mask']}", {})[row["length"]] = cell(row)
    rows = [[name] + [cells.get(n, "") for n in LENGTHS] for name, cells in lines.items()]
    return markdown([""] + LENGTHS, rows) + ["", figures.source()]


def forward_h200():
    return by_length(Figures("forward-h200"), lambda r: f"{r['fa3']} {r['ratio']}")


def forward_h100():
    return by_length(Figures("forward-h100"), lambda r: f"{r['fa3']} {r['ratio']}")


def backward_h100():
    return by_length(Figures("backward-h100"), lambda r: f"{r['fa3']} {r['ratio']}")


def forward_over_fa3():
    return by_length(
        Figures("forward-over-fa3"),
        lambda r: f"{r['known_lengths']} / {r['run_time_lengths']}",
    )


def forward_over_fa3_h100():
    figures = Figures("forward-over-fa3-h100")
    lines = {}
    for row in figures.rows:
        cell = f"{row['fa3']} {row['ratio']}"
        name = f"{row['type']} d {row['head_dim']} {row['mask']}"
        lines.setdefault(name, {})[row["length"]] = cell
    rows = [[name] + [cells[n] for n in LENGTHS] for name, cells in lines.items()]
    return markdown([""] + LENGTHS, rows) + ["", figures.source()]


def fp8():
    return by_length(
        Figures("fp8-h200"),
        lambda r: r["fa3"] + (f" ({r['best_peer']})" if r["best_peer"] else ""),
    )


def gqa():
    figures = Figures("gqa")
    lines = {}
    for row in figures.rows:
        lines.setdefault(row["device"], []).append(f"{row['fa3']} {row['ratio']}")
    lengths = list(dict.fromkeys(row["length"] for row in figures.rows))
    rows = [[name] + cells for name, cells in lines.items()]
    return markdown([""] + lengths, rows) + ["", figures.source()]


def sustained():
    figures = Figures("sustained")
    rows = [
        [f"d {r['head_dim']} {r['mask']}", r["fa3"], r["cudnn"], r["ratio"]] for r in figures.rows
    ]
    return markdown(["", "fa3", "cuDNN", "ratio"], rows) + ["", figures.source()]


def decode_h100():
    figures = Figures("decode-h100")
    rows = [
        [r["cell"], f"{r['fa3_us']} ({r['fa3_gbps']} GB/s)", r["cudnn_us"], r["fa2_us"]]
        for r in figures.rows
    ]
    head = ["batch x keys", "fa3", "cuDNN", "FlashAttention-2"]
    return markdown(head, rows) + ["", figures.source()]


def varlen_h100():
    figures = Figures("varlen-h100")
    columns = "fa3", "fa3_fp8", "cudnn", "fa2", "dense"
    rows = [[r["cell"]] + [r[column] for column in columns] for r in figures.rows]
    head = ["sequences", "fa3", "fa3, 8 bits", "cuDNN", "FlashAttention-2", "dense"]
    return markdown(head, rows) + ["", figures.source()]


def ptx_mutants():
    """Counts of test/Mutations/ptx.py --csv, whose last row is that of all kinds."""
    figures = Figures("ptx-mutants")
    columns = "tried", "error", "answer", "harmless", "missed"
    rows = [[r["kind"]] + [r[column] for column in columns] for r in figures.rows]
    head = ["kind", "tried", "stopped", "other answer", "harmless", "missed"]
    about = figures.about
    text = f"{about['what']}. {about['date']}, {about['device']}; `{about['command']}`."
    return markdown(head, rows) + ["", "\n".join(wrap.fill(text, "", ""))]


TABLES = {
    "ptx-mutants": ptx_mutants,
    "decode-h100": decode_h100,
    "varlen-h100": varlen_h100,
    "forward-h200": forward_h200,
    "forward-h100": forward_h100,
    "backward-h100": backward_h100,
    "forward-over-fa3": forward_over_fa3,
    "forward-over-fa3-h100": forward_over_fa3_h100,
    "fp8": fp8,
    "gqa": gqa,
    "sustained": sustained,
}


def picture():
    """Bars of 16-bit forward on an H200: fa3 beside cuDNN, two panels."""
    figures = Figures("forward-h200")
    width, height, left, top = 860, 300, 50, 40
    panel, scale = 385, 230 / 850
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    base = top + 220
    for index, mask in enumerate(["full", "causal"]):
        x0 = left + index * (panel + 30)
        out.append(
            f'<text x="{x0 + panel / 2}" y="24" text-anchor="middle" font-size="13">'
            f"d 128, {mask}: TFLOP/s by length</text>"
        )
        for value in range(0, 801, 200):
            y = base - value * scale
            out.append(
                f'<line x1="{x0}" x2="{x0 + panel}" y1="{y:.1f}" y2="{y:.1f}" '
                'stroke="#ddd"/>'
                f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{value}</text>'
            )
        rows = [r for r in figures.rows if r["head_dim"] == "128" and r["mask"] == mask]
        for place, row in enumerate(rows):
            x = x0 + 8 + place * 63
            for shift, key, color in [(0, "fa3", "#2a6fb0"), (24, "cudnn", "#b9bec5")]:
                bar = float(row[key]) * scale
                out.append(
                    f'<rect x="{x + shift}" y="{base - bar:.1f}" width="22" '
                    f'height="{bar:.1f}" fill="{color}"/>'
                    f'<text x="{x + shift + 11}" y="{base - bar - 3:.1f}" '
                    f'text-anchor="middle" font-size="9">{row[key]}</text>'
                )
            out.append(
                f'<text x="{x + 23}" y="{base + 14}" text-anchor="middle">{row["length"]}</text>'
            )
    for shift, name, color in [(0, "fa3", "#2a6fb0"), (70, "cuDNN", "#b9bec5")]:
        out.append(
            f'<rect x="{left + shift}" y="{height - 18}" width="10" height="10" '
            f'fill="{color}"/><text x="{left + shift + 14}" y="{height - 9}">{name}'
            "</text>"
        )
    out.append(
        f'<text x="{width - 10}" y="{height - 9}" text-anchor="end" fill="#666">'
        f"{figures.about['device'].split(',')[0]}, fp16, {figures.about['date']}</text>"
    )
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="rewrite the files")
    options = parser.parse_args()
    wanted = {
        page: TABLE.sub(
            lambda m: m["start"] + "\n".join(TABLES[m["name"]]()) + "\n" + m["end"],
            page.read_text(),
        )
        for page in (DOCS / "Performance.md", DOCS / "Serving.md", DOCS / "Testing.md")
    }
    wanted[DOCS / "images" / "forward.svg"] = picture()
    stale = [p for p, t in wanted.items() if not p.exists() or p.read_text() != t]
    for path in stale:
        if options.update:
            path.write_text(wanted[path])
        else:
            print(
                f"{path.name}: differs from docs/figures; run docs/performance_tables.py --update",
                file=sys.stderr,
            )
    return 1 if stale and not options.update else 0


if __name__ == "__main__":
    sys.exit(main())
