//===- PTXBarriers.cpp - barriers, mbarriers, fences, registers -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Of section 9.7.13, "Parallel Synchronization and Communication Instructions",
// what stands by each handler, and setmaxnreg.
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;
using llvm::Twine;

namespace {

/// Counts the warp; true if the barrier has opened by it.
bool arriveNamed(Warp &w, const Instr &in, NamedBarrier &barrier) {
  barrier.arrived += kLanes;
  barrier.line = in.line;
  barrier.arriving.join(w.clock);
  w.advance();
  if (barrier.arrived < barrier.threads)
    return false;
  barrier.arrived = 0;
  barrier.present = 0;
  ++barrier.generation;
  barrier.completed = barrier.arriving;
  return true;
}

/// bar.sync, bar.arrive (section 9.7.13.1). imm[0]: whether it waits.
Step runBarrier(Warp &w, const Instr &in, uint32_t mask) {
  std::optional<uint64_t> number = getUniform(w, in.in(0), mask);
  std::optional<uint64_t> threads = w.block.launch.threads;
  if (in.numIn() > 1)
    threads = getUniform(w, in.in(1), mask);
  if (!number || *number >= 16 || !threads)
    return w.fail(in, "expects one number below 16 and one number of threads");
  NamedBarrier &barrier = w.block.named[*number];
  if (w.strand->ticket < 0) {
    if (*threads % kLanes || *threads == 0 ||
        *threads > w.block.warps.size() * kLanes)
      return w.fail(in, "is for " + Twine(*threads) +
                            " threads, the block has " +
                            Twine(w.block.launch.threads));
    if (barrier.arrived && barrier.threads != int64_t(*threads))
      return w.fail(in, "is for " + Twine(*threads) + " threads, line " +
                            Twine(barrier.line) + " waits for " +
                            Twine(barrier.threads) + " at the same barrier");
    uint64_t bit = uint64_t(1) << w.index;
    if (barrier.present & bit)
      return w.fail(in,
                    "is reached by the warp a second time, before barrier " +
                        Twine(*number) + " has opened");
    barrier.present |= bit;
    barrier.threads = *threads;
    w.strand->ticket = barrier.generation;
    arriveNamed(w, in, barrier);
  }
  if (!in.imm[0])
    return Step::Next;
  if (barrier.generation == w.strand->ticket)
    return w.wait("for barrier " + Twine(*number) + ", where " +
                  Twine(barrier.arrived) + " of " + Twine(barrier.threads) +
                  " threads are");
  w.clock.join(barrier.completed);
  return Step::Next;
}

bool decodeBarrier(Decoder &d) {
  if (d.take("warp")) {
    d.instr.run = syncLanes;
    return d.take("sync") && d.finish(1) ? d.operand(0, Type::B32)
                                         : d.fail("expects '.sync'");
  }
  d.take("cta");
  int kind = d.takeOneOf({"arrive", "sync"});
  d.take("aligned");
  size_t args = d.getStatement().args.size();
  if (kind < 0 || args < 1 || args > 2 || (kind == 0 && args != 2))
    return d.fail("has a form that the executor does not know");
  d.runTogether(runBarrier);
  d.instr.imm[0] = kind;
  return d.finish(args) && d.operand(0, Type::U32) &&
         (args == 1 || d.operand(1, Type::U32));
}

uint64_t getAddress(const Warp &w, const Instr &in, unsigned lane) {
  return getBits(w, in.in(0), lane) + in.imm[0];
}

/// Calls a function for the mbarrier of every lane until one does not go on.
template <typename Function>
Step forBarriers(Warp &w, const Instr &in, uint32_t mask, Function &&function) {
  return tryLanes(mask, [&](unsigned lane) {
    MbarrierState *state = findMbarrier(w, in, getAddress(w, in, lane));
    return state ? function(*state, lane) : Step::Fail;
  });
}

/// What follows when a phase may have ended. Who waits by parity misses a phase
/// if the next one ends, too: somebody has to have seen the one before.
Step notePhase(Warp &w, const Instr &in, MbarrierState &state, int64_t before) {
  if (state.barrier.getPhase() == before)
    return Step::Next;
  if (state.seen < before)
    return w.fail(in, "completes phase " + Twine(before) +
                          " of the mbarrier of line " + Twine(state.line) +
                          ", and no wait has seen phase " + Twine(before - 1) +
                          " complete");
  state.completed = state.arriving;
  state.completed.raise(w.block.shared.agents.ofLoads(state.number),
                        uint32_t(state.barrier.getPhase()));
  return Step::Next;
}

/// Section 9.7.13.15.9.
Step runInit(Warp &w, const Instr &in, uint32_t mask) {
  return tryLanes(mask, [&](unsigned lane) {
    Block &block = w.block;
    uint64_t address = getAddress(w, in, lane);
    int64_t place = Block::toShared(address);
    uint32_t count = get<uint32_t>(w, in.in(1), lane);
    if (place < 0 || place + 8 > block.shared.size() || place % 8)
      return w.fail(in, "puts an mbarrier at address " + Twine(address) +
                            " of shared memory");
    if (count < 1 || count > (1 << 20) - 1)
      return w.fail(in, "expects 1 to 2^20 - 1 arrivals, got " + Twine(count));
    if (block.mbarriers.count(place))
      return w.fail(in, "initializes an mbarrier again, first done by line " +
                            Twine(block.mbarriers[place].line));
    MbarrierState &state = block.mbarriers[place];
    state.barrier = Mbarrier(count);
    state.number = block.numMbarriers++;
    state.line = in.line;
    state.initWarp = w.index;
    state.initEpoch = w.now();
    block.shared.reserve({place, place + 8});
    return Step::Next;
  });
}

/// Section 9.7.13.15.10.
Step runInvalidate(Warp &w, const Instr &in, uint32_t mask) {
  return forBarriers(w, in, mask, [&](MbarrierState &, unsigned lane) {
    int64_t place = Block::toShared(getAddress(w, in, lane));
    w.block.mbarriers.erase(place);
    w.block.shared.release(place);
    return Step::Next;
  });
}

/// mbarrier.expect_tx (section 9.7.13.15.11), mbarrier.arrive (9.7.13.15.13).
/// imm: offset, whether it arrives, whether it expects bytes. Operands: the
/// address, then bytes or a number of arrivals.
Step runArrive(Warp &w, const Instr &in, uint32_t mask) {
  bool arrives = in.imm[1], expects = in.imm[2];
  Step result =
      forBarriers(w, in, mask, [&](MbarrierState &state, unsigned lane) {
        Mbarrier &barrier = state.barrier;
        int64_t before = barrier.getPhase();
        uint32_t amount = in.numIn() > 1 ? get<uint32_t>(w, in.in(1), lane) : 1;
        if (expects && !barrier.expect(amount))
          return w.fail(in, "expects more than 2^20 - 1 bytes");
        if (arrives) {
          // It could count for the phase of the thread's last arrival.
          int64_t &last = state.arrived[w.index * kLanes + lane];
          if (w.clock.get(w.block.shared.agents.ofLoads(state.number)) < last)
            return w.fail(in, "arrives at the mbarrier of line " +
                                  Twine(state.line) +
                                  " with nothing that orders it after phase " +
                                  Twine(last - 1) + ", in which it arrived");
          last = before + 1;
          state.arriving.join(w.clock);
          for (uint32_t i = 0, e = expects ? 1 : amount; i < e; ++i)
            if (!barrier.arrive())
              return w.fail(in, "arrives at the mbarrier of line " +
                                    Twine(state.line) +
                                    " more often than it has arrivals");
        }
        if (in.results)
          setBits(w, in.out(), lane, uint64_t(before));
        return notePhase(w, in, state, before);
      });
  if (arrives)
    w.advance();
  return result;
}

/// mbarrier.test_wait, mbarrier.try_wait (section 9.7.13.15.16). imm: offset,
/// whether the operand is a parity, whether it may block. The first attempt of
/// a blocking wait fails, as it may on a chip: a program has to come back.
Step runTestWait(Warp &w, const Instr &in, uint32_t mask) {
  uint32_t done = 0;
  uint32_t line = 0;
  uint64_t parity = 0;
  Step result =
      forBarriers(w, in, mask, [&](MbarrierState &state, unsigned lane) {
        // A state is the number of its phase, see runArrive.
        parity = getBits(w, in.in(1), lane) & 1;
        line = state.line;
        done |= uint32_t(state.barrier.hasCompleted(parity)) << lane;
        return Step::Next;
      });
  if (result != Step::Next)
    return result;
  if (in.imm[2] && w.strand->tried != int64_t(w.strand->pc)) {
    w.strand->tried = w.strand->pc;
    setPred(w, in.out(), mask, 0);
    return Step::Next;
  }
  if (in.imm[2] && !done)
    return w.wait("for parity " + Twine(parity) + " of the mbarrier of line " +
                  Twine(line));
  w.strand->tried = -1;
  result = forBarriers(w, in, done, [&](MbarrierState &state, unsigned) {
    // The phases that end must not go past a warp that still waits.
    auto [last, epoch] = state.waited[w.index];
    state.seen = state.barrier.getPhase();
    if (last && last < state.seen && state.completed.get(w.index) < epoch)
      return w.fail(in, "waits for a phase of the mbarrier of line " +
                            Twine(state.line) +
                            " that may end before the warp has seen phase " +
                            Twine(last - 1) + " complete");
    w.clock.join(state.completed);
    state.waited[w.index] = {state.seen, w.now()};
    return Step::Next;
  });
  setPred(w, in.out(), mask, done);
  return result;
}

bool takeShared(Decoder &d) {
  // Who sees what: release and acquire of the block are what everything has.
  d.takeOneOf({"release", "acquire", "relaxed"});
  d.takeOneOf({"cta", "cluster"});
  return d.takeOneOf({"shared::cta", "shared"}) >= 0 &&
         d.takeType() == Type::B64;
}

bool decodeMbarrier(Decoder &d) {
  enum { Init, Inval, Arrive, Expect, Try, Test };
  int kind = d.takeOneOf(
      {"init", "inval", "arrive", "expect_tx", "try_wait", "test_wait"});
  bool expects = kind == Expect || (kind == Arrive && d.take("expect_tx"));
  bool hasParity = kind >= Try && d.take("parity");
  size_t args = d.getStatement().args.size();
  if (kind < 0 || !takeShared(d) || !d.finish(args) || args == 0)
    return d.fail("has a form that the executor does not know");
  if (kind == Init || kind == Inval) {
    d.instr.run = kind == Init ? runInit : runInvalidate;
    return d.finish(kind == Init ? 2 : 1) && d.address(0) &&
           (kind == Inval || d.operand(1, Type::U32));
  }
  if (kind == Expect) {
    d.instr.run = runArrive;
    if (!d.finish(2) || !d.address(0) || !d.operand(1, Type::U32))
      return false;
    d.instr.imm[2] = 1;
    return true;
  }
  if (args < 2)
    return d.fail("has a form that the executor does not know");
  if (kind == Arrive) {
    d.instr.run = runArrive;
    if (!d.finish(args) || args > 3 || (expects && args != 3) ||
        !d.result(0, Type::B64) || !d.address(1) ||
        (args == 3 && !d.operand(2, Type::U32)))
      return d.fail("has a form that the executor does not know");
    d.instr.imm[1] = 1;
    d.instr.imm[2] = expects;
    return true;
  }
  d.instr.run = runTestWait;
  if (args < 3 || args > 4 || !d.result(0, Type::Pred) || !d.address(1) ||
      !d.operand(2, hasParity ? Type::U32 : Type::B64))
    return d.fail("has a form that the executor does not know");
  d.instr.imm[1] = hasParity;
  d.instr.imm[2] = kind == Try;
  return true;
}

enum Fence : int64_t { Memory, ProxyAsync, MbarrierInit };

/// membar, fence (section 9.7.13.4).
Step runFence(Warp &w, const Instr &in, uint32_t) {
  if (in.imm[0] != MbarrierInit)
    w.block.shared.fenceReads(w.index);
  if (in.imm[0] == ProxyAsync)
    w.block.shared.fenceWrites(w.index);
  if (in.imm[0] != Memory)
    for (auto &[place, state] : w.block.mbarriers)
      state.fenced |= state.initWarp == w.index;
  return Step::Next;
}

bool decodeFence(Decoder &d) {
  d.instr.run = runFence;
  if (d.take("proxy")) {
    d.instr.imm[0] = ProxyAsync;
    if (!d.take("async"))
      return d.fail("is for a proxy that the executor does not know");
    d.takeOneOf({"shared::cta", "shared::cluster", "global"});
  } else if (d.take("mbarrier_init")) {
    d.instr.imm[0] = MbarrierInit;
    d.take("release");
    d.take("cluster");
  } else {
    d.takeOneOf({"sc", "acq_rel", "acquire", "release"});
    d.takeOneOf({"cta", "cluster", "gpu", "sys", "gl"});
  }
  return d.finish(0);
}

/// Section 9.7.19.5. imm: registers, whether more.
Step runSetRegisters(Warp &w, const Instr &in, uint32_t) {
  WarpGroupState &group = w.block.groups[w.index / 4];
  int64_t wanted = in.imm[0], more = (wanted - group.registers) * 128;
  if (more == 0)
    return Step::Next;
  if (in.imm[1] ? more < 0 : more > 0)
    return w.fail(in, "takes the registers of a thread from " +
                          Twine(group.registers) + " to " + Twine(wanted));
  if (more > w.block.freeRegisters)
    return w.wait("for " + Twine(more) + " registers, " +
                  Twine(w.block.freeRegisters) + " are free");
  w.block.freeRegisters -= more;
  group.registers = wanted;
  return Step::Next;
}

bool decodeSetRegisters(Decoder &d) {
  int kind = d.takeOneOf({"dec", "inc"});
  if (kind < 0 || !d.take("sync") || !d.take("aligned") ||
      d.takeType() != Type::U32 || !d.finish(1) ||
      !d.constant(0, d.instr.imm[0]))
    return d.fail("has a form that the executor does not know");
  if (d.instr.imm[0] < 24 || d.instr.imm[0] > 256 || d.instr.imm[0] % 8)
    return d.fail("expects 24 to 256 registers in steps of 8, got " +
                  Twine(d.instr.imm[0]));
  d.instr.imm[1] = kind;
  d.runTogether(runSetRegisters);
  return true;
}

} // namespace

MbarrierState *fa3::interp::ptx::findMbarrier(Warp &w, const Instr &in,
                                              uint64_t address, bool async) {
  auto it = w.block.mbarriers.find(Block::toShared(address));
  if (it == w.block.mbarriers.end()) {
    w.fail(in, "uses an mbarrier at address " + Twine(address) +
                   ", where none was initialized");
    return nullptr;
  }
  MbarrierState &state = it->second;
  if (state.initWarp != w.index &&
      w.clock.get(state.initWarp) < state.initEpoch) {
    w.fail(in, "uses the mbarrier of line " + Twine(state.line) +
                   " with nothing that orders it after its initialization");
    return nullptr;
  }
  if (async && !state.fenced) {
    w.fail(in, "uses the mbarrier of line " + Twine(state.line) +
                   ", whose initialization no 'fence.mbarrier_init' follows");
    return nullptr;
  }
  return &state;
}

Step fa3::interp::ptx::completeBytes(Warp &w, const Instr &in,
                                     MbarrierState &state, int64_t bytes) {
  int64_t before = state.barrier.getPhase();
  state.copied = before + 1;
  if (!state.barrier.complete(bytes))
    return w.fail(in, "copies " + Twine(bytes) +
                          " bytes, which the mbarrier of line " +
                          Twine(state.line) + " does not expect");
  return notePhase(w, in, state, before);
}

void fa3::interp::ptx::addBarriers(Table &table) {
  table["bar"] = decodeBarrier;
  table["barrier"] = decodeBarrier;
  table["mbarrier"] = decodeMbarrier;
  table["fence"] = decodeFence;
  table["membar"] = decodeFence;
  table["setmaxnreg"] = decodeSetRegisters;
}
