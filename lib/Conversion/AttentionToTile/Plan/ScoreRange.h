//===- ScoreRange.h - what score code can yield -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_SCORERANGE_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_SCORERANGE_H

#include "mlir/IR/Region.h"
#include "mlir/IR/Value.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <optional>

namespace fa3 {

/// What a score can be, apart from NaN: a number from low to high, in units of
/// the score, or -inf, which masks. Without numbers, low is above high.
struct ScoreRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// The range of a value of element code, by interval arithmetic on the
/// operations that compute it: tanh, sine, cosine, clamps, selects, sums and
/// products, elements of f16 and whole numbers by theirs, which upstream's
/// InferIntRangeInterface tells. Whatever else is unbounded, but `known`, which
/// is of a range that is given.
ScoreRange getScoreRange(mlir::Value value, mlir::Value known = {},
                         ScoreRange ofKnown = {});

/// Weights are exp2(c * score - round(c * maximum)), with one rounding: an
/// error that all weights of a row have in common, and at most 2 up to this
/// score. Beyond it a maximum is taken off before the product with c.
constexpr double kLargeScore = 0x1p24;
/// What products of queries and keys times the scale are taken for.
constexpr double kGreatestProduct = 0x1p12;

/// Whether score code may yield a number beyond -limit to limit, its first
/// argument being a product. Without code it yields the product.
bool mayBeLarge(mlir::Region &scoreMod, double limit);

/// Binades of the weights of rows that share a reference: sums of 2^20 of the
/// largest, times values up to 2^40, are below 2^127, and the least is no
/// denormal number.
constexpr double kLeastWeight = -100, kMostWeight = 64;
/// How far apart scores may be for that.
constexpr double kWidestScores =
    (kMostWeight - kLeastWeight) / llvm::numbers::log2e;

/// A reference for the weights exp2(factor * score - reference) that every row
/// may share if scores are of this range, so that no row needs a maximum of its
/// own. In units of exponents.
std::optional<double> getSharedReference(ScoreRange scores, double factor);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_SCORERANGE_H
