//===- Parts.h - attention on a part of its operands ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What tiles and shards of attention have in common: they compute some batches,
// query heads and queries of all, on all keys of these.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_PARTS_PARTS_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_PARTS_PARTS_H

#include "fa3/Dialect/Attention/IR/Attention.h"

namespace fa3::attention {

/// Dimensions that attention has parts of.
enum { kBatch, kHead, kQuery, kNumDims };

/// Why attention has no parts, or none with some of the queries.
struct Obstacle {
  bool isOfQueries;
  llvm::StringRef reason;
};

/// What a part would need more for than operands and numbers of its own.
std::optional<Obstacle> findObstacle(ScoredOpInterface op, bool hasAllQueries);

struct Part {
  /// The first batch, query head and query.
  mlir::OpFoldResult first[kNumDims];
  bool hasAll[kNumDims] = {true, true, true};
  /// Query heads and queries of all.
  mlir::OpFoldResult heads, queries;

  /// Makes the regions of `op`, a copy of the attention of all, those of this
  /// part: they count from the first of all on and know how many there are.
  /// Mods that ask where they are become code.
  void placeRegions(mlir::OpBuilder &b, ScoredOpInterface op) const;
};

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_PARTS_PARTS_H
