//===- HostForm.h - what becomes a host function ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_CONTRACT_HOSTFORM_H
#define FA3_LIB_DIALECT_ATTENTION_CONTRACT_HOSTFORM_H

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fa3::attention {

/// Checks that `function` has the form that createHostFunction takes; `op` may
/// be null.
mlir::LogicalResult verifyForm(mlir::func::FuncOp function,
                               ScoredOpInterface op);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_CONTRACT_HOSTFORM_H
