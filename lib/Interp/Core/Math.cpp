//===- Math.cpp - the math dialect ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/Math/IR/Math.h"
#include "Elementwise.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace mlir;
using namespace fa3::interp;

namespace {

#define FA3_FUNCTOR1(NAME, EXPRESSION)                                         \
  template <typename T>                                                        \
  struct NAME##Fn {                                                            \
    static T apply(T a) { return EXPRESSION; }                                 \
  };                                                                           \
  template <typename T>                                                        \
  using NAME = Unary<NAME##Fn<T>, T, T>;

FA3_FUNCTOR1(Exp, std::exp(a))
FA3_FUNCTOR1(Exp2, std::exp2(a))
FA3_FUNCTOR1(ExpM1, std::expm1(a))
FA3_FUNCTOR1(Log, std::log(a))
FA3_FUNCTOR1(Log2, std::log2(a))
FA3_FUNCTOR1(Log1p, std::log1p(a))
FA3_FUNCTOR1(Sqrt, std::sqrt(a))
FA3_FUNCTOR1(Rsqrt, T(1) / std::sqrt(a))
FA3_FUNCTOR1(Tanh, std::tanh(a))
FA3_FUNCTOR1(Erf, std::erf(a))
FA3_FUNCTOR1(Sin, std::sin(a))
FA3_FUNCTOR1(Tan, std::tan(a))
FA3_FUNCTOR1(Asin, std::asin(a))
FA3_FUNCTOR1(Acos, std::acos(a))
FA3_FUNCTOR1(Atan, std::atan(a))
FA3_FUNCTOR1(Sinh, std::sinh(a))
FA3_FUNCTOR1(Cosh, std::cosh(a))
FA3_FUNCTOR1(Asinh, std::asinh(a))
FA3_FUNCTOR1(Acosh, std::acosh(a))
FA3_FUNCTOR1(Atanh, std::atanh(a))
FA3_FUNCTOR1(Cbrt, std::cbrt(a))
FA3_FUNCTOR1(Cos, std::cos(a))
FA3_FUNCTOR1(AbsF, std::abs(a))
FA3_FUNCTOR1(AbsI, a < 0 ? static_cast<T>(-static_cast<uint64_t>(a)) : a)
FA3_FUNCTOR1(Floor, std::floor(a))
FA3_FUNCTOR1(Ceil, std::ceil(a))
FA3_FUNCTOR1(Round, std::round(a))
FA3_FUNCTOR1(RoundEven, std::nearbyint(a))
FA3_FUNCTOR1(Trunc, std::trunc(a))

template <typename T>
struct PowFn {
  static T apply(T a, T b) { return std::pow(a, b); }
};
template <typename T>
using Pow = Binary<PowFn<T>, T, T>;

template <typename T>
struct Atan2Fn {
  static T apply(T a, T b) { return std::atan2(a, b); }
};
template <typename T>
using Atan2 = Binary<Atan2Fn<T>, T, T>;

template <typename T>
struct CopySignFn {
  static T apply(T a, T b) { return std::copysign(a, b); }
};
template <typename T>
using CopySign = Binary<CopySignFn<T>, T, T>;

/// Fused, for f32 and f64.
template <typename T>
struct FmaFn {
  static T apply(T a, T b, T c) { return std::fma(a, b, c); }
};
template <typename T>
using Fma = Ternary<FmaFn<T>, T, T>;

/// Fused, for narrower formats: the product is exact in f64. The sum is rounded
/// to odd there, so that rounding it to the format gives what one rounding
/// would.
struct NarrowFmaFn {
  static float apply(float a, float b, float c) {
    double product = static_cast<double>(a) * b, addend = c;
    double sum = product + addend;
    // The part of the exact sum that is lost (Knuth's two-sum).
    double other = sum - product;
    double lost = (product - (sum - other)) + (addend - other);
    if (lost != 0 && std::isfinite(lost)) {
      if ((lost < 0) != (sum < 0))
        sum = std::nextafter(sum, 0.0);
      sum = llvm::bit_cast<double>(llvm::bit_cast<uint64_t>(sum) | 1);
    }
    return narrowToOdd(sum);
  }
};

LogicalResult decodeFma(Decoder &d, math::FmaOp op) {
  FailureOr<Format> format = d.getFormat(op, op.getType());
  if (failed(format))
    return failure();
  HandlerPair handlers = *format == Format::F64 ? Fma<double>::handlers
                         : *format == Format::F32
                             ? Fma<float>::handlers
                             : Ternary<NarrowFmaFn, float, float>::handlers;
  emitElementwise(d, op, handlers, *format, op->getOperands());
  return success();
}

} // namespace

void fa3::interp::populateMath(Registry &r) {
  addElementwise<math::ExpOp, Exp, float, double>(r);
  addElementwise<math::Exp2Op, Exp2, float, double>(r);
  addElementwise<math::ExpM1Op, ExpM1, float, double>(r);
  addElementwise<math::LogOp, Log, float, double>(r);
  addElementwise<math::Log2Op, Log2, float, double>(r);
  addElementwise<math::Log1pOp, Log1p, float, double>(r);
  addElementwise<math::SqrtOp, Sqrt, float, double>(r);
  addElementwise<math::RsqrtOp, Rsqrt, float, double>(r);
  addElementwise<math::TanhOp, Tanh, float, double>(r);
  addElementwise<math::ErfOp, Erf, float, double>(r);
  addElementwise<math::SinOp, Sin, float, double>(r);
  addElementwise<math::CosOp, Cos, float, double>(r);
  addElementwise<math::TanOp, Tan, float, double>(r);
  addElementwise<math::AsinOp, Asin, float, double>(r);
  addElementwise<math::AcosOp, Acos, float, double>(r);
  addElementwise<math::AtanOp, Atan, float, double>(r);
  addElementwise<math::Atan2Op, Atan2, float, double>(r);
  addElementwise<math::SinhOp, Sinh, float, double>(r);
  addElementwise<math::CoshOp, Cosh, float, double>(r);
  addElementwise<math::AsinhOp, Asinh, float, double>(r);
  addElementwise<math::AcoshOp, Acosh, float, double>(r);
  addElementwise<math::AtanhOp, Atanh, float, double>(r);
  addElementwise<math::CbrtOp, Cbrt, float, double>(r);
  addElementwise<math::AbsFOp, AbsF, float, double>(r);
  addElementwise<math::AbsIOp, AbsI, int64_t>(r);
  addElementwise<math::FloorOp, Floor, float, double>(r);
  addElementwise<math::CeilOp, Ceil, float, double>(r);
  addElementwise<math::RoundOp, Round, float, double>(r);
  addElementwise<math::RoundEvenOp, RoundEven, float, double>(r);
  addElementwise<math::TruncOp, Trunc, float, double>(r);
  addElementwise<math::PowFOp, Pow, float, double>(r);
  addElementwise<math::CopySignOp, CopySign, float, double>(r);
  r.add<math::FmaOp>(decodeFma, /*varying=*/true);
}
