//===- GridTrend.cpp - how work changes along a grid ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Monotony of index arithmetic in the first index of a grid: which of the first
// and the last tile is the longest.
//
//===----------------------------------------------------------------------===//

#include "GridTrend.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa3::tile;

namespace {
/// How a value moves while the index grows: not at all, up or down (it may also
/// stay for a while), or nobody knows.
enum class Trend { Fixed, Rises, Falls, Unknown };

class TrendAnalysis {
public:
  explicit TrendAnalysis(Value index) { trends[index] = Trend::Rises; }
  Trend get(Value value);

private:
  Trend visit(Operation &op);
  llvm::DenseMap<Value, Trend> trends;
};
} // namespace

static Trend negate(Trend trend) {
  return trend == Trend::Rises   ? Trend::Falls
         : trend == Trend::Falls ? Trend::Rises
                                 : trend;
}

/// Of what both parts of a sum, or of a minimum or maximum, do.
static Trend join(Trend x, Trend y) {
  if (x == y || y == Trend::Fixed)
    return x;
  return x == Trend::Fixed ? y : Trend::Unknown;
}

Trend TrendAnalysis::visit(Operation &op) {
  // Of the tiles of one sequence: sequences may be of any length.
  if (isa<SearchOp>(op))
    return Trend::Fixed;
  if (llvm::all_of(op.getOperands(),
                   [&](Value operand) { return get(operand) == Trend::Fixed; }))
    // Divisions, too: whether they may be moved is not asked.
    return isa<ScalarLoadOp>(op) ||
                   (isMemoryEffectFree(&op) && op.getNumRegions() == 0)
               ? Trend::Fixed
               : Trend::Unknown;
  if (isa<arith::IndexCastOp>(op))
    return get(op.getOperand(0));
  if (op.getNumOperands() != 2)
    return Trend::Unknown;
  Trend lhs = get(op.getOperand(0)), rhs = get(op.getOperand(1));
  if (isa<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return join(lhs, rhs);
  if (isa<arith::SubIOp>(op))
    return join(lhs, negate(rhs));
  std::optional<int64_t> factor = getConstantIntValue(op.getOperand(1));
  if (!factor)
    return Trend::Unknown;
  if (isa<arith::MulIOp>(op))
    return *factor < 0 ? negate(lhs) : *factor == 0 ? Trend::Fixed : lhs;
  if (isa<arith::DivSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op) &&
      *factor > 0)
    return lhs;
  return Trend::Unknown;
}

Trend TrendAnalysis::get(Value value) {
  auto it = trends.find(value);
  if (it != trends.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  // Other indices of the grid and arguments of the kernel stay; what a loop
  // carries may do anything.
  Trend trend = op ? visit(*op)
                : isa<LoopLikeOpInterface>(
                      cast<BlockArgument>(value).getOwner()->getParentOp())
                    ? Trend::Unknown
                    : Trend::Fixed;
  return trends[value] = trend;
}

bool fa3::tile::workFallsWithFirstIndex(GridOp grid) {
  TrendAnalysis analysis(grid.getBody().getArgument(0));
  Trend all = Trend::Fixed;
  grid.walk([&](scf::ForOp loop) {
    Trend count = join(analysis.get(loop.getUpperBound()),
                       negate(analysis.get(loop.getLowerBound())));
    all = join(all, count);
  });
  return all == Trend::Falls;
}
