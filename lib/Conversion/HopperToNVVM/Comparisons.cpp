//===- Comparisons.cpp - coordinates against limits -----------------------===//
//
// Columns of a thread are one base plus constants, so `column < limit` for 40
// registers needs one subtraction (limit - base) and 40 comparisons with
// immediates, instead of 40 additions and 40 comparisons.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;

namespace {
/// A vector of integers as base + constants: the base is one scalar for all
/// elements, or a vector, or absent (zero).
struct Affine {
  Value scalar, vector;
  SmallVector<int64_t> constants;

  bool isConstant() const { return !scalar && !vector; }
};

/// Splits vectors of i32 or index, which is as wide here. Wrap-around is no
/// concern: a coordinate and its constant part are far from the limits of i32,
/// and differences of bases saturate.
class AffineSplitter {
public:
  AffineSplitter(RewriterBase &rewriter, Location loc)
      : rewriter(rewriter), loc(loc) {}

  Affine split(Value value, unsigned depth = 0);
  /// Saturating `a` - `b` of the bases: a scalar, or a vector.
  Value subtract(const Affine &a, const Affine &b, int64_t count);

private:
  Affine opaque(Value value) {
    auto type = cast<VectorType>(value.getType());
    return {Value(), value, SmallVector<int64_t>(type.getNumElements(), 0)};
  }
  std::optional<Affine> addSplit(Value lhs, Value rhs, int64_t sign,
                                 unsigned depth);
  Value toI32(Value value);
  Value getBase(const Affine &affine, int64_t count);

  RewriterBase &rewriter;
  Location loc;
};
} // namespace

Value AffineSplitter::toI32(Value value) {
  Type type = rewriter.getI32Type();
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = VectorType::get(vector.getShape(), type);
  if (type == value.getType())
    return value;
  return arith::IndexCastOp::create(rewriter, loc, type, value);
}

std::optional<Affine> AffineSplitter::addSplit(Value lhs, Value rhs,
                                               int64_t sign, unsigned depth) {
  Affine a = split(lhs, depth + 1), b = split(rhs, depth + 1);
  for (auto [x, y] : llvm::zip(a.constants, b.constants))
    x += sign * y;
  if (b.isConstant())
    return a;
  if (a.isConstant() && sign > 0) {
    b.constants = a.constants;
    return b;
  }
  // One operation on scalars instead of one per element.
  if (a.scalar && b.scalar) {
    Value x = toI32(a.scalar), y = toI32(b.scalar);
    a.scalar = sign > 0 ? Value(arith::AddIOp::create(rewriter, loc, x, y))
                        : Value(arith::SubIOp::create(rewriter, loc, x, y));
    return a;
  }
  return std::nullopt;
}

Affine AffineSplitter::split(Value value, unsigned depth) {
  constexpr unsigned kMaxDepth = 8;
  auto type = cast<VectorType>(value.getType());
  int64_t count = type.getNumElements();
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
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op);
      broadcast && !isa<VectorType>(broadcast.getSource().getType()))
    return {broadcast.getSource(), Value(), SmallVector<int64_t>(count, 0)};
  if (auto cast = dyn_cast<arith::IndexCastOp>(op))
    if (isa<IndexType>(type.getElementType()) ||
        getElementTypeOrSelf(cast.getIn().getType()).isIndex())
      return split(cast.getIn(), depth + 1);
  if (auto add = dyn_cast<arith::AddIOp>(op))
    if (std::optional<Affine> sum =
            addSplit(add.getLhs(), add.getRhs(), 1, depth))
      return *sum;
  if (auto sub = dyn_cast<arith::SubIOp>(op))
    if (std::optional<Affine> difference =
            addSplit(sub.getLhs(), sub.getRhs(), -1, depth))
      return *difference;
  if (auto shuffle = dyn_cast<vector::ShuffleOp>(op);
      shuffle && shuffle.getV1() == shuffle.getV2()) {
    Affine source = split(shuffle.getV1(), depth + 1);
    int64_t size = source.constants.size();
    Affine result = {source.scalar, Value(), {}};
    bool isSplit = source.scalar || source.isConstant();
    for (int64_t index : shuffle.getMask())
      result.constants.push_back(
          index < 0 || !isSplit ? 0 : source.constants[index % size]);
    if (!isSplit)
      result.vector = value;
    return result;
  }
  return opaque(value);
}

Value AffineSplitter::getBase(const Affine &affine, int64_t count) {
  if (affine.vector)
    return toI32(affine.vector);
  Type i32 = rewriter.getI32Type();
  auto type = VectorType::get(count, i32);
  Value scalar = affine.scalar ? toI32(affine.scalar)
                               : IntegerBuilder(rewriter, loc).constant(0);
  return vector::BroadcastOp::create(rewriter, loc, type, scalar);
}

Value AffineSplitter::subtract(const Affine &a, const Affine &b,
                               int64_t count) {
  auto emit = [&](Value x, Value y) {
    return LLVM::SSubSat::create(rewriter, loc, x.getType(), x, y).getResult();
  };
  if (!a.vector && !b.vector) {
    auto scalar = [&](Value value) {
      return value ? toI32(value) : IntegerBuilder(rewriter, loc).constant(0);
    };
    return emit(scalar(a.scalar), scalar(b.scalar));
  }
  // The rows of a fragment repeat along its columns: subtract before that.
  auto shuffle = a.vector ? a.vector.getDefiningOp<vector::ShuffleOp>()
                          : vector::ShuffleOp();
  if (shuffle && !b.vector && shuffle.getV1() == shuffle.getV2()) {
    auto narrow = cast<VectorType>(shuffle.getV1().getType());
    Affine rows = {Value(), shuffle.getV1(), {}};
    Value difference =
        emit(toI32(rows.vector), getBase(b, narrow.getNumElements()));
    return vector::ShuffleOp::create(rewriter, loc, difference, difference,
                                     shuffle.getMask());
  }
  return emit(getBase(a, count), getBase(b, count));
}

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

void fa3::simplifyComparisons(RewriterBase &rewriter, Operation *root) {
  SmallVector<arith::CmpIOp> comparisons;
  root->walk([&](arith::CmpIOp op) {
    auto type = dyn_cast<VectorType>(op.getLhs().getType());
    if (type && type.getRank() == 1 && getSwapped(op.getPredicate()) &&
        (type.getElementType().isInteger(32) ||
         type.getElementType().isIndex()))
      comparisons.push_back(op);
  });
  for (arith::CmpIOp op : comparisons) {
    rewriter.setInsertionPoint(op);
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getLhs().getType());
    int64_t count = type.getNumElements();
    AffineSplitter splitter(rewriter, loc);
    Affine lhs = splitter.split(op.getLhs()), rhs = splitter.split(op.getRhs());
    SmallVector<int32_t> constants;
    bool fits = true;
    for (auto [c, d] : llvm::zip(lhs.constants, rhs.constants)) {
      constants.push_back(c - d);
      fits &= llvm::isInt<31>(c - d);
    }
    // Worth it if the constants differ between elements, unless they already
    // are one side of the comparison.
    bool isUniform =
        llvm::all_equal(lhs.constants) && llvm::all_equal(rhs.constants);
    bool isDone = (lhs.isConstant() && llvm::all_equal(rhs.constants)) ||
                  (rhs.isConstant() && llvm::all_equal(lhs.constants));
    if (!fits || isUniform || isDone)
      continue;
    // lhs + c < rhs + d  <=>  rhs - lhs > c - d. The constants are small, so a
    // saturated difference compares with them like the exact one.
    Value difference = splitter.subtract(rhs, lhs, count);
    auto i32Vector = VectorType::get(count, rewriter.getI32Type());
    if (!isa<VectorType>(difference.getType()))
      difference =
          vector::BroadcastOp::create(rewriter, loc, i32Vector, difference);
    Value immediates = arith::ConstantOp::create(
        rewriter, loc,
        DenseElementsAttr::get(i32Vector, ArrayRef<int32_t>(constants)));
    rewriter.replaceOpWithNewOp<arith::CmpIOp>(
        op, *getSwapped(op.getPredicate()), difference, immediates);
  }
}
