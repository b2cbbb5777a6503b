# SPDX-License-Identifier: Apache-2.0
"""What is chosen for all calls of this process: fa3.torch.set_backward and
set_unused_rows."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError, UnsupportedError

#: What says that gradients are those of fa3's kernels.
OWN = ("fa3", "deterministic")

#: How gradients are computed; None: not at all.
backward: str | None = "fa3"
zeroes_unused_rows = False


def check_backward(kind: Any) -> str | None:
    if kind not in (None, "torch", *OWN):
        raise ArgumentError(
            "backward", f"{kind!r}, expected None, 'fa3', 'deterministic' or 'torch'"
        )
    return kind


def check_own(what: str) -> None:
    """That gradients are those of fa3's kernels."""
    if backward not in OWN:
        raise UnsupportedError(f"{what}, set_backward({backward})")
