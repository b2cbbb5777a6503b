//===- SplitCount.h - into how many parts keys are divided ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Where the caller leaves it open, the host function chooses: by the tiles that
// there are without parts, the multiprocessors, and the keys that a sequence
// may have. What it is given are extents, no lengths, which only the device
// knows; so a captured graph has the same number for all lengths.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_SPLITCOUNT_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_SPLITCOUNT_H

#include "../Forward/Kernel.h"

namespace fa3 {

/// Memory for the results of each part of the keys: f32, the number of the part
/// is the first dimension, the others are those of the result. Parts are as
/// many as `splits` says if that is above 0, and else fill the multiprocessors.
/// `rows` are those of a tile; with `partKeys` a part has so many keys, and the
/// host chooses as many parts as the keys of a sequence may be. `flags`, if not
/// null, becomes an array like that of lse, of i32.
AttentionResults allocateParts(attention::HostFunction &host,
                               const std::optional<GroupPacking> &packing,
                               int64_t rows, int64_t partKeys,
                               mlir::Value *flags = nullptr);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_SPLITCOUNT_H
