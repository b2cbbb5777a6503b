# SPDX-License-Identifier: Apache-2.0
"""The kernel of fa3.merge, and its launches."""

from __future__ import annotations

import dataclasses
import functools
import sys
from typing import Any

from ..build.compiler import CompileOptions, run_on_host
from ..errors import ArgumentError, ArgumentTypeError, UnsupportedError
from ..kernels import checks, compiled
from ..kernels.spec import function_text
from ..support import outputs, tensors
from ..support.runtime import runtime
from ..support.tensors import CPU, View
from .call import device_guard
from .launch import Launcher, keep, plans

_FLOATS = ("f16", "bf16", "f32")


@dataclasses.dataclass(frozen=True)
class MergeSpec:
    """A kernel that merges parts; `batched`: there is a batch dimension."""

    part_type: str
    out_type: str
    heads: int
    head_dim: int
    batched: bool
    sinks: bool

    @functools.cached_property
    def inputs(self) -> tuple[str, ...]:
        return ("o_parts", "lse_parts", *(("sinks",) if self.sinks else ()))

    outputs = ("o", "lse")

    def to_mlir(self) -> str:
        rows = f"{'?x' if self.batched else ''}{self.heads}x?x"
        types = {
            "o_parts": f"tensor<?x{rows}{self.head_dim}x{self.part_type}>",
            "lse_parts": f"tensor<?x{rows}f32>",
            "sinks": f"tensor<{self.heads}xf32>",
            "o": f"tensor<{rows}{self.head_dim}x{self.out_type}>",
            "lse": f"tensor<{rows}f32>",
        }
        sinks = f" sinks(%sinks : {types['sinks']})" if self.sinks else ""
        lines = [
            f"    attention.merge %o_parts, %lse_parts{sinks}",
            f"    : {types['o_parts']}, {types['lse_parts']} -> {types['o']}, {types['lse']}",
        ]
        return function_text("attention_merge", self.inputs, self.outputs, types, lines)


def run(
    outs: Any, lses: Any, *, sinks: Any, layout: str, out_dtype: Any, out: Any = None,
    lse: Any = None, interpret: bool | str = False,
) -> tuple[Any, Any]:  # fmt: skip
    """What fa3.merge gives."""
    outs, lses = _one("outs", outs), _one("lses", lses)
    if sinks is not None:
        _check_gradient("sinks", sinks)
    call = _Call(outs, lses, sinks, checks.check_layout(layout), out_dtype, out, lse)
    if not (out is lse is None):
        outputs.check({"out": out, "lse": lse}, {"outs": outs, "lses": lses, "sinks": sinks})
        outputs.mark(out, lse)
    if interpret:
        if call.device != CPU:
            raise ArgumentError("interpret", "is for tensors in host memory")
        run_on_host(
            call.spec.to_mlir(), [one.array() for one in call.views.values()],
            CompileOptions(), interpret,
        )  # fmt: skip
        return call.o, call.lse
    if call.device == CPU:
        raise ArgumentError("outs", "device is cpu, expected CUDA (interpret=True runs on the CPU)")
    with device_guard(outs, call.device):
        call.launch(outs)
    return call.o, call.lse


def _check_gradient(name: str, given: Any) -> None:
    if tensors.is_torch(given) and given.requires_grad:
        if sys.modules["torch"].is_grad_enabled():
            raise UnsupportedError(f"merge: gradients, and '{name}' requires some")


def _one(name: str, given: Any) -> Any:
    """A list of parts as one tensor; elements of a row side by side."""
    torch = tensors.torch_module()
    if isinstance(given, (list, tuple)):
        if not given or torch is None or not all(tensors.is_torch(one) for one in given):
            raise ArgumentTypeError(name, "a list, expected a tensor or torch tensors in it")
        given = torch.stack(tuple(given))
    if not tensors.is_torch(given):
        return given
    _check_gradient(name, given)
    return given if given.dim() and given.stride(-1) == 1 else given.contiguous()


class _Call:
    """The tensors of a call, checked; views are in the order (part, batch, head, row,
    element), which is a matter of strides."""

    def __init__(
        self, outs: Any, lses: Any, sinks: Any, layout: str, out_dtype: Any, o: Any, lse: Any
    ) -> None:
        given, sums = tensors.view("outs", outs), tensors.view("lses", lses)
        rank = len(given.shape)
        if rank not in (4, 5):
            raise ArgumentError("outs", f"rank {rank}, expected 5, or 4 without batch")
        if given.type not in _FLOATS:
            raise ArgumentTypeError(
                "outs", f"element type {given.type}, expected float16, bfloat16 or float32"
            )
        if given.shape[-1] % 8 or given.shape[-1] == 0:
            raise UnsupportedError(f"merge: head dim {given.shape[-1]}, expected a multiple of 8")
        self.swaps = layout == "bshd"
        ordered = self._in_order(given)
        if sums.type != "f32" or sums.shape != ordered.shape[:-1]:
            raise ArgumentTypeError(
                "lses", f"{sums.type} of shape {sums.shape}, expected f32 "
                f"{ordered.shape[:-1]}",
            )  # fmt: skip
        self.device = given.device
        out_type = given.type if out_dtype is None else _spelled(out_dtype)
        if o is None:
            shape = given.shape[1:]
            o = tensors.allocate(outs, out_type, shape, tensors.contiguous(shape))
        if lse is None:
            rows = sums.shape[1:]
            lse = tensors.allocate(outs, "f32", rows, tensors.contiguous(rows))
        self.o, self.lse = o, lse
        made, made_lse = tensors.view("out", o), tensors.view("lse", lse)
        if out_dtype is None:
            out_type = made.type
        for name, one, type, shape in (
            ("out", made, out_type, given.shape[1:]), ("lse", made_lse, "f32", sums.shape[1:]),
        ):  # fmt: skip
            if one.type != type or one.shape != shape or type not in _FLOATS:
                raise ArgumentTypeError(
                    name, f"{one.type} of shape {one.shape}, expected {type} {shape}"
                )
        heads = ordered.shape[-3]
        self.views = {"o_parts": ordered, "lse_parts": sums}
        if sinks is not None:
            one = tensors.view("sinks", sinks)
            if one.type != "f32" or one.shape != (heads,):
                raise ArgumentTypeError(
                    "sinks", f"{one.type} of shape {one.shape}, expected f32 {(heads,)}"
                )
            self.views["sinks"] = one
        self.views |= {"o": self._in_order(made), "lse": made_lse}
        for name, one in self.views.items():
            if one.device != self.device:
                raise ArgumentError(name, "is not on the device of outs")
            if one.shape[-1] > 1 and one.strides[-1] != 1:
                raise ArgumentError(name, "last dimension is not contiguous")
        self.spec = MergeSpec(
            given.type, out_type, heads, given.shape[-1], rank == 5, sinks is not None
        )

    def _in_order(self, one: View) -> View:
        if not self.swaps:
            return one
        order = list(range(len(one.shape)))
        order[-3], order[-2] = order[-2], order[-3]
        return dataclasses.replace(
            one, shape=tuple(one.shape[d] for d in order),
            strides=tuple(one.strides[d] for d in order),
        )  # fmt: skip

    def launch(self, like: Any) -> None:
        views = self.views.values()
        key = (self.spec, self.device, *((one.shape, one.strides) for one in views))
        launcher = plans.get(key)
        if launcher is None:
            kernel = compiled.get(self.spec)
            try:
                launcher = keep(key, lambda: Launcher(
                    kernel, self.device, [one.array() for one in views]
                ))  # fmt: skip
            except runtime.Error as error:
                if error.code in ("argument", "requirement"):
                    raise ArgumentError("", str(error)) from error
                raise
        stream = 0
        if tensors.is_torch(like):
            stream = sys.modules["torch"]._C._cuda_getCurrentRawStream(self.device)
        launcher.at([one.address for one in views], stream)


def _spelled(dtype: Any) -> str:
    name = str(dtype).rpartition(".")[2]
    type = tensors.TORCH_TYPES.get(name, name)
    if type not in _FLOATS:
        raise ArgumentTypeError("out_dtype", f"{dtype}, expected float16, bfloat16 or float32")
    return type
