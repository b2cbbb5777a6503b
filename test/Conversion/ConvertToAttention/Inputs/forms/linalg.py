# SPDX-License-Identifier: Apache-2.0
"""Attention as linalg operations."""
import pathlib
import re

from .common import arrays, find_tool, need, run


# Softmax becomes loops; then what is left of linalg does.
LINALG_TO_LLVM = (
    "transform-interpreter,one-shot-bufferize{bufferize-function-boundaries},"
    "convert-linalg-to-loops,convert-scf-to-cf,expand-strided-metadata,"
    "lower-affine,convert-math-to-libm,convert-to-llvm,"
    "reconcile-unrealized-casts")
DECOMPOSE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op) {
    %s = transform.structured.match ops{["linalg.softmax"]} in %m
      : (!transform.any_op) -> !transform.any_op
    %d = transform.structured.decompose_interface %s
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
"""


def linalg_forms():
    """The functions of linalg.mlir, as mlir-opt prints them; the answer is what
    they compute in f32, in MLIR's ExecutionEngine."""
    np = need("numpy")
    opt, runner = find_tool("mlir-opt"), find_tool("mlir-runner")
    libraries = pathlib.Path(opt).resolve().parents[1] / "lib"
    source = pathlib.Path(__file__).parents[2] / "linalg.mlir"
    header, *functions = re.split(r"(?=^func\.func )", source.read_text(),
                                  flags=re.M)
    for function in functions:
        name = re.match(r"func\.func @(\w+)", function)[1]
        signature = function.split("\n")[0]
        if name in ("returned", "other"):  # These stay.
            continue
        shapes = [[int(n) for n in re.findall(r"\d+(?=x)", kind)] for kind in
                  re.findall(r"tensor<[^>]*>", signature)]
        inputs = arrays(np, [tuple(shape) for shape in shapes[:-1]])
        # Code between the contractions rounds scores to f16, which matters
        # where they are large.
        inputs[0] = inputs[0] / np.float16(4)
        text = run([opt, "-mlir-print-op-generic"], header + function)

        def answer(function=function, name=name, inputs=inputs,
                   shapes=shapes):
            wide = function.replace("f16", "f32").replace("0xFC00",
                                                          "0xFF800000")
            wide = re.sub(r"arith\.(?:extf|truncf) (%\w+) : f32 to f32",
                          r"arith.maximumf \1, \1 : f32", wide)
            types = [f"tensor<{'x'.join(map(str, shape))}xf32>"
                     for shape in shapes]
            lines = ["func.func private @printMemrefF32(tensor<*xf32>)",
                     "func.func @main() {"]
            for i, x in enumerate(inputs):
                data = x.astype("<f4").tobytes().hex()
                lines.append(f'  %{i} = arith.constant dense<"0x{data}"> : '
                             + types[i])
            names = ", ".join(f"%{i}" for i in range(len(inputs)))
            lines += [f"  %r = call @{name}({names}) : "
                      f"({', '.join(types[:-1])}) -> {types[-1]}",
                      f"  %u = tensor.cast %r : {types[-1]} to tensor<*xf32>",
                      "  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()",
                      "  return", "}", "}"]
            lowered = run(
                [opt, f"--pass-pipeline=builtin.module({LINALG_TO_LLVM})"],
                header + DECOMPOSE + wide + "\n".join(lines))
            # mlir-runner does not know the dialect.
            lowered = re.sub(
                r"transform\.named_sequence.*?transform\.yield *\n *\}|"
                r"attributes \{transform\.with_named_sequence\}", "", lowered,
                flags=re.S)
            printed = run(
                [runner, "-e", "main", "-entry-point-result=void",
                 "--shared-libs=" + ",".join(
                     str(libraries / f"libmlir_{which}runner_utils.so")
                     for which in ("", "c_"))], lowered)
            numbers = printed[printed.index("data ="):]
            return np.array([float(x) for x in re.findall(
                r"-?[\d.]+(?:e[-+]?\d+)?|nan", numbers)]).reshape(shapes[-1])

        yield name, text, answer, inputs
