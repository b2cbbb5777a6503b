//===- CarriedScalars.cpp - what stages hand to each other ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A schedule computes what no wait leads to in the stage that needs it. Of
// scalars whose operands an earlier stage has, that may carry more numbers from
// iteration to iteration than their result.
//===----------------------------------------------------------------------===//

#include "LoopProblem.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

static SlottingAttr getSlotting(Operation *op) {
  return op->getAttrOfType<SlottingAttr>(TileDialect::kSlottingAttrName);
}

namespace {
/// The scalars of one stage that may be computed a stage earlier.
class LateScalars {
public:
  LateScalars(scf::ForOp loop, int64_t stage)
      : body(loop.getBody()), number(loop.getInductionVar()), stage(stage) {
    collect();
  }
  /// Moves them if fewer values are carried then.
  void moveIfFewer();

private:
  void collect();
  /// The operation of the loop's body that an operand comes from, or null.
  Operation *getSource(Value operand) const {
    Operation *def = operand.getDefiningOp();
    return def && def->getBlock() == body ? def : nullptr;
  }
  /// Whether what is left in the stage, or comes behind, uses the value.
  bool isUsedLater(Value value) const;
  int64_t countOperands() const;
  int64_t countResults() const;
  void move();

  Block *body;
  Value number; ///< of the iteration
  int64_t stage;
  llvm::SetVector<Operation *> scalars; ///< in the order of the program
};
} // namespace

void LateScalars::collect() {
  for (Operation &op : body->without_terminator()) {
    auto isNumber = [](Type type) { return type.isIntOrIndex(); };
    bool isScalar =
        op.getNumRegions() == 0 && isPure(&op) &&
        llvm::all_of(op.getResultTypes(), isNumber) &&
        llvm::none_of(op.getOperandTypes(), llvm::IsaPred<RankedTensorType>);
    if (!isScalar || getSlotting(&op).getStage() != stage)
      continue;
    if (llvm::all_of(op.getOperands(), [&](Value operand) {
          // What the loop carries itself is of the iteration before.
          auto argument = dyn_cast<BlockArgument>(operand);
          if (argument && argument.getOwner() == body)
            return argument == number;
          Operation *source = getSource(operand);
          return !source || scalars.contains(source) ||
                 getSlotting(source).getStage() < stage;
        }))
      scalars.insert(&op);
  }
}

bool LateScalars::isUsedLater(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *inBody = body->findAncestorOpInBlock(*user);
    return inBody && !scalars.contains(inBody) &&
           inBody != body->getTerminator() &&
           getSlotting(inBody).getStage() >= stage;
  });
}

int64_t LateScalars::countOperands() const {
  llvm::SmallDenseSet<Value> carried;
  for (Operation *op : scalars)
    for (Value operand : op->getOperands())
      if (Operation *source = getSource(operand))
        if (!scalars.contains(source) && !isUsedLater(operand))
          carried.insert(operand);
  return carried.size();
}

int64_t LateScalars::countResults() const {
  int64_t results = 0;
  for (Operation *op : scalars)
    results += llvm::count_if(
        op->getResults(), [&](Value result) { return isUsedLater(result); });
  return results;
}

/// They keep their places among the operations of all stages, but come behind
/// their operands.
void LateScalars::move() {
  SmallVector<Operation *> ops;
  for (Operation &op : body->without_terminator())
    ops.push_back(&op);
  llvm::DenseMap<Operation *, int64_t> places;
  for (Operation *op : ops)
    places[op] = getSlotting(op).getOrder();
  for (Operation *op : scalars)
    for (Value operand : op->getOperands())
      if (Operation *source = getSource(operand);
          source && (scalars.contains(source) ||
                     getSlotting(source).getStage() == stage - 1))
        places[op] = std::max(places[op], places[source]);
  // Operations of the body stand behind their operands.
  llvm::stable_sort(ops, [&](Operation *a, Operation *b) {
    return std::pair(places[a], scalars.contains(a)) <
           std::pair(places[b], scalars.contains(b));
  });
  for (auto [place, op] : llvm::enumerate(ops)) {
    int64_t own = scalars.contains(op) ? stage - 1 : getSlotting(op).getStage();
    op->setAttr(TileDialect::kSlottingAttrName,
                SlottingAttr::get(op->getContext(), own, place));
  }
}

void LateScalars::moveIfFewer() {
  if (countResults() < countOperands())
    move();
}

void fa3::tile::carryFewerScalars(scf::ForOp loop) {
  int64_t last = 0;
  for (Operation &op : loop.getBody()->without_terminator())
    last = std::max(last, getSlotting(&op).getStage());
  for (int64_t stage = last; stage > 0; --stage)
    LateScalars(loop, stage).moveIfFewer();
}
