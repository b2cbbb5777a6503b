//===- ProducerRegisters.h - registers of groups that load ------*- C++ -*-===//

#ifndef FA3_DIALECT_WARP_ANALYSIS_PRODUCERREGISTERS_H
#define FA3_DIALECT_WARP_ANALYSIS_PRODUCERREGISTERS_H

#include "fa3/Dialect/Warp/IR/Warp.h"

namespace fa3::warp {

/// Registers per thread of the warp group of groups that do not compute,
/// beside `consumers` warp groups that do, so that these get the most.
/// `converts`: some group changes elements on their way.
int64_t getProducerRegisters(int64_t consumers, bool isNested, bool converts);

/// Whether a loop of the group holds another one: the state of both is live.
bool hasNestedLoops(GroupOp group);

} // namespace fa3::warp

#endif // FA3_DIALECT_WARP_ANALYSIS_PRODUCERREGISTERS_H
