//===- Quantization.h - attention.quantize in host functions ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a host function knows of an attention.quantize: its tensors as memrefs,
// results that nobody returns among them as memory of the call (memref.alloc).
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_ATTENTION_CONTRACT_QUANTIZATION_H
#define FA3_DIALECT_ATTENTION_CONTRACT_QUANTIZATION_H

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fa3::attention {

/// One attention.quantize. All values are values of the host function.
struct HostQuantization {
  QuantizeOp op;
  /// Name that its kernels and memory start with: "q" for the q of attention.
  std::string name;
  /// Seen as (batch, head, sequence, element).
  mlir::Value source, values;
  /// (batch, head, block), and d x d or null.
  mlir::Value scales, rotation;
  /// The signs that the matrix is made of, if this is the first that takes it.
  mlir::Value signs;
  /// Extents of the source.
  mlir::Value batch, heads, rows;
};

/// The operand of `scored`, which may be null, that is a result of `op`: "q",
/// "k", "v" or, of gradients, "do"; empty if there is none.
llvm::StringRef getQuantizedOperand(QuantizeOp op, ScoredOpInterface scored);

/// Checks that every attention.quantize of `function` takes arguments of the
/// function, agrees in layout with `scored`, which may be null, and has each
/// result returned or used by it.
mlir::LogicalResult verifyQuantizations(mlir::func::FuncOp function,
                                        ScoredOpInterface scored);

/// Whether an element of the Hadamard matrix of an order is -1. `row` and
/// `column` are indices or tiles of them.
mlir::Value buildHadamardSign(mlir::ImplicitLocOpBuilder &b, int64_t order,
                              mlir::Value row, mlir::Value column);

/// The integer nearest to an f32, or to each of a tile, as f32: ties to even, 0
/// for a NaN.
mlir::Value roundToInteger(mlir::ImplicitLocOpBuilder &b, mlir::Value value);

/// Memory for a tensor with the given extents, for the duration of a call.
mlir::Value allocateWorkspace(mlir::ImplicitLocOpBuilder &b,
                              mlir::RankedTensorType type,
                              mlir::ValueRange extents,
                              const llvm::Twine &name);

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_CONTRACT_QUANTIZATION_H
