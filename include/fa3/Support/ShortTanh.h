//===- ShortTanh.h - tanh of small arguments --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_SUPPORT_SHORTTANH_H
#define FA3_SUPPORT_SHORTTANH_H

#include <cstdint>

namespace fa3 {

/// tanh(z) = z (linear + cubic z^2) with an absolute error of 7.8e-6 for |z| up
/// to mostArgument, the least that such polynomials have (Remez's algorithm).
/// The relative error is 1.6e-4 at most, that of tanh.approx.f32 4.9e-4 by the
/// PTX ISA.
struct ShortTanh {
  static constexpr double mostArgument = 0.25;
  static constexpr double linear = 0.9998434277851794;
  static constexpr double cubic = -0.32319897539655323;
  /// Loops of fewer iterations gain little by it, and ptxas may unroll them and
  /// spill.
  static constexpr uint64_t leastIterations = 5;
};

} // namespace fa3

#endif // FA3_SUPPORT_SHORTTANH_H
