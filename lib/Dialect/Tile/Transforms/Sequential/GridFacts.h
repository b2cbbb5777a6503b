//===- GridFacts.h - what is known of a grid --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_GRIDFACTS_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_GRIDFACTS_H

#include "GridPlan.h"
#include "GridSharing.h"

namespace fa3::tile {

/// Facts for the plan of a grid, which this does not change. `places` is the
/// order of its indices (orderIndices).
GridFacts getGridFacts(GridOp grid, llvm::ArrayRef<unsigned> places,
                       LoadPolicy loads, int64_t l2Bytes);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_GRIDFACTS_H
