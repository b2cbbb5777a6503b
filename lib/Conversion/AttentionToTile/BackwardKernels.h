//===- BackwardKernels.h - kernels of attention.backward --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARDKERNELS_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARDKERNELS_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Tile/Analysis/ElementLoads.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3 {

struct BackwardOptions {
  /// Rows and columns of the scores of a step in every kernel, 0 to choose.
  int64_t rows, columns;
  tile::LoadPolicy loads;
  options::BackwardForm form;
  /// Whether every run has to give the same bits.
  bool deterministic;
  /// Whether loops will have more than one stage.
  bool pipelined;
};

/// Builds the kernels and their launches, and gives the number of kernels.
mlir::FailureOr<int64_t> buildBackwardKernels(attention::HostFunction &host,
                                              mlir::gpu::GPUModuleOp module,
                                              const BackwardOptions &options);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARDKERNELS_H
