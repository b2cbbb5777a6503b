//===- Conversions.cpp - casts of scalars, tiles and vectors --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;
using namespace fa3::interp;

namespace {

template <typename R>
struct CastFn {
  template <typename A>
  static R apply(A a) {
    return static_cast<R>(a);
  }
};

struct NegateBooleanFn {
  static int64_t apply(uint8_t a) { return -static_cast<int64_t>(a); }
};

struct LowBitFn {
  static uint8_t apply(int64_t a) { return a & 1; }
};

/// Rounds a double so that the second rounding, from float to the result's
/// format, gives what one rounding would.
struct NarrowFn {
  static float apply(double a) { return narrowToOdd(a); }
};

/// An integer for a format narrower than f32, exact in f64 as far as such a
/// format can tell.
struct NarrowIntegerFn {
  static float apply(int64_t a) { return narrowToOdd(static_cast<double>(a)); }
};

/// Out-of-range floats give the nearest integer, as cvt does; a NaN gives 0.
struct ToIntegerFn {
  template <typename A>
  static int64_t apply(A a) {
    double v = a;
    if (std::isnan(v))
      return 0;
    if (v >= 9223372036854775808.0)
      return INT64_MAX;
    if (v <= -9223372036854775808.0)
      return INT64_MIN;
    return static_cast<int64_t>(v);
  }
};

template <typename R>
struct UnsignedToFloatFn {
  static R apply(int64_t a) { return static_cast<R>(static_cast<uint64_t>(a)); }
};
struct UnsignedToNarrowFn {
  static float apply(int64_t a) {
    return narrowToOdd(static_cast<double>(static_cast<uint64_t>(a)));
  }
};

/// The bits of a format, zero-extended in 64.
struct ZeroExtendExtra : Extra {
  int64_t mask = 0;
};

LogicalResult zeroExtendScalar(Context &c, const Instr &in) {
  c.cells[in.out[0]].i =
      finish(in.format, c.integer(in.in[0]) & in.get<ZeroExtendExtra>().mask);
  return success();
}

LogicalResult zeroExtendLanes(Context &c, const Instr &in) {
  Buffer &source = c.buffer(in.in[0]);
  int64_t mask = in.get<ZeroExtendExtra>().mask, n = source.size();
  int64_t *out = c.makeBuffer(in.out[0], Lane::I64, n).template data<int64_t>();
  dispatchLane(source.getLane(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < n; ++i)
      out[i] = static_cast<int64_t>(source.data<T>()[i]) & mask;
  });
  finish(in.format, out, n);
  return success();
}

/// Handlers of `Fn` between lanes.
template <template <typename> class Fn>
HandlerPair pickCast(Lane from, Lane to) {
  return dispatchLane(to, [&](auto r) {
    return dispatchLane(from, [&](auto a) {
      return Unary<Fn<decltype(r)>, decltype(r), decltype(a)>::handlers;
    });
  });
}

constexpr HandlerPair copyHandlers = {copyCell, copyCell};

enum class Cast {
  ExtendFloat,
  TruncateFloat,
  ExtendSigned,
  ExtendUnsigned,
  TruncateInteger,
  SignedToFloat,
  UnsignedToFloat,
  FloatToInteger
};

/// Emits the zero-extension of an integer operand into a new cell.
CellId emitZeroExtend(Decoder &d, Operation *op, Value value, Format from,
                      CellId result, Format to) {
  auto *extra = d.makeExtra<ZeroExtendExtra>();
  unsigned bits = getIntegerBits(from);
  extra->mask = bits == 64 ? -1 : (int64_t(1) << bits) - 1;
  d.emit(op, d.isBuffered(value) ? zeroExtendLanes : zeroExtendScalar,
         {d.cell(value)}, {result}, extra)
      .format = to;
  return result;
}

/// f64 to f32 rounds once; to narrower formats through round-to-odd.
HandlerPair pickTruncateFloat(Lane from, Format to) {
  if (from == getLane(to))
    return Unary<CastFn<float>, float, float>::handlers;
  if (to == Format::F32)
    return Unary<CastFn<float>, float, double>::handlers;
  return Unary<NarrowFn, float, double>::handlers;
}

HandlerPair pickSignedToFloat(Format from, Format to) {
  bool isDouble = getLane(to) == Lane::F64;
  if (from == Format::I1)
    return isDouble ? Unary<NegateBooleanFn, double, uint8_t>::handlers
                    : Unary<NegateBooleanFn, float, uint8_t>::handlers;
  if (isDouble)
    return Unary<CastFn<double>, double, int64_t>::handlers;
  return to == Format::F32 ? Unary<CastFn<float>, float, int64_t>::handlers
                           : Unary<NarrowIntegerFn, float, int64_t>::handlers;
}

/// The bits of the integer stand zero-extended in 64 first.
void emitUnsignedToFloat(Decoder &d, Operation *op, Format from, Format to) {
  Value source = op->getOperand(0);
  CellId extended =
      emitZeroExtend(d, op, source, from, d.newCell(), Format::I64);
  HandlerPair handlers =
      getLane(to) == Lane::F64
          ? Unary<UnsignedToFloatFn<double>, double, int64_t>::handlers
      : to == Format::F32
          ? Unary<UnsignedToFloatFn<float>, float, int64_t>::handlers
          : Unary<UnsignedToNarrowFn, float, int64_t>::handlers;
  d.emit(op, d.isBuffered(source) ? handlers.lanes : handlers.scalar,
         {extended}, {d.cell(op->getResult(0))})
      .format = to;
}

LogicalResult decodeCast(Decoder &d, Operation *op, Cast cast) {
  Value source = op->getOperand(0), result = op->getResult(0);
  FailureOr<Format> from = d.getFormat(op, source.getType());
  FailureOr<Format> to = d.getFormat(op, result.getType());
  if (failed(from) || failed(to))
    return failure();
  Lane fromLane = getLane(*from), toLane = getLane(*to);
  HandlerPair handlers = copyHandlers;
  switch (cast) {
  case Cast::ExtendFloat:
    if (fromLane != toLane)
      handlers = pickCast<CastFn>(fromLane, toLane);
    break;
  case Cast::TruncateFloat:
    handlers = pickTruncateFloat(fromLane, *to);
    break;
  case Cast::ExtendSigned:
    if (*from == Format::I1) // true is -1
      handlers = Unary<NegateBooleanFn, int64_t, uint8_t>::handlers;
    break;
  case Cast::ExtendUnsigned:
    emitZeroExtend(d, op, source, *from, d.cell(result), *to);
    return success();
  case Cast::TruncateInteger:
    handlers = *to == Format::I1
                   ? Unary<LowBitFn, uint8_t, int64_t>::handlers
                   : Unary<CastFn<int64_t>, int64_t, int64_t>::handlers;
    break;
  case Cast::SignedToFloat:
    handlers = pickSignedToFloat(*from, *to);
    break;
  case Cast::UnsignedToFloat:
    emitUnsignedToFloat(d, op, *from, *to);
    return success();
  case Cast::FloatToInteger:
    if (*to == Format::I1)
      return op->emitError("'")
             << op->getName() << "' to i1 is not known to the interpreter";
    handlers = fromLane == Lane::F64
                   ? Unary<ToIntegerFn, int64_t, double>::handlers
                   : Unary<ToIntegerFn, int64_t, float>::handlers;
    break;
  }
  emitElementwise(d, op, handlers, *to, source);
  return success();
}

template <typename OpType>
void addCast(Registry &registry, Cast cast) {
  registry.add<OpType>(
      [cast](Decoder &d, OpType op) { return decodeCast(d, op, cast); },
      /*varying=*/true);
}

/// Index casts extend or truncate with the sign.
LogicalResult decodeIndexCast(Decoder &d, Operation *op) {
  FailureOr<Format> from = d.getFormat(op, op->getOperand(0).getType());
  if (failed(from))
    return failure();
  return decodeCast(
      d, op, *from == Format::I1 ? Cast::ExtendSigned : Cast::TruncateInteger);
}

LogicalResult decodeIndexCastUnsigned(Decoder &d, Operation *op) {
  FailureOr<Format> from = d.getFormat(op, op->getOperand(0).getType());
  FailureOr<Format> to = d.getFormat(op, op->getResult(0).getType());
  if (failed(from) || failed(to))
    return failure();
  return decodeCast(d, op,
                    getIntegerBits(*from) < getIntegerBits(*to)
                        ? Cast::ExtendUnsigned
                        : Cast::TruncateInteger);
}

//===----------------------------------------------------------------------===//
// Bit casts
//===----------------------------------------------------------------------===//

struct BitcastExtra : Extra {
  Format from = Format::F32, to = Format::F32;
  int64_t threads = 1;
};

LogicalResult bitcastScalar(Context &c, const Instr &in) {
  const auto &extra = in.get<BitcastExtra>();
  uint8_t bytes[8] = {};
  const Cell &source = c.cells[in.in[0]];
  Cell &out = c.cells[in.out[0]];
  dispatchLane(getLane(extra.from), [&](auto zero) {
    auto value = source.get<decltype(zero)>();
    encode(extra.from, &value, 1, 0, bytes);
  });
  dispatchLane(getLane(extra.to), [&](auto zero) {
    decltype(zero) value;
    decode(extra.to, bytes, 0, 1, &value);
    out.set<decltype(zero)>(value);
  });
  return success();
}

/// Registers of one thread are packed in order, the first in the lowest bits.
LogicalResult bitcastLanes(Context &c, const Instr &in) {
  const auto &extra = in.get<BitcastExtra>();
  Buffer &source = c.buffer(in.in[0]);
  int64_t fromBytes = getByteWidth(extra.from);
  int64_t toBytes = getByteWidth(extra.to), threads = extra.threads;
  int64_t fromCount = source.size() / threads;
  int64_t toCount = fromCount * fromBytes / toBytes;
  Buffer &out = c.makeBuffer(in.out[0], getLane(extra.to), toCount * threads);
  SmallVector<uint8_t> bytes(fromCount * fromBytes);
  dispatchLane(getLane(extra.from), [&](auto fromZero) {
    dispatchLane(getLane(extra.to), [&](auto toZero) {
      auto *from = source.data<decltype(fromZero)>();
      auto *to = out.data<decltype(toZero)>();
      for (int64_t thread = 0; thread < threads; ++thread) {
        for (int64_t r = 0; r < fromCount; ++r)
          encode(extra.from, from + r * threads + thread, 1, 0,
                 bytes.data() + r * fromBytes);
        for (int64_t r = 0; r < toCount; ++r)
          decode(extra.to, bytes.data() + r * toBytes, 0, 1,
                 to + r * threads + thread);
      }
    });
  });
  return success();
}

LogicalResult decodeBitcast(Decoder &d, Operation *op) {
  Value source = op->getOperand(0), result = op->getResult(0);
  FailureOr<Format> from = d.getFormat(op, source.getType());
  FailureOr<Format> to = d.getFormat(op, result.getType());
  if (failed(from) || failed(to))
    return failure();
  if (*from == Format::I1 || *to == Format::I1)
    return op->emitError("'")
           << op->getName() << "' of i1 is not known to the interpreter";
  auto *extra = d.makeExtra<BitcastExtra>();
  extra->from = *from;
  extra->to = *to;
  extra->threads = isa<RankedTensorType>(source.getType()) ? 1 : d.getThreads();
  d.emit(op, d.isBuffered(source) ? bitcastLanes : bitcastScalar, extra);
  return success();
}

} // namespace

void fa3::interp::populateConversions(Registry &r) {
  addCast<arith::ExtFOp>(r, Cast::ExtendFloat);
  addCast<arith::TruncFOp>(r, Cast::TruncateFloat);
  addCast<arith::ExtSIOp>(r, Cast::ExtendSigned);
  addCast<arith::ExtUIOp>(r, Cast::ExtendUnsigned);
  addCast<arith::TruncIOp>(r, Cast::TruncateInteger);
  addCast<arith::SIToFPOp>(r, Cast::SignedToFloat);
  addCast<arith::UIToFPOp>(r, Cast::UnsignedToFloat);
  addCast<arith::FPToSIOp>(r, Cast::FloatToInteger);
  r.add<arith::IndexCastOp>(decodeIndexCast, /*varying=*/true);
  r.add<arith::IndexCastUIOp>(decodeIndexCastUnsigned, /*varying=*/true);
  r.add<arith::BitcastOp>(decodeBitcast, /*varying=*/true);
  r.add<vector::BitCastOp>(decodeBitcast);
}
