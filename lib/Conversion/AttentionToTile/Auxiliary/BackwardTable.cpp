//===- BackwardTable.cpp - gradients of tables ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Pairs add to elements of a table in any order, and the sums do not depend on
// it. Where few elements are shared by many pairs there are several sums of
// each, so that CTAs do not wait for each other.
//===----------------------------------------------------------------------===//

#include "BackwardTable.h"
#include "../Emit/KernelMath.h"
#include "fa3/Dialect/Attention/Contract/Quantization.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Tile/IR/TileExactOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using attention::AuxPlace;
using attention::HostFunction;

/// Elements of a tile of a table, along its last dimension.
static constexpr int64_t kElements = 64;

/// Each pair is a term of one sum, or several pairs of a diagonal are: with
/// blocks of 16 rows and at least as many columns no more than one for eight.
static void limitTerms(ImplicitLocOpBuilder &b, HostFunction &host,
                       const AuxPlace &place) {
  constexpr int64_t kPairsOfDiagonal = 8;
  Block &score = host.backward.getScoreMod().front();
  Value pairs = arith::MulIOp::create(b, host.queries, host.keys);
  // Batches or heads that have elements of their own share no sum.
  const std::pair<unsigned, Value> kOwn[] = {{1, host.batch}, {2, host.heads}};
  for (auto [number, count] : kOwn)
    if (!llvm::is_contained(place.computed, score.getArgument(number)))
      pairs = arith::MulIOp::create(b, pairs, count);
  int64_t most = kMostExactTerms;
  if (attention::isAlongDiagonals(host.backward, place))
    most *= kPairsOfDiagonal;
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, pairs,
                                     arith::ConstantIndexOp::create(b, most));
  cf::AssertOp::create(
      b, fits,
      b.getStringAttr("more than " + Twine(most) +
                      " pairs may read one element of a table with a "
                      "gradient"));
}

Value fa3::allocateTableSums(ImplicitLocOpBuilder &b, HostFunction &host,
                             const AuxPlace &place, Value gradient,
                             const Twine &name) {
  limitTerms(b, host, place);
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  constexpr int64_t kMostCopies = 32, kElementsOfCopies = 1 << 16;
  auto table = cast<MemRefType>(gradient.getType());
  Value elements = index(1);
  SmallVector<Value> extents = {Value()};
  for (int64_t axis = 0; axis < table.getRank(); ++axis) {
    extents.push_back(memref::DimOp::create(b, gradient, axis));
    elements = arith::MulIOp::create(b, elements, extents.back());
  }
  elements = arith::MaxSIOp::create(b, elements, index(1));
  Value copies =
      arith::CeilDivSIOp::create(b, index(kElementsOfCopies), elements);
  extents.front() = arith::MinSIOp::create(b, copies, index(kMostCopies));
  SmallVector<int64_t> shape(extents.size(), ShapedType::kDynamic);
  shape.push_back(kExactWords);
  extents.push_back(index(kExactWords));
  return attention::allocateWorkspace(
      b, RankedTensorType::get(shape, b.getI64Type()), extents, name);
}

namespace {
/// Opens a grid over blocks of the last dimension of an array and numbers of
/// the others in front of it; the builder moves into it.
class TableGrid : public KernelMath {
public:
  TableGrid(OpBuilder &builder, Location loc, Value array, int64_t rank)
      : KernelMath(loc, builder) {
    SmallVector<Value> bounds = {blocksOf(dim(array, rank - 1), kElements)};
    for (int64_t axis = rank - 2; axis >= 0; --axis)
      bounds.push_back(dim(array, axis));
    ValueRange position = openGrid(bounds);
    at = llvm::to_vector_of<Value>(llvm::reverse(position.drop_front()));
    at.push_back(arith::MulIOp::create(b, position[0], index(kElements)));
  }

  SmallVector<Value> at; ///< the first element of a block
};
} // namespace

void fa3::buildZeroSums(OpBuilder &builder, Location loc, Value sums) {
  OpBuilder::InsertionGuard guard(builder);
  TableGrid grid(builder, loc, sums,
                 cast<MemRefType>(sums.getType()).getRank() - /*words=*/1);
  RankedTensorType type =
      grid.tensor({kElements, kExactWords}, grid.b.getI64Type());
  Value zero = arith::ConstantOp::create(
      grid.b, DenseElementsAttr::get(type, grid.b.getI64IntegerAttr(0)));
  SmallVector<Value> at = grid.at;
  at.push_back(grid.index(0));
  tile::StoreOp::create(grid.b, zero, sums, at);
}

void fa3::buildTableGradient(OpBuilder &builder, Location loc, Value sums,
                             Value gradient) {
  OpBuilder::InsertionGuard guard(builder);
  auto table = cast<MemRefType>(gradient.getType());
  TableGrid grid(builder, loc, gradient, table.getRank());
  ImplicitLocOpBuilder &b = grid.b;
  RankedTensorType type = grid.tensor({kElements}, b.getF32Type());
  Value none = grid.splat(type, 0.0), parts = grid.dim(sums, 0);
  Value result = grid.loop(parts, none, [&](Value part, Value sum) -> Value {
    SmallVector<Value> at = {part};
    llvm::append_range(at, grid.at);
    Value more = tile::LoadExactOp::create(b, type, sums, at);
    return arith::AddFOp::create(b, sum, more);
  });
  if (!table.getElementType().isF32())
    result = arith::TruncFOp::create(
        b, grid.tensor({kElements}, table.getElementType()), result);
  tile::StoreOp::create(b, result, gradient, grid.at);
}
