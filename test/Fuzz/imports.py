#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs with attention, as torch-mlir and JAX print them, converted by
convert-to-attention and run; what they give is compared with the program in f64.

    test/Fuzz/imports.py --tools build/bin --count 100 --seed 7
    test/Fuzz/imports.py --tools build/bin --only 31 --form raw --show

Program N depends on --seed and N only; --form picks how it is printed: `raw`, `torch`
(decomposed), `linalg`, `stablehlo` and `tosa` by torch-mlir, `jax`. A program fails if
what is converted gives something else than its definition. Those that are not converted
are counted by the reason that the compiler gives.
"""

import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402

import import_libraries  # noqa: E402
import import_programs  # noqa: E402
import import_runner  # noqa: E402

FORMS = ("raw", "torch", "linalg", "stablehlo", "tosa", "jax")
TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
         "i32": torch.int32, "i1": torch.bool}  # fmt: skip


def make_inputs(program, seed):
    generator = torch.Generator().manual_seed(seed)
    made = []
    for _, kind, shape in program.arrays:
        kind = program.element if kind == "x" else kind
        if kind == "i1":
            made.append(torch.rand(shape, generator=generator) < 0.7)
        elif kind == "i32":
            made.append(torch.randint(1, 60, shape, generator=generator, dtype=torch.int32))
        else:
            made.append(torch.randn(shape, generator=generator).to(TORCH[kind]))
    return made


def print_torch(program, inputs, form):
    from torch_mlir import fx
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    function, names = program.function(), import_libraries.Torch(program.element)

    class Module(torch.nn.Module):
        def forward(self, *args):
            return function(names, *args)

    exported = torch.export.export(Module(), tuple(inputs), strict=False)
    kind = {"linalg": "linalg-on-tensors"}.get(form, form)
    table = {} if form == "raw" else get_decomposition_table()
    module = fx.export_and_import(exported, output_type=kind, decomposition_table=table,
                                  func_name="function")  # fmt: skip
    return module.operation.get_asm(print_generic_op_form=True)


def print_jax(program, inputs):
    import jax
    from jax import export
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir

    function, names = program.function(), import_libraries.Jax(program.element)
    kinds = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "i32": "int32",
             "i1": "bool"}  # fmt: skip
    shapes = [
        jax.ShapeDtypeStruct(shape, kinds[program.element if kind == "x" else kind])
        for _, kind, shape in program.arrays
    ]
    made = export.export(jax.jit(lambda *args: function(names, *args)), platforms=["cuda"])
    module = ir.Module.parse(made(*shapes).mlir_module(), make_ir_context())
    return module.operation.get_asm(print_generic_op_form=True)


def define(program, inputs):
    """(result, which of its rows count)"""
    names = import_libraries.Definition(program.element)
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    result = program.function()(names, *wide)
    top = names.top.reshape(names.top.shape[0], -1, names.top.shape[-1])
    if "permute(o" in program.source:
        top = top.transpose(1, 2)
    # Nobody promises what becomes of infinite scores and NaNs.
    return result.numpy(), ((top > -50) & result.isfinite().all(-1)).numpy()


def run(tools, text, form, inputs, shape, element):
    try:
        name = "main" if form == "jax" else "function"
        return import_runner.Runner(tools, text).call(name, inputs)
    except import_runner.Unknown:
        if form != "linalg":
            raise
    if element == "bf16":
        raise import_runner.Unknown("functions of bf16 on this machine")
    library = import_runner.Library(str(pathlib.Path(tools).parent), text)
    return library.run(inputs, shape, TORCH[element])


def attempt(tools, program, form, seed, show):
    """('right', 'left' or 'failed', what is to be said)"""
    inputs = make_inputs(program, seed)
    if form == "stablehlo" and "%" in program.source:
        return "not printed", "torch-mlir's remainder has the sign of the dividend"
    try:
        text = print_jax(program, inputs) if form == "jax" else print_torch(program, inputs, form)
    except Exception as error:  # a project that cannot print it
        return "not printed", str(error).strip().split("\n")[0][:100]
    if show:
        print(text)
    command = [f"{tools}/fa3-opt", "--allow-unregistered-dialect", "--convert-to-attention",
               "--mlir-print-op-generic", "-"]  # fmt: skip
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        return "failed", done.stderr[:500]
    if show:
        print(done.stdout, done.stderr)
    if "attention.forward" not in done.stdout:
        said = re.findall(r"remark: (.*)", done.stderr)
        return "left", said[-1] if said else "nothing said"
    wanted, counts = define(program, inputs)
    try:
        made = run(tools, done.stdout, form, inputs, wanted.shape, program.element)
        found = made.double().numpy()
    except import_runner.Unknown as error:
        return "not run", str(error).split("\n")[0][:200]
    except RuntimeError as error:
        return "failed", str(error)[:300]
    if found.size != wanted.size:
        return "failed", f"{found.shape}, expected {wanted.shape}"
    counts = np.broadcast_to(counts, wanted.shape[:-1])
    error = np.abs(found.reshape(wanted.shape) - wanted).max(-1)[counts]
    worst = float(error.max()) if error.size else 0.0
    allowed = 6e-3 if program.element == "f16" else 4e-2
    return ("right", "") if worst <= allowed else ("failed", f"off by {worst:.3g}")


def run_all(tools, numbers, forms=FORMS, seed=0, show=False, say=print):
    """Counts of results by form, and of the reasons why attention was left."""
    counts, reasons = collections.Counter(), collections.Counter()
    for number in numbers:
        program = import_programs.write(random.Random(f"{seed} {number}"))
        if show:
            say(program.source, program.arrays)
        for form in forms:
            result, said = attempt(tools, program, form, number, show)
            counts[form, result] += 1
            if result == "failed":
                say(f"--seed {seed} --only {number} --form {form}: {said}", flush=True)
            elif result != "right" and (program.is_attention or result != "left"):
                reasons[form, result, re.sub(r"\d+", "N", said)] += 1
    return counts, reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--form", nargs="+", default=FORMS, choices=FORMS)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    numbers = range(args.first, args.first + args.count)
    if args.only is not None:
        numbers = [args.only]
    counts, reasons = run_all(args.tools, numbers, args.form, args.seed, args.show)
    for (form, result, said), count in sorted(reasons.items()):
        print(f"  {form} {result} {count}: {said}")
    for form in args.form:
        print(f"{form}:", ", ".join(f"{what} {n}" for (one, what), n in sorted(counts.items())
                                    if one == form))  # fmt: skip
    sys.exit(any(what == "failed" for _, what in counts))


if __name__ == "__main__":
    main()
