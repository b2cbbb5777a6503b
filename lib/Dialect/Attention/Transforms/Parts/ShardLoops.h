//===- ShardLoops.h - loops of attention that devices share -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_PARTS_SHARDLOOPS_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_PARTS_SHARDLOOPS_H

#include "Parts.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace fa3::attention {

/// Loops behind those of Parts.h: sums of a forward, elements of a row, and one
/// for every dimension that an operand has alone.
enum { kKey = kNumDims, kElement, kColumn, kAlone };
inline constexpr llvm::StringLiteral kLoopNames[] = {
    "batches", "heads", "queries", "keys", "elements", "elements of v"};

/// What loops attention is, and on which axes of a grid each can be split.
class Loops {
public:
  explicit Loops(mlir::Operation *op);

  llvm::ArrayRef<mlir::AffineMap> getMaps() const { return maps; }
  unsigned getNumber() const { return numLoops; }
  unsigned getLoop(unsigned value, unsigned dim) const {
    return llvm::cast<mlir::AffineDimExpr>(maps[value].getResult(dim))
        .getPosition();
  }
  /// The operand or result with the number that its map has.
  mlir::Value getValue(unsigned number) const {
    unsigned numOperands = op->getNumOperands();
    return number < numOperands
               ? op->getOperand(number)
               : mlir::Value(op->getResult(number - numOperands));
  }
  std::string getName(unsigned loop) const {
    return loop < kAlone ? kLoopNames[loop].str()
                         : "a dimension that others have not";
  }
  std::string describe(unsigned number) const {
    unsigned numOperands = op->getNumOperands();
    return number < numOperands
               ? "operand " + std::to_string(number)
               : "result " + std::to_string(number - numOperands);
  }
  /// Why a loop cannot be split on some axes; nothing if it can.
  std::optional<std::string>
  refuse(unsigned loop, mlir::shard::GridOp grid,
         llvm::ArrayRef<mlir::shard::GridAxis> axes) const;

private:
  mlir::AffineMap getMap(Role role, unsigned number);

  mlir::Operation *op;
  ScoredOpInterface scored;
  llvm::SmallVector<mlir::AffineMap> maps;
  unsigned numLoops = kAlone + 1;
  std::optional<Obstacle> obstacle, obstacleOfQueries;
};

/// Whether all query heads have one key head, which every device has then.
bool hasOneKeyHead(ScoredOpInterface op);

/// Devices along some axes; nothing if only the run knows.
std::optional<int64_t> countShards(mlir::shard::GridOp grid,
                                   llvm::ArrayRef<mlir::shard::GridAxis> axes);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_PARTS_SHARDLOOPS_H
