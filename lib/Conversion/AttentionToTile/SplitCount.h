//===- SplitCount.h - into how many parts keys are divided ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Where the caller leaves it open, the host function chooses: by the tiles that
// there are without parts, the multiprocessors, and the keys that a sequence
// may have. What it is given are extents, no lengths, which only the device
// knows; so a captured graph has the same number for all lengths.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_SPLITCOUNT_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_SPLITCOUNT_H

#include "PackGroups.h"

namespace fa3 {

/// The number of parts of a launch, at least 1, on the host: what `splits` says
/// if that is above 0, and else what fills the multiprocessors. `rows` are
/// those of a tile.
mlir::Value buildSplitCount(mlir::ImplicitLocOpBuilder &b,
                            attention::HostFunction &host,
                            const std::optional<GroupPacking> &packing,
                            int64_t rows);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_SPLITCOUNT_H
