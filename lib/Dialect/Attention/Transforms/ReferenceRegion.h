//===- ReferenceRegion.h - scalar code in references ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCEREGION_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCEREGION_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3::attention {

/// An element of an auxiliary operand, 0 outside of it.
mlir::Value readElement(mlir::ImplicitLocOpBuilder &b,
                        mlir::tensor::ExtractOp extract,
                        mlir::IRMapping &mapping);

/// Copies an operation of a region, a division as what it is there.
void cloneScalar(mlir::ImplicitLocOpBuilder &b, mlir::Operation &op,
                 mlir::IRMapping &mapping);

/// Copies the code of a region of attention to the insertion point, reading the
/// arrays of the host function, and gives what it yields.
mlir::Value inlineRegion(mlir::ImplicitLocOpBuilder &b, HostFunction &host,
                         mlir::Region &region, mlir::ValueRange arguments);

/// What is added to the elements of an auxiliary operand, in f64.
struct ReadShift {
  mlir::Value tensor, amount;
};

/// The same with every number in f64: arguments and result are, conversions
/// between formats do nothing. Null, with an error, if the code looks at the
/// bits of a number.
mlir::Value inlineRegionWide(mlir::ImplicitLocOpBuilder &b, HostFunction &host,
                             mlir::Region &region, mlir::ValueRange arguments,
                             ReadShift shift = {});

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCEREGION_H
