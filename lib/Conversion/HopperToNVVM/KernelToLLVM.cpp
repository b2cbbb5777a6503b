//===- KernelToLLVM.cpp - upstream dialects of a kernel to llvm -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Conversion/HopperToNVVM/HopperToNVVM.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fa3 {
#define GEN_PASS_DEF_CONVERTKERNELTOLLVM
#include "fa3/Conversion/HopperToNVVM/Passes.h.inc"
} // namespace fa3

using namespace mlir;
using namespace fa3;

namespace {
struct ConvertKernelToLLVM
    : fa3::impl::ConvertKernelToLLVMBase<ConvertKernelToLLVM> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(32);
    LLVMTypeConverter converter(context, options);
    RewritePatternSet patterns(context);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns,
                                         /*approximateLog1p=*/true);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(*context);
    target.addLegalDialect<NVVM::NVVMDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    RewritePatternSet slices(context);
    vector::populateVectorInsertExtractStridedSliceTransforms(slices);
    if (failed(applyPatternsGreedily(getOperation(), std::move(slices))))
      return signalPassFailure();
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (Operation &op : *getOperation().getBody())
      if (failed(applyFullConversion(&op, target, frozen)))
        return signalPassFailure();
  }
};
} // namespace
