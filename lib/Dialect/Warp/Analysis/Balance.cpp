//===- Balance.cpp - groups have as many events on either end -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which groups are compared on which objects: BalanceProof.h says how.
//===----------------------------------------------------------------------===//

#include "BalanceProof.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/Threading.h"
#include <algorithm>

using namespace mlir;
using namespace fa3::warp;
using NodeKind = ControlNode::Kind;

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

LogicalResult
ControlSkeleton::compareGroups(SmallVectorImpl<unsigned> &others,
                               llvm::SmallBitVector &joinsGroups) {
  // The first end of every object is compared with its others; comparisons of
  // the same two groups share the distinction of cases.
  struct End {
    const GroupControl *group;
    unsigned channel;
  };
  SmallVector<std::optional<End>> first(objects.size());
  llvm::MapVector<std::pair<const GroupControl *, const GroupControl *>,
                  SmallVector<Comparison>>
      pairs;
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
  return success();
}

LogicalResult
ControlSkeleton::compareReplicas(SmallVectorImpl<unsigned> &others,
                                 const llvm::SmallBitVector &joinsGroups) {
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
      else // compared with its object's other channels by compareGroups
        compared.resize(before, {nullptr, 0});
    }
  return success();
}

LogicalResult ControlSkeleton::checkBalance() {
  for (const GroupControl &group : groups)
    if (failed(checkLed(group)))
      return failure();
  SmallVector<unsigned> others(objects.size());
  llvm::SmallBitVector joinsGroups(channels.size());
  if (failed(compareGroups(others, joinsGroups)) ||
      failed(compareReplicas(others, joinsGroups)))
    return failure();

  std::map<std::pair<unsigned, unsigned>, unsigned> inNest;
  for (auto [loop, object] : compared)
    ++inNest[{*getNest(loop), object}];
  nestObjects.assign(numNests, llvm::BitVector(objects.size()));
  for (auto [key, count] : inNest)
    if (count == others[key.second])
      nestObjects[key.first].set(key.second);
  return success();
}
