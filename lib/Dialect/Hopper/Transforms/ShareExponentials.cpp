//===- ShareExponentials.cpp - hopper-share-exponentials ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// 2^x by arithmetic: with r the integer next to x and f = x - r in [-1/2, 1/2],
// 2^x = 2^r p(f). Adding 3 * 2^22 to x rounds it to an integer, which is then
// in the low bits of the sum; shifted there it is an exponent (Cody and Waite,
// "Software Manual for the Elementary Functions", chapter 6; for attention:
// FlashAttention-4, section 3.2).
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_SHAREEXPONENTIALS
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// Fewer registers of a thread are values of rows: not worth it.
static constexpr int64_t kLeastExponentials = 16;
static constexpr int64_t kLeastDegree = 3, kMostDegree = 5;
static constexpr double kMostShare = 0.75;

/// Polynomials for 2^f on [-1/2, 1/2] with the least greatest relative error
/// (Remez's algorithm), from the constant term.
static ArrayRef<double> getPolynomial(int64_t degree) {
  static constexpr double cubic[] = {0.9999280735394012, 0.6932609854606555,
                                     0.24261112219321604, 0.05517166905792496};
  static constexpr double quartic[] = {0.9999992614457122, 0.6931218147366892,
                                       0.2402474482786378, 0.05591786031938822,
                                       0.009570101911165462};
  static constexpr double quintic[] = {
      1.0000000716546849, 0.6931469670647613,  0.24022119723840105,
      0.0555071327349697, 0.00967554133444941, 0.0013276471992851953};
  if (degree == kLeastDegree)
    return cubic;
  return degree == kMostDegree ? ArrayRef<double>(quintic) : quartic;
}

/// 2^x for a vector of f32; subnormal results are 0.
static Value emitPolynomial(ImplicitLocOpBuilder &b, Value x, int64_t degree) {
  constexpr int64_t kBias = 127, kMantissaBits = 23;
  auto type = cast<VectorType>(x.getType());
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               type, b.getF32FloatAttr(static_cast<float>(value))));
  };
  // Exponents 0 and 255 of the result: 0 and infinity. NaN stays.
  x = arith::MaximumFOp::create(b, x, constant(-kBias));
  x = arith::MinimumFOp::create(b, x, constant(kBias + 1));
  double shift = 3.0 * (1 << (kMantissaBits - 1)) + kBias;
  Value shifted = arith::AddFOp::create(b, x, constant(shift));
  Value rounded = arith::SubFOp::create(b, shifted, constant(shift));
  Value fraction = arith::SubFOp::create(b, x, rounded);
  ArrayRef<double> coefficients = getPolynomial(degree);
  Value sum = constant(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = math::FmaOp::create(b, sum, fraction, constant(coefficient));
  auto bitsType = type.clone(b.getI32Type());
  Value bits = arith::BitcastOp::create(b, bitsType, shifted);
  Value exponent = arith::ShLIOp::create(
      b, bits,
      arith::ConstantOp::create(
          b, DenseElementsAttr::get(bitsType,
                                    b.getI32IntegerAttr(kMantissaBits))));
  return arith::MulFOp::create(b, sum,
                               arith::BitcastOp::create(b, type, exponent));
}

/// Whether element i is among the `share` of all that are spread evenly.
static bool isShared(int64_t i, double share) {
  return static_cast<int64_t>((i + 1) * share) >
         static_cast<int64_t>(i * share);
}

/// Returns the number of elements that are computed by polynomials.
static int64_t splitExponential(math::Exp2Op op, double share, int64_t degree) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto type = cast<VectorType>(op.getType());
  SmallVector<int64_t> ours, others, places;
  for (int64_t i = 0, e = type.getNumElements(); i < e; ++i) {
    bool shared = isShared(i, share);
    places.push_back(shared ? ours.size() : others.size());
    (shared ? ours : others).push_back(i);
  }
  if (ours.empty())
    return 0;
  for (auto [i, place] : llvm::enumerate(places))
    if (isShared(i, share))
      place += others.size();
  Value operand = op.getOperand();
  Value computed = emitPolynomial(
      b, vector::ShuffleOp::create(b, operand, operand, ours), degree);
  Value rest = vector::ShuffleOp::create(b, operand, operand, others);
  rest = math::Exp2Op::create(b, rest, op.getFastmathAttr());
  op.replaceAllUsesWith(
      vector::ShuffleOp::create(b, rest, computed, places).getResult());
  op.erase();
  return ours.size();
}

namespace {
struct ShareExponentials
    : hopper::impl::ShareExponentialsBase<ShareExponentials> {
  using ShareExponentialsBase::ShareExponentialsBase;

  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    if (!(share >= 0 && share <= kMostShare)) {
      kernel.emitError("option 'share' is ")
          << share.getValue() << ", expected 0 to " << kMostShare;
      return signalPassFailure();
    }
    if (degree < kLeastDegree || degree > kMostDegree) {
      kernel.emitError("option 'degree' is ")
          << degree.getValue() << ", expected " << kLeastDegree << " to "
          << kMostDegree;
      return signalPassFailure();
    }
    SmallVector<math::Exp2Op> exponentials;
    kernel.walk([&](math::Exp2Op op) {
      auto type = dyn_cast<VectorType>(op.getType());
      bool approximate =
          bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
      if (approximate && type && type.getRank() == 1 &&
          type.getElementType().isF32() &&
          type.getNumElements() >= kLeastExponentials)
        exponentials.push_back(op);
    });
    for (math::Exp2Op op : exponentials)
      replaced += splitExponential(op, share, degree);
  }
};
} // namespace
