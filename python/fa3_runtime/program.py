# SPDX-License-Identifier: Apache-2.0
"""Programs: a manifest and its code, checked and launched."""

import collections
import contextlib
import ctypes
import pathlib

from .arguments import _checked_address, _to_arg
from .interface import (
    _CUBIN, _PTX, _TENSOR, TYPES, _Arg, _ArgInfo, _LaunchInfo, _library,
)  # fmt: skip
from .workspace import _allocate, _current_stream, _get_memory, _torch_tensor

Argument = collections.namedtuple("Argument", "name kind type access dims")
Launch = collections.namedtuple("Launch", "kernel block cluster smem num_args")


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
