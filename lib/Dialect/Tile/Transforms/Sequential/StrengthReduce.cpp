//===- StrengthReduce.cpp - tile-strength-reduce --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Element code costs an instruction per element and operation. What is affine
// in row and column is taken apart here, while bounds and masks can still be
// read; registers later hold one base and immediates.
//===----------------------------------------------------------------------===//

#include "../Utils.h"
#include "Comparisons.h"
#include "RowTerms.h"
#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace fa3::tile {
#define GEN_PASS_DEF_STRENGTHREDUCE
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Integers of smaller magnitude are exact in f32, and so are their sums.
static constexpr int64_t kExactIntegers = int64_t(1) << 24;

//===----------------------------------------------------------------------===//
// Planes
//===----------------------------------------------------------------------===//

namespace {
/// An index tile of rank 2 as base + rows * r + columns * c, for row r and
/// column c.
struct Plane {
  AffineForm base;
  int64_t rows = 0, columns = 0;

  Plane operator-(const Plane &other) const {
    return {base - other.base, rows - other.rows, columns - other.columns};
  }
  Plane operator-() const { return Plane() - *this; }
  /// The least and the greatest value in a tile of this shape.
  AffineForm getLeast(ArrayRef<int64_t> shape) const {
    return base + AffineForm(std::min<int64_t>(rows, 0) * (shape[0] - 1) +
                             std::min<int64_t>(columns, 0) * (shape[1] - 1));
  }
  AffineForm getGreatest(ArrayRef<int64_t> shape) const {
    return (-*this).getLeast(shape) * -1;
  }
};
} // namespace

/// Reads a tile; conversions of index to integers that hold it are seen
/// through.
static std::optional<Plane> readPlane(Value value, unsigned depth = 0) {
  constexpr unsigned kMostDepth = 16;
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!op || !type || type.getRank() != 2 || depth > kMostDepth)
    return std::nullopt;
  if (auto cast = dyn_cast<arith::IndexCastOp>(op)) {
    if (!type.getElementType().isInteger() ||
        type.getElementTypeBitWidth() < 32)
      return std::nullopt;
    return readPlane(cast.getIn(), depth + 1);
  }
  if (!type.getElementType().isIndex())
    return std::nullopt;
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    std::optional<TileForm> form = getTileForm(broadcast.getSource());
    if (!form || !form->isAffine())
      return std::nullopt;
    Plane plane;
    plane.base = form->base;
    for (TileForm::Coordinate coordinate : form->coordinates)
      (broadcast.getDim() == 1 ? plane.rows : plane.columns) +=
          coordinate.coefficient;
    return plane;
  }
  if (auto coord = dyn_cast<CoordOp>(op)) {
    Plane plane;
    plane.base = getAffineForm(coord.getOffset());
    (coord.getDim() == 0 ? plane.rows : plane.columns) = 1;
    return plane;
  }
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    std::optional<Plane> lhs = readPlane(op->getOperand(0), depth + 1);
    std::optional<Plane> rhs = readPlane(op->getOperand(1), depth + 1);
    if (!lhs || !rhs)
      return std::nullopt;
    return isa<arith::AddIOp>(op) ? *lhs - -*rhs : *lhs - *rhs;
  }
  // Constants and splats.
  std::optional<TileForm> form = getTileForm(value);
  if (!form || !form->coordinates.empty())
    return std::nullopt;
  return Plane{form->base, 0, 0};
}

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

/// Whether all elements of a plane that is constant are at least 0.
static bool isNonNegative(const Plane &plane) {
  return plane.rows == 0 && plane.columns == 0 && provesNonNegative(plane.base);
}

/// Whether elements where `mask` holds have plane >= 0.
static bool implies(Value mask, const Plane &plane) {
  Operation *op = mask.getDefiningOp();
  if (!op)
    return false;
  if (isa<arith::AndIOp>(op))
    return implies(op->getOperand(0), plane) ||
           implies(op->getOperand(1), plane);
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare)
    return false;
  std::optional<Plane> lhs = readPlane(compare.getLhs());
  std::optional<Plane> rhs = readPlane(compare.getRhs());
  if (!lhs || !rhs)
    return false;
  Plane known;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::slt:
    known = *rhs - *lhs;
    break;
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::sgt:
    known = *lhs - *rhs;
    break;
  default:
    return false;
  }
  if (compare.getPredicate() == arith::CmpIPredicate::slt ||
      compare.getPredicate() == arith::CmpIPredicate::sgt)
    known.base.constant -= 1;
  return isNonNegative(plane - known);
}

/// Whether every use of a value, through element code, ends in a select that
/// takes it only where plane >= 0.
static bool isUsedWhere(Value value, const Plane &plane, unsigned depth = 0) {
  constexpr unsigned kMostDepth = 16;
  return depth < kMostDepth &&
         llvm::all_of(
             value.getUses(),
             [&](OpOperand &use) {
               Operation *user = use.getOwner();
               auto select = dyn_cast<arith::SelectOp>(user);
               if (select && use.getOperandNumber() == 1 &&
                   isa<RankedTensorType>(select.getCondition().getType()) &&
                   implies(select.getCondition(), plane))
                 return true;
               return isElementwise(user) &&
                      isUsedWhere(user->getResult(0), plane, depth + 1);
             });
}

/// |x| -> x or -x.
static bool resolveSign(math::AbsFOp op) {
  auto number = op.getOperand().getDefiningOp<arith::SIToFPOp>();
  std::optional<Plane> plane =
      number ? readPlane(number.getIn()) : std::nullopt;
  if (!plane)
    return false;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  auto isAlways = [&](const Plane &positive) {
    return provesNonNegative(positive.getLeast(shape)) ||
           isUsedWhere(op.getResult(), positive);
  };
  if (isAlways(*plane)) {
    op.replaceAllUsesWith(op.getOperand());
  } else if (isAlways(-*plane)) {
    OpBuilder builder(op);
    op.replaceAllUsesWith(
        arith::NegFOp::create(builder, op.getLoc(), op.getOperand())
            .getResult());
  } else {
    return false;
  }
  op.erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Whether all uses of a number, through its sign, may be reassociated.
static bool mayReassociateUses(Value number) {
  return llvm::all_of(number.getUsers(), [](Operation *user) {
    if (isa<math::AbsFOp, arith::NegFOp>(user))
      return mayReassociateUses(user->getResult(0));
    return mayReassociate(user);
  });
}

/// Whether all numbers that the division of a plane makes are exact in f32.
static bool isExact(const Plane &plane, ArrayRef<int64_t> shape) {
  Plane rows{plane.base, plane.rows, 0};
  auto fits = [&](const Plane &part) {
    AffineForm most(kExactIntegers - 1);
    return provesNonNegative(most - part.getGreatest(shape)) &&
           provesNonNegative(most + part.getLeast(shape));
  };
  return fits(plane) && fits(rows);
}

/// Converts an index tile of rank 1 and repeats it along `dim`.
static Value convert(ImplicitLocOpBuilder &b, Value tile, Type integer,
                     RankedTensorType type, int64_t dim) {
  auto narrow = [&](Type element) {
    return RankedTensorType::get({type.getDimSize(1 - dim)}, element);
  };
  Value cast = arith::IndexCastOp::create(b, narrow(integer), tile);
  Value number =
      arith::SIToFPOp::create(b, narrow(type.getElementType()), cast);
  return BroadcastOp::create(b, type, number, dim);
}

/// sitofp(base + rows * r + columns * c)
///   -> sitofp(base + rows * r) + columns * sitofp(c)
static bool divideNumber(arith::SIToFPOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type || type.getRank() != 2 || !type.getElementType().isF32())
    return false;
  std::optional<Plane> plane = readPlane(op.getIn());
  if (!plane || std::abs(plane->columns) != 1 ||
      !(isExact(*plane, type.getShape()) || mayReassociateUses(op.getResult())))
    return false;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Type integer = getElementTypeOrSelf(op.getIn().getType());
  auto indices = [&](int64_t dim) {
    return RankedTensorType::get({type.getDimSize(dim)}, b.getIndexType());
  };
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value base = materialize(b, op.getLoc(), plane->base);
  Value rows;
  if (plane->rows == 1 && provesNonNegative(plane->base)) {
    rows = CoordOp::create(b, indices(0), 0, base);
  } else {
    rows = tensor::SplatOp::create(b, base, indices(0));
    if (plane->rows) {
      Value row = CoordOp::create(b, indices(0), 0, zero);
      if (std::abs(plane->rows) != 1)
        row = arith::MulIOp::create(
            b, row,
            arith::ConstantOp::create(
                b, DenseElementsAttr::get(
                       indices(0), b.getIndexAttr(std::abs(plane->rows)))));
      rows = plane->rows < 0 ? arith::SubIOp::create(b, rows, row).getResult()
                             : arith::AddIOp::create(b, rows, row).getResult();
    }
  }
  Value columns = CoordOp::create(b, indices(1), 0, zero);
  rows = convert(b, rows, integer, type, 1);
  columns = convert(b, columns, integer, type, 0);
  auto flags = arith::FastMathFlagsAttr::get(b.getContext(),
                                             arith::FastMathFlags::reassoc);
  Value sum = plane->columns > 0
                  ? arith::AddFOp::create(b, rows, columns, flags).getResult()
                  : arith::SubFOp::create(b, rows, columns, flags).getResult();
  op.replaceAllUsesWith(sum);
  op.erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// The f32 that a tile repeats in all elements, null if it is none.
static Value getRepeated(OpBuilder &builder, Value tile) {
  if (auto splat = tile.getDefiningOp<tensor::SplatOp>())
    return splat.getInput();
  DenseFPElementsAttr constant;
  if (!matchPattern(tile, m_Constant(&constant)) || !constant.isSplat())
    return {};
  return arith::ConstantOp::create(
      builder, tile.getLoc(),
      builder.getFloatAttr(constant.getElementType(),
                           constant.getSplatValue<APFloat>()));
}

static bool isRepeated(Value tile) {
  DenseFPElementsAttr constant;
  return tile.getDefiningOp<tensor::SplatOp>() ||
         (matchPattern(tile, m_Constant(&constant)) && constant.isSplat());
}

/// (x * a) * b -> x * (a * b)
static bool joinFactors(arith::MulFOp outer) {
  if (!isa<RankedTensorType>(outer.getType()) || !mayReassociate(outer))
    return false;
  for (auto [product, factor] : {std::pair(outer.getLhs(), outer.getRhs()),
                                 std::pair(outer.getRhs(), outer.getLhs())}) {
    auto inner = product.getDefiningOp<arith::MulFOp>();
    // An inner product that others use would still be computed.
    if (!inner || !inner->hasOneUse() || !mayReassociate(inner) ||
        !isRepeated(factor))
      continue;
    for (auto [x, other] : {std::pair(inner.getLhs(), inner.getRhs()),
                            std::pair(inner.getRhs(), inner.getLhs())}) {
      if (!isRepeated(other))
        continue;
      ImplicitLocOpBuilder b(outer.getLoc(), outer);
      Value repeated = getRepeated(b, factor);
      Value joined = arith::MulFOp::create(b, getRepeated(b, other), repeated,
                                           inner.getFastmath());
      Value splat = tensor::SplatOp::create(
          b, joined, cast<RankedTensorType>(outer.getType()));
      outer.replaceAllUsesWith(
          arith::MulFOp::create(b, x, splat, outer.getFastmath()).getResult());
      outer.erase();
      return true;
    }
  }
  return false;
}

namespace {
struct StrengthReduce : fa3::tile::impl::StrengthReduceBase<StrengthReduce> {
  using StrengthReduceBase::StrengthReduceBase;
  void runOnOperation() override {
    (void)forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
      numComparisons += splitComparisons(kernel);
      // Signs first: they are read from numbers that are still whole.
      numSigns += forEach<math::AbsFOp>(kernel, resolveSign);
      numNumbers += forEach<arith::SIToFPOp>(kernel, divideNumber);
      while (unsigned joined = forEach<arith::MulFOp>(kernel, joinFactors))
        numFactors += joined;
      numRowTerms += takeOutRowTerms(kernel);
      return success();
    });
  }

  /// How many operations of a kind the rewrite applies to.
  template <typename Op>
  static unsigned forEach(gpu::GPUFuncOp kernel,
                          llvm::function_ref<bool(Op)> rewrite) {
    SmallVector<Op> ops;
    kernel.walk([&](Op op) { ops.push_back(op); });
    return llvm::count_if(llvm::reverse(ops), rewrite);
  }
};
} // namespace
