# SPDX-License-Identifier: Apache-2.0
"""Clock and power of the device, by NVML or else nvidia-smi."""

from __future__ import annotations

import ctypes
import subprocess
from typing import Optional

_SM_CLOCK = 1


class Meter:
    """`read()` gives MHz of the multiprocessors and watts, or None."""

    def __init__(self, uuid: str):
        self._uuid = uuid if uuid.startswith("GPU-") else f"GPU-{uuid}"
        self._nvml, self._device = self._open()
        self.source = "NVML" if self._nvml else "nvidia-smi"

    def _open(self):
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return None, None
        device = ctypes.c_void_p()
        if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByUUID(
            self._uuid.encode(), ctypes.byref(device)
        ):
            return None, None
        return nvml, device

    def read(self) -> Optional[tuple[float, float]]:
        if not self._nvml:
            return self._ask()
        clock, milliwatts = ctypes.c_uint(), ctypes.c_uint()
        if self._nvml.nvmlDeviceGetClockInfo(
            self._device, _SM_CLOCK, ctypes.byref(clock)
        ) or self._nvml.nvmlDeviceGetPowerUsage(
            self._device, ctypes.byref(milliwatts)
        ):
            return None
        return float(clock.value), milliwatts.value / 1e3

    def _ask(self):
        command = [
            "nvidia-smi", f"--id={self._uuid}", "--format=csv,noheader,nounits",
            "--query-gpu=clocks.sm,power.draw",
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=5
            )
            clock, watts = done.stdout.strip().split(",")
            return float(clock), float(watts)
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
