//===- BackwardTable.h - gradients of tables --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_AUXILIARY_BACKWARDTABLE_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_AUXILIARY_BACKWARDTABLE_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Attention/IR/AuxPlace.h"

namespace fa3 {

/// Allocates the sums of a table's gradient: of every element some, each of
/// which a part of the CTAs adds to, as the first dimension. Requires that no
/// sum has more terms than it has room for.
mlir::Value allocateTableSums(mlir::ImplicitLocOpBuilder &b,
                              attention::HostFunction &host,
                              const attention::AuxPlace &place,
                              mlir::Value gradient, const llvm::Twine &name);

/// Emits the grid of a kernel that sets sums to 0.
void buildZeroSums(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value sums);

/// Emits the grid of a kernel that rounds sums to the gradient.
void buildTableGradient(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value sums, mlir::Value gradient);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_AUXILIARY_BACKWARDTABLE_H
