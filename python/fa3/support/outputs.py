# SPDX-License-Identifier: Apache-2.0
"""Memory that a caller gives to be written: it is no operand's, each element is there
once, and autograd sees that it was written."""

from __future__ import annotations

import math
import sys
from typing import Any

from ..errors import ArgumentError, UnsupportedError
from . import tensors
from .tensors import View


def check(targets: dict[str, Any], operands: dict[str, Any]) -> None:
    """What is to be written, and what is read, by their names; None is neither."""
    torch = sys.modules.get("torch")
    written: dict[str, View] = {}
    for name, one in targets.items():
        if one is None:
            continue
        if getattr(one, "requires_grad", False) and torch and torch.is_grad_enabled():
            raise UnsupportedError(
                f"gradients: '{name}' requires some, and is written; use torch.no_grad()"
            )
        view = tensors.view(name, one)
        if repeats(view):
            raise ArgumentError(
                name, f"strides {view.strides} of shape {view.shape}: elements share memory"
            )
        written[name] = view
    read = {
        name: tensors.view(name, one) for name, one in operands.items()
        if one is not None and (hasattr(one, "__dlpack__") or tensors.is_torch(one))
    }  # fmt: skip
    names = list(written)
    for n, name in enumerate(names):
        for other, view in [*read.items(), *((o, written[o]) for o in names[:n])]:
            if overlap(written[name], view):
                raise ArgumentError(name, f"lies in the memory of '{other}'")


def is_apart(target: Any, operands: Any) -> bool:
    """Whether `check` has nothing to say of a target that it was content with before: its
    memory was allocated for itself. None is apart."""
    if target is None:
        return True
    if getattr(target, "requires_grad", True):
        return False
    memory = target.untyped_storage().data_ptr()
    return all([
        one is None or one.untyped_storage().data_ptr() != memory for one in operands
    ])


def mark(*targets: Any) -> None:
    """Says to autograd that they were written."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    for one in targets:
        if isinstance(one, torch.Tensor) and not one.is_inference():
            torch.autograd.graph.increment_version(one)


def repeats(view: View) -> bool:
    """Whether elements may share memory."""
    reach = 0
    for stride, extent in sorted(
        (abs(stride), extent) for stride, extent in zip(view.strides, view.shape) if extent > 1
    ):
        if stride <= reach:
            return True
        reach += stride * (extent - 1)
    return False


def overlap(one: View, other: View) -> bool:
    """Whether two arrays share an element, or may: runs of bytes that repeat with one
    period, as slices of a packed tensor, are told apart."""
    if one.device != other.device or 0 in one.shape or 0 in other.shape:
        return False
    (a, run_a, steps_a), (b, run_b, steps_b) = _runs(one), _runs(other)
    if a + _span(run_a, steps_a) <= b or b + _span(run_b, steps_b) <= a:
        return False
    period = math.gcd(*(step for step, _ in (*steps_a, *steps_b)))
    if not period:
        return True
    ahead, behind = (b - a) % period, (a - b) % period
    return not (run_a <= ahead and run_b <= behind)


def _runs(view: View) -> tuple[int, int, list[tuple[int, int]]]:
    """Address, bytes of a run, and the steps from run to run in bytes, with extents."""
    size = tensors.ELEMENT_SIZES[view.type]
    dims = sorted(
        (stride * size, extent) for stride, extent in zip(view.strides, view.shape)
        if extent > 1
    )  # fmt: skip
    run, steps = size, []
    for stride, extent in dims:
        if stride == run and not steps:
            run *= extent
        elif stride:
            steps.append((stride, extent))
    return view.address, run, steps


def _span(run: int, steps: list[tuple[int, int]]) -> int:
    return run + sum(stride * (extent - 1) for stride, extent in steps)
