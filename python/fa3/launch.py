# SPDX-License-Identifier: Apache-2.0
"""Launches of a kernel with arguments of fixed types, shapes and strides."""

from __future__ import annotations

import sys
from typing import Any, Callable, Sequence

from .driver import Kernel
from .plan import Plan

ALIGNMENT = 256  # of a workspace
MAX_PLANS = 4096


class Launcher:
    """`values` are the arguments in the order of the kernel: runtime.Array, whose
    addresses do not matter, or (type, number)."""

    def __init__(self, kernel: Kernel, device: int, values: Sequence[Any]) -> None:
        self.kernel, self.device = kernel, device
        self.plan = Plan(kernel.program(device), values)
        self.slots = tuple(
            (slot, value[0] if isinstance(value, tuple) else "")
            for slot, value in zip(self.plan.slots, values)
        )
        #: Bytes to pass as workspace, whose address need not be aligned.
        self.workspace_size = self.plan.workspace_size
        if self.workspace_size:
            self.workspace_size += ALIGNMENT

    def at(self, values: Sequence[int | float], stream: int, workspace: int = 0) -> None:
        """With addresses in the places of arrays, and numbers."""
        plan = self.plan
        frame = plan.acquire()
        for (slot, type), value in zip(self.slots, values):
            (frame.numbers if type == "f32" else frame.words)[slot] = value
        address = -(-workspace // ALIGNMENT) * ALIGNMENT
        try:
            plan.run(frame, stream, address if plan.workspace_size else None)
        finally:
            plan.release(frame)

    def run(self, values: Sequence[Any]) -> None:
        """With torch tensors and numbers, on the current stream of their device."""
        torch = sys.modules["torch"]
        if torch._C._cuda_getDevice() != self.device:
            with torch.cuda.device(self.device):
                self._run(torch, values)
        else:
            self._run(torch, values)

    def _run(self, torch: Any, values: Sequence[Any]) -> None:
        workspace = None
        if self.workspace_size:
            # Freed in the order of the stream.
            workspace = torch.empty(
                self.workspace_size, dtype=torch.uint8, device=values[0].device
            )
        self.at(
            [
                value if type else value.data_ptr()
                for (_, type), value in zip(self.slots, values)
            ],
            torch._C._cuda_getCurrentRawStream(self.device),
            workspace.data_ptr() if workspace is not None else 0,
        )  # fmt: skip


def keep(plans: dict[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
    """Adds what `make` gives to a cache of bounded size."""
    if len(plans) >= MAX_PLANS:
        plans.clear()
    made = plans[key] = make()
    return made
