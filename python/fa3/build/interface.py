# SPDX-License-Identifier: Apache-2.0
"""What a compiler is asked for, and what it gives: fa3.build.compiler has them."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence

from ..errors import CompilerNotFoundError, Diagnostic


@dataclasses.dataclass(frozen=True)
class CompileOptions:
    """How a module is compiled; an empty field is the default.

    pipeline: options of fa3-lower-to-nvvm-pipeline, such as "block-m=128".
    chip: the target. ptx_version: PTX ISA times ten. ptxas: path of an
    assembler, which gives a cubin and numbers of registers. function: the host
    function, if there are several. llvm_passes: passes on LLVM IR."""

    pipeline: str = ""
    chip: str = "sm_90a"
    ptx_version: int = 90
    ptxas: str = ""
    function: str = ""
    llvm_passes: str = ""
    source_name: str = "<input>"


@dataclasses.dataclass(frozen=True)
class KernelUsage:
    """What ptxas says about a kernel."""

    name: str
    registers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int


@dataclasses.dataclass(frozen=True)
class Code:
    """What a compiler made. `tile` are options that were added, since registers ran
    out without."""

    ptx: bytes
    manifest: bytes
    cubin: bytes | None = None
    usage: tuple[KernelUsage, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    tile: str = ""


@dataclasses.dataclass(frozen=True)
class ProgramCode:
    """What was made of a whole program: `text` has `attention.call` in the place
    of attention, `functions` the code of each function that is called, by name;
    no `usage` of its own, which is that of all."""

    text: str
    functions: Mapping[str, Code]
    usage: tuple[KernelUsage, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclasses.dataclass(frozen=True)
class GroupPlan:
    """What becomes of the query heads of a key head: the rows of a tile that a query of
    them takes where they are packed, 0 where they cannot be; the groups that they are taken
    apart into; whether the compiler packs them by itself, if it knows how many they are."""

    rows: int
    parts: int
    packs: bool


class Compiler:
    """What both compilers do. `build_id` names the build: two compilers with one
    build ID make the same code from the same input."""

    name: str
    version: str
    build_id: str

    def compile(self, text: str, options: CompileOptions) -> Code:
        raise NotImplementedError

    def compile_program(
        self, text: str, options: CompileOptions, foreign: bool, convert: str
    ) -> ProgramCode:
        """The attention of a whole program. `foreign`: attention of other projects
        is converted first, with `convert` as options of convert-to-attention."""
        raise CompilerNotFoundError("a program needs libfa3.so")

    def lower(self, text: str, stage: str, options: CompileOptions) -> str:
        """The module at the end of a stage, one of STAGES of fa3.build.compiler."""
        raise NotImplementedError

    def interpret(
        self, text: str, args: Sequence[Any], options: CompileOptions,
        stage: str | None = None,
    ) -> None:  # fmt: skip
        """Runs the host function on arrays of host memory: fa3_runtime.Array, or
        numbers. Stages are tile to hopper, and "ptx": the PTX of the whole pipeline.
        Without a stage attention is computed by its definition."""
        raise NotImplementedError

    def trace(self, text: str, args: Sequence[Any], options: CompileOptions, sms: int) -> str:
        """What the first thread block does when, as predicted: JSON for Perfetto.
        Arguments as for interpret."""
        raise CompilerNotFoundError("a timeline needs libfa3.so")

    def plan_group(self, heads: int, head_dim_v: int, masked: bool) -> GroupPlan:
        """What becomes of the query heads of a key head, under a mask by query or not."""
        raise CompilerNotFoundError("plans need libfa3.so")

    def plan_parts(
        self, sequences: int, queries: int, keys: int, heads: int, key_heads: int, sms: int,
        packs: bool,
    ) -> int:  # fmt: skip
        """How many parts keys are summed up in; 1: by a kernel without parts."""
        raise CompilerNotFoundError("plans need libfa3.so")

    def plan_gradients(
        self, head_dim: int, head_dim_v: int, masked: bool, deterministic: bool = False
    ) -> int:
        """Of fewer queries and keys than this, gradients are faster by
        backward-form=split than by the kernels for any length; 0: of none."""
        raise CompilerNotFoundError("plans need libfa3.so")
