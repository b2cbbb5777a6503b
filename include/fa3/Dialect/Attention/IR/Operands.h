//===- Operands.h - operands of attention by role ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What an operand or result of attention is, described once (Operands.def), and
// values by these roles: of an operation, of its host function, of a kernel.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_ATTENTION_IR_OPERANDS_H
#define FA3_DIALECT_ATTENTION_IR_OPERANDS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace fa3::attention {

enum class Role : uint8_t {
#define FA3_OPERAND(field, name, rows, columns) field,
#include "fa3/Dialect/Attention/IR/Operands.def"
};

/// Whose rows an array has: a row for each query or key of each head, one
/// number for each query head, or dimensions of its own.
enum class Rows : uint8_t { Query, Key, Head, None };
/// What a row consists of: elements of a key, as many for each term of q,
/// elements of a value, or one number, for which there is no dimension.
enum class Columns : uint8_t { Element, Terms, Value, None };

struct OperandInfo {
  llvm::StringLiteral name; ///< of the argument of a host function
  Rows rows;
  Columns columns;
};
const OperandInfo &getInfo(Role role);

/// All roles, in the order in which kernels take them.
llvm::ArrayRef<Role> getAllRoles();

/// What says how many sequences there are: the first extent of q, or where that
/// has a place an extent of an auxiliary operand, which has some elements more.
struct BatchExtent {
  std::optional<unsigned> aux;
  int64_t axis = 0, more = 0;
};

/// Values by role; null, or none, where there is nothing.
struct Operands {
#define FA3_OPERAND(field, name, rows, columns) mlir::Value field;
#define FA3_OPERANDS(field, name, rows, columns)                               \
  llvm::SmallVector<mlir::Value> field;
#include "fa3/Dialect/Attention/IR/Operands.def"
  BatchExtent batchExtent;

  /// The values of an operation.
  static Operands get(mlir::Operation *op);

  llvm::MutableArrayRef<mlir::Value> operator[](Role role);
  llvm::ArrayRef<mlir::Value> operator[](Role role) const {
    return const_cast<Operands &>(*this)[role];
  }
  /// Sets the value of a role, or adds it to the values that this has.
  void add(Role role, mlir::Value value);
  /// The values that are there, in the order in which kernels take them.
  llvm::SmallVector<mlir::Value> list() const;
  /// Each of them replaced by what `get` gives for it.
  Operands map(llvm::function_ref<mlir::Value(mlir::Value)> get) const;
};

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_IR_OPERANDS_H
