#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole models of transformers, from torch to a run, compared with torch.

Each model is tiny, with random weights of f16, those of attention so large that a program
without masks fails. torch-mlir lowers it to linalg, all but its attention;
convert-to-attention, fa3 and Debian's mlir-opt with fa3's plugin make a library of it, which
is called, and its logits are compared with those of torch.

    models.py [MODEL...] --build BUILD [--ways definition,kernels]
    models.py [MODEL...] --build BUILD --prepare FOLDER

`definition` has attention as loops, `kernels` as kernels that the interpreter runs.
`--prepare` is for a GPU: PTX, launched by the runtime on arrays in host memory. It makes a
folder for each model, to be run there by `FOLDER/MODEL/whole_model.py FOLDER/MODEL`. By
hand: needs torch, torch-mlir, transformers, numpy, and LLVM 22 with MLIR. BUILD is a folder
of a build.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "Inputs"),
                str(HERE.parent / "Conversion" / "ConvertToAttention" / "Inputs")]
warnings.filterwarnings("ignore")

import run  # noqa: E402

# Name: attentions, kernels.
MODELS = {"llama": (2, 1), "t5": (6, 3), "whisper": (6, 2), "gemma3": (2, 2)}
LOWER = run.LOWER.replace("convert-to-llvm",
                          "convert-math-to-llvm,convert-math-to-libm,convert-to-llvm")
WAYS = {
    **{way: run.WAYS[way] for way in ("definition", "kernels")},
    "device": (f"fa3-lower-to-nvvm-pipeline,{run.BUFFERIZE},fa3-lower-host{{memory=host}},"
               f"{run.FREE}"),
}
# Of the largest logit: some units in the last place of f16, which layers add up.
TOLERANCE = 8e-3


def call(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"models.py: {command[0]} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def sharpen(model):
    """Weights so large that attention counts for what a model says."""
    for name, weight in model.named_parameters():
        if re.search(r"\b(q|k|v|q_proj|k_proj|v_proj|o_proj|out_proj)\.weight$", name):
            weight.mul_(0.12 / weight.float().std())


def widen(model):
    sharpen(model)
    model.float()


def compute(name, change):
    """(inputs, output) of torch, as arrays of numpy."""
    import torch
    from forms.architectures import build
    functional = torch.nn.functional
    own = functional.scaled_dot_product_attention

    def attend_to_all(q, k, v, **_):
        return own(q, k, v, enable_gqa=k.shape[1] != q.shape[1])

    model, inputs = build(name, "sdpa")
    with torch.no_grad():
        change(model)
        if change == widen:
            inputs = [x.float() if x.is_floating_point() else x for x in inputs]
        output = model(*inputs)
        functional.scaled_dot_product_attention = attend_to_all
        unmasked = model(*inputs)
        functional.scaled_dot_product_attention = own
    # A program with wrong masks has to fail.
    change = float((unmasked - output).abs().max() / output.abs().max())
    if not change > 5 * TOLERANCE:
        sys.exit(f"{name}: without masks logits change by {change:.1e} only")
    return [x.numpy() for x in inputs], output.numpy()


def compile_library(args, text, way, path):
    """The program as a library; returns how many kernels it has."""
    passes = ("func.func(llvm-request-c-wrappers),func.func(convert-elementwise-to-linalg),"
              f"{WAYS[way]},{LOWER}")
    llvm = pathlib.Path(args.llvm, "bin")
    plugin = f"{args.build}/lib/FA3Plugin.so"
    lowered = call([llvm / "mlir-opt", f"--load-dialect-plugin={plugin}",
                    f"--load-pass-plugin={plugin}",
                    f"--pass-pipeline=builtin.module({passes})"], input=text)
    translated = call([llvm / "mlir-translate", "--mlir-to-llvmir"], input=lowered)
    call([llvm / "llc", "-O1", "-filetype=obj", "-relocation-model=pic", "-o",
          path.with_suffix(".o")], input=translated)
    call(["cc", "-O2", "-fPIC", "-shared", "-o", path, path.with_suffix(".o"),
          HERE / "Inputs" / "memref_copy.c", "-lm"])
    path.with_suffix(".o").unlink()
    return len(re.findall(r"llvm.mlir.global internal @\w+_program\(", lowered))


def write(args, name, text, way, folder):
    """What whole_model.py reads."""
    kernels = compile_library(args, text, way, folder / "model.so")
    if kernels != (0 if way == "definition" else MODELS[name][1]):
        sys.exit(f"{name}, {way}: {kernels} of {MODELS[name][1]} kernels")
    inputs, output = compute(name, widen if args.cast else sharpen)
    about = {"name": name, "function": name, "way": way, "tolerance": TOLERANCE, "inputs": []}
    kinds = {"float16": "f16", "float32": "f32", "int64": "i64"}

    def put(array, file):
        (folder / file).write_bytes(array.tobytes())
        return {"shape": list(array.shape), "type": kinds[str(array.dtype)], "file": file}

    for number, array in enumerate(inputs):
        about["inputs"].append(put(array, f"input{number}.bin"))
    about["output"] = put(output, "expected.bin")
    (folder / "model.json").write_text(json.dumps(about, indent=1) + "\n")
    return kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", help=", ".join(MODELS))
    parser.add_argument("--build", required=True)
    parser.add_argument("--llvm", default="/usr/lib/llvm-22")
    parser.add_argument("--ways", default="definition,kernels")
    parser.add_argument("--cast", choices=("f16",),
                        help="the model is in f32, its attention in this type")
    parser.add_argument("--prepare", type=pathlib.Path)
    args = parser.parse_args()
    from forms.architectures import print_program
    runtime = f"{args.build}/lib/libfa3_runtime.so"
    for name in args.models or MODELS:
        program = print_program(name, "sdpa", "linalg",
                                widen if args.cast else sharpen)
        converted = call([f"{args.build}/bin/fa3-opt", "--allow-unregistered-dialect",
                          f"--convert-to-attention=cast={args.cast or 'none'}", "-"], input=program)
        sites = len(re.findall(r"= attention\.forward ", converted))
        named = len(re.findall(r"mods \[", converted))
        if "tm_tensor" in converted or sites != MODELS[name][0]:
            sys.exit(f"{name}: {sites} of {MODELS[name][0]} attentions were converted")
        if args.prepare:
            folder = args.prepare / name
            folder.mkdir(parents=True, exist_ok=True)
            kernels = write(args, name, converted, "device", folder)
            shutil.copy(runtime, folder / "libfa3_runtime.so")
            shutil.copy(HERE / "Inputs" / "whole_model.py", folder)
            print(f"{name}: {sites} attentions, {kernels} kernels, in {folder}")
            continue
        for way in args.ways.split(","):
            with tempfile.TemporaryDirectory() as folder:
                kernels = write(args, name, converted, way, pathlib.Path(folder))
                said = call([sys.executable, HERE / "Inputs" / "whole_model.py", folder,
                             f"--runtime={runtime}", "--times=1"],
                            env={**os.environ,
                                 "FA3_COMPILER_LIBRARY": f"{args.build}/lib/libfa3.so"})
                print(f"{said.strip()}; {sites} attentions, {named} with masks by name, "
                      f"{kernels} kernels", flush=True)


if __name__ == "__main__":
    main()
