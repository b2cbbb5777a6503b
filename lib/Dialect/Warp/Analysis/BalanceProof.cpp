//===- BalanceProof.cpp - two groups have as many events ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "BalanceProof.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3::warp;
using NodeKind = ControlNode::Kind;

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// The two run as often, or take the same arm. All bounds have forms: that was
/// checked when the skeleton was built.
bool BalanceProof::isMatch(const ControlNode &nodeA, const ControlNode &nodeB) {
  if (nodeA.op == nodeB.op)
    return true;
  if (nodeA.kind != nodeB.kind || nodeA.kind == NodeKind::Event)
    return false;
  ScalarAnalysis &scalars = skeleton.scalars;
  Value culprit;
  if (nodeA.kind == NodeKind::Loop) {
    auto loopA = cast<scf::ForOp>(nodeA.op), loopB = cast<scf::ForOp>(nodeB.op);
    for (auto [boundA, boundB] :
         {std::pair<Value, Value>{loopA.getLowerBound(), loopB.getLowerBound()},
          {loopA.getUpperBound(), loopB.getUpperBound()},
          {loopA.getStep(), loopB.getStep()}}) {
      LinearForm difference =
          *scalars.getForm(boundA, culprit) - *scalars.getForm(boundB, culprit);
      for (int64_t sign : {1, -1}) {
        if (difference == LinearForm())
          continue;
        LinearSystem differs(scalars);
        differs.push(difference * sign - LinearForm(1));
        if (!differs.isRefuted())
          return false;
      }
    }
    return true;
  }
  auto get = [&](Operation *op) {
    return *scalars.getCondition(cast<scf::IfOp>(op).getCondition(), culprit);
  };
  LinearCondition conditionA = get(nodeA.op), conditionB = get(nodeB.op);
  return conditionA.form == conditionB.form &&
         conditionA.equality == conditionB.equality &&
         conditionA.negated == conditionB.negated;
}

LogicalResult BalanceProof::failToMatch(const ControlNode &node,
                                        const GroupControl &other) {
  InFlightDiagnostic diagnostic =
      node.op->emitOpError("has no counterpart in group '")
      << other.group.getSymName() << "'; a "
      << (node.kind == NodeKind::Loop ? "loop" : "branch")
      << " that encloses both control and accesses that join groups needs one "
         "of the same "
      << (node.kind == NodeKind::Loop ? "bounds" : "condition");
  diagnostic.attachNote(other.group.getLoc()) << "the other group is here";
  return failure();
}

LogicalResult BalanceProof::compareNest(const ControlNode &nodeA,
                                        const ControlNode &nodeB) {
  if (nodeA.kind == NodeKind::Loop) {
    skeleton.joinNests(nodeA, nodeB);
    for (const Comparison &comparison : comparisons)
      if (nodeA.channels.test(comparison.channelA) ||
          nodeB.channels.test(comparison.channelB))
        skeleton.compared.push_back({nodeA.op, comparison.object});
    skeleton.scalars.unify(cast<scf::ForOp>(nodeA.op).getInductionVar(),
                           cast<scf::ForOp>(nodeB.op).getInductionVar());
    return compare(nodeA.body, nodeB.body);
  }
  if (failed(compare(nodeA.body, nodeB.body)))
    return failure();
  return compare(nodeA.otherwise, nodeB.otherwise);
}

LogicalResult BalanceProof::compare(const Nodes &nodesA, const Nodes &nodesB) {
  SmallVector<const ControlNode *> segmentA, segmentB;
  auto nextB = nodesB.begin();
  for (const ControlNode &nodeA : nodesA) {
    if (!isRelevant(nodeA, /*isB=*/false))
      continue;
    auto match = nodesB.end();
    for (auto it = nextB; it != nodesB.end(); ++it)
      if (isRelevant(*it, /*isB=*/true) && (nodeA.isNest || it->isNest) &&
          isMatch(nodeA, *it)) {
        match = it;
        break;
      }
    if (match == nodesB.end()) {
      if (nodeA.isNest)
        return failToMatch(nodeA, b);
      segmentA.push_back(&nodeA);
      continue;
    }
    for (; nextB != match; ++nextB) {
      if (!isRelevant(*nextB, /*isB=*/true))
        continue;
      if (nextB->isNest)
        return failToMatch(*nextB, a);
      segmentB.push_back(&*nextB);
    }
    ++nextB;
    if (failed(compareSegment(segmentA, segmentB)) ||
        failed(compareNest(nodeA, *match)))
      return failure();
    segmentA.clear();
    segmentB.clear();
  }
  for (; nextB != nodesB.end(); ++nextB) {
    if (!isRelevant(*nextB, /*isB=*/true))
      continue;
    if (nextB->isNest)
      return failToMatch(*nextB, a);
    segmentB.push_back(&*nextB);
  }
  return compareSegment(segmentA, segmentB);
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

void BalanceProof::add(const ControlNode &event, bool isB,
                       const LinearForm &times) {
  for (auto [i, comparison] : llvm::enumerate(comparisons)) {
    if (!isB && comparison.channelA == event.channel)
      differences[i] = differences[i] + times;
    if (isB && comparison.channelB == event.channel)
      differences[i] = differences[i] - times;
  }
}

bool BalanceProof::assume(LinearForm form, Operation *op, bool taken,
                          llvm::function_ref<bool()> rest) {
  if (form.isConstant() && form.constant < 0)
    return true;
  system.push(std::move(form));
  decisions.push_back({op, taken});
  // A case that cannot occur need not be counted.
  bool holds = system.isContradictory() || rest();
  decisions.pop_back();
  system.pop();
  return holds;
}

bool BalanceProof::checkDifferences() {
  for (auto [i, difference] : llvm::enumerate(differences)) {
    // Both ends of a ring, and rings of one loop, differ by the same.
    auto isSame = [&, d = difference](const LinearForm &other) {
      return other == d || other == d * -1;
    };
    if (difference == LinearForm() ||
        llvm::any_of(ArrayRef(differences).take_front(i), isSame))
      continue;
    for (int64_t sign : {1, -1}) {
      system.push(difference * sign - LinearForm(1));
      bool refuted = system.isRefuted();
      system.pop();
      if (!refuted) {
        unbalanced =
            Unbalanced{static_cast<unsigned>(i), difference, decisions};
        return false;
      }
    }
  }
  return true;
}

bool BalanceProof::countNodes(const Nodes &nodes, bool isB, const Work *next) {
  SmallVector<Work> works;
  works.reserve(nodes.size());
  for (const ControlNode &node : llvm::reverse(nodes)) {
    works.push_back({&node, isB, next});
    next = &works.back();
  }
  return count(next);
}

bool BalanceProof::countIterations(const ControlNode &loop, bool isB,
                                   const LinearForm &trips, const Work *next) {
  for (const ControlNode &event : loop.body)
    add(event, isB, trips);
  bool holds = count(next);
  for (const ControlNode &event : loop.body)
    add(event, isB, trips * -1);
  return holds;
}

bool BalanceProof::countLoop(const ControlNode &node, bool isB,
                             const Work *next) {
  ScalarAnalysis &scalars = skeleton.scalars;
  Value culprit;
  auto loop = cast<scf::ForOp>(node.op);
  LinearForm extent = *scalars.getForm(loop.getUpperBound(), culprit) -
                      *scalars.getForm(loop.getLowerBound(), culprit);
  LinearForm step = *scalars.getForm(loop.getStep(), culprit);
  // A loop whose bounds are in order needs no distinction of cases.
  if (step == LinearForm(1)) {
    system.push(extent * -1 - LinearForm(1));
    bool inOrder = system.isRefuted(/*thorough=*/false);
    system.pop();
    if (inOrder)
      return assume(extent, loop, true,
                    [&] { return countIterations(node, isB, extent, next); });
  }
  if (!assume(extent * -1, loop, false, [&] { return count(next); }))
    return false;
  return assume(extent - LinearForm(1), loop, true, [&] {
    return countIterations(node, isB, scalars.getTripCount(extent, step), next);
  });
}

bool BalanceProof::countBranch(const ControlNode &node, bool isB,
                               const Work *next) {
  Value culprit;
  auto branch = cast<scf::IfOp>(node.op);
  LinearCondition condition =
      *skeleton.scalars.getCondition(branch.getCondition(), culprit);
  auto visit = [&](bool taken) {
    const Nodes &arm = taken ? node.body : node.otherwise;
    auto rest = [&] { return countNodes(arm, isB, next); };
    const LinearForm &form = condition.form;
    bool holds = taken != condition.negated;
    if (!condition.equality)
      return assume(holds ? form : form * -1 - LinearForm(1), branch, taken,
                    rest);
    if (holds)
      return assume(form, branch, taken,
                    [&] { return assume(form * -1, branch, taken, rest); });
    return assume(form - LinearForm(1), branch, taken, rest) &&
           assume(form * -1 - LinearForm(1), branch, taken, rest);
  };
  return visit(true) && visit(false);
}

bool BalanceProof::count(const Work *work) {
  if (!work)
    return checkDifferences();
  const ControlNode &node = *work->node;
  bool isB = work->isB;
  if (!isRelevant(node, isB))
    return count(work->next);
  switch (node.kind) {
  case NodeKind::Event: {
    add(node, isB, 1);
    bool holds = count(work->next);
    add(node, isB, -1);
    return holds;
  }
  case NodeKind::Loop:
    return countLoop(node, isB, work->next);
  case NodeKind::Branch:
    return countBranch(node, isB, work->next);
  }
  return true;
}

LogicalResult
BalanceProof::compareSegment(ArrayRef<const ControlNode *> nodesA,
                             ArrayRef<const ControlNode *> nodesB) {
  SmallVector<Work> works;
  works.reserve(nodesA.size() + nodesB.size());
  const Work *next = nullptr;
  for (auto [nodes, isB] : {std::pair{nodesB, true}, std::pair{nodesA, false}})
    for (const ControlNode *node : llvm::reverse(nodes)) {
      works.push_back({node, isB, next});
      next = &works.back();
    }
  if (count(next))
    return success();
  return report(*unbalanced);
}

LogicalResult BalanceProof::report(const Unbalanced &unbalanced) {
  const Comparison &comparison = comparisons[unbalanced.comparison];
  auto name = [&](const GroupControl &group, unsigned channel) {
    return "'" + group.group.getSymName().str() + "' " +
           skeleton.channels[channel].what;
  };
  InFlightDiagnostic diagnostic = emitError(skeleton.objects[comparison.object])
                                  << "is not balanced: ";
  const LinearForm &difference = unbalanced.difference;
  if (difference.isConstant()) {
    bool aMore = difference.constant > 0;
    diagnostic << name(aMore ? a : b,
                       aMore ? comparison.channelA : comparison.channelB)
               << ' ' << std::abs(difference.constant) << " time"
               << (std::abs(difference.constant) == 1 ? "" : "s")
               << " more than "
               << name(aMore ? b : a,
                       aMore ? comparison.channelB : comparison.channelA);
  } else {
    diagnostic << name(a, comparison.channelA) << " not as often as "
               << name(b, comparison.channelB);
  }
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (const Decision &decision : unbalanced.decisions) {
    if (!seen.insert(decision.op).second)
      continue;
    bool isLoop = isa<scf::ForOp>(decision.op);
    diagnostic.attachNote(decision.op->getLoc())
        << (isLoop ? "when this loop " : "when this condition ")
        << (isLoop ? (decision.taken ? "runs" : "does not run")
                   : (decision.taken ? "holds" : "does not hold"));
  }
  return failure();
}
