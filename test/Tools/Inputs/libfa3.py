# SPDX-License-Identifier: Apache-2.0
"""Compiles modules with libfa3.so and with fa3-translate and compares.

libfa3.py <libfa3.so> <fa3-translate> <module>...
"""

import ctypes
import pathlib
import subprocess
import sys
import tempfile

library = ctypes.CDLL(sys.argv[1])
translate, modules = sys.argv[2], [pathlib.Path(name) for name in sys.argv[3:]]
for name in ("ptx", "manifest", "diagnostics"):
    getattr(library, f"fa3_result_{name}").restype = ctypes.c_char_p


def compile_in_process(text):
    result = ctypes.c_void_p()
    outcome = library.fa3_compile(
        text, ctypes.c_size_t(len(text)), None, ctypes.byref(result)
    )
    if outcome:
        sys.exit(library.fa3_result_diagnostics(result).decode())
    code = (
        library.fa3_result_ptx(result, None),
        library.fa3_result_manifest(result, None),
    )
    library.fa3_result_destroy(result)
    return code


with tempfile.TemporaryDirectory() as folder:
    ptx, manifest = pathlib.Path(folder, "o.ptx"), pathlib.Path(folder, "o.json")
    for module in modules:
        subprocess.run(
            [translate, "--mlir-to-ptx", module, "-o", ptx, "--manifest", manifest]
            + ["--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)"],
            check=True,
        )
        if compile_in_process(module.read_bytes()) != (
            ptx.read_bytes(),
            manifest.read_bytes(),
        ):
            sys.exit(f"{module.name}: libfa3 and fa3-translate differ")
print(f"{len(modules)} modules: the same PTX and manifest")
