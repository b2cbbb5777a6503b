//===- KeptValues.cpp - what code keeps in a step of a gradient -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// ptxas keeps what code makes of a column of a step for all of its rows, moves
// numbers that no score enters in front of products, and keeps what a
// derivative takes from score code until the second product is there.
//===----------------------------------------------------------------------===//

#include "KeptValues.h"
#include "../Emit/ScalarRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;
using Expander = ScalarRegionExpander;

namespace {
/// What is known of the values of a region.
class RegionValues {
public:
  RegionValues(Region &region,
               std::optional<std::pair<int64_t, int64_t>> spans);

  /// Beside what a value varies with, whether a score is among that.
  static constexpr unsigned kOfScore = 4;
  unsigned getVaries(Value value) const { return varies.lookup(value); }
  /// Whether a value is made of the query and the key by sums, and by products
  /// with what is the same for all pairs.
  bool isSum(Value value) const { return sums.contains(value); }
  bool isOfQuotient(Value value) const { return quotients.contains(value); }
  /// Whether an operation whose result varies with `what` uses a value, or the
  /// region yields it.
  bool meets(Value value, unsigned what) const;

private:
  bool computesSum(Operation &op) const;

  llvm::DenseMap<Value, unsigned> varies;
  llvm::DenseSet<Value> sums, quotients;
};
} // namespace

RegionValues::RegionValues(Region &region,
                           std::optional<std::pair<int64_t, int64_t>> spans) {
  unsigned count = region.getNumArguments();
  BlockArgument query = region.getArgument(count - 2),
                key = region.getArgument(count - 1);
  for (BlockArgument argument : region.getArguments())
    varies[argument] = isa<FloatType>(argument.getType())
                           ? Expander::Both | kOfScore
                           : Expander::Uniform;
  varies[query] = Expander::Rows;
  varies[key] = Expander::Columns;
  sums.insert(query);
  sums.insert(key);
  for (Operation &op : region.front()) {
    bool isUniform = spans && (isUniformQuotient(&op, query, spans->first) ||
                               isUniformQuotient(&op, key, spans->second));
    unsigned all = Expander::Uniform;
    bool ofQuotient = isQuotient(&op);
    for (Value operand : op.getOperands()) {
      all |= isUniform ? Expander::Uniform : getVaries(operand);
      ofQuotient |= isOfQuotient(operand);
    }
    for (Value result : op.getResults()) {
      varies[result] = all;
      if (ofQuotient)
        quotients.insert(result);
      if (computesSum(op))
        sums.insert(result);
    }
  }
}

bool RegionValues::computesSum(Operation &op) const {
  bool adds = isa<arith::AddIOp, arith::SubIOp, arith::AddFOp, arith::SubFOp,
                  arith::NegFOp, arith::IndexCastOp, arith::SIToFPOp,
                  arith::UIToFPOp, math::AbsIOp, math::AbsFOp>(op);
  bool scales = isa<arith::MulIOp, arith::MulFOp>(op) &&
                (!getVaries(op.getOperand(0)) || !getVaries(op.getOperand(1)));
  return (adds || scales) && llvm::all_of(op.getOperands(), [&](Value operand) {
           return !getVaries(operand) || isSum(operand);
         });
}

bool RegionValues::meets(Value value, unsigned what) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return user->getNumResults() == 0 ||
           (getVaries(user->getResult(0)) & what) == what;
  });
}

/// Whether an element is read, with or without a change of its type, or
/// compared with what is the same for all pairs.
static bool isRead(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::CmpIOp, arith::CmpFOp>(op))
    return llvm::any_of(op->getOperands(), isRead);
  while (op && isa<arith::ExtFOp, arith::IndexCastOp, arith::SIToFPOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return op && isa<tensor::ExtractOp>(op);
}

void fa3::addKeptValues(Region &region,
                        std::optional<std::pair<int64_t, int64_t>> spans,
                        BackwardDemand &demand) {
  if (region.empty())
    return;
  RegionValues values(region, spans);
  for (Operation &op : region.front()) {
    if (op.getNumResults() != 1 || values.isSum(op.getResult(0)))
      continue;
    Value result = op.getResult(0);
    unsigned varies = values.getVaries(result);
    bool isNumber = isa<FloatType>(result.getType()) && !isRead(result) &&
                    values.meets(result, RegionValues::kOfScore);
    demand.ofPairs +=
        varies == Expander::Both &&
        (isNumber ||
         (isQuotient(&op) && !matchPattern(op.getOperand(1), m_Constant())));
    if ((varies != Expander::Rows && varies != Expander::Columns) ||
        !values.meets(result, Expander::Both))
      continue;
    KeptValues &kept =
        varies == Expander::Rows ? demand.ofQueries : demand.ofKeys;
    ++(isRead(result)                  ? kept.elements
       : result.getType().isInteger(1) ? kept.conditions
       : values.isOfQuotient(result)   ? kept.quotients
                                       : kept.others);
  }
}

bool fa3::isSameForAll(Region &region) {
  RegionValues values(region, std::nullopt);
  return !values.getVaries(region.front().getTerminator()->getOperand(0));
}

/// Maps what a derivative computes to the same values of score code.
static IRMapping findSameValues(Region &score, Region &gradient) {
  IRMapping same;
  same.map(gradient.getArgument(0), score.getArgument(0));
  for (unsigned i = 1; i < score.getNumArguments(); ++i)
    same.map(gradient.getArgument(i + 1), score.getArgument(i));
  auto isSame = [&](Operation &op, Operation &other) {
    return other.getName() == op.getName() &&
           other.getNumOperands() == op.getNumOperands() &&
           other.getAttrDictionary() == op.getAttrDictionary() &&
           other.getResultTypes() == op.getResultTypes() &&
           llvm::all_of(llvm::zip(op.getOperands(), other.getOperands()),
                        [&](auto pair) {
                          auto [mine, others] = pair;
                          return same.lookupOrDefault(mine) == others;
                        });
  };
  for (Operation &op : gradient.front()) {
    auto it = llvm::find_if(score.front(), [&](Operation &other) {
      return op.getNumResults() == 1 && isSame(op, other);
    });
    if (it != score.front().end())
      same.map(op.getResult(0), it->getResult(0));
  }
  return same;
}

int64_t fa3::countSharedValues(Region &score, Region &gradient) {
  if (score.empty() || gradient.empty())
    return 0;
  RegionValues values(gradient, std::nullopt);
  IRMapping same = findSameValues(score, gradient);
  llvm::SmallDenseSet<Value> shared;
  for (Operation &op : gradient.front()) {
    if (op.getNumResults() == 1 && same.contains(op.getResult(0)))
      continue;
    for (Value operand : op.getOperands())
      if (same.contains(operand) &&
          (values.getVaries(operand) & RegionValues::kOfScore))
        shared.insert(operand);
  }
  return shared.size();
}
