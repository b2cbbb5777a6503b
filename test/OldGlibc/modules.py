# SPDX-License-Identifier: Apache-2.0
"""Compiles modules with libfa3.so, several at a time, and prints what digest the PTX
and the manifest of each have.

modules.py <libfa3.so> <module>...
"""

import concurrent.futures
import ctypes
import hashlib
import pathlib
import sys

library = ctypes.CDLL(sys.argv[1])
for name in ("ptx", "manifest", "diagnostics"):
    getattr(library, "fa3_result_" + name).restype = ctypes.c_char_p


def digests(path):
    text = path.read_bytes()
    result = ctypes.c_void_p()
    outcome = library.fa3_compile(
        text, ctypes.c_size_t(len(text)), None, ctypes.byref(result)
    )
    if outcome:
        diagnostics = library.fa3_result_diagnostics(result).decode()
        raise SystemExit("{}: {}".format(path, diagnostics))
    made = library.fa3_result_ptx(result, None), library.fa3_result_manifest(result, None)
    library.fa3_result_destroy(result)
    return " ".join(hashlib.sha256(part).hexdigest() for part in made)


modules = [pathlib.Path(name) for name in sys.argv[2:]]
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    for module, made in zip(modules, pool.map(digests, modules)):
        print(module.name, made)
