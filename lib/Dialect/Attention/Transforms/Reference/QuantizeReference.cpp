//===- QuantizeReference.cpp - quantization by definition -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// attention.quantize as plain loops: scales become maxima, then what is divided
// by them. As kernels do, all in f32.
//===----------------------------------------------------------------------===//

#include "QuantizeReference.h"
#include "ReferenceLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa3::attention;

static Value integer(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
}
static Value f32(ImplicitLocOpBuilder &b, double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}

//===----------------------------------------------------------------------===//
// 8-bit formats
//===----------------------------------------------------------------------===//

Value fa3::attention::roundToFloat8(ImplicitLocOpBuilder &b, Value value,
                                    Type type) {
  Float8Format format(type);
  // Subnormals are multiples of the least one.
  double least = std::ldexp(1.0, 1 - format.bias - format.mantissa);
  Value unit = f32(b, least);
  Value units = math::RoundEvenOp::create(
      b, arith::MulFOp::create(b, value, f32(b, 1 / least)));
  Value subnormal = arith::MulFOp::create(b, units, unit);
  // Others lose the low bits of an f32, ties to even.
  int64_t dropped = 23 - format.mantissa;
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), value);
  Value one = integer(b, 1);
  Value odd = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, bits, integer(b, dropped)), one);
  Value half = integer(b, (int64_t(1) << (dropped - 1)) - 1);
  Value rounded =
      arith::AddIOp::create(b, bits, arith::AddIOp::create(b, half, odd));
  rounded =
      arith::AndIOp::create(b, rounded, integer(b, -(int64_t(1) << dropped)));
  Value normal = arith::BitcastOp::create(b, b.getF32Type(), rounded);
  Value leastNormal = f32(b, std::ldexp(1.0, 1 - format.bias));
  Value isSmall =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                            math::AbsFOp::create(b, value), leastNormal);
  return arith::SelectOp::create(b, isSmall, subnormal, normal);
}

Value fa3::attention::encodeFloat8(ImplicitLocOpBuilder &b, Value value,
                                   Type type) {
  Float8Format format(type);
  Value isNaN =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, value, value);
  Value largest = f32(b, getLargestNumber(type));
  Value magnitude =
      arith::MinimumFOp::create(b, math::AbsFOp::create(b, value), largest);
  magnitude = arith::SelectOp::create(b, isNaN, f32(b, 0), magnitude);
  magnitude = roundToFloat8(b, magnitude, type);
  // With the exponent of the format in the place of an f32's, subnormals
  // included, the number is off by a power of two.
  Value scaled = arith::MulFOp::create(
      b, magnitude, f32(b, std::ldexp(1.0, format.bias - 127)));
  Value dropped = integer(b, 23 - format.mantissa);
  Value code = arith::ShRUIOp::create(
      b, arith::BitcastOp::create(b, b.getI32Type(), scaled), dropped);
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), value);
  Value signBit = integer(b, 0x80);
  Value sign = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, bits, integer(b, 24)), signBit);
  Value withSign = arith::OrIOp::create(b, code, sign);
  code = arith::SelectOp::create(b, isNaN, integer(b, 0x7f), withSign);
  return arith::BitcastOp::create(
      b, type, arith::TruncIOp::create(b, b.getI8Type(), code));
}

Value fa3::attention::decodeFloat8(ImplicitLocOpBuilder &b, Value value) {
  Float8Format format(value.getType());
  bool isE4M3 = isa<Float8E4M3FNType>(value.getType());
  Value bits = arith::ExtUIOp::create(
      b, b.getI32Type(), arith::BitcastOp::create(b, b.getI8Type(), value));
  Value magnitude = arith::AndIOp::create(b, bits, integer(b, 0x7f));
  // As the lowest bits of an f32's exponent and mantissa, subnormals included,
  // the number is off by a power of two.
  Value scaled = arith::BitcastOp::create(
      b, b.getF32Type(),
      arith::ShLIOp::create(b, magnitude, integer(b, 23 - format.mantissa)));
  Value number = arith::MulFOp::create(
      b, scaled, f32(b, std::ldexp(1.0, 127 - format.bias)));
  // Codes from here on are infinite or no numbers.
  auto isSpecial = [&](arith::CmpIPredicate predicate, int64_t code) -> Value {
    return arith::CmpIOp::create(b, predicate, magnitude, integer(b, code));
  };
  using Predicate = arith::CmpIPredicate;
  if (!isE4M3) {
    Value infinity = f32(b, std::numeric_limits<double>::infinity());
    number = arith::SelectOp::create(b, isSpecial(Predicate::eq, 0x7c),
                                     infinity, number);
  }
  Value notANumber = f32(b, std::numeric_limits<double>::quiet_NaN());
  number = arith::SelectOp::create(
      b, isSpecial(Predicate::sgt, isE4M3 ? 0x7e : 0x7c), notANumber, number);
  Value zero = integer(b, 0);
  Value isNegative = arith::CmpIOp::create(
      b, Predicate::ne, arith::AndIOp::create(b, bits, integer(b, 0x80)), zero);
  return arith::SelectOp::create(b, isNegative,
                                 arith::NegFOp::create(b, number), number);
}

/// The number of an 8-bit format nearest to an f32 that is in its range.
static Value encode(ImplicitLocOpBuilder &b, Value value, Type format) {
  if (isa<FloatType>(format))
    return encodeFloat8(b, value, format);
  return arith::FPToSIOp::create(b, format, roundToInteger(b, value));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
class QuantizeBuilder : ReferenceLoops {
public:
  QuantizeBuilder(ImplicitLocOpBuilder &b, const HostQuantization &host)
      : ReferenceLoops(b.getLoc(), b), host(host), op(host.op),
        headDim(index(op.getHeadDim())) {}

  void build();

private:
  /// The matrix from its signs.
  void buildRotation();
  /// All elements of the source, by (batch, head, row, element).
  void loopOverElements(function_ref<void(ArrayRef<Value>)> body);
  void loopOverScales(function_ref<void(ArrayRef<Value>)> body);
  Value load(Value memref, ValueRange at);
  /// An element of the source, rotated, as f32.
  Value loadElement(ArrayRef<Value> at);
  /// Where the scale of an element is.
  SmallVector<Value> getScale(ArrayRef<Value> at);

  const HostQuantization &host;
  QuantizeOp op;
  Value headDim;
};
} // namespace

void QuantizeBuilder::loopOverElements(
    function_ref<void(ArrayRef<Value>)> body) {
  loop(host.batch, [&](Value n) {
    loop(host.heads, [&](Value h) {
      loop(host.rows, [&](Value i) {
        loop(headDim, [&](Value c) { body({n, h, i, c}); });
      });
    });
  });
}

void QuantizeBuilder::loopOverScales(function_ref<void(ArrayRef<Value>)> body) {
  auto extent = [&](int64_t dim) -> Value {
    return memref::DimOp::create(b, host.scales, dim);
  };
  loop(extent(0), [&](Value n) {
    loop(extent(1),
         [&](Value h) { loop(extent(2), [&](Value i) { body({n, h, i}); }); });
  });
}

Value QuantizeBuilder::load(Value memref, ValueRange at) {
  Value value = memref::LoadOp::create(b, memref, at);
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(b, b.getF32Type(), value);
}

Value QuantizeBuilder::loadElement(ArrayRef<Value> at) {
  if (!host.rotation)
    return load(host.source, at);
  Value sum = reduce(headDim, f32(b, 0), [&](Value e, Value sum) -> Value {
    Value x = load(host.source, {at[0], at[1], at[2], e});
    Value product =
        arith::MulFOp::create(b, x, load(host.rotation, {e, at[3]}));
    return arith::AddFOp::create(b, sum, product);
  });
  double factor = 1 / std::sqrt(static_cast<double>(op.getHeadDim()));
  return arith::MulFOp::create(b, sum, f32(b, factor));
}

SmallVector<Value> QuantizeBuilder::getScale(ArrayRef<Value> at) {
  auto type = cast<MemRefType>(host.scales.getType());
  auto own = [&](unsigned dim) {
    return type.getDimSize(dim) == 1 ? zero : at[dim];
  };
  Value block = zero;
  if (op.getRows())
    block = arith::DivUIOp::create(b, at[2], index(op.getRows()));
  return {own(0), own(1), block};
}

void QuantizeBuilder::buildRotation() {
  Type element = cast<MemRefType>(host.rotation.getType()).getElementType();
  loop(headDim, [&](Value e) {
    Value given = memref::LoadOp::create(b, host.signs, e);
    Value none =
        arith::ConstantOp::create(b, b.getFloatAttr(given.getType(), 0));
    Value isNegative =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, given, none);
    loop(headDim, [&](Value c) {
      Value sign = arith::XOrIOp::create(
          b, isNegative, buildHadamardSign(b, op.getHeadDim(), e, c));
      Value plus = arith::ConstantOp::create(b, b.getFloatAttr(element, 1));
      Value minus = arith::ConstantOp::create(b, b.getFloatAttr(element, -1));
      Value number = arith::SelectOp::create(b, sign, minus, plus);
      memref::StoreOp::create(b, number, host.rotation, ValueRange{e, c});
    });
  });
}

void QuantizeBuilder::build() {
  if (host.signs)
    buildRotation();
  loopOverScales([&](ArrayRef<Value> at) {
    memref::StoreOp::create(b, f32(b, 0), host.scales, at);
  });
  loopOverElements([&](ArrayRef<Value> at) {
    SmallVector<Value> place = getScale(at);
    Value magnitude = math::AbsFOp::create(b, loadElement(at));
    Value largest = memref::LoadOp::create(b, host.scales, place);
    memref::StoreOp::create(b, arith::MaxNumFOp::create(b, magnitude, largest),
                            host.scales, place);
  });
  loopOverScales([&](ArrayRef<Value> at) {
    Value largest = memref::LoadOp::create(b, host.scales, at);
    Value scale = arith::MulFOp::create(
        b, largest, f32(b, 1 / getLargestNumber(op.getFormat())));
    scale = arith::MaxNumFOp::create(b, scale, f32(b, kLeastQuantizedScale));
    memref::StoreOp::create(b, scale, host.scales, at);
  });
  loopOverElements([&](ArrayRef<Value> at) {
    Value scale = memref::LoadOp::create(b, host.scales, getScale(at));
    Value inverse = arith::DivFOp::create(b, f32(b, 1), scale);
    Value rest = arith::MulFOp::create(b, loadElement(at), inverse);
    SmallVector<Value> place(at);
    for (uint64_t term = 0; term < op.getTerms(); ++term) {
      if (term != 0) {
        rest = arith::SubFOp::create(b, rest,
                                     roundToFloat8(b, rest, op.getFormat()));
        place.back() = arith::AddIOp::create(b, place.back(), headDim);
      }
      memref::StoreOp::create(b, encode(b, rest, op.getFormat()), host.values,
                              place);
    }
  });
}

void fa3::attention::buildQuantizeReference(
    ImplicitLocOpBuilder &b, const HostQuantization &quantization) {
  QuantizeBuilder(b, quantization).build();
}
