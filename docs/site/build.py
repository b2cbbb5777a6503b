#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the pages of the repository together for mkdocs, adds the pages about Python
and C and the gallery of masks, and builds the site.

  build.py [--url URL --ref REF] FOLDER

FOLDER/pages gets the pages, FOLDER/html the site. Links to files that are no pages
go to URL, where the repository is shown; without one their words stay. What mkdocs
warns about is an error: links and anchors that lead nowhere, names of the Python
interface that are not there.
"""

import argparse
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys

import masks

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES = [
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md",
    "test/Device/README.md", "docs/*.md", "docs/Dialects/*.md", "docs/experiments/*.md",
]  # fmt: skip
HEADERS = [
    ("The compiler, libfa3", "include/fa3-c/Compiler.h"),
    ("The runtime", "include/fa3/Runtime/fa3_runtime.h"),
    ("The runtime for host code of a program", "include/fa3/Runtime/fa3_host.h"),
    ("Dialects and passes beside MLIR's C interface", "include/fa3-c/FA3.h"),
]
MODULES = ["flash_attn_interface", "torch", "hf", "jax", "errors"]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```$|<!--.*?-->)", re.S | re.M)


def collect():
    return sorted({path for pattern in PAGES for path in ROOT.glob(pattern)})


def rewrite(text, source, pages, url, ref):
    """Links out of the site become absolute; links to folders go to their page."""

    def link(match):
        picture, words, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        full = pathlib.Path(os.path.normpath(source.parent / path))
        if full in pages:
            return match[0]
        if full.is_dir() and full / "README.md" in pages:
            return f"[{words}]({os.path.join(path, 'README.md')})"
        if full.is_file() and picture:
            return match[0]
        if not full.exists():
            raise SystemExit(f"{source.relative_to(ROOT)}: no {target}")
        kind = "tree" if full.is_dir() else "blob"
        name = full.relative_to(ROOT).as_posix() + (f"#{anchor}" if anchor else "")
        return f"[{words}]({url}/{kind}/{ref}/{name})" if url else words

    # Blocks of code and comments stay as they are.
    parts = CODE.split(text)
    linked = [part if i % 2 else LINK.sub(link, part) for i, part in enumerate(parts)]
    return "".join(linked)


def write_pages(folder, url, ref):
    pages = collect()
    for source in pages:
        page = folder / source.relative_to(ROOT)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(rewrite(source.read_text(), source, set(pages), url, ref))
    shutil.copytree(ROOT / "docs/images", folder / "docs/images")


def write_python(folder):
    sys.path.insert(0, str(ROOT / "python"))
    import fa3

    text = "# Python\n\nThe guide is [Python](../docs/Python.md).\n\n"
    for name, module in sorted(fa3._NAMES.items()):
        text += f"::: fa3.{module}.{name}\n\n"
    for module in MODULES:
        options = "    options:\n      members_order: source\n      filters: ['!^_']\n"
        text += f"::: fa3.{module}\n{options}\n"
    (folder / "api").mkdir()
    (folder / "api/python.md").write_text(text)


def write_c(folder):
    text = "# C\n\n[Runtime](../docs/Runtime.md) and [Embedding](../docs/Embedding.md) explain "
    text += "them.\n"
    for title, path in HEADERS:
        code = (ROOT / path).read_text()
        text += f"\n## {title}\n\n`{path}`\n\n```c\n{code}```\n"
    (folder / "api/c.md").write_text(text)


def write_gallery(folder):
    (folder / "gallery").mkdir()
    text = (
        "# Masks, drawn\n\nEach is a function of Python, drawn by `python -m fa3 mask` for 256 "
        "queries and keys in blocks of 32. Blue blocks are computed without the mask, those "
        "in light colors with it, white ones are not loaded.\n"
    )
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
    for name, mask in inspect.getmembers(masks, inspect.isfunction):
        command = [sys.executable, "-m", "fa3", "mask", f"{HERE / 'masks.py'}:{name}"]
        command += ["--queries", "256", "--keys", "256", "--block", "32"]
        command += ["--png", str(folder / "gallery" / f"{name}.png")]
        made = subprocess.run(command, env=environment, capture_output=True, text=True)
        if made.returncode:
            raise SystemExit(f"build.py: {name}: {made.stderr}")
        counts = next(line for line in made.stdout.splitlines() if line.startswith("# full"))
        *code, last = inspect.getsource(mask).replace(mask.__doc__, "").splitlines()
        body = "\n".join([*(line for line in code if '""' not in line), last])
        counts = counts[2:].replace(" + ", " ").replace(" . ", " ")
        text += f"\n## {name}\n\n{mask.__doc__} Blocks: {counts}.\n\n"
        text += f"![{name}]({name}.png){{ width=384 }}\n\n```python\n{body}\n```\n"
    (folder / "gallery/masks.md").write_text(text)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", default="")
    parser.add_argument("--ref", default="main")
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    write_pages(pages, arguments.url, arguments.ref)
    write_python(pages)
    write_c(pages)
    write_gallery(pages)
    text = (HERE / "mkdocs.yml").read_text()
    text += f"docs_dir: {pages}\nsite_dir: {folder / 'html'}\n"
    if arguments.url:
        text += f"repo_url: {arguments.url}\n"
    text = text.replace(
        "        python:\n", f"        python:\n          paths: [{ROOT / 'python'}]\n"
    )
    (folder / "mkdocs.yml").write_text(text)
    # With --quiet nothing would count as a warning.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(
        [*command, "--config-file", str(folder / "mkdocs.yml")],
        env=dict(os.environ, NO_MKDOCS_2_WARNING="1"), capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        sys.exit(done.returncode)
    print(f"build.py: {len(list(pages.rglob('*.md')))} pages in {folder / 'html'}")


if __name__ == "__main__":
    main()
