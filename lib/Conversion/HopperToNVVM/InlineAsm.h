//===- InlineAsm.h - PTX statements in the llvm dialect ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Builds llvm.inline_asm from typed operands. Numbering follows LLVM: outputs
// first, then inputs.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_HOPPERTONVVM_INLINEASM_H
#define FA3_LIB_CONVERSION_HOPPERTONVVM_INLINEASM_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace fa3 {

class InlineAsm {
public:
  InlineAsm(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// Adds an output and returns its number; all outputs come before inputs. An
  /// early output may be written before all inputs are read.
  unsigned addOutput(mlir::Type type, bool early = false);
  unsigned addInput(mlir::Value value);
  /// An input in the register of an output.
  void addTied(mlir::Value value, unsigned output);

  /// Emits the statement, ordered with all other memory accesses, and returns
  /// the outputs.
  llvm::SmallVector<mlir::Value> emit(const llvm::Twine &text);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<mlir::Type> outputs;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<std::string> constraints;
};

/// Emits a statement without outputs that only threads with `predicate` execute
/// (all, if it is null). `inputs` are $0, $1, ...
void emitPredicatedAsm(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value predicate, const llvm::Twine &text,
                       mlir::ValueRange inputs);

/// Whether fragments of this type have a form as 32- or 64-bit registers.
bool isPackable(mlir::VectorType type);
/// The registers of a fragment: elements of 32 or 64 bits, smaller ones packed
/// into i32, the first in the low bits.
llvm::SmallVector<mlir::Value> unpackRegisters(mlir::OpBuilder &builder,
                                               mlir::Location loc,
                                               mlir::Value fragment);
/// The inverse.
mlir::Value packRegisters(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::ValueRange registers, mlir::VectorType type);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_HOPPERTONVVM_INLINEASM_H
