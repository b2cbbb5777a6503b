//===- GroupControl.cpp - control around the events of groups -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Warp/Analysis/Control.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3::warp;

bool fa3::warp::hasNestedLoops(GroupOp group) {
  WalkResult result = group.walk([](scf::ForOp loop) {
    return loop->getParentOfType<scf::ForOp>() ? WalkResult::interrupt()
                                               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

std::optional<unsigned> ControlSkeleton::getNest(Operation *loop) const {
  auto it = nests.find(loop);
  return it == nests.end() ? std::nullopt : std::optional(it->second);
}

void ControlSkeleton::joinNests(const ControlNode &a, const ControlNode &b) {
  std::optional<unsigned> nest = getNest(a.op), old = getNest(b.op);
  if (!nest)
    nest = old ? *old : numNests++;
  // Both may have been matched before, with third groups.
  if (old && *old != *nest)
    for (auto &entry : nests)
      if (entry.second == *old)
        entry.second = *nest;
  nests[a.op] = nests[b.op] = *nest;
}

LogicalResult ControlSkeleton::build(Classify classify) {
  for (auto group : specialize.getBody().getOps<GroupOp>()) {
    groups.push_back({group, {}, llvm::BitVector(channels.size())});
    if (failed(buildBlock(*group.getBodyBlock(), classify, groups.back().body)))
      return failure();
    for (const ControlNode &node : groups.back().body) {
      groups.back().channels |= node.channels;
      if (failed(checkCongruence(node, /*isUniform=*/true)))
        return failure();
    }
  }
  return success();
}

/// The first event inside `op`, null if there is none.
static Operation *findEvent(Operation *op, ControlSkeleton::Classify classify) {
  Operation *event = nullptr;
  op->walk([&](Operation *inner) {
    if (!classify(inner))
      return WalkResult::advance();
    event = inner;
    return WalkResult::interrupt();
  });
  return event;
}

std::optional<std::vector<ControlNode>>
ControlSkeleton::getLedEvents(const ControlNode &node) {
  auto branch = dyn_cast<scf::IfOp>(node.op);
  auto isLedEvent = [&](const ControlNode &inner) {
    return inner.kind == ControlNode::Kind::Event &&
           channels[inner.channel].isLed;
  };
  if (!branch || node.body.empty() || !node.otherwise.empty() ||
      !llvm::all_of(node.body, isLedEvent))
    return std::nullopt;
  Value culprit;
  std::optional<LinearCondition> condition =
      scalars.getCondition(branch.getCondition(), culprit);
  if (!condition || condition->form.isConstant() ||
      !llvm::all_of(condition->form.terms, [&](auto term) {
        return scalars.getVariable(term.first).isReplica;
      }))
    return std::nullopt;
  for (const ControlNode &event : node.body)
    led.insert(event.op);
  return node.body;
}

LogicalResult ControlSkeleton::buildBlock(Block &block, Classify classify,
                                          std::vector<ControlNode> &nodes) {
  for (Operation &op : block) {
    ControlNode node{ControlNode::Kind::Event,        &op, 0, {}, {}, false,
                     llvm::BitVector(channels.size())};
    if (std::optional<unsigned> channel = classify(&op)) {
      node.channel = *channel;
      node.channels.set(*channel);
      nodes.push_back(std::move(node));
      continue;
    }
    if (op.getNumRegions() == 0)
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      node.kind = ControlNode::Kind::Loop;
      if (failed(buildBlock(*loop.getBody(), classify, node.body)))
        return failure();
      node.isNest = llvm::any_of(node.body, [](const ControlNode &inner) {
        return inner.kind != ControlNode::Kind::Event;
      });
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      node.kind = ControlNode::Kind::Branch;
      if (failed(buildBlock(*branch.thenBlock(), classify, node.body)) ||
          (branch.elseBlock() &&
           failed(buildBlock(*branch.elseBlock(), classify, node.otherwise))))
        return failure();
      auto isNest = [](const ControlNode &inner) { return inner.isNest; };
      node.isNest = llvm::any_of(node.body, isNest) ||
                    llvm::any_of(node.otherwise, isNest);
    } else if (Operation *event = findEvent(&op, classify)) {
      InFlightDiagnostic diagnostic =
          op.emitOpError("encloses an access that joins groups; only 'scf.for' "
                         "and 'scf.if' may");
      diagnostic.attachNote(event->getLoc()) << "the access is here";
      return diagnostic;
    }
    if (auto events = getLedEvents(node)) {
      llvm::append_range(nodes, std::move(*events));
      continue;
    }
    for (const ControlNode &inner : node.body)
      node.channels |= inner.channels;
    for (const ControlNode &inner : node.otherwise)
      node.channels |= inner.channels;
    if (node.channels.any())
      nodes.push_back(std::move(node));
  }
  return success();
}

LogicalResult ControlSkeleton::checkCongruence(const ControlNode &node,
                                               bool isUniform) {
  auto fail = [&](StringRef what, Value culprit) -> LogicalResult {
    InFlightDiagnostic diagnostic = node.op->emitOpError("has a ")
                                    << what
                                    << " that is not the same in every group, "
                                       "yet encloses accesses that join them";
    Location loc = culprit.getLoc();
    if (Operation *op = culprit.getDefiningOp())
      loc = op->getLoc();
    diagnostic.attachNote(loc)
        << "it depends on this value, which is not a pure function of kernel "
           "arguments, block and replica";
    return diagnostic;
  };
  Value culprit;
  if (auto loop = dyn_cast<scf::ForOp>(node.op)) {
    for (auto [what, bound] :
         {std::pair<StringRef, Value>{"lower bound", loop.getLowerBound()},
          {"upper bound", loop.getUpperBound()},
          {"step", loop.getStep()}}) {
      std::optional<LinearForm> form = scalars.getForm(bound, culprit);
      if (!form)
        return fail(what, culprit);
      isUniform &= !scalars.dependsOnReplica(*form);
    }
  } else if (auto branch = dyn_cast<scf::IfOp>(node.op)) {
    std::optional<LinearCondition> condition =
        scalars.getCondition(branch.getCondition(), culprit);
    if (!condition)
      return fail("condition", culprit);
    isUniform &= !scalars.dependsOnReplica(condition->form);
  }
  if (isUniform)
    uniform.insert(node.op);
  for (const std::vector<ControlNode> *nodes : {&node.body, &node.otherwise})
    for (const ControlNode &inner : *nodes)
      if (failed(checkCongruence(inner, isUniform)))
        return failure();
  return success();
}
