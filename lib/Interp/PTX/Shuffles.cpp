//===- Shuffles.cpp - shfl, vote, match, elect ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the lanes of a warp do together.
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;

namespace {

/// The lanes of a member mask have to be here together; `members` gets them.
Step meet(Warp &w, const Instr &in, uint32_t mask, const Operand &operand,
          uint32_t &members) {
  std::optional<uint64_t> wanted = getUniform(w, operand, mask);
  if (!wanted)
    return w.fail(in, "has a member mask that differs between lanes");
  members = uint32_t(*wanted);
  if (mask & ~members)
    return w.fail(in,
                  "is executed by lanes that its member mask does not have");
  members &= w.alive;
  if (members == mask)
    return Step::Next;
  if (mask != w.strand->mask && !(members & ~w.strand->mask))
    return w.fail(in, "is for all lanes of its member mask, its guard differs");
  return w.wait("for the lanes of its member mask");
}

enum ShuffleMode : int64_t { Index, Up, Down, Butterfly };

/// Section 9.7.9.6.
Step runShuffle(Warp &w, const Instr &in, uint32_t mask) {
  uint32_t members;
  Step met = meet(w, in, mask, in.in(3), members);
  if (met != Step::Next)
    return met;
  std::array<uint32_t, kLanes> source = w.b32[in.in(0).slot];
  uint32_t valid = 0;
  forLanes(mask, [&](unsigned lane) {
    uint32_t b = get<uint32_t>(w, in.in(1), lane) & 31;
    uint32_t c = get<uint32_t>(w, in.in(2), lane);
    uint32_t clamp = c & 31, segment = c >> 8 & 31;
    uint32_t least = lane & segment, most = least | (clamp & ~segment);
    int64_t from = in.imm[0] == Index  ? least | (b & ~segment)
                   : in.imm[0] == Up   ? int64_t(lane) - b
                   : in.imm[0] == Down ? int64_t(lane) + b
                                       : lane ^ b;
    // Of Up the bound is the least lane.
    bool inside = in.imm[0] == Up ? from >= int64_t(most) : from <= most;
    if (!inside)
      from = lane;
    valid |= uint32_t(inside) << lane;
    w.b32[in.out().slot][lane] = source[from];
  });
  if (in.imm[1])
    setPred(w, in.out(1), mask, valid);
  return Step::Next;
}

bool decodeShuffle(Decoder &d) {
  if (!d.take("sync"))
    return d.fail("without '.sync' is not known to the executor");
  int mode = d.takeOneOf({"idx", "up", "down", "bfly"});
  if (mode < 0 || d.takeType() != Type::B32)
    return d.fail("expects a mode and .b32");
  d.instr.run = runShuffle;
  d.instr.imm[0] = mode;
  if (!d.finish(5))
    return false;
  const std::vector<Arg> &second = d.getStatement().args[0].list;
  d.instr.imm[1] = !second.empty();
  return d.result(0, Type::B32) &&
         (second.empty() || d.result(second[0], Type::Pred)) &&
         d.operands(1, 2, Type::B32) && d.operand(3, Type::B32) &&
         d.operand(4, Type::B32);
}

enum VoteMode : int64_t { All, Any, Uniform, Ballot };

/// Section 9.7.13.9.
Step runVote(Warp &w, const Instr &in, uint32_t mask) {
  uint32_t members;
  Step met = meet(w, in, mask, in.in(1), members);
  if (met != Step::Next)
    return met;
  uint32_t votes = getPred(w, in.in(0)) & mask;
  if (in.imm[0] == Ballot) {
    forLanes(mask, [&](unsigned lane) { w.b32[in.out().slot][lane] = votes; });
    return Step::Next;
  }
  bool holds = in.imm[0] == All   ? votes == mask
               : in.imm[0] == Any ? votes != 0
                                  : votes == 0 || votes == mask;
  setPred(w, in.out(), mask, holds ? kAllLanes : 0);
  return Step::Next;
}

bool decodeVote(Decoder &d) {
  if (!d.take("sync"))
    return d.fail("without '.sync' is not known to the executor");
  int mode = d.takeOneOf({"all", "any", "uni", "ballot"});
  Type type = d.takeType();
  if (mode < 0 || type != (mode == Ballot ? Type::B32 : Type::Pred))
    return d.fail("expects a mode and its type");
  d.instr.run = runVote;
  d.instr.imm[0] = mode;
  return d.finish(3) && d.result(0, type) && d.operand(1, Type::Pred) &&
         d.operand(2, Type::B32);
}

/// redux.sync (section 9.7.13.12): a sum, minimum, .. over lanes.
enum ReduceMode : int64_t { RAdd, RMin, RMax, RAnd, ROr, RXor };

Step runReduce(Warp &w, const Instr &in, uint32_t mask) {
  uint32_t members;
  Step met = meet(w, in, mask, in.in(1), members);
  if (met != Step::Next)
    return met;
  bool first = true;
  uint32_t result = 0;
  forLanes(mask, [&](unsigned lane) {
    uint32_t a = result, b = get<uint32_t>(w, in.in(0), lane);
    bool less = in.imm[1] ? int32_t(b) < int32_t(a) : b < a;
    result = first               ? b
             : in.imm[0] == RAdd ? a + b
             : in.imm[0] == RMin ? (less ? b : a)
             : in.imm[0] == RMax ? (less ? a : b)
             : in.imm[0] == RAnd ? a & b
             : in.imm[0] == ROr  ? a | b
                                 : a ^ b;
    first = false;
  });
  forLanes(mask, [&](unsigned lane) { w.b32[in.out().slot][lane] = result; });
  return Step::Next;
}

bool decodeReduce(Decoder &d) {
  int mode = d.take("sync")
                 ? d.takeOneOf({"add", "min", "max", "and", "or", "xor"})
                 : -1;
  Type type = d.takeType();
  if (mode < 0 || getBits(type) != 32 || type == Type::F32)
    return d.fail("expects '.sync', an operation and an integer type");
  d.instr.run = runReduce;
  d.instr.imm[0] = mode;
  d.instr.imm[1] = isSigned(type);
  return d.finish(3) && d.result(0, type) && d.operand(1, type) &&
         d.operand(2, Type::B32);
}

/// elect.sync (section 9.7.13.14): the first lane is the leader.
Step runElect(Warp &w, const Instr &in, uint32_t mask) {
  uint32_t members;
  Step met = meet(w, in, mask, in.in(0), members);
  if (met != Step::Next)
    return met;
  unsigned leader = llvm::countr_zero(mask);
  forLanes(mask, [&](unsigned lane) { w.b32[in.out().slot][lane] = leader; });
  setPred(w, in.out(1), mask, uint32_t(1) << leader);
  return Step::Next;
}

bool decodeElect(Decoder &d) {
  d.instr.run = runElect;
  if (!d.take("sync") || !d.finish(2))
    return d.fail("expects '.sync' and two operands");
  const std::vector<Arg> &second = d.getStatement().args[0].list;
  return second.empty()
             ? d.fail("expects two results")
             : d.result(0, Type::B32) && d.result(second[0], Type::Pred) &&
                   d.operand(1, Type::B32);
}

/// Section 9.7.13.11.
Step runActiveMask(Warp &w, const Instr &in, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) { w.b32[in.out().slot][lane] = mask; });
  return Step::Next;
}

bool decodeActiveMask(Decoder &d) {
  d.instr.run = runActiveMask;
  return d.takeType() == Type::B32 && d.finish(1) && d.result(0, Type::B32);
}

} // namespace

/// Section 9.7.13.2.
Step fa3::interp::ptx::syncLanes(Warp &w, const Instr &in, uint32_t mask) {
  uint32_t members;
  return meet(w, in, mask, in.in(0), members);
}

void fa3::interp::ptx::addWarps(Table &table) {
  table["shfl"] = decodeShuffle;
  table["vote"] = decodeVote;
  table["redux"] = decodeReduce;
  table["elect"] = decodeElect;
  table["activemask"] = decodeActiveMask;
}
