//===- Balance.cpp - groups have as many events on either end -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Nests that two groups have in common are compared iteration by iteration.
// Between nests, the numbers of events are sums over conditions and loops with
// straight-line bodies; every case of the conditions and of "runs at all" gives
// a difference of linear forms, which is zero or belongs to a case that cannot
// occur.
//===----------------------------------------------------------------------===//

#include "LinearSystem.h"
#include "fa3/Dialect/Warp/Analysis/Control.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/Threading.h"
#include <algorithm>

using namespace mlir;
using namespace fa3::warp;

namespace {
using NodeKind = ControlNode::Kind;

/// Two ends of an object that must have as many events.
struct Comparison {
  unsigned object, channelA, channelB;
};

/// A way through the control between two nests.
struct Decision {
  Operation *op;
  bool taken;
};

struct Unbalanced {
  unsigned comparison;
  LinearForm difference;
  SmallVector<Decision> decisions;
};

/// What is still to be counted; a list that ends in null.
struct Work {
  const ControlNode *node;
  bool isB;
  const Work *next;
};
} // namespace

namespace fa3::warp {

/// Compares two groups, or two ends of objects that one group has both.
class BalanceProof {
public:
  BalanceProof(ControlSkeleton &skeleton, const GroupControl &a,
               const GroupControl &b, ArrayRef<Comparison> comparisons)
      : skeleton(skeleton), a(a), b(b), comparisons(comparisons),
        channelsA(skeleton.channels.size()),
        channelsB(skeleton.channels.size()), system(skeleton.scalars),
        differences(comparisons.size()) {
    for (const Comparison &comparison : comparisons) {
      channelsA.set(comparison.channelA);
      channelsB.set(comparison.channelB);
    }
  }

  LogicalResult run() { return compare(a.body, b.body); }

private:
  using Nodes = std::vector<ControlNode>;

  LogicalResult compare(const Nodes &nodesA, const Nodes &nodesB);
  LogicalResult compareNest(const ControlNode &nodeA, const ControlNode &nodeB);
  LogicalResult compareSegment(ArrayRef<const ControlNode *> nodesA,
                               ArrayRef<const ControlNode *> nodesB);
  bool isRelevant(const ControlNode &node, bool isB) const {
    return node.channels.anyCommon(isB ? channelsB : channelsA);
  }
  bool isMatch(const ControlNode &nodeA, const ControlNode &nodeB);
  LogicalResult failToMatch(const ControlNode &node, const GroupControl &other);
  LogicalResult report(const Unbalanced &unbalanced);

  /// Counts the rest of the work in every case; false once `unbalanced` is set.
  bool count(const Work *work);
  bool countIterations(const ControlNode &loop, bool isB,
                       const LinearForm &trips, const Work *next);
  bool countNodes(const Nodes &nodes, bool isB, const Work *next);
  /// Counts the rest in the case that form >= 0.
  bool assume(LinearForm form, Operation *op, bool taken,
              llvm::function_ref<bool()> rest);
  void add(const ControlNode &event, bool isB, const LinearForm &times);
  bool checkDifferences();

  ControlSkeleton &skeleton;
  const GroupControl &a, &b;
  ArrayRef<Comparison> comparisons;
  llvm::BitVector channelsA, channelsB;
  LinearSystem system;
  SmallVector<LinearForm> differences;
  SmallVector<Decision> decisions;
  std::optional<Unbalanced> unbalanced;
};

} // namespace fa3::warp

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

bool BalanceProof::count(const Work *work) {
  if (!work)
    return checkDifferences();
  const ControlNode &node = *work->node;
  bool isB = work->isB;
  if (!isRelevant(node, isB))
    return count(work->next);
  ScalarAnalysis &scalars = skeleton.scalars;
  Value culprit;
  switch (node.kind) {
  case NodeKind::Event: {
    add(node, isB, 1);
    bool holds = count(work->next);
    add(node, isB, -1);
    return holds;
  }
  case NodeKind::Loop: {
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
        return assume(extent, loop, true, [&] {
          return countIterations(node, isB, extent, work->next);
        });
    }
    if (!assume(extent * -1, loop, false, [&] { return count(work->next); }))
      return false;
    return assume(extent - LinearForm(1), loop, true, [&] {
      return countIterations(node, isB, scalars.getTripCount(extent, step),
                             work->next);
    });
  }
  case NodeKind::Branch: {
    auto branch = cast<scf::IfOp>(node.op);
    LinearCondition condition =
        *scalars.getCondition(branch.getCondition(), culprit);
    auto visit = [&](bool taken) {
      const Nodes &arm = taken ? node.body : node.otherwise;
      auto rest = [&] { return countNodes(arm, isB, work->next); };
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

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The outermost control around an event of `channel` that is not the same in
/// all replicas; null if there is none.
static Operation *findDivergent(const ControlSkeleton &skeleton,
                                ArrayRef<ControlNode> nodes, unsigned channel) {
  for (const ControlNode &node : nodes) {
    if (node.kind == NodeKind::Event || !node.channels.test(channel))
      continue;
    if (!skeleton.isUniform(node.op))
      return node.op;
    for (const std::vector<ControlNode> *inner : {&node.body, &node.otherwise})
      if (Operation *op = findDivergent(skeleton, *inner, channel))
        return op;
  }
  return nullptr;
}

/// The blocks in which events of `channel` are, in order.
static void collectBlocks(ArrayRef<ControlNode> nodes, unsigned channel,
                          SmallVectorImpl<Block *> &blocks) {
  for (const ControlNode &node : nodes) {
    if (node.kind == NodeKind::Event && node.channel == channel)
      blocks.push_back(node.op->getBlock());
    collectBlocks(node.body, channel, blocks);
    collectBlocks(node.otherwise, channel, blocks);
  }
}

/// The nests around events of `channel`, in order.
static void collectNests(ArrayRef<ControlNode> nodes, unsigned channel,
                         SmallVectorImpl<Operation *> &nests) {
  for (const ControlNode &node : nodes) {
    if (node.kind == NodeKind::Event || !node.isNest ||
        !node.channels.test(channel))
      continue;
    nests.push_back(node.op);
    collectNests(node.body, channel, nests);
    collectNests(node.otherwise, channel, nests);
  }
}

/// Comparisons by the nests that their ends are in. What is filled in front of
/// a nest and drained behind it is counted across it.
static SmallVector<SmallVector<Comparison>>
groupByNests(const GroupControl &a, const GroupControl &b,
             ArrayRef<Comparison> comparisons) {
  std::map<SmallVector<Operation *>, unsigned> numbers;
  SmallVector<SmallVector<Comparison>> result;
  for (const Comparison &comparison : comparisons) {
    SmallVector<Operation *> nests;
    collectNests(a.body, comparison.channelA, nests);
    collectNests(b.body, comparison.channelB, nests);
    auto [it, isNew] = numbers.try_emplace(std::move(nests), result.size());
    if (isNew)
      result.emplace_back();
    result[it->second].push_back(comparison);
  }
  return result;
}

/// `others`: channels of the group on objects that other groups are at too.
/// Those groups know nothing of its replicas, so that each replica has as many
/// events there.
LogicalResult ControlSkeleton::checkReplicas(const GroupControl &group,
                                             unsigned channel,
                                             ArrayRef<unsigned> others) {
  unsigned object = channels[channel].object;
  auto isBalancedWith = [&](unsigned other) {
    size_t before = compared.size();
    Comparison comparison = {object, channel, other};
    uint64_t thread = llvm::get_threadid();
    ScopedDiagnosticHandler quiet(
        specialize->getContext(), [thread](Diagnostic &) {
          return success(llvm::get_threadid() == thread);
        });
    if (succeeded(BalanceProof(*this, group, group, comparison).run()))
      return true;
    compared.resize(before, {nullptr, 0});
    return false;
  };
  Operation *divergent = findDivergent(*this, group.body, channel);
  // Compared with itself for the nests that it is in.
  if (!divergent && isBalancedWith(channel))
    return success();
  // First those of which every block has one: they are quick to compare.
  SmallVector<unsigned> sorted(others);
  SmallVector<Block *> blocks;
  collectBlocks(group.body, channel, blocks);
  std::stable_partition(sorted.begin(), sorted.end(), [&](unsigned other) {
    SmallVector<Block *> there;
    collectBlocks(group.body, other, there);
    return there == blocks;
  });
  if (llvm::any_of(sorted, isBalancedWith))
    return success();
  InFlightDiagnostic diagnostic =
      emitError(objects[object])
      << "is not balanced: replicas of '" << group.group.getSymName() << "' "
      << "may differ in how often one " << channels[channel].what
      << ", and it is not as often as any access that joins them to another "
         "group";
  if (divergent)
    diagnostic.attachNote(divergent->getLoc()) << "this depends on the replica";
  return failure();
}

LogicalResult ControlSkeleton::checkLed(const GroupControl &group) {
  llvm::SmallBitVector isLed(objects.size());
  for (unsigned channel : group.channels.set_bits())
    if (channels[channel].isLed)
      isLed.set(channels[channel].object);
  for (unsigned channel : group.channels.set_bits()) {
    unsigned object = channels[channel].object;
    Operation *divergent = isLed.test(object)
                               ? findDivergent(*this, group.body, channel)
                               : nullptr;
    if (!divergent)
      continue;
    InFlightDiagnostic diagnostic =
        emitError(objects[object])
        << "is not balanced: one replica of '" << group.group.getSymName()
        << "' fills it for all, which may differ in how often one "
        << channels[channel].what;
    diagnostic.attachNote(divergent->getLoc()) << "this depends on the replica";
    return failure();
  }
  return success();
}

LogicalResult ControlSkeleton::checkBalance() {
  for (const GroupControl &group : groups)
    if (failed(checkLed(group)))
      return failure();
  // The first end of every object is compared with its others; comparisons of
  // the same two groups share the distinction of cases.
  struct End {
    const GroupControl *group;
    unsigned channel;
  };
  SmallVector<std::optional<End>> first(objects.size());
  SmallVector<unsigned> others(objects.size());
  llvm::MapVector<std::pair<const GroupControl *, const GroupControl *>,
                  SmallVector<Comparison>>
      pairs;
  llvm::SmallBitVector joinsGroups(channels.size());
  for (const GroupControl &group : groups)
    for (unsigned channel : group.channels.set_bits()) {
      unsigned object = channels[channel].object;
      if (channels[channel].joinsReplicas)
        continue;
      if (!first[object]) {
        first[object] = End{&group, channel};
        continue;
      }
      ++others[object];
      if (first[object]->group != &group) {
        joinsGroups.set(first[object]->channel);
        joinsGroups.set(channel);
      }
      pairs[{first[object]->group, &group}].push_back(
          {object, first[object]->channel, channel});
    }
  for (auto &[pair, all] : pairs)
    for (const auto &comparisons : groupByNests(*pair.first, *pair.second, all))
      if (failed(BalanceProof(*this, *pair.first, *pair.second, comparisons)
                     .run()))
        return failure();
  for (const GroupControl &group : groups)
    for (unsigned channel : group.channels.set_bits()) {
      const Channel &info = channels[channel];
      if (!info.joinsReplicas && !info.isEqualInReplicas)
        continue;
      SmallVector<unsigned> shared;
      for (unsigned other : group.channels.set_bits())
        if (joinsGroups.test(other))
          shared.push_back(other);
      size_t before = compared.size();
      if (failed(checkReplicas(group, channel, shared)))
        return failure();
      if (info.joinsReplicas)
        others[info.object] = 1;
      else // compared with its object's other channels above
        compared.resize(before, {nullptr, 0});
    }

  std::map<std::pair<unsigned, unsigned>, unsigned> inNest;
  for (auto [loop, object] : compared)
    ++inNest[{*getNest(loop), object}];
  nestObjects.assign(numNests, llvm::BitVector(objects.size()));
  for (auto [key, count] : inNest)
    if (count == others[key.second])
      nestObjects[key.first].set(key.second);
  return success();
}
