# SPDX-License-Identifier: Apache-2.0
"""Attention that is written out: softmax between two products, in sixteen forms.

The texts beside, in `written`, are what torch-mlir 20261001 prints of the functions of
the same names for torch 2.11: `raw` as torch.export leaves them, `torch` decomposed,
`linalg`, `stablehlo` and `tosa`. The answers are numpy's, in f32.
"""
import pathlib

from forms.common import need

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "written"
BATCH, HEADS, LENGTH, DIM = 2, 4, 48, 16


def softmax(np, scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def attend(np, q, k, v, edit=lambda scores: scores, scale=0.25):
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    return softmax(np, edit(q @ k.swapaxes(-1, -2) * scale)) @ v


def inputs_of(np, name, random):
    heads_of_keys = 2 if name == "gqa" else HEADS
    shapes = [(BATCH, heads, LENGTH, DIM)
              for heads in (HEADS, heads_of_keys, heads_of_keys)]
    if name == "einsum":
        shapes = [(BATCH, LENGTH, HEADS, DIM)] * 3
    if name == "bmm3":
        shapes = [(BATCH * HEADS, LENGTH, DIM)] * 3
    if name == "additive":
        shapes.append((BATCH, 1, LENGTH, LENGTH))
    inputs = [random.standard_normal(shape).astype(np.float16) for shape in shapes]
    if name == "padding":
        # The first keys of the second batch: seven rows see none at all.
        inputs.append(np.ones((BATCH, LENGTH), np.int64))
        inputs[-1][1, :7] = 0
    return inputs


def get_visible(np, name, mask):
    i, j = np.arange(LENGTH)[:, None], np.arange(LENGTH)[None]
    return {"lowest": j <= i, "lowest_rows": j < i, "lowest_fill": j < i,
            "windows": (j <= i) & (j > i - 9),
            "chunks": (j <= i) & (i // 16 == j // 16),
            "padding": (j <= i) & (mask is not None and
                                   mask.astype(bool)[:, None, None, :])}.get(name)


def answer_of(np, name, q, k, v, mask=None):
    visible = get_visible(np, name, mask)
    if visible is not None:
        def hide(scores):
            hidden = np.full_like(scores, -np.inf)
            if name == "lowest_fill":
                hidden[:] = np.finfo(np.float16).min
            elif name in ("lowest", "lowest_rows", "padding"):
                # As torch rounds the sum.
                with np.errstate(over="ignore"):
                    hidden = (scores.astype(np.float16) + np.finfo(np.float16).min)
            return np.where(visible, scores, hidden.astype(np.float32))
        return attend(np, q, k, v, hide)
    if name == "causal_fill":
        hidden = np.triu(np.ones((LENGTH, LENGTH), bool), 1)
        return attend(np, q, k, v, lambda s: np.where(hidden, -np.inf, s))
    if name == "additive":
        return attend(np, q, k, v, lambda s: s + mask.astype(np.float32))
    if name == "softcap":
        return attend(np, q, k, v, lambda s: np.tanh(s / 30) * 30)
    if name == "gqa":
        return attend(np, q, k.repeat(2, 1), v.repeat(2, 1))
    if name == "einsum":
        return attend(np, *(x.swapaxes(1, 2) for x in (q, k, v))).swapaxes(1, 2)
    return attend(np, q, k, v)


def written_forms():
    np = need("numpy")
    random = np.random.default_rng(20261126)
    for path in sorted(FOLDER.glob("*.mlir")):
        name = path.name.split(".")[0]
        inputs = inputs_of(np, name, random)
        yield (path.name[:-5], path.read_text(),
               lambda name=name, inputs=inputs: answer_of(np, name, *inputs), inputs)


#: What looks like attention and is none: form, text and what is in its place.
LOOK_ALIKES = [
    # Softmax along the queries, the heads, the batches.
    ("plain.raw", 'softmax.int"(%5, %6', 'softmax.int"(%5, %1'),
    ("plain.raw",
     '%6 = "torch.constant.int"() <{value = -1',
     '%6 = "torch.constant.int"() <{value = 1'),
    ("plain.raw",
     '%6 = "torch.constant.int"() <{value = -1',
     '%6 = "torch.constant.int"() <{value = 0'),
    # The weights are used twice.
    ("plain.raw",
     '"func.return"(%9)',
     '"foreign.use"(%8) : (!torch.vtensor<[2,4,48,48],f16>) -> ()\n    "func.return"(%9)'),
    # No softmax, or something else in its place.
    ("plain.raw", 'matmul"(%8, %arg2)', 'matmul"(%5, %arg2)'),
    ("plain.raw", '%8 = "torch.aten.softmax.int"(%5', '%8 = "torch.aten.sigmoid"(%5'),
    ("plain.raw", '%8 = "torch.aten.softmax.int"(%5', '%8 = "torch.aten.log_softmax.int"(%5'),
    ("plain.raw", '"torch.aten.matmul"(%8', '"torch.aten.hypot"(%8'),
    # A softmax whose parts do not belong together: the maximum of something else,
    ("plain.stablehlo", 'subtract"(%13, %16)', 'subtract"(%13, %13)'),
    # the sum of something else,
    ("plain.stablehlo", 'reduce"(%18, %1)', 'reduce"(%13, %1)'),
    ("plain.stablehlo", 'reduce"(%18, %1)', 'reduce"(%17, %1)'),
    # a sum that starts from another number, or a maximum,
    ("plain.stablehlo",
     'dense<0.000000e+00> : tensor<f32>',
     'dense<1.000000e+00> : tensor<f32>'),
    ("plain.stablehlo", 'dense<0xFF800000> : tensor<f32>', 'dense<0.000000e+00> : tensor<f32>'),
    # the other way round,
    ("plain.stablehlo", 'subtract"(%13, %16)', 'subtract"(%16, %13)'),
    ("plain.stablehlo", 'divide"(%18, %21)', 'divide"(%21, %18)'),
    # other operations in their place,
    ("plain.stablehlo", '"stablehlo.maximum"', '"stablehlo.minimum"'),
    ("plain.stablehlo", '"stablehlo.maximum"', '"stablehlo.add"'),
    ("plain.stablehlo", '%29 = "stablehlo.add"', '%29 = "stablehlo.maximum"'),
    ("plain.stablehlo", '"stablehlo.exponential"', '"stablehlo.logistic"'),
    ("plain.stablehlo", '"stablehlo.subtract"', '"stablehlo.add"'),
    ("plain.stablehlo", '"stablehlo.divide"', '"stablehlo.multiply"'),
    # sums along another dimension than the maximum.
    ("plain.stablehlo",
     'reduce"(%18, %1) <{dimensions = array<i64: 3>',
     'reduce"(%18, %1) <{dimensions = array<i64: 2>'),
    ("plain.stablehlo",
     'reduce"(%13, %0) <{dimensions = array<i64: 3>',
     'reduce"(%13, %0) <{dimensions = array<i64: 2>'),
    # The second product along the queries.
    ("plain.stablehlo",
     'lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x48',
     'lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x48'),
    # The same in TOSA.
    ("plain.tosa", 'mul"(%18, %20', 'mul"(%18, %19'),
    ("plain.tosa", 'mul"(%18, %20', 'mul"(%17, %20'),
    ("plain.tosa", 'reduce_sum"(%18)', 'reduce_sum"(%17)'),
    ("plain.tosa",
     '"tosa.sub"(%15, %16) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>)',
     '"tosa.sub"(%15, %15) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>)'),
    ("plain.tosa", 'reduce_max"(%15) <{axis = 3', 'reduce_max"(%15) <{axis = 2'),
    ("plain.tosa", '"tosa.exp"', '"tosa.tanh"'),
    ("plain.tosa", '"tosa.reciprocal"', '"tosa.exp"'),
    # And in linalg.
    ("plain.linalg", '"arith.maximumf"', '"arith.minimumf"'),
    ("plain.linalg", '"math.exp"', '"math.exp2"'),
    ("plain.linalg", '"arith.subf"(%arg21, %arg22)', '"arith.subf"(%arg22, %arg21)'),
    ("plain.linalg", '"arith.divf"(%arg12, %arg13)', '"arith.divf"(%arg13, %arg12)'),
    ("plain.linalg",
     '"arith.constant"() <{value = 0xFF800000 : f32}>',
     '"arith.constant"() <{value = 0.0 : f32}>'),
]


def look_alikes():
    """(name, text) of each; every edit changes its form."""
    for number, (form, text, other) in enumerate(LOOK_ALIKES):
        whole = (FOLDER / f"{form}.mlir").read_text()
        if text not in whole:
            raise RuntimeError(f"look-alike {number}: {form} has no {text}")
        yield f"{number} {form} {other}", whole.replace(text, other)
