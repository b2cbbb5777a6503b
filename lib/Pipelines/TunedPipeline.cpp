//===- TunedPipeline.cpp - options of the pipeline from a table -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Pipelines/TunedPipeline.h"
#include "ProgramPipeline.h"
#include "Variants.h"
#include "fa3/Conversion/LowerHost/LowerHost.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace fa3;
using tuning::Table;

/// Calls `function` with the name of every option that changes only the time
/// that a kernel takes, and the option.
template <typename Options, typename Function>
static void forEachTunable(Options &options, Function &&function) {
#define FA3_PIPELINE_OPTION(member, name, type, init, text, isTunable, ...)    \
  if (isTunable)                                                               \
    function(name, options.member);
#include "fa3/Options/Options.h.inc"
}

/// Whether an option that is a number takes this one; passes ask again. Words
/// are refused by their parsers.
static bool takesNumber(StringRef name, StringRef value) {
  int64_t number;
  if (value.getAsInteger(10, number))
    return name != "hold" || value == "auto";
#define FA3_PIPELINE_OPTION(member, itsName, type, init, text, isTunable,      \
                            least, most, step)                                 \
  if (name == itsName)                                                         \
    return number >= least && number <= most && number % step == 0;
#include "fa3/Options/Options.h.inc"
  return true;
}

std::optional<std::string> fa3::validateTunedOptions(llvm::StringRef options) {
  PipelineOptions scratch;
  SmallVector<StringRef> words;
  options.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    auto [name, value] = word.split('=');
    bool isKnown = false;
    forEachTunable(scratch, [&, name = name](StringRef known, const auto &) {
      isKnown |= name == known;
    });
    if (!isKnown)
      return ("'" + name + "' is no option that a table may set").str();
    if (value.empty())
      return ("'" + name + "' has no value").str();
    if (!takesNumber(name, value) ||
        failed(scratch.parseFromString(word, llvm::errs())))
      return ("'" + name + "' does not take '" + value + "'").str();
  }
  return std::nullopt;
}

FailureOr<Table> fa3::readTuningTable(MLIRContext *context, StringRef name) {
  if (name == "none")
    return Table();
  if (name.empty())
    return Table::parse(context, "shipped table", tuning::getShippedTable(),
                        validateTunedOptions);
  auto buffer = llvm::MemoryBuffer::getFile(name);
  if (!buffer)
    return emitError(UnknownLoc::get(context))
           << "cannot read the tuning table " << name << ": "
           << buffer.getError().message();
  return Table::parse(context, name, (*buffer)->getBuffer(),
                      validateTunedOptions);
}

/// Whether the user has given a tile that is not the entry's: the rest of the
/// entry was measured with another one.
static bool hasOtherTile(const tuning::Entry &entry, PipelineOptions &options) {
  SmallVector<StringRef> words;
  StringRef(entry.options).split(words, ' ', -1, /*KeepEmpty=*/false);
  auto differs = [&](StringRef name, const auto &option) {
    std::string given = (name + "=" + Twine(option.getValue())).str();
    return option.hasValue() && !llvm::is_contained(words, given);
  };
  return differs("block-m", options.blockM) ||
         differs("block-n", options.blockN);
}

LogicalResult fa3::applyEntry(const tuning::Entry *entry,
                              PipelineOptions &options) {
  // Its kernels have warps of their own for copies, and no lists of blocks.
  bool getsLists = options.blockLists == options::BlockLists::Call ||
                   options.blockLists == options::BlockLists::Apart;
  if (!entry || getsLists || hasOtherTile(*entry, options) ||
      !options.warpSpecialize)
    return success();
  // What a user gives counts more.
  std::string text;
  SmallVector<StringRef> words;
  StringRef(entry->options).split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    // Replicas that take turns need as many steps each.
    bool isGiven =
        word == "last-block=narrow" && options.pingPong == options::Switch::On;
    forEachTunable(options, [&](StringRef name, const auto &option) {
      isGiven |= name == word.split('=').first && option.hasValue();
    });
    if (!isGiven)
      text += (text.empty() ? "" : " ") + word.str();
  }
  return options.parseFromString(text, llvm::errs());
}

LogicalResult fa3::applyTuning(ModuleOp module, PipelineOptions &options) {
  FailureOr<Table> table =
      readTuningTable(module.getContext(), options.tuningTable);
  if (failed(table))
    return failure();
  std::optional<tuning::ProblemClass> problem = tuning::classify(module);
  return applyEntry(problem ? table->lookup(*problem) : nullptr, options);
}

bool fa3::isTuned(const PipelineOptions &options) {
  if (options.tuningTable == "none")
    return false;
  // An empty list needs no look at the module.
  return !options.tuningTable.empty() ||
         tuning::getShippedTable().contains("\"options\"");
}

namespace {
class LowerTuned : public PassWrapper<LowerTuned, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerTuned)

  LowerTuned(const PipelineOptions &given, bool verifiesParts)
      : options(std::make_shared<PipelineOptions>()),
        verifiesParts(verifiesParts) {
    options->copyOptionValuesFrom(given);
  }
  LowerTuned(const LowerTuned &other)
      : PassWrapper(other), options(other.options),
        verifiesParts(other.verifiesParts) {}

  StringRef getArgument() const override { return "fa3-lower-tuned"; }
  StringRef getDescription() const override {
    return "fa3-lower-to-nvvm-pipeline with the options of a tuning table";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager passes(ModuleOp::getOperationName());
    build(passes, *options);
    passes.addPass(createMergeVariants());
    passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto run = [&](OpPassManager &passes, ModuleOp module) -> LogicalResult {
      if (!verifiesParts)
        return runPipeline(passes, module);
      PassManager verifying(module.getContext(), ModuleOp::getOperationName());
      static_cast<OpPassManager &>(verifying) = std::move(passes);
      return verifying.run(module);
    };
    auto lower = [&](ModuleOp part) -> LogicalResult {
      FailureOr<SmallVector<Variant>> variants = planVariants(part, *options);
      if (failed(variants))
        return failure();
      if (variants->size() > 1)
        return lowerVariants(part, *variants, run);
      const PipelineOptions &chosen = *variants->front().options;
      OpPassManager toHopper(ModuleOp::getOperationName());
      OpPassManager toLLVM(ModuleOp::getOperationName());
      buildPipelineTo(Stage::Hopper, toHopper, chosen);
      buildLLVMPipeline(toLLVM, chosen);
      return failed(run(toHopper, part)) ? failure()
                                         : runPipeline(toLLVM, part);
    };
    OpPassManager outline(ModuleOp::getOperationName());
    outline.addPass(attention::createOutline());
    LogicalResult lowered = !isProgram(module) ? lower(module)
                            : failed(run(outline, module))
                                ? failure()
                                : lowerApart(module, lower);
    if (failed(lowered))
      signalPassFailure();
  }

private:
  static void build(OpPassManager &passes, const PipelineOptions &from) {
    PipelineOptions plain;
    plain.copyOptionValuesFrom(from);
    plain.tuningTable = "none";
    buildLowerToNVVMPipeline(passes, plain);
  }

  std::shared_ptr<PipelineOptions> options;
  bool verifiesParts;
};
} // namespace

std::unique_ptr<Pass> fa3::createLowerTuned(const PipelineOptions &options,
                                            bool verifiesParts) {
  return std::make_unique<LowerTuned>(options, verifiesParts);
}
