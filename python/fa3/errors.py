# SPDX-License-Identifier: Apache-2.0
"""What fa3 raises. Errors of arguments are also ValueError or TypeError, so
that callers need not know fa3 to handle them."""

from __future__ import annotations

import dataclasses
from typing import Sequence


class Fa3Error(Exception):
    """Base of all errors of this package."""


class ArgumentError(Fa3Error, ValueError):
    """An argument has a value that fa3 does not take. The message names the
    argument, its value and the limit; `argument` is the name."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(f"argument '{argument}': {message}")
        self.argument = argument


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has a type or an element type that fa3 does not take."""


class SettingError(Fa3Error, ValueError):
    """A variable of the environment has a value that means nothing; `variable` is its
    name."""

    def __init__(self, variable: str, message: str) -> None:
        super().__init__(f"{variable}: {message}")
        self.variable = variable


class UnsupportedError(Fa3Error, NotImplementedError):
    """A case that fa3 has no kernel for; the message names what is missing."""


class TraceError(Fa3Error):
    """A score_mod or mask_mod cannot be traced. `file` and `line` say where in
    the user's code."""

    def __init__(self, message: str, file: str = "", line: int = 0) -> None:
        where = f"{file}:{line}: " if file else ""
        super().__init__(f"{where}{message}")
        self.message, self.file, self.line = message, file, line


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """A message of the compiler about a place in its input."""

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        return f"{where}{self.severity}: {self.message}"


class CompileError(Fa3Error, RuntimeError):
    """The compiler refuses a module. `diagnostics` says why and where, `text`
    is the module."""

    def __init__(self, diagnostics: Sequence[Diagnostic], text: str = "") -> None:
        lines = [str(one) for one in diagnostics] or ["the compiler failed"]
        super().__init__("\n".join(lines))
        self.diagnostics, self.text = tuple(diagnostics), text


class CompilerNotFoundError(Fa3Error, RuntimeError):
    """There is neither libfa3.so nor fa3-translate."""
