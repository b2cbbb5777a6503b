# SPDX-License-Identifier: Apache-2.0
"""A call of fa3.attention that can be made again: a Plan with what is around it."""

from __future__ import annotations

import contextlib
import math
import sys
from typing import TYPE_CHECKING, Any, Sequence

from . import tensors
from .checks import MAX_SCALE, check_scalars, check_scale
from .driver import Kernel
from .errors import UnsupportedError
from .launch import ALIGNMENT
from .plan import Plan, raise_status

if TYPE_CHECKING:
    from .request import Request

_all_ones: dict[Any, Any] = {}


def ones(torch: Any, device: Any) -> Any:
    if device not in _all_ones:
        _all_ones[device] = torch.ones((1, 1), dtype=torch.float32, device=device)
    return _all_ones[device]


@contextlib.contextmanager
def device_guard(like: Any, device: int) -> Any:
    if tensors.is_torch(like) and like.is_cuda:
        with sys.modules["torch"].cuda.device(device):
            yield
    else:
        yield


class Call:
    """A plan with what is needed around it: outputs, stream, device."""

    def __init__(
        self, request: Request, kernel: Kernel, plan: Plan, o: Any, lse: Any
    ) -> None:
        self.kernel, self.plan, self.device = kernel, plan, request.device
        inputs = request.spec.inputs
        #: Bytes for launch_at, at any address.
        self.workspace_size = plan.workspace_size
        if self.workspace_size:
            self.workspace_size += ALIGNMENT
        self.default_scale = 1.0 / math.sqrt(request.head_dim)
        self.has_lse = request.return_lse
        tensor_slots, scalar_slots = [], []
        names = []
        for name, slot in zip(inputs, plan.slots):
            if name == "scale":
                self.scale_slot = slot
            elif name.startswith("arg"):
                scalar_slots.append(slot)
            else:
                tensor_slots.append(slot)
                names.append(name)
        outputs = plan.slots[len(inputs) :]
        self.names = tuple(names)
        #: Descales that are not given: they are 1.
        self._filled = tuple(n for n, name in enumerate(names) if name in request.filled)
        self.tensor_slots = (*tensor_slots, *outputs)
        self.scalars = tuple(zip(scalar_slots, request.regions.scalars))
        if not tensors.is_torch(request.values["q"]):
            return
        torch = sys.modules["torch"]
        self._torch = torch
        self._slots3 = tuple(plan.slots[:3])
        self._out_slot = outputs[0]
        self._lse_slot = outputs[1] if self.has_lse else -1
        q = request.values["q"]
        shape, strides = tuple(o.shape), o.stride()
        self._o_like_q = (
            request.out is None and o.dtype == q.dtype
            and shape == tuple(q.shape)
            and torch.empty_like(q, device="meta").stride() == strides
        )  # fmt: skip
        self._o = (shape, strides)
        self._o_named = {"dtype": o.dtype, "device": o.device}
        self._lse_shape = tuple(lse.shape) if self.has_lse else None
        self._lse_named = {"dtype": torch.float32, "device": o.device}
        self._empty, self._empty_like = torch.empty, torch.empty_like
        self._get_stream = torch._C._cuda_getCurrentRawStream
        self._get_device = torch._C._cuda_getDevice
        self._simple = plan.workspace_size == 0 and len(names) == 3

    def __call__(self, q: Any, k: Any, v: Any, scale: float | None) -> Any:
        """Once more, with tensors of the same types, shapes and strides."""
        if not self._simple or self._get_device() != self.device:
            return self.again((q, k, v), scale, ())
        if scale is None:
            scale = self.default_scale
        elif not (isinstance(scale, float) and 0.0 < scale <= MAX_SCALE):
            scale = check_scale(scale, 1)
        o = (
            self._empty_like(q)
            if self._o_like_q
            else self._torch.empty_strided(*self._o, **self._o_named)
        )
        plan = self.plan
        frame = plan.acquire()
        words = frame.words
        slot_q, slot_k, slot_v = self._slots3
        words[slot_q] = q.data_ptr()
        words[slot_k] = k.data_ptr()
        words[slot_v] = v.data_ptr()
        words[self._out_slot] = o.data_ptr()
        frame.numbers[self.scale_slot] = scale
        if self.has_lse:
            lse = self._empty(self._lse_shape, **self._lse_named)
            words[self._lse_slot] = lse.data_ptr()
        code = plan.launch(
            plan.handle, frame.array, plan.count, None, 0,
            self._get_stream(self.device), frame.memo, frame.status_ref,
        )  # fmt: skip
        plan.release(frame)
        if code:
            raise_status(frame.status)
        return (o, lse) if self.has_lse else o

    def again(
        self, inputs: Sequence[Any], scale: float | None, scalars: Sequence[Any],
        outputs: Sequence[Any] = (),
    ) -> Any:  # fmt: skip
        """Once more, with all tensors that the kernel reads, captured numbers, and
        the tensors that it writes, if they are not to be made."""
        scale = self.default_scale if scale is None else check_scale(scale, 1)
        made = list(outputs) or [self._torch.empty_strided(*self._o, **self._o_named)]
        if self.has_lse and len(made) == 1:
            made.append(self._empty(self._lse_shape, **self._lse_named))
        given = [*inputs, *made]
        for number in self._filled:
            given.insert(number, ones(self._torch, given[0].device))
        if self._get_device() == self.device:
            self.launch(given, scale, scalars)
        else:
            with device_guard(inputs[0], self.device):
                self.launch(given, scale, scalars)
        return tuple(made) if self.has_lse else made[0]

    def launch(self, given: Sequence[Any], scale: float, scalars: Sequence[Any]) -> None:
        """With torch tensors in the order of the kernel, outputs last, on the
        current stream of their device."""
        torch = self._torch
        workspace = None
        if self.workspace_size:
            # Freed in the order of the stream.
            workspace = torch.empty(
                self.workspace_size, dtype=torch.uint8, device=given[0].device
            )
        self.launch_at(
            [tensor.data_ptr() for tensor in given], scale, scalars,
            self._get_stream(self.device),
            workspace.data_ptr() if workspace is not None else 0,
        )  # fmt: skip

    def launch_at(
        self, addresses: Sequence[int], scale: float, scalars: Sequence[Any],
        stream: int, workspace: int = 0,
    ) -> None:  # fmt: skip
        if self.workspace_size and not workspace:
            raise UnsupportedError(
                f"a workspace of {self.workspace_size} bytes, without torch"
            )
        check_scalars([type for _, type in self.scalars], scalars)
        frame = self.plan.acquire()
        for slot, address in zip(self.tensor_slots, addresses):
            frame.words[slot] = address
        frame.numbers[self.scale_slot] = scale
        for (slot, type), value in zip(self.scalars, scalars):
            if type == "f32":
                frame.numbers[slot] = value
            else:
                frame.words[slot] = value
        try:
            self.plan.run(
                frame, stream,
                -(-workspace // ALIGNMENT) * ALIGNMENT if workspace else None,
            )  # fmt: skip
        finally:
            self.plan.release(frame)
