//===- BackwardUnits.h - sums of dq as integers -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A sum of integers needs no order. What a step gives to a query's dq becomes a
// number of units, each as large as the sum of all steps allows: no element of
// dS K exceeds (|do| |v| + |delta|) |k|, with the largest row of v and the
// largest element of k, since the weights of a row sum up to 1 at most. Two
// kernels in front of all look for these; that of delta knows the rest.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDUNITS_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDUNITS_H

#include "BackwardStep.h"

namespace fa3 {

/// Keys that a tile of buildKeyMaxima looks at, and what it leaves of them.
inline constexpr int64_t kKeysOfMaxima = 512, kRowsOfMaxima = 64;

/// Emits the `tile.grid` of the kernel that writes to `maxima`, f32 (2, batch,
/// head of keys, row), the largest elements of k and the largest squares of
/// rows of v of every kKeysOfMaxima keys, in kRowsOfMaxima parts.
void buildKeyMaxima(mlir::OpBuilder &builder, attention::BackwardOp op,
                    const BackwardOperands &operands, mlir::Value maxima);

/// Emits that of the kernel that writes what is largest of these to all rows of
/// `reach`, f32 (2, batch, head of keys, 64).
void buildReach(mlir::OpBuilder &builder, mlir::Location loc,
                mlir::Value maxima, mlir::Value reach);

/// How many units are 1, of queries that have the squares of do and the deltas
/// given. No number where one of these is none.
mlir::Value buildRate(mlir::ImplicitLocOpBuilder &b, mlir::Value squares,
                      mlir::Value delta, mlir::Value reach, mlir::Value batch,
                      mlir::Value head, mlir::Value heads);

/// A tile of f32 as numbers of units, each row at the rate of its query.
mlir::Value countUnits(mlir::ImplicitLocOpBuilder &b, mlir::Value tile,
                       mlir::Value rate);

/// The unit of each of `rows` queries.
mlir::Value loadUnit(mlir::ImplicitLocOpBuilder &b, mlir::Value rates,
                     mlir::ValueRange place, int64_t rows);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDUNITS_H
