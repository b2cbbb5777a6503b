//===- QuadStores.h - 16 bytes a thread of a 16-bit fragment ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// In the accumulator's layout four lanes hold 16 bytes of a row, in words of
// two columns, and so for every 8 columns. Of 32 columns the four words of each
// lane are exchanged: each lane then holds 16 bytes that lie side by side.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_QUADSTORES_H
#define FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_QUADSTORES_H

#include "fa3/Layout/LinearLayout.h"
#include "mlir/IR/Builders.h"
#include <array>

namespace fa3 {

/// Words of a row, as the number of the first of two registers each: word j of
/// lane q is at column 8 j + 2 q from where lane 0 has the first.
using Quad = std::array<int64_t, 4>;

/// All registers by quads; none if the layout is another.
llvm::SmallVector<Quad> findQuads(const LinearLayout &layout);

/// Of four words (i32) of each of four lanes: those with the number of the lane
/// among its four, in the order of lanes.
std::array<mlir::Value, 4> exchangeQuad(mlir::OpBuilder &builder,
                                        mlir::Location loc, mlir::Value lane,
                                        std::array<mlir::Value, 4> words);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_QUADSTORES_H
