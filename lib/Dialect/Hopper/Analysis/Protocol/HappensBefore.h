//===- HappensBefore.h - drawings of what orders a kernel -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_HAPPENSBEFORE_H
#define FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_HAPPENSBEFORE_H

#include "ProtocolTrace.h"
#include "fa3/Dialect/Warp/Analysis/Explorer.h"

namespace fa3::hopper {

/// Draws, as SVG, the events of process `p` in which the loop at instruction
/// `choice` was in iteration `iteration`, and what is ordered with them.
void drawTrace(const ProtocolTrace &trace, const warp::JointState &state,
               unsigned p, unsigned choice, unsigned iteration,
               llvm::raw_ostream &out);

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_HAPPENSBEFORE_H
