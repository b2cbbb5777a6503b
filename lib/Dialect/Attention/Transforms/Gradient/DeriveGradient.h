//===- DeriveGradient.h - reverse mode over score code ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_GRADIENT_DERIVEGRADIENT_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_GRADIENT_DERIVEGRADIENT_H

#include "fa3/Dialect/Attention/IR/Attention.h"

namespace fa3::attention {

/// Makes score_grad from score_mod, which has code. It fails, with an error and
/// without a change, if the derivative of an operation is not known.
mlir::LogicalResult deriveScoreGradient(BackwardOp op);
/// The same for epilogue_grad and epilogue.
mlir::LogicalResult deriveEpilogueGradient(BackwardOp op);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_GRADIENT_DERIVEGRADIENT_H
