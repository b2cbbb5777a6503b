//===- PointBuilder.h - code of one score -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_POINTBUILDER_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_POINTBUILDER_H

#include "Elements.h"
#include "Facts.h"
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

class PointBuilder {
public:
  PointBuilder(mlir::ImplicitLocOpBuilder &b, Labels &labels,
               const Roles &roles, const attention::ModContext &context,
               llvm::SetVector<mlir::Value> &tables, std::string &problem);

  mlir::ImplicitLocOpBuilder &b;
  Labels &labels;
  /// What is known of the code so far.
  Facts facts;

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
  /// Whether a choice does not hide, given the tensor that it depends on.
  mlir::Value getVisible(const State &state, const Choice &choice);
  /// The results of an operation have this element wherever it is asked for.
  void setElement(mlir::Operation *op, mlir::Value element) {
    given = {op, element};
    elements.clear();
  }
  /// A label for a dimension along which an element is at this position.
  Label bind(mlir::Value index, int64_t extent);
  /// Runs `compute`. If that fails, or `accepts` not, nothing is left of it but
  /// a null value.
  mlir::Value attempt(
      llvm::function_ref<mlir::Value()> compute,
      llvm::function_ref<bool(mlir::Value)> accepts = [](mlir::Value) {
        return true;
      });
  /// Loads an element of a builtin tensor, or of one of torch.
  mlir::Value load(mlir::Value tensor, mlir::ValueRange indices);

  mlir::Value constant(double number, mlir::Type type);
  mlir::Value constantIndex(int64_t number);
  /// An integer of any type as index, a float as f32; back again.
  mlir::Value toIndex(mlir::Value value);
  mlir::Value toF32(mlir::Value value);
  mlir::Value toFloat(mlir::Value value, mlir::Type type);
  /// A scalar as one of this type.
  mlir::Value toType(mlir::Value value, mlir::Type type);
  mlir::Value negate(mlir::Value condition);
  /// An element as a condition: whether it is not 0.
  mlir::Value toCondition(mlir::Value element);

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
                                mlir::Value wanted);
  mlir::Value getIndexOf(Label label, const Group &role, mlir::Value index);
  mlir::Value evaluate(const State &state);
  mlir::Value loadElement(const State &state);
  mlir::Value extract(mlir::Operation *op, mlir::Block *block,
                      llvm::function_ref<mlir::Value(mlir::Value)> resolve,
                      llvm::DenseMap<mlir::Value, mlir::Value> &known);

  const Roles &roles;
  const attention::ModContext &context;
  llvm::SetVector<mlir::Value> &tables;
  std::string &problem;
  std::pair<mlir::Operation *, mlir::Value> given;
  llvm::SmallVector<std::pair<Label, mlir::Value>> bound;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<std::pair<Dims, mlir::Value>>>
      elements;
  /// Whether tables are read at arguments and constants only.
  bool isStrict = false;
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

/// Where the indices of the problem lie.
void setRanges(Facts &facts, Labels &labels, const Roles &roles,
               const attention::ModContext &context);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_POINTBUILDER_H
