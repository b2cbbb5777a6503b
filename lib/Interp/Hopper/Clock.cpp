//===- Clock.cpp - time of one thread block -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Clock.h"
#include "Machine.h"
#include "fa3/Machine/Chip.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;
using hopper::Unit;

int64_t Clock::settle(Group &group) {
  group.now = std::max(group.now, group.busyUntil);
  return group.now;
}

/// Occupies a unit and gives when it is free again.
int64_t Clock::occupy(Unit unit, int64_t from, int64_t cycles, StringRef name) {
  int64_t &free = freeAt[static_cast<unsigned>(unit)];
  int64_t begin = std::max(from, free);
  free = begin + cycles;
  if (timeline && cycles > 0)
    timeline->uses.push_back(
        {hopper::getName(unit).str(), name.str(), begin, free});
  return free;
}

void Clock::use(Group &group, const hopper::ResourceUse &use, Operation *op) {
  int64_t done = group.now;
  if (use.isAwaited)
    done = settle(group);
  if (use.issue)
    done = occupy(Unit::Issue, group.now, use.issue, group.name);
  if (use.cycles)
    done = std::max(done, occupy(use.unit, group.now, use.cycles, group.name));
  group.busyUntil = std::max(group.busyUntil, done + use.latency);
  if (use.isAwaited)
    settle(group);
}

int64_t Clock::issueProduct(Group &group, hopper::WgmmaOp op) {
  const Chip &chip = getChip(op);
  int64_t count = hopper::getNumInstructions(op);
  int64_t cycles = hopper::getTensorCycles(op), done = 0;
  settle(group);
  for (int64_t i = 0; i < count; ++i) {
    group.now += chip.tensorIssue;
    if (int64_t(outstanding.size()) >= chip.tensorOutstanding) {
      group.now = std::max(group.now, outstanding.front());
      outstanding.pop_front();
    }
    int64_t mine = cycles * (i + 1) / count - cycles * i / count;
    done = occupy(Unit::Tensor, group.now, mine, group.name);
    outstanding.push_back(done);
  }
  return done + chip.tensorLatency;
}

int64_t Clock::issueCopy(Group &group, int64_t bytes, Operation *op) {
  const Chip &chip = getChip(op);
  return occupy(Unit::Copy, settle(group), hopper::getCopyCycles(bytes, chip),
                group.name) +
         chip.copyLatency;
}

LogicalResult Clock::resumeAt(const Context &c, int64_t time) {
  c.group->now = std::max(settle(*c.group), time);
  return c.cta->scheduler.yieldUntil(c.group->now);
}

//===----------------------------------------------------------------------===//
// Operations that only take time
//===----------------------------------------------------------------------===//

namespace {
struct UseExtra : Extra {
  hopper::ResourceUse use;
};

LogicalResult runUse(Context &c, const Instr &in) {
  Clock *clock = c.cta->clock.get();
  if (!clock)
    return success();
  const hopper::ResourceUse &use = in.get<UseExtra>().use;
  clock->use(*c.group, use, in.op);
  return use.isAwaited ? clock->resumeAt(c, 0) : success();
}
} // namespace

void fa3::interp::emitUse(Decoder &decoder, Operation *op) {
  hopper::ResourceUse use = hopper::getResourceUse(op);
  if (!use)
    return;
  auto *extra = decoder.makeExtra<UseExtra>();
  extra->use = use;
  decoder.emit(op, runUse, {}, {}, extra);
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// Without a clock the time is the number of the record in its group.
static LogicalResult runRecord(Context &c, const Instr &in) {
  auto op = cast<hopper::RecordOp>(in.op);
  int64_t position = c.integer(in.in[0]);
  auto &pointer = c.object<PointerObject>(in.in[1]);
  int64_t &next = c.cells[in.out[0]].i;
  next = -1;
  if (position < 0)
    return success();
  constexpr int64_t kBytes = 8;
  int64_t byte = pointer.byte + position * kBytes;
  if (byte < 0 || byte + kBytes > pointer.array.getAllocatedBytes())
    return c.error(in) << "'hopper.record' at position " << position
                       << ", outside its array";
  int64_t capacity = op.getCapacity();
  uint64_t time =
      c.cta->clock ? c.cta->clock->settle(*c.group) : position & (capacity - 1);
  uint64_t word = uint64_t(op.getEvent()) << 32 | (time & 0xffffffff);
  std::memcpy(pointer.array.getBase() + byte, &word, kBytes);
  if ((position + 1) & (capacity - 1))
    next = position + 1;
  return success();
}

void fa3::interp::populateHopperRecords(Registry &r) {
  r.addPlain<hopper::RecordOp>(runRecord);
}
