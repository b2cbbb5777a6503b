//===- TileExactOps.td - sums of integers in memory --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Their classes are in ExactOps.h: few passes ask for them.
//===----------------------------------------------------------------------===//
#ifndef FA3_TILE_EXACT_OPS
#define FA3_TILE_EXACT_OPS

include "fa3/Dialect/Tile/IR/TileOps.td"

def Tile_AddExactOp : Tile_Op<"add_exact", [MemoryEffects<[MemWrite]>]> {
  let summary = "adds elements to sums in a global array, each at its own index";
  let description = [{
    Element e of the tile is added to the sum at the indices of e: an index is a
    number, or a tile of them in the shape of the tile. Elements whose indices
    are outside the array are added to nothing. CTAs may add to the same sums in
    any order, and the sums do not depend on it: they are integers.

    A sum is the last dimension of the array, 32 words of i64 that are 0 at
    first. With e the biased exponent of a term x, word e div 8 gets x in units
    of 2^(8 (e div 8) - 150); terms below 2^-119 are taken for 0, and word 0
    counts those that are no finite number. Of a word 2^32 terms are as many as
    cannot overflow. `tile.load_exact` reads sums in a later launch; this one
    reads nothing of the array.

    With `diagonal` elements (i, j) and (i + 1, j + 1) have the same indices: a
    term may be the sum of several of them, in f32, in an order that the tile
    alone decides.

    Example:
    ```mlir
    %d = arith.addi %i, %j : tensor<64x80xindex>
    tile.add_exact %x, %sums[%h, %d : index, tensor<64x80xindex>] : tensor<64x80xf32>, memref<?x?x32xi64>
    ```

    C1. one index per dimension of the memref but the last; at least one is a
        tile.
    C2. the tile has rank 2 and elements of f32; tiles of indices have its shape
        and elements of index.
    C3. the memref has elements of i64, and 32 of them in its last dimension, one
        behind the other.
  }];
  let arguments = (ins Tile_Tile:$value, AnyMemRef:$sums,
                       Variadic<AnyTypeOf<[Index, Tile_Tile]>>:$indices,
                       UnitAttr:$diagonal);
  let assemblyFormat = [{
    $value `,` $sums `[` $indices `:` type($indices) `]` (`diagonal` $diagonal^)? attr-dict
    `:` type($value) `,` type($sums)
  }];
  let hasVerifier = 1;
}

def Tile_LoadExactOp : Tile_Op<"load_exact", [Pure]> {
  let summary = "reads sums of tile.add_exact as numbers";
  let description = [{
    The tile covers the last dimension but one, from the indices on; what is
    outside the array reads as 0. The words of a sum are added in f64 from the
    greatest on, and the result is rounded to f32; it is not a number if a term
    was no finite one. The array must not be written by the launch that reads
    it.

    Example: `%x = tile.load_exact %sums[%h, %i] : memref<?x?x32xi64> -> tensor<64xf32>`

    C1. one index per dimension of the memref but the last.
    C2. the tile has rank 1 and elements of f32.
    C3. the memref has elements of i64, and 32 of them in its last dimension, one
        behind the other.
  }];
  let arguments = (ins AnyMemRef:$sums, Variadic<Index>:$indices);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $sums `[` $indices `]` attr-dict `:` type($sums) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // FA3_TILE_EXACT_OPS
