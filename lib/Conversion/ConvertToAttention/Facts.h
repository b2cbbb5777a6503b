//===- Facts.h - what is known of integer code ------------------*- C++ -*-===//
//
// Integers of scalar code as linear forms of what they are computed from, and
// bounds of these: enough to see that a difference of neighbors is 1, that an
// index is not negative, or that a query sees the key of its own number.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_FACTS_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_FACTS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace fa3::convert {

/// constant + sum of coefficient * atom, a value that is not read further.
/// Atoms in order of their appearance, each once, with coefficients but 0.
struct Linear {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> terms;
  bool operator==(const Linear &other) const;
};

class Facts {
public:
  /// A value lies between two numbers, both included.
  void setRange(mlir::Value value, int64_t least, int64_t greatest);
  /// A value is what a form says.
  void setForm(mlir::Value value, Linear form) { given[value] = form; }
  /// What was derived is derived anew: operations were erased.
  void forget();

  /// The form of an integer of at most 64 bits or an index; conditions are 0 or
  /// 1.
  Linear getForm(mlir::Value value);
  /// The number that a value has always.
  std::optional<int64_t> getConstant(mlir::Value value);
  bool isNonNegative(mlir::Value value);
  /// Whether a value is a linear form of arguments of blocks.
  bool isOfArguments(mlir::Value value);

  /// Writes what is known into the code of a block, and erases what is not
  /// used any longer.
  void simplify(mlir::Block &block);

private:
  /// Wide enough for products of what 64 bits hold.
  struct Range {
    __int128 least, greatest;
  };
  Range getRange(const Linear &form) const;
  Range getAtomRange(mlir::Value atom) const;
  Linear makeAtom(mlir::Value value, std::optional<Range> range = {});
  Linear compute(mlir::Operation *op, mlir::Value value);
  Linear computeCast(mlir::Operation *op, mlir::Value value);
  Linear computeArithmetic(mlir::Operation *op, mlir::Value value);
  Linear computeExtremum(mlir::Operation *op, mlir::Value value);
  Linear computeQuotient(mlir::Operation *op, mlir::Value value, bool isRest);
  Linear computeChoice(mlir::Operation *op, mlir::Value value);
  Linear computeLogic(mlir::Operation *op, mlir::Value value);
  Linear computeComparison(mlir::Operation *op, mlir::Value value);
  Linear computeFloatComparison(mlir::Operation *op, mlir::Value value);
  std::optional<Linear> combine(const Linear &a, int64_t factor,
                                const Linear &b) const;
  bool fits(const Linear &form, mlir::Type type) const;
  bool isSame(mlir::Value a, mlir::Value b);
  mlir::Value materialize(mlir::OpBuilder &b, mlir::Location loc,
                          const Linear &form, mlir::Type type);
  bool rewrite(mlir::Operation &op);

  llvm::DenseMap<mlir::Value, Linear> given, forms;
  llvm::DenseMap<mlir::Value, Range> givenRanges, ranges;
  /// Values of each operation that is not read further, for those that are
  /// computed twice.
  llvm::SmallVector<mlir::Value> atoms;
  unsigned depth = 0;
};

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_FACTS_H
