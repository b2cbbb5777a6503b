//===- TileOrderedOps.td - additions in one order ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Their classes are in OrderedOps.h: few passes ask for them.
//===----------------------------------------------------------------------===//
#ifndef FA3_TILE_ORDERED_OPS
#define FA3_TILE_ORDERED_OPS

include "fa3/Dialect/Tile/IR/TileOps.td"

def Tile_OrderedOp : Tile_Op<"ordered", [Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "an array to which tiles of the grid add in one order";
  let description = [{
    The array as the target of one `tile.store .. add`. Tiles of the grid form
    lines, and `progress` has elements for each tile: indices but the last say
    which line, the last which number in it. What a tile adds at a position comes
    behind all that the tile before it in the line adds up to that position. So
    if equal positions are equal elements, these are summed up in the order of
    the line, and have the same bits in every run. Positions of a tile are not
    negative and never fall, in the order of its stores.

    An element of `progress` is the position that a tile has come to: what it
    and all tiles before it add at lower ones is in memory. That of tile n has
    the index n + 1, and is 0 when the kernel starts; the first one belongs to no
    tile, and is the greatest i32. A tile waits, with its addition, until the
    element of the tile before it is greater than its own position. What it skips
    nobody has to know of: the element of a tile rises with its next addition, or
    with `tile.end_ordered`, which each tile of the grid performs. Of a tile that
    has ended, the element says nothing of those before it: the next one counts.

    The last dimension of `progress` has no index: each replica of a group adds
    for itself, and has an element of its own.

    A tile waits for one that may be in another CTA. That one must have started,
    since there may be no room for it otherwise. CTAs start in the order of their
    numbers; tile-map-grid gives the tiles of a line rising numbers, and either
    one CTA to each or lets CTAs claim them. `fa3-run --cpu` runs CTAs one after
    the other: there a wait that is not over is a deadlock, and an error.

    Example:
    ```mlir
    %t = tile.ordered %S by %P[%b, %h, %n] at %i : memref<?x?x?x128xf32>, memref<?x?x?x64xi32>
    tile.store %x, %t[%b, %h, %i0, %c0] add : tensor<64x128xf32>, memref<?x?x?x128xf32>
    ```

    C1. elements of the array are f32, those of the progress i32.
    C2. the progress has one dimension more than indices, of which there is one
        at least.
    C3. all uses are targets of `tile.store` and `tile.store.async` with `add`.
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$progress,
                       Variadic<Index>:$number, Index:$position);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $source `by` $progress `[` $number `]` `at` $position attr-dict
    `:` type($source) `,` type($progress)
  }];
  let hasVerifier = 1;
}

def Tile_EndOrderedOp : Tile_Op<"end_ordered", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a tile of the grid has made its last ordered addition";
  let description = [{
    Waits until its own additions are over, and says so to the next one
    (`tile.ordered`): the element of `progress` becomes the greatest i32 but one.

    Example: `tile.end_ordered %P[%b, %h, %n] : memref<?x?x?x64xi32>`

    C1. elements of the progress are i32.
    C2. the progress has one dimension more than indices, of which there is one
        at least.
  }];
  let arguments = (ins AnyMemRef:$progress, Variadic<Index>:$number);
  let assemblyFormat = "$progress `[` $number `]` attr-dict `:` type($progress)";
  let hasVerifier = 1;
}

#endif // FA3_TILE_ORDERED_OPS
