//===- Compile.cpp - libfa3: text to PTX and to stages as text ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// fa3_compile and fa3_lower.
//===----------------------------------------------------------------------===//

#include "Result.h"
#include "fa3/Target/Manifest/Manifest.h"
#include "fa3/Target/PTX/PTX.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::compiler;

static FailureOr<gpu::GPUModuleOp> findKernels(ModuleOp module) {
  SmallVector<gpu::GPUModuleOp> modules(module.getOps<gpu::GPUModuleOp>());
  if (modules.size() != 1) {
    InFlightDiagnostic error = module.emitError()
                               << "expects one module of kernels (gpu.module), "
                                  "got "
                               << modules.size();
    if (modules.size() > 1)
      error << "; fa3_compile_program compiles a program with several";
    return error;
  }
  return modules.front();
}

static PTXOptions getPTXOptions(const Options &options) {
  return {options.chip, options.ptxVersion, options.llvmPasses,
          options.locations};
}

FailureOr<fa3_result::Function>
fa3::compiler::translate(Call &call, ModuleOp module, StringRef function) {
  const Options &options = call.getOptions();
  PTXOptions ptxOptions = getPTXOptions(options);
  FailureOr<gpu::GPUModuleOp> kernels = findKernels(module);
  if (failed(kernels))
    return failure();
  FailureOr<std::string> ptx = translateToPTX(*kernels, ptxOptions);
  if (failed(ptx))
    return failure();
  FailureOr<std::string> manifest = writeManifest(
      module, *ptx, {options.chip, options.ptxVersion, function.str()});
  if (failed(manifest))
    return failure();
  fa3_result::Function made = {function.str(), std::move(*ptx),
                               std::move(*manifest), std::nullopt};
  if (options.assemble) {
    FailureOr<PtxasReport> report = runPtxas(
        *kernels, made.ptx, {options.ptxas, options.chip, /*strict=*/false});
    if (failed(report))
      return failure();
    made.cubin = std::move(report->cubin);
    std::vector<KernelUsage> &usage = call.getResult().kernels;
    usage.insert(usage.end(), report->kernels.begin(), report->kernels.end());
  }
  return made;
}

/// The same of the module of a call, into its result.
static LogicalResult translate(Call &call) {
  FailureOr<fa3_result::Function> made =
      translate(call, call.getModule(), call.getOptions().function);
  if (failed(made))
    return failure();
  fa3_result &result = call.getResult();
  result.ptx = std::move(made->ptx);
  result.manifest = std::move(made->manifest);
  result.cubin = std::move(made->cubin);
  return success();
}

fa3_outcome fa3_compile(const char *text, size_t length,
                        const fa3_options *options, fa3_result **result) {
  Call call;
  fa3_outcome outcome = call.begin(text, length, options);
  if (!outcome)
    outcome = call.lower("nvvm");
  if (!outcome && failed(translate(call)))
    outcome = FA3_FAILED;
  return call.end(outcome, result);
}

/// LLVM IR of a lowered module, as text.
static LogicalResult printLLVMIR(Call &call, llvm::raw_ostream &os) {
  FailureOr<gpu::GPUModuleOp> kernels = findKernels(call.getModule());
  if (failed(kernels))
    return failure();
  llvm::LLVMContext context;
  PTXOptions ptxOptions = getPTXOptions(call.getOptions());
  ptxOptions.names = true;
  auto ir = translateToLLVMIR(*kernels, context, ptxOptions);
  if (failed(ir))
    return failure();
  os << **ir;
  return success();
}

static fa3_outcome lower(Call &call, StringRef stage) {
  bool ownPasses = !call.getOptions().passPipeline.empty();
  if (stage.empty() != ownPasses)
    return call.refuse(ownPasses
                           ? "a pass_pipeline and a stage exclude each other"
                           : "expects a stage or a pass_pipeline, got neither");
  bool isLLVM = stage == "llvm";
  if (stage != "attention")
    if (fa3_outcome outcome = call.lower(ownPasses || isLLVM ? "nvvm" : stage))
      return outcome;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!isLLVM)
    call.getModule().print(os);
  else if (failed(printLLVMIR(call, os)))
    return FA3_FAILED;
  call.getResult().ir = std::move(text);
  return FA3_DONE;
}

fa3_outcome fa3_lower(const char *text, size_t length, const char *stage,
                      const fa3_options *options, fa3_result **result) {
  Call call;
  fa3_outcome outcome = call.begin(text, length, options);
  if (!outcome)
    outcome = lower(call, stage ? stage : "");
  return call.end(outcome, result);
}
