//===- ManifestFormula.h - index arithmetic as text -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TARGET_MANIFEST_MANIFESTFORMULA_H
#define FA3_LIB_TARGET_MANIFEST_MANIFESTFORMULA_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Value.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseMap.h"
#include <string>

namespace fa3 {

/// A view of an argument or a workspace.
struct View {
  /// A dimension of it, of which every `step`-th index is taken; the extent is
  /// the quotient if it is not given.
  struct Dim {
    unsigned number;
    int64_t step = 1;
    std::optional<int64_t> extent = std::nullopt;
  };
  mlir::Value source;
  llvm::SmallVector<Dim> dims;
  /// Whether extent and stride of a dimension are those of the source.
  bool isWhole(unsigned dim) const { return dims[dim].step == 1; }
};

/// Prints values of a host function as formulas of the manifest. Failures are
/// reported at the operation that has no formula.
class FormulaPrinter {
public:
  /// Names an argument or a workspace (memref.alloc).
  void setName(mlir::Value value, std::string name) {
    names[value] = std::move(name);
  }
  const std::string &getName(mlir::Value value) const {
    return names.find(value)->second;
  }

  mlir::FailureOr<std::string> print(mlir::Value value);
  /// Prints an i1, or its negation, so that `&&` and `||` may join it with
  /// others.
  mlir::FailureOr<std::string> printCondition(mlir::Value value, bool isTrue);
  /// Follows views (casts, transpositions) to the memory behind them.
  mlir::FailureOr<View> getView(mlir::Value memref);
  mlir::FailureOr<View> getExpanded(mlir::memref::ExpandShapeOp op);
  std::string getExtent(const View &view, unsigned dim) const;
  std::string getStride(const View &view, unsigned dim) const;

private:
  /// How tightly the outermost operator of a formula binds.
  enum Precedence { Or, And, Comparison, Sum, Product, Primary };
  struct Text {
    std::string text;
    Precedence precedence;
  };

  mlir::FailureOr<Text> get(mlir::Value value);
  mlir::FailureOr<Text> getOp(mlir::Operation *op, mlir::OpResult result);
  mlir::FailureOr<Text> getMetadata(mlir::OpResult result);
  mlir::FailureOr<Text> getSelect(mlir::Operation *op);
  mlir::FailureOr<Text> getComparison(mlir::Operation *op,
                                      llvm::StringRef symbol, bool isUnsigned);
  mlir::FailureOr<Text> getFloatComparison(mlir::Operation *op,
                                           llvm::StringRef symbol);
  mlir::FailureOr<Text> getBinary(mlir::Operation *op, llvm::StringRef symbol,
                                  Precedence precedence);
  mlir::FailureOr<Text> getCall(mlir::Operation *op, llvm::StringRef name);
  mlir::FailureOr<std::string> getFloatOperand(mlir::Value value);
  /// Fails unless both operands are known not to be negative.
  mlir::LogicalResult requireNonNegative(mlir::Operation *op);
  bool isNonNegative(mlir::Value value, unsigned depth = 0) const;

  static std::string parenthesize(const Text &text, Precedence least);

  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseMap<mlir::Value, Text> known;
};

} // namespace fa3

#endif // FA3_LIB_TARGET_MANIFEST_MANIFESTFORMULA_H
