//===- ForwardChoices.h - what a forward is built with ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Choices of attention-to-tile that figures decide, beside the tile itself
// (Tuning/TileChoice.h), and what it says of them.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_FORWARDCHOICES_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_FORWARDCHOICES_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Tuning/TileChoice.h"

namespace fa3 {

/// Whether so many products of 8-bit operands are added up that their sum loses
/// what a step adds, by a figure of docs/Performance.md ("Long sequences"): a
/// result of which one key is half is off by a fifth.
bool needsTwoLevels(attention::HostFunction &host);

/// After how many steps products are added to the sum in fp32. By figures of
/// docs/Performance.md ("Long sequences"): 8 err a fifth of what rounding of
/// the inputs does, and are faster by 11 % for narrow heads without a mask; of
/// wide heads they are not, and with a mask every step is 3 % faster.
int64_t chooseTwoLevelSteps(attention::ForwardOp forward);

/// Says so if integers that mask or score code keeps for each key have made the
/// tile smaller.
void remarkNumbers(attention::ForwardOp forward, RegionDemand demand,
                   std::optional<int64_t> queries, TileChoice tile);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_FORWARDCHOICES_H
