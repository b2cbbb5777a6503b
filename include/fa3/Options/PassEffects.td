//===- PassEffects.td - the passes of kernels --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// All passes that may run in front of the lowering to LLVM: for
// PassEffects.h.inc.
//===----------------------------------------------------------------------===//

include "fa3/Conversion/AttentionToTile/Passes.td"
include "fa3/Conversion/TileToHopper/Passes.td"
include "fa3/Dialect/Attention/Transforms/Passes.td"
include "fa3/Dialect/Hopper/Transforms/Passes.td"
include "fa3/Dialect/Tile/Transforms/Passes.td"
include "fa3/Dialect/Warp/Transforms/Passes.td"
