//===- LaunchKernels.h - kernels launched by the gpu dialect ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_LOWERHOST_LAUNCHKERNELS_H
#define FA3_LIB_CONVERSION_LOWERHOST_LAUNCHKERNELS_H

#include "EmbedKernels.h"

namespace fa3 {

/// Turns the launches of a host function into gpu.launch_func, its workspaces
/// into gpu.alloc, and its kernels into a gpu.binary of the module whose
/// symbols are given. Fails, without a change to the IR, with an error at what
/// gpu.launch_func has no place for: tensor maps, counters, the number of
/// multiprocessors.
mlir::LogicalResult launchKernels(mlir::func::FuncOp function,
                                  mlir::SymbolTable &symbols,
                                  const EmbedOptions &options);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_LOWERHOST_LAUNCHKERNELS_H
