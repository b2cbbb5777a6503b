//===- VoteDecision.h - conditions on maxima across lanes -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_HOPPER_TRANSFORMS_VOTEDECISION_H
#define FA3_LIB_DIALECT_HOPPER_TRANSFORMS_VOTEDECISION_H

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Support/PositiveConstant.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <limits>

namespace fa3::hopper {

/// A condition on a maximum that lanes find together, and what hangs on it.
struct Decision {
  LaneReduceOp maximum;
  /// Elementwise operations from the maximum to the comparison, in the order of
  /// the block.
  mlir::SmallVector<mlir::Operation *> path;
  mlir::arith::CmpFOp comparison;
  /// Choices of a value on the path where the condition holds.
  mlir::SmallVector<mlir::arith::SelectOp> choices;
  mlir::SmallVector<VoteAnyOp> votes;

  bool isOnPath(mlir::Operation *op) const;
};

/// All elements of a vector joined by an operation, as a vector of one.
template <typename JoinOp>
mlir::Value joinElements(mlir::ImplicitLocOpBuilder &b, mlir::Value vector) {
  mlir::Value result;
  auto type = mlir::cast<mlir::VectorType>(vector.getType());
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    mlir::Value element = mlir::vector::ShuffleOp::create(b, vector, vector, i);
    result = result ? JoinOp::create(b, result, element).getResult() : element;
  }
  return result;
}

/// What a vote decides, if all that depends on the maximum can move behind it.
std::optional<Decision> findDecision(VoteAnyOp vote);

/// The limit of a maximum beyond which its condition holds, as a function of a
/// value that a loop carries:
///
///   x > limit(carried)  <=>  condition(x, carried)
///
/// up to rounding, and the same as integers: what is at least the limit's bits
/// as a signed number is a float that is not less, if the limit is not
/// negative.
class Limit {
public:
  /// Solves the condition for the maximum. Nothing if that takes more than
  /// additions and multiplications by what is known in front of the loop, or if
  /// the loop does not carry on what is chosen by the condition.
  static std::optional<Limit> find(const Decision &decision);

  /// The bits of the limit for a carried value, or the least integer where the
  /// limit has no use (-1 if restricted).
  mlir::Value build(mlir::ImplicitLocOpBuilder &b, mlir::Value value) const;
  /// Lets the loop, which gives way to a new one, carry the limit's bits, and
  /// behind them what `alsoCarried` makes of them, and returns both. Leaves the
  /// builder in front of the loop.
  mlir::SmallVector<mlir::Value>
  carry(mlir::ImplicitLocOpBuilder &b,
        llvm::function_ref<mlir::Value(mlir::Value)> alsoCarried = {});
  /// Asks for one limit, the least of those of all rows of a thread, and for
  /// that of numbers of which `factor`, positive, times each is not less than
  /// what the condition is about; lets that product be at most `mostProduct`.
  void restrictTo(double mostProduct, double ofFactor) {
    isLeast = true;
    most = mostProduct;
    factor = ofFactor;
  }
  /// What the limit is a function of.
  mlir::BlockArgument getCarried() const { return carried; }
  /// What the loop carries on.
  mlir::arith::SelectOp getChoice() const { return choice; }

private:
  /// An operation of the path and the number of its operand on the path.
  struct Step {
    mlir::Operation *op;
    unsigned operand;
  };
  bool acceptStep(const Decision &decision, mlir::scf::ForOp loop,
                  mlir::Operation *op);
  bool acceptOperand(mlir::Value value, mlir::scf::ForOp loop);

  /// From the comparison to the maximum.
  mlir::SmallVector<Step> steps;
  double threshold = 0;
  bool isLeast = false;
  double most = std::numeric_limits<double>::infinity(), factor = 1;
  mlir::BlockArgument carried;
  mlir::arith::SelectOp choice;
  mlir::VectorType type;
};

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_TRANSFORMS_VOTEDECISION_H
