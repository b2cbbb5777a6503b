//===- Pipelines.cpp - named compositions of passes -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Pipelines/Pipelines.h"
#include "StageCheck.h"
#include "fa3/Conversion/AttentionToTile/AttentionToTile.h"
#include "fa3/Conversion/HopperToNVVM/HopperToNVVM.h"
#include "fa3/Conversion/TileToHopper/TileToHopper.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "fa3/Dialect/Warp/Transforms/Passes.h"
#include "fa3/Pipelines/TunedPipeline.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fa3;

static void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

namespace {
#define FA3_PIPELINE_OPTION(member, ...)                                       \
  template <typename T, typename = void>                                       \
  struct Has_##member : std::false_type {};                                    \
  template <typename T>                                                        \
  struct Has_##member<T, std::void_t<decltype(std::declval<T &>().member)>>    \
      : std::true_type {};
FA3_PIPELINE_OPTION(endRows) // which follows from others
#include "fa3/Options/Options.h.inc"

/// Options with those decided that were left open.
struct ResolvedOptions : PipelineOptions {
  ResolvedOptions(const PipelineOptions &given) {
    copyOptionValuesFrom(given);
    resolve();
  }
};
} // namespace

/// Gives a pass, or a pipeline of a part, those of its options that the
/// pipeline has: those that name the same record of Options.td.
template <typename Options>
static void giveOptions(const PipelineOptions &from, Options &to) {
#define FA3_PIPELINE_OPTION(member, ...)                                       \
  if constexpr (Has_##member<Options>::value)                                  \
    to.member = from.member;
#include "fa3/Options/Options.h.inc"
  if constexpr (Has_endRows<Options>::value)
    to.endRows = from.endRows;
}

template <typename Options>
static Options takeOptions(const PipelineOptions &from) {
  Options to;
  giveOptions(from, to);
  return to;
}

/// What attention-to-tile expects: attention that is a function of its own,
/// with its code written out.
static void addFront(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(attention::createOutline());
  pm.addPass(attention::createExpandMods());
  pm.addPass(attention::createDeriveBlocks(
      takeOptions<attention::DeriveBlocksOptions>(options)));
  pm.addPass(attention::createDeriveGradient());
}

FailureOr<SmallVector<PlannedFunction, 1>>
fa3::planFunctions(ModuleOp module, const PipelineOptions &options) {
  OwningOpRef<ModuleOp> front = module.clone();
  PassManager pm(module.getContext());
  addFront(pm, options);
  if (failed(pm.run(*front)))
    return failure();
  return planFunctions(
      *front, takeOptions<AttentionToTileOptions>(ResolvedOptions(options)));
}

void fa3::buildTilePipeline(OpPassManager &pm, const PipelineOptions &given) {
  ResolvedOptions options(given);
  addFront(pm, options);
  pm.addPass(
      createAttentionToTile(takeOptions<AttentionToTileOptions>(options)));
  addCleanup(pm);
  pm.addPass(tile::createStrengthReduce());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(tile::createShrinkBounds());
  pm.addPass(
      tile::createListTiles(takeOptions<tile::ListTilesOptions>(options)));
  pm.addPass(tile::createMapGrid(takeOptions<tile::MapGridOptions>(options)));
}

void fa3::buildSpecializePipeline(OpPassManager &pm,
                                  const PipelineOptions &given) {
  ResolvedOptions options(given);
  pm.addPass(tile::createRelabelContractions());
  pm.addPass(tile::createTransposeOperands());
  pm.addPass(tile::createScaleOperands(
      takeOptions<tile::ScaleOperandsOptions>(options)));
  pm.addPass(tile::createSumByProducts(
      takeOptions<tile::SumByProductsOptions>(options)));
  pm.addPass(tile::createSplitSums());
  pm.addPass(
      tile::createAssignRoles(takeOptions<tile::AssignRolesOptions>(options)));
  pm.addPass(tile::createInsertRings());
  pm.addPass(tile::createExchangeOperands());
  pm.addPass(tile::createPostNumbers());
  addCleanup(pm);
  pm.addPass(
      tile::createSpecialize(takeOptions<tile::SpecializeOptions>(options)));
  pm.addPass(tile::createResolveGuards());
  addCleanup(pm);
  if (options.joinRings)
    pm.addPass(tile::createJoinRings());
  pm.addPass(
      tile::createMakeAsync(takeOptions<tile::MakeAsyncOptions>(options)));
  pm.addPass(createCanonicalizerPass());
}

void fa3::buildPipelinePipeline(OpPassManager &pm,
                                const PipelineOptions &options) {
  pm.addPass(tile::createSchedule(takeOptions<tile::ScheduleOptions>(options)));
  pm.addPass(tile::createPipeline());
  pm.addPass(tile::createReleaseEarly());
  pm.addPass(tile::createAcquireLate());
  pm.addPass(tile::createOrderCopies());
  addCleanup(pm);
  pm.addPass(tile::createInsertPingPong(
      takeOptions<tile::InsertPingPongOptions>(options)));
  pm.addPass(tile::createHoldOperands(
      takeOptions<tile::HoldOperandsOptions>(options)));
  pm.addPass(tile::createCheckRegisters(
      takeOptions<tile::CheckRegistersOptions>(options)));
  // A deeper ring only lets its writer go on earlier: what is live now stays
  // so.
  if (options.check)
    pm.nest<gpu::GPUModuleOp>().addPass(warp::createCheck());
  pm.addPass(
      tile::createSizeRings(takeOptions<tile::SizeRingsOptions>(options)));
  pm.addPass(tile::createSplitByPredicate(
      takeOptions<tile::SplitByPredicateOptions>(options)));
  addCleanup(pm);
}

void fa3::buildLayoutPipeline(OpPassManager &pm,
                              const PipelineOptions &options) {
  pm.addPass(tile::createAssignLayouts());
  pm.addPass(tile::createRealizeSmem());
}

void fa3::buildHopperPipeline(OpPassManager &pm,
                              const PipelineOptions &options) {
  pm.addPass(createTileToHopper());
  addCleanup(pm);
  pm.addPass(hopper::createPackWarpgroups());
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>();
  kernels.addPass(hopper::createInsertWaits());
  kernels.addPass(hopper::createInsertFences());
  kernels.addPass(hopper::createAssignRegisters(
      takeOptions<hopper::AssignRegistersOptions>(options)));
  pm.addPass(hopper::createAllocateSmem());
  pm.addPass(hopper::createOverlapLaunches());
  if (options.check)
    pm.addPass(hopper::createCheckProtocol());
  pm.addPass(hopper::createHoistReciprocals());
  if (options.shortenTanh)
    pm.nest<gpu::GPUModuleOp>().addNestedPass<gpu::GPUFuncOp>(
        hopper::createShortenFunctions());
  pm.nest<gpu::GPUModuleOp>().addNestedPass<gpu::GPUFuncOp>(
      hopper::createVoteEarly(takeOptions<hopper::VoteEarlyOptions>(options)));
  if (options.record) {
    hopper::InsertRecordsOptions records;
    records.ctas = options.record;
    pm.addPass(hopper::createInsertRecords(records));
  }
}

void fa3::buildPipelineTo(Stage last, OpPassManager &pm,
                          const PipelineOptions &options) {
  constexpr void (*kParts[])(OpPassManager &, const PipelineOptions &) = {
      buildTilePipeline, buildSpecializePipeline, buildPipelinePipeline,
      buildLayoutPipeline, buildHopperPipeline};
  for (auto *build : ArrayRef(kParts).take_front(static_cast<int>(last) + 1))
    build(pm, options);
}

bool fa3::lowersAlike(const PipelineOptions &a, const PipelineOptions &b) {
  bool isAlike = true;
  // The member of that name counts for kernels one by one.
  [[maybe_unused]] StringRef ofOneKernel = "llvmPasses";
#define FA3_PIPELINE_OPTION(member, ...)                                       \
  if constexpr (Has_##member<HopperToLLVMOptions>::value)                      \
    isAlike &=                                                                 \
        ofOneKernel == #member || a.member.getValue() == b.member.getValue();
#include "fa3/Options/Options.h.inc"
  return isAlike;
}

void fa3::buildLLVMPipeline(OpPassManager &pm, const PipelineOptions &options) {
  HopperToLLVMOptions toLLVM;
  giveOptions(options, toLLVM);
  buildHopperToLLVMPipeline(pm, toLLVM);
}

void fa3::buildPTXPipeline(OpPassManager &pm, const PipelineOptions &options) {
  buildHopperPipeline(pm, options);
  buildLLVMPipeline(pm, options);
}

void fa3::buildLowerToNVVMPipeline(OpPassManager &pm,
                                   const PipelineOptions &options) {
  if (isTuned(options)) {
    pm.addPass(createLowerTuned(options));
    return;
  }
  buildPipelineTo(Stage::Hopper, pm, options);
  buildLLVMPipeline(pm, options);
}

namespace {
struct NamedPipeline {
  StringRef name, summary;
  void (*build)(OpPassManager &, const PipelineOptions &);
  /// The stage whose input is looked at, if the pipeline is one of a part.
  std::optional<Stage> stage = std::nullopt;
};
} // namespace

static constexpr NamedPipeline kPipelines[] = {
    {"fa3-tile", "attention on tensors -> sequential tile kernels",
     buildTilePipeline},
    {"fa3-specialize", "sequential tile kernels -> groups joined by rings",
     buildSpecializePipeline, Stage::Specialize},
    {"fa3-pipeline", "asynchronous groups -> software-pipelined groups",
     buildPipelinePipeline, Stage::Pipeline},
    {"fa3-layout", "pipelined groups -> tiles and rings with layouts",
     buildLayoutPipeline, Stage::Layout},
    {"fa3-hopper", "laid-out groups -> hopper kernels, ready to be launched",
     buildHopperPipeline, Stage::Hopper},
    {"fa3-ptx", "laid-out groups -> llvm and nvvm operations", buildPTXPipeline,
     Stage::Hopper},
    {"fa3-lower-to-nvvm-pipeline",
     "programs with attention on tensors, or tile kernels -> llvm and nvvm "
     "operations",
     buildLowerToNVVMPipeline},
};

SmallVector<StringRef> fa3::getPipelineNames() {
  return llvm::map_to_vector(
      kPipelines, [](const NamedPipeline &pipeline) { return pipeline.name; });
}

void fa3::registerPipelines() {
  registerPass([] { return createStageCheck(Stage::Specialize); });
  for (const NamedPipeline &pipeline : kPipelines)
    PassPipelineRegistration<PipelineOptions>(
        pipeline.name, pipeline.summary,
        [&pipeline](OpPassManager &pm, const PipelineOptions &options) {
          if (pipeline.stage)
            pm.addPass(createStageCheck(*pipeline.stage));
          pipeline.build(pm, options);
        });
}
