//===- BackwardKernels.h - kernels of attention.backward --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDKERNELS_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDKERNELS_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Tuning/BackwardPlan.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3 {

/// The plan of a backward.
mlir::FailureOr<BackwardPlan> planBackward(attention::HostFunction &host,
                                           const BackwardPlanOptions &options);

/// Builds the kernels and their launches, and gives the number of kernels.
mlir::FailureOr<int64_t>
buildBackwardKernels(attention::HostFunction &host,
                     mlir::gpu::GPUModuleOp module,
                     const BackwardPlanOptions &options);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDKERNELS_H
