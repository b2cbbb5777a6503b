//===- ElementCosts.h - instructions of elementwise code --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_SCHEDULING_ELEMENTCOSTS_H
#define FA3_SCHEDULING_ELEMENTCOSTS_H

#include "mlir/IR/Operation.h"

namespace fa3 {

/// What an operation of arith or math costs for elements that a thread holds.
struct ElementCost {
  enum class Unit { Fma, Alu, Special };
  Unit unit;
  /// Warp instructions, and cycles that they occupy the unit together.
  int64_t instructions, cycles;
};

/// Of an elementwise operation on `elements` elements per thread. By the type
/// of the operation alone; figures are those of its chip.
ElementCost getElementCost(mlir::Operation *op, int64_t elements);

} // namespace fa3

#endif // FA3_SCHEDULING_ELEMENTCOSTS_H
