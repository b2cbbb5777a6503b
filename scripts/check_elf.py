#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks where programs and libraries look for libraries, by what readelf says.

  check_elf.py [--release] [--glibc VERSION] [--own FOLDER] FOLDER...

No RUNPATH may have an empty entry, which is the current directory, or one that
is not absolute. All are bound at once (BIND_NOW), so that their tables of
addresses can be read only. With --release: no RUNPATH outside of the release,
no libraries needed but libc's, and a stack protector. That of LLVM's code
inside would do; --own asks every library libFA3*.a of a build tree's folder, and
whether copies are checked in any (_FORTIFY_SOURCE). With --glibc: no symbols of a
newer C library.
"""

import argparse
import pathlib
import re
import subprocess
import sys

LIBC = {
    "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
    "ld-linux-x86-64.so.2",
}  # fmt: skip


def read_elf(option, path):
    command = ["readelf", "--wide", option, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def number(version):
    return tuple(map(int, version.split(".")))


def check(path, release, glibc):
    """What is wrong with one file."""
    dynamic = read_elf("--dynamic", path)
    if "There is no dynamic section" in dynamic:
        return
    for entries in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic):
        for entry in entries.split(":"):
            inside = entry == "$ORIGIN" or entry.startswith("$ORIGIN/")
            if not inside and not entry.startswith("/"):
                yield f"RUNPATH '{entries}' has the entry '{entry}'"
            elif not inside and release:
                yield f"RUNPATH '{entries}' leaves the release: '{entry}'"
    if not re.search(r"BIND_NOW|Flags:.*\bNOW\b", dynamic):
        yield "is bound lazily, without BIND_NOW"
    if glibc:
        symbols = read_elf("--dyn-syms", path)
        for symbol in sorted(set(re.findall(r"(\S+@GLIBC_[0-9.]+)", symbols))):
            if number(symbol.split("@GLIBC_")[1]) > number(glibc):
                yield f"needs {symbol}"
    if not release:
        return
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if library not in LIBC:
            yield f"needs {library}"
    if "__stack_chk_fail" not in read_elf("--dyn-syms", path):
        yield "has no stack protector"


def check_own(folder):
    """Libraries of fa3 that were compiled without FA3_HARDENED."""
    libraries = sorted(folder.glob("libFA3*.a"))
    if not libraries:
        yield f"{folder}: no libraries of fa3"
    checks_copies = False
    for path in libraries:
        symbols = read_elf("--symbols", path)
        checks_copies |= bool(re.search(r"\b__(?!stack)\w+_chk\b", symbols))
        if "FUNC" in symbols and "__stack_chk_fail" not in symbols:
            yield f"{path}: has no stack protector: configure with FA3_HARDENED=ON"
    if not checks_copies:
        yield f"{folder}: no library checks copies: configure with FA3_HARDENED=ON"


def is_elf(path):
    if not path.is_file() or path.is_symlink():
        return False
    if not (path.suffix == ".so" or ".so." in path.name or path.stat().st_mode & 0o111):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--release", action="store_true")
    parser.add_argument("--glibc")
    parser.add_argument("--own", type=pathlib.Path)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    files = sorted(
        path
        for folder in arguments.folders
        for path in folder.rglob("*")
        if "CMakeFiles" not in path.parts and is_elf(path)
    )
    if not files:
        sys.exit(f"check_elf.py: no programs in {', '.join(map(str, arguments.folders))}")
    wrong = [
        f"{path}: {one}"
        for path in files
        for one in check(path, arguments.release, arguments.glibc)
    ]
    if arguments.own:
        wrong += check_own(arguments.own)
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        sys.exit(1)
    print(f"check_elf.py: {len(files)} files, nothing wrong")


if __name__ == "__main__":
    main()
