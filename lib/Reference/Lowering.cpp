//===- Lowering.cpp - from attention to LLVM, for references --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Lowering.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fa3;

LogicalResult fa3::lowerToHostFunction(ModuleOp module,
                                       const ReferenceOptions &options) {
  PassManager manager(module.getContext());
  manager.addPass(attention::createExpandMods());
  attention::ToReferenceOptions passOptions;
  passOptions.precision = options.precision;
  passOptions.wideOutput = options.wideOutput;
  passOptions.slices = true;
  manager.addPass(attention::createToReference(passOptions));
  return manager.run(module);
}

LogicalResult
fa3::replaceAssertsByStatus(func::FuncOp function,
                            SmallVectorImpl<std::string> &messages) {
  auto ret =
      dyn_cast<func::ReturnOp>(function.getBody().back().getTerminator());
  if (!llvm::hasSingleElement(function.getBody()) || !ret ||
      function.getNumResults() > 1 ||
      (function.getNumResults() == 1 &&
       !function.getResultTypes()[0].isIndex()))
    return function.emitError("expects straight-line code that returns nothing "
                              "or one index, as attention-to-reference makes");
  OpBuilder builder(ret);
  Location loc = function.getLoc();
  if (function.getNumResults() == 0) {
    ret->insertOperands(
        0, arith::ConstantIndexOp::create(builder, loc, 0).getResult());
    function.setFunctionType(builder.getFunctionType(
        function.getArgumentTypes(), builder.getIndexType()));
  }
  SmallVector<cf::AssertOp> asserts(
      function.getBody().front().getOps<cf::AssertOp>());
  for (cf::AssertOp check : asserts) {
    Block *here = check->getBlock();
    Block *next = here->splitBlock(check->getNextNode());
    Block *stop = builder.createBlock(&function.getBody());
    int64_t status = -1 - static_cast<int64_t>(messages.size());
    func::ReturnOp::create(
        builder, loc,
        arith::ConstantIndexOp::create(builder, loc, status).getResult());
    builder.setInsertionPointToEnd(here);
    cf::CondBranchOp::create(builder, check.getLoc(), check.getArg(), next,
                             stop);
    messages.push_back(check.getMsg().str());
    check.erase();
  }
  return success();
}

LogicalResult fa3::lowerToLLVM(ModuleOp module) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  // Names of arguments, which LLVM's translation would warn of.
  module.walk([](func::FuncOp function) {
    function.removeArgAttrsAttr();
    function.removeResAttrsAttr();
  });
  PassManager manager(module.getContext());
  // LLVM leaves some conversions to bf16 to a run-time library that is not
  // everywhere; spelled out they need none. Canonicalization would make one of
  // an integer's conversion to a wider float, which is not spelled out.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  manager.addPass(arith::createArithExpandOpsPass(expand));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  return manager.run(module);
}
