# SPDX-License-Identifier: Apache-2.0
"""What kernels are compiled for, as values and as text, and those that are compiled."""

from __future__ import annotations


def wait() -> None:
    """Until no kernel is compiled for later calls (fa3.kernels.compiled)."""
    from . import compiled

    compiled.wait()
