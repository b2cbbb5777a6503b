//===- Numbers.cpp - coordinates as numbers -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Numbers that are affine in the coordinates of a thread's registers are
// base + factor * constant: one instruction per register, with an immediate,
// where sums and products take one each.
//===----------------------------------------------------------------------===//

#include "../KernelInfo.h"
#include "../Patterns.h"
#include "AffineVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;

/// Integers of smaller magnitude are exact in f32, and so are their sums.
static constexpr int64_t kExactIntegers = int64_t(1) << 24;

/// The greatest value of an i32 that cannot be negative, as far as masks,
/// shifts and sums tell.
static std::optional<int64_t> getGreatest(Value value, unsigned depth = 0) {
  constexpr unsigned kMostDepth = 12;
  constexpr int64_t kMostThreads = 1024;
  if (std::optional<int64_t> constant = getConstant(value))
    return *constant >= 0 ? constant : std::nullopt;
  Operation *op = value.getDefiningOp();
  if (!op || depth > kMostDepth)
    return std::nullopt;
  if (isa<NVVM::ThreadIdXOp>(op))
    return kMostThreads - 1;
  auto get = [&](unsigned i) {
    return getGreatest(op->getOperand(i), depth + 1);
  };
  if (isa<arith::AndIOp>(op)) {
    std::optional<int64_t> lhs = get(0), rhs = get(1);
    return lhs && rhs ? std::min(*lhs, *rhs) : lhs ? lhs : rhs;
  }
  if (!isa<arith::AddIOp, arith::MulIOp, arith::OrIOp, arith::XOrIOp,
           arith::ShLIOp, arith::ShRUIOp, arith::RemUIOp, arith::DivUIOp>(op))
    return std::nullopt;
  std::optional<int64_t> lhs = get(0), rhs = get(1);
  if (!lhs || !rhs)
    return std::nullopt;
  bool isConstant = getConstant(op->getOperand(1)).has_value();
  std::optional<int64_t> result;
  if (isa<arith::AddIOp, arith::OrIOp, arith::XOrIOp>(op))
    result = *lhs + *rhs;
  else if (isa<arith::MulIOp>(op))
    result = *lhs * *rhs;
  else if (isa<arith::ShLIOp>(op) && *rhs < 31)
    result = *lhs << *rhs;
  else if (isa<arith::ShRUIOp>(op) && isConstant)
    result = *lhs >> std::min<int64_t>(*rhs, 31);
  else if (isa<arith::RemUIOp>(op))
    result = std::min(*lhs, *rhs);
  else if (isa<arith::DivUIOp>(op) && isConstant && *rhs > 0)
    result = *lhs / *rhs;
  return result && *result < kExactIntegers ? result : std::nullopt;
}

namespace {
/// A vector of f32 as base + factor * constants. Base and factor repeat few
/// values; a null factor is 1.
struct Number {
  Value base, factor;
  SmallVector<double> constants;

  bool varies() const {
    return llvm::any_of(constants, [](double c) { return c != 0; });
  }
};

class NumberSplitter {
public:
  NumberSplitter(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc), narrow(builder, loc) {}

  /// Nothing if the vector repeats no few values and is not affine in such.
  std::optional<Number> split(Value value, unsigned depth = 0);
  Value emit(const Number &number, VectorType type);

private:
  std::optional<Number> splitNumber(arith::SIToFPOp op);
  std::optional<Number> splitShuffle(vector::ShuffleOp op, unsigned depth);
  std::optional<Number> splitSum(Operation *op, unsigned depth);
  std::optional<Number> splitProduct(arith::MulFOp op, unsigned depth);

  Value negate(Value value) {
    return narrow.apply(value, [&](Value x) {
      return builder.createOrFold<arith::NegFOp>(loc, x);
    });
  }
  Value multiply(Value a, Value b) {
    return narrow.apply(a, b, [&](Value x, Value y) {
      return builder.createOrFold<arith::MulFOp>(loc, x, y);
    });
  }

  OpBuilder &builder;
  Location loc;
  NarrowBuilder narrow;
};
} // namespace

static bool mayReassociate(Operation *op) {
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  return flags && bitEnumContainsAll(flags.getFastMathFlagsAttr().getValue(),
                                     arith::FastMathFlags::reassoc);
}

/// sitofp(base + constant) for integers that are small enough.
std::optional<Number> NumberSplitter::splitNumber(arith::SIToFPOp op) {
  Affine integer = AffineSplitter(builder, loc).split(op.getIn());
  Value scalar = integer.base ? getSplat(integer.base) : Value();
  std::optional<int64_t> most =
      scalar ? getGreatest(scalar) : std::optional<int64_t>(0);
  if ((integer.base && !scalar) || !most)
    return std::nullopt;
  Number number;
  for (int64_t constant : integer.constants) {
    if (std::abs(constant) + *most >= kExactIntegers)
      return std::nullopt;
    number.constants.push_back(constant);
  }
  Type f32 = builder.getF32Type();
  Value base =
      scalar
          ? arith::SIToFPOp::create(builder, loc, f32, scalar).getResult()
          : arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  number.base = narrow.splat(base, number.constants.size());
  return number;
}

std::optional<Number> NumberSplitter::splitShuffle(vector::ShuffleOp op,
                                                   unsigned depth) {
  std::optional<Number> source = split(op.getV1(), depth + 1);
  Value base = source ? getSplat(source->base) : Value();
  Value factor = source && source->factor ? getSplat(source->factor) : Value();
  if (!source || !source->varies() || !base || (source->factor && !factor))
    return std::nullopt;
  Number number;
  int64_t size = source->constants.size();
  for (int64_t index : op.getMask())
    number.constants.push_back(index < 0 ? 0 : source->constants[index % size]);
  number.base = narrow.splat(base, number.constants.size());
  if (factor)
    number.factor = narrow.splat(factor, number.constants.size());
  return number;
}

std::optional<Number> NumberSplitter::splitSum(Operation *op, unsigned depth) {
  std::optional<Number> a = split(op->getOperand(0), depth + 1);
  std::optional<Number> b = split(op->getOperand(1), depth + 1);
  if (!a || !b)
    return std::nullopt;
  bool subtracts = isa<arith::SubFOp>(op);
  if (a->varies() && b->varies() && (a->factor || b->factor))
    return std::nullopt;
  Number sum;
  sum.base = narrow.apply(a->base, b->base, [&](Value x, Value y) {
    return subtracts ? builder.createOrFold<arith::SubFOp>(loc, x, y)
                     : builder.createOrFold<arith::AddFOp>(loc, x, y);
  });
  sum.factor = a->varies() ? a->factor : b->factor;
  for (auto [x, y] : llvm::zip(a->constants, b->constants))
    sum.constants.push_back(subtracts ? x - y : x + y);
  return sum;
}

std::optional<Number> NumberSplitter::splitProduct(arith::MulFOp op,
                                                   unsigned depth) {
  std::optional<Number> a = split(op.getLhs(), depth + 1);
  std::optional<Number> b = split(op.getRhs(), depth + 1);
  if (!a || !b || (a->varies() && b->varies()))
    return std::nullopt;
  if (b->varies())
    std::swap(a, b);
  Number product = *a;
  product.base = multiply(a->base, b->base);
  product.factor = a->factor ? multiply(a->factor, b->base) : b->base;
  return product;
}

std::optional<Number> NumberSplitter::split(Value value, unsigned depth) {
  constexpr unsigned kMaxDepth = 8;
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type || type.getRank() != 1 || !type.getElementType().isF32() ||
      depth > kMaxDepth)
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  std::optional<Number> number;
  if (auto convert = dyn_cast_if_present<arith::SIToFPOp>(op))
    number = splitNumber(convert);
  else if (vector::ShuffleOp shuffle = getShuffle(value))
    number = splitShuffle(shuffle, depth);
  else if (op && isa<arith::AddFOp, arith::SubFOp>(op) && mayReassociate(op))
    number = splitSum(op, depth);
  else if (auto product = dyn_cast_if_present<arith::MulFOp>(op);
           product && mayReassociate(op))
    number = splitProduct(product, depth);
  else if (auto negated = dyn_cast_if_present<arith::NegFOp>(op)) {
    number = split(negated.getOperand(), depth + 1);
    if (number) {
      number->base = negate(number->base);
      for (double &constant : number->constants)
        constant = -constant;
    }
  }
  if (number)
    return number;
  // What repeats few values as it is.
  DenseFPElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat()) {
    Value scalar = arith::ConstantOp::create(
        builder, loc,
        builder.getF32FloatAttr(
            constant.getSplatValue<APFloat>().convertToFloat()));
    value = narrow.splat(scalar, type.getNumElements());
  }
  if (!getSplat(value) && !getShuffle(value))
    return std::nullopt;
  return Number{value, {}, SmallVector<double>(type.getNumElements(), 0)};
}

Value NumberSplitter::emit(const Number &number, VectorType type) {
  SmallVector<float> values(number.constants.begin(), number.constants.end());
  Value constants = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef(values)));
  if (!number.factor)
    return arith::AddFOp::create(builder, loc, number.base, constants);
  return LLVM::FMAOp::create(builder, loc, constants, number.factor,
                             number.base);
}

/// Whether the splitter reads through the operation.
static bool isAffine(Operation *op) {
  return isa<arith::SIToFPOp, arith::NegFOp, vector::ShuffleOp>(op) ||
         (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) &&
          mayReassociate(op));
}

void fa3::simplifyNumbers(RewriterBase &rewriter, Operation *root) {
  // Users before what they use: an inner number of one that has been rewritten
  // has no use left.
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (op->getNumResults() == 1 && isAffine(op))
      ops.push_back(op);
  });
  for (Operation *op : llvm::reverse(ops)) {
    if (op->use_empty()) {
      rewriter.eraseOp(op);
      continue;
    }
    auto type = dyn_cast<VectorType>(op->getResult(0).getType());
    if (!type || isa<vector::ShuffleOp>(op))
      continue;
    rewriter.setInsertionPoint(op);
    NumberSplitter splitter(rewriter, op->getLoc());
    std::optional<Number> number = splitter.split(op->getResult(0));
    if (number && number->varies())
      rewriter.replaceOp(op, splitter.emit(*number, type));
  }
}
