//===- Transforms.h - mechanisms of passes on the tile dialect --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What five passes do to one loop, one load or one kernel, as functions: a pass
// decides where, these do it. Each leaves IR that verifies; where one fails it
// has said so, and the kernel is not to be used.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H
#define FA3_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H

#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa3::tile {

/// Gives a load that has the role "load" a ring, which its readers take the
/// tile from (tile-insert-rings). `before` is a load of fewer rows in front of
/// the loop around it, or null, whose entries go through the same ring.
mlir::LogicalResult insertRing(mlir::gpu::GPUFuncOp kernel, LoadOp load,
                               LoadOp before = {});

/// Lets a computed tile go through a ring to operands, all in blocks inside of
/// the tile's own (tile-exchange-operands): products read a view, others what
/// `tile.read` gives. `behind` are operands that use another tile, which comes
/// behind a loop that hands over this one and goes through the same ring.
mlir::LogicalResult exchangeOperand(
    mlir::gpu::GPUFuncOp kernel, llvm::ArrayRef<mlir::OpOperand *> operands,
    llvm::StringRef writer = "math", llvm::StringRef reader = "math",
    llvm::ArrayRef<mlir::OpOperand *> behind = {});

/// Splits a loop where the mask of one of its selects is true for certain, or
/// branches there (tile-split-by-predicate). Says whether there is such a mask.
bool splitByPredicate(mlir::scf::ForOp loop, options::Edges edges);

/// Expands a loop that has its schedule, deepening the rings that stages reach
/// over (tile-pipeline).
mlir::LogicalResult pipelineLoop(mlir::scf::ForOp loop);

/// What `mapGrid` made of a kernel.
struct GridMapping {
  bool isPersistent = false;  ///< CTAs loop over tiles
  bool isPartitioned = false; ///< tiles have different heights
  bool mayClaim = false;      ///< a group loads tiles for others
};
/// Replaces the `tile.grid` of a kernel by code that computes its indices from
/// the number of a CTA, and sets the blocks of those of `launches` that launch
/// it (tile-map-grid). Nothing without a grid.
mlir::FailureOr<std::optional<GridMapping>>
mapGrid(mlir::gpu::GPUFuncOp kernel, llvm::ArrayRef<LaunchOp> launches,
        const MapGridOptions &options);

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H
