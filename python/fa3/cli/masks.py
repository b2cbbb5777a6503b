# SPDX-License-Identifier: Apache-2.0
"""python -m fa3 mask: the blocks of a mask_mod, as text and as a picture."""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import inspect
import pathlib
import sys
from typing import Any, Callable


def load_mod(text: str) -> Callable[..., Any]:
    """A mask_mod by name, or of a file."""
    name, _, value = text.rpartition(":") if ":" in text else (text, "", "")
    if name == "causal":
        return lambda b, h, q, kv: q >= kv
    if name == "window" and value:
        left = _mod_number(text, value)
        return lambda b, h, q, kv: (q >= kv) & (q - kv <= left)
    if name == "prefix" and value:
        length = _mod_number(text, value)
        return lambda b, h, q, kv: (q >= kv) | (kv < length)
    path = pathlib.Path(name)
    if path.suffix != ".py" or not value:
        near = difflib.get_close_matches(name, ("causal", "window", "prefix"), 1)
        raise ValueError(
            f"'{text}', expected causal, window:LEFT, prefix:N or FILE.py:FUNCTION"
            + (f"; did you mean '{near[0]}'?" if near and near[0] != name else "")
        )
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{path}: {type(error).__name__}: {error}") from error
    mod = getattr(module, value, None)
    if not callable(mod):
        names = [n for n, one in vars(module).items() if inspect.isfunction(one)]
        near = difflib.get_close_matches(value, names, 1)
        raise ValueError(
            f"{path} has no function '{value}'" + (f"; did you mean '{near[0]}'?" if near else "")
        )
    return mod


def _mod_number(text: str, value: str) -> int:
    if not value.isdecimal():
        raise ValueError(f"'{text}': '{value}', expected a number from 0 on")
    return int(value)


def show(options: argparse.Namespace) -> int:
    if options.png is not None and not options.png.resolve().parent.is_dir():
        raise ValueError(f"{options.png}: there is no folder {options.png.resolve().parent}")
    rows = evaluate_mask(load_mod(options.mod), options.queries, options.keys)
    blocks = classify(rows, options.block)
    for line in blocks:
        print(line)
    count = {one: sum(line.count(one) for line in blocks) for one in "#+."}
    total = sum(count.values())
    seen = sum(map(sum, rows)) / (options.queries * options.keys)
    print(
        f"# full {count['#']}, + partial {count['+']}, . empty {count['.']} of {total} "
        f"blocks of {options.block} x {options.block}; {100 * seen:.1f} % visible"
    )
    if options.png is not None:
        options.png.write_bytes(draw(rows, options.block))
        print(f"{options.png} written")
    return 0


def evaluate_mask(mod: Callable[..., Any], queries: int, keys: int) -> list[bytearray]:
    """Rows of 0 and 1, for the first batch and head."""
    from ..mods.trace import trace_mods

    trace_mods(None, mod)  # what cannot be traced is refused as in a kernel
    if "torch" in sys.modules:
        import torch

        i, j = torch.arange(queries)[:, None], torch.arange(keys)[None]
        zero = torch.zeros((), dtype=torch.int64)
        made = mod(zero, zero, i, j)
        made = torch.as_tensor(made).expand(queries, keys).to(torch.uint8)
        return [bytearray(row.tolist()) for row in made]
    return [bytearray(bool(mod(0, 0, i, j)) for j in range(keys)) for i in range(queries)]


def classify(rows: list[bytearray], block: int) -> list[str]:
    """A character a block: # full, + partial, . empty."""
    made = []
    for top in range(0, len(rows), block):
        line = ""
        for left in range(0, len(rows[0]), block):
            parts = [row[left : left + block] for row in rows[top : top + block]]
            seen = sum(map(sum, parts))
            line += "." if seen == 0 else "#" if seen == sum(map(len, parts)) else "+"
        made.append(line)
    return made


def draw(rows: list[bytearray], block: int) -> bytes:
    """A PNG: visible elements blue, empty blocks white, lines between blocks."""
    import struct
    import zlib

    kinds = classify(rows, block)
    palette = {"#": (31, 119, 180), "+": (110, 170, 220), ".": (255, 255, 255)}
    data = bytearray()
    for i, row in enumerate(rows):
        data.append(0)
        for j, seen in enumerate(row):
            kind = kinds[i // block][j // block]
            if i % block == 0 or j % block == 0:
                data += bytes((200, 200, 200))
            else:
                data += bytes(palette[kind] if seen else (245, 235, 220)
                              if kind == "+" else palette["."])  # fmt: skip

    def chunk(name: bytes, content: bytes) -> bytes:
        body = name + content
        return struct.pack(">I", len(content)) + body + struct.pack(
            ">I", zlib.crc32(body)
        )  # fmt: skip

    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(data))) + chunk(b"IEND", b"")
    )  # fmt: skip
