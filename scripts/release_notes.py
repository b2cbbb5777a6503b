#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what CHANGELOG.md says of a version, for a release.

  release_notes.py v<version>

Fails if the tag is not the version of CMakeLists.txt, or the changelog has no
heading for it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def notes(tag, cmake, changelog):
    version = re.search(r"^project\(fa3 VERSION ([0-9.]+)", cmake, re.M)[1]
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, the version of CMakeLists.txt {version}")
    sections = re.split(r"^## (.*)$", changelog, flags=re.M)
    for heading, text in zip(sections[1::2], sections[2::2]):
        if heading.split()[0].strip("[]") == version:
            if not text.strip():
                raise ValueError(f"CHANGELOG.md says nothing about {version}")
            return text.strip()
    raise ValueError(f"CHANGELOG.md has no heading for {version}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cmake = (ROOT / "CMakeLists.txt").read_text()
    changelog = (ROOT / "CHANGELOG.md").read_text()
    try:
        print(notes(sys.argv[1], cmake, changelog))
    except ValueError as error:
        sys.exit(f"release_notes.py: {error}")


if __name__ == "__main__":
    main()
