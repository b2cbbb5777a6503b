//===- Cudnn.h - settings of cuDNN's attention ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_CUDNN_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_CUDNN_H

#include "Foreign.h"

namespace fa3::convert {

/// What the settings of a call say that is converted.
struct CudnnSettings {
  double scale;
  bool isCausal, isPadded;
  /// Keys in the window, 0 for none.
  int64_t window;
  /// (b, s, h, d) and not (b, h, s, d).
  bool isSequenceFirst;
};

/// The name of the function that is called.
llvm::StringRef getCudnnTarget(mlir::Operation *op);

/// Reads them; the numbers of dimensions of `product`, of two tensors like q
/// and k, say where batch and heads are. Says in a remark what is not
/// converted.
llvm::FailureOr<CudnnSettings> readCudnnSettings(mlir::Operation *op,
                                                 llvm::StringRef product);

/// Whether an operand says lengths, an integer for each batch.
bool isLengths(mlir::Value value);

/// A gradient becomes attention.backward.
llvm::LogicalResult convertCudnnBackward(mlir::Operation *op);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_CUDNN_H
