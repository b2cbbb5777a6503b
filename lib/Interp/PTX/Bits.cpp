//===- Bits.cpp - logic, shifts and bit fields ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Section 9.7.8, "Logic and Shift Instructions", and what handles bit fields.
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;

namespace {

#define FA3_BITS(NAME, EXPRESSION)                                             \
  struct NAME {                                                                \
    template <typename T>                                                      \
    static T apply(T a, T b) {                                                 \
      return EXPRESSION;                                                       \
    }                                                                          \
  };
FA3_BITS(And, a &b)
FA3_BITS(Or, a | b)
FA3_BITS(Xor, a ^ b)
#undef FA3_BITS

template <typename F>
Step runPreds(Warp &w, const Instr &in, uint32_t mask) {
  setPred(w, in.out(), mask,
          F::apply(getPred(w, in.in(0)), getPred(w, in.in(1))));
  return Step::Next;
}

/// and, or, xor: sections 9.7.8.1 to 9.7.8.3.
template <typename F>
bool decodeLogic(Decoder &d) {
  Type type = d.takeType();
  Handler run = forWidth(
      type, [](auto t) -> Handler { return runEach<F, 2, decltype(t)>; });
  return decodePlain(d, type == Type::Pred ? runPreds<F> : run, type, 3);
}

struct Not {
  template <typename T>
  static T apply(T a) {
    return ~a;
  }
};

/// Section 9.7.8.4.
bool decodeNot(Decoder &d) {
  Type type = d.takeType();
  Handler run = forWidth(
      type, [](auto t) -> Handler { return runEach<Not, 1, decltype(t)>; });
  if (type == Type::Pred)
    run = [](Warp &w, const Instr &in, uint32_t mask) {
      setPred(w, in.out(), mask, ~getPred(w, in.in(0)));
      return Step::Next;
    };
  return decodePlain(d, run, type, 2);
}

/// Amounts beyond the width are clamped to it.
struct ShiftLeft {
  template <typename T>
  static T apply(T a, uint32_t n) {
    return n >= 8 * sizeof(T) ? T(0) : T(a << n);
  }
};
struct ShiftRight {
  template <typename T>
  static T apply(T a, uint32_t n) {
    uint32_t last = 8 * sizeof(T) - 1;
    if (n > last)
      return std::is_signed_v<T> ? T(a >> last) : T(0);
    return T(a >> n);
  }
};

template <typename F, typename T>
Step runShift(Warp &w, const Instr &in, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    set<T>(w, in.out(), lane,
           F::template apply<T>(get<T>(w, in.in(0), lane),
                                get<uint32_t>(w, in.in(1), lane)));
  });
  return Step::Next;
}

/// shl, shr: sections 9.7.8.8 and 9.7.8.9.
template <typename F>
bool decodeShift(Decoder &d) {
  Type type = d.takeType();
  auto choose = [](auto t) -> Handler { return runShift<F, decltype(t)>; };
  d.instr.run = isSigned(type) && std::is_same_v<F, ShiftRight>
                    ? forInteger(type, choose)
                    : forWidth(type, choose);
  return d.isKnown() && d.finish(3) && d.result(0, type) &&
         d.operand(1, type) && d.operand(2, Type::U32);
}

/// shf.l, shf.r: 32 bits of a shifted pair (section 9.7.8.7).
template <bool left, bool wrap>
Step runFunnel(Warp &w, const Instr &in, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    uint64_t pair = get<uint32_t>(w, in.in(0), lane) |
                    uint64_t(get<uint32_t>(w, in.in(1), lane)) << 32;
    uint32_t n = get<uint32_t>(w, in.in(2), lane);
    n = wrap ? n & 31 : std::min(n, 32u);
    set<uint32_t>(w, in.out(), lane,
                  left ? uint32_t(pair << n >> 32) : uint32_t(pair >> n));
  });
  return Step::Next;
}

bool decodeFunnel(Decoder &d) {
  int left = d.takeOneOf({"r", "l"}), wrap = d.takeOneOf({"clamp", "wrap"});
  if (left < 0 || wrap < 0 || d.takeType() != Type::B32)
    return d.fail("expects a direction, a mode and .b32");
  d.instr.run = left
                    ? (wrap ? runFunnel<true, true> : runFunnel<true, false>)
                    : (wrap ? runFunnel<false, true> : runFunnel<false, false>);
  return d.finish(4) && d.result(0, Type::B32) && d.operands(1, 2, Type::B32) &&
         d.operand(3, Type::U32);
}

/// lop3: any function of three bits, as a table of eight (section 9.7.8.6).
Step runLop3(Warp &w, const Instr &in, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    uint32_t a = get<uint32_t>(w, in.in(0), lane),
             b = get<uint32_t>(w, in.in(1), lane),
             c = get<uint32_t>(w, in.in(2), lane), result = 0;
    for (unsigned row = 0; row < 8; ++row)
      if (in.imm[0] >> row & 1)
        result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    set<uint32_t>(w, in.out(), lane, result);
  });
  return Step::Next;
}

bool decodeLop3(Decoder &d) {
  d.instr.run = runLop3;
  return (d.takeType() == Type::B32 && d.finish(5) && d.result(0, Type::B32) &&
          d.operands(1, 3, Type::B32) && d.constant(4, d.instr.imm[0])) ||
         d.fail("expects .b32");
}

/// bfe: a field of a number, with its sign if the type has one (section
/// 9.7.1.19).
template <typename T>
Step runExtract(Warp &w, const Instr &in, uint32_t mask) {
  constexpr unsigned bits = 8 * sizeof(T);
  forLanes(mask, [&](unsigned lane) {
    T a = get<T>(w, in.in(0), lane);
    unsigned position = get<uint32_t>(w, in.in(1), lane) & 0xff;
    unsigned length = get<uint32_t>(w, in.in(2), lane) & 0xff;
    using U = std::make_unsigned_t<T>;
    bool sign = std::is_signed_v<T> && length &&
                U(a) >> std::min(position + length - 1, bits - 1) & 1;
    U field = position >= bits ? 0 : U(a) >> position;
    // Bits beyond the number are sign bits as well.
    if (position + length > bits)
      length = position >= bits ? 0 : bits - position;
    if (length < bits) {
      U low = (U(1) << length) - 1;
      field = sign ? field | ~low : field & low;
    }
    set<T>(w, in.out(), lane, T(field));
  });
  return Step::Next;
}

bool decodeExtract(Decoder &d) {
  Type type = d.takeType();
  d.instr.run = forInteger(type, [](auto t) -> Handler {
    return sizeof(t) < 4 ? nullptr : runExtract<decltype(t)>;
  });
  return d.isKnown() && d.finish(4) && d.result(0, type) &&
         d.operand(1, type) && d.operands(2, 3, Type::U32);
}

/// bfi: a field of a into b (section 9.7.1.20).
template <typename T>
Step runInsert(Warp &w, const Instr &in, uint32_t mask) {
  constexpr unsigned bits = 8 * sizeof(T);
  forLanes(mask, [&](unsigned lane) {
    T a = get<T>(w, in.in(0), lane), b = get<T>(w, in.in(1), lane);
    unsigned position = get<uint32_t>(w, in.in(2), lane) & 0xff;
    unsigned length = get<uint32_t>(w, in.in(3), lane) & 0xff;
    T low = length >= bits ? ~T(0) : (T(1) << length) - 1;
    T field = position >= bits ? 0 : low << position;
    T moved = position >= bits ? 0 : a << position;
    set<T>(w, in.out(), lane, (b & ~field) | (moved & field));
  });
  return Step::Next;
}

bool decodeInsert(Decoder &d) {
  Type type = d.takeType();
  if (type != Type::B32 && type != Type::B64)
    return d.fail("has a type that the executor does not know");
  d.instr.run = type == Type::B32 ? runInsert<uint32_t> : runInsert<uint64_t>;
  return d.finish(5) && d.result(0, type) && d.operands(1, 2, type) &&
         d.operand(3, Type::U32) && d.operand(4, Type::U32);
}

/// popc, clz and bfind (sections 9.7.1.14 to 9.7.1.16) count bits.
template <typename T>
struct Popc {
  static uint32_t apply(T a) { return llvm::popcount(a); }
};
template <typename T>
struct Clz {
  static uint32_t apply(T a) { return llvm::countl_zero(a); }
};
template <typename T>
struct Find {
  static uint32_t apply(T a) {
    return a ? 8 * sizeof(T) - 1 - llvm::countl_zero(a) : 0xffffffffu;
  }
};
template <template <typename> class F>
bool decodeCount(Decoder &d) {
  Type type = d.takeType();
  unsigned bits = getBits(type);
  if ((bits != 32 && bits != 64) || isSigned(type))
    return d.fail("has a type that the executor does not know");
  d.instr.run = bits == 32 ? runEach<F<uint32_t>, 1, uint32_t>
                           : runEach<F<uint64_t>, 1, uint32_t, uint64_t>;
  return d.finish(2) && d.result(0, Type::U32) && d.operand(1, type);
}

struct Reverse {
  template <typename T>
  static T apply(T a) {
    T result = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i)
      result |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return result;
  }
};

/// brev: section 9.7.1.18.
bool decodeReverse(Decoder &d) {
  Type type = d.takeType();
  return decodePlain(d,
                     type == Type::B32   ? runEach<Reverse, 1, uint32_t>
                     : type == Type::B64 ? runEach<Reverse, 1, uint64_t>
                                         : nullptr,
                     type, 2);
}

/// prmt: four bytes of two registers, by a selector of four nibbles; the high
/// bit of a nibble repeats the byte's sign (section 9.7.9.7).
Step runPermute(Warp &w, const Instr &in, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    uint64_t bytes = get<uint32_t>(w, in.in(0), lane) |
                     uint64_t(get<uint32_t>(w, in.in(1), lane)) << 32;
    uint32_t selector = get<uint32_t>(w, in.in(2), lane), result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned nibble = selector >> (4 * i) & 15;
      uint32_t byte = bytes >> (8 * (nibble & 7)) & 0xff;
      if (nibble & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    set<uint32_t>(w, in.out(), lane, result);
  });
  return Step::Next;
}

bool decodePermute(Decoder &d) {
  return d.takeType() == Type::B32 ? decodePlain(d, runPermute, Type::B32, 4)
                                   : d.fail("expects .b32 and no mode");
}

} // namespace

void fa3::interp::ptx::addBits(Table &table) {
  table["and"] = decodeLogic<And>;
  table["or"] = decodeLogic<Or>;
  table["xor"] = decodeLogic<Xor>;
  table["not"] = decodeNot;
  table["shl"] = decodeShift<ShiftLeft>;
  table["shr"] = decodeShift<ShiftRight>;
  table["shf"] = decodeFunnel;
  table["lop3"] = decodeLop3;
  table["bfe"] = decodeExtract;
  table["bfi"] = decodeInsert;
  table["popc"] = decodeCount<Popc>;
  table["clz"] = decodeCount<Clz>;
  table["bfind"] = decodeCount<Find>;
  table["brev"] = decodeReverse;
  table["prmt"] = decodePermute;
}
