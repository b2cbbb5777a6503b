//===- ListTiles.h - grids in the order of a list ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_LISTTILES_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_LISTTILES_H

#include "../Utils.h"

namespace fa3::tile {

/// Operations that compute scalars of a tile, in order, and what they start
/// from.
struct ScalarSlice {
  llvm::SetVector<mlir::Operation *> ops;
  /// Indices of the grid, by their numbers, and arguments of the kernel.
  llvm::SetVector<unsigned> indices, arguments;

  /// Adds what computes `value` from indices of the grid, arguments and memory.
  /// Whether nothing else does.
  bool add(mlir::Value value, GridOp grid);
  /// Whether something is read from memory; at places that indices decide.
  bool readsMemory() const;
  bool readsAtIndices(GridOp grid) const;
};

/// What the list of a grid has.
struct TileList {
  mlir::gpu::GPUFuncOp kernel;
  GridOp grid;
  LaunchOp launch;
  /// Indices of the grid whose values are listed, and loops that they decide.
  llvm::SmallVector<unsigned> indices;
  llvm::SmallVector<mlir::scf::ForOp> loops;
  /// Further scalars of an entry: index, or i32.
  llvm::SmallVector<mlir::Value> scalars;

  int64_t getNumFields() const { return indices.size() + scalars.size(); }
};

/// The most entries of a list, whose ranks are counted one by one, and the most
/// fields of one, which are elements of one tile.
inline constexpr int64_t kMostListedTiles = 1 << 16,
                         kMostListFields = kRowsPerReplica;

/// Adds kernels that make the list, their launches, and the memory in between.
/// Gives the list on the host: (entries, fields), i32.
mlir::Value buildTileList(const TileList &list);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_LISTTILES_H
