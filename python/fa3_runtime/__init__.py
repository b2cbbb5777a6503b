# SPDX-License-Identifier: Apache-2.0
"""Python binding of libfa3_runtime: load, check and launch fa3 kernels.

    import torch, fa3_runtime
    program = fa3_runtime.Program.load("forward")   # forward.json, forward.ptx
    program(q, k, v, o, lse, scale)                 # current torch stream

A thin layer over the C interface by ctypes; nothing to build. Torch is not
needed: an argument may also be an Array, that is an address with type, extents
and strides, and the functions device_* and the class Buffer replace what a
framework offers. docs/Runtime.md describes the library.

The shared library is looked for at $FA3_RUNTIME_LIBRARY, beside this package, in
../lib and ../build/lib seen from there, then by the loader.
"""

# Names with an underscore are for the package fa3.
from .arguments import _TORCH_TYPES, Array
from .device import (
    Buffer, DeviceInfo, Event, device_count, device_info, device_initialize,
    device_release, device_synchronize,
)  # fmt: skip
from .interface import (
    _CODES, ABI, MAX_RANK, MESSAGE_SIZE, TYPES, Error, _Arg, _library, _Status, hash,
)  # fmt: skip
from .program import Argument, Launch, Program
