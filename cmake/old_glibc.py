#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes libraries to link with in place of the C library's, so that what is
linked runs with an older one.

  old_glibc.py --glibc 2.28 --cc CC --readelf READELF FOLDER

FOLDER gets libc, libm, libpthread, libdl, librt and the dynamic linker with the
symbols of the C library that CC links with, each in its newest version that is
not newer than the one asked for, and no code. What has no such version is left
out: then the link fails and names it, and lib/OldGlibc is where it is written.
Since glibc 2.34 libc.so.6 holds what libpthread.so.0, libdl.so.2 and librt.so.1
had; a symbol that moved goes back to its old place.
"""

import argparse
import collections
import pathlib
import re
import subprocess

# What moved, besides the functions of threads, by how names begin.
MOVED = [
    (r"dl[a-z]", "libdl.so.2"),
    (r"(aio|lio|shm|timer|mq)_|__mq_", "librt.so.1"),
    # From libraries that nothing here links: libutil, libanl, libresolv.
    (r"forkpty|openpty|log(in|out|wtmp)|gai_|getaddrinfo_a|ns_|__isnan", None),
    (r"__libc_", "libc.so.6"),
    (r"", "libpthread.so.0"),
]
Symbol = collections.namedtuple("Symbol", "name version address size type")


def number(version):
    """The number of GLIBC_2.3.4, or none of a version that is not public."""
    match = re.fullmatch(r"GLIBC_([0-9.]+)", version)
    return tuple(map(int, match[1].split("."))) if match else None


def read_symbols(readelf, path, most):
    """Symbols of a library in their newest version until `most`, and whether the
    version is the one that this library gives to programs of today."""
    command = [readelf, "--wide", "--dyn-syms", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    versions = collections.defaultdict(list)
    current = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) != 8 or fields[6] == "UND" or "@" not in fields[7]:
            continue
        name, _, version = fields[7].partition("@")
        newest = version.startswith("@")
        version = version.lstrip("@")
        if fields[3] not in ("FUNC", "IFUNC", "OBJECT") or number(version) is None:
            continue
        size = int(fields[2], 0)
        symbol = Symbol(name, version, int(fields[1], 16), size, fields[3])
        versions[name].append(symbol)
        if newest:
            current[name] = symbol
    for name, symbol in sorted(current.items()):
        old = [s for s in versions[name] if number(s.version) <= most]
        if old:
            best = max(old, key=lambda s: number(s.version))
            yield best, best == symbol


def place(symbol, is_current, library):
    if is_current or library != "libc.so.6":
        return library
    return next(home for start, home in MOVED if re.match(start, symbol.name))


def assembly(symbols):
    """Functions that are never called, and objects. Names of one object stay names
    of one: programs hold copies of objects, and have to copy all names."""
    lines = [".text", "nothing:"]
    objects = collections.defaultdict(list)
    for symbol in symbols:
        if symbol.type == "OBJECT":
            objects[symbol.address].append(symbol)
        else:
            lines.append(f".globl {symbol.name}\n.type {symbol.name}, %function")
            lines.append(f".set {symbol.name}, nothing")
    lines += [".byte 0", ".bss"]
    for names in objects.values():
        lines.append(".balign 32")
        for symbol in names:
            lines.append(f".globl {symbol.name}\n.type {symbol.name}, %object")
            lines.append(f".size {symbol.name}, {symbol.size}\n{symbol.name}:")
        lines.append(f".skip {max(max(s.size for s in names), 1)}")
    lines.append('.section .note.GNU-stack, "", %progbits')
    return "\n".join(lines) + "\n"


def version_script(symbols):
    nodes = collections.defaultdict(list)
    for symbol in symbols:
        nodes[symbol.version].append(symbol.name)
    text = ""
    for version in sorted(nodes, key=number):
        names = "".join(f"  {name};\n" for name in nodes[version])
        text += f"{version} {{\nglobal:\n{names}}};\n"
    return text + "private { local: *; };\n"


def write_library(cc, folder, soname, symbols):
    source = folder / f"{soname}.s"
    script = folder / f"{soname}.map"
    source.write_text(assembly(symbols))
    script.write_text(version_script(symbols))
    command = [*cc, "-shared", "-nostdlib", "-o", folder / soname, source]
    command += [f"-Wl,-soname,{soname}", f"-Wl,--version-script,{script}"]
    subprocess.run(list(map(str, command)), check=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--glibc", required=True)
    parser.add_argument("--cc", required=True, nargs="+")
    parser.add_argument("--readelf", default="readelf")
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    most = tuple(map(int, arguments.glibc.split(".")))

    def find(name):
        command = [*arguments.cc, f"-print-file-name={name}"]
        text = subprocess.run(command, check=True, capture_output=True, text=True)
        path = pathlib.Path(text.stdout.strip())
        return path if path.is_absolute() else None

    linker = next(
        name
        for name in ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")
        if find(name)
    )
    libraries = collections.defaultdict(list)
    for library in ("libc.so.6", "libm.so.6", linker):
        found = read_symbols(arguments.readelf, find(library).resolve(), most)
        for symbol, is_current in found:
            home = place(symbol, is_current, library)
            if home:
                libraries[home].append(symbol)
    for soname, symbols in libraries.items():
        write_library(arguments.cc, folder, soname, symbols)
        # Only those that are needed are asked for.
        short = soname.split(".so")[0]
        group = f"AS_NEEDED ( {folder / soname} )"
        if short == "libc":
            static = find("libc_nonshared.a")
            group = f"{folder / soname} {static} AS_NEEDED ( {folder / linker} )"
        (folder / f"{short}.so").write_text(f"GROUP ( {group} )\n")


if __name__ == "__main__":
    main()
