//===- PTXWarp.cpp - how a warp executes ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Lanes at one place are a strand. The strand that is furthest behind goes
// first, so that strands meet again behind what they did apart; a strand that
// waits lets the others go on (section 3.1, "A Set of SIMT Multiprocessors").
//===----------------------------------------------------------------------===//

#include "Block.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;
using llvm::Twine;

Warp::Warp(Block &block, unsigned index, const Kernel &kernel)
    : block(block), index(index), b32(kernel.num32), b64(kernel.num64),
      preds(kernel.numPreds), states(kernel.num32) {
  // What nobody has written is a NaN, and no valid address.
  for (auto &lanes : b32)
    lanes.fill(0xffffffff);
  for (auto &lanes : b64)
    lanes.fill(~uint64_t(0));
  strands.push_back({kAllLanes, 0});
  clock.raise(index, 1);
  for (const Preset &preset : kernel.presets) {
    if (preset.place.bank == Bank::Pred) {
      preds[preset.place.slot] = preset.value;
      continue;
    }
    // In the order of Preset::Kind.
    const uint64_t values[] = {preset.value,
                               0,
                               0,
                               index,
                               block.number,
                               block.launch.threads,
                               block.launch.blocks,
                               block.number % uint64_t(block.options.sms),
                               uint64_t(block.options.sms),
                               block.launch.smem};
    uint64_t perLane =
        preset.kind == Preset::ThreadX || preset.kind == Preset::LaneId;
    uint64_t first =
        preset.kind == Preset::ThreadX ? index * kLanes : values[preset.kind];
    for (unsigned lane = 0; lane < kLanes; ++lane)
      setBits(*this, preset.place, lane, first + perLane * lane);
  }
}

Step Warp::fail(const Instr &in, const Twine &what) {
  if (block.error.empty())
    block.error = "line " + std::to_string(in.line) + ": '" + in.opcode.str() +
                  "' " + what.str() +
                  block.describePlace(in, *this, strand ? strand->mask : 0);
  return Step::Fail;
}

/// Registers that a product in flight uses are nobody else's until the program
/// has waited for it (section 9.7.15.3, "Async Proxy").
bool Warp::checkRegisters(const Instr &in) {
  for (unsigned i = 0, e = in.operands.size(); i < e; ++i) {
    const Operand &operand = in.operands[i];
    if (operand.bank != Bank::B32)
      continue;
    RegisterState &state = states[operand.slot];
    bool isResult = i < in.results;
    if (state.inFlight &&
        (isResult || state.inFlight & RegisterState::Accumulator)) {
      fail(in, Twine(isResult ? "writes" : "reads") + " register " +
                   block.kernel.names32[operand.slot] +
                   ", which a product in flight may still " +
                   (state.inFlight & RegisterState::Accumulator ? "write"
                                                                : "read"));
      return false;
    }
    state.fence = fences;
  }
  return true;
}

Strand *Warp::choose() {
  Strand *best = nullptr;
  for (Strand &candidate : strands)
    if (!candidate.waiting && (!best || candidate.pc < best->pc))
      best = &candidate;
  if (!best)
    return nullptr;
  // Strands that are at one place become one, unless one of them has been
  // counted at a barrier there.
  for (size_t i = 0; i < strands.size();) {
    Strand &other = strands[i];
    if (&other == best || other.pc != best->pc || other.ticket >= 0 ||
        best->ticket >= 0) {
      ++i;
      continue;
    }
    best->mask |= other.mask;
    best->waiting = false;
    size_t at = best - strands.begin();
    strands.erase(strands.begin() + i);
    best = strands.begin() + (at > i ? at - 1 : at);
  }
  return best;
}

/// Fails, or waits, unless all lanes execute an instruction.
Step Warp::requireConverged(const Instr &in, uint32_t mask) {
  if (mask == kAllLanes)
    return Step::Next;
  if (alive != kAllLanes)
    return fail(in, "is for all lanes of a warp, some have exited");
  if (mask != strand->mask)
    return fail(in, "is for all lanes of a warp, its guard differs");
  return wait("for the other lanes of its warp");
}

/// One instruction; the strand may be gone behind it.
bool Warp::step(Strand &current, const Instr &in, uint64_t &executed) {
  uint32_t mask = current.mask;
  if (in.guarded) {
    uint32_t guard = preds[in.guard];
    mask &= in.guardNegated ? ~guard : guard;
  }
  if (!mask) {
    ++current.pc;
    ++executed;
    return true;
  }
  if (in.flow == Flow::Branch) {
    ++executed;
    uint32_t rest = current.mask & ~mask;
    current.pc = rest ? current.pc + 1 : in.target;
    if (rest) {
      current.mask = rest;
      uint32_t target = in.target;
      strands.push_back({mask, target});
    }
    return true;
  }
  if (in.flow == Flow::Exit) {
    ++executed;
    alive &= ~mask;
    current.mask &= ~mask;
    ++current.pc;
    if (!current.mask)
      strands.erase(&current);
    return true;
  }
  if (!in.isProduct && !checkRegisters(in))
    return false;
  strand = &current;
  Step result = in.isAligned ? requireConverged(in, mask) : Step::Next;
  if (result == Step::Next)
    result = in.run(*this, in, mask);
  strand = nullptr;
  if (result == Step::Fail)
    return false;
  if (result == Step::Wait) {
    current.waiting = true;
    return true;
  }
  current.ticket = -1;
  ++current.pc;
  ++executed;
  return true;
}

bool Warp::run(uint64_t limit, uint64_t &executed) {
  const std::vector<Instr> &code = block.kernel.code;
  for (Strand &each : strands)
    each.waiting = false;
  uint64_t last = executed + limit;
  while (executed < last) {
    Strand *chosen = choose();
    if (!chosen)
      return true;
    if (!step(*chosen, code[chosen->pc], executed))
      return false;
  }
  return true;
}

bool fa3::interp::ptx::touch(Warp &warp, const Instr &in, int64_t place,
                             int64_t bytes, const Access &access, bool writes,
                             bool async) {
  std::string error;
  Shadow &shared = warp.block.shared;
  if (writes ? shared.write(place, bytes, access, async, error)
             : shared.read(place, bytes, access, async, error))
    return true;
  warp.fail(in, error);
  return false;
}
