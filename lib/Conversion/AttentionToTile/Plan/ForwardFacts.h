//===- ForwardFacts.h - what a plan asks of an attention --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_FORWARDFACTS_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_FORWARDFACTS_H

#include "PackGroups.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Tile/Analysis/ElementLoads.h"
#include "fa3/Tuning/ForwardPlan.h"

namespace fa3 {

/// Reads what Tuning/ForwardPlan.h plans by. `packing` are the heads that are
/// rows; `loads` says who loads tiles for score code.
mlir::FailureOr<ForwardFacts>
readForwardFacts(attention::HostFunction &host,
                 const std::optional<GroupPacking> &packing,
                 tile::LoadPolicy loads);

/// Says so if integers that mask or score code keeps for each key have made the
/// tile smaller.
void remarkNumbers(attention::ForwardOp forward, const ForwardFacts &facts,
                   const ForwardPlan &plan);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_FORWARDFACTS_H
