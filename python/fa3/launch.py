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
        types = [value[0] if isinstance(value, tuple) else "" for value in values]
        places = list(zip(self.plan.slots, range(len(values)), types))
        #: Where the arrays go, those of f32 and of other numbers, and which values they are.
        self.arrays = tuple((slot, n) for slot, n, type in places if not type)
        self.reals = tuple((slot, n) for slot, n, type in places if type == "f32")
        self.numbers = tuple(
            (slot, n) for slot, n, type in places if type and type != "f32"
        )
        #: Bytes to pass as workspace, whose address need not be aligned.
        self.workspace_size = self.plan.workspace_size
        if self.workspace_size:
            self.workspace_size += ALIGNMENT

    def at(self, values: Sequence[int | float], stream: int, workspace: int = 0) -> None:
        """With addresses in the places of arrays, and numbers."""
        plan = self.plan
        frame = plan.acquire()
        words, reals = frame.words, frame.numbers
        for slot, n in self.arrays:
            words[slot] = values[n]
        self._finish(frame, words, reals, values, stream, workspace)

    def run(self, values: Sequence[Any]) -> None:
        """With torch tensors and numbers, on the current stream of their device."""
        torch = sys.modules["torch"]
        if torch._C._cuda_getDevice() != self.device:
            with torch.cuda.device(self.device):
                return self._run(torch, values)
        return self._run(torch, values)

    def _run(self, torch: Any, values: Sequence[Any]) -> None:
        workspace = None
        if self.workspace_size:
            # Freed in the order of the stream.
            workspace = torch.empty(
                self.workspace_size, dtype=torch.uint8, device=values[0].device
            )
        frame = self.plan.acquire()
        words, reals = frame.words, frame.numbers
        for slot, n in self.arrays:
            words[slot] = values[n].data_ptr()
        self._finish(
            frame, words, reals, values, torch._C._cuda_getCurrentRawStream(self.device),
            workspace.data_ptr() if workspace is not None else 0,
        )  # fmt: skip

    def _finish(
        self, frame: Any, words: Any, reals: Any, values: Sequence[Any], stream: int,
        workspace: int,
    ) -> None:  # fmt: skip
        for slot, n in self.reals:
            reals[slot] = values[n]
        for slot, n in self.numbers:
            words[slot] = values[n]
        address = -(-workspace // ALIGNMENT) * ALIGNMENT
        plan = self.plan
        try:
            plan.run(frame, stream, address if plan.workspace_size else None)
        finally:
            plan.release(frame)


def keep(plans: dict[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
    """Adds what `make` gives to a cache of bounded size."""
    if len(plans) >= MAX_PLANS:
        plans.clear()
    made = plans[key] = make()
    return made
