//===- InsertWaits.cpp - counts of groups left in flight ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Abstract interpretation of structured control flow. The state maps every
// group and in-flight fragment to its age, a lower bound over all paths.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_INSERTWAITS
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {
/// Groups committed since; kOpen for products that are not committed yet.
using Age = int64_t;
constexpr Age kOpen = -1;
constexpr Age kRetired = std::numeric_limits<Age>::max();

using State = llvm::DenseMap<Value, Age>;

/// What a wait turned out to be, in the last (stable) visit.
struct Wait {
  Age pending;
  /// First fragment that the wait does not cover.
  std::optional<unsigned> uncovered;
};

class WaitAnalysis {
public:
  LogicalResult visit(Block &block, State &state);
  const llvm::MapVector<Operation *, Wait> &getWaits() const { return waits; }

private:
  LogicalResult visit(Operation *op, State &state);
  LogicalResult visitFor(scf::ForOp loop, State &state);
  LogicalResult visitWhile(scf::WhileOp loop, State &state);
  LogicalResult visitIf(scf::IfOp branch, State &state);
  void visitWait(WgmmaWaitOp wait, State &state);

  llvm::MapVector<Operation *, Wait> waits;
};
} // namespace

static bool isTracked(Type type) { return isa<GroupType, InflightType>(type); }

/// The age of a value; what is unknown may have been issued just now.
static Age lookup(const State &state, Value value) {
  auto it = state.find(value);
  if (it != state.end())
    return it->second;
  return isa<InflightType>(value.getType()) ? kOpen : 0;
}

/// Copies the ages of `from` to the values `to`, as the lesser of the two if
/// `meet`.
static void assign(State &state, ValueRange to, ValueRange from,
                   const State &source, bool meet = false) {
  for (auto [target, value] : llvm::zip(to, from)) {
    if (!isTracked(target.getType()))
      continue;
    Age age = lookup(source, value);
    state[target] = meet ? std::min(lookup(state, target), age) : age;
  }
}

/// Takes the lesser age of every value that `state` knows.
static void meet(State &state, const State &other) {
  for (auto &[value, age] : state)
    age = std::min(age, lookup(other, value));
}

void WaitAnalysis::visitWait(WgmmaWaitOp wait, State &state) {
  Age pending = kRetired;
  for (Value group : wait.getGroups())
    pending = std::min(pending, lookup(state, group));
  Wait result = {pending, std::nullopt};
  for (auto [i, fragment] : llvm::enumerate(wait.getInflight()))
    if (lookup(state, fragment) < pending && !result.uncovered)
      result.uncovered = i;
  waits[wait] = result;
  if (pending == kRetired)
    return;
  for (auto &[value, age] : state)
    if (age >= pending)
      age = kRetired;
}

LogicalResult WaitAnalysis::visitFor(scf::ForOp loop, State &state) {
  State header = state;
  assign(header, loop.getRegionIterArgs(), loop.getInitArgs(), state);
  // Ages at the header only fall and are bounded, so this ends.
  while (true) {
    State body = header;
    if (failed(visit(*loop.getBody(), body)))
      return failure();
    State next = header;
    meet(next, body);
    assign(next, loop.getRegionIterArgs(), loop.getYieldedValues(), body,
           /*meet=*/true);
    if (next == header)
      break;
    header = std::move(next);
  }
  meet(state, header);
  assign(state, loop.getResults(), loop.getRegionIterArgs(), header);
  return success();
}

LogicalResult WaitAnalysis::visitWhile(scf::WhileOp loop, State &state) {
  State header = state;
  assign(header, loop.getBeforeArguments(), loop.getInits(), state);
  State before;
  while (true) {
    before = header;
    if (failed(visit(*loop.getBeforeBody(), before)))
      return failure();
    State body = before;
    assign(body, loop.getAfterArguments(), loop.getConditionOp().getArgs(),
           before);
    if (failed(visit(*loop.getAfterBody(), body)))
      return failure();
    State next = header;
    meet(next, body);
    assign(next, loop.getBeforeArguments(), loop.getYieldedValues(), body,
           /*meet=*/true);
    if (next == header)
      break;
    header = std::move(next);
  }
  // The loop is left from the end of `before`.
  for (auto &[value, age] : state)
    age = lookup(before, value);
  assign(state, loop.getResults(), loop.getConditionOp().getArgs(), before);
  return success();
}

LogicalResult WaitAnalysis::visitIf(scf::IfOp branch, State &state) {
  State thenState = state, elseState = state;
  if (failed(visit(*branch.thenBlock(), thenState)) ||
      (branch.elseBlock() && failed(visit(*branch.elseBlock(), elseState))))
    return failure();
  for (auto &[value, age] : state)
    age = std::min(lookup(thenState, value), lookup(elseState, value));
  if (branch.getNumResults() != 0) {
    assign(state, branch.getResults(), branch.thenYield().getOperands(),
           thenState);
    assign(state, branch.getResults(), branch.elseYield().getOperands(),
           elseState, /*meet=*/true);
  }
  return success();
}

LogicalResult WaitAnalysis::visit(Block &block, State &state) {
  for (Operation &op : block)
    if (failed(visit(&op, state)))
      return failure();
  return success();
}

LogicalResult WaitAnalysis::visit(Operation *op, State &state) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](WgmmaOp mma) {
        state[mma.getResult()] = kOpen;
        return success();
      })
      .Case([&](WgmmaCommitOp commit) {
        for (auto &[value, age] : state)
          if (age != kRetired)
            ++age;
        state[commit.getGroup()] = 0;
        return success();
      })
      .Case([&](WgmmaWaitOp wait) {
        visitWait(wait, state);
        return success();
      })
      .Case<GroupReadyOp, InflightReadyOp>([&](Operation *ready) {
        state[ready->getResult(0)] = kRetired;
        return success();
      })
      .Case([&](arith::SelectOp select) {
        assign(state, select.getResult(), select.getTrueValue(), state);
        assign(state, select.getResult(), select.getFalseValue(), state,
               /*meet=*/true);
        return success();
      })
      .Case([&](scf::ForOp loop) { return visitFor(loop, state); })
      .Case([&](scf::WhileOp loop) { return visitWhile(loop, state); })
      .Case([&](scf::IfOp branch) { return visitIf(branch, state); })
      .Case([&](warp::SpecializeOp specialize) {
        // Groups issue to queues of their own and capture no linear value.
        for (auto group : specialize.getOps<warp::GroupOp>()) {
          State own;
          if (failed(visit(*group.getBodyBlock(), own)))
            return failure();
        }
        return success();
      })
      .Default([&](Operation *other) -> LogicalResult {
        WalkResult result = other->walk([&](Operation *nested) {
          if (isa<WgmmaOp, WgmmaCommitOp, WgmmaWaitOp>(nested)) {
            other->emitOpError("is control flow that hopper-insert-waits does "
                               "not follow")
                    .attachNote(nested->getLoc())
                << "it holds this operation";
            return WalkResult::interrupt();
          }
          return WalkResult::advance();
        });
        return failure(result.wasInterrupted());
      });
}

namespace {
struct InsertWaits : hopper::impl::InsertWaitsBase<InsertWaits> {
  void runOnOperation() override {
    gpu::GPUFuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (!function.getBody().hasOneBlock()) {
      function.emitOpError("expects structured control flow, got ")
          << function.getBody().getBlocks().size() << " blocks";
      return signalPassFailure();
    }
    WaitAnalysis analysis;
    State state;
    if (failed(analysis.visit(function.getBody().front(), state)))
      return signalPassFailure();
    for (auto &[op, result] : analysis.getWaits())
      if (result.uncovered) {
        auto wait = cast<WgmmaWaitOp>(op);
        Value fragment = wait.getInflight()[*result.uncovered];
        InFlightDiagnostic diagnostic =
            wait.emitOpError("expects its groups to cover every in-flight "
                             "fragment, but fragment ")
            << *result.uncovered << " may still be written after it";
        if (Operation *producer = fragment.getDefiningOp())
          diagnostic.attachNote(producer->getLoc()) << "it stems from here";
        return signalPassFailure();
      }
    for (auto &[op, result] : analysis.getWaits()) {
      bool isRetired = result.pending == kRetired;
      cast<WgmmaWaitOp>(op).setPending(isRetired ? -1 : result.pending);
      isRetired ? ++numRetired : ++numWaits;
    }
  }
};
} // namespace
