//===- HopperToNVVM.h - from hopper to the llvm dialect ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_CONVERSION_HOPPERTONVVM_HOPPERTONVVM_H
#define FA3_CONVERSION_HOPPERTONVVM_HOPPERTONVVM_H

#include "fa3/Options/Options.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace fa3 {

#define GEN_PASS_DECL
#include "fa3/Conversion/HopperToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa3/Conversion/HopperToNVVM/Passes.h.inc"

/// Name of the attribute of kernel arguments that says what the kernel does to
/// the memory behind them.
constexpr llvm::StringLiteral kAccessAttrName = "hopper.access";

struct HopperToLLVMOptions : mlir::PassPipelineOptions<HopperToLLVMOptions> {
  FA3_OPTION_reductionChains;
  FA3_OPTION_llvmPasses;
};

/// convert-hopper-to-nvvm and the upstream conversions that leave only llvm and
/// nvvm operations in the gpu modules of a module. Registered as the pipeline
/// `fa3-hopper-to-llvm`.
void buildHopperToLLVMPipeline(mlir::OpPassManager &manager,
                               const HopperToLLVMOptions &options);
void registerHopperToLLVMPipeline();

} // namespace fa3

#endif // FA3_CONVERSION_HOPPERTONVVM_HOPPERTONVVM_H
