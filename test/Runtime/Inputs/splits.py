# SPDX-License-Identifier: Apache-2.0
"""How many parts calls of decode_split.mlir and decode_paged.mlir have."""

import pathlib
import sys

import fa3_runtime


def arguments(form, batch, keys, queries):
    """Arrays that do not overlap, at addresses that nobody reads."""
    rows = {"q": 32, "k": 8, "v": 8, "o": 32}
    if form == "split":
        shapes = {name: (batch, n, queries, 128) for name, n in rows.items()}
        shapes |= {name: (batch, 8, keys, 128) for name in "kv"}
    else:
        shapes = {name: (batch, queries, n, 128) for name, n in rows.items()}
        shapes |= {name: (11, 64, 8, 128) for name in "kv"}
    shapes["lse"] = (batch, 32, queries)
    shapes["used_k"] = (batch,)
    if form == "paged":
        shapes["page_table"] = (batch, keys // 64)
    types = {"lse": "f32", "used_k": "i32", "page_table": "i32"}
    return {
        name: fa3_runtime.Array((i + 1) << 40, types.get(name, "bf16"), shape)
        for i, (name, shape) in enumerate(shapes.items())
    }


def count(program, arrays, splits=0):
    """The number that takes as much memory, if it is given."""
    size = program.workspace_size(**arrays, splits=splits)
    numbers = [
        n for n in range(1, 200) if program.workspace_size(**arrays, splits=n) == size
    ]
    return numbers[0] if len(numbers) == 1 else numbers


manifests = dict(zip(("split", "paged"), sys.argv[1:]))
for form, sms, batch, keys, queries in (
    ("split", 132, 1, 2048, 1),
    ("split", 132, 1, 8192, 1),
    ("split", 132, 1, 131072, 1),
    ("split", 132, 8, 32768, 1),
    ("split", 132, 32, 4096, 1),
    ("split", 132, 12, 32768, 1),
    ("split", 132, 1, 32768, 100),
    ("split", 114, 1, 32768, 1),
    ("split", 132, 1, 255, 1),
    ("split", 132, 1, 0, 1),
    ("paged", 132, 1, 2048, 1),
    ("paged", 132, 8, 32768, 1),
):
    text = pathlib.Path(manifests[form]).read_bytes()
    program = fa3_runtime.Program(text, device_sms=sms)
    found = count(program, arguments(form, batch, keys, queries))
    more = f", {queries} queries" if queries > 1 else ""
    print(f"{form}: {sms} SMs, batch {batch}, {keys} keys{more}: {found}")
text = pathlib.Path(manifests["split"]).read_bytes()
program = fa3_runtime.Program(text, device_sms=132)
arrays = arguments("split", 1, 8192, 1)
print("given 7:", count(program, arrays, splits=7))
try:
    program.validate(**arrays, splits=-1)
except fa3_runtime.Error as error:
    print(f"given -1: {error.code}: {error}")
