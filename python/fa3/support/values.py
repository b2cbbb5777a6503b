# SPDX-License-Identifier: Apache-2.0
"""Numbers as callers have them: of Python, numpy, or tensors with one element."""

from __future__ import annotations

import numbers
import operator
import sys
from typing import Any

from ..errors import ArgumentTypeError, UnsupportedError

#: The greatest extent of the compiler (kGreatestExtent); ends of a window beyond it
#: are none.
GREATEST_EXTENT = 1 << 30


def whole(name: str, value: Any) -> int:
    """An int. That of a tensor on a GPU waits for the GPU."""
    if type(value) is int:
        return value
    try:
        return operator.index(value)
    except TypeError:
        pass
    raise ArgumentTypeError(name, f"{value!r}, expected a whole number")


def real(name: str, value: Any) -> float:
    if type(value) is float:
        return value
    if is_tensor(value):
        return number(name, value)
    try:
        if not isinstance(value, (str, bytes)):  # which float() reads
            return float(value)
    except (TypeError, ValueError):
        pass
    raise ArgumentTypeError(name, f"{value!r}, expected a number")


def refuse_gradient(name: str, value: Any) -> None:
    """A tensor that becomes a number has no gradient, which would be left out."""
    if getattr(value, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
        raise UnsupportedError(f"gradient of '{name}', which is a number of the call")


def is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def number(name: str, value: Any) -> float:
    """That of a tensor, of which nothing else is known to the call: what derives it,
    maps it or records it is refused."""
    from . import tensors, watch

    torch = sys.modules["torch"]
    refuse_gradient(name, value)
    if not torch.compiler.is_compiling():
        if tensors.is_wrapped(value):
            raise UnsupportedError(
                f"'{name}' in a transform of torch.func: it is a number of the call"
            )
        if torch._C._get_tracing_state() is not None:
            raise UnsupportedError(
                f"'{name}' as a tensor in torch.jit.trace, which would record its value"
            )
        watch.check_tangents(f"'{name}'", value)
    if value.numel() != 1:
        raise ArgumentTypeError(name, f"{value.numel()} elements, expected a number")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """A truth value of Python or numpy, 0 or 1, None, or a tensor with one element."""
    if value is None or type(value) is bool:
        return bool(value)
    if type(value).__name__ in ("bool", "bool_") or (
        isinstance(value, numbers.Integral) and value in (0, 1)
    ):  # fmt: skip
        return bool(value)
    if is_tensor(value):
        if value.numel() == 1:
            return bool(number(name, value))
    elif hasattr(value, "ndim") and getattr(value, "size", 0) == 1:
        return bool(value)
    raise ArgumentTypeError(name, f"{value!r}, expected True or False")


def window(size: Any) -> tuple[int | None, int | None] | None:
    """(left, right) of a window_size of FlashAttention-3, where every negative number
    is no end; None without ends."""
    if type(size) is tuple and len(size) == 2 and type(size[0]) is type(size[1]) is int:
        if size[0] < 0 and size[1] < 0:
            return None
    try:
        left, right = size
    except (TypeError, ValueError):
        raise ArgumentTypeError("window_size", f"{size!r}, expected (left, right)") from None
    ends = [None if one is None else whole("window_size", one) for one in (left, right)]
    ends = [None if one is None or not 0 <= one <= GREATEST_EXTENT else one for one in ends]
    return None if ends == [None, None] else (ends[0], ends[1])
