#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/experiments/README.md from docs/experiments/experiments.toml.

Without arguments the check compares, and looks that every page has its entry;
with --update it rewrites.
"""

import argparse
import sys
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "experiments"
KEYS = {"section", "name", "verdict", "page", "figures", "command", "date", "card", "commit"}
INTRODUCTION = """\
# Experiments

<!-- Made by docs/experiments_table.py of experiments.toml. -->

What was tried, each change alone, on the kernels of its time, and larger measurements. Percentages
are of throughput, mode `single`, unless an entry says otherwise. Date and commit are those of the
measurement or, where it has none, of the note; commands that were not written down are missing.

To add one: an entry in `experiments.toml` with what was expected and the figures, and `--update`
of the script. What needs an argument or a table of its own is a page beside it, which the entry
names.
"""


def read():
    entries = tomllib.loads((FOLDER / "experiments.toml").read_text())["experiment"]
    for one in entries:
        wrong = sorted(set(one) - KEYS)
        missing = sorted({"section", "name", "verdict"} - set(one))
        if wrong or missing or ("page" in one) == ("figures" in one):
            raise SystemExit(
                f"{one.get('name')}: unknown {wrong}, missing {missing}; expected a page "
                "or figures"
            )
        if "figures" in one and not {"date", "card", "commit"} <= set(one):
            raise SystemExit(f"{one['name']}: figures need a date, a card and a commit")
    pages = {one["page"] for one in entries if "page" in one}
    found = {path.name for path in FOLDER.glob("*.md")} - {"README.md"}
    if pages != found:
        raise SystemExit(f"pages without an entry, or the reverse: {sorted(pages ^ found)}")
    return entries


def cell(text):
    return text.replace("|", "\\|") if text else "-"


def write(entries):
    made = [INTRODUCTION]
    for section in dict.fromkeys(one["section"] for one in entries):
        made += [f"## {section}", ""]
        made += [
            "| experiment | verdict | figures | command | date | card | commit |",
            "|---|---|---|---|---|---|---|",
        ]
        for one in entries:
            if one["section"] != section:
                continue
            name, figures, command = one["name"], one.get("figures"), one.get("command")
            if "page" in one:
                name, figures = f"[{name}]({one['page']})", "its page"
            row = [name, one["verdict"], figures, f"`{command}`" if command else "",
                   one.get("date"), one.get("card"), one.get("commit")]  # fmt: skip
            made.append("| " + " | ".join(map(cell, row)) + " |")
        made.append("")
    return "\n".join(made)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--update", action="store_true", help="rewrite the table")
    options = parser.parse_args()
    path, text = FOLDER / "README.md", write(read())
    if options.update:
        path.write_text(text)
        return 0
    if path.read_text() != text:
        print(f"{path} is not what experiments.toml says: {__file__} --update")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
