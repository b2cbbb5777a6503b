//===- HopperToNVVM.cpp - kernels of hopper to nvvm -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Conversion/HopperToNVVM/HopperToNVVM.h"
#include "InlineAsm.h"
#include "Patterns.h"
#include "fa3/Dialect/Hopper/Analysis/Dependence.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Transforms/RegionUtils.h"

namespace fa3 {
#define GEN_PASS_DEF_CONVERTHOPPERTONVVM
#include "fa3/Conversion/HopperToNVVM/Passes.h.inc"
} // namespace fa3

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {
/// Addresses in shared memory are i32, descriptors i64; a fragment in flight is
/// the fragment; groups of products have no value.
struct HopperTypeConverter : TypeConverter {
  HopperTypeConverter() {
    addConversion([](Type type) -> std::optional<Type> {
      if (isa<HopperDialect>(type.getDialect()))
        return std::nullopt;
      return type;
    });
    addConversion([](BarrierType type) {
      return IntegerType::get(type.getContext(), 32);
    });
    addConversion([](MailboxType type) {
      return IntegerType::get(type.getContext(), 32);
    });
    addConversion([](BufferType type) {
      return IntegerType::get(type.getContext(), 32);
    });
    addConversion(
        [](DescType type) { return IntegerType::get(type.getContext(), 64); });
    addConversion([](InflightType type) { return type.getFragment(); });
    addConversion([](TensorMapType type) {
      return LLVM::LLVMPointerType::get(type.getContext());
    });
    addConversion([](GroupType, SmallVectorImpl<Type> &) { return success(); });
    auto cast = [](OpBuilder &builder, Type type, ValueRange inputs,
                   Location loc) -> Value {
      return UnrealizedConversionCastOp::create(builder, loc, type, inputs)
          .getResult(0);
    };
    addSourceMaterialization(cast);
    addTargetMaterialization(cast);
  }
};

struct ConvertHopperToNVVM
    : fa3::impl::ConvertHopperToNVVMBase<ConvertHopperToNVVM> {
  using ConvertHopperToNVVMBase::ConvertHopperToNVVMBase;

  FailureOr<LoweringOptions> getOptions() {
    LoweringOptions options;
    if (reductionChains < 1)
      return getOperation().emitError()
             << "option reduction-chains expects at least 1, got "
             << reductionChains.getValue();
    options.reductionChains = reductionChains;
    return options;
  }

  void runOnOperation() override {
    FailureOr<LoweringOptions> options = getOptions();
    if (failed(options))
      return signalPassFailure();
    SmallVector<gpu::GPUFuncOp> kernels(
        getOperation().getOps<gpu::GPUFuncOp>());
    if (kernels.empty())
      return;
    if (!llvmPasses.empty())
      getOperation()->setAttr(kLLVMPassesAttr,
                              StringAttr::get(&getContext(), llvmPasses));
    LLVM::GlobalOp smem = createSharedMemory();
    for (gpu::GPUFuncOp kernel : kernels)
      if (failed(convert(kernel, smem.getSymName(), *options)))
        return signalPassFailure();
    if (SymbolTable::symbolKnownUseEmpty(smem, getOperation()))
      smem.erase();
  }

  /// Dynamic shared memory: its size is that of the launch, its alignment that
  /// of the largest swizzle period.
  LLVM::GlobalOp createSharedMemory() {
    auto builder = OpBuilder::atBlockBegin(getOperation().getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    auto global = LLVM::GlobalOp::create(
        builder, getOperation().getLoc(), type, /*isConstant=*/false,
        LLVM::Linkage::External, "dynamic_smem", /*value=*/Attribute(),
        /*alignment=*/AllocOp::kAlignment, /*addrSpace=*/3);
    SymbolTable(getOperation()).insert(global);
    return global;
  }

  /// To LLVM the intrinsic has no effect on memory (LLVM 22): nothing that
  /// accesses some moves in front of the statement behind it.
  static void keepBehindWaits(gpu::GPUFuncOp kernel) {
    kernel.walk([](NVVM::GriddepcontrolOp op) {
      if (op.getKind() != NVVM::GridDepActionKind::wait)
        return;
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(op);
      InlineAsm(builder, op.getLoc()).emit("");
    });
  }

  LogicalResult convert(gpu::GPUFuncOp kernel, StringRef smem,
                        const LoweringOptions &options) {
    if (!kernel.isKernel())
      return kernel.emitOpError("expects a kernel, functions called from "
                                "kernels are not supported");
    StringAttr name = kernel.getNameAttr();
    Attribute wish = kernel->getAttr(kLLVMPassesAttr);
    packCarriedFragments(kernel);
    KernelInfo info(options);
    if (failed(verifyPredecessorWaits(kernel)) || failed(verifyFlags(kernel)) ||
        failed(lowerShares(kernel)) || failed(expandMath(kernel)) ||
        failed(info.prepare(kernel, smem)))
      return failure();
    keepBehindWaits(kernel);

    MLIRContext *context = &getContext();
    HopperTypeConverter converter;
    RewritePatternSet patterns(context);
    ConversionTarget target(*context);
    target.addLegalDialect<arith::ArithDialect, cf::ControlFlowDialect,
                           warp::WarpDialect, LLVM::LLVMDialect,
                           NVVM::NVVMDialect, scf::SCFDialect, ub::UBDialect,
                           vector::VectorDialect>();
    target.addLegalOp<UnrealizedConversionCastOp>();
    target.addIllegalDialect<gpu::GPUDialect, HopperDialect>();
    target.addDynamicallyLegalOp<arith::SelectOp>(
        [](arith::SelectOp op) { return !isa<GroupType>(op.getType()); });
    populateSharePatterns(patterns, converter, info);
    populateBarrierPatterns(patterns, converter, info);
    populateRecordPatterns(patterns, converter, info);
    populateTmaPatterns(patterns, converter, info);
    populateWgmmaPatterns(patterns, converter, info);
    populateWgmmaGroupPatterns(patterns, converter, info);
    populateFragmentPatterns(patterns, converter, info);
    populateGlobalAccessPatterns(patterns, converter, info);
    populateExactSumPatterns(patterns, converter, info);
    populateFlagPatterns(patterns, converter, info);
    populateSearchPatterns(patterns, converter, info);
    populateProgressPatterns(patterns, converter, info);
    populateSharedAccessPatterns(patterns, converter, info);
    populateElementwisePatterns(patterns, target);
    populateControlPatterns(patterns, converter, target, info);
    if (failed(applyFullConversion(kernel, target, std::move(patterns))))
      return failure();

    auto function = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (wish)
      function->setAttr(kLLVMPassesAttr, wish);
    IRRewriter rewriter(context);
    SmallVector<warp::SpecializeOp> specialized;
    function.walk([&](warp::SpecializeOp op) { specialized.push_back(op); });
    for (warp::SpecializeOp specialize : specialized)
      if (failed(lowerSpecialize(rewriter, specialize, info)))
        return failure();
    SmallVector<UnrealizedConversionCastOp> casts;
    function.walk([&](UnrealizedConversionCastOp op) { casts.push_back(op); });
    reconcileUnrealizedCasts(casts);
    simplifyComparisons(rewriter, function);
    simplifyNumbers(rewriter, function);
    ++numKernels;
    (void)runRegionDCE(rewriter, function->getRegions());
    return success();
  }
};
} // namespace

void fa3::buildHopperToLLVMPipeline(OpPassManager &manager,
                                    const HopperToLLVMOptions &options) {
  OpPassManager &nested = manager.nest<gpu::GPUModuleOp>();
  ConvertHopperToNVVMOptions convert;
  convert.reductionChains = options.reductionChains;
  convert.llvmPasses = options.llvmPasses;
  nested.addPass(createConvertHopperToNVVM(convert));
  nested.addPass(createCanonicalizerPass());
  nested.addPass(createCSEPass());
  nested.addPass(createSCFToControlFlowPass());
  nested.addPass(createConvertKernelToLLVM());
  nested.addPass(createCanonicalizerPass());
  nested.addPass(createCSEPass());
}

void fa3::registerHopperToLLVMPipeline() {
  PassPipelineRegistration<HopperToLLVMOptions>(
      "fa3-hopper-to-llvm",
      "convert-hopper-to-nvvm and what leaves only llvm and nvvm in kernels",
      buildHopperToLLVMPipeline);
}
