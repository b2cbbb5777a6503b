# SPDX-License-Identifier: Apache-2.0
"""Validates arguments of causal_gqa.mlir, given its manifest."""

import pathlib
import sys

import fa3_runtime

HEADS = {"q": 32, "k": 8, "v": 8, "o": 32}


def arguments(**heads):
    """Arrays that do not overlap, at addresses that nobody reads."""
    sizes = {**HEADS, **heads}
    arrays = {
        name: fa3_runtime.Array((i + 1) << 32, "bf16", (2, sizes[name], 64, 128))
        for i, name in enumerate(sizes)
    }
    arrays["lse"] = fa3_runtime.Array(9 << 32, "f32", (2, 32, 64))
    return arrays


manifest = pathlib.Path(sys.argv[1]).read_bytes()
for sms in (0, 132):
    program = fa3_runtime.Program(manifest, device_sms=sms)
    program.validate(**arguments())
    print(f"{sms} SMs: valid")
try:
    program.validate(**arguments(k=7))
except fa3_runtime.Error as error:
    print("k of 7 heads:", error)
