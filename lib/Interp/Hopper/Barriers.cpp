//===- Barriers.cpp - shared memory, barriers, registers of hopper --------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Core/Elementwise.h"
#include "Clock.h"
#include "Machine.h"
#include "fa3/Machine/Chip.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

namespace {

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

LogicalResult allocate(Context &c, const Instr &in, int64_t bytes,
                       int64_t alignment, std::optional<int64_t> offset) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  c.cells[in.out[0]].i =
      machine->getAddress(c, in.op, bytes, alignment, offset);
  return success();
}

LogicalResult runAllocBarriers(Context &c, const Instr &in) {
  auto op = cast<hopper::AllocOp>(in.op);
  hopper::BufferType type = op.getBuffer().getType();
  return allocate(c, in, type.getSlots() * type.getSlotBytes(), 1024,
                  op.getOffset());
}

LogicalResult runFill(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  auto op = cast<hopper::SmemFillOp>(in.op);
  hopper::BufferType type = op.getBuffer().getType();
  int64_t begin = c.integer(in.in[0]);
  ByteRange range{begin, begin + type.getSlots() * type.getSlotBytes()};
  if (failed(machine->checkWrite(c, in.op, range, /*byElected=*/false)))
    return failure();
  llvm::APInt bits = cast<FloatAttr>(op.getValue()).getValue().bitcastToAPInt();
  int64_t width = bits.getBitWidth() / 8;
  SharedMemory &memory = machine->getMemory();
  for (int64_t at = range.begin; at < range.end; ++at)
    *memory.at(at) = bits.extractBitsAsZExtValue(8, (at - begin) % width * 8);
  memory.mark(range, SharedMemory::Ready);
  return success();
}

LogicalResult runBarrierAlloc(Context &c, const Instr &in) {
  auto op = cast<hopper::BarrierAllocOp>(in.op);
  return allocate(c, in, op.getBarrier().getType().getCount() * 8, 8,
                  op.getOffset());
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

LogicalResult runInit(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  auto op = cast<hopper::BarrierInitOp>(in.op);
  for (auto [id, value] : llvm::zip_equal(in.in, op.getBarriers())) {
    auto type = cast<hopper::BarrierType>(value.getType());
    for (int64_t i = 0; i < type.getCount(); ++i) {
      machine->initBarrier(c.integer(id) + 8 * i, type.getArrivals());
      if (Event *event = record(c, Event::Init, in.op)) {
        event->barrier = c.integer(id) + 8 * i;
        event->amount = type.getArrivals();
      }
    }
  }
  machine->initVisible = false;
  return success();
}

/// The barrier of operands 0 and 1 of an operation.
template <typename OpType>
BarrierState *findBarrier(Context &c, const Instr &in, Machine *machine,
                          int64_t &address) {
  if (!machine)
    return nullptr;
  return lookUpBarrier(c, in.op, cast<OpType>(in.op).getBarrier().getType(),
                       *machine, c.integer(in.in[0]), c.integer(in.in[1]),
                       address);
}

void recordBarrier(const Context &c, const Instr &in, Event::Kind kind,
                   int64_t barrier, int64_t amount) {
  if (Event *event = record(c, kind, in.op)) {
    event->barrier = barrier;
    event->amount = amount;
    event->threads = c.group->threads;
  }
}

LogicalResult runAwaitBarrier(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  int64_t address;
  BarrierState *state =
      findBarrier<hopper::BarrierWaitOp>(c, in, machine, address);
  if (!state)
    return failure();
  int64_t parity = c.integer(in.in[2]);
  if (parity != 0 && parity != 1)
    return c.error(in) << "'hopper.barrier.wait' expects a parity of 0 or 1, "
                          "got "
                       << parity;
  recordBarrier(c, in, Event::Wait, address, parity);
  auto ready = [&] {
    return machine->isBroken() || state->barrier.hasCompleted(parity);
  };
  auto help = [&] { return machine->completeLoadOf(address); };
  auto describe = [&] {
    return "for phase " + std::to_string(state->barrier.getPhase()) +
           " of mbarrier " + std::to_string(c.integer(in.in[1])) + " at byte " +
           std::to_string(address) + ", " +
           std::to_string(state->barrier.getPendingArrivals()) +
           " arrivals and " + std::to_string(state->barrier.getPendingBytes()) +
           " bytes are missing";
  };
  if (failed(c.cta->scheduler.wait({in.op, ready, help, describe})) ||
      machine->isBroken())
    return failure();
  state->observed = std::max(state->observed, state->barrier.getPhase());
  if (Clock *clock = c.cta->clock.get())
    return clock->resumeAt(c, state->completedAt[parity] +
                                  getChip(in.op).barrierLatency);
  return success();
}

LogicalResult arrive(Context &c, const Instr &in, BarrierState &state) {
  Mbarrier &barrier = state.barrier;
  int64_t phase = barrier.getPhase();
  auto &stores = getWarpGroup(c).stores;
  stores.electedReleased = stores.electedRetired;
  if (!barrier.arrive())
    return c.error(in) << "'" << in.op->getName()
                       << "' is one arrival too many: phase "
                       << barrier.getPhase() << " waits for "
                       << barrier.getPendingBytes() << " bytes only";
  if (Clock *clock = c.cta->clock.get())
    state.noteTime(clock->settle(*c.group), phase);
  return c.cta->scheduler.pause(in.op);
}

LogicalResult runArrive(Context &c, const Instr &in) {
  int64_t address;
  BarrierState *state = findBarrier<hopper::BarrierArriveOp>(
      c, in, getMachine(c, in.op), address);
  if (!state)
    return failure();
  recordBarrier(c, in, Event::Arrive, address, 1);
  return arrive(c, in, *state);
}

LogicalResult runExpectTx(Context &c, const Instr &in) {
  int64_t address;
  BarrierState *state = findBarrier<hopper::BarrierExpectTxOp>(
      c, in, getMachine(c, in.op), address);
  if (!state)
    return failure();
  int64_t bytes = cast<hopper::BarrierExpectTxOp>(in.op).getBytes();
  if (bytes < 0 || !state->barrier.expect(bytes))
    return c.error(in) << "'hopper.barrier.expect_tx' of " << bytes
                       << " bytes, a phase counts at most "
                       << Mbarrier::kMaxBytes;
  recordBarrier(c, in, Event::Expect, address, bytes);
  return arrive(c, in, *state);
}

//===----------------------------------------------------------------------===//
// Barriers of threads
//===----------------------------------------------------------------------===//

LogicalResult syncThreads(Context &c, const Instr &in, Machine &machine,
                          int64_t id, int64_t threads, bool waits = true) {
  if (id < 0 || id > 15)
    return c.error(in) << "'" << in.op->getName()
                       << "' expects a barrier number between 0 and 15, got "
                       << id;
  Machine::NamedBarrier &barrier = machine.named[id];
  if (barrier.arrived == 0)
    barrier.threads = threads;
  if (barrier.threads != threads)
    return c.error(in) << "'" << in.op->getName() << "' at barrier " << id
                       << " for " << threads
                       << " threads, others wait there for " << barrier.threads;
  // A barrier counts warps, whoever they belong to: with more threads than it
  // waits for, it may open between warps of one group.
  if (c.group->op && barrier.groups.insert(c.group).second)
    barrier.members += c.group->threads;
  if (barrier.members > threads)
    return c.error(in) << "'" << in.op->getName() << "' at barrier " << id
                       << " for " << threads << " threads, " << barrier.members
                       << " threads of " << barrier.groups.size()
                       << " groups use it";
  if (barrier.arrived == 0)
    barrier.present.clear();
  if (c.group->op && !barrier.present.insert(c.group).second)
    return c.error(in) << "'" << in.op->getName() << "' at barrier " << id
                       << " a second time, before it has opened";
  barrier.arrived += c.group->threads;
  if (barrier.arrived > threads)
    return c.error(in) << "'" << in.op->getName() << "' at barrier " << id
                       << " for " << threads << " threads by "
                       << barrier.arrived;
  if (Event *event = record(c, waits ? Event::Sync : Event::Reach, in.op)) {
    event->barrier = id;
    event->amount = threads;
    event->threads = c.group->threads;
  }
  int64_t generation = barrier.generation;
  Clock *clock = c.cta->clock.get();
  if (clock)
    barrier.latest = std::max(barrier.latest, clock->settle(*c.group));
  if (barrier.arrived == threads) {
    barrier.arrived = 0;
    ++barrier.generation;
    barrier.openedAt = std::exchange(barrier.latest, 0);
  }
  if (!waits)
    return c.cta->scheduler.pause(in.op);
  auto ready = [&] { return barrier.generation != generation; };
  auto describe = [&] {
    return "at barrier " + std::to_string(id) + ", where " +
           std::to_string(barrier.arrived) + " of " + std::to_string(threads) +
           " threads have arrived";
  };
  if (failed(c.cta->scheduler.wait({in.op, ready, nullptr, describe})))
    return failure();
  getWarpGroup(c).meet();
  return clock ? clock->resumeAt(c, barrier.openedAt +
                                        getChip(in.op).barrierLatency)
               : success();
}

LogicalResult runNamedBarrier(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  return syncThreads(c, in, *machine, c.integer(in.in[0]),
                     cast<hopper::NamedBarrierSyncOp>(in.op).getThreads());
}

LogicalResult runNamedArrive(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  return syncThreads(c, in, *machine, c.integer(in.in[0]),
                     cast<hopper::NamedBarrierArriveOp>(in.op).getThreads(),
                     /*waits=*/false);
}

LogicalResult runGpuBarrier(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine || failed(syncThreads(c, in, *machine, 0, c.cta->threads)))
    return failure();
  machine->initVisible = true;
  return success();
}

LogicalResult runFenceAcqRel(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  WarpGroup &warpGroup = getWarpGroup(c);
  for (const ByteRange &range : warpGroup.unfencedReads)
    machine->getMemory().removeReader(range, c.group->agent);
  warpGroup.unfencedReads.clear();
  return success();
}

LogicalResult runFenceProxy(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  WarpGroup &warpGroup = getWarpGroup(c);
  for (const ByteRange &range : warpGroup.unfenced)
    machine->getMemory().change(range, SharedMemory::Unfenced,
                                SharedMemory::Ready);
  warpGroup.unfenced.clear();
  return runFenceAcqRel(c, in);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

LogicalResult runSetRegisters(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  auto op = cast<hopper::SetMaxRegistersOp>(in.op);
  int64_t wanted = op.getRegisters();
  // Before packing nobody knows which groups share a warp group.
  if (!c.group->firstWarp)
    return success();
  Machine::Registers &file = machine->registers;
  if (!file.perThread) {
    file.perThread = getChip(in.op).getEntryRegisters(c.cta->threads);
    file.free = 0;
  }
  int64_t first = *c.group->firstWarp / 4;
  int64_t last =
      (*c.group->firstWarp + c.group->threads / kSm90a.threadsPerWarp - 1) / 4;
  for (int64_t warpGroup = first; warpGroup <= last; ++warpGroup) {
    auto [it, isNew] = file.ofGroup.try_emplace(warpGroup, file.perThread);
    int64_t current = it->second;
    bool isSmall = c.group->threads < 128;
    // Groups of fewer warps execute it once each for their warp group.
    if (isSmall && current == wanted)
      continue;
    if (isSmall && !isNew)
      return c.error(in) << "'hopper.setmaxnreg' of " << wanted
                         << " registers, other warps of the warp group have "
                         << current;
    if (op.getIncrease() ? wanted < current : wanted > current)
      return c.error(in) << "'hopper.setmaxnreg' to "
                         << (op.getIncrease() ? "increase" : "decrease")
                         << " the registers from " << current << " to "
                         << wanted;
    int64_t more = (wanted - current) * 128;
    if (Event *event = record(c, Event::Registers, in.op))
      event->amount = more;
    auto ready = [&] { return more <= file.free; };
    auto describe = [&] {
      return "for " + std::to_string(more) + " registers, " +
             std::to_string(file.free) + " are free";
    };
    // Groups that share the warp group find it done, whoever comes first.
    file.ofGroup[warpGroup] = wanted;
    if (failed(c.cta->scheduler.wait({in.op, ready, nullptr, describe})))
      return failure();
    file.free -= more;
  }
  return success();
}

} // namespace

BarrierState *fa3::interp::lookUpBarrier(const Context &c, Operation *op,
                                         hopper::BarrierType type,
                                         Machine &machine, int64_t base,
                                         int64_t index, int64_t &address) {
  if (index < 0 || index >= type.getCount()) {
    c.error(op) << "'" << op->getName() << "' of mbarrier " << index
                << " of an array of " << type.getCount();
    return nullptr;
  }
  address = base + 8 * index;
  return machine.getBarrier(c, op, address);
}

void fa3::interp::populateHopperBarriers(Registry &r) {
  // Launches run one after the other.
  r.addPlain<NVVM::GriddepcontrolOp>(
      [](Context &, const Instr &) { return success(); });
  r.addPlain<hopper::AllocOp>(runAllocBarriers);
  r.addPlain<hopper::SmemFillOp>(runFill);
  r.addPlain<hopper::BarrierAllocOp>(runBarrierAlloc);
  r.addPlain<hopper::BarrierInitOp>(runInit);
  r.addPlain<hopper::BarrierWaitOp>(runAwaitBarrier);
  r.addPlain<hopper::BarrierArriveOp>(runArrive);
  r.addPlain<hopper::BarrierExpectTxOp>(runExpectTx);
  r.addPlain<hopper::NamedBarrierSyncOp>(runNamedBarrier);
  r.addPlain<hopper::NamedBarrierArriveOp>(runNamedArrive);
  r.addPlain<gpu::BarrierOp>(runGpuBarrier);
  r.addPlain<hopper::FenceProxyAsyncOp>(runFenceProxy);
  r.addPlain<hopper::FenceAcqRelOp>(runFenceAcqRel);
  r.addPlain<hopper::SetMaxRegistersOp>(runSetRegisters);
}
