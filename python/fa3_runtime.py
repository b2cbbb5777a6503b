# SPDX-License-Identifier: Apache-2.0
"""Python binding of libfa3_runtime: load, check and launch fa3 kernels.

    import torch, fa3_runtime
    program = fa3_runtime.Program.load("forward")   # forward.json, forward.ptx
    program(q, k, v, o, lse, scale)                 # current torch stream

A thin layer over the C interface by ctypes; nothing to build. Torch is not
needed: an argument may also be an Array, that is an address with type, extents
and strides, and the functions device_* and the class Buffer replace what a
framework offers. docs/Runtime.md describes the library.

The shared library is looked for at $FA3_RUNTIME_LIBRARY, beside this file, in
../lib and ../build/lib, then by the loader.
"""

import collections
import contextlib
import ctypes
import operator
import os
import pathlib
import sys

ABI = 1
MAX_RANK = 8
MESSAGE_SIZE = 1024

TYPES = (
    "f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2",
    "i1", "i8", "i16", "i32", "i64",
)  # fmt: skip
_TORCH_TYPES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2", "bool": "i1",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
}  # fmt: skip
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


class Array:
    """A tensor in device memory given by its address; strides count elements
    and default to contiguous."""

    def __init__(self, address, type, shape, strides=None):
        self.address, self.type = operator.index(address), type
        self.shape = tuple(shape)
        if strides is None:
            strides, running = [], 1
            for extent in reversed(self.shape):
                strides.insert(0, running)
                running *= max(extent, 1)
        self.strides = tuple(strides)


Argument = collections.namedtuple("Argument", "name kind type access dims")
Launch = collections.namedtuple("Launch", "kernel block cluster smem num_args")
DeviceInfo = collections.namedtuple(
    "DeviceInfo", "name sms compute_capability max_smem driver_version"
)


# -----------------------------------------------------------------------------
# The C interface
# -----------------------------------------------------------------------------


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


def _find_library():
    override = os.environ.get("FA3_RUNTIME_LIBRARY")
    if override:
        return override
    here = pathlib.Path(__file__).resolve().parent
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
        for name in ("program_num_args", "program_num_launches"):
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


# -----------------------------------------------------------------------------
# Programs
# -----------------------------------------------------------------------------


def _torch_type(name, tensor, expected):
    type = str(tensor.dtype).rpartition(".")[2]
    # Bytes that hold 8-bit floats are common where torch lacks operations on
    # them; an exact type is preferred by every other tensor.
    if type == "uint8" and expected in ("i8", "f8E4M3FN", "f8E5M2"):
        return expected
    if type not in _TORCH_TYPES:
        raise TypeError(f"argument '{name}': no element type for {tensor.dtype}")
    return _TORCH_TYPES[type]


def _to_arg(info, value, arg):
    """Fills `arg` from a number, an Array or a torch tensor."""
    if hasattr(value, "data_ptr"):
        if not value.is_cuda:
            raise TypeError(f"argument '{info.name}': tensor is not on a GPU")
        value = Array(
            value.data_ptr(),
            _torch_type(info.name, value, info.type),
            value.shape,
            value.stride(),
        )
    if isinstance(value, Array):
        if value.type not in TYPES:
            raise TypeError(f"argument '{info.name}': no type '{value.type}'")
        if len(value.shape) > MAX_RANK or len(value.shape) != len(value.strides):
            raise TypeError(f"argument '{info.name}': rank or strides")
        what = f"argument '{info.name}'"
        arg.kind = _TENSOR
        arg.type = TYPES.index(value.type)
        arg.value.data = _checked_address(what, value.address)
        arg.rank = len(value.shape)
        for d, (extent, stride) in enumerate(zip(value.shape, value.strides)):
            arg.shape[d] = _checked_integer(f"{what}, extent", extent)
            arg.stride[d] = _checked_integer(f"{what}, stride", stride)
        return
    arg.kind = _SCALAR
    if info.kind == "scalar" and info.type.startswith("i"):
        arg.type = TYPES.index(info.type)
        arg.value.integer = _checked_integer(f"argument '{info.name}'", value)
    elif isinstance(value, (int, float)):
        arg.type = TYPES.index("f32")
        arg.value.real = value
    else:
        raise TypeError(
            f"argument '{info.name}': expected a number, an Array or a tensor"
        )


# ctypes would cut what does not fit.
def _checked_integer(what, value):
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: expected an integer") from None
    if not -(2**63) <= value < 2**63:
        raise OverflowError(f"{what}: {value} beyond 64 bits")
    return value


def _checked_address(what, value):
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: expected an address") from None
    if not 0 <= value < 2**64:
        raise OverflowError(f"{what}: address {value} beyond 64 bits")
    return value


def _torch_tensor(values):
    """The first torch tensor among the arguments, or None."""
    torch = sys.modules.get("torch")
    for value in values:
        if torch is not None and isinstance(value, torch.Tensor):
            return value
    return None


def _current_stream(values):
    """Torch's current stream if there is a torch tensor, else the default."""
    tensor = _torch_tensor(values)
    if tensor is None:
        return 0
    return sys.modules["torch"].cuda.current_stream(tensor.device).cuda_stream


def _allocate(size, values, stream):
    """Memory for a workspace, of the framework that the arguments come from."""
    tensor = _torch_tensor(values)
    if tensor is None:
        return _OwnBuffer(size)
    torch = sys.modules["torch"]
    memory = torch.empty(size, dtype=torch.uint8, device=tensor.device)
    # Once freed, torch may give it to others on its current stream.
    if stream != _current_stream(values):
        memory.record_stream(torch.cuda.ExternalStream(stream, tensor.device))
    return memory


def _get_memory(workspace):
    """Address and size of a workspace."""
    if workspace is None:
        return None, 0
    if hasattr(workspace, "data_ptr"):
        if not workspace.is_cuda:
            raise TypeError("workspace: tensor is not on a GPU")
        if not workspace.is_contiguous():
            raise TypeError("workspace: tensor is not contiguous")
        address = workspace.data_ptr()
        size = workspace.numel() * workspace.element_size()
    elif isinstance(workspace, Buffer):
        address, size = workspace.address, workspace.size
        if size and not address:
            raise ValueError("workspace: the buffer is freed")
    else:
        address, size = workspace
    return (
        _checked_address("workspace", address),
        _checked_integer("workspace, size", size),
    )


class Program:
    """A manifest, and its code unless it was only parsed."""

    def __init__(self, manifest, image=None, cubin=False, device_sms=0):
        """`manifest` and `image` are bytes or str. Without an image the program
        can be asked but not launched; formulas then see `device_sms`."""
        self._handle = None
        self._library = _library()
        manifest = manifest.encode() if isinstance(manifest, str) else manifest
        image = image.encode() if isinstance(image, str) else image
        handle = ctypes.c_void_p()
        if image is None:
            self._library.program_parse(
                manifest, len(manifest), device_sms, ctypes.byref(handle)
            )
        else:
            self._library.program_load(
                manifest, len(manifest), image, len(image),
                _CUBIN if cubin else _PTX, ctypes.byref(handle),
            )  # fmt: skip
        self._handle = handle
        self.function = self._library.program_function(handle).decode()
        self.chip = self._library.program_chip(handle).decode()
        self.args = [self._argument(i) for i in range(self._count("args"))]
        self.launches = [self._launch(i) for i in range(self._count("launches"))]

    @classmethod
    def load(cls, path):
        """Loads PATH.json with PATH.cubin or else PATH.ptx; a path that ends in
        .json, .ptx or .cubin names the manifest or chooses the code."""
        path = pathlib.Path(path)
        stem, suffix = path, path.suffix
        if suffix in (".json", ".ptx", ".cubin"):
            stem = path.with_suffix("")
        manifest = pathlib.Path(f"{stem}.json").read_bytes()
        code = path
        if suffix not in (".ptx", ".cubin"):
            code = pathlib.Path(f"{stem}.cubin")
            if not code.exists():
                code = pathlib.Path(f"{stem}.ptx")
        return cls(manifest, code.read_bytes(), cubin=code.suffix == ".cubin")

    def __call__(self, *args, stream=None, workspace=None, **named):
        """Launches on `stream` (an address), by default the current stream of
        torch for torch tensors and the default stream otherwise. A workspace
        that is not given comes from torch, whose memory is ordered by streams;
        without torch a program that needs one has to be given it, or bound."""
        if workspace is None and _torch_tensor(self._order(args, dict(named))) is None:
            size = self.workspace_size(*args, **named)
            if size:
                raise TypeError(f"'{self.function}' needs a workspace of {size} bytes")
        self.bind(*args, stream=stream, workspace=workspace, **named)()

    def bind(self, *args, stream=None, workspace=None, **named):
        """A function that launches with these arguments; holds on to them.

        `workspace` is memory for a program that needs some (workspace_size): a
        torch tensor, a Buffer, or (address, bytes). Without it, it comes from
        torch if there is a torch tensor, else from a Buffer, and is held until
        the function is dropped."""
        values = self._order(args, named)
        array = self._to_args(values)
        self._check_devices(values, workspace)
        if stream is None:
            stream = _current_stream(values)
        stream = _checked_address("stream", stream)
        launch, size = self._library.launch_with_workspace, self._workspace_size(array)
        if workspace is None and size:
            workspace = _allocate(size, values, stream)
        _get_memory(workspace)

        def run():
            # The program may have been closed and a buffer freed since.
            address, size = _get_memory(workspace)
            launch(self._open(), array, len(values), address, size, stream)

        return run

    def _check_devices(self, values, workspace):
        """Torch tensors are on the device that the code is loaded on."""
        expected = self._library.program_device(self._open())
        if expected < 0:
            return
        names = [f"argument '{info.name}'" for info in self.args]
        for what, value in zip([*names, "workspace"], [*values, workspace]):
            if not hasattr(value, "data_ptr"):
                continue
            index = value.device.index
            if index is not None and index != expected:
                raise ValueError(
                    f"{what}: on device {index}, the program on {expected}"
                )

    def workspace_size(self, *args, **named):
        """Bytes of device memory that the kernels of a call use among
        themselves."""
        return self._workspace_size(self._to_args(self._order(args, named)))

    def validate(self, *args, **named):
        """All checks of a launch; raises Error."""
        values = self._order(args, named)
        self._library.validate(self._open(), self._to_args(values), len(values))

    def flops(self, *args, **named):
        return self._evaluate(self._library.evaluate, 0, args, named)

    def bytes(self, *args, **named):
        return self._evaluate(self._library.evaluate, 1, args, named)

    def grid(self, *args, launch=0, **named):
        return self._evaluate(self._library.evaluate_grid, launch, args, named)

    def check_ptx(self, ptx):
        ptx = ptx.encode() if isinstance(ptx, str) else ptx
        self._library.program_check_ptx(self._open(), ptx, len(ptx))

    def close(self):
        """Unloads the program; launches must have finished."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.program_destroy(handle)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __del__(self):
        # What a dead driver or context says at the end helps nobody.
        with contextlib.suppress(Exception):
            self.close()

    def _open(self):
        if self._handle is None:
            raise ValueError("the program is closed")
        return self._handle

    def _count(self, what):
        return getattr(self._library, "program_num_" + what)(self._handle)

    def _argument(self, index):
        info = _ArgInfo()
        self._library.program_arg_info(self._handle, index, ctypes.byref(info))
        dims = tuple(
            info.extent[d] if info.dim_name[d] is None else info.dim_name[d].decode()
            for d in range(info.rank)
        )
        tensor = info.kind == _TENSOR
        return Argument(
            info.name.decode(),
            "tensor" if tensor else "scalar",
            TYPES[info.type],
            ("read", "write", "readwrite")[info.access] if tensor else None,
            dims,
        )

    def _launch(self, index):
        info = _LaunchInfo()
        self._library.program_launch_info(self._handle, index, ctypes.byref(info))
        return Launch(
            info.kernel.decode(), info.block, info.cluster, info.smem, info.num_args
        )

    def _order(self, args, named):
        """Positional and named arguments in the order of the manifest."""
        if len(args) > len(self.args):
            raise TypeError(
                f"{len(args)} arguments, '{self.function}' takes {len(self.args)}"
            )
        values = list(args)
        for info in self.args[: len(args)]:
            if info.name in named:
                raise TypeError(f"argument '{info.name}' given twice")
        for info in self.args[len(args) :]:
            if info.name not in named:
                raise TypeError(f"argument '{info.name}' is missing")
            values.append(named.pop(info.name))
        if named:
            raise TypeError(f"no argument '{next(iter(named))}'")
        return values

    def _to_args(self, values):
        array = (_Arg * len(values))()
        for info, value, arg in zip(self.args, values, array):
            _to_arg(info, value, arg)
        return array

    def _workspace_size(self, array):
        result = ctypes.c_int64()
        self._library.workspace_size(
            self._open(), array, len(array), ctypes.byref(result)
        )
        return result.value

    def _evaluate(self, function, what, args, named):
        values = self._order(args, named)
        result = ctypes.c_int64()
        array = self._to_args(values)
        function(self._open(), what, array, len(values), ctypes.byref(result))
        return result.value


# -----------------------------------------------------------------------------
# Device helpers
# -----------------------------------------------------------------------------


def device_count():
    count = ctypes.c_int32()
    _library().device_count(ctypes.byref(count))
    return count.value


def device_initialize(device=0):
    """Retains the primary context of a device and makes it current."""
    _library().device_initialize(device)


def device_release(device=0):
    _library().device_release(device)


def device_info(device=0):
    info = _DeviceInfo()
    _library().device_query(device, ctypes.byref(info))
    return DeviceInfo(
        info.name.decode(),
        info.sms,
        (info.major, info.minor),
        info.max_smem,
        info.driver_version,
    )


def device_synchronize():
    """Waits for all work; raises Error with code "kernel" if a kernel failed."""
    _library().device_synchronize()


class Buffer:
    """Device memory for programs without torch."""

    def __init__(self, size_or_data):
        data = None if isinstance(size_or_data, int) else bytes(size_or_data)
        self.size = size_or_data if data is None else len(data)
        self.address = 0
        address = ctypes.c_uint64()
        # Empty tensors have no memory.
        if self.size:
            _library().device_alloc(self.size, ctypes.byref(address))
        self.address = address.value
        if data:
            self.upload(data)

    def upload(self, data):
        data = bytes(data)
        if len(data) > self.size:
            raise ValueError(f"{len(data)} bytes for a buffer of {self.size}")
        _library().device_upload(self.address, data, len(data))

    def download(self):
        data = ctypes.create_string_buffer(max(self.size, 1))
        if self.size:
            _library().device_download(data, self.address, self.size)
        return data.raw[: self.size]

    def fill(self, byte=0):
        if self.size:
            _library().device_fill(self.address, byte, self.size)

    def array(self, type, shape, strides=None):
        return Array(self.address, type, shape, strides)

    def free(self):
        address, self.address = self.address, 0
        if address:
            _library().device_free(address)


class _OwnBuffer(Buffer):
    """Memory that nobody but the binding knows."""

    def __del__(self):
        # At the end the driver may be gone.
        with contextlib.suppress(Exception):
            self.free()


class Event:
    """A point on a stream; two of them measure time."""

    def __init__(self):
        self._handle = ctypes.c_void_p()
        _library().device_event_create(ctypes.byref(self._handle))

    def record(self, stream=0):
        _library().device_event_record(self._handle, stream)

    def synchronize(self):
        _library().device_event_synchronize(self._handle)

    def elapsed_ms(self, end):
        """Milliseconds from this event to `end`; both must be complete."""
        result = ctypes.c_float()
        _library().device_event_elapsed(
            self._handle, end._handle, ctypes.byref(result)
        )
        return result.value

    def destroy(self):
        handle, self._handle = self._handle, None
        if handle is not None:
            _library().device_event_destroy(handle)
