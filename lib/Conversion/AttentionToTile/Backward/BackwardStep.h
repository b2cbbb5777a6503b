//===- BackwardStep.h - body of one backward kernel -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDSTEP_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDSTEP_H

#include "../Emit/SequenceCode.h"
#include "fa3/Dialect/Attention/IR/AuxPlace.h"
#include "fa3/Tuning/BackwardPlan.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace fa3 {

/// Values that a kernel takes: memrefs in (batch, head, sequence, element)
/// order, or what places index instead. Gradients that it does not compute are
/// null.
struct BackwardOperands : attention::Operands {
  /// What `auxGrad` is the gradient of, by its number in `grad_aux`, and where
  /// `score_mod` reads that. Without a place, sums of rows go to f32 (batch,
  /// head, row).
  unsigned auxPosition = 0;
  attention::AuxPlace auxPlace;
  /// Query heads of a key head, null where the kernel computes that: beside
  /// lists an argument takes no register.
  mlir::Value group;
  /// Scalars that the regions capture.
  mlir::IRMapping captures;
  /// Whether a key head has one query head only.
  bool hasSingleHeads = false;
};

/// Emits the `tile.grid` of a kernel at the builder's position.
void buildBackwardBody(mlir::OpBuilder &builder, attention::BackwardOp op,
                       const BackwardOperands &operands,
                       const BackwardPart &part);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDSTEP_H
