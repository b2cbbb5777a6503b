//===- Elements.h - elementwise operations of other projects ----*- C++ -*-===//
//
// Operations of torch, StableHLO and TOSA, and linalg.generic, that compute
// every element of their result from elements of their operands.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_ELEMENTS_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_ELEMENTS_H

#include "Labels.h"
#include "mlir/IR/Operation.h"
#include <limits>

namespace fa3::convert {

class PointBuilder;

/// torch's name, without dialect and overload, for what an operation of torch,
/// StableHLO or TOSA does; empty for those of other dialects.
llvm::StringRef getTorchName(mlir::Operation *op);

/// What an operation does to each element, by torch's name for it without the
/// overload: "add", "ge", "where", "to". Of a linalg.generic whose body is one
/// operation, that; "round" for a change of the float type. Empty for others.
llvm::StringRef getElementName(mlir::Operation *op);

/// The tensors that an elementwise operation reads for an element of `result`,
/// in the order of its operands; nothing if the operation is none, or none that
/// there is scalar code for.
std::optional<llvm::SmallVector<State>> readElements(Labels &labels,
                                                     const State &result);

/// An operand of an elementwise operation: a tensor, or a number in its place.
struct Term {
  State state;
  std::optional<double> number;
};

/// The operands of an operation that has a name, in the order that the name
/// asks for; nothing if readElements does not take it.
std::optional<llvm::SmallVector<Term>> readTerms(Labels &labels,
                                                 const State &result);

/// The position that each element of a tensor counts: of `arange`, `iota`.
/// Nothing if it does not.
bool isCounting(mlir::Operation *op);
mlir::Value computeCount(PointBuilder &point, const State &state);

/// How a condition chooses what is not hidden.
struct Choice {
  /// What is in the place of a score that is hidden: -inf, or one of the least
  /// numbers of its type, which hides a key where its row has others.
  double hidden = -std::numeric_limits<double>::infinity();
  /// Whether it holds for what is hidden.
  bool isNegated = false;
  /// What is added where nothing is hidden; no value for 0.
  State rest = {};
  /// The condition inside of the body of a linalg.generic; null if it is an
  /// element.
  mlir::Value inBody = {};
};

/// Whether a number of a type hides a score: -inf, and half of the least number
/// or less.
bool hides(std::optional<double> number, mlir::Type type);

/// The number that all elements of a tensor are.
std::optional<double> getUniform(Labels &labels, const State &state);

/// What a choice between a number and what hides depends on: a tensor of
/// conditions, or a linalg.generic that has the condition. Nothing if an
/// operation is no such choice. `type` is what the
/// result is rounded to.
std::optional<std::pair<State, Choice>>
readChoice(Labels &labels, const State &result, mlir::Type type);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_ELEMENTS_H
