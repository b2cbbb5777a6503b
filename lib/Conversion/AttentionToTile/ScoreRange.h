//===- ScoreRange.h - what score code can yield -----------------*- C++ -*-===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_SCORERANGE_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_SCORERANGE_H

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
/// products. Whatever else is unbounded.
ScoreRange getScoreRange(mlir::Value value);

/// How far apart scores may be that share a reference: 164 binades.
constexpr double kWidestScores = 164 / llvm::numbers::log2e;

/// A reference for the weights exp2(factor * score - reference) that every row
/// may share if scores are of this range: no row needs a maximum of its own,
/// because the largest weight and the sum of many stay in the range of f32, and
/// the least is no denormal number. In units of exponents.
std::optional<double> getSharedReference(ScoreRange scores, double factor);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_SCORERANGE_H
