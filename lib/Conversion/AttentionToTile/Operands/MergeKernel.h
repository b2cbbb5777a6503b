//===- MergeKernel.h - kernel of attention.merge ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_OPERANDS_MERGEKERNEL_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_OPERANDS_MERGEKERNEL_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3 {

/// Adds the kernel of the attention.merge of a host function to `module` and
/// launches it; nothing if there is none. Gives the number of kernels.
mlir::FailureOr<int64_t> buildMergeKernel(attention::HostFunction &host,
                                          mlir::gpu::GPUModuleOp module);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_OPERANDS_MERGEKERNEL_H
