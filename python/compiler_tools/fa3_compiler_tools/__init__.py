# SPDX-License-Identifier: Apache-2.0
"""The tools of fa3. Each command becomes the program, under the tool's name."""

import os
import pathlib
import sys

PROGRAM = pathlib.Path(__file__).resolve().parent / "bin" / "fa3-tools"


def _become(tool: str) -> None:
    os.execv(PROGRAM, [tool, *sys.argv[1:]])


def opt() -> None:
    _become("fa3-opt")


def translate() -> None:
    _become("fa3-translate")


def run() -> None:
    _become("fa3-run")


def tune() -> None:
    _become("fa3-tune")


def lsp_server() -> None:
    _become("fa3-lsp-server")
