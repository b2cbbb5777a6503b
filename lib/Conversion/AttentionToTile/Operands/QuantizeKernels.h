//===- QuantizeKernels.h - kernels of attention.quantize --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_OPERANDS_QUANTIZEKERNELS_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_OPERANDS_QUANTIZEKERNELS_H

#include "fa3/Dialect/Attention/Contract/Quantization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3 {

/// Adds the kernels of one quantization to `module` and launches them at the
/// builder's position in the host function. Gives their number.
llvm::FailureOr<int64_t>
buildQuantizeKernels(mlir::ImplicitLocOpBuilder &host,
                     const attention::HostQuantization &quantization,
                     mlir::gpu::GPUModuleOp module,
                     llvm::StringRef functionName);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_OPERANDS_QUANTIZEKERNELS_H
