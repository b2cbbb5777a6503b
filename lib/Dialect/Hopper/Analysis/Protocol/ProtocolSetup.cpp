//===- ProtocolSetup.cpp - what an exploration looks at -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProtocolMachine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// Integers that decide which barrier, phase or part of memory is meant.
static SmallVector<Value> getDecidingOperands(Operation *op) {
  SmallVector<Value> values;
  auto add = [&](auto... operands) { (values.push_back(operands), ...); };
  if (auto wait = dyn_cast<BarrierWaitOp>(op))
    add(wait.getIndex(), wait.getParity());
  else if (auto arrive = dyn_cast<BarrierArriveOp>(op))
    add(arrive.getIndex());
  else if (auto expect = dyn_cast<BarrierExpectTxOp>(op))
    add(expect.getIndex());
  else if (auto load = dyn_cast<TmaLoadOp>(op))
    add(load.getIndex(), load.getRow(), load.getColumn(),
        load.getBarrierIndex());
  else if (auto store = dyn_cast<TmaStoreOp>(op))
    add(store.getIndex(), store.getRow(), store.getColumn());
  else if (auto desc = dyn_cast<DescOp>(op))
    add(desc.getIndex(), desc.getRow(), desc.getColumn());
  else if (auto store = dyn_cast<SmemStoreOp>(op))
    add(store.getIndex(), store.getRow(), store.getColumn());
  else if (auto load = dyn_cast<SmemLoadOp>(op))
    add(load.getIndex(), load.getRow(), load.getColumn());
  else if (auto post = dyn_cast<MailboxPostOp>(op))
    add(post.getIndex());
  else if (auto read = dyn_cast<MailboxReadOp>(op))
    add(read.getIndex());
  else if (auto use = getNamedBarrierUse(op))
    add(use->id);
  return values;
}

void ProtocolMachine::trackSources(SmallVector<Value> work) {
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second || !value.getType().isIntOrIndex())
      continue;
    auto follow = [&](Value phi, ValueRange sources) {
      tracked.insert(phi);
      llvm::append_range(work, sources);
    };
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument == loop.getInductionVar())
        continue;
      unsigned i = argument.getArgNumber() - 1;
      follow(value, {loop.getInitArgs()[i], loop.getYieldedValues()[i]});
      continue;
    }
    unsigned i = cast<OpResult>(value).getResultNumber();
    Operation *op = value.getDefiningOp();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      follow(value, {loop.getRegionIterArg(i)});
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      follow(value, {branch.thenYield().getOperand(i),
                     branch.elseYield().getOperand(i)});
    else if (op->getNumRegions() == 0)
      llvm::append_range(work, op->getOperands());
  }
}

void ProtocolMachine::trackProducts() {
  auto track = [&](ValueRange values) {
    for (Value value : values)
      if (isa<InflightType, GroupType>(value.getType()))
        tracked.insert(value);
  };
  warp::SpecializeOp specialize = model.specialize;
  specialize.walk([&](Operation *op) {
    track(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        track(block.getArguments());
  });
}

/// A fence gives registers back, so its results are the registers it took.
void ProtocolMachine::findFragments() {
  warp::SpecializeOp specialize = model.specialize;
  specialize.walk([&](WgmmaOp mma) {
    for (Value operand : {mma.getLhs(), mma.getAcc()}) {
      if (!operand || !isa<VectorType>(operand.getType()))
        continue;
      auto [entry, isNew] = fragmentOf.try_emplace(operand, numFragments);
      if (isNew)
        ++numFragments;
      unsigned fragment = entry->second;
      while (auto fence = operand.getDefiningOp<WgmmaFenceOp>()) {
        operand = fence.getValues()[cast<OpResult>(operand).getResultNumber()];
        // Constants are made anew wherever they are used.
        if (operand.getDefiningOp<arith::ConstantOp>())
          break;
        fragmentOf.try_emplace(operand, fragment);
      }
    }
  });
}

void ProtocolMachine::prepare() {
  for (auto [i, array] : llvm::enumerate(model.barriers))
    arrayOf.append(array.getCount(), i);
  SmallVector<Value> deciding;
  warp::SpecializeOp specialize = model.specialize;
  specialize.walk([&](Operation *op) {
    auto desc = dyn_cast<DescOp>(op);
    if (desc ? scope.hasBuffer(desc.getBuffer()) : isInstruction(op))
      llvm::append_range(deciding, getDecidingOperands(op));
  });
  trackSources(std::move(deciding));
  if (!scope.hasRegisters())
    return;
  trackProducts();
  findFragments();
}

bool ProtocolMachine::isTracked(Value value) const {
  return tracked.contains(value);
}

bool ProtocolMachine::isInstruction(Operation *op) const {
  bool isPart = scope.kind == ProtocolScope::Kind::Part;
  if (scope.kind == ProtocolScope::Kind::Turns)
    return model.isTurn(op);
  if (scope.kind != ProtocolScope::Kind::All && model.isTurn(op))
    return false;
  bool hasMemory = scope.kind != ProtocolScope::Kind::Registers;
  if (auto wait = dyn_cast<BarrierWaitOp>(op))
    return scope.hasArray(model, wait.getBarrier());
  if (auto arrive = dyn_cast<BarrierArriveOp>(op))
    return scope.hasArray(model, arrive.getBarrier());
  if (auto expect = dyn_cast<BarrierExpectTxOp>(op))
    return scope.hasArray(model, expect.getBarrier());
  if (auto load = dyn_cast<TmaLoadOp>(op))
    return scope.hasArray(model, load.getBarrier());
  if (auto store = dyn_cast<TmaStoreOp>(op))
    return scope.hasBuffer(store.getBuffer());
  if (auto store = dyn_cast<SmemStoreOp>(op))
    return scope.hasBuffer(store.getBuffer());
  if (auto load = dyn_cast<SmemLoadOp>(op))
    return scope.hasBuffer(load.getBuffer());
  if (auto post = dyn_cast<MailboxPostOp>(op))
    return scope.hasBuffer(post.getMailbox());
  if (auto read = dyn_cast<MailboxReadOp>(op))
    return scope.hasBuffer(read.getMailbox());
  if (isa<TmaCommitOp, TmaWaitReadOp>(op))
    return isPart ? scope.hasCopies : hasMemory;
  if (isa<FenceProxyAsyncOp, FenceAcqRelOp>(op) || getNamedBarrierUse(op))
    return hasMemory;
  if (isa<WgmmaFenceOp, WgmmaOp, WgmmaCommitOp, WgmmaWaitOp>(op))
    return !isPart || scope.hasProducts;
  if (isa<GroupReadyOp, InflightReadyOp>(op))
    return scope.hasRegisters();
  if (op->getNumRegions())
    return false;
  // Uses of registers that a product may be reading. Yielding a value into a
  // loop-carried fragment writes to it.
  if (fragmentOf.empty())
    return false;
  if (llvm::any_of(op->getOperands(),
                   [&](Value v) { return fragmentOf.contains(v); }))
    return true;
  auto loop = isa<scf::YieldOp>(op) ? dyn_cast<scf::ForOp>(op->getParentOp())
                                    : scf::ForOp();
  return loop && llvm::any_of(loop.getRegionIterArgs(),
                              [&](Value v) { return fragmentOf.contains(v); });
}

LogicalResult ProtocolMachine::addProcess(warp::GroupOp group,
                                          unsigned replica) {
  unsigned p = processes.size();
  processes.push_back({group, replica, group.getWarps() == 1});
  // The kernel's buffers are shared, those of groups belong to the replica.
  auto add = [&](auto alloc, int64_t slots, int64_t slotBytes, unsigned owner) {
    if (!bufferOf.try_emplace({alloc, owner}, buffers.size()).second)
      return;
    BufferInfo info{alloc, slots, slotBytes, -1, -1};
    if (std::optional<int64_t> offset = alloc.getOffset()) {
      info.begin =
          *offset + (owner == ~0u ? 0 : replica) * alloc.getReplicaBytes();
      info.end = info.begin + alloc.getReplicaBytes();
    }
    buffersOverlap |=
        info.begin >= 0 && llvm::any_of(buffers, [&](const BufferInfo &other) {
          return info.begin < other.end && other.begin < info.end;
        });
    buffers.push_back(info);
  };
  gpu::GPUFuncOp function = model.function;
  function.walk([&](AllocOp alloc) {
    auto owner = alloc->getParentOfType<warp::GroupOp>();
    BufferType type = alloc.getBuffer().getType();
    if (!owner)
      add(alloc, type.getSlots(), type.getSlotBytes(), ~0u);
    else if (owner == group)
      add(alloc, type.getSlots(), type.getSlotBytes(), p);
  });
  function.walk([&](MailboxAllocOp alloc) {
    add(alloc, alloc.getMailbox().getType().getSlots(),
        MailboxAllocOp::kSlotBytes, ~0u);
  });
  if (2 * (processes.size() + getNumElements()) > Members::kMost)
    return function.emitOpError("has too many barriers to check: ")
           << getNumElements() << " beside " << processes.size()
           << " replicas of groups";
  return success();
}

/// Who accesses which buffer, and how.
void ProtocolMachine::findUsers() {
  usersOf.assign(buffers.size(), {});
  for (unsigned p = 0; p < processes.size(); ++p) {
    uint64_t self = uint64_t(1) << p;
    processes[p].group.walk([&](Operation *op) {
      auto add = [&](Value buffer, bool writes, bool isAsync) {
        auto it = bufferOf.find({buffer.getDefiningOp(), ~0u});
        if (it == bufferOf.end())
          it = bufferOf.find({buffer.getDefiningOp(), p});
        if (it == bufferOf.end())
          return;
        Users &users = usersOf[it->second];
        users.all |= self;
        users.writers |= writes ? self : 0;
        users.async |= isAsync ? self : 0;
      };
      if (auto load = dyn_cast<TmaLoadOp>(op))
        add(load.getBuffer(), /*writes=*/true, /*isAsync=*/true);
      else if (auto store = dyn_cast<TmaStoreOp>(op))
        add(store.getBuffer(), /*writes=*/false, /*isAsync=*/true);
      else if (auto desc = dyn_cast<DescOp>(op))
        add(desc.getBuffer(), /*writes=*/false, /*isAsync=*/true);
      else if (auto store = dyn_cast<SmemStoreOp>(op))
        add(store.getBuffer(), /*writes=*/true, /*isAsync=*/false);
      else if (auto load = dyn_cast<SmemLoadOp>(op))
        add(load.getBuffer(), /*writes=*/false, /*isAsync=*/false);
      else if (auto post = dyn_cast<MailboxPostOp>(op))
        add(post.getMailbox(), /*writes=*/true, /*isAsync=*/false);
      else if (auto read = dyn_cast<MailboxReadOp>(op))
        add(read.getMailbox(), /*writes=*/false, /*isAsync=*/false);
    });
  }
  if (!buffersOverlap)
    return;
  Users everybody;
  for (const Users &users : usersOf) {
    everybody.all |= users.all;
    everybody.writers |= users.writers;
    everybody.async |= users.async;
  }
  usersOf.assign(buffers.size(), everybody);
}
