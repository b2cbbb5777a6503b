# SPDX-License-Identifier: Apache-2.0
"""The build ID of a shared library, without loading it: the note that the linker
writes, as fa3_build_id has it (lib/Compiler/Version.cpp)."""

from __future__ import annotations

import os
import struct

_SEGMENT_OF_NOTES = 4  # PT_NOTE
_BUILD_ID = 3  # NT_GNU_BUILD_ID
_MOST_NOTES = 1 << 16  # bytes


def build_id(path: str | os.PathLike[str]) -> str:
    """In hexadecimal; "" if there is none or the file is no 64-bit ELF of this
    byte order."""
    try:
        with open(path, "rb") as file:
            header = file.read(64)
            if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
                return ""
            (table,) = struct.unpack_from("<Q", header, 32)
            size, count = struct.unpack_from("<HH", header, 54)
            file.seek(table)
            segments = file.read(size * count)
            for start in range(0, len(segments) - 55, max(size, 56)):
                kind, _, offset, _, _, length = struct.unpack_from(
                    "<IIQQQQ", segments, start
                )
                if kind != _SEGMENT_OF_NOTES or length > _MOST_NOTES:
                    continue
                file.seek(offset)
                found = _find(file.read(length))
                if found:
                    return found
    except (OSError, ValueError, struct.error):
        pass
    return ""


def _find(notes: bytes) -> str:
    while len(notes) >= 12:
        name, length, kind = struct.unpack_from("<III", notes)
        start = 12 + (name + 3) // 4 * 4
        if kind == _BUILD_ID and notes[12:16] == b"GNU\0" and name == 4:
            return notes[start : start + length].hex()
        notes = notes[start + (length + 3) // 4 * 4 :]
    return ""
