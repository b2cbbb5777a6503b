# SPDX-License-Identifier: Apache-2.0
"""Programs of other compilers: text of torch-mlir, IREE, JAX or ONNX to kernels.

    import fa3
    code = fa3.compile_program(text)
    code.save("kernels")        # program.mlir, and a PTX and a manifest each

docs/Importing.md says how to get the text out of each project.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib

from ..errors import ArgumentError
from .compiler import CompileOptions, ProgramCode, get_compiler


@dataclasses.dataclass(frozen=True)
class CompiledProgram(ProgramCode):
    """`text` is the program with `attention.call` in the place of attention,
    `functions` the code of each function that is called: `ptx`, `manifest` and,
    with ptxas, `cubin`. `diagnostics` has a remark for attention that was not
    converted."""

    def save(self, folder: str | os.PathLike[str]) -> list[pathlib.Path]:
        """Writes program.mlir, and NAME.ptx and NAME.json (NAME.cubin) of every
        function. Returns the paths of the PTX files."""
        home = pathlib.Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        (home / "program.mlir").write_text(self.text)
        made = []
        for name, code in self.functions.items():
            # Names of symbols may have any characters.
            stem = "".join(c if c.isalnum() or c in "_.-" else "_" for c in name)
            path = home / f"{stem}.ptx"
            if path in made:
                raise ArgumentError("folder", f"two functions are '{stem}' as names of files")
            path.write_bytes(code.ptx)
            path.with_name(f"{stem}.json").write_bytes(code.manifest)
            if code.cubin is not None:
                path.with_name(f"{stem}.cubin").write_bytes(code.cubin)
            made.append(path)
        return made


def compile_program(
    text: str,
    *,
    foreign: bool = True,
    convert: str = "",
    pipeline: str = "",
    chip: str = "sm_90a",
    ptx_version: int = 90,
    ptxas: str = "",
    source_name: str = "<input>",
) -> CompiledProgram:
    """Compiles all attention of a program, which may hold anything else.

    foreign: operations of other projects are taken, and their attention converted
    first. convert: options of convert-to-attention, such as "raise=false".
    pipeline: options of fa3-lower-to-nvvm-pipeline. Raises CompileError for a
    program without attention, with what was said about it."""
    if convert and not foreign:
        raise ArgumentError("convert", "is for programs that are foreign")
    options = CompileOptions(
        pipeline, chip, ptx_version, ptxas, source_name=source_name
    )
    made = get_compiler().compile_program(text, options, foreign, convert)
    return CompiledProgram(made.text, made.functions, made.usage, made.diagnostics)
