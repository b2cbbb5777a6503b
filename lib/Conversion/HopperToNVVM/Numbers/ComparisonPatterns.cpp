//===- ComparisonPatterns.cpp - coordinates against limits ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Columns of a thread are one base plus constants, so `column < limit` for 40
// registers needs one subtraction (limit - base) and 40 comparisons with
// immediates, instead of 40 additions and 40 comparisons. Several limits of one
// column become one: the least.
//===----------------------------------------------------------------------===//

#include "../Patterns.h"
#include "AffineVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa3;

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// The predicate with its sides swapped; none for unsigned ones.
static std::optional<arith::CmpIPredicate>
getSwapped(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
  case arith::CmpIPredicate::ne:
    return predicate;
  case arith::CmpIPredicate::slt:
    return arith::CmpIPredicate::sgt;
  case arith::CmpIPredicate::sle:
    return arith::CmpIPredicate::sge;
  case arith::CmpIPredicate::sgt:
    return arith::CmpIPredicate::slt;
  case arith::CmpIPredicate::sge:
    return arith::CmpIPredicate::sle;
  default:
    return std::nullopt;
  }
}

/// Whether a comparison is of vectors of coordinates.
static bool comparesCoordinates(arith::CmpIOp op) {
  auto type = dyn_cast<VectorType>(op.getLhs().getType());
  return type && type.getRank() == 1 && getSwapped(op.getPredicate()) &&
         (type.getElementType().isInteger(32) ||
          type.getElementType().isIndex());
}

/// lhs + c < rhs + d  ->  rhs - lhs > c - d.
static void separateConstants(RewriterBase &rewriter, arith::CmpIOp op) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  AffineSplitter splitter(rewriter, loc);
  Affine lhs = splitter.split(op.getLhs()), rhs = splitter.split(op.getRhs());
  int64_t size = lhs.constants.size();
  SmallVector<int32_t> constants;
  for (auto [c, d] : llvm::zip(lhs.constants, rhs.constants)) {
    // What is larger is no coordinate.
    if (!llvm::isInt<30>(c) || !llvm::isInt<30>(d))
      return;
    constants.push_back(c - d);
  }
  // Worth it if the constants differ between elements, unless they already are
  // one side of the comparison.
  bool areUniform =
      llvm::all_equal(lhs.constants) && llvm::all_equal(rhs.constants);
  bool areApart = (!lhs.base && llvm::all_equal(rhs.constants)) ||
                  (!rhs.base && llvm::all_equal(lhs.constants));
  if (areUniform || areApart)
    return;
  NarrowBuilder narrow(rewriter, loc);
  Value left = lhs.base ? lhs.base : narrow.zero(size);
  Value right = rhs.base ? rhs.base : narrow.zero(size);
  // The constants are small, so a saturated difference compares with them like
  // the exact one.
  Value difference = narrow.apply(right, left, [&](Value x, Value y) {
    return LLVM::SSubSat::create(rewriter, loc, x.getType(), x, y).getResult();
  });
  rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, *getSwapped(op.getPredicate()),
                                             difference,
                                             narrow.constants(constants));
}

/// shuffle (compare x, constants)  ->  compare (shuffle x), constants'.
static void shuffleOperands(RewriterBase &rewriter, vector::ShuffleOp op) {
  auto compare = op.getV1().getDefiningOp<arith::CmpIOp>();
  DenseIntElementsAttr constants;
  if (!getShuffle(op.getResult()) || !compare ||
      !comparesCoordinates(compare) ||
      !matchPattern(compare.getRhs(), m_Constant(&constants)))
    return;
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  NarrowBuilder narrow(rewriter, loc);
  auto values = llvm::to_vector(constants.getValues<APInt>());
  SmallVector<int32_t> immediates;
  for (int64_t index : op.getMask())
    immediates.push_back(
        index < 0 ? 0 : values[index % values.size()].getSExtValue());
  Value lhs = narrow.toI32(compare.getLhs());
  Value scalar = getSplat(lhs);
  Value shuffled = scalar ? narrow.splat(scalar, immediates.size())
                          : Value(vector::ShuffleOp::create(rewriter, loc, lhs,
                                                            lhs, op.getMask()));
  rewriter.replaceOpWithNewOp<arith::CmpIOp>(
      op, compare.getPredicate(), shuffled, narrow.constants(immediates));
}

namespace {
/// `value` > or < constants, strictly.
struct Limit {
  Value value;
  bool isGreater;
  SmallVector<int32_t> constants;
};
} // namespace

static std::optional<Limit> getLimit(Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  DenseIntElementsAttr constants;
  if (!compare || !comparesCoordinates(compare) ||
      !getElementTypeOrSelf(compare.getLhs().getType()).isInteger(32) ||
      !matchPattern(compare.getRhs(), m_Constant(&constants)))
    return std::nullopt;
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = compare.getPredicate();
  if (predicate == Predicate::eq || predicate == Predicate::ne)
    return std::nullopt;
  Limit limit = {compare.getLhs(),
                 predicate == Predicate::sgt || predicate == Predicate::sge,
                 {}};
  int64_t step = predicate == Predicate::sge   ? -1
                 : predicate == Predicate::sle ? 1
                                               : 0;
  for (const APInt &constant : constants.getValues<APInt>()) {
    if (!constant.isSignedIntN(30))
      return std::nullopt;
    limit.constants.push_back(constant.getSExtValue() + step);
  }
  return limit;
}

/// x + k for constants k that take few values: what the rows of a fragment add.
/// Null if the sum is not a repetition of few values.
static Value addFew(OpBuilder &builder, Location loc, Value x,
                    ArrayRef<int32_t> k) {
  constexpr size_t kMostValues = 4;
  NarrowBuilder narrow(builder, loc);
  auto add = [&](Value a, Value b) {
    return LLVM::SAddSat::create(builder, loc, a.getType(), a, b).getResult();
  };
  if (llvm::all_equal(k)) {
    if (k.front() == 0)
      return x;
    Value offset = IntegerBuilder(builder, loc).constant(k.front());
    return narrow.apply(x, narrow.splat(offset, k.size()), add);
  }
  llvm::SmallSetVector<int32_t, 4> distinct(k.begin(), k.end());
  Value scalar = getSplat(x);
  if (!scalar || distinct.size() > kMostValues)
    return {};
  Value terms = narrow.constants(distinct.getArrayRef());
  Value sum = add(narrow.splat(scalar, distinct.size()), terms);
  SmallVector<int64_t> mask;
  for (int32_t value : k)
    mask.push_back(llvm::find(distinct, value) - distinct.begin());
  return vector::ShuffleOp::create(builder, loc, sum, sum, mask);
}

/// x > c and y > c - k  ->  min(x, y + k) > c; likewise < with max.
static void mergeLimits(RewriterBase &rewriter, arith::AndIOp op) {
  if (!isa<VectorType>(op.getType()))
    return;
  std::optional<Limit> a = getLimit(op.getLhs()), b = getLimit(op.getRhs());
  if (!a || !b || a->isGreater != b->isGreater)
    return;
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  SmallVector<int32_t> distance;
  for (auto [x, y] : llvm::zip(a->constants, b->constants))
    distance.push_back(x - y);
  Value other = addFew(rewriter, loc, b->value, distance);
  if (!other)
    return;
  NarrowBuilder narrow(rewriter, loc);
  Value both = narrow.apply(a->value, other, [&](Value x, Value y) {
    return a->isGreater ? Value(arith::MinSIOp::create(rewriter, loc, x, y))
                        : Value(arith::MaxSIOp::create(rewriter, loc, x, y));
  });
  rewriter.replaceOpWithNewOp<arith::CmpIOp>(
      op, a->isGreater ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt,
      both, narrow.constants(a->constants));
}

void fa3::simplifyComparisons(RewriterBase &rewriter, Operation *root) {
  SmallVector<arith::CmpIOp> comparisons;
  root->walk([&](arith::CmpIOp op) {
    if (comparesCoordinates(op))
      comparisons.push_back(op);
  });
  for (arith::CmpIOp op : comparisons)
    separateConstants(rewriter, op);
  SmallVector<vector::ShuffleOp> shuffles;
  root->walk([&](vector::ShuffleOp op) { shuffles.push_back(op); });
  for (vector::ShuffleOp op : shuffles)
    shuffleOperands(rewriter, op);
  SmallVector<arith::AndIOp> conjunctions;
  root->walk([&](arith::AndIOp op) { conjunctions.push_back(op); });
  for (arith::AndIOp op : conjunctions)
    mergeLimits(rewriter, op);
}
