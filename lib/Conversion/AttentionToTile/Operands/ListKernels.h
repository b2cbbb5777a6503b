//===- ListKernels.h - kernels of attention.list_blocks ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_OPERANDS_LISTKERNELS_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_OPERANDS_LISTKERNELS_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3 {

/// Adds the kernels of every attention.list_blocks of a host function to
/// `module`, launches them, and gives their number. Fails with an error at one
/// of more than 2^24 blocks of keys; where these are counted at the launch, it
/// requires that there are no more.
mlir::FailureOr<int64_t> buildListKernels(attention::HostFunction &host,
                                          mlir::gpu::GPUModuleOp module);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_OPERANDS_LISTKERNELS_H
