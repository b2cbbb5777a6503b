//===- ScalarCode.h - elements of other projects' operations ----*- C++ -*-===//
//
// Operations of torch, StableHLO and TOSA, and linalg.generic, that compute
// every element of their result from elements of their operands; and the scalar
// code of one element: floats are f32, integers index, booleans i1.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_SCALARCODE_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_SCALARCODE_H

#include "Point.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

namespace fa3::convert {

/// Scalar code of operations that have torch's names.
class Translator {
public:
  Translator(Point &point) : point(point), b(point.b) {}

  /// A tensor, or a number, has this element.
  void map(mlir::Value value, mlir::Value scalar) { known[value] = scalar; }
  /// The element of a value; null with a problem noted.
  mlir::Value get(mlir::Value value);

private:
  enum class Kind { Float, Integer, Boolean };
  /// What a value is; nothing for what is no number.
  std::optional<Kind> getKind(mlir::Value value);
  mlir::Value compute(mlir::Operation *op, Kind kind);
  mlir::Value computeFilled(llvm::StringRef name, mlir::Operation *op,
                            Kind kind);
  mlir::Value computeBinary(mlir::Operation *op, llvm::StringRef name,
                            Kind kind);
  mlir::Value computeUnary(llvm::StringRef name, mlir::Value x);
  mlir::Value compare(mlir::Operation *op, llvm::StringRef name);
  mlir::Value as(mlir::Value value, Kind kind);
  mlir::Value operand(mlir::Operation *op, unsigned number, Kind kind);
  mlir::Value floorDivide(mlir::Value x, mlir::Value y);

  Point &point;
  mlir::ImplicitLocOpBuilder &b;
  llvm::DenseMap<mlir::Value, mlir::Value> known;
  unsigned depth = 0, count = 0;
};

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

/// The code of an element, for what readElements takes but linalg.generic; null
/// with a problem noted.
mlir::Value computeElement(Point &point, const State &result,
                           llvm::ArrayRef<State> inputs);

/// The position that each element of a tensor counts: of `arange`, `iota`.
/// Nothing if it does not.
bool isCounting(mlir::Operation *op);
mlir::Value computeCount(Point &point, const State &state);

/// What a choice between 0 and -inf depends on, and whether 0 is what it does
/// not choose; nothing if an operation is no such choice.
std::optional<std::pair<State, bool>> readChoice(Labels &labels,
                                                 const State &result);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_SCALARCODE_H
