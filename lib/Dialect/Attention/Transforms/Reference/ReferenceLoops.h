//===- ReferenceLoops.h - loops of references -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_REFERENCELOOPS_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_REFERENCELOOPS_H

#include "fa3/Support/IndexBuilder.h"

namespace fa3::attention {

/// Loops by one, most of them from zero: the two are constants in front of all,
/// as references are interpreted.
class ReferenceLoops : public OwnIndexBuilder {
public:
  ReferenceLoops(mlir::Location loc, const mlir::OpBuilder &builder)
      : OwnIndexBuilder(loc, builder), zero(index(0)), one(index(1)) {}

  void loop(mlir::Value begin, mlir::Value end,
            llvm::function_ref<void(mlir::Value)> body) {
    OwnIndexBuilder::loop(begin, end, one, body);
  }
  void loop(mlir::Value end, llvm::function_ref<void(mlir::Value)> body) {
    loop(zero, end, body);
  }
  /// A loop that carries values.
  llvm::SmallVector<mlir::Value>
  carry(mlir::Value begin, mlir::Value end, mlir::ValueRange init,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                          mlir::ValueRange)>
            body) {
    return OwnIndexBuilder::loop(begin, end, one, init, body);
  }
  /// A loop that carries one value.
  mlir::Value
  reduce(mlir::Value end, mlir::Value init,
         llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> body) {
    return OwnIndexBuilder::loop(zero, end, one, init, body);
  }

  mlir::Value zero, one;
};

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_REFERENCELOOPS_H
