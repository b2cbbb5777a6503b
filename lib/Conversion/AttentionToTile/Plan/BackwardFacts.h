//===- BackwardFacts.h - what a plan asks of a gradient ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_BACKWARDFACTS_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_BACKWARDFACTS_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Attention/IR/AuxPlace.h"
#include "fa3/Tuning/BackwardPlan.h"

namespace fa3 {

/// Reads what Tuning/BackwardPlan.h plans by.
mlir::FailureOr<BackwardFacts> readBackwardFacts(attention::HostFunction &host);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_BACKWARDFACTS_H
