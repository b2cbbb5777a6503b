# SPDX-License-Identifier: Apache-2.0
"""The gradients of q, k and v by fa3's backward kernels, of torch tensors."""

from __future__ import annotations

import sys
from typing import Any, Sequence

from . import tensors
from .call import device_guard
from .checks import DIMS, check_scale
from .compiler import CompileOptions, get_compiler
from .driver import Kernel
from .errors import ArgumentError, ArgumentTypeError, UnsupportedError
from .plan import Plan
from .program import Program, parse
from .request import Request, compile_traced, program_request, tensors_key
from .spec import BackwardSpec
from .tensors import CPU

_MAX_PLANS = 4096
_ALIGNMENT = 256  # of a workspace
_kernels: dict[BackwardSpec, Kernel] = {}
_plans: dict[Any, "_Call"] = {}


def backward(
    do: Any, dlse: Any, q: Any, k: Any, v: Any, o: Any, lse: Any,
    extras: Sequence[Any], numbers: Sequence[float], text: str, scale: float | None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """dq, dk and dv, each with the type, the shape and the order in memory of what
    it is the gradient of. do and dlse are the gradients of o and lse (dlse may be
    None); extras, numbers, text and scale are those of the forward. The same bits
    in every run."""
    program = parse(text)
    do, o = _suitable(do), _suitable(o)
    lse = lse.contiguous()
    dlse = None if dlse is None else dlse.contiguous()
    grads = tuple(_empty(one) for one in (q, k, v))
    given = [q, k, v, o, lse, do, *([] if dlse is None else [dlse])]
    key = (text, tensors_key((*given, *extras)), dlse is None)
    call = _plans.get(key)
    traced = program.traced(extras, numbers)
    if call is None:
        request = program_request(q, k, v, extras, program, scale, traced)
        _check(request, o, lse, do, dlse)
        spec = BackwardSpec(request.spec, dlse is not None)
        arrays = _arrays(request, spec, given, grads)
        if program.interpret:
            get_compiler().interpret(
                spec.to_mlir(), arrays, CompileOptions(),
                None if program.interpret == "definition"
                else "tile" if program.interpret is True else program.interpret,
            )  # fmt: skip
            return grads
        if request.device == CPU:
            raise ArgumentError("q", "device is cpu, expected CUDA")
        call = _Call(request, spec, arrays, traced)
        if len(_plans) >= _MAX_PLANS:
            _plans.clear()
        _plans[key] = call
    call.run(given, _operands(program, extras), grads,
             traced.scalars if traced else (), scale)  # fmt: skip
    return grads


def _operands(program: Program, extras: Sequence[Any]) -> list[Any]:
    """Extras that the backward kernel takes: a sink is in lse."""
    names = [*program.extras, *("" for _ in extras[len(program.extras) :])]
    return [one for name, one in zip(names, extras) if name != "sinks"]


def _suitable(one: Any) -> Any:
    """A tensor that kernels take, copied where it is not: a gradient may be
    expanded or turned."""
    strides = one.stride()
    step = 16 // one.element_size()
    good = strides[3] == 1 and not one.data_ptr() % 16
    for extent, stride in zip(one.shape[:3], strides[:3]):
        good = good and (extent == 1 or (stride > 0 and stride % step == 0))
    return one if good else one.contiguous()


def _empty(like: Any) -> Any:
    torch = sys.modules["torch"]
    shape = tuple(like.shape)
    return torch.empty_strided(
        shape, tensors.dense_like(shape, like.stride()), dtype=like.dtype,
        device=like.device,
    )  # fmt: skip


def _check(request: Request, o: Any, lse: Any, do: Any, dlse: Any) -> None:
    type = request.spec.q_type
    if type not in ("f16", "bf16"):
        raise UnsupportedError(f"gradients of {type}")
    shape = list(request.views["q"].shape)
    shape[3] = request.head_dim_v
    rows = [shape[d] for d in DIMS[request.layout]]
    for name, value, wanted, expected in (
        ("o", o, shape, type), ("do", do, shape, type), ("lse", lse, rows, "f32"),
        ("dlse", dlse, rows, "f32"),
    ):  # fmt: skip
        if value is None:
            continue
        one = tensors.view(name, value)
        if list(one.shape) != list(wanted):
            raise ArgumentError(name, f"shape {one.shape}, expected {tuple(wanted)}")
        if one.type != expected:
            raise ArgumentTypeError(name, f"element type {one.type}, expected {expected}")
        if one.device != request.device:
            raise ArgumentError(name, "is not on the device of q")


def _arrays(
    request: Request, spec: BackwardSpec, given: Sequence[Any], grads: Sequence[Any]
) -> list[Any]:
    """The arguments of the kernel in its order."""
    names = spec.inputs[: len(given)]
    made = {
        name: tensors.view(name, value).array()
        if "lse" in name else request.in_order(tensors.view(name, value))
        for name, value in zip(names, given)
    }  # fmt: skip
    values = []
    for name in spec.inputs:
        values.append(made[name] if name in made else request.kernel_value(name))
    return values + [request.in_order(tensors.view("", one)) for one in grads]


class _Call:
    """A plan of the backward kernels with what is around it."""

    def __init__(
        self, request: Request, spec: BackwardSpec, arrays: Sequence[Any], traced: Any
    ) -> None:
        self.device, self.head_dim = request.device, request.head_dim
        kernel = _kernels.get(spec)
        if kernel is None:
            kernel = _kernels[spec] = compile_traced(spec.to_mlir(), traced)
        with device_guard(request.values["q"], self.device):
            self.plan = Plan(kernel.program(self.device), arrays)
        inputs = spec.inputs
        slots = dict(zip((*inputs, "dq", "dk", "dv"), self.plan.slots))
        numbers = [name for name in inputs if name.startswith("arg")]
        self.scale_slot = slots.pop("scale")
        self.scalars = [
            (slots.pop(name), type)
            for name, type in zip(numbers, request.regions.scalars)
        ]
        self.slots = tuple(slots.values())

    def run(
        self, given: Sequence[Any], operands: Sequence[Any], grads: Sequence[Any],
        scalars: Sequence[int | float], scale: float | None,
    ) -> None:  # fmt: skip
        torch, plan = sys.modules["torch"], self.plan
        tensors_ = (*given, *operands, *grads)
        with device_guard(given[0], self.device):
            # Freed in the order of the stream; on a GPU it is aligned as it comes.
            workspace = torch.empty(
                plan.workspace_size + _ALIGNMENT, dtype=torch.uint8,
                device=given[0].device,
            )  # fmt: skip
            address = -(-workspace.data_ptr() // _ALIGNMENT) * _ALIGNMENT
            frame = plan.acquire()
            for slot, tensor in zip(self.slots, tensors_):
                frame.words[slot] = tensor.data_ptr()
            frame.numbers[self.scale_slot] = check_scale(scale, self.head_dim)
            for (slot, type), value in zip(self.scalars, scalars):
                (frame.numbers if type == "f32" else frame.words)[slot] = value
            try:
                plan.run(
                    frame, torch._C._cuda_getCurrentRawStream(self.device),
                    address if plan.workspace_size else None,
                )  # fmt: skip
            finally:
                plan.release(frame)
