//===- Softmax.h - softmax, named or written out ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_SOFTMAX_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_SOFTMAX_H

#include "Labels.h"
#include "mlir/IR/Operation.h"

namespace fa3::convert {

/// exp(x - max x) / sum exp(x - max x) along a dimension.
struct Softmax {
  /// The operation that gives the result.
  mlir::Operation *op;
  /// x, with the dimensions of the result.
  State input;
  /// The labels of the dimension.
  Group along;
};

/// Whether an operation is a softmax by its name.
bool isNamedSoftmax(mlir::Operation *op);

/// The softmax that a tensor is the result of. Nothing if it is none.
std::optional<Softmax> readSoftmax(Labels &labels, const State &result);

/// `state` and what it is a view of, or a float of another type, step by step;
/// `state` first. `widens`: only through steps that lose nothing.
llvm::SmallVector<State> peelRounds(Labels &labels, State state,
                                    bool widens = false);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_SOFTMAX_H
