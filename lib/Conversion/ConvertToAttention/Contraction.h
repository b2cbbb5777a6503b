//===- Contraction.h - sums of products of two tensors ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_CONTRACTION_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_CONTRACTION_H

#include "Labels.h"
#include "mlir/IR/Operation.h"

namespace fa3::convert {

/// A sum of products of elements of two tensors that starts from 0, whichever
/// project wrote it.
struct Contraction {
  mlir::Operation *op = nullptr;
  /// The two operands and the result.
  mlir::Value tensors[3];
  /// The loop of each of their dimensions; -1 for one of extent 1 that has
  /// none.
  llvm::SmallVector<int64_t> loops[3];
  int64_t count = 0;

  /// Tensor `number` with these labels of the loops; fails if an extent does
  /// not fit.
  llvm::FailureOr<State> getState(Labels &labels, unsigned number,
                                  const Dims &ofLoops) const;
};

/// linalg's contractions, matmul, bmm, mm and einsum of torch, dot_general of
/// StableHLO, matmul of TOSA. Nothing for other operations.
std::optional<Contraction> readContraction(mlir::Operation *op);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_CONTRACTION_H
