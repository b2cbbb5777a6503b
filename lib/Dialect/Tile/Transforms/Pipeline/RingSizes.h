//===- RingSizes.h - memory of rings ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_PIPELINE_RINGSIZES_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_PIPELINE_RINGSIZES_H

#include "../Utils.h"
#include <map>

namespace fa3::tile {

/// The rings of a kernel, and which of them get deeper together.
class RingSizes {
public:
  using Rings = llvm::SmallVector<warp::RingOp>;

  explicit RingSizes(mlir::gpu::GPUFuncOp kernel);

  /// Bytes of one entry in all replicas of the group that a ring is private to.
  static int64_t getEntryBytes(warp::RingOp ring);
  int64_t getBytes() const;
  /// Of `inStep` what gets one more entry than `depth` - 1 within the budget:
  /// all, or those that feed products, or of these those that copies fill, or
  /// none.
  Rings getGrowing(const Rings &inStep, int64_t depth, int64_t budget) const;
  /// Whether the ring will have a second entry.
  bool growsToTwo(warp::RingOp ring, int64_t budget) const;

  Rings all;
  /// Rings that may get deeper, by the number of loops around their use, the
  /// most first. Rings of one loop run in step: a deeper one alone would only
  /// wait for the others. Entries of inner loops are needed more often.
  std::map<unsigned, Rings, std::greater<>> growing;

private:
  bool fits(const Rings &inStep, int64_t depth, int64_t budget) const;
};

/// How many groups of a kernel compute: others copy.
int64_t countComputingGroups(mlir::gpu::GPUFuncOp kernel);

/// Whether a kernel or a group reads from memory where its rows are, as those
/// of sequences.
bool readsPlaces(mlir::Operation *op);

/// Whether no ring that the loop reads has or gets a second entry, so that what
/// a step reads is on its way when the step begins, and another group that
/// computes waits for the step: replicas of one group hide such waits from each
/// other.
bool isAwaited(mlir::scf::ForOp loop);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_PIPELINE_RINGSIZES_H
