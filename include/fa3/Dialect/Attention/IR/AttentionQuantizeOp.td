//===- AttentionQuantizeOp.td - 8-bit numbers and scales ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Included by AttentionOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_ATTENTION_QUANTIZE_OP
#define FA3_ATTENTION_QUANTIZE_OP

def Attention_QuantizeOp : Attention_Op<"quantize", [Pure]> {
  let summary = "8-bit numbers and the scales in whose units they are";
  let description = [{
    Every element x becomes the 8-bit number nearest to x / scale, ties to even,
    where scale is the largest |x| of those that share it, divided by the
    largest number of the format: 448 for f8E4M3FN, 57344 for f8E5M2, 127 for i8.
    i8 has even steps, which err less where elements are of one magnitude, as
    after a rotation, and more where few of them set the scale. No scale is
    below 2^-64, so that zeros have one too:
    ```
    scale = max(2^-64, max |x| * (1 / largest))
    values = round(x * (1 / scale))
    ```
    in f32; a kernel's last reciprocal may be one unit in the last place off. A
    NaN has no part in the maximum and stays a NaN, or becomes 0 with i8; an
    infinity makes its scale infinite, zeros of the others and a NaN of itself.

    `rows` and the extents of the scales say who shares one, as in
    `attention.forward`: 0, the default, a whole sequence, 1 nobody, others a
    block of that many rows; and an extent of 1 all batches or all heads. Scales
    have the order (batch, head, block), the source that of `layout`.

    With `terms` 2 an element is a sum of two 8-bit numbers: the second one, d
    columns behind, is the nearest to what rounding left of x / scale. A float
    has twice the digits then, down to the least number of the format.

    With `rotate` a row of x is first multiplied by a d x d matrix:
    ```
    x'[i, c] = (sum_e x[i, e] * matrix[e, c]) / sqrt(d)
    ```
    A Hadamard matrix with random signs of its rows spreads outliers over the
    head dim (FlashAttention-3, arXiv 2407.08608, section 3.3). It is sqrt(d)
    times an orthogonal matrix, so that scores do not change if q and k are
    rotated alike. Its elements are 1 and -1: products are exact, sums are in
    f32. Given d numbers, the matrix is the Hadamard matrix of order d, row e
    negated where number e is negative: the Kronecker product of the Paley
    matrix of order 1, 12 or 20 and the Sylvester matrix of a power of two. A
    d x d tensor is the matrix itself.

    Example:
    ```mlir
    %q8, %qs = attention.quantize %q rotate %signs : tensor<64xf16> rows 128
      : tensor<2x8x?x64xf16> -> tensor<2x8x?x64xf8E4M3FN>, tensor<2x8x?xf32>
    ```

    C1. the source has rank 4 and elements of f16, bf16 or f32; its last extent
        is a static multiple of 16 up to 256.
    C2. the values have elements of f8E4M3FN, f8E5M2 or i8 and the shape of the
        source, with `terms` times its last extent.
    C3. the scales have rank 3 and are f32; the first two extents are 1 or those
        of batch and heads, the last is the number of blocks: 1 for `rows` 0.
    C4. `rows` is at least 0.
    C5. `rotate` takes d floats, where d is 1, 12 or 20 times a power of two, or
        d x d in the element type of the source; that is f16 or bf16.
    C6. `terms` is 1, or 2 with values of f8E4M3FN or f8E5M2.
    C7. static extents are at most 2^30.
  }];
  let arguments = (ins AnyRankedTensor:$source, Optional<AnyRankedTensor>:$rotation,
                       DefaultValuedAttr<I64Attr, "0">:$rows,
                       DefaultValuedAttr<I64Attr, "1">:$terms,
                       DefaultValuedAttr<Attention_Layout, "::fa3::attention::Layout::bhsd">:$layout);
  let results = (outs AnyRankedTensor:$values, AnyRankedTensor:$scales);
  let assemblyFormat = [{
    $source (`rotate` $rotation^ `:` type($rotation))? (`rows` $rows^)? (`terms` $terms^)?
    (`layout` $layout^)? attr-dict `:` type($source) `->` type($values) `,` type($scales)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Positions of the dimensions in the source.
    int64_t getHeadAxis() { return getLayout() == Layout::bhsd ? 1 : 2; }
    int64_t getSequenceAxis() { return getLayout() == Layout::bhsd ? 2 : 1; }
    int64_t getHeadDim() {
      return ::llvm::cast<::mlir::RankedTensorType>(getSource().getType()).getDimSize(3);
    }
    /// The 8-bit format.
    ::mlir::Type getFormat() {
      return ::llvm::cast<::mlir::RankedTensorType>(getValues().getType()).getElementType();
    }
  }];
}

#endif // FA3_ATTENTION_QUANTIZE_OP
