# SPDX-License-Identifier: Apache-2.0
"""The C interface of libfa3_runtime by ctypes: its structures, functions and
errors. include/fa3/Runtime/fa3_runtime.h describes it."""

import ctypes
import os
import pathlib

ABI = 1
MAX_RANK = 8
MESSAGE_SIZE = 1024

TYPES = (
    "f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2",
    "i1", "i8", "i16", "i32", "i64",
)  # fmt: skip
_CODES = (
    "success", "argument", "requirement", "manifest", "mismatch", "image",
    "no_driver", "device", "context", "driver", "kernel", "memory",
)  # fmt: skip
_TENSOR, _SCALAR = 0, 1
_PTX, _CUBIN = 0, 1


class Error(RuntimeError):
    """An error of the runtime. `code` is its kind, such as "argument" or
    "kernel"; `driver_code` the CUresult behind it, or 0."""

    def __init__(self, code, driver_code, message):
        super().__init__(message)
        self.code = code
        self.driver_code = driver_code


class _Status(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_int),
        ("driver_code", ctypes.c_int32),
        ("message", ctypes.c_char * MESSAGE_SIZE),
    ]


class _Value(ctypes.Union):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
    ]


class _Arg(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int),
        ("type", ctypes.c_int),
        ("value", _Value),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.c_int64 * MAX_RANK),
        ("stride", ctypes.c_int64 * MAX_RANK),
    ]


class _ArgInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("type", ctypes.c_int),
        ("access", ctypes.c_int),
        ("rank", ctypes.c_int32),
        ("extent", ctypes.c_int64 * MAX_RANK),
        ("dim_name", ctypes.c_char_p * MAX_RANK),
    ]


class _LaunchInfo(ctypes.Structure):
    _fields_ = [
        ("kernel", ctypes.c_char_p),
        ("block", ctypes.c_int32),
        ("cluster", ctypes.c_int32),
        ("smem", ctypes.c_int32),
        ("num_args", ctypes.c_size_t),
    ]


class _DeviceInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 256),
        ("sms", ctypes.c_int32),
        ("major", ctypes.c_int32),
        ("minor", ctypes.c_int32),
        ("max_smem", ctypes.c_int32),
        ("driver_version", ctypes.c_int32),
    ]


def _signatures():
    p, size, string = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    i32, u64 = ctypes.c_int32, ctypes.c_uint64
    args = (p, ctypes.POINTER(_Arg), size)
    # The parameters before the status that all of these end with.
    return {
        "program_load": (string, size, p, size, ctypes.c_int, p),
        "program_parse": (string, size, ctypes.c_int64, p),
        "program_destroy": (p,),
        "program_check_ptx": (p, string, size),
        "program_arg_info": (p, size, p),
        "program_launch_info": (p, size, p),
        "validate": args,
        "launch_with_workspace": args + (p, ctypes.c_int64, p),
        "launch_again": args + (p, ctypes.c_int64, p, p),
        "workspace_size": args + (p,),
        "evaluate": (p, ctypes.c_int, ctypes.POINTER(_Arg), size, p),
        "evaluate_grid": (p, size, ctypes.POINTER(_Arg), size, p),
        "device_count": (p,),
        "device_initialize": (i32,),
        "device_release": (i32,),
        "device_query": (i32, p),
        "device_alloc": (size, p),
        "device_free": (u64,),
        "device_upload": (u64, p, size),
        "device_download": (p, u64, size),
        "device_fill": (u64, ctypes.c_uint8, size),
        "device_synchronize": (),
        "device_event_create": (p,),
        "device_event_destroy": (p,),
        "device_event_record": (p, p),
        "device_event_synchronize": (p,),
        "device_event_elapsed": (p, p, p),
    }


# Where the shared library is, if whoever imports the package knows.
library_path = None


def _find_library():
    if library_path is not None:
        return library_path
    override = os.environ.get("FA3_RUNTIME_LIBRARY")
    if override:
        return override
    here = pathlib.Path(__file__).resolve().parents[1]
    for folder in (here, here.parent / "lib", here.parent / "build" / "lib"):
        if (folder / "libfa3_runtime.so").exists():
            return str(folder / "libfa3_runtime.so")
    return "libfa3_runtime.so"


class _Library:
    """The functions of the C interface; each raises Error instead of returning
    a code. Opened at the first use."""

    def __init__(self):
        path = _find_library()
        self._c = ctypes.CDLL(path)
        abi = self._c.fa3_runtime_abi()
        if abi != ABI:
            raise ImportError(f"{path} has interface {abi}, expected {ABI}")
        for name in ("program_function", "program_chip"):
            function = getattr(self._c, "fa3_" + name)
            function.restype = ctypes.c_char_p
            function.argtypes = [ctypes.c_void_p]
            setattr(self, name, function)
        for name in ("program_num_args", "program_num_launches", "memo_size"):
            function = getattr(self._c, "fa3_" + name)
            function.restype = ctypes.c_size_t
            function.argtypes = [ctypes.c_void_p]
            setattr(self, name, function)
        self.program_device = self._c.fa3_program_device
        self.program_device.restype = ctypes.c_int32
        self.program_device.argtypes = [ctypes.c_void_p]
        self.hash = self._c.fa3_hash
        self.hash.restype = ctypes.c_uint64
        self.hash.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        for name, parameters in _signatures().items():
            function = getattr(self._c, "fa3_" + name)
            function.restype = ctypes.c_int
            function.argtypes = [*parameters, ctypes.POINTER(_Status)]
            setattr(self, name, self._raising(function))

    @staticmethod
    def _raising(function):
        def call(*args):
            status = _Status()
            if function(*args, ctypes.byref(status)):
                raise Error(
                    _CODES[status.code],
                    status.driver_code,
                    status.message.decode("utf-8", "replace"),
                )

        return call


_the_library = None


def _library():
    global _the_library
    if _the_library is None:
        _the_library = _Library()
    return _the_library


def hash(data):
    """XXH3-64 of bytes, the hash of `ptx_hash`."""
    return _library().hash(bytes(data), len(data))
