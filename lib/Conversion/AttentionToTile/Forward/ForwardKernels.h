//===- ForwardKernels.h - kernels of a forward ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_FORWARD_FORWARDKERNELS_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_FORWARD_FORWARDKERNELS_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Tile/Analysis/ElementLoads.h"
#include "fa3/Tuning/ForwardPlan.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3 {

struct ForwardOptions {
  ForwardPlanOptions plan;
  tile::LoadPolicy loads;
  options::Choice packGqa;
  /// Keys of each part, where keys are split; 0 for equal parts.
  int64_t partKeys = 0;
};

/// How many kernels there are, and whether heads of a group are rows.
struct ForwardKernels {
  int64_t kernels = 1;
  bool packsGroups = false;
};

/// The plan of a forward.
mlir::FailureOr<ForwardPlan> planForward(attention::HostFunction &host,
                                         const ForwardOptions &options);

/// Plans the kernel of a forward, and that which merges parts if keys are
/// split; emits both with their launches.
mlir::FailureOr<ForwardKernels>
buildForwardKernels(attention::HostFunction &host,
                    mlir::gpu::GPUModuleOp module,
                    const ForwardOptions &options);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_FORWARD_FORWARDKERNELS_H
