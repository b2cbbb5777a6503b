//===- KeptValues.h - what code keeps in a step of a gradient ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_KEPTVALUES_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_KEPTVALUES_H

#include "fa3/Tuning/BackwardPlan.h"
#include "mlir/IR/Region.h"

namespace fa3 {

/// Adds what a region of mask or score code makes of a query, of a key, and of
/// both without a score. `spans`: queries and keys for which quotients are the
/// same.
void addKeptValues(mlir::Region &region,
                   std::optional<std::pair<int64_t, int64_t>> spans,
                   BackwardDemand &demand);

/// Whether a region yields the same for all pairs.
bool isSameForAll(mlir::Region &region);

/// How many values of a score a derivative takes from score code: both compute
/// them, and what the derivative computes alone uses them.
int64_t countSharedValues(mlir::Region &score, mlir::Region &gradient);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_KEPTVALUES_H
