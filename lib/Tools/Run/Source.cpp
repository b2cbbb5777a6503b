//===- Source.cpp - what fa3-run is asked to run --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Source.h"
#include "CommandLine.h"
#include "Fail.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Support/ModuleText.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

static bool hasAttention(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return WalkResult(failure(isa<attention::ScoredOpInterface>(op) ||
                                  attention::isPreparation(op)));
      })
      .wasInterrupted();
}

LogicalResult Source::loadModule(StringRef path, const CommandLine &line,
                                 MLIRContext &context) {
  module = parseModuleFile(path, &context);
  if (!module)
    return failure();
  attention = hasAttention(*module);
  // Passes that were asked for belong to what is interpreted; on a device they
  // replace the whole pipeline, and the problem is that of the module itself.
  bool isInterpreted = line.cpu || line.executor == ExecutorKind::Interpreter;
  std::string passes;
  if (isInterpreted)
    passes = line.passPipeline;
  if (passes.empty() && attention)
    passes = "builtin.module(fa3-tile)";
  ModuleOp runnable = *module;
  if (!passes.empty()) {
    lowered = OwningOpRef<ModuleOp>(cast<ModuleOp>(module->clone()));
    if (failed(runPasses(*lowered, passes)))
      return failure();
    runnable = *lowered;
  }
  function = findHostFunction(runnable, line.function);
  return success(static_cast<bool>(function));
}

FailureOr<Source> Source::load(const CommandLine &line, MLIRContext &context) {
  Source source;
  StringRef path = line.file;
  bool isImage = path.ends_with(".ptx") || path.ends_with(".cubin");
  if (!isImage) {
    if (!line.manifest.empty() || !line.reference.empty())
      return fail("--manifest and --reference go with a .ptx or .cubin file");
    if (failed(source.loadModule(path, line, context)))
      return failure();
    return source;
  }
  SmallString<128> manifest(path);
  llvm::sys::path::replace_extension(manifest, "json");
  if (!line.manifest.empty())
    manifest = StringRef(line.manifest);
  FailureOr<DeviceCode> code = readDeviceCode(path, manifest);
  if (failed(code))
    return failure();
  source.code = std::move(*code);
  FailureOr<Signature> signature =
      readSignature(source.code->manifest, manifest, context);
  if (failed(signature))
    return failure();
  if (!line.reference.empty()) {
    if (failed(source.loadModule(line.reference, line, context)))
      return failure();
    return source;
  }
  source.function = signature->function;
  source.signature = std::move(*signature);
  return source;
}
