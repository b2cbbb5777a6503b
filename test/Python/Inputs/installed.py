# SPDX-License-Identifier: Apache-2.0
"""What the installed package does without a GPU and without torch: versions, a
compile, its diagnostics, the cache, a run in the interpreter.

installed.py <module>
"""

import ctypes
import importlib.metadata
import pathlib
import struct
import sys
import time

import fa3
from fa3.build import compiler
from fa3.support.runtime import runtime as fa3_runtime
from fa3.build.compiler import get_compiler
from fa3.build.driver import set_driver

start = time.monotonic()
folder = pathlib.Path(fa3.__file__).resolve().parent
assert (folder / "py.typed").exists()
assert importlib.metadata.version("fa3-compiler") == fa3.__version__
assert "torch" not in sys.modules and "jax" not in sys.modules

# A ready-made kernel is found at once, without the compiler and an empty cache: in
# processor time, without that of Python for the modules that a first name loads.
if (folder / "_bundle").is_dir():
    make = fa3.attention_kernel
    begin = time.process_time()
    common = make("bf16", 128, causal=True, ptx_version=90)
    common.parse()
    spent = time.process_time() - begin
    assert common.source == "bundle" and common.cubin and common.registers
    assert compiler._compiler is None, "the compiler was opened"
    assert spent < 0.05, f"a ready-made kernel took {1e3 * spent:.0f} ms"
    print(f"a ready-made kernel after {1e3 * spent:.1f} ms")
else:
    print("no ready-made kernels in this wheel")

library = ctypes.CDLL(str(folder / "_lib" / "libfa3.so"))
for name in ("fa3_version", "fa3_build_id", "fa3_result_diagnostics"):
    getattr(library, name).restype = ctypes.c_char_p
assert library.fa3_version().decode() == fa3.__version__


def call(function, text, *arguments):
    result = ctypes.c_void_p()
    outcome = function(
        text, ctypes.c_size_t(len(text)), *arguments, ctypes.byref(result)
    )
    diagnostics = library.fa3_result_diagnostics(result).decode()
    library.fa3_result_destroy(result)
    return outcome, diagnostics


# The package finds its compiler and writes its cache; the second time it reads it.
text = pathlib.Path(sys.argv[1]).read_text()
kernel = fa3.compile(text)
assert "wgmma.mma_async" in kernel.ptx and "tile.launch" in kernel.ir("tile")
assert kernel.source == "compiler" and get_compiler().name == "libfa3"
assert kernel.timeline(b=1, sq=128, sk=128)["traceEvents"]
set_driver(None)
assert fa3.compile(text).source == "cache"
try:
    fa3.compile("func.func @f( {")
    raise AssertionError("a wrong module is compiled")
except fa3.CompileError as error:
    assert ":1:14: error:" in str(error), error

# Two keys that score the same: o is the mean of their values.
attention = b"""
func.func @f(%q: tensor<1x1x1x64xf16>, %k: tensor<1x1x2x64xf16>,
             %v: tensor<1x1x2x64xf16>) -> tensor<1x1x1x64xf16> {
  %o = attention.forward %q, %k, %v : (tensor<1x1x1x64xf16>,
    tensor<1x1x2x64xf16>, tensor<1x1x2x64xf16>) -> tensor<1x1x1x64xf16>
  return %o : tensor<1x1x1x64xf16>
}
"""
values = ctypes.create_string_buffer(struct.pack("<128e", *range(128)), 256)
zeros = ctypes.create_string_buffer(256)
output = ctypes.create_string_buffer(128)
arguments = (fa3_runtime._Arg * 4)()
for i, (data, rows) in enumerate(((zeros, 1), (zeros, 2), (values, 2), (output, 1))):
    argument = arguments[i]  # an f16 array: kind 0, type 0
    argument.value.data = ctypes.addressof(data)
    argument.rank = 4
    argument.shape[:4] = 1, 1, rows, 64
    argument.stride[:4] = rows * 64, rows * 64, 64, 1
outcome, diagnostics = call(
    library.fa3_interpret, attention, None, None, arguments, ctypes.c_size_t(4)
)
assert outcome == 0, diagnostics
assert struct.unpack("<64e", output.raw[:128]) == tuple(range(32, 96))
print(
    f"fa3 {fa3.__version__} in {folder.parent.name}: {time.monotonic() - start:.1f} s"
)
