//===- PTXMoves.cpp - mov and addresses -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What moves registers, and instructions that change nothing here.
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;

namespace {

/// Section 9.7.9.3.
Step runMove(Warp &w, const Instr &in, uint32_t mask) {
  if (in.out().bank == Bank::Pred)
    setPred(w, in.out(), mask, getPred(w, in.in(0)));
  else if (in.out().bank == Bank::B32)
    forLanes(mask, [&](unsigned lane) {
      w.b32[in.out().slot][lane] = w.b32[in.in(0).slot][lane];
    });
  else
    forLanes(mask, [&](unsigned lane) {
      w.b64[in.out().slot][lane] = w.b64[in.in(0).slot][lane];
    });
  return Step::Next;
}

/// Section 9.7.9.4: several registers into one, or one into several; the first
/// has the low bits.
Step runPack(Warp &w, const Instr &in, uint32_t mask) {
  unsigned count = in.numIn(), bits = in.imm[0];
  forLanes(mask, [&](unsigned lane) {
    uint64_t value = 0;
    for (unsigned i = count; i-- > 0;)
      value = (i + 1 == count ? 0 : value << bits) |
              (getBits(w, in.in(i), lane) & ((uint64_t(1) << bits) - 1));
    setBits(w, in.out(), lane, value);
  });
  return Step::Next;
}
Step runUnpack(Warp &w, const Instr &in, uint32_t mask) {
  unsigned bits = in.imm[0];
  forLanes(mask, [&](unsigned lane) {
    uint64_t value = getBits(w, in.in(0), lane);
    for (unsigned i = 0; i < in.results; ++i)
      setBits(w, in.out(i), lane,
              value >> (i * bits) & ((uint64_t(1) << bits) - 1));
  });
  return Step::Next;
}

/// What the clocks say (section 10): instructions of the block.
Step runClock(Warp &w, const Instr &in, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    setBits(w, in.out(), lane, w.block.executed);
  });
  return Step::Next;
}

Type typeOfBits(unsigned bits) {
  return bits == 16 ? Type::B16 : bits == 32 ? Type::B32 : Type::B64;
}

bool decodeMove(Decoder &d) {
  Type type = d.takeType();
  unsigned bits = getBits(type);
  if (!d.finish(2) || (bits != 1 && bits != 16 && bits != 32 && bits != 64))
    return d.fail("has a type that the executor does not know");
  const Statement &s = d.getStatement();
  bool unpacks = s.args[0].kind == Arg::List,
       packs = s.args[1].kind == Arg::List;
  if (packs || unpacks) {
    llvm::ArrayRef<Arg> parts = d.elements(packs ? 1 : 0);
    unsigned each = bits / parts.size();
    if (packs == unpacks || (each != 16 && each != 32))
      return d.fail("has lists that the executor does not know");
    d.instr.imm[0] = each;
    d.instr.run = packs ? runPack : runUnpack;
    if (packs && !d.result(0, type))
      return false;
    for (const Arg &part : parts)
      if (packs ? !d.operand(part, typeOfBits(each))
                : !d.result(part, typeOfBits(each)))
        return false;
    return packs || d.operand(1, type);
  }
  if (s.args[1].name == "%clock" || s.args[1].name == "%clock_hi" ||
      s.args[1].name == "%clock64" || s.args[1].name == "%globaltimer" ||
      s.args[1].name == "%globaltimer_lo") {
    d.instr.run = runClock;
    return d.result(0, type);
  }
  d.instr.run = runMove;
  return d.result(0, type) && d.operand(1, type);
}

/// cvta (section 9.7.9.20) adds the start of a window: imm[0].
template <typename T>
Step runWindow(Warp &w, const Instr &in, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    set<uint64_t>(w, in.out(), lane,
                  uint64_t(get<T>(w, in.in(0), lane)) + in.imm[0]);
  });
  return Step::Next;
}

bool decodeCvta(Decoder &d) {
  bool back = d.take("to");
  int space = d.takeOneOf({"global", "shared", "param", "const"});
  if (space == 1)
    d.take("cta");
  if (space < 0 || d.takeType() != Type::U64)
    return d.fail("expects a state space and .u64");
  uint64_t start = space == 1 ? kSharedWindow : space == 2 ? kParamWindow : 0;
  d.instr.imm[0] = back ? -start : start;
  d.instr.run = runWindow<uint64_t>;
  return d.finish(2) && d.result(0, Type::U64) && d.operand(1, Type::U64);
}

/// Launches follow each other here (griddepcontrol, section 9.7.13.13), and
/// there is no cache (prefetch, section 9.7.9.15).
template <size_t numArgs>
bool decodeNothing(Decoder &d) {
  while (d.takeOneOf({"wait", "launch_dependents", "tensormap", "tensor", "L2",
                      "global", "L1", "async", "bulk"}) >= 0)
    ;
  d.instr.run = [](Warp &, const Instr &, uint32_t) { return Step::Next; };
  return d.finish(numArgs);
}

/// Section 9.7.19.2.
bool decodeNanosleep(Decoder &d) {
  d.instr.run = [](Warp &, const Instr &, uint32_t) { return Step::Next; };
  return d.takeType() == Type::U32 && d.finish(1) && d.operand(0, Type::U32);
}

/// Section 9.7.19.4.
bool decodeTrap(Decoder &d) {
  d.instr.run = [](Warp &w, const Instr &in, uint32_t) {
    return w.fail(in, "was reached");
  };
  return d.finish(0);
}

} // namespace

void fa3::interp::ptx::addMoves(Table &table) {
  table["mov"] = decodeMove;
  table["cvta"] = decodeCvta;
  table["griddepcontrol"] = decodeNothing<0>;
  table["prefetch"] = decodeNothing<1>;
  table["nanosleep"] = decodeNanosleep;
  table["trap"] = decodeTrap;
}
