# SPDX-License-Identifier: Apache-2.0
"""Errors of tracing, with the user's file and line."""

from __future__ import annotations

import os
import pathlib
import sys

from ...errors import TraceError

_PACKAGE = str(pathlib.Path(__file__).absolute().parents[2])


class NeedsNumber(BaseException):
    """Tracing needs the value of captured numbers: they become constants. No mod
    catches that."""

    def __init__(self, numbers: frozenset[int]) -> None:
        super().__init__(numbers)
        self.numbers = numbers


class ReadsElements(TraceError):
    """A mod reads elements of a tensor while it is traced."""


class EndsGradient(TraceError):
    """A mod says that something has no gradient, or another one, which kernels do not
    know."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}: gradients that end in a mod are not supported", *current_place()
        )


def is_ours(file: str) -> bool:
    return file.startswith(_PACKAGE + os.sep) or f"{os.sep}torch{os.sep}" in file


def current_place() -> tuple[str, int]:
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_ours(file):
            return file, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return "", 0


def error_here(message: str) -> TraceError:
    return TraceError(message, *current_place())
