//===- QuadStores.h - 16 bytes a thread of a fragment -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// In the accumulator's layout four lanes hold two columns each of every 8. Of
// 16-bit elements these are words, and of 32 columns the four words of each
// lane are exchanged; of 32-bit elements two lanes exchange two words of 16
// columns. Each lane then holds 16 bytes that lie side by side.
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

/// The same of 32-bit elements, which are words: those of lane q are at columns
/// 2 q, 2 q + 1, 8 + 2 q and 8 + 2 q + 1.
llvm::SmallVector<Quad> findWordQuads(const LinearLayout &layout);

/// Of four words (i32) of each of four lanes: those with the number of the lane
/// among its four, in the order of lanes.
std::array<mlir::Value, 4> exchangeQuad(mlir::OpBuilder &builder,
                                        mlir::Location loc, mlir::Value lane,
                                        std::array<mlir::Value, 4> words);

/// Of four words of each of two lanes, the first two of both go to the even
/// lane and the others to the odd one, in the order of lanes. Twice is the
/// identity.
std::array<mlir::Value, 4> exchangePair(mlir::OpBuilder &builder,
                                        mlir::Location loc, mlir::Value lane,
                                        std::array<mlir::Value, 4> words);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_QUADSTORES_H
