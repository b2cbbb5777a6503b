//===- Passes.td - passes on the tile dialect --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TILE_PASSES
#define FA3_TILE_PASSES

include "mlir/Pass/PassBase.td"
include "fa3/Options/Options.td"

// All passes work on the kernels (gpu.func) inside the operation that they run
// on; those with a module as anchor change host functions too.

include "fa3/Dialect/Tile/Transforms/SequentialPasses.td"
include "fa3/Dialect/Tile/Transforms/GroupPasses.td"
include "fa3/Dialect/Tile/Transforms/PipelinePasses.td"
include "fa3/Dialect/Tile/Transforms/LayoutPasses.td"

#endif // FA3_TILE_PASSES
