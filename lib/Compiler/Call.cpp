//===- Call.cpp - the frame of a call of libfa3 ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads options, parses, lowers. Nothing is shared between calls, so that
// threads need not know of each other.
//===----------------------------------------------------------------------===//

#include "Result.h"
#include "fa3/InitAllDialects.h"
#include "fa3/InitAllPasses.h"
#include "fa3/Pipelines/PassText.h"
#include "fa3/Pipelines/TunedPipeline.h"
#include "fa3/Support/ModuleText.h"
#include "fa3/Target/PTX/PTX.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <mutex>

using namespace mlir;
using namespace fa3;
using namespace fa3::compiler;

/// Passes by name, for pipelines as text. They belong to the process.
static void registerPassesOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerTransformsPasses();
    registerAllPasses();
  });
}

Call::Call() : result(new fa3_result) {
  registerPassesOnce();
  DialectRegistry registry;
  registerAllDialects(registry);
  registerPTXTranslation(registry);
  context.reset(new MLIRContext(registry, MLIRContext::Threading::DISABLED));
  // Kernels have thousands of lines; a diagnostic points at the one it is
  // about.
  context->printOpOnDiagnostic(false);
  handler.reset(
      new ScopedDiagnosticHandler(context.get(), [this](Diagnostic &d) {
        result->add(d);
        return success();
      }));
}

Call::~Call() = default;

fa3_outcome Call::readOptions(const fa3_options *given) {
  if (!given)
    return FA3_DONE;
  // A caller of an earlier version has fewer fields; one of a later version may
  // have asked for something that we do not know.
  fa3_options full = {};
  if (given->size < sizeof given->size || given->size > sizeof full)
    return refuse("expects a size of fa3_options between " +
                  Twine(sizeof given->size) + " and " + Twine(sizeof full) +
                  ", got " + Twine(given->size));
  std::memcpy(&full, given, given->size);
  auto take = [](std::string &option, const char *text) {
    if (text && *text)
      option = text;
  };
  take(options.source, full.source_name);
  take(options.pipelineOptions, full.pipeline_options);
  take(options.passPipeline, full.pass_pipeline);
  take(options.chip, full.chip);
  take(options.function, full.function);
  take(options.llvmPasses, full.llvm_passes);
  take(options.ptxas, full.ptxas);
  if (full.ptx_version)
    options.ptxVersion = full.ptx_version;
  PTXOptions target;
  target.chip = options.chip;
  target.ptxVersion = options.ptxVersion;
  if (std::optional<std::string> wrong = explainWrongTarget(target))
    return refuse(*wrong);
  options.locations = full.locations;
  if (full.assemble != FA3_ASSEMBLE_NEVER &&
      full.assemble != FA3_ASSEMBLE_ALWAYS)
    return refuse("expects FA3_ASSEMBLE_NEVER or FA3_ASSEMBLE_ALWAYS, got " +
                  Twine(static_cast<int>(full.assemble)));
  options.assemble = full.assemble == FA3_ASSEMBLE_ALWAYS;
  options.foreign = full.foreign;
  take(options.convertOptions, full.convert_options);
  if (!options.convertOptions.empty() && !options.foreign)
    return refuse("convert_options expects foreign, which it is not");
  if (!options.convertOptions.empty() && !options.passPipeline.empty())
    return refuse("pass_pipeline and convert_options exclude each other");
  if (!options.passPipeline.empty() && !options.pipelineOptions.empty())
    return refuse("pass_pipeline and pipeline_options exclude each other");
  return FA3_DONE;
}

fa3_outcome Call::begin(const char *text, size_t length,
                        const fa3_options *given) {
  if (!text)
    return refuse("expects the text of a module, got null");
  if (fa3_outcome outcome = readOptions(given))
    return outcome;
  context->allowUnregisteredDialects(options.foreign);
  // The parser wants a zero byte behind the text.
  std::string source(text, length);
  if (failed(checkModuleText({source, options.source}, context.get())))
    return FA3_FAILED;
  module = parseSourceString<ModuleOp>(source, ParserConfig(context.get()),
                                       options.source);
  if (!module)
    return FA3_FAILED;
  return options.foreign && options.passPipeline.empty() ? convert() : FA3_DONE;
}

fa3_outcome Call::convert() {
  std::string text =
      "builtin.module(convert-to-attention{" + options.convertOptions + "})";
  std::string error;
  llvm::raw_string_ostream os(error);
  std::optional<std::string> wrong = explainPipelineText(text);
  FailureOr<OpPassManager> parsed =
      wrong ? FailureOr<OpPassManager>() : parsePassPipeline(text, os);
  if (failed(parsed))
    return refuse("cannot read convert_options '" + options.convertOptions +
                  "': " + (wrong ? *wrong : StringRef(error).trim()));
  PassManager passes(context.get());
  static_cast<OpPassManager &>(passes) = std::move(*parsed);
  return failed(passes.run(*module)) ? FA3_FAILED : FA3_DONE;
}

fa3_outcome Call::end(fa3_outcome outcome, fa3_result **destination) {
  if (outcome) {
    result->ptx = result->manifest = result->cubin = result->ir = std::nullopt;
    result->functions.clear();
    result->predictions.clear();
  }
  result->finish();
  // Diagnostics of the teardown have no result to go to.
  module = nullptr;
  handler.reset();
  *destination = result.release();
  return outcome;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

fa3_outcome Call::lower(ModuleOp part, StringRef name) {
  const auto *stage = llvm::find(kStageNames, name);
  bool isPart = stage != std::end(kStageNames);
  if (!isPart && name != "nvvm")
    return refuse("expects a stage of " +
                  llvm::join(ArrayRef(kStageNames), ", ") + ", nvvm, got '" +
                  name + "'");
  PassManager passes(context.get());
  std::string error;
  llvm::raw_string_ostream os(error);
  PipelineOptions pipeline;
  if (!options.passPipeline.empty()) {
    if (std::optional<std::string> wrong =
            explainPipelineText(options.passPipeline))
      return refuse("cannot read pass_pipeline '" + options.passPipeline +
                    "': " + *wrong);
    FailureOr<OpPassManager> parsed =
        parsePassPipeline(options.passPipeline, os);
    if (failed(parsed))
      return refuse("cannot read pass_pipeline '" + options.passPipeline +
                    "': " + StringRef(error).trim());
    static_cast<OpPassManager &>(passes) = std::move(*parsed);
  } else if (std::optional<std::string> wrong =
                 explainWrongOption(options.pipelineOptions)) {
    return refuse("cannot read pipeline_options '" + options.pipelineOptions +
                  "': " + *wrong);
  } else if (failed(pipeline.parseFromString(options.pipelineOptions, os))) {
    return refuse("cannot read pipeline_options '" + options.pipelineOptions +
                  "': " + StringRef(error).trim());
  } else if (!isPart && isTuned(pipeline)) {
    // Operations of LLVM, which only conversions make, are verified once, in
    // the end: after each pass that takes up to a tenth of the time to PTX.
    passes.enableVerifier(false);
    passes.addPass(createLowerTuned(pipeline, /*verifiesParts=*/true));
    return failed(passes.run(part)) || failed(verify(part)) ? FA3_FAILED
                                                            : FA3_DONE;
  } else if (!isPart) {
    buildLowerToNVVMPipeline(passes, pipeline);
  } else {
    if (failed(applyTuning(part, pipeline)))
      return FA3_FAILED;
    buildPipelineTo(static_cast<Stage>(stage - kStageNames), passes, pipeline);
  }
  return failed(passes.run(part)) ? FA3_FAILED : FA3_DONE;
}
