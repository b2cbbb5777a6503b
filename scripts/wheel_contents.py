#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what a wheel says of itself into its unpacked folder.

  wheel_contents.py --time SECONDS --commit NAME [--url URL --ref REF] FOLDER

*.dist-info/licenses/THIRD-PARTY-NOTICES.txt   licenses of the code of others that
                                               is linked in (release_documents.py)
*.dist-info/sboms/*.spdx.json                  the same as a list for tools (PEP 770)
*.dist-info/METADATA                           license of all of it, URLs of the
                                               project, links of the description
fa3/_commit.txt                                where there is a package fa3: what
                                               `git describe` says

URL is where the project's repository is shown, REF a tag or commit there. Links of
the description go there; without one their words stay, and pictures are left out.

With --check FOLDER, looks for all of that.
"""

import argparse
import json
import pathlib
import re
import sys

import release_documents as documents

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
PAGES = [
    ("Homepage", ""),
    ("Documentation", "/blob/{ref}/docs/README.md"),
    ("Changelog", "/blob/{ref}/CHANGELOG.md"),
    ("Source", "/tree/{ref}"),
    ("Issues", "/issues"),
]


def absolute(text, url, ref):
    """A description whose links work wherever it is shown."""

    def link(match):
        picture, words, target = match.groups()
        if re.match(r"[a-z]+:", target):
            return match[0]
        if not url or target.startswith("#"):
            return "" if picture else words
        kind = "raw" if picture else "blob"
        return f"{picture}[{words}]({url}/{kind}/{ref}/{target})"

    return LINK.sub(link, text)


def licenses():
    """The expression for what is in the wheel."""
    others = dict.fromkeys(license for _, license, *_ in documents.COMPONENTS)
    return " AND ".join(["Apache-2.0", *others])


def describe(text, url, ref):
    """METADATA with the license of all that is inside, URLs and links."""
    head, _, body = text.partition("\n\n")
    lines = [
        line
        for line in head.split("\n")
        if not line.startswith(("License-Expression:", "Project-URL:"))
    ]
    at = max(i for i, line in enumerate(lines) if line.startswith("License-File:"))
    added = [f"License-File: {documents.NOTICES}", f"License-Expression: {licenses()}"]
    if url:
        added += [f"Project-URL: {name}, {url}{page.format(ref=ref)}" for name, page in PAGES]
    lines[at + 1 : at + 1] = added
    return "\n".join(lines) + "\n\n" + absolute(body, url, ref)


def find_info(folder):
    (info,) = folder.glob("*.dist-info")
    return info


def check(folder):
    info = find_info(folder)
    metadata = (info / "METADATA").read_text()
    head, _, body = metadata.partition("\n\n")
    notices = (info / "licenses" / documents.NOTICES).read_text()
    (bill,) = (info / "sboms").glob("*.spdx.json")
    wrong = documents.lacks(notices, json.loads(bill.read_text()))
    for name in re.findall(r"^License-File: (.*)$", head, re.M):
        if not (info / "licenses" / name).is_file():
            wrong.append(f"METADATA names {name}, which is not there")
    wrong += [f"no license {one}" for _, one, *_ in documents.COMPONENTS if one not in head]
    wrong += [
        f"a link of the description is relative: {target}"
        for _, _, target in LINK.findall(body)
        if not re.match(r"https?:", target)
    ]
    if wrong:
        sys.exit("\n".join(f"wheel_contents.py: {one}" for one in wrong))
    print("wheel_contents.py: notices, licenses, list of parts and links are right")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--time", type=int)
    parser.add_argument("--commit")
    parser.add_argument("--url", default="")
    parser.add_argument("--ref", default="main")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.check:
        check(arguments.folder)
        return
    if arguments.time is None or not arguments.commit:
        parser.error("expects --time and --commit")
    info = find_info(arguments.folder)
    name, version = info.name.removesuffix(".dist-info").split("-")
    metadata = info / "METADATA"
    metadata.write_text(describe(metadata.read_text(), arguments.url, arguments.ref))
    (info / "licenses" / documents.NOTICES).write_text(documents.notices(version))
    bill = documents.sbom(version, arguments.time, arguments.folder)
    (info / "sboms").mkdir(exist_ok=True)
    path = info / "sboms" / f"{name}.spdx.json"
    path.write_text(json.dumps(bill, indent=2) + "\n")
    if (arguments.folder / "fa3").is_dir():
        (arguments.folder / "fa3" / "_commit.txt").write_text(arguments.commit + "\n")


if __name__ == "__main__":
    main()
