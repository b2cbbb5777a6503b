//===- Foreign.h - reading operations of other projects ---------*- C++ -*-===//
//
// Operations, types and attributes that may be registered or not are read
// through names and through the text of types, which are the same either way.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_FOREIGN_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_FOREIGN_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace fa3::convert {

/// The name of an operation, empty for none.
llvm::StringRef getName(mlir::Operation *op);
llvm::StringRef getDefiningName(mlir::Value value);

/// The builtin tensor type that a type stands for: itself, or what
/// `!torch.vtensor<[2,?,64],f16>` says. Null for everything else.
mlir::RankedTensorType getTensorType(mlir::Type type);
inline mlir::RankedTensorType getTensorType(mlir::Value value) {
  return value ? getTensorType(value.getType()) : mlir::RankedTensorType();
}
/// Whether a tensor's elements are integers without signs by their type.
bool hasUnsignedElements(mlir::Type type);
/// Whether a value is a tensor of torch.
bool isVTensor(mlir::Type type);

/// A value of torch or of a builtin type as a builtin tensor, and back: through
/// `torch_c.to_builtin_tensor` and `torch_c.from_builtin_tensor` where needed.
mlir::Value toBuiltin(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value);
mlir::Value fromBuiltin(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, mlir::Type type);

/// Constants of arith, torch, stablehlo and onnx: a scalar, or a tensor all of
/// whose elements are alike.
std::optional<double> getNumber(mlir::Value value);
std::optional<int64_t> getInteger(mlir::Value value);
/// A list of constants: `torch.prim.ListConstruct`, or a constant tensor of
/// rank 1.
std::optional<llvm::SmallVector<int64_t>> getIntegers(mlir::Value value);
/// Whether a value stands for nothing: of type `none` or `!torch.none`.
bool isNone(mlir::Value value);
inline bool isGiven(mlir::Value value) { return value && !isNone(value); }

/// Numbers of an attribute: an array, dense or not.
std::optional<llvm::SmallVector<int64_t>>
getIntegers(mlir::Attribute attribute);
/// One integer of at most 64 bits.
std::optional<int64_t> getInteger(mlir::Attribute attribute);

/// Operand `number`, null if there are not so many.
mlir::Value getOperand(mlir::Operation *op, unsigned number);
/// A result that an operation has and somebody uses, or null.
mlir::Value getUsedResult(mlir::Operation *op, unsigned number);

/// Whether an operation is known to have no effects.
bool isEffectFree(mlir::Operation *op);
/// Whether an operation says again what the type of a tensor says.
bool isAssertion(mlir::Operation *op);
/// Erases operations that nothing uses and that are known to have no effects,
/// and then what they alone have used.
void eraseDead(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_FOREIGN_H
