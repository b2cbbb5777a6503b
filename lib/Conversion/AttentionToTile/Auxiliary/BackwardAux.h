//===- BackwardAux.h - gradients of auxiliary operands ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_AUXILIARY_BACKWARDAUX_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_AUXILIARY_BACKWARDAUX_H

#include "fa3/Dialect/Attention/IR/AuxPlace.h"
#include "fa3/Tuning/BackwardPlan.h"
#include "mlir/IR/Builders.h"

namespace fa3 {

/// How the gradient of an auxiliary operand that is read at `place` is
/// computed.
BackwardProducts getAuxProducts(const attention::AuxPlace &place);

/// Whether several heads, sequences or rows share an element, so that sums of
/// rows are summed up by another kernel. Elements for each pair never do.
bool hasPartialSums(const attention::AuxPlace &place);

/// Emits the grid of a kernel that sums up `partials`, f32 (batch, head, row),
/// over all that `place` does not have, into `gradient`. Always in the same
/// order.
void buildAuxSum(mlir::OpBuilder &builder, mlir::Location loc,
                 const attention::AuxPlace &place, mlir::Value partials,
                 mlir::Value gradient);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_AUXILIARY_BACKWARDAUX_H
