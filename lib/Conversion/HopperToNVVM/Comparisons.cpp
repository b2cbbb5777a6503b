//===- Comparisons.cpp - coordinates against limits -----------------------===//
//
// Columns of a thread are one base plus constants, so `column < limit` for 40
// registers needs one subtraction (limit - base) and 40 comparisons with
// immediates, instead of 40 additions and 40 comparisons. Several limits of one
// column become one: the least.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa3;

//===----------------------------------------------------------------------===//
// Vectors that hold few values
//===----------------------------------------------------------------------===//

/// The value that a vector repeats in all elements, null if it is none.
static Value getSplat(Value vector) {
  auto broadcast = vector.getDefiningOp<vector::BroadcastOp>();
  return broadcast && !isa<VectorType>(broadcast.getSource().getType())
             ? broadcast.getSource()
             : Value();
}

/// The shuffle of a single vector that gives a value, if it is one.
static vector::ShuffleOp getShuffle(Value vector) {
  auto shuffle = vector.getDefiningOp<vector::ShuffleOp>();
  return shuffle && shuffle.getV1() == shuffle.getV2() ? shuffle
                                                       : vector::ShuffleOp();
}

static int64_t getSize(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

namespace {
/// Builds arithmetic on i32 vectors that are splats, or rows repeated along
/// columns, on what they repeat.
class NarrowBuilder {
public:
  using Function = llvm::function_ref<Value(Value, Value)>;

  NarrowBuilder(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc) {}

  Value splat(Value scalar, int64_t size) {
    auto type = VectorType::get(size, scalar.getType());
    return vector::BroadcastOp::create(builder, loc, type, scalar);
  }
  Value constants(ArrayRef<int32_t> values) {
    int64_t size = values.size();
    auto type = VectorType::get(size, builder.getI32Type());
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, values));
  }
  Value zero(int64_t size) {
    return splat(IntegerBuilder(builder, loc).constant(0), size);
  }
  /// function(a, b) on vectors of one size.
  Value apply(Value a, Value b, Function function) {
    int64_t size = getSize(a);
    Value splatA = getSplat(a), splatB = getSplat(b);
    if (splatA && splatB)
      return splat(function(splatA, splatB), size);
    vector::ShuffleOp shuffleA = getShuffle(a), shuffleB = getShuffle(b);
    auto shuffle = [&](Value narrow, vector::ShuffleOp like) {
      return vector::ShuffleOp::create(builder, loc, narrow, narrow,
                                       like.getMask());
    };
    if (shuffleA && splatB) {
      int64_t narrow = getSize(shuffleA.getV1());
      return shuffle(function(shuffleA.getV1(), splat(splatB, narrow)),
                     shuffleA);
    }
    if (splatA && shuffleB) {
      int64_t narrow = getSize(shuffleB.getV1());
      return shuffle(function(splat(splatA, narrow), shuffleB.getV1()),
                     shuffleB);
    }
    if (shuffleA && shuffleB && shuffleA.getMask() == shuffleB.getMask() &&
        shuffleA.getV1().getType() == shuffleB.getV1().getType())
      return shuffle(function(shuffleA.getV1(), shuffleB.getV1()), shuffleA);
    return function(a, b);
  }
  /// The vector as i32; `index` is as wide.
  Value toI32(Value vector) {
    Type i32 = builder.getI32Type();
    auto type = cast<VectorType>(vector.getType());
    if (type.getElementType() == i32)
      return vector;
    if (Value scalar = getSplat(vector))
      return splat(arith::IndexCastOp::create(builder, loc, i32, scalar),
                   type.getNumElements());
    return arith::IndexCastOp::create(
        builder, loc, VectorType::get(type.getShape(), i32), vector);
  }

private:
  OpBuilder &builder;
  Location loc;
};

//===----------------------------------------------------------------------===//
// Base and constants
//===----------------------------------------------------------------------===//

/// A vector of integers as base + constants; without a base it is constant.
struct Affine {
  Value base;
  SmallVector<int64_t> constants;
};

/// Splits vectors of i32 or index. Wrap-around is no concern: coordinates and
/// constants are far from the limits of i32, and differences saturate.
class AffineSplitter {
public:
  AffineSplitter(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc), narrow(builder, loc) {}

  Affine split(Value value, unsigned depth = 0);

private:
  Affine opaque(Value value) {
    return {narrow.toI32(value), SmallVector<int64_t>(getSize(value), 0)};
  }
  Affine combine(Value lhs, Value rhs, int64_t sign, unsigned depth);

  OpBuilder &builder;
  Location loc;
  NarrowBuilder narrow;
};
} // namespace

/// lhs + sign * rhs.
Affine AffineSplitter::combine(Value lhs, Value rhs, int64_t sign,
                               unsigned depth) {
  Affine a = split(lhs, depth + 1), b = split(rhs, depth + 1);
  for (auto [x, y] : llvm::zip(a.constants, b.constants))
    x += sign * y;
  if (!b.base)
    return a;
  if (!a.base)
    a.base = narrow.zero(a.constants.size());
  a.base = narrow.apply(a.base, b.base, [&](Value x, Value y) {
    return sign > 0 ? builder.createOrFold<arith::AddIOp>(loc, x, y)
                    : builder.createOrFold<arith::SubIOp>(loc, x, y);
  });
  return a;
}

Affine AffineSplitter::split(Value value, unsigned depth) {
  constexpr unsigned kMaxDepth = 8;
  DenseIntElementsAttr constants;
  if (matchPattern(value, m_Constant(&constants))) {
    Affine result;
    for (const APInt &element : constants.getValues<APInt>())
      result.constants.push_back(element.getSExtValue());
    return result;
  }
  Operation *op = value.getDefiningOp();
  if (!op || depth > kMaxDepth)
    return opaque(value);
  if (auto cast = dyn_cast<arith::IndexCastOp>(op)) {
    Type from = getElementTypeOrSelf(cast.getIn().getType());
    Type to = getElementTypeOrSelf(value.getType());
    if ((from.isInteger(32) && to.isIndex()) ||
        (from.isIndex() && to.isInteger(32)))
      return split(cast.getIn(), depth + 1);
  }
  if (auto add = dyn_cast<arith::AddIOp>(op))
    return combine(add.getLhs(), add.getRhs(), 1, depth);
  if (auto sub = dyn_cast<arith::SubIOp>(op))
    return combine(sub.getLhs(), sub.getRhs(), -1, depth);
  if (vector::ShuffleOp shuffle = getShuffle(value)) {
    Affine source = split(shuffle.getV1(), depth + 1);
    if (source.base && !getSplat(source.base))
      return opaque(value);
    Affine result;
    int64_t size = source.constants.size();
    for (int64_t index : shuffle.getMask())
      result.constants.push_back(index < 0 ? 0
                                           : source.constants[index % size]);
    if (source.base)
      result.base =
          narrow.splat(getSplat(source.base), result.constants.size());
    return result;
  }
  return opaque(value);
}

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
  Value sum = add(narrow.splat(scalar, distinct.size()),
                  narrow.constants(distinct.getArrayRef()));
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
