# SPDX-License-Identifier: Apache-2.0
"""Devices, memory and events for programs without a framework."""

import collections
import contextlib
import ctypes

from .arguments import Array
from .interface import _DeviceInfo, _library

DeviceInfo = collections.namedtuple(
    "DeviceInfo", "name sms compute_capability max_smem driver_version"
)


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
