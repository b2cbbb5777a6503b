//===- ScalarCode.h - the code of one element -------------------*- C++ -*-===//
//
// Scalar code of operations of torch, StableHLO and TOSA: floats are f32,
// integers index, booleans i1.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_SCALARCODE_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_SCALARCODE_H

#include "PointBuilder.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

namespace fa3::convert {

/// Scalar code of operations that have torch's names.
class Translator {
public:
  Translator(PointBuilder &point) : point(point), b(point.b) {}

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
  mlir::Value computeChoice(llvm::StringRef name, mlir::Operation *op,
                            Kind kind);
  mlir::Value computeSign(llvm::StringRef name, mlir::Operation *op, Kind kind);
  mlir::Value computeRoundedQuotient(mlir::Operation *op, Kind kind);
  mlir::Value computeBinary(mlir::Operation *op, llvm::StringRef name,
                            Kind kind);
  mlir::Value computeWithNumbers(llvm::StringRef name, mlir::Operation *op,
                                 Kind kind);
  mlir::Value computeUnary(llvm::StringRef name, mlir::Value x);
  mlir::Value compare(mlir::Operation *op, llvm::StringRef name);
  mlir::Value as(mlir::Value value, Kind kind);
  mlir::Value operand(mlir::Operation *op, unsigned number, Kind kind);
  mlir::Value floorDivide(mlir::Value x, mlir::Value y);

  PointBuilder &point;
  mlir::ImplicitLocOpBuilder &b;
  llvm::DenseMap<mlir::Value, mlir::Value> known;
  unsigned depth = 0, count = 0;
};

/// The code of an element, for what readElements takes but linalg.generic; null
/// with a problem noted.
mlir::Value computeElement(PointBuilder &point, const State &result,
                           llvm::ArrayRef<State> inputs);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_SCALARCODE_H
