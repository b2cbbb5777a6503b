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
/// order, or what places index instead.
struct BackwardOperands {
  mlir::Value q, k, v, outGrad;
  /// For every query -lse * log2(e), 0 where it sees no key, and the sum of the
  /// products of o and its gradient; f32, see SequenceCode.
  mlir::Value shift, delta;
  /// With large scores, where `shift` is -lse: what the rounding of lse left of
  /// exponents, to be added to them. The kernel of dq writes it. Null without.
  mlir::Value rest;
  mlir::Value dq, dk, dv; ///< null where the kernel does not compute them
  /// Where the gradient of an auxiliary operand goes, which its number in
  /// `grad_aux` is, and where `score_mod` reads it. Without a place, sums of
  /// rows go to f32 (batch, head, row).
  mlir::Value auxGrad;
  unsigned auxPosition = 0;
  attention::AuxPlace auxPlace;
  /// Gradients of auxiliary operands that the output is edited with, as (batch,
  /// head, query, column).
  llvm::SmallVector<mlir::Value> editGrads;
  /// What steps add dq to, without the scale; f32, like dq.
  mlir::Value dqSums;
  /// Auxiliary operands, and the same with the last two dimensions exchanged.
  llvm::SmallVector<mlir::Value> aux, transposedAux;
  mlir::Value scale; ///< f32
  /// How many queries of a sequence are computed, null for all; and what says
  /// how many sequences there are.
  mlir::Value maxQ;
  attention::BatchExtent batch;
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
