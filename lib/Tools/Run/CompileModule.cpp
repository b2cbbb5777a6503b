//===- CompileModule.cpp - from a module to code for a device -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Fail.h"
#include "fa3/Pipelines/PassText.h"
#include "fa3/Target/Manifest/Manifest.h"
#include "fa3/Target/PTX/PTX.h"
#include "fa3/Target/PTX/Ptxas.h"
#include "fa3/Tools/Run/Compile.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

LogicalResult fa3::run::runPasses(ModuleOp module, StringRef passPipeline) {
  if (std::optional<std::string> wrong = explainPipelineText(passPipeline))
    return fail("--pass-pipeline: " + *wrong);
  FailureOr<OpPassManager> passes = parsePassPipeline(passPipeline);
  if (failed(passes))
    return failure();
  if (passes->getOpAnchorName() != ModuleOp::getOperationName())
    return fail("the pass pipeline runs on '" + passes->getOpAnchorName() +
                "', it has to run on 'builtin.module'");
  PassManager manager(module.getContext());
  if (failed(applyPassManagerCLOptions(manager)))
    return failure();
  static_cast<OpPassManager &>(manager) = std::move(*passes);
  return manager.run(module);
}

/// The only module of kernels, or the only one that a host function names.
static FailureOr<gpu::GPUModuleOp> findKernels(ModuleOp module,
                                               StringRef function) {
  SmallVector<gpu::GPUModuleOp> modules(module.getOps<gpu::GPUModuleOp>());
  Operation *host = function.empty() ? nullptr : module.lookupSymbol(function);
  if (host && modules.size() > 1)
    llvm::erase_if(modules, [&](gpu::GPUModuleOp kernels) {
      return SymbolTable::symbolKnownUseEmpty(kernels, host);
    });
  if (modules.size() != 1)
    return module.emitError("expects one module of kernels (gpu.module), got ")
           << modules.size();
  return modules.front();
}

FailureOr<DeviceCode>
fa3::run::compileForDevice(ModuleOp module, const CompileOptions &options) {
  std::string pipeline = options.passPipeline;
  if (pipeline.empty()) {
    pipeline = "builtin.module(fa3-lower-to-nvvm-pipeline";
    if (!options.pipelineOptions.empty())
      pipeline += "{" + options.pipelineOptions + "}";
    pipeline += ")";
  }
  if (failed(runPasses(module, pipeline)))
    return failure();
  return translateForDevice(module, options);
}

FailureOr<DeviceCode>
fa3::run::translateForDevice(ModuleOp module, const CompileOptions &options) {
  FailureOr<gpu::GPUModuleOp> kernels = findKernels(module, options.function);
  if (failed(kernels))
    return failure();
  PTXOptions ptxOptions;
  FailureOr<std::string> ptx = translateToPTX(*kernels, ptxOptions);
  if (failed(ptx))
    return failure();
  FailureOr<std::string> manifest = writeManifest(
      module, *ptx, {ptxOptions.chip, ptxOptions.ptxVersion, options.function});
  if (failed(manifest))
    return failure();

  DeviceCode code;
  code.manifest = std::move(*manifest);
  bool assemble =
      !options.jit && (!options.ptxas.empty() || findPtxas("").has_value());
  if (!assemble) {
    code.image = std::move(*ptx);
    return code;
  }
  FailureOr<PtxasReport> report =
      runPtxas(*kernels, *ptx, {options.ptxas, ptxOptions.chip});
  if (failed(report))
    return failure();
  code.image = std::move(report->cubin);
  code.isCubin = true;
  return code;
}

static FailureOr<std::string> readFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail("cannot read " + path + ": " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

FailureOr<DeviceCode> fa3::run::readDeviceCode(StringRef image,
                                               StringRef manifest) {
  DeviceCode code;
  FailureOr<std::string> text = readFile(manifest), bytes = readFile(image);
  if (failed(text) || failed(bytes))
    return failure();
  code.manifest = std::move(*text);
  code.image = std::move(*bytes);
  code.isCubin = image.ends_with(".cubin");
  return code;
}
