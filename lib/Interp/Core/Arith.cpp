//===- Arith.cpp - arithmetic of integers and floats ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "Elementwise.h"
#include <cmath>

using namespace mlir;
using namespace fa3::interp;

namespace {

//===----------------------------------------------------------------------===//
// Functors
//===----------------------------------------------------------------------===//

#define FA3_FUNCTOR2(NAME, EXPRESSION)                                         \
  template <typename T>                                                        \
  struct NAME##Fn {                                                            \
    static T apply(T a, T b) { return EXPRESSION; }                            \
  };                                                                           \
  template <typename T>                                                        \
  using NAME = Binary<NAME##Fn<T>, T, T>;

/// Wrapping arithmetic goes through unsigned, where it is defined.
template <typename T>
auto bitsOf(T value) {
  if constexpr (std::is_same_v<T, int64_t>)
    return static_cast<uint64_t>(value);
  else
    return value;
}

FA3_FUNCTOR2(Add, static_cast<T>(bitsOf(a) + bitsOf(b)))
FA3_FUNCTOR2(Sub, static_cast<T>(bitsOf(a) - bitsOf(b)))
FA3_FUNCTOR2(Mul, static_cast<T>(bitsOf(a) * bitsOf(b)))
FA3_FUNCTOR2(DivF, a / b)
FA3_FUNCTOR2(RemF, std::fmod(a, b))
FA3_FUNCTOR2(And, static_cast<T>(a &b))
FA3_FUNCTOR2(Or, static_cast<T>(a | b))
FA3_FUNCTOR2(Xor, static_cast<T>(a ^ b))
FA3_FUNCTOR2(MaxSigned, a > b ? a : b)
FA3_FUNCTOR2(MinSigned, a < b ? a : b)
// IEEE-754-2019 maximum and minimum: a NaN wins, -0 is less than +0.
FA3_FUNCTOR2(Maximum, std::isnan(a) || std::isnan(b) ? T(NAN)
                      : a == b                       ? (std::signbit(a) ? b : a)
                      : a > b                        ? a
                                                     : b)
FA3_FUNCTOR2(Minimum, std::isnan(a) || std::isnan(b) ? T(NAN)
                      : a == b                       ? (std::signbit(a) ? a : b)
                      : a < b                        ? a
                                                     : b)
FA3_FUNCTOR2(MaxNum, std::isnan(b) ? a : !(a <= b) && !std::isnan(a) ? a : b)
FA3_FUNCTOR2(MinNum, std::isnan(b) ? a : !(a >= b) && !std::isnan(a) ? a : b)

FA3_FUNCTOR2(ShiftLeft, static_cast<uint64_t>(b) < 64
                            ? static_cast<T>(bitsOf(a) << b)
                            : T(0))
FA3_FUNCTOR2(ShiftRight, a >> (static_cast<uint64_t>(b) < 64 ? b : 63))

// Unsigned operations take operands that are zero-extended (see Unsigned).
FA3_FUNCTOR2(ShiftRightUnsigned, static_cast<uint64_t>(b) < 64
                                     ? static_cast<T>(bitsOf(a) >> b)
                                     : T(0))
FA3_FUNCTOR2(MaxUnsigned, bitsOf(a) > bitsOf(b) ? a : b)
FA3_FUNCTOR2(MinUnsigned, bitsOf(a) < bitsOf(b) ? a : b)

template <typename T>
struct NegFn {
  static T apply(T a) { return -a; }
};
template <typename T>
using Neg = Unary<NegFn<T>, T, T>;

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

enum class Division { Quotient, Floor, Ceil, Remainder, UDiv, UCeil, URem };

template <Division kind>
struct DivideFn {
  /// The divisor is not zero; the one overflow wraps.
  static int64_t apply(int64_t a, int64_t b) {
    uint64_t ua = a, ub = b;
    switch (kind) {
    case Division::UDiv:
      return ua / ub;
    case Division::UCeil:
      return ua / ub + (ua % ub != 0);
    case Division::URem:
      return ua % ub;
    default:
      break;
    }
    if (b == -1)
      return kind == Division::Remainder ? 0 : static_cast<int64_t>(-ua);
    int64_t quotient = a / b, remainder = a % b;
    if (kind == Division::Remainder)
      return remainder;
    if (kind == Division::Floor && remainder && (a < 0) != (b < 0))
      return quotient - 1;
    if (kind == Division::Ceil && remainder && (a < 0) == (b < 0))
      return quotient + 1;
    return quotient;
  }
};

/// Checks the divisors before dividing.
template <Division kind>
struct Divide {
  using Base = Binary<DivideFn<kind>, int64_t, int64_t>;
  static LogicalResult scalar(Context &c, const Instr &in) {
    if (c.integer(in.in[1]) == 0)
      return c.error(in) << "'" << in.op->getName() << "' divides by zero";
    return Base::scalar(c, in);
  }
  static LogicalResult lanes(Context &c, const Instr &in) {
    Buffer &divisor = c.buffer(in.in[1]);
    for (int64_t i = 0; i < divisor.size(); ++i)
      if (divisor.data<int64_t>()[i] == 0)
        return c.error(in) << "'" << in.op->getName()
                           << "' divides by zero at element " << i;
    return Base::lanes(c, in);
  }
  static constexpr HandlerPair handlers = {scalar, lanes};
};

template <typename T>
using DivSigned = Divide<Division::Quotient>;
template <typename T>
using CeilDivSigned = Divide<Division::Ceil>;
template <typename T>
using FloorDivSigned = Divide<Division::Floor>;
template <typename T>
using RemSigned = Divide<Division::Remainder>;

/// The low bits of integers, zero-extended.
struct MaskExtra : Extra {
  int64_t mask = 0;
};

LogicalResult maskScalar(Context &c, const Instr &in) {
  c.cells[in.out[0]].i = c.integer(in.in[0]) & in.get<MaskExtra>().mask;
  return success();
}

LogicalResult maskLanes(Context &c, const Instr &in) {
  int64_t mask = in.get<MaskExtra>().mask;
  Buffer &source = c.buffer(in.in[0]);
  Buffer &out = c.makeBuffer(in.out[0], Lane::I64, source.size());
  for (int64_t i = 0; i < source.size(); ++i)
    out.data<int64_t>()[i] = source.data<int64_t>()[i] & mask;
  return success();
}

/// Emits an operation whose operands are taken as unsigned: sign-extended
/// lanes of narrow formats are masked first.
template <typename OpType, typename Pair>
void addUnsigned(Registry &registry) {
  registry.add<OpType>(
      [](Decoder &d, OpType op) -> LogicalResult {
        FailureOr<Format> format = d.getFormat(op, op.getType());
        if (failed(format))
          return failure();
        if (getLane(*format) != Lane::I64)
          return op->emitError("'")
                 << op->getName()
                 << "' on elements of type i1 is not known to the interpreter";
        Value result = op.getResult();
        bool buffered = d.isBuffered(result);
        SmallVector<CellId> in;
        for (Value operand : op->getOperands())
          in.push_back(buffered ? d.asBuffer(op, operand, d.getCount(result))
                                : d.cell(operand));
        unsigned bits = getIntegerBits(*format);
        if (bits < 64)
          for (CellId &operand : in) {
            auto *extra = d.makeExtra<MaskExtra>();
            extra->mask = (int64_t(1) << bits) - 1;
            CellId masked = d.newCell();
            d.emit(op, buffered ? maskLanes : maskScalar, {operand}, {masked},
                   extra);
            operand = masked;
          }
        d.emit(op, buffered ? Pair::handlers.lanes : Pair::handlers.scalar, in,
               {d.cell(result)})
            .format = *format;
        return success();
      },
      /*varying=*/true);
}

} // namespace

void fa3::interp::populateArith(Registry &r) {
  addElementwise<arith::AddFOp, Add, float, double>(r);
  addElementwise<arith::SubFOp, Sub, float, double>(r);
  addElementwise<arith::MulFOp, Mul, float, double>(r);
  addElementwise<arith::DivFOp, DivF, float, double>(r);
  addElementwise<arith::RemFOp, RemF, float, double>(r);
  addElementwise<arith::NegFOp, Neg, float, double>(r);
  addElementwise<arith::MaximumFOp, Maximum, float, double>(r);
  addElementwise<arith::MinimumFOp, Minimum, float, double>(r);
  addElementwise<arith::MaxNumFOp, MaxNum, float, double>(r);
  addElementwise<arith::MinNumFOp, MinNum, float, double>(r);
  addElementwise<arith::AddIOp, Add, int64_t>(r);
  addElementwise<arith::SubIOp, Sub, int64_t>(r);
  addElementwise<arith::MulIOp, Mul, int64_t>(r);
  addElementwise<arith::MaxSIOp, MaxSigned, int64_t>(r);
  addElementwise<arith::MinSIOp, MinSigned, int64_t>(r);
  addElementwise<arith::AndIOp, And, int64_t, uint8_t>(r);
  addElementwise<arith::OrIOp, Or, int64_t, uint8_t>(r);
  addElementwise<arith::XOrIOp, Xor, int64_t, uint8_t>(r);
  addElementwise<arith::ShLIOp, ShiftLeft, int64_t>(r);
  addElementwise<arith::ShRSIOp, ShiftRight, int64_t>(r);
  addElementwise<arith::DivSIOp, DivSigned, int64_t>(r);
  addElementwise<arith::CeilDivSIOp, CeilDivSigned, int64_t>(r);
  addElementwise<arith::FloorDivSIOp, FloorDivSigned, int64_t>(r);
  addElementwise<arith::RemSIOp, RemSigned, int64_t>(r);
  addUnsigned<arith::ShRUIOp, ShiftRightUnsigned<int64_t>>(r);
  addUnsigned<arith::MaxUIOp, MaxUnsigned<int64_t>>(r);
  addUnsigned<arith::MinUIOp, MinUnsigned<int64_t>>(r);
  addUnsigned<arith::DivUIOp, Divide<Division::UDiv>>(r);
  addUnsigned<arith::CeilDivUIOp, Divide<Division::UCeil>>(r);
  addUnsigned<arith::RemUIOp, Divide<Division::URem>>(r);
}
