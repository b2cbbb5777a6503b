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

/// What an index into an auxiliary operand is. `One` is 0 along an extent of 1.
enum class AuxIndex { Batch, Head, Query, Key, One, Column };

/// The place at which `score_mod` or `epilogue` reads an auxiliary operand;
/// without indices if neither reads it (yet, before mods are expanded).
struct AuxPlace {
  llvm::SmallVector<AuxIndex> indices;
  bool isOfEpilogue = false;
  bool has(AuxIndex index) const { return llvm::is_contained(indices, index); }
};

/// The place of auxiliary operand `number`. Fails, with an error at the read,
/// if there are several or one has no gradient (C17 and C29 of
/// attention.backward).
mlir::FailureOr<AuxPlace> getAuxPlace(BackwardOp op, int64_t number);

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_IR_AUXPLACE_H
