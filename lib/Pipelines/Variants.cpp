//===- Variants.cpp - several kernels of one function ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each variant is lowered in a module of its own to hopper kernels that are
// ready to be launched. There they merge, and are lowered further together.
//
//===----------------------------------------------------------------------===//

#include "Variants.h"
#include "fa3/Conversion/LowerHost/LowerHost.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Support/ContractNames.h"
#include "fa3/Support/FunctionPasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace fa3;

namespace {
/// The dimension of an argument that is the number of keys.
struct KeyExtent {
  unsigned argument;
  int64_t axis;
};
} // namespace

/// Where a module of one function with attention has its number of keys.
static std::optional<KeyExtent> findKeys(ModuleOp module) {
  if (!llvm::hasSingleElement(*module.getBody()))
    return std::nullopt;
  auto function = dyn_cast<func::FuncOp>(module.getBody()->front());
  if (!function || function.isExternal() || !attention::hasHostForm(function))
    return std::nullopt;
  attention::ForwardOp forward = attention::findForward(function);
  auto keys = forward ? dyn_cast<BlockArgument>(forward.getK()) : Value();
  if (!keys || forward.getSplits())
    return std::nullopt;
  // Entries are measured with a key head for each head. Heads of a group are
  // rows of the same tiles, so that few queries are not few tiles.
  auto getHeads = [&](Value tensor) {
    return cast<ShapedType>(tensor.getType())
        .getDimSize(forward.getHeadAxisOf(tensor));
  };
  if (getHeads(forward.getQ()) != getHeads(forward.getK()))
    return std::nullopt;
  return KeyExtent{cast<BlockArgument>(keys).getArgNumber(),
                   forward.getSequenceAxisOf(forward.getK())};
}

/// Whether a kernel may have these passes on LLVM IR where others of its module
/// have none or others.
static bool isOfOneKernel(StringRef passes) {
  return passes.empty() || getFunctionPasses(passes);
}

static std::unique_ptr<PipelineOptions>
copyOptions(const PipelineOptions &from) {
  auto options = std::make_unique<PipelineOptions>();
  options->copyOptionValuesFrom(from);
  return options;
}

/// Keeps at most so many of the entries of a class. One is for any number of
/// keys: null, where the passes choose.
static void limitEntries(SmallVector<const tuning::Entry *> &entries,
                         unsigned most) {
  auto isOfMany = [](const tuning::Entry *entry) { return entry->from > 0; };
  auto ofMany = llvm::find_if(entries, isOfMany);
  if (ofMany == entries.begin() || (*std::prev(ofMany))->below)
    ofMany = std::next(entries.insert(ofMany, nullptr));
  if (most == 1)
    entries.erase(ofMany, entries.end());
  entries.erase(entries.begin(),
                entries.end() - std::min<size_t>(entries.size(), most));
}

FailureOr<SmallVector<Variant>>
fa3::planVariants(ModuleOp module, const PipelineOptions &given) {
  constexpr unsigned kMost = 3;
  FailureOr<tuning::Table> table =
      readTuningTable(module.getContext(), given.tuningTable);
  if (failed(table))
    return failure();
  // Records have one table.
  unsigned most = given.variants ? given.variants : kMost;
  if (!findKeys(module) || given.record > 0 || !given.warpSpecialize)
    most = 1;
  SmallVector<const tuning::Entry *> entries;
  if (std::optional<tuning::ProblemClass> problem = tuning::classify(module))
    entries = table->lookupAll(*problem);
  limitEntries(entries, most);

  SmallVector<Variant> variants;
  for (auto [i, entry] : llvm::enumerate(entries)) {
    Variant variant;
    if (entry && entry->below)
      variant.below = entry->below;
    else if (i + 1 < entries.size())
      variant.below = entries[i + 1]->from;
    variant.options = copyOptions(given);
    if (failed(applyEntry(entry, *variant.options)))
      return failure();
    variant.options->tuningTable = "none";
    variants.push_back(std::move(variant));
  }
  // What was given may leave no difference, or one that kernels of a module
  // cannot have.
  const PipelineOptions &last = *variants.back().options;
  auto getText = [](const PipelineOptions &options) {
    std::string text;
    llvm::raw_string_ostream os(text);
    const_cast<PipelineOptions &>(options).print(os);
    return text;
  };
  SmallVector<Variant> kept;
  for (Variant &variant : variants) {
    bool isLast = &variant == &variants.back();
    const PipelineOptions &options = *variant.options;
    bool differs = last.llvmPasses != options.llvmPasses;
    if (!isLast && (!lowersAlike(options, last) ||
                    (differs && (!isOfOneKernel(options.llvmPasses) ||
                                 !isOfOneKernel(last.llvmPasses)))))
      continue;
    if (!kept.empty() && getText(*kept.back().options) == getText(options))
      kept.pop_back();
    kept.push_back(std::move(variant));
  }
  return kept;
}

/// Builds the function that says whether a variant is launched.
static void addCondition(ModuleOp module, KeyExtent keys, int64_t below) {
  auto host = *module.getOps<func::FuncOp>().begin();
  OpBuilder builder(host);
  Location loc = host.getLoc();
  auto condition = func::FuncOp::create(
      builder, loc, (host.getName() + "_condition").str(),
      builder.getFunctionType(host.getArgumentTypes(), builder.getI1Type()));
  condition.setPrivate();
  Block *body = condition.addEntryBlock();
  builder.setInsertionPointToStart(body);
  Value axis = arith::ConstantIndexOp::create(builder, loc, keys.axis);
  Value count = memref::DimOp::create(builder, loc,
                                      body->getArgument(keys.argument), axis);
  Value bound = arith::ConstantIndexOp::create(builder, loc, below);
  Value holds = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                      count, bound);
  func::ReturnOp::create(builder, loc, holds);
}

LogicalResult
fa3::lowerVariants(ModuleOp module, ArrayRef<Variant> variants,
                   function_ref<LogicalResult(OpPassManager &, ModuleOp)> run) {
  // planVariants has looked.
  KeyExtent keys = *findKeys(module);
  func::FuncOp function = *module.getOps<func::FuncOp>().begin();
  OpBuilder builder(function);
  for (const Variant &variant : variants) {
    auto apart = ModuleOp::create(builder, function.getLoc());
    OpBuilder::atBlockEnd(apart.getBody()).clone(*function);
    OpPassManager passes(ModuleOp::getOperationName());
    buildPipelineTo(Stage::Hopper, passes, *variant.options);
    if (failed(run(passes, apart)))
      return failure();
    if (variant.below)
      addCondition(apart, keys, variant.below);
    if (!variant.options->llvmPasses.empty())
      for (auto kernels : apart.getOps<gpu::GPUModuleOp>())
        kernels->setAttr(kLLVMPassesAttr,
                         builder.getStringAttr(variant.options->llvmPasses));
  }
  function.erase();
  // Kernels say which passes on LLVM IR they have, unless all have the same.
  std::unique_ptr<PipelineOptions> together =
      copyOptions(*variants.back().options);
  if (!llvm::all_of(variants, [&](const Variant &variant) {
        return variant.options->llvmPasses == together->llvmPasses;
      }))
    together->llvmPasses = "";
  else
    module.walk(
        [](gpu::GPUModuleOp kernels) { kernels->removeAttr(kLLVMPassesAttr); });
  OpPassManager passes(ModuleOp::getOperationName());
  passes.addPass(createMergeVariants());
  buildLLVMPipeline(passes, *together);
  return run(passes, module);
}
