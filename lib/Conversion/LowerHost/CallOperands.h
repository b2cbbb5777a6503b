//===- CallOperands.h - what calls bring beside arguments -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_LOWERHOST_CALLOPERANDS_H
#define FA3_LIB_CONVERSION_LOWERHOST_CALLOPERANDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace fa3 {

/// The stream of the function around a call; null without one. Fails with an
/// error where the function has several, or one that the call cannot see.
mlir::FailureOr<mlir::Value> findStream(mlir::Operation *call);

/// Whether a host function allocates memory between its kernels.
bool hasWorkspaces(mlir::func::FuncOp host);

/// Fails with an error where the size of a workspace is no formula of arrays'
/// extents and numbers that a caller could compute.
mlir::LogicalResult verifyWorkspaces(mlir::func::FuncOp host);

/// Allocates the memory of a call of `host`, whose arguments are `operands`:
/// one array of bytes for all workspaces, as the runtime places them in it.
mlir::Value allocateWorkspaces(mlir::OpBuilder &b, mlir::Location loc,
                               mlir::func::FuncOp host,
                               mlir::ValueRange operands);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_LOWERHOST_CALLOPERANDS_H
