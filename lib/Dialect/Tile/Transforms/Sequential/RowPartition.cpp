//===- RowPartition.cpp - tiles of different heights ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RowPartition.h"
#include "../Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3::tile;

namespace {
/// The first and the end row of a grid's tiles, where its body computes them:
/// m * height and (m + 1) * height of the first index m.
struct RowBoundaries {
  int64_t height = 0;
  SmallVector<arith::MulIOp> firsts, ends;
  /// Whether m serves for something else, so that tiles have to be even.
  bool hasOtherUses = false;
};
} // namespace

/// The boundaries of a grid in which all stores end at their tile's end of
/// rows.
static std::optional<RowBoundaries> matchRowBoundaries(GridOp grid) {
  RowBoundaries result;
  auto getFactor = [](Operation *op) -> int64_t {
    APInt factor;
    bool isProduct = isa<arith::MulIOp>(op) &&
                     matchPattern(op->getOperand(1), m_ConstantInt(&factor));
    return isProduct ? factor.getSExtValue() : 0;
  };
  // The end of a store says which product is one of boundaries.
  Value first = grid.getBody().getArgument(0);
  SmallVector<Operation *> nexts;
  for (Operation *user : first.getUsers())
    if (auto next = dyn_cast<arith::AddIOp>(user); next && isOne(next.getRhs()))
      nexts.push_back(next);
  for (Operation *next : nexts)
    for (Operation *user : next->getUsers())
      if (llvm::any_of(user->getUsers(), [&](Operation *store) {
            return isa<StoreOp>(store) &&
                   cast<StoreOp>(store).getBelow() == user->getResult(0);
          }))
        result.height = getFactor(user);
  if (result.height <= 0 || result.height % kRowsPerReplica)
    return std::nullopt;
  auto collect = [&](Operation *user,
                     SmallVectorImpl<arith::MulIOp> &products) {
    if (getFactor(user) == result.height)
      products.push_back(cast<arith::MulIOp>(user));
    else
      result.hasOtherUses = true;
  };
  for (Operation *next : nexts)
    for (Operation *user : next->getUsers())
      collect(user, result.ends);
  // A store without an end would write rows of the next tile.
  WalkResult allEnd = grid.walk([&](StoreOp store) {
    bool ends = llvm::is_contained(
        result.ends,
        store.getBelow() ? store.getBelow().getDefiningOp() : nullptr);
    return ends ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (allEnd.wasInterrupted())
    return std::nullopt;
  for (Operation *user : first.getUsers())
    if (!llvm::is_contained(nexts, user))
      collect(user, result.firsts);
  return result;
}

/// Ends the rows of the last of even tiles with the last replica that has any.
static void endLastTile(const RowBoundaries &boundaries, int64_t rows) {
  int64_t end = llvm::alignTo(rows, kRowsPerReplica);
  for (arith::MulIOp product : boundaries.ends) {
    ImplicitLocOpBuilder b(product.getLoc(), product->getContext());
    b.setInsertionPointAfter(product);
    auto row = arith::MinSIOp::create(b, product,
                                      arith::ConstantIndexOp::create(b, end));
    product.getResult().replaceAllUsesExcept(row, row);
  }
}

/// Replaces the boundaries by those of the partition.
static void replaceBoundaries(const RowBoundaries &boundaries,
                              const RowPartition &partition) {
  auto replace = [&](arith::MulIOp product, bool isEnd) {
    ImplicitLocOpBuilder b(product.getLoc(), product);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, value);
    };
    Value number = product.getLhs();
    Value row = arith::MulIOp::create(b, number, constant(boundaries.height));
    Value none = constant(0);
    Value others = arith::MaxSIOp::create(
        b, arith::SubIOp::create(b, number, constant(partition.numFull)), none);
    row = arith::SubIOp::create(
        b, row,
        arith::MulIOp::create(
            b, others, constant(boundaries.height - partition.shortHeight)));
    if (isEnd)
      row = arith::MinSIOp::create(b, row, constant(partition.end));
    product.replaceAllUsesWith(row);
    product.erase();
  };
  for (arith::MulIOp product : boundaries.firsts)
    replace(product, /*isEnd=*/false);
  for (arith::MulIOp product : boundaries.ends)
    replace(product, /*isEnd=*/true);
}

/// The most rows that an array has room for which the grid stores to, and the
/// number of positions that share them; nothing where they are not known.
static std::optional<std::pair<int64_t, int64_t>> getStaticRows(GridOp grid) {
  int64_t rows = 0, copies = 1;
  for (Value bound : ValueRange(grid.getUpperBounds()).drop_front()) {
    APInt constant;
    if (!matchPattern(bound, m_ConstantInt(&constant)))
      return std::nullopt;
    copies *= constant.getSExtValue();
  }
  WalkResult known = grid.walk([&](StoreOp store) {
    auto type = cast<MemRefType>(store.getTarget().getType());
    int64_t dim = type.getRank() - store.getValue().getType().getRank();
    if (type.isDynamicDim(dim))
      return WalkResult::interrupt();
    rows = std::max(rows, type.getDimSize(dim));
    return WalkResult::advance();
  });
  if (known.wasInterrupted())
    return std::nullopt;
  return std::pair(rows, copies);
}

std::optional<RowFacts> fa3::tile::getRowFacts(GridOp grid) {
  std::optional<RowBoundaries> boundaries = matchRowBoundaries(grid);
  // Replicas, of which tiles are to have some, divide the rows of products.
  bool hasReplicas = grid->getParentOfType<gpu::GPUFuncOp>()
                         .walk([](DotOp) { return WalkResult::interrupt(); })
                         .wasInterrupted();
  if (!boundaries || !hasReplicas)
    return std::nullopt;
  auto known = getStaticRows(grid);
  if (!known)
    return std::nullopt;
  auto [rows, copies] = *known;
  return RowFacts{rows, boundaries->height, copies, !boundaries->hasOtherUses};
}

void fa3::tile::applyRows(GridOp grid, const GridPlan &plan,
                          const RowFacts &facts) {
  std::optional<RowBoundaries> boundaries = matchRowBoundaries(grid);
  if (plan.endsLastTile)
    endLastTile(*boundaries, facts.rows);
  if (!plan.partition)
    return;
  replaceBoundaries(*boundaries, *plan.partition);
  OpBuilder builder(grid);
  grid.getUpperBoundsMutable()[0].assign(arith::ConstantIndexOp::create(
      builder, grid.getLoc(), plan.partition->getNumTiles()));
}
