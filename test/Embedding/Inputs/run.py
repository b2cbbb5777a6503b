# SPDX-License-Identifier: Apache-2.0
"""Runs a program with attention in MLIR's ExecutionEngine, on the CPU.

    run.py program.mlir --plugin FA3Plugin.so --runtime libfa3_runtime.so
           --llvm directory [--compiler libfa3.so] --kernels n

The program is compiled three times: with attention by its definition, as loops
(attention-to-reference), with kernels, which the interpreter runs when the
program launches them (fa3-lower-host, image=ir), and with these again, but
bufferized before fa3 sees it. What all print has to be what
values.py, or a file of the program's name beside it, computes without either.
`--kernels` is how many kernels the program has to have.
"""

import argparse
import importlib
import os
import re
import subprocess
import sys

import values

LOWER = ("convert-linalg-to-loops,convert-scf-to-cf,expand-strided-metadata,"
         "lower-affine,convert-to-llvm,reconcile-unrealized-casts")
BUFFERIZE = ("one-shot-bufferize{bufferize-function-boundaries "
             "allow-return-allocs-from-loops "
             "function-boundary-type-conversion=identity-layout-map},"
             "canonicalize,cse")
# Attention stays on tensors, between bufferization.to_tensor and to_buffer.
KEEP = "one-shot-bufferize{allow-unknown-ops "
FREE = "buffer-deallocation-pipeline,convert-bufferization-to-memref"
WAYS = {
    "definition": ("attention-outline,attention-expand-mods,attention-derive-gradient,"
                   f"attention-to-reference,{BUFFERIZE},fa3-lower-host"),
    "kernels": f"fa3-tile,{BUFFERIZE},fa3-lower-host{{image=ir}},{FREE}",
    "memrefs": (BUFFERIZE.replace("one-shot-bufferize{", KEEP)
                + f",fa3-tile,fa3-lower-host{{image=ir}},{FREE}"),
}


def fail(message):
    sys.exit("run.py: " + message)


def call(command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode:
        fail(f"{command[0]} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def run(args, way):
    prelude = os.path.join(os.path.dirname(__file__), "prelude.mlir")
    text = "".join(open(name).read() for name in (prelude, args.program))
    passes = f"{WAYS[way]},{LOWER}"
    if args.before:
        passes = f"{args.before},{passes}"
    mlir_opt = [os.path.join(args.llvm, "bin", "mlir-opt"),
                f"--load-dialect-plugin={args.plugin}",
                f"--load-pass-plugin={args.plugin}",
                "--allow-unregistered-dialect"]
    lowered = call(mlir_opt + [f"--pass-pipeline=builtin.module({passes})"],
                   input=text)
    if way != "definition":
        kernels = len(re.findall(r"llvm.mlir.global internal @\w+_program\(",
                                 lowered))
        if kernels != args.kernels:
            fail(f"expects {args.kernels} kernels, got {kernels}")
    libraries = [os.path.join(args.llvm, "lib", f"libmlir_{name}runner_utils.so")
                 for name in ("", "c_")] + [args.runtime]
    environment = dict(os.environ)
    if args.compiler:
        environment["FA3_COMPILER_LIBRARY"] = args.compiler
    printed = call([os.path.join(args.llvm, "bin", "mlir-runner"), "-e", "main",
                    "-entry-point-result=void",
                    "--shared-libs=" + ",".join(libraries)],
                   input=lowered, env=environment)
    data = re.findall(r"data =\s*\[(.*?)\]", printed, re.S)
    return [[float(x) for x in text.split(",")] for text in data]


def compare(way, mine, expected, tolerance):
    if len(mine) != len(expected) or not expected:
        fail(f"{way}: expects {len(expected)} arrays, got {len(mine)}")
    worst = 0
    for x, y in zip(mine, expected):
        if len(x) != len(y):
            fail(f"{way}: expects {len(y)} elements, got {len(x)}")
        worst = max(worst, max(abs(a - b) for a, b in zip(x, y)))
    spread = max(abs(y) for y in expected[0])
    print(f"{way}: {sum(map(len, mine))} elements, largest {spread:.3f}, "
          f"at most {worst:.2g} off")
    if not worst <= tolerance or spread < 0.05:
        fail(f"{way}: expects the values of values.py")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    for name in ("plugin", "runtime", "llvm"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--compiler", help="without it, no kernels are run")
    parser.add_argument("--kernels", type=int, required=True)
    parser.add_argument("--before", help="passes in front of all others")
    args = parser.parse_args()
    name = os.path.splitext(os.path.basename(args.program))[0]
    module = values if hasattr(values, name) else importlib.import_module(name)
    expected = getattr(module, name)()
    for way in WAYS if args.compiler else ["definition"]:
        # Results of several attentions in a row, in f16.
        tolerance = 4e-3
        if way != "definition":
            tolerance = values.TOLERANCE.get(name, tolerance)
        compare(way, run(args, way), expected, tolerance)


if __name__ == "__main__":
    main()
