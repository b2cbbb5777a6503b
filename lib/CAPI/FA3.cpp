//===- FA3.cpp - C interface of the compiler ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3-c/FA3.h"
#include "fa3/InitAllDialects.h"
#include "fa3/InitAllPasses.h"
#include "fa3/Target/Manifest/Manifest.h"
#include "fa3/Target/PTX/PTX.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

void fa3RegisterAllDialects(MlirDialectRegistry registry) {
  fa3::registerAllDialects(*unwrap(registry));
  fa3::registerPTXTranslation(*unwrap(registry));
}

void fa3RegisterAllPasses() {
  registerTransformsPasses();
  fa3::registerAllPasses();
}

MlirLogicalResult fa3TranslateToPTX(MlirModule module,
                                    const Fa3TranslateOptions *options,
                                    MlirStringCallback ptx, void *ptxData,
                                    MlirStringCallback manifest,
                                    void *manifestData) {
  fa3::PTXOptions ptxOptions;
  fa3::ManifestOptions manifestOptions;
  if (options) {
    if (options->chip.length)
      ptxOptions.chip = unwrap(options->chip).str();
    if (options->ptxVersion)
      ptxOptions.ptxVersion = options->ptxVersion;
    if (options->passes.length)
      ptxOptions.passes = unwrap(options->passes).str();
    if (options->function.length)
      manifestOptions.function = unwrap(options->function).str();
  }
  manifestOptions.chip = ptxOptions.chip;
  manifestOptions.ptxVersion = ptxOptions.ptxVersion;

  ModuleOp op = unwrap(module);
  SmallVector<gpu::GPUModuleOp> kernels(op.getOps<gpu::GPUModuleOp>());
  if (kernels.size() != 1) {
    op.emitError() << "expects one module of kernels (gpu.module), got "
                   << kernels.size();
    return wrap(failure());
  }
  auto text = fa3::translateToPTX(kernels.front(), ptxOptions);
  if (failed(text))
    return wrap(failure());
  auto launches = fa3::writeManifest(op, *text, manifestOptions);
  if (failed(launches))
    return wrap(failure());
  ptx(wrap(StringRef(*text)), ptxData);
  manifest(wrap(StringRef(*launches)), manifestData);
  return wrap(success());
}
