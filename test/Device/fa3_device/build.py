# SPDX-License-Identifier: Apache-2.0
"""Compilation of modules by fa3-translate, several at a time."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
PIPELINE = "fa3-lower-to-nvvm-pipeline"


@dataclasses.dataclass
class Build:
    """What became of one module; `stem` plus .json and .cubin or .ptx."""

    name: str
    stem: str
    seconds: float = 0.0
    error: str | None = None
    usage: str = ""  # what ptxas says about registers


def find_tool(name, folder=None):
    """A tool from --tools, beside this folder (package or build tree), or the
    PATH."""
    folders = [folder] if folder else [ROOT / "bin", ROOT / "build" / "bin"]
    for candidate in folders:
        path = pathlib.Path(candidate) / name
        if os.access(path, os.X_OK):
            return str(path)
    found = None if folder else shutil.which(name)
    if not found:
        raise SystemExit(f"error: {name} not found, give its folder by --tools")
    return found


def find_ptxas(path=None):
    """The assembler, or None: the driver then compiles the PTX."""
    return path or shutil.which("ptxas") or shutil.which(
        "ptxas", path="/usr/local/cuda/bin"
    )


class Compiler:
    """Runs fa3-translate and counts how often."""

    def __init__(self, arguments):
        self.translate = find_tool("fa3-translate", arguments.tools)
        self.ptxas = None if arguments.jit else find_ptxas(arguments.ptxas)
        self.folder = pathlib.Path(arguments.out) / "kernels"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.options = arguments.pipeline_options
        self.timeout = arguments.compile_timeout
        self.extra = arguments.translate_option or []
        self.count = 0
        self._pool = concurrent.futures.ThreadPoolExecutor(arguments.jobs)

    def submit(self, name, module, options=None, passes=""):
        """Compiles the text of a module, after `passes`; a future of a Build."""
        self.count += 1
        return self._pool.submit(self._compile, name, module, options, passes)

    def shutdown(self):
        self._pool.shutdown(cancel_futures=True)

    def _compile(self, name, module, options, passes):
        source = self.folder / f"{name}.mlir"
        source.write_text(module)
        build = Build(name, str(self.folder / name))
        options = self.options if options is None else options
        pipeline = PIPELINE + (f"{{{options}}}" if options else "")
        command = [self.translate, str(source)]
        pipeline = ",".join(filter(None, [passes, pipeline]))
        command.append(f"--pass-pipeline=builtin.module({pipeline})")
        # A file of an earlier run must not stand in for one that failed.
        for extension in (".ptx", ".cubin", ".json"):
            pathlib.Path(build.stem + extension).unlink(missing_ok=True)
        if self.ptxas:
            command += ["--mlir-to-cubin", f"--ptxas={self.ptxas}"]
            command += ["--ptxas-usage", "-o", build.stem + ".cubin"]
        else:
            command += ["--mlir-to-ptx", "-o", build.stem + ".ptx"]
        start = time.monotonic()
        try:
            done = subprocess.run(
                command + self.extra,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.timeout,
            )
            if done.returncode:
                build.error = _first_error(done.stderr, done.returncode)
            build.usage = _usage(done.stderr)
        except subprocess.TimeoutExpired:
            build.error = f"not compiled in {self.timeout} s"
        except OSError as error:
            build.error = str(error)
        build.seconds = time.monotonic() - start
        return build


def _first_error(text, code):
    for line in text.splitlines():
        if "error:" in line:
            return line.strip()
    return text.strip().splitlines()[-1] if text.strip() else f"exit code {code}"


def _usage(text):
    found = re.findall(r"uses (\d+ registers, \d+ bytes of spill stores)", text)
    warnings = re.findall(r"warning: (.*)", text)
    return "; ".join(found + warnings)
