#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what a release says of itself, into its folder.

  release_documents.py --version V --time SECONDS FOLDER

THIRD-PARTY-NOTICES.txt   licenses of the code of others that is linked in,
                          from the packages that it was linked from
sbom.spdx.json            the same as a list for tools, SPDX 2.3
SHA256SUMS                of every other file; sha256sum --check SHA256SUMS

With --check, compares the folder with its sums and looks for the notices. With
--check-links, FOLDER is a file of commands that link, such as `ninja -t commands`
prints: every archive in them has to be of a package that the notices name.
"""

import argparse
import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys

# Name, SPDX license, where it is from, Debian's package, why it is in there.
COMPONENTS = [
    ("LLVM and MLIR", "Apache-2.0 WITH LLVM-exception", "https://llvm.org",
     "llvm-22-dev", "linked into the tools"),
    ("Zstandard", "BSD-3-Clause", "https://facebook.github.io/zstd",
     "libzstd-dev", "linked into the tools, used by LLVM"),
    ("zlib", "Zlib", "https://zlib.net",
     "zlib1g-dev", "linked into the tools, used by LLVM"),
    ("libstdc++ and libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1",
     "https://gcc.gnu.org", "libstdc++-12-dev", "linked into the tools"),
]  # fmt: skip
NOTICES, SBOM, SUMS = "THIRD-PARTY-NOTICES.txt", "sbom.spdx.json", "SHA256SUMS"
COMMON_LICENSES = pathlib.Path("/usr/share/common-licenses")
RULE = "=" * 78


def installed_version(package):
    """Upstream's part of the version of a Debian package."""
    command = ["dpkg-query", "--show", "--showformat=${Version}", package]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    upstream = text.split(":")[-1].rsplit("-", 1)[0]
    return re.sub(r"[+.]dfsg.*$", "", upstream)


def notices(version):
    parts = [
        f"fa3 {version} itself is under the license in LICENSE. Its programs hold\n"
        "code of others, under the licenses below. libfa3_runtime.so holds none.\n"
    ]
    for name, license, home, package, why in COMPONENTS:
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text()
        parts.append(
            f"{RULE}\n{name} {installed_version(package)} ({why})\n{home}\n"
            f"{license}\n{RULE}\n\n{text}"
        )
    apache = (COMMON_LICENSES / "Apache-2.0").read_text()
    parts.append(f"{RULE}\nApache License, Version 2.0\n{RULE}\n\n{apache}")
    return "\n".join(parts)


def sbom(version, time, folder):
    def package(identifier, name, version, license, home):
        return {
            "SPDXID": f"SPDXRef-{identifier}",
            "name": name,
            "versionInfo": version,
            "downloadLocation": home,
            "filesAnalyzed": False,
            "licenseConcluded": license,
            "licenseDeclared": license,
            "copyrightText": "NOASSERTION",
        }

    own = "SPDXRef-fa3"
    packages = [package("fa3", "fa3", version, "Apache-2.0", "NOASSERTION")]
    relationships = [("SPDXRef-DOCUMENT", "DESCRIBES", own)]
    for name, license, home, debian, _ in COMPONENTS:
        packages.append(
            package(debian, name, installed_version(debian), license, home)
        )
        relationships.append((own, "STATIC_LINK", f"SPDXRef-{debian}"))
    digest = hashlib.sha256(sums(folder).encode()).hexdigest()
    created = datetime.datetime.fromtimestamp(time, datetime.timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"fa3-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/fa3-{version}-{digest}",
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: release_documents.py"],
        },
        "packages": packages,
        "relationships": [
            {
                "spdxElementId": a,
                "relationshipType": kind,
                "relatedSpdxElement": b,
            }
            for a, kind, b in relationships
        ],
    }


def sums(folder):
    """In the form of sha256sum."""
    lines = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != SUMS:
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n")
    return "".join(lines)


def lacks(text, bill):
    """What the notices and the list of parts do not have."""
    listed = bill["packages"]
    missing = []
    for name, license, *_ in COMPONENTS:
        if f"\n{name} " not in text:
            missing.append(f"{NOTICES} does not name {name}")
        if not any(p["name"] == name and p["licenseDeclared"] == license for p in listed):
            missing.append(f"{SBOM} does not list {name}")
    # Texts that have to be there word by word.
    for words in (
        "LLVM Exceptions to the Apache 2.0 License",
        "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION",
        "Redistributions in binary form must reproduce the above copyright",
        "This software is provided 'as-is'",
        "GCC Runtime Library Exception",
    ):
        if words.lower() not in re.sub(r"\s+", " ", text).lower():
            missing.append(f"{NOTICES} lacks '{words}'")
    return missing


def check(folder):
    if (folder / SUMS).read_text() != sums(folder):
        sys.exit(f"release_documents.py: files of {folder} are not those of {SUMS}")
    bill = json.loads((folder / SBOM).read_text())
    missing = lacks((folder / NOTICES).read_text(), bill)
    if missing:
        sys.exit("\n".join(f"release_documents.py: {one}" for one in missing))
    count = len(bill["packages"])
    print(f"release_documents.py: {count} packages, notices and sums are right")


# Archives that every program of the compiler takes a few lines of.
OF_THE_COMPILER = {"libc6-dev", "libgcc-12-dev"}


def check_links(commands):
    """Archives in commands that link, and the packages that they are from: each has
    to be among the components."""
    archives = sorted(set(re.findall(r"(/usr/\S+\.a)\b", commands)))
    known = {package for _, _, _, package, _ in COMPONENTS} | OF_THE_COMPILER
    known |= {"libmlir-22-dev"}  # of the same source as llvm-22-dev
    owners = {}
    query = subprocess.run(["dpkg", "-S", *archives], capture_output=True, text=True)
    for line in query.stdout.splitlines():
        package, _, path = line.partition(": ")
        owners[path] = package.split(":")[0]
    wrong = [f"{one} is of {owners.get(one, 'no package')}" for one in archives
             if owners.get(one) not in known]  # fmt: skip
    if wrong or not archives:
        sys.exit("\n".join(f"release_documents.py: {one}" for one in wrong or ["no archives"]))
    print(f"release_documents.py: {len(archives)} archives of others, all in the notices")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version")
    parser.add_argument("--time", type=int)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--check-links", action="store_true")
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.folder
    if arguments.check_links:
        check_links(folder.read_text())
        return
    if arguments.check:
        check(folder)
        return
    if not arguments.version or arguments.time is None:
        parser.error("expects --version and --time")
    (folder / NOTICES).write_text(notices(arguments.version))
    document = sbom(arguments.version, arguments.time, folder)
    (folder / SBOM).write_text(json.dumps(document, indent=2) + "\n")
    (folder / SUMS).write_text(sums(folder))


if __name__ == "__main__":
    main()
