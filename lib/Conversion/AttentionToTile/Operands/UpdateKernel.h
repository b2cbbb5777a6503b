//===- UpdateKernel.h - kernel of rotary and append -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_OPERANDS_UPDATEKERNEL_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_OPERANDS_UPDATEKERNEL_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3 {

/// Adds the kernel of all attention.rotary and attention.append of a host
/// function to `module` and launches it; nothing if there are none. Fails with
/// an error at an append whose places depend on the head.
mlir::LogicalResult buildUpdateKernel(attention::HostFunction &host,
                                      mlir::gpu::GPUModuleOp module);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_OPERANDS_UPDATEKERNEL_H
