# SPDX-License-Identifier: Apache-2.0
"""Options that all programs share."""

import os
import pathlib


def add_tools(parser, out="device-test", timeout=20):
    """The options of build.Compiler and of files."""
    group = parser.add_argument_group("tools and files")
    group.add_argument("--tools", help="folder of fa3-translate")
    group.add_argument("--ptxas", help="assembler (default: PATH, then CUDA's folder)")
    group.add_argument(
        "--jit", action="store_true", help="let the driver compile the PTX"
    )
    group.add_argument("--out", default=out, help="folder for all files")
    group.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="compilations at a time"
    )
    group.add_argument(
        "--pipeline-options", default="", help='such as "block-m=128 mode=static"'
    )
    group.add_argument(
        "--translate-option", action="append", help="passed on to fa3-translate"
    )
    group.add_argument("--compile-timeout", type=float, default=120, metavar="S")
    group.add_argument(
        "--timeout", type=float, default=timeout, metavar="S",
        help="silence after which a process is killed",
    )  # fmt: skip


def prepare(given):
    """Makes the folder of files and finds the runtime beside the tools, unless
    it is named."""
    if given.tools:
        library = pathlib.Path(given.tools).resolve().parent / "lib"
        library /= "libfa3_runtime.so"
        if library.exists():
            os.environ.setdefault("FA3_RUNTIME_LIBRARY", str(library))
    pathlib.Path(given.out).mkdir(parents=True, exist_ok=True)
    given.out = str(pathlib.Path(given.out).resolve())
