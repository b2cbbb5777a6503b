//===- LayoutPasses.td - where elements are kept -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TILE_LAYOUT_PASSES
#define FA3_TILE_LAYOUT_PASSES

include "mlir/Pass/PassBase.td"

def AssignLayouts : Pass<"tile-assign-layouts"> {
  let summary = "tiles -> tiles with register layouts";
  let description = [{
    Results of products and tiles stored get the accumulator layout, reductions
    and broadcasts relate it to slices; everything else follows through
    elementwise operations and control flow. For 16-bit elements the
    accumulator layout is the layout of the next product's left operand, so no
    conversion is needed. A tile that would need two layouts is an error.

    Example:
    ```mlir
    %m = tile.reduce max %s dim 1 : tensor<64x80xf32, #tile.acc> -> tensor<64xf32, #tile.slice<1, #tile.acc>>
    ```
  }];
  let dependentDialects = ["::fa3::tile::TileDialect"];
  let statistics = [
    Statistic<"numTiles", "tiles", "tiles given a layout">
  ];
}

def RealizeSmem : Pass<"tile-realize-smem"> {
  let summary = "rings of tiles -> rings of tiles laid out in shared memory";
  let description = [{
    Gives the tensors that rings carry an encoding `#tile.smem`: the widest
    swizzle (128, 64 or 32 bytes) whose blocks the tile fills, padding the last
    block. Fails where an access cannot use it: a bulk copy from an array
    whose last dimension is not contiguous, a tile of rank 1, rows that are no
    multiple of 8.

    Example: `!warp.ring<2, [tensor<80x72xf16>]>` becomes
    `!warp.ring<2, [tensor<80x72xf16, #tile.smem<128>>]>`: two blocks of 64
    columns, of which the second holds 8 and padding.
  }];
  let dependentDialects = ["::fa3::tile::TileDialect"];
  let statistics = [
    Statistic<"numRings", "rings", "rings given a layout">
  ];
}

#endif // FA3_TILE_LAYOUT_PASSES
