//===- AttentionMergeOp.td - parts of attention become one -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Included by AttentionOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_ATTENTION_MERGE_OP
#define FA3_ATTENTION_MERGE_OP

def Attention_MergeOp : Attention_Op<"merge", [Pure]> {
  let summary = "results of attention for parts of the keys become one";
  let description = [{
    Attention of the same queries to n disjoint sets of keys, part by part, as
    attention to all of them (Flash-Decoding; the merge of states of FlashInfer,
    arXiv 2501.01005, section 2.2). With o[p] and lse[p] of part p, row by row,
    ```
    lse = log(sum over p of exp(lse[p]))        o = sum over p of exp(lse[p] - lse) * o[p]
    ```
    in f32. It serves keys that are split among CTAs, a prefix that sequences
    share (cascades), and keys that are spread over devices (rings): whoever
    computes a part writes it behind the first index of `parts` and `lse_parts`.

    A part without keys has lse = -inf and counts for nothing, whatever its o
    holds. A row of which all parts are so, or where n is 0, has o = 0 and
    lse = -inf. An lse that is no number or +inf makes its row so.

    `sinks` holds a score for every head, as in `attention.forward`: it counts
    once, whatever the number of parts, which then have none of their own.

    Dimensions of o are (batch, head, row, element) or (head, row, element), with
    `layout bshd` (batch, row, head, element) or (row, head, element); lse is
    (batch, head, row) or (head, row). Parts have one dimension more, in front.

    Example:
    ```mlir
    %o, %lse = attention.merge %parts, %lse_parts layout bshd
      : tensor<?x?x?x32x128xf32>, tensor<?x?x32x?xf32> -> tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
    ```

    C1. o has rank 3 or 4, and a last extent that is a static multiple of 8;
        parts one dimension more.
    C2. parts and o have elements of f16, bf16 or f32.
    C3. lse_parts has the rank of o and lse one less, both with elements of f32.
    C4. all agree in their extents.
    C5. sinks have rank 1, elements of f32 and the extent of the heads.
    C6. static extents are at most 2^30.
  }];
  let arguments = (ins AnyRankedTensor:$parts, AnyRankedTensor:$lse_parts,
                       Optional<AnyRankedTensor>:$sinks,
                       DefaultValuedAttr<Attention_Layout, "::fa3::attention::Layout::bhsd">:$layout);
  let results = (outs AnyRankedTensor:$o, AnyRankedTensor:$lse);
  let assemblyFormat = [{
    $parts `,` $lse_parts (`sinks` `(` $sinks^ `:` type($sinks) `)`)? (`layout` $layout^)?
    attr-dict `:` type($parts) `,` type($lse_parts) `->` type($o) `,` type($lse)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Positions of the dimensions in o; in parts they are one behind.
    int64_t getHeadAxis() {
      return getRankOfO() - (getLayout() == Layout::bhsd ? 3 : 2);
    }
    int64_t getRowAxis() {
      return getRankOfO() - (getLayout() == Layout::bhsd ? 2 : 3);
    }
    int64_t getRankOfO() {
      return ::llvm::cast<::mlir::RankedTensorType>(getO().getType()).getRank();
    }
    /// The dimension of o that is dimension `axis` of lse.
    int64_t getAxisOfO(int64_t axis) {
      int64_t outer = getRankOfO() - 3;
      return axis < outer ? axis : axis == outer ? getHeadAxis() : getRowAxis();
    }
  }];
}

#endif // FA3_ATTENTION_MERGE_OP
