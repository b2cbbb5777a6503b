//===- ShardLoops.cpp - loops of attention that devices share -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ShardLoops.h"

using namespace mlir;
using namespace fa3::attention;
using shard::GridAxis;

bool fa3::attention::hasOneKeyHead(ScoredOpInterface op) {
  return cast<RankedTensorType>(op.getK().getType())
             .getDimSize(op.getHeadAxis()) == 1;
}

/// Loops of the dimensions of an operand or result. What nothing says more of,
/// and all where nothing can be split, has its own.
AffineMap Loops::getMap(Role role, unsigned number) {
  const OperandInfo &info = getInfo(role);
  auto forward = dyn_cast<ForwardOp>(op);
  SmallVector<unsigned> loops;
  Rows rows = obstacle ? Rows::None : info.rows;
  switch (rows) {
  case Rows::Query:
    loops = {kBatch, kHead, kQuery};
    break;
  case Rows::Key:
    loops = {kBatch,
             forward && hasOneKeyHead(scored) ? unsigned(kAlone)
                                              : unsigned(kHead),
             kKey};
    break;
  case Rows::Head:
    loops = {kHead};
    break;
  case Rows::None:
    auto type = dyn_cast<RankedTensorType>(getValue(number).getType());
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim)
      loops.push_back(kAlone + dim);
    break;
  }
  if (rows != Rows::None && info.columns != Columns::None) {
    loops.push_back(info.columns == Columns::Value ? kColumn : kElement);
    if (scored.getLayout() == Layout::bshd)
      std::swap(loops[1], loops[2]);
    if (role == Role::v && forward && forward.getTransposedV())
      std::swap(loops[scored.getSequenceAxis()], loops[3]);
  }
  return AffineMap::getMultiDimMapWithTargets(numLoops, loops,
                                              op->getContext());
}

Loops::Loops(Operation *op) : op(op), scored(cast<ScoredOpInterface>(op)) {
  auto backward = dyn_cast<BackwardOp>(op);
  obstacle = findObstacle(scored, /*hasAllQueries=*/true);
  if (!obstacle && backward && !backward.getAuxNumbers().empty())
    obstacle = Obstacle{false, "gradients of auxiliary operands are sums of "
                               "all of it"};
  if (backward)
    obstacleOfQueries =
        Obstacle{true, "gradients of keys are sums over queries"};
  else if (!obstacle)
    obstacleOfQueries = findObstacle(scored, /*hasAllQueries=*/false);
  auto addLoops = [&](TypeRange types) {
    for (Type type : types)
      if (auto array = dyn_cast<RankedTensorType>(type))
        numLoops = std::max<unsigned>(numLoops, kAlone + array.getRank());
  };
  addLoops(op->getOperandTypes());
  addLoops(op->getResultTypes());
  for (auto [number, role] : llvm::enumerate(scored.getRoles()))
    maps.push_back(getMap(role, number));
}

std::optional<int64_t> fa3::attention::countShards(shard::GridOp grid,
                                                   ArrayRef<GridAxis> axes) {
  int64_t count = shard::collectiveProcessGroupSize(axes, grid);
  return ShapedType::isDynamic(count) ? std::nullopt
                                      : std::optional<int64_t>(count);
}

std::optional<std::string> Loops::refuse(unsigned loop, shard::GridOp grid,
                                         ArrayRef<GridAxis> axes) const {
  if (axes.empty())
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (obstacle) {
    os << obstacle->reason;
    return text;
  }
  if (loop == kQuery && obstacleOfQueries) {
    os << obstacleOfQueries->reason;
    return text;
  }
  if (loop >= kNumDims) {
    os << (loop == kKey ? "parts of the keys take a merge"
                        : "only batches, heads and queries can be");
    return text;
  }
  std::optional<int64_t> shards = countShards(grid, axes);
  for (auto [number, map] : llvm::enumerate(maps)) {
    std::optional<unsigned> dim =
        map.getResultPosition(getAffineDimExpr(loop, op->getContext()));
    if (!dim || !shards)
      continue;
    int64_t extent =
        cast<RankedTensorType>(getValue(number).getType()).getDimSize(*dim);
    if (ShapedType::isDynamic(extent) || extent % *shards == 0)
      continue;
    os << "there are " << *shards << " shards for " << extent << " "
       << (loop == kHead && extent != 1 ? "heads of keys or queries"
                                        : getName(loop));
    return text;
  }
  return std::nullopt;
}
