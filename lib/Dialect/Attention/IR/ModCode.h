//===- ModCode.h - code that modifications share ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_IR_MODCODE_H
#define FA3_LIB_DIALECT_ATTENTION_IR_MODCODE_H

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3::attention {

mlir::Value indexConstant(mlir::ImplicitLocOpBuilder &b, int64_t value);

/// An element of an auxiliary operand; index 0 along a static extent of 1 of
/// the first `shared` dimensions.
mlir::Value readElement(mlir::ImplicitLocOpBuilder &b, mlir::Value tensor,
                        llvm::SmallVector<mlir::Value> indices,
                        size_t shared = 4);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_IR_MODCODE_H
