//===- ProtocolBarriers.cpp - who arrives at barriers, and who waits ------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProtocolModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

static Value getMbarrier(Operation *op, bool &arrives) {
  arrives = true;
  if (auto arrive = dyn_cast<BarrierArriveOp>(op))
    return arrive.getBarrier();
  if (auto expect = dyn_cast<BarrierExpectTxOp>(op))
    return expect.getBarrier();
  arrives = false;
  if (auto wait = dyn_cast<BarrierWaitOp>(op))
    return wait.getBarrier();
  return {};
}

std::optional<unsigned> ProtocolModel::getChannel(Operation *op) const {
  if (auto turn = turnOf.find(op);
      turn != turnOf.end() && isa<NamedBarrierSyncOp>(op))
    return 2 * barriers.size() + turn->second;
  bool arrives;
  Value barrier = getMbarrier(op, arrives);
  if (!barrier)
    return std::nullopt;
  auto it = barrierOf.find(barrier);
  if (it == barrierOf.end())
    return std::nullopt;
  return 2 * it->second + (arrives ? 0 : 1);
}

/// Whether `leaf` takes part in computing one of `values`, through loops and
/// branches.
static bool dependsOn(ValueRange values, Value leaf) {
  SmallVector<Value> work(values);
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (value == leaf)
      return true;
    if (!seen.insert(value).second || !value.getType().isIntOrIndex())
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (loop && argument != loop.getInductionVar()) {
        unsigned i = argument.getArgNumber() - 1;
        llvm::append_values(work, loop.getInitArgs()[i],
                            loop.getYieldedValues()[i]);
      }
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned i = cast<OpResult>(value).getResultNumber();
      llvm::append_values(work, branch.thenYield().getOperand(i),
                          branch.elseYield().getOperand(i));
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      work.push_back(
          loop.getRegionIterArg(cast<OpResult>(value).getResultNumber()));
    } else {
      llvm::append_range(work, op->getOperands());
    }
  }
  return false;
}

/// Whether what an operation synchronizes or fills is one allocation, and it
/// stands where the threads that it needs come by.
static LogicalResult checkPlace(Operation *op, warp::SpecializeOp specialize) {
  for (Value operand : op->getOperands()) {
    if (isa<BarrierType>(operand.getType()) &&
        !operand.getDefiningOp<BarrierAllocOp>())
      return op->emitOpError("expects mbarriers that are the result of a "
                             "'hopper.barrier.alloc'");
    if (isa<BufferType>(operand.getType()) && !operand.getDefiningOp<AllocOp>())
      return op->emitOpError("expects a buffer that is the result of a "
                             "'hopper.smem.alloc'");
  }
  if (isa<gpu::BarrierOp>(op) && op->getParentOfType<warp::GroupOp>())
    return op->emitOpError("inside a group waits for all threads of the block, "
                           "which other groups do not send");
  if (isa<SmemFillOp>(op) && (op->getBlock() != specialize->getBlock() ||
                              specialize->isBeforeInBlock(op)))
    return op->emitOpError("expects to stand in front of 'warp.specialize', "
                           "all threads of the block perform it");
  if (isa<BarrierAllocOp>(op) && op->getParentOfType<warp::GroupOp>())
    return op->emitOpError("inside a group is not initialized by anyone");
  return success();
}

void ProtocolModel::addBarriers(BarrierAllocOp alloc) {
  barrierOf[alloc.getBarrier()] = barriers.size();
  barriers.push_back({alloc, numMbarriers, {}, {}});
  numMbarriers += alloc.getBarrier().getType().getCount();
  channels.push_back({static_cast<unsigned>(objects.size()), "arrives"});
  channels.push_back({static_cast<unsigned>(objects.size()), "waits"});
  objects.push_back(alloc.getLoc());
}

void ProtocolModel::readParties() {
  for (auto group : specialize.getBody().getOps<warp::GroupOp>())
    group.walk([&](Operation *op) {
      bool arrives;
      if (Value barrier = getMbarrier(op, arrives)) {
        BarrierArray &array = barriers[barrierOf[barrier]];
        (arrives ? array.arriving : array.waiting).add(group, op);
        bool meets = group.getReplicas() > 1 &&
                     array.arriving.contains(group) &&
                     array.waiting.contains(group);
        joinsReplicas |=
            meets || (group.getReplicas() > 1 &&
                      dependsOn(op->getOperands(), group.getReplica()));
        for (unsigned i : {0, 1})
          channels[2 * barrierOf[barrier] + i].isEqualInReplicas |= meets;
      }
    });
  for (auto [i, array] : llvm::enumerate(barriers)) {
    channels[2 * i].isLed = array.arriving.isPartial();
    channels[2 * i + 1].isLed = array.waiting.isPartial();
  }
}

LogicalResult ProtocolModel::readBarriers() {
  WalkResult result = function.walk([&](Operation *op) {
    if (failed(checkPlace(op, specialize)))
      return WalkResult::interrupt();
    if (auto alloc = dyn_cast<BarrierAllocOp>(op))
      addBarriers(alloc);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  readParties();
  return success();
}

LogicalResult ProtocolModel::checkArrivals() {
  for (const BarrierArray &array : barriers) {
    if (array.arriving.empty() && array.waiting.empty())
      continue;
    int64_t parties = 0;
    for (const Party &party : array.arriving.get())
      parties += party.replicas.count();
    int64_t arrivals = array.op.getBarrier().getType().getArrivals();
    if (arrivals == parties)
      continue;
    InFlightDiagnostic diagnostic =
        array.op.emitOpError("completes a phase after ")
        << arrivals << " arrivals, but " << parties
        << (parties == 1 ? " party arrives" : " parties arrive");
    for (Party party : array.arriving.get())
      diagnostic.attachNote(party.group.getLoc())
          << "@" << party.group.getSymName() << ", " << party.replicas.count()
          << (party.replicas.count() == 1 ? " replica, arrives"
                                          : " replicas, arrive");
    return failure();
  }
  return success();
}

/// Whether a named barrier carries turns: one replica of a group waits at it,
/// another one of the same group arrives.
static bool carriesTurns(ArrayRef<NamedUse> uses) {
  std::optional<int64_t> replicas[2];
  for (const NamedUse &use : uses) {
    std::optional<int64_t> &replica =
        replicas[isa<NamedBarrierSyncOp>(use.op) ? 1 : 0];
    if (use.group != uses.front().group || (replica && *replica != use.replica))
      return false;
    replica = use.replica;
  }
  return replicas[0] && replicas[1] && *replicas[0] != *replicas[1];
}

/// Turns of a group are one object: whoever waits at one of its barriers takes
/// a turn. `uses` are those of all named barriers, by id.
void ProtocolModel::readTurns(
    const std::map<int64_t, SmallVector<NamedUse>> &uses) {
  llvm::MapVector<Operation *, unsigned> objectOf;
  for (auto &[id, ofId] : uses) {
    std::set<std::pair<Operation *, int64_t>> parties;
    for (const NamedUse &use : ofId)
      parties.insert({use.group, use.replica});
    if (parties.size() < 2)
      continue;
    if (!carriesTurns(ofId)) {
      hasMeetings = true;
      continue;
    }
    for (const NamedUse &use : ofId) {
      auto [entry, isNew] = objectOf.try_emplace(use.group, objectOf.size());
      turnOf[use.op] = entry->second;
      if (isNew) {
        channels.push_back({static_cast<unsigned>(objects.size()),
                            "takes turns", /*joinsReplicas=*/true});
        objects.push_back(use.op->getLoc());
      }
    }
  }
  // What sometimes carries turns and sometimes does not is looked at as a
  // whole.
  for (auto &[id, ofId] : uses)
    for (const NamedUse &use : ofId)
      hasMeetings |= turnOf.contains(use.op) && !carriesTurns(ofId);
}

/// The number of the barrier that a replica uses.
static FailureOr<int64_t> readId(const NamedUse &use, Value id) {
  int64_t number = evaluateScalar(id, [&](Value leaf) {
    return leaf == use.group.getReplica() ? use.replica : warp::kUnknown;
  });
  if (number == warp::kUnknown)
    return use.op->emitOpError("expects an id computed from constants and the "
                               "replica");
  int64_t count = getChip(use.op).namedBarriers;
  if (number < 1 || number >= count)
    return use.op->emitOpError("has id ")
           << number << " in replica " << use.replica << ", expected 1 to "
           << count - 1 << " (0 is the barrier of the block)";
  return number;
}

/// The threads that meet at a named barrier: all uses expect as many as use it.
static FailureOr<int64_t> readThreads(int64_t id, ArrayRef<NamedUse> uses) {
  int64_t threads = getNamedBarrierUse(uses.front().op)->threads;
  std::set<std::pair<Operation *, int64_t>> parties;
  int64_t present = 0;
  for (const NamedUse &use : uses) {
    if (int64_t other = getNamedBarrierUse(use.op)->threads; other != threads) {
      InFlightDiagnostic diagnostic = use.op->emitOpError("expects ")
                                      << other << " threads at named barrier "
                                      << id;
      diagnostic.attachNote(uses.front().op->getLoc())
          << "others expect " << threads;
      return failure();
    }
    if (parties.insert({use.group, use.replica}).second)
      present += use.group.getWarps() * getChip(use.op).threadsPerWarp;
  }
  if (present == threads)
    return threads;
  InFlightDiagnostic diagnostic = uses.front().op->emitOpError("expects ")
                                  << threads << " threads at named barrier "
                                  << id << ", " << present << " use it";
  for (auto &[group, replica] : parties)
    diagnostic.attachNote(group->getLoc())
        << "@" << cast<warp::GroupOp>(group).getSymName() << " replica "
        << replica << " uses it";
  return failure();
}

LogicalResult ProtocolModel::readNamedBarriers() {
  std::map<int64_t, SmallVector<NamedUse>> uses;
  for (auto group : specialize.getBody().getOps<warp::GroupOp>()) {
    WalkResult result = group.walk([&](Operation *op) {
      std::optional<NamedBarrierUse> barrier = getNamedBarrierUse(op);
      if (!barrier)
        return WalkResult::advance();
      int64_t replicas = group.getReplicas();
      for (int64_t replica = 0; replica < replicas; ++replica) {
        if (!mayReach(op, group, replica))
          continue;
        NamedUse use = {op, group, replica};
        FailureOr<int64_t> id = readId(use, barrier->id);
        if (failed(id))
          return WalkResult::interrupt();
        uses[*id].push_back(use);
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  for (auto &[id, ofId] : uses) {
    FailureOr<int64_t> threads = readThreads(id, ofId);
    if (failed(threads))
      return failure();
    namedBarriers[id] = *threads;
  }
  readTurns(uses);
  return success();
}
