//===- GradientRules.h - derivatives of scalar operations -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_DIALECT_ATTENTION_TRANSFORMS_GRADIENTRULES_H
#define FA3_DIALECT_ATTENTION_TRANSFORMS_GRADIENTRULES_H

#include "mlir/IR/DialectRegistry.h"

namespace fa3::attention {

/// Gives operations of arith and math their GradientOpInterface.
void registerGradientRules(mlir::DialectRegistry &registry);

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_TRANSFORMS_GRADIENTRULES_H
