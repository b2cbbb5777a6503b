//===- PTXComparisons.cpp - setp, set, selp, testp
//--------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Section 9.7.6, "Comparison and Selection Instructions": set (9.7.6.1), setp
// (9.7.6.2), selp (9.7.6.3); and testp (9.7.3.1).
//===----------------------------------------------------------------------===//

#include "Numbers.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;

namespace {

/// Comparisons; those whose name ends in u hold for unordered floats, too.
enum Relation : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};

template <typename T>
bool compare(int64_t relation, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    bool unordered = std::isnan(a) || std::isnan(b);
    if (relation == Num || relation == Nan)
      return unordered == (relation == Nan);
    if (unordered)
      return relation >= Equ;
    if (relation >= Equ)
      relation -= Equ;
  }
  switch (relation) {
  case Eq:
    return a == b;
  case Ne:
    return a != b;
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  default:
    return a >= b;
  }
}

enum Combination : int64_t { NoCombination, CombineAnd, CombineOr, CombineXor };

uint32_t combine(int64_t how, uint32_t value, uint32_t other) {
  return how == CombineAnd   ? value & other
         : how == CombineOr  ? value | other
         : how == CombineXor ? value ^ other
                             : value;
}

/// imm: relation, combination, whether there is a second result.
template <typename T, typename Load>
Step runSetp(Warp &w, const Instr &in, uint32_t mask, Load &&load) {
  uint32_t value = 0;
  forLanes(mask, [&](unsigned lane) {
    value |= uint32_t(compare<T>(in.imm[0], load(in.in(0), lane),
                                 load(in.in(1), lane)))
             << lane;
  });
  uint32_t other = in.imm[1] ? getPred(w, in.in(2)) : 0;
  uint32_t first = combine(in.imm[1], value, other);
  uint32_t second = combine(in.imm[1], ~value, other);
  setPred(w, in.out(), mask, first);
  if (in.imm[2])
    setPred(w, in.out(1), mask, second);
  return Step::Next;
}

template <typename T>
Step runSetpPlain(Warp &w, const Instr &in, uint32_t mask) {
  return runSetp<T>(w, in, mask, [&](const Operand &operand, unsigned lane) {
    return get<T>(w, operand, lane);
  });
}
Step runSetpFlush(Warp &w, const Instr &in, uint32_t mask) {
  return runSetp<float>(w, in, mask,
                        [&](const Operand &operand, unsigned lane) {
                          return flush(get<float>(w, operand, lane));
                        });
}
template <typename Format>
Step runSetpNarrow(Warp &w, const Instr &in, uint32_t mask) {
  return runSetp<float>(
      w, in, mask, [&](const Operand &operand, unsigned lane) {
        return Format::decode(get<uint16_t>(w, operand, lane));
      });
}

Handler chooseSetp(Type type, bool ftz) {
  switch (type) {
  case Type::F32:
    return ftz ? runSetpFlush : runSetpPlain<float>;
  case Type::F64:
    return runSetpPlain<double>;
  case Type::F16:
    return runSetpNarrow<HalfFormat>;
  case Type::BF16:
    return runSetpNarrow<BrainFormat>;
  case Type::F16x2:
  case Type::BF16x2:
    return nullptr;
  default:
    auto choose = [](auto t) -> Handler { return runSetpPlain<decltype(t)>; };
    return isSigned(type) ? forInteger(type, choose) : forWidth(type, choose);
  }
}

int takeRelation(Decoder &d) {
  int relation = d.takeOneOf({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu",
                              "ltu", "leu", "gtu", "geu", "num", "nan"});
  // Of unsigned numbers.
  return relation < 0 ? d.takeOneOf({"", "", "lo", "ls", "hi", "hs"})
                      : relation;
}

/// Sections 9.7.6.2, and 9.7.7.2 for floats of 16 bits.
bool decodeSetp(Decoder &d) {
  int relation = takeRelation(d);
  int combination = d.takeOneOf({"and", "or", "xor"}) + 1;
  bool ftz = d.take("ftz");
  Type type = d.takeType();
  d.instr.run = chooseSetp(type, ftz);
  if (relation < 0 || !d.instr.run)
    return d.fail("has a comparison that the executor does not know");
  const Statement &s = d.getStatement();
  bool hasSecond = !s.args.empty() && !s.args[0].list.empty();
  d.instr.imm[0] = relation;
  d.instr.imm[1] = combination;
  d.instr.imm[2] = hasSecond;
  return d.finish(3 + (combination != 0)) && d.result(0, Type::Pred) &&
         (!hasSecond || d.result(s.args[0].list[0], Type::Pred)) &&
         d.operands(1, 2, type) && (!combination || d.operand(3, Type::Pred));
}

/// set (section 9.7.6.1): all ones or 1.0 where a comparison holds. imm as of
/// setp; imm[2]: what is set.
template <typename T>
Step runSet(Warp &w, const Instr &in, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    bool holds = compare<T>(in.imm[0], get<T>(w, in.in(0), lane),
                            get<T>(w, in.in(1), lane));
    set<uint32_t>(w, in.out(), lane, holds ? in.imm[2] : 0);
  });
  return Step::Next;
}

bool decodeSet(Decoder &d) {
  int relation = takeRelation(d);
  d.take("ftz");
  Type to = d.takeType(), from = d.takeType();
  d.instr.run = from == Type::F32   ? runSet<float>
                : from == Type::S32 ? runSet<int32_t>
                : from == Type::U32 ? runSet<uint32_t>
                                    : nullptr;
  if (relation < 0 || !d.instr.run || getBits(to) != 32)
    return d.fail("has a comparison that the executor does not know");
  d.instr.imm[0] = relation;
  d.instr.imm[2] = to == Type::F32 ? 0x3f800000 : 0xffffffff;
  return d.finish(3) && d.result(0, to) && d.operands(1, 2, from);
}

/// testp: what kind of number a float is; imm[0] is its place in decodeTestp's
/// list.
template <typename T>
bool isOfKind(int64_t kind, T a) {
  switch (kind) {
  case 0:
    return std::isfinite(a);
  case 1:
    return std::isinf(a);
  case 2:
    return !std::isnan(a);
  case 3:
    return std::isnan(a);
  case 4:
    return std::isnormal(a);
  default:
    return std::fpclassify(a) == FP_SUBNORMAL;
  }
}

template <typename T>
Step runTestp(Warp &w, const Instr &in, uint32_t mask) {
  uint32_t value = 0;
  forLanes(mask, [&](unsigned lane) {
    value |= uint32_t(isOfKind(in.imm[0], get<T>(w, in.in(0), lane))) << lane;
  });
  setPred(w, in.out(), mask, value);
  return Step::Next;
}

bool decodeTestp(Decoder &d) {
  int kind = d.takeOneOf(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = d.takeType();
  d.instr.run = type == Type::F32   ? runTestp<float>
                : type == Type::F64 ? runTestp<double>
                                    : nullptr;
  if (kind < 0 || !d.instr.run)
    return d.fail("has a test that the executor does not know");
  d.instr.imm[0] = kind;
  return d.finish(2) && d.result(0, Type::Pred) && d.operand(1, type);
}

/// Section 9.7.6.3.
Step runSelp(Warp &w, const Instr &in, uint32_t mask) {
  uint32_t pred = getPred(w, in.in(2));
  auto select = [&](auto &bank) {
    auto &to = bank[in.out().slot];
    const auto &a = bank[in.in(0).slot], &b = bank[in.in(1).slot];
    forLanes(mask, [&](unsigned lane) {
      to[lane] = pred >> lane & 1 ? a[lane] : b[lane];
    });
    return Step::Next;
  };
  return in.out().bank == Bank::B32 ? select(w.b32) : select(w.b64);
}

bool decodeSelp(Decoder &d) {
  Type type = d.takeType();
  if (getBits(type) < 16 || getBits(type) > 64)
    return d.fail("has a type that the executor does not know");
  d.instr.run = runSelp;
  return d.finish(4) && d.result(0, type) && d.operands(1, 2, type) &&
         d.operand(3, Type::Pred);
}

} // namespace

void fa3::interp::ptx::addComparisons(Table &table) {
  table["setp"] = decodeSetp;
  table["set"] = decodeSet;
  table["selp"] = decodeSelp;
  table["testp"] = decodeTestp;
}
