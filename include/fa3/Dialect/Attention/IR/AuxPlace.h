//===- AuxPlace.h - where score code reads an operand -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The gradient of an auxiliary operand is a sum over the pairs of a query and a
// key that read the same element: over what the place does not depend on.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_ATTENTION_IR_AUXPLACE_H
#define FA3_DIALECT_ATTENTION_IR_AUXPLACE_H

#include "fa3/Dialect/Attention/IR/Attention.h"

namespace fa3::attention {

/// What an index into an auxiliary operand is. `One` is 0 along an extent of 1,
/// `Computed` anything in a table.
enum class AuxIndex { Batch, Head, Query, Key, One, Column, Computed };

/// The place at which `score_mod` or `epilogue` reads an auxiliary operand;
/// without indices if neither reads it (yet, before mods are expanded).
struct AuxPlace {
  llvm::SmallVector<AuxIndex> indices;
  /// The indices of a table, values of `score_mod`.
  llvm::SmallVector<mlir::Value> computed;
  bool isOfEpilogue = false;
  bool has(AuxIndex index) const { return llvm::is_contained(indices, index); }
  /// Whether pairs say which elements they read; all indices are `Computed`.
  bool isTable() const { return !computed.empty(); }
};

/// The place of auxiliary operand `number`. Fails, with an error at the read,
/// if there are several or one has no gradient (C17 and C29 of
/// attention.backward).
mlir::FailureOr<AuxPlace> getAuxPlace(BackwardOp op, int64_t number);

/// Whether all indices of a table are the same for query i and key j as for
/// query i + 1 and key j + 1: they depend on nothing but the difference.
bool isAlongDiagonals(BackwardOp op, const AuxPlace &place);

/// Whether all indices of a table are the same in all sequences.
bool isSharedByBatch(BackwardOp op, const AuxPlace &place);

/// Values of `score_mod` that are the same for query i + n and key j + n as for
/// i and j, if `alongDiagonals`, and in all sequences, if `byBatch`.
llvm::SmallVector<mlir::Value>
getSharedValues(BackwardOp op, bool alongDiagonals, bool byBatch);

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_IR_AUXPLACE_H
