//===- GridSections.cpp - parts of a grid that share the L2 cache ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "GridSections.h"
#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa3::tile;

/// Takes off a minimum or maximum with the same value from both: the values are
/// no nearer to each other without.
static bool stripClamp(Value &x, Value &y) {
  Operation *a = x.getDefiningOp(), *b = y.getDefiningOp();
  if (!a || !b || a->getName() != b->getName() ||
      !isa<arith::MinSIOp, arith::MaxSIOp>(a))
    return false;
  auto isSame = [](Value v, Value w) {
    AffineForm difference = getAffineForm(v) - getAffineForm(w);
    return difference.isConstant() && difference.constant == 0;
  };
  for (unsigned i : {0, 1})
    for (unsigned j : {0, 1})
      if (isSame(a->getOperand(i), b->getOperand(j))) {
        x = a->getOperand(1 - i);
        y = b->getOperand(1 - j);
        return true;
      }
  return false;
}

/// Whether memory says what `value` is, at a place that depends on `index`.
static bool findsInMemory(Value value, Value index) {
  llvm::SetVector<Value> values, read;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i)
    if (Operation *op = values[i].getDefiningOp())
      (isa<ScalarLoadOp, SearchOp>(op) ? read : values)
          .insert(op->operand_begin(), op->operand_end());
  for (size_t i = 0; i < read.size(); ++i)
    if (Operation *op = read[i].getDefiningOp())
      read.insert(op->operand_begin(), op->operand_end());
  return read.contains(index);
}

/// Bytes that one tile of the grid loads in a loop, if it finds in memory where
/// its rows begin and they lie one behind the other: what a sequence has, of
/// those that are packed into an array. How many rows that is nobody knows.
static std::optional<int64_t> getBytesOfRun(scf::ForOp loop, LoadOp load,
                                            GridOp grid) {
  constexpr int64_t kRowsOfRun = 8192;
  Value first = grid.getBody().getArgument(0);
  auto outer = loop->getParentOfType<scf::ForOp>();
  if (outer && grid->isProperAncestor(outer))
    return std::nullopt;
  bool isRun = false;
  for (Value place : load.getPlaceOperands()) {
    if (findsInMemory(place, loop.getInductionVar()))
      return std::nullopt;
    isRun |= findsInMemory(place, first);
  }
  if (!isRun)
    return std::nullopt;
  RankedTensorType tile = load.getResult().getType();
  int64_t elements = tile.getNumElements() / tile.getDimSize(0);
  return kRowsOfRun * elements *
         llvm::divideCeil(tile.getElementTypeBitWidth(), 8);
}

/// Bytes that one tile of the grid loads at most in all iterations of a loop,
/// by a bound of their number that holds for all tiles: the keys of a window,
/// wherever it is. Nothing without one, and for a loop in a loop.
static std::optional<int64_t> getBoundedBytes(scf::ForOp loop, LoadOp load,
                                              GridOp grid) {
  auto outer = loop->getParentOfType<scf::ForOp>();
  if (outer && grid->isProperAncestor(outer))
    return std::nullopt;
  constexpr int64_t kMostIterations = 1 << 12;
  Value upper = loop.getUpperBound(), lower = loop.getLowerBound();
  while (stripClamp(upper, lower)) {
  }
  AffineForm length = getAffineForm(upper) - getAffineForm(lower);
  RankedTensorType tile = load.getResult().getType();
  int64_t bytes = tile.getNumElements() *
                  llvm::divideCeil(tile.getElementTypeBitWidth(), 8);
  for (int64_t count = 1; count <= kMostIterations; count *= 2)
    if (provesNonNegative(AffineForm(count) - length))
      return count * bytes;
  return std::nullopt;
}

SmallVector<SharedArray> fa3::tile::getSharedArrays(GridOp grid) {
  SmallVector<SharedArray> arrays;
  Value first = grid.getBody().getArgument(0);
  grid.walk([&](LoadOp load) {
    auto loop = load->getParentOfType<scf::ForOp>();
    bool shared = llvm::all_of(load.getPlaceOperands(), [&](Value index) {
      return getAffineForm(index).getCoefficient(first) == 0;
    });
    if (!loop || !grid->isProperAncestor(loop) || !shared)
      return;
    std::optional<int64_t> bytes = getBoundedBytes(loop, load, grid);
    if (!bytes)
      bytes = getBytesOfRun(loop, load, grid);
    auto *known = llvm::find_if(arrays, [&](const SharedArray &other) {
      return other.array == load.getSource();
    });
    if (known == arrays.end())
      arrays.push_back({load.getSource(), bytes});
    else if (known->bytesOfTile && bytes)
      *known->bytesOfTile += *bytes;
    else
      known->bytesOfTile = std::nullopt;
  });
  return arrays;
}

/// How many times `tiles` has `rounds` tiles for each SM, rounded. A
/// host that asks without a device knows none.
static Value countRounds(ImplicitLocOpBuilder &b, Value tiles, int64_t rounds) {
  Value factor = arith::ConstantIndexOp::create(b, rounds);
  Value several = arith::MulIOp::create(b, SmCountOp::create(b), factor);
  several =
      arith::MaxUIOp::create(b, several, arith::ConstantIndexOp::create(b, 1));
  Value half =
      arith::DivUIOp::create(b, several, arith::ConstantIndexOp::create(b, 2));
  return arith::DivUIOp::create(b, arith::AddIOp::create(b, tiles, half),
                                several);
}

Value fa3::tile::computeSections(ImplicitLocOpBuilder &b,
                                 ArrayRef<SharedArray> arrays, Value outer,
                                 Value tiles, int64_t l2Bytes, int64_t rounds) {
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value bytes;
  for (auto [array, bytesOfTile] : arrays) {
    auto type = cast<MemRefType>(array.getType());
    Value size = arith::ConstantIndexOp::create(
        b, llvm::divideCeil(type.getElementTypeBitWidth(), 8));
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      size =
          arith::MulIOp::create(b, size, memref::DimOp::create(b, array, dim));
    if (bytesOfTile)
      size = arith::MinUIOp::create(
          b, size,
          arith::MulIOp::create(
              b, outer, arith::ConstantIndexOp::create(b, *bytesOfTile)));
    bytes = bytes ? arith::AddIOp::create(b, bytes, size).getResult() : size;
  }
  Value sections = arith::CeilDivUIOp::create(
      b, bytes, arith::ConstantIndexOp::create(b, l2Bytes));
  bool allBounded = llvm::all_of(
      arrays, [](const SharedArray &array) { return array.bytesOfTile; });
  if (rounds > 0 && !allBounded) {
    Value byTiles = countRounds(b, tiles, rounds);
    sections = arith::MaxUIOp::create(b, sections, byTiles);
  }
  sections = arith::MinUIOp::create(b, sections, outer);
  sections = arith::MaxUIOp::create(b, sections, one);
  // The kernel multiplies it by outer indices, in 32 bits.
  Value some = arith::MaxUIOp::create(b, outer, one);
  Value limit = arith::DivUIOp::create(
      b, arith::ConstantIndexOp::create(b, std::numeric_limits<int32_t>::max()),
      some);
  return arith::MinUIOp::create(b, sections, limit);
}
