# SPDX-License-Identifier: Apache-2.0
"""The compiler behind one small interface: libfa3.so in this process, or else
fa3-translate as a process of its own.

A compiler takes text and options and gives code or raises CompileError. It
knows neither cache nor device.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import Any, Mapping, Sequence

from ..errors import ArgumentError, CompileError, CompilerNotFoundError, Diagnostic
from ..support import forks
from ..support.runtime import find_file, runtime
from . import capi, elf
from .interface import (
    Code,
    CompileOptions,
    Compiler,
    GroupPlan,
    KernelUsage,
    ProgramCode,
)
from .tiles import try_tiles

COMPILER_ABI = 1
STAGES = (
    "attention", "tile", "specialize", "pipeline", "layout", "hopper", "nvvm", "llvm",
)  # fmt: skip
#: What `interpret` of the doors may be beside True.
INTERPRETED = ("definition", *STAGES[1:6], "ptx")
_SEVERITIES = ("note", "remark", "warning", "error")
_DONE, _NO_MEMORY = 0, 3


# -----------------------------------------------------------------------------
# libfa3.so
# -----------------------------------------------------------------------------


class LibraryCompiler(Compiler):
    """libfa3.so by ctypes; calls release the interpreter's lock."""

    name = "libfa3"

    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path, mode=getattr(os, "RTLD_LOCAL", 0))
        abi = library.fa3_compiler_abi()
        if abi != COMPILER_ABI:
            raise ImportError(f"{path} has interface {abi}, expected {COMPILER_ABI}")
        self._c, self.path = library, path
        p, size, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
        options = ctypes.POINTER(capi.Options)
        arg = ctypes.POINTER(runtime._Arg)
        for name in ("fa3_version", "fa3_llvm_version", "fa3_build_id"):
            getattr(library, name).restype = text
        for name in ("ptx", "manifest", "cubin", "ir"):
            function = getattr(library, f"fa3_result_{name}")
            function.restype, function.argtypes = p, [p, ctypes.POINTER(size)]
        for name in ("num_diagnostics", "num_kernels"):
            function = getattr(library, f"fa3_result_{name}")
            function.restype, function.argtypes = size, [p]
        library.fa3_result_diagnostic.argtypes = [p, size, ctypes.POINTER(capi.Diagnostic)]
        library.fa3_result_kernel.argtypes = [p, size, ctypes.POINTER(capi.Usage)]
        library.fa3_result_destroy.restype = None
        library.fa3_result_destroy.argtypes = [p]
        library.fa3_compile.argtypes = [text, size, options, p]
        # A library of an earlier version does not have all.
        self._has_plans = hasattr(library, "fa3_plan_gradients")
        if self._has_plans:
            library.fa3_plan_group.argtypes = [
                ctypes.POINTER(capi.GroupFacts), ctypes.POINTER(capi.GroupPlan),
            ]  # fmt: skip
            library.fa3_plan_parts.argtypes = [
                ctypes.POINTER(capi.PartFacts), ctypes.POINTER(ctypes.c_int64),
            ]  # fmt: skip
            library.fa3_plan_gradients.argtypes = [
                ctypes.POINTER(capi.GradientFacts), ctypes.POINTER(ctypes.c_int64),
            ]  # fmt: skip
        self._has_programs = hasattr(library, "fa3_compile_program")
        if self._has_programs:
            library.fa3_compile_program.argtypes = [text, size, options, p]
            library.fa3_result_num_functions.restype = size
            library.fa3_result_num_functions.argtypes = [p]
            library.fa3_result_function.argtypes = [p, size, ctypes.POINTER(capi.Function)]
        library.fa3_lower.argtypes = [text, size, text, options, p]
        library.fa3_interpret.argtypes = [text, size, text, options, arg, size, p]
        library.fa3_trace.argtypes = [
            text, size, options, arg, size, ctypes.c_int64, p,
        ]  # fmt: skip
        library.fa3_define.argtypes = [text, size, options, arg, size, p]
        self.version = library.fa3_version().decode()
        self.build_id = library.fa3_build_id().decode()

    def compile(self, text: str, options: CompileOptions) -> Code:
        data = text.encode()
        return self._run(
            text,
            lambda result: self._c.fa3_compile(data, len(data), self._options(options), result),
            self._code,
        )

    def compile_program(
        self, text: str, options: CompileOptions, foreign: bool, convert: str
    ) -> ProgramCode:
        if not self._has_programs:
            raise CompilerNotFoundError(f"{self.path} does not compile programs yet")
        data = text.encode()
        chosen = self._options(options, foreign, convert)
        return self._run(
            text,
            lambda result: self._c.fa3_compile_program(data, len(data), chosen, result),
            self._program,
        )

    def lower(self, text: str, stage: str, options: CompileOptions) -> str:
        data = text.encode()
        return self._run(
            text,
            lambda result: self._c.fa3_lower(
                data, len(data), stage.encode(), self._options(options), result
            ),
            lambda result: (self._bytes("ir", result) or b"").decode(),
        )

    def interpret(
        self, text: str, args: Sequence[Any], options: CompileOptions,
        stage: str | None = None,
    ) -> None:  # fmt: skip
        data, count, array = text.encode(), len(args), capi.fill_arguments(args)
        chosen = self._options(options)

        def call(result: Any) -> int:
            if stage is None:
                return self._c.fa3_define(data, len(data), chosen, array, count, result)
            return self._c.fa3_interpret(
                data, len(data), stage.encode(), chosen, array, count, result
            )

        self._run(text, call, lambda result: None)

    def trace(self, text: str, args: Sequence[Any], options: CompileOptions, sms: int) -> str:
        data, array = text.encode(), capi.fill_arguments(args)
        return self._run(
            text,
            lambda result: self._c.fa3_trace(
                data, len(data), self._options(options), array, len(args), sms, result
            ),
            lambda result: (self._bytes("ir", result) or b"").decode(),
        )

    def plan_group(self, heads: int, head_dim_v: int, masked: bool) -> GroupPlan:
        facts = capi.GroupFacts(ctypes.sizeof(capi.GroupFacts), heads, head_dim_v, masked)
        plan = capi.GroupPlan()
        self._plan("group", facts, plan)
        return GroupPlan(plan.rows, plan.parts, bool(plan.is_packed))

    def plan_parts(
        self, sequences: int, queries: int, keys: int, heads: int, key_heads: int, sms: int,
        packs: bool,
    ) -> int:  # fmt: skip
        size = ctypes.sizeof(capi.PartFacts)
        facts = capi.PartFacts(size, sequences, heads, key_heads, queries, keys, sms, packs)
        parts = ctypes.c_int64()
        self._plan("parts", facts, parts)
        return parts.value

    def plan_gradients(
        self, head_dim: int, head_dim_v: int, masked: bool, deterministic: bool = False
    ) -> int:
        size = ctypes.sizeof(capi.GradientFacts)
        below = ctypes.c_int64()
        facts = capi.GradientFacts(size, head_dim, head_dim_v, masked, deterministic)
        self._plan("gradients", facts, below)
        return below.value

    def _plan(self, what: str, facts: Any, answer: Any) -> None:
        if not self._has_plans:
            raise CompilerNotFoundError(f"{self.path} is older than this package: it has no plans")
        function = getattr(self._c, f"fa3_plan_{what}")
        if not function(ctypes.byref(facts), ctypes.byref(answer)):
            given = [f"{name} {getattr(facts, name)}" for name, _ in facts._fields_[1:]]
            raise ValueError(f"no plan of {what} for {', '.join(given)}")

    def _options(self, options: CompileOptions, foreign: bool = False, convert: str = "") -> Any:
        def text(value: str) -> bytes | None:
            return value.encode() if value else None

        return ctypes.byref(
            capi.Options(
                # That of the first version, where nothing else is asked for.
                ctypes.sizeof(capi.Options) if foreign or convert else capi.Options.foreign.offset,
                text(options.source_name),
                text(options.pipeline),
                None,
                text(options.chip),
                text(options.function),
                text(options.llvm_passes),
                text(options.ptxas),
                options.ptx_version,
                0,
                1 if options.ptxas else 0,
                1 if foreign else 0,
                text(convert),
            )
        )

    def _run(self, text: str, call: Any, read: Any) -> Any:
        handle = ctypes.c_void_p()
        outcome = call(ctypes.byref(handle))
        try:
            if outcome == _NO_MEMORY:
                raise MemoryError("libfa3 is out of memory")
            if outcome != _DONE:
                raise CompileError(self._diagnostics(handle), text)
            return read(handle)
        finally:
            self._c.fa3_result_destroy(handle)

    def _bytes(self, what: str, result: Any) -> bytes | None:
        size = ctypes.c_size_t()
        function = getattr(self._c, f"fa3_result_{what}")
        address = function(result, ctypes.byref(size))
        return ctypes.string_at(address, size.value) if address else None

    def _diagnostics(self, result: Any) -> list[Diagnostic]:
        made = []
        for index in range(self._c.fa3_result_num_diagnostics(result)):
            one = capi.Diagnostic()
            self._c.fa3_result_diagnostic(result, index, ctypes.byref(one))
            made.append(
                Diagnostic(
                    _SEVERITIES[one.severity],
                    (one.message or b"").decode("utf-8", "replace"),
                    (one.file or b"").decode("utf-8", "replace"),
                    one.line,
                    one.column,
                )
            )
        return made

    def _program(self, result: Any) -> ProgramCode:
        functions = {}
        for index in range(self._c.fa3_result_num_functions(result)):
            one = capi.Function()
            self._c.fa3_result_function(result, index, ctypes.byref(one))
            cubin = ctypes.string_at(one.cubin, one.cubin_size) if one.cubin else None
            functions[one.name.decode()] = Code(
                ctypes.string_at(one.ptx, one.ptx_size),
                ctypes.string_at(one.manifest, one.manifest_size),
                cubin,
            )
        whole = self._code(result)
        text = (self._bytes("ir", result) or b"").decode()
        return ProgramCode(text, functions, whole.usage, whole.diagnostics)

    def _code(self, result: Any) -> Code:
        usage = []
        for index in range(self._c.fa3_result_num_kernels(result)):
            one = capi.Usage()
            self._c.fa3_result_kernel(result, index, ctypes.byref(one))
            usage.append(
                KernelUsage(
                    one.name.decode(),
                    one.registers,
                    one.stack_bytes,
                    one.spill_store_bytes,
                    one.spill_load_bytes,
                )
            )
        return Code(
            self._bytes("ptx", result) or b"",
            self._bytes("manifest", result) or b"",
            self._bytes("cubin", result),
            tuple(usage),
            tuple(self._diagnostics(result)),
        )


# -----------------------------------------------------------------------------
# fa3-translate
# -----------------------------------------------------------------------------

_MESSAGE = re.compile(r"^(.*?):(\d+):(\d+): (note|remark|warning|error): (.*)$")


def parse_diagnostics(output: str) -> list[Diagnostic]:
    """The messages in what a tool printed."""
    made = []
    for line in output.splitlines():
        found = _MESSAGE.match(line)
        if found:
            file, row, column, severity, message = found.groups()
            made.append(Diagnostic(severity, message, file, int(row), int(column)))
    if not made and output.strip():
        made.append(Diagnostic("error", output.strip()))
    return made


class ToolCompiler(Compiler):
    """fa3-translate and its sisters in a folder, for a checkout without
    libfa3.so. It lowers to no stage but `llvm` and does not interpret."""

    name = "fa3-translate"

    def __init__(self, translate: str) -> None:
        self.path = translate
        found = subprocess.run([translate, "--version"], capture_output=True, text=True, check=True)
        self.version = found.stdout.split(",")[0].replace("fa3", "").strip()
        status = os.stat(translate)
        # A developer's tool changes without changing its version.
        self.build_id = f"tool-{status.st_mtime_ns:x}-{status.st_size:x}"

    def compile(self, text: str, options: CompileOptions) -> Code:
        with tempfile.TemporaryDirectory(prefix="fa3-") as folder:
            output = pathlib.Path(folder, "out.ptx")
            manifest = pathlib.Path(folder, "out.json")
            said = self._translate(
                text, options, folder, "--mlir-to-ptx", "-o", str(output),
                f"--manifest={manifest}",
            )  # fmt: skip
            ptx = output.read_bytes()
            code = Code(ptx, manifest.read_bytes(), diagnostics=tuple(said))
            if options.ptxas:
                cubin, usage = assemble(options.ptxas, ptx, options.chip)
                code = dataclasses.replace(code, cubin=cubin, usage=usage)
            return code

    def lower(self, text: str, stage: str, options: CompileOptions) -> str:
        if stage == "attention":
            return text
        if stage != "llvm":
            raise CompilerNotFoundError(
                f"stage '{stage}' needs libfa3.so; fa3-translate gives 'llvm' only"
            )
        with tempfile.TemporaryDirectory(prefix="fa3-") as folder:
            output = pathlib.Path(folder, "out.ll")
            self._translate(
                text, options, folder, "--mlir-to-llvmir", "--no-manifest",
                "-o", str(output),
            )  # fmt: skip
            return output.read_text()

    def interpret(
        self, text: str, args: Sequence[Any], options: CompileOptions,
        stage: str | None = None,
    ) -> None:  # fmt: skip
        raise CompilerNotFoundError("the interpreter needs libfa3.so")

    def _translate(
        self, text: str, options: CompileOptions, folder: str, *flags: str
    ) -> list[Diagnostic]:
        source = pathlib.Path(folder, "input.mlir")
        source.write_text(text)
        pipeline = "fa3-lower-to-nvvm-pipeline"
        if options.pipeline:
            pipeline += "{" + options.pipeline + "}"
        command = [
            self.path, str(source), f"--pass-pipeline=builtin.module({pipeline})",
            f"--chip={options.chip}", f"--ptx-version={options.ptx_version}", *flags,
        ]  # fmt: skip
        if options.function:
            command.append(f"--function={options.function}")
        if options.llvm_passes:
            command.append(f"--opt={options.llvm_passes}")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = [
            dataclasses.replace(one, file=options.source_name) if one.file == str(source) else one
            for one in parse_diagnostics(done.stderr)
        ]
        if done.returncode != 0:
            raise CompileError(said, text)
        return said


def assemble(ptxas: str, ptx: bytes, chip: str) -> tuple[bytes, tuple[KernelUsage, ...]]:
    """PTX to a cubin by ptxas, with what it says about the kernels."""
    with tempfile.TemporaryDirectory(prefix="fa3-") as folder:
        source, output = pathlib.Path(folder, "in.ptx"), pathlib.Path(folder, "out")
        source.write_bytes(ptx)
        done = subprocess.run(
            [ptxas, "-v", f"--gpu-name={chip}", str(source), "-o", str(output)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise CompileError([Diagnostic("error", f"{ptxas}: {done.stderr}")])
        return output.read_bytes(), parse_usage(done.stderr)


def parse_usage(output: str) -> tuple[KernelUsage, ...]:
    """What `ptxas -v` printed."""
    made = []
    for part in output.split("Compiling entry function")[1:]:
        name = part.split("'")[1]
        numbers = [
            re.search(rf"(\d+) {what}", part)
            for what in (
                "registers",
                "bytes stack frame",
                "bytes spill stores",
                "bytes spill loads",
            )  # fmt: skip
        ]
        found = [int(number.group(1)) if number else 0 for number in numbers]
        made.append(KernelUsage(name, *found))
    return tuple(made)


# -----------------------------------------------------------------------------
# Which one
# -----------------------------------------------------------------------------

_compiler: Compiler | None = None
_lock = forks.lock()


def run_on_host(text: str, args: Sequence[Any], options: CompileOptions, how: Any) -> None:
    """Runs a host function on host memory as the `interpret` of a door asks: True
    (tile), a stage from tile to hopper, "ptx", or "definition"."""
    stage = "tile" if how is True else how
    if stage not in INTERPRETED:
        raise ArgumentError("interpret", f"{how!r}, expected True or one of {INTERPRETED}")
    name = None if stage == "definition" else stage
    try_tiles(options, lambda chosen: get_compiler().interpret(text, args, chosen, name))


def get_compiler() -> Compiler:
    """The compiler of this process, opened at the first use: libfa3.so at
    $FA3_LIBRARY, in the package or the build tree around it; else fa3-translate
    at $FA3_TRANSLATE, there, or in the PATH."""
    global _compiler
    with _lock:
        if _compiler is None:
            _compiler = _open_compiler()
        return _compiler


def build_id() -> str:
    """The build ID of the compiler of this process. That of a library is read from
    its file, so that a kernel is found without opening it."""
    if _compiler is not None:
        return _compiler.build_id
    library = _library_path()
    known = elf.build_id(library) if library is not None else ""
    return known or get_compiler().build_id


def set_compiler(compiler: Compiler | None) -> None:
    """Sets the compiler of this process, for tests; None opens one anew."""
    global _compiler
    with _lock:
        _compiler = compiler


def _library_path() -> str | None:
    return find_file("libfa3.so", "FA3_LIBRARY", "lib", "build/lib")


def _open_compiler() -> Compiler:
    library = _library_path()
    if library is not None:
        return LibraryCompiler(library)
    tool = find_file("fa3-translate", "FA3_TRANSLATE", "bin", "build/bin")
    tool = tool or shutil.which("fa3-translate")
    if tool is not None:
        return ToolCompiler(tool)
    raise CompilerNotFoundError(
        "found neither libfa3.so (FA3_LIBRARY) nor fa3-translate (FA3_TRANSLATE)"
    )


def parse_options(options: Mapping[str, Any]) -> CompileOptions:
    """CompileOptions from keywords; keywords that it does not have are options of
    the pipeline: block_m=128 is "block-m=128"."""
    fields = {field.name for field in dataclasses.fields(CompileOptions)}
    chosen: dict[str, Any] = {}
    pipeline = []
    for name, value in sorted(options.items()):
        if name in fields:
            chosen[name] = value
            continue
        if isinstance(value, bool):
            value = "true" if value else "false"
        text = str(value)
        if not re.fullmatch(r"[A-Za-z0-9_.:,+-]+", text):
            raise ValueError(f"option {name}: no value for a pipeline: '{text}'")
        pipeline.append(f"{name.replace('_', '-')}={text}")
    if pipeline:
        chosen["pipeline"] = " ".join([chosen.get("pipeline", ""), *pipeline]).strip()
    return CompileOptions(**chosen)
