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

/// Of operands and results behind them.
SmallVector<Loops::Role> Loops::findRoles() {
  SmallVector<Role> roles(op->getNumOperands() + op->getNumResults(),
                          Role::Alone);
  if (obstacle)
    return roles;
  auto results = MutableArrayRef(roles).drop_front(op->getNumOperands());
  roles[0] = Role::Query, roles[1] = Role::Key, roles[2] = Role::Value;
  if (auto forward = dyn_cast<ForwardOp>(op)) {
    for (OpOperand &operand : forward.getQvMutable())
      roles[operand.getOperandNumber()] = Role::Output;
    for (OpOperand &operand : forward.getSinksMutable())
      roles[operand.getOperandNumber()] = Role::Head;
    for (OpOperand &operand : forward.getPreviousOMutable())
      roles[operand.getOperandNumber()] = Role::Output;
    for (OpOperand &operand : forward.getPreviousLseMutable())
      roles[operand.getOperandNumber()] = Role::Number;
    results[0] = Role::Output;
    for (OpResult result : op->getResults().drop_front())
      results[result.getResultNumber()] =
          forward.isOfRows(result) ? Role::Number : Role::Output;
    return roles;
  }
  auto backward = cast<BackwardOp>(op);
  roles[backward.getOMutable().getOperandNumber()] = Role::Output;
  roles[backward.getOutGradMutable().getOperandNumber()] = Role::Output;
  roles[backward.getLseMutable().getOperandNumber()] = Role::Number;
  for (OpOperand &operand : backward.getLseGradMutable())
    roles[operand.getOperandNumber()] = Role::Number;
  llvm::copy(ArrayRef(roles).take_front(3), results.begin());
  return roles;
}

AffineMap Loops::getMap(Role role, unsigned number) {
  SmallVector<unsigned> loops;
  bool isByHead = scored.getLayout() == Layout::bhsd;
  auto rows = [&](unsigned head, unsigned row, unsigned column) {
    loops = {kBatch, isByHead ? head : row, isByHead ? row : head, column};
  };
  auto forward = dyn_cast<ForwardOp>(op);
  unsigned keyHead = forward && !obstacle && hasOneKeyHead(scored)
                         ? unsigned(kAlone)
                         : unsigned(kHead);
  switch (role) {
  case Role::Query:
    rows(kHead, kQuery, kElement);
    break;
  case Role::Key:
    rows(keyHead, kKey, kElement);
    break;
  case Role::Value:
    rows(keyHead, kKey, kColumn);
    if (forward && forward.getTransposedV())
      std::swap(loops[scored.getSequenceAxis()], loops[3]);
    break;
  case Role::Output:
    rows(kHead, kQuery, kColumn);
    break;
  case Role::Number:
    loops = {kBatch, kHead, kQuery};
    break;
  case Role::Head:
    loops = {kHead};
    break;
  case Role::Alone:
    auto type = dyn_cast<RankedTensorType>(getValue(number).getType());
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim)
      loops.push_back(kAlone + dim);
    break;
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
  for (auto [number, role] : llvm::enumerate(findRoles()))
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
