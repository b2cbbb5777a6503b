# SPDX-License-Identifier: Apache-2.0
"""Numbers as callers have them: of Python, numpy, or tensors with one element."""

from __future__ import annotations

import operator
from typing import Any

from .errors import ArgumentTypeError

#: Ends of a window from here on are none.
_FAR = 1 << 30


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
    try:
        return float(value)
    except (TypeError, ValueError):
        pass
    raise ArgumentTypeError(name, f"{value!r}, expected a number")


def window(size: Any) -> tuple[int | None, int | None] | None:
    """(left, right) of a window_size of FlashAttention-3, where every negative number
    is no end; None without ends."""
    try:
        left, right = size
    except (TypeError, ValueError):
        raise ArgumentTypeError("window_size", f"{size!r}, expected (left, right)") from None
    ends = [None if one is None else whole("window_size", one) for one in (left, right)]
    ends = [None if one is None or not 0 <= one <= _FAR else one for one in ends]
    return None if ends == [None, None] else (ends[0], ends[1])
