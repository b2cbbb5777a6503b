//===- CheckGroups.cpp - groups joined by rings do not deadlock -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "RingMachine.h"
#include "fa3/Dialect/Warp/Analysis/Rounds.h"
#include "fa3/Dialect/Warp/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3::warp {
#define GEN_PASS_DEF_CHECK
#include "fa3/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fa3::warp

using namespace mlir;
using namespace fa3::warp;

namespace {

/// The rings of a `warp.specialize` and who is at their ends.
struct Rings {
  std::vector<Channel> channels;
  std::vector<Location> objects;
  llvm::DenseMap<Operation *, unsigned> channelOf;

  /// Fails if a ring has no reader, or not one writer for every part.
  LogicalResult collect(SpecializeOp specialize);
  std::optional<unsigned> classify(Operation *op) const {
    auto it = channelOf.find(op);
    return it == channelOf.end() ? std::nullopt : std::optional(it->second);
  }
};

} // namespace

static LogicalResult verifyEnds(RingOp ring, ArrayRef<CursorOp> cursors) {
  if (cursors.empty())
    return success();
  RingType type = ring.getRing().getType();
  bool isPrivate = ring->getParentOfType<GroupOp>();
  SmallVector<CursorOp> writers(type.getParts());
  bool hasReader = false;
  for (CursorOp cursor : cursors) {
    auto group = cursor->getParentOfType<GroupOp>();
    if (cursor.getSide() == Side::read) {
      hasReader = true;
      continue;
    }
    int64_t parts = cursor.getEach() ? group.getReplicas() : 1;
    int64_t writersOfPart = isPrivate || cursor.getLeader() || cursor.getEach()
                                ? 1
                                : group.getReplicas();
    for (int64_t i = 0; i < parts; ++i) {
      CursorOp &writer = writers[cursor.getPart() + i];
      if (writer || writersOfPart > 1) {
        InFlightDiagnostic diagnostic =
            ring.emitOpError("expects one writer of part ")
            << cursor.getPart() + i << ", got more";
        diagnostic.attachNote(cursor.getLoc())
            << "group '" << group.getSymName() << "' of " << group.getReplicas()
            << (group.getReplicas() == 1 ? " replica" : " replicas")
            << " writes here";
        if (writer)
          diagnostic.attachNote(writer.getLoc()) << "and another group here";
        return failure();
      }
      writer = cursor;
    }
  }
  for (auto [part, writer] : llvm::enumerate(writers))
    if (!writer)
      return ring.emitOpError("has no writer of part ")
             << part << ", so reading it blocks forever";
  if (!hasReader)
    return ring.emitOpError("has no reader, so writing it blocks once it is "
                            "full");
  return success();
}

LogicalResult Rings::collect(SpecializeOp specialize) {
  llvm::MapVector<Operation *, SmallVector<CursorOp>> cursors;
  WalkResult result = specialize.walk([&](CursorOp cursor) {
    auto ring = cursor.getRing().getDefiningOp<RingOp>();
    if (!ring) {
      cursor.emitOpError("expects a ring that is the result of a 'warp.ring'");
      return WalkResult::interrupt();
    }
    cursors[ring].push_back(cursor);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();

  std::map<std::tuple<Operation *, bool, int64_t>, unsigned> numbers;
  for (auto &[op, ofRing] : cursors) {
    auto ring = cast<RingOp>(op);
    if (failed(verifyEnds(ring, ofRing)))
      return failure();
    unsigned object = objects.size();
    objects.push_back(ring.getLoc());
    bool areAlike =
        llvm::any_of(ofRing, [](CursorOp cursor) { return cursor.getEach(); });
    bool hasParts = ring.getRing().getType().getParts() > 1;
    for (CursorOp cursor : ofRing) {
      bool writes = cursor.getSide() == Side::write;
      int64_t part = cursor.getPart();
      auto [entry, isNew] =
          numbers.try_emplace({op, writes, part}, channels.size());
      if (!isNew)
        continue;
      std::string what = writes ? "acquires to write" : "acquires to read";
      if (hasParts && writes)
        what += " part " + std::to_string(part);
      channels.push_back({object, what, /*joinsReplicas=*/false,
                          /*isLed=*/cursor.getLeader(), areAlike});
    }
  }
  llvm::SmallDenseMap<Operation *, unsigned> channelOfOrder;
  specialize.walk([&](TakeTurnOp take) {
    OrderedBarrierOp order = take.getOrderedBarrier();
    if (!order)
      return;
    auto [entry, isNew] = channelOfOrder.try_emplace(order, channels.size());
    if (isNew) {
      channels.push_back({static_cast<unsigned>(objects.size()), "takes turns",
                          /*joinsReplicas=*/true});
      objects.push_back(order.getLoc());
    }
    channelOf[take] = entry->second;
  });
  specialize.walk([&](AcquireOp acquire) {
    auto ring = acquire.getRing().getDefiningOp<RingOp>();
    CursorOp cursor = findCursorOrigin(acquire.getCursor());
    if (ring && cursor)
      channelOf[acquire] =
          numbers[{ring, acquire.getSide() == Side::write, cursor.getPart()}];
  });
  return success();
}

/// Whether replicas of a group wait for each other: in turns, for the one that
/// writes for all, or for the parts of the others.
static bool doReplicasMeet(GroupOp group) {
  WalkResult exchange = group.walk(
      [](CursorOp cursor) { return WalkResult(failure(cursor.getEach())); });
  return group.hasLeader() || exchange.wasInterrupted() ||
         group.walk([](TakeTurnOp) { return WalkResult::interrupt(); })
             .wasInterrupted();
}

/// Replicas of each group that are explored. Replicas that do not wait for each
/// other do so only through other groups, so a circle of waits passes through
/// at most one of them per replica of another group, and what is left out only
/// waits less.
static SmallVector<int64_t>
countExploredReplicas(ArrayRef<GroupControl> groups) {
  SmallVector<int64_t> replicas;
  int64_t meeting = 0;
  for (const GroupControl &control : groups) {
    replicas.push_back(control.group.getReplicas());
    if (doReplicasMeet(control.group))
      meeting += replicas.back() - 1;
  }
  int64_t others = std::max<int64_t>(int64_t(groups.size()) - 1 + meeting, 1);
  for (auto [number, control] : llvm::zip(replicas, groups))
    if (!doReplicasMeet(control.group))
      number = std::min(number, others);
  return replicas;
}

namespace {
struct Check : fa3::warp::impl::CheckBase<Check> {
  void runOnOperation() override {
    Operation *checked = getOperation();
    OwningOpRef<Operation *> copy;
    if (hasRounds(checked)) {
      copy = checked->clone();
      checked = *copy;
      writeOutRounds(checked);
    }
    WalkResult result = checked->walk(
        [&](SpecializeOp specialize) { return WalkResult(check(specialize)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult check(SpecializeOp specialize) {
    Rings rings;
    if (failed(rings.collect(specialize)))
      return failure();
    if (rings.channels.empty())
      return success();
    auto classify = [&](Operation *op) { return rings.classify(op); };
    ControlSkeleton skeleton(specialize, rings.channels, rings.objects);
    if (failed(skeleton.build(classify)) || failed(skeleton.checkBalance()))
      return failure();

    RingMachine machine;
    Explorer explorer(skeleton, machine, classify);
    std::vector<Program> programs;
    programs.reserve(skeleton.getGroups().size());
    unsigned process = 0;
    for (auto [control, replicas] :
         llvm::zip(skeleton.getGroups(),
                   countExploredReplicas(skeleton.getGroups()))) {
      FailureOr<Program> program = Program::compile(
          control.group, skeleton, isRingInstruction,
          [](Value value) { return isRingValue(value.getType()); });
      if (failed(program))
        return failure();
      programs.push_back(std::move(*program));
      for (int64_t replica = 0; replica < replicas; ++replica) {
        explorer.addProcess(control.group, replica, programs.back());
        machine.addProcess(control.group, replica, process++);
      }
    }
    LogicalResult result = explorer.run();
    numStates += explorer.getNumStates();
    return result;
  }
};
} // namespace
