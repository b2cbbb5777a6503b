//===- ProtocolScope.cpp - parts of a protocol that are shown apart -------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProtocolScope.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {

/// Arrays and buffers, by number; those that belong together are joined.
class Partition {
public:
  explicit Partition(const ProtocolModel &model) : model(model) {
    for (const BarrierArray &array : model.barriers)
      numberOf[array.op] = numberOf.size();
    gpu::GPUFuncOp function = model.function;
    function.walk([&](AllocOp alloc) {
      numberOf[alloc] = numberOf.size();
      buffers.push_back(alloc);
    });
    function.walk([&](MailboxAllocOp alloc) {
      numberOf[alloc] = numberOf.size();
      mailboxes.push_back(alloc);
    });
    classes.grow(numberOf.size());
  }

  void joinOverlaps();
  void joinGroup(warp::GroupOp group);
  std::vector<ProtocolScope> getScopes();

private:
  unsigned get(Value value) const {
    return numberOf.lookup(value.getDefiningOp());
  }
  void join(unsigned a, unsigned b) { classes.join(a, b); }
  SmallVector<unsigned> getWaitsForReaders(warp::GroupOp group,
                                           unsigned arrival) const;
  void joinWritten(
      warp::GroupOp group, ArrayRef<std::pair<unsigned, unsigned>> waitsBefore,
      const llvm::MapVector<unsigned, std::optional<unsigned>> &arrivalAfter);

  const ProtocolModel &model;
  llvm::MapVector<Operation *, unsigned> numberOf;
  SmallVector<AllocOp> buffers;
  SmallVector<MailboxAllocOp> mailboxes; ///< overlap nothing
  llvm::IntEqClasses classes;
};

/// A barrier array or buffer and the slot of it that an operation means.
using SlotUse = std::pair<Value, Value>;

} // namespace

/// Buffers that share bytes are shown together.
void Partition::joinOverlaps() {
  auto getEnd = [](AllocOp alloc) {
    auto group = alloc->getParentOfType<warp::GroupOp>();
    int64_t replicas = group ? int64_t(group.getReplicas()) : 1;
    return *alloc.getOffset() + alloc.getReplicaBytes() * replicas;
  };
  for (auto [i, a] : llvm::enumerate(buffers))
    for (AllocOp b : ArrayRef(buffers).take_front(i))
      if (a.getOffset() && b.getOffset() && *a.getOffset() < getEnd(b) &&
          *b.getOffset() < getEnd(a))
        join(get(a.getBuffer()), get(b.getBuffer()));
}

static SmallVector<SlotUse, 2> getSlotUses(Operation *op) {
  if (auto wait = dyn_cast<BarrierWaitOp>(op))
    return {{wait.getBarrier(), wait.getIndex()}};
  if (auto arrive = dyn_cast<BarrierArriveOp>(op))
    return {{arrive.getBarrier(), arrive.getIndex()}};
  if (auto expect = dyn_cast<BarrierExpectTxOp>(op))
    return {{expect.getBarrier(), expect.getIndex()}};
  if (auto load = dyn_cast<TmaLoadOp>(op))
    return {{load.getBuffer(), load.getIndex()},
            {load.getBarrier(), load.getBarrierIndex()}};
  if (auto store = dyn_cast<TmaStoreOp>(op))
    return {{store.getBuffer(), store.getIndex()}};
  if (auto desc = dyn_cast<DescOp>(op))
    return {{desc.getBuffer(), desc.getIndex()}};
  if (auto store = dyn_cast<SmemStoreOp>(op))
    return {{store.getBuffer(), store.getIndex()}};
  if (auto load = dyn_cast<SmemLoadOp>(op))
    return {{load.getBuffer(), load.getIndex()}};
  if (auto post = dyn_cast<MailboxPostOp>(op))
    return {{post.getMailbox(), post.getIndex()}};
  if (auto read = dyn_cast<MailboxReadOp>(op))
    return {{read.getMailbox(), read.getIndex()}};
  return {};
}

/// Where the group waits for nobody but those that wait for this arrival of
/// its: readers that are other groups.
SmallVector<unsigned> Partition::getWaitsForReaders(warp::GroupOp group,
                                                    unsigned arrival) const {
  const Parties &readers = model.barriers[arrival].waiting;
  SmallVector<unsigned> waits;
  if (readers.contains(group))
    return waits;
  for (auto [i, array] : llvm::enumerate(model.barriers))
    if (array.waiting.contains(group) && !array.arriving.empty() &&
        llvm::all_of(array.arriving.get(), [&](const Party &party) {
          return readers.contains(party.group);
        }))
      waits.push_back(i);
  return waits;
}

/// Buffers that threads write. Who asks for the slot early waits for other
/// things in between: then every wait for its readers may be the one.
void Partition::joinWritten(
    warp::GroupOp group, ArrayRef<std::pair<unsigned, unsigned>> waitsBefore,
    const llvm::MapVector<unsigned, std::optional<unsigned>> &arrivalAfter) {
  for (auto [buffer, wait] : waitsBefore) {
    std::optional<unsigned> arrival = arrivalAfter.lookup(buffer);
    SmallVector<unsigned> waits;
    if (arrival)
      waits = getWaitsForReaders(group, *arrival);
    if (waits.empty() || llvm::is_contained(waits, wait))
      waits = {wait};
    for (unsigned each : waits)
      join(each, buffer);
  }
  for (auto [buffer, arrival] : arrivalAfter)
    if (arrival)
      join(*arrival, buffer);
}

/// What uses one position of a ring belongs together. Positions of rings with
/// one slot are constants and tell nothing: there, what is written belongs to
/// the wait before, and what threads write to the arrival after the last of it.
void Partition::joinGroup(warp::GroupOp group) {
  llvm::DenseMap<Value, unsigned> firstOf;
  std::optional<unsigned> lastWait;
  llvm::MapVector<unsigned, std::optional<unsigned>> arrivalAfter;
  SmallVector<std::pair<unsigned, unsigned>> waitsBefore;
  group.walk([&](Operation *op) {
    bool writes = isa<TmaLoadOp, MailboxPostOp>(op);
    for (auto [object, slot] : getSlotUses(op)) {
      unsigned number = get(object);
      bool isConstant = matchPattern(slot, m_Constant());
      if (!isConstant)
        join(firstOf.try_emplace(slot, number).first->second, number);
      else if (writes && lastWait && !group->isAncestor(object.getDefiningOp()))
        join(*lastWait, number);
      if (!isConstant || group->isAncestor(object.getDefiningOp()))
        continue;
      if (isa<SmemStoreOp>(op)) {
        arrivalAfter[number].reset();
        if (lastWait)
          waitsBefore.push_back({number, *lastWait});
      } else if (isa<BarrierArriveOp>(op)) {
        for (auto &[buffer, arrival] : arrivalAfter)
          arrival = arrival.value_or(number);
      }
    }
    if (auto load = dyn_cast<TmaLoadOp>(op))
      join(get(load.getBuffer()), get(load.getBarrier()));
    if (auto wait = dyn_cast<BarrierWaitOp>(op))
      if (matchPattern(wait.getIndex(), m_Constant()))
        lastWait = get(wait.getBarrier());
  });
  joinWritten(group, waitsBefore, arrivalAfter);
}

std::vector<ProtocolScope> Partition::getScopes() {
  classes.compress();
  std::vector<ProtocolScope> scopes(classes.getNumClasses());
  for (ProtocolScope &scope : scopes) {
    scope.kind = ProtocolScope::Kind::Part;
    scope.arrays.resize(model.barriers.size());
  }
  for (auto [i, array] : llvm::enumerate(model.barriers))
    scopes[classes[numberOf.lookup(array.op)]].arrays.set(i);
  for (AllocOp buffer : buffers)
    scopes[classes[get(buffer.getBuffer())]].buffers.insert(buffer);
  for (MailboxAllocOp mailbox : mailboxes)
    scopes[classes[get(mailbox.getMailbox())]].buffers.insert(mailbox);
  gpu::GPUFuncOp function = model.function;
  function.walk([&](Operation *op) {
    if (auto desc = dyn_cast<DescOp>(op))
      scopes[classes[get(desc.getBuffer())]].hasProducts = true;
    else if (auto store = dyn_cast<TmaStoreOp>(op))
      scopes[classes[get(store.getBuffer())]].hasCopies = true;
  });
  return scopes;
}

std::vector<ProtocolScope> fa3::hopper::partition(const ProtocolModel &model) {
  Partition partition(model);
  partition.joinOverlaps();
  warp::SpecializeOp specialize = model.specialize;
  for (auto group : specialize.getBody().getOps<warp::GroupOp>())
    partition.joinGroup(group);
  return partition.getScopes();
}
