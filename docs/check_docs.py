#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the documentation true: runs what it shows, follows what it names.

A fenced block after a comment `<!-- fa3: ... -->` belongs to the tools. The
comment holds words as in a shell:

  file=NAME     the block is an input; it is written to NAME in the directory
                in which the commands of the document run
  include=PATH  the block is that file of the repository
  run=COMMAND   the block is what COMMAND prints, in bash, with the tools first
                in PATH; further words say which part of it
  console       the block holds lines `$ COMMAND`, each followed by its output
  fails         the commands must fail; standard error is shown too

Parts, searched from where the last one ended:

  at=REGEX      go behind the first line that matches
  until=REGEX   search no further than the first line that matches
  show=REGEX    the operation that starts with the first line that matches, to
                the end of its regions
  to=REGEX      lines up to the first that matches, from where the search is
  lines=REGEX   all lines that match, without marks of what is between
  hide=REGEX    of what is shown, leave out lines (or operations with regions)
                that match; they become `...`
  short=REGEX   of what is shown, replace what matches by `..`

Without arguments the check compares; with --update it rewrites the documents.
Everywhere, links and names of files, operations, attributes and passes in
backticks must exist, and text has lines of at most 100 characters (wrap.py).
Pages about dialects and passes are those of generate_pages.py.
"""

import argparse
import concurrent.futures
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import generate_pages
import wrap

MARK = re.compile(
    r"^<!--\s*fa3:(?P<words>.*?)-->\n```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.S | re.M,
)
FENCE = re.compile(r"^```.*?^```$", re.S | re.M)
COMMENT = re.compile(r"<!--.*?-->", re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
SOURCE_NAME = re.compile(
    r"^[\w.*/-]+\.(cpp|h|td|py|sh|mlir|md|cmake|test|txt|in)$"
)


KEYS = "file include run console fails at until show to lines hide short".split()


class Problem(Exception):
    pass


# --- Parts of an output ------------------------------------------------------


def indent_of(line):
    return len(line) - len(line.lstrip())


def end_of_operation(lines, start):
    """Index behind the operation that starts at `start`."""
    if not lines[start].endswith("{"):
        return start + 1
    indent = indent_of(lines[start])
    for index in range(start + 1, len(lines)):
        line = lines[index]
        if indent_of(line) == indent and line.lstrip().startswith("}"):
            if not line.endswith("{"):
                return index + 1
    raise Problem(f"no end of the operation '{lines[start].strip()}'")


def find(lines, pattern, start):
    for index in range(start, len(lines)):
        if re.search(pattern, lines[index]):
            return index
    raise Problem(f"no line matches '{pattern}'")


def hide(lines, patterns):
    shown, index = [], 0
    while index < len(lines):
        line = lines[index]
        if any(re.search(pattern, line) for pattern in patterns):
            index = end_of_operation(lines, index)
            dots = " " * indent_of(line) + "..."
            if not shown or shown[-1] != dots:
                shown.append(dots)
        else:
            shown.append(line)
            index += 1
    return shown


def select(output, words):
    """The part of an output that the words of a comment ask for."""
    lines = [line.rstrip() for line in output.splitlines()]
    pieces, position = [], 0
    listed = any(key == "lines" for key, _ in words)
    for key, value in words:
        if key == "at":
            position = find(lines, value, position) + 1
        elif key == "until":
            lines = lines[: find(lines, value, position) + 1]
        elif key == "show":
            start = find(lines, value, position)
            position = end_of_operation(lines, start)
            pieces.append((start, position))
        elif key == "to":
            start, position = position, find(lines, value, position) + 1
            pieces.append((start, position))
        elif key == "lines":
            matching = [
                (index, index + 1)
                for index in range(position, len(lines))
                if re.search(value, lines[index])
            ]
            if not matching:
                raise Problem(f"no line matches '{value}'")
            pieces += matching
            position = len(lines)
    if not any(key in ("show", "to", "lines") for key, _ in words):
        pieces = [(0, len(lines))]

    shown, last = [], None
    for start, end in pieces:
        if last is not None and start > last and not listed:
            shown.append(" " * indent_of(lines[start]) + "...")
        shown += lines[start:end]
        last = end
    shown = hide(shown, [value for key, value in words if key == "hide"])
    margin = min((indent_of(line) for line in shown if line), default=0)
    text = "".join(line[margin:] + "\n" for line in shown)
    for key, value in words:
        if key == "short":
            text = re.sub(value, "..", text)
    return text


# --- Blocks ------------------------------------------------------------------


class Blocks:
    """Runs the blocks of one document."""

    def __init__(self, source, tools):
        self.source = source
        self.folder = Path(tempfile.mkdtemp(prefix="fa3-docs-"))
        (self.folder / "examples").symlink_to(source / "examples")
        self.environment = dict(os.environ)
        self.environment["PATH"] = f"{tools}:{os.environ['PATH']}"

    def close(self):
        shutil.rmtree(self.folder)

    def run(self, command, fails):
        result = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if fails else subprocess.PIPE,
            text=True,
        )
        if (result.returncode != 0) != fails:
            raise Problem(
                f"'{command}' ended with {result.returncode}:\n"
                + (result.stderr or result.stdout or "")
            )
        return result.stdout

    def expected(self, words, text):
        """What the block should hold."""
        keys = dict(words)
        if "file" in keys:
            (self.folder / keys["file"]).write_text(text)
            return text
        if "include" in keys:
            return select((self.source / keys["include"]).read_text(), words)
        fails = "fails" in keys
        if "run" in keys:
            return select(self.run(keys["run"], fails), words)
        if "console" not in keys:
            raise Problem("expects file, include, run or console")
        result = ""
        for line in text.splitlines():
            if line.startswith("$ "):
                output = self.run(line[2:], fails)
                result += line + "\n"
                result += select(output, words) if output else ""
        return result


def parse_words(text):
    words = []
    for word in shlex.split(text):
        key, _, value = word.partition("=")
        if key not in KEYS:
            raise Problem(f"unknown word '{word}'")
        words.append((key, value))
    return words


def check_blocks(path, source, tools, update, report):
    document = path.read_text()
    blocks = Blocks(source, tools)

    def replace(match):
        line = document.count("\n", 0, match.start()) + 1
        where = f"{path.relative_to(source)}:{line}"
        text = match["text"]
        try:
            expected = blocks.expected(parse_words(match["words"]), text)
        except Problem as problem:
            report(f"{where}: {problem}")
            return match[0]
        if expected != text and not update:
            difference = "\n".join(
                difflib.unified_diff(
                    text.splitlines(),
                    expected.splitlines(),
                    "document",
                    "tools",
                    lineterm="",
                )
            )
            report(f"{where}: is not what the tools print:\n{difference}")
        start = match.start("text") - match.start()
        end = match.end("text") - match.start()
        return match[0][:start] + expected + match[0][end:]

    try:
        updated = MARK.sub(replace, document)
    finally:
        blocks.close()
    if update and updated != document:
        path.write_text(updated)


# --- Names -------------------------------------------------------------------


def anchors(path):
    """Anchors of the headings of a Markdown file."""
    result = set()
    for line in FENCE.sub("", path.read_text()).splitlines():
        if line.startswith("#"):
            title = line.lstrip("#").strip().lower()
            title = re.sub(r"[^\w\- ]", "", title)
            result.add(title.replace(" ", "-"))
    return result


class Names:
    """Files, and words of the dialects and passes, that documents may name."""

    def __init__(self, source, build):
        self.source = source
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"],
            cwd=source,
            capture_output=True,
            text=True,
        )
        if listed.returncode == 0:
            self.files = listed.stdout.split("\n")
        else:
            self.files = [
                str(file.relative_to(source))
                for file in source.rglob("*")
                if file.is_file() and build not in file.parents
            ]
        self.bases = {os.path.basename(name) for name in self.files}
        self.roots = {name.split("/")[0] for name in self.files}
        self.text = "".join(
            (source / name).read_text()
            for name in self.files
            if re.match(r"(include|lib|tools|cmake|docs/Dialects)/", name)
            and re.search(r"\.(td|h|cpp|cmake|md)$|CMakeLists", name)
        )

    def check(self, path, report):
        where = path.relative_to(self.source)
        text = FENCE.sub("", COMMENT.sub("", path.read_text()))
        for target in LINK.findall(text):
            self.check_link(path, target, f"{where}: link '{target}'", report)
        for code in CODE.findall(CODE_SPAN_FENCE.sub("", text)):
            if not self.known(path, code.strip()):
                report(f"{where}: nothing is called '{code}'")

    def check_link(self, path, target, what, report):
        if re.match(r"[a-z]+:", target):
            return
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            report(f"{what} leads nowhere")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            report(f"{what}: no such heading")

    def known(self, path, code):
        if SOURCE_NAME.match(code):
            return self.known_file(path, code)
        if re.match(r"(attention|warp|tile|hopper)\.[a-z_.]+$", code):
            return code in self.text
        if re.match(r"(attention|warp|tile|hopper)-[a-z0-9-]+$", code):
            return f'"{code}"' in self.text
        return True

    def known_file(self, path, code):
        if "/" not in code:
            # A name of data or of a program of the reader's may be anything.
            own = re.search(r"\.(cpp|h|td)$", code)
            return not own or code in self.bases
        candidates = [code, f"include/{code}", f"docs/{code}"]
        pattern = re.compile(
            "|".join(
                re.escape(name).replace(r"\*", "[^/]*") + "$"
                for name in candidates
            )
        )
        outside = code.split("/")[0] not in self.roots | {"fa3", "Dialects"}
        return outside or any(pattern.match(name) for name in self.files)


CODE_SPAN_FENCE = re.compile(r"``.*?``")


# --- Main --------------------------------------------------------------------


def find_tblgen():
    for name in ("/usr/lib/llvm-22/bin/mlir-tblgen", "mlir-tblgen-22"):
        if shutil.which(name):
            return name
    return "mlir-tblgen"


def check_lines(path, where, update, report):
    text = path.read_text()
    if update:
        wrapped = wrap.wrap(text)
        if wrapped != text:
            path.write_text(wrapped)
        return
    for number in wrap.long_lines(text):
        report(f"{where}:{number}: more than {wrap.WIDTH} characters")


def check_pages(source, tools, arguments, report):
    """Returns the pages that are generated."""
    generator = generate_pages.Generator(
        source,
        arguments.mlir_tblgen or find_tblgen(),
        arguments.mlir_include,
        str(tools / "fa3-opt"),
    )
    pages = generator.pages()
    for name, text in pages.items():
        path = source / "docs" / name
        if path.exists() and path.read_text() == text:
            continue
        if arguments.update:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        else:
            report(f"docs/{name}: is not what the ODS files say")
    return {source / "docs" / name for name in pages}


def main():
    parser = argparse.ArgumentParser(description="checks the documentation")
    parser.add_argument("--build", default="build", help="build directory")
    parser.add_argument("--update", action="store_true", help="rewrite")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="documents at a time")
    parser.add_argument("--mlir-tblgen", help="path of mlir-tblgen")
    parser.add_argument("--mlir-include", default="/usr/lib/llvm-22/include")
    arguments = parser.parse_args()

    source = Path(__file__).resolve().parent.parent
    build = Path(arguments.build).resolve()
    tools = build / "bin"
    if not (tools / "fa3-opt").exists():
        sys.exit(f"check_docs: no fa3-opt in {tools} (see --build)")

    problems = []
    generated = check_pages(source, tools, arguments, problems.append)
    documents = sorted((source / "docs").rglob("*.md"))
    documents += sorted(source.glob("*.md"))
    documents += sorted(source.glob("benchmarks/*.md"))
    documents += sorted(source.glob("test/*/README.md"))

    def check(path):
        found = []
        if path not in generated:
            where = path.relative_to(source)
            check_lines(path, where, arguments.update, found.append)
        check_blocks(path, source, tools, arguments.update, found.append)
        return found

    # Documents with many blocks first, so that none is left alone at the end.
    longest = sorted(documents, key=lambda path: -len(MARK.findall(path.read_text())))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        found = dict(zip(longest, pool.map(check, longest)))
    problems += [problem for path in documents for problem in found[path]]
    names = Names(source, build)
    for path in documents:
        names.check(path, problems.append)

    for problem in problems:
        print(problem, file=sys.stderr)
    blocks = sum(len(MARK.findall(path.read_text())) for path in documents)
    print(
        f"{len(documents)} documents, {blocks} blocks, "
        f"{len(problems)} problems"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
