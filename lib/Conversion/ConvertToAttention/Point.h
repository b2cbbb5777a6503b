//===- Point.h - code of one score ------------------------------*- C++ -*-===//
//
// Inside the regions of attention.forward: what the dimensions of a problem are
// there, and elements of tensors computed from them.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_POINT_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_POINT_H

#include "Labels.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace fa3::convert {

/// Which labels are batch, head, query and key of attention.forward.
struct Roles {
  Group batch, head, query, key;
};

class Point {
public:
  Point(mlir::ImplicitLocOpBuilder &b, Labels &labels, const Roles &roles,
        const attention::ModContext &context,
        llvm::SetVector<mlir::Value> &tables, std::string &problem)
      : b(b), labels(labels), roles(roles), context(context), tables(tables),
        problem(problem) {}

  mlir::ImplicitLocOpBuilder &b;
  Labels &labels;

  /// The indices of the problem.
  mlir::Value getBatch() const { return context.batch; }
  mlir::Value getHead() const { return context.head; }
  mlir::Value getQuery() const { return context.query; }
  mlir::Value getKey() const { return context.key; }

  /// Position along the dimension that has these labels; null with a problem
  /// noted if a score has none.
  mlir::Value getIndex(llvm::ArrayRef<Label> group);

  /// An element of a tensor: computed in place where elementwise linalg code
  /// does nothing else, loaded otherwise. Null with a problem noted.
  mlir::Value getElement(const State &state);
  /// The results of an operation have this element wherever it is asked for.
  void setElement(mlir::Operation *op, mlir::Value element) {
    given = {op, element};
  }
  /// Of a tensor for which `isCondition` is true, what holds.
  mlir::Value getCondition(const State &state);
  /// Loads an element of a builtin tensor, or of one of torch.
  mlir::Value load(mlir::Value tensor, mlir::ValueRange indices);

  mlir::Value constant(double number, mlir::Type type);
  mlir::Value constantIndex(int64_t number);
  /// An integer of any type as index, a float as f32; back again.
  mlir::Value toIndex(mlir::Value value);
  mlir::Value toF32(mlir::Value value);
  mlir::Value toFloat(mlir::Value value, mlir::Type type);
  mlir::Value negate(mlir::Value condition);

  /// A value of a block of scalar code, whose arguments and operations that are
  /// not of arith or math `resolve` gives. Null with a problem noted.
  mlir::Value clone(mlir::Value value, mlir::Block *block,
                    llvm::function_ref<mlir::Value(mlir::Value)> resolve);

  /// Notes why there is no code; the first reason stays.
  mlir::Value fail(const llvm::Twine &reason);

private:
  mlir::Value clone(mlir::Value value, mlir::Block *block,
                    llvm::function_ref<mlir::Value(mlir::Value)> resolve,
                    llvm::DenseMap<mlir::Value, mlir::Value> &known);
  mlir::Value getGenericElement(mlir::Operation *op, const State &state,
                                bool condition);
  mlir::Value getIndexOf(Label label, const Group &role, mlir::Value index);

  const Roles &roles;
  const attention::ModContext &context;
  llvm::SetVector<mlir::Value> &tables;
  std::string &problem;
  std::pair<mlir::Operation *, mlir::Value> given;
  unsigned depth = 0;
  unsigned count = 0;
};

/// Whether an operation computes every element of its result by itself, from
/// elements of its operands: linalg.generic without reductions.
bool isElementwise(mlir::Operation *op);
/// The map of an operand of an operation of linalg whose maps were checked.
mlir::AffineMap getMap(mlir::Operation *op, unsigned number);
/// The operands of such an operation for a result with these dimensions.
llvm::SmallVector<State> getInputs(Labels &labels, mlir::Operation *op,
                                   const State &result);

/// Whether a tensor is computed to be 0 where something holds and -inf
/// elsewhere.
bool isCondition(Labels &labels, const State &state);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_POINT_H
