//===- AttentionBlocksOp.td - lists of visible blocks ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Included by AttentionOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_ATTENTION_BLOCKS_OP
#define FA3_ATTENTION_BLOCKS_OP

def Attention_ListBlocksOp : Attention_Op<"list_blocks", [
    RecursiveMemoryEffects, SingleBlock]> {
  let summary = "which blocks of keys a mask lets each block of queries see";
  let description = [{
    The lists that `#attention.blocks` takes, from the code of a mask: for every
    batch b, head h and block m of `sizes[0]` queries, a block of `sizes[1]` keys
    is in the first list if `mask_mod` keeps some pair of a query and a key of
    the two blocks, but not every pair, and in the second if it keeps every pair.
    Pairs are those of queries below `queries` and keys below `keys`. `count` and
    `full_count` hold the lengths of the lists at (b, h, m), `index` and
    `full_index` entry t at (b, h, m, t): numbers of blocks, ascending, and 0
    behind the last one.

    `mask_mod` takes (index b, h, i, j) and yields i1, as that of
    `attention.forward`; `attention.length` gives `queries` and `keys`. Extents of
    the results are `batch`, `heads`, and the numbers of blocks of queries and of
    keys, at least 1. Numbers below 0 count as 0.

    The lists depend on nothing but the mask and the lengths: one batch and one
    head serve all if the mask does not look at them, and all layers and calls
    that share the mask share the lists.

    Example:
    ```mlir
    %count, %index, %full_count, %full_index =
      attention.list_blocks [128, 128] (%c1, %c1, %sq, %sk) aux(%document : tensor<1x?xi32>)
      : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
      mask_mod (%b, %h, %i, %j) {
        %c0 = arith.constant 0 : index
        %x = tensor.extract %document[%c0, %i] : tensor<1x?xi32>
        %y = tensor.extract %document[%c0, %j] : tensor<1x?xi32>
        %keep = arith.cmpi eq, %x, %y : i32
        attention.yield %keep : i1
      }
    ```

    C1. results have elements of i32; counts have rank 3, indices rank 4, and
        they agree in extents.
    C2. `sizes` are a positive multiple of 64 and one of 16, both at most 4096,
        so that pairs can be counted in f32.
    C3. mask_mod has arguments (index, index, index, index), yields i1 and holds
        what regions of `attention.forward` may (C9, C10 and C22 there).
    C4. constant numbers of batches and heads are the static extents of the
        results.
    C5. static extents are at most 2^30.
  }];
  let arguments = (ins Index:$batch, Index:$heads, Index:$queries, Index:$keys,
                       Variadic<AnyRankedTensor>:$aux,
                       DenseI64ArrayAttr:$sizes);
  let results = (outs AnyRankedTensor:$count, AnyRankedTensor:$index,
                      AnyRankedTensor:$fullCount, AnyRankedTensor:$fullIndex);
  let regions = (region SizedRegion<1>:$maskMod);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // FA3_ATTENTION_BLOCKS_OP
