//===- Pipelines.cpp - named compositions of passes -----------------------===//

#include "fa3/Pipelines/Pipelines.h"
#include "fa3/Conversion/AttentionToTile/AttentionToTile.h"
#include "fa3/Conversion/HopperToNVVM/HopperToNVVM.h"
#include "fa3/Conversion/TileToHopper/TileToHopper.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "fa3/Dialect/Warp/Transforms/Passes.h"
#include "fa3/Pipelines/TunedPipeline.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fa3;

static void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void fa3::buildTilePipeline(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(attention::createExpandMods());
  pm.addPass(attention::createDeriveGradient());
  AttentionToTileOptions toTile;
  toTile.blockM = options.blockM;
  toTile.blockN = options.blockN;
  toTile.rescale = options.rescale;
  toTile.rescaleThreshold = options.rescaleThreshold;
  toTile.loads = options.loads;
  toTile.twoLevel = options.twoLevel;
  toTile.twoLevelSteps = options.twoLevelSteps;
  toTile.packGqa = options.packGqa;
  // A narrow block has no turn of its own.
  bool isWhole = options.lastBlock == "auto" && options.pingPong == "on";
  toTile.lastBlock = isWhole ? "whole" : options.lastBlock.getValue();
  // Tiles of other heights are made of whole replicas of 64 rows.
  std::string heights = options.heights;
  if (options.replicas != 0)
    heights = "even";
  toTile.endRows = heights != "even";
  pm.addPass(createAttentionToTile(toTile));
  addCleanup(pm);
  pm.addPass(tile::createStrengthReduce());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(tile::createShrinkBounds());
  tile::MapGridOptions grid;
  grid.mode = options.mode;
  // It is the group for copies that claims tiles.
  if (grid.mode == "auto" && !options.warpSpecialize)
    grid.mode = "cta";
  grid.order = options.order;
  grid.l2Bytes = options.l2Bytes;
  grid.sectionRounds = options.sectionRounds;
  grid.heights = heights;
  grid.sms = options.sms;
  grid.loads = options.loads;
  pm.addPass(tile::createMapGrid(grid));
}

void fa3::buildSpecializePipeline(OpPassManager &pm,
                                  const PipelineOptions &options) {
  pm.addPass(tile::createRelabelContractions());
  pm.addPass(tile::createTransposeOperands());
  // For hopper-shorten-tanh, which needs the votes of lazy rescaling.
  tile::ScaleOperandsOptions scale;
  scale.when = options.scaleOperands;
  bool isOfUse = options.shortenTanh && options.rescale == "lazy";
  if (scale.when == "auto" && !isOfUse)
    scale.when = "never";
  pm.addPass(tile::createScaleOperands(scale));
  tile::SumByProductsOptions sums;
  sums.sums = options.sums;
  pm.addPass(tile::createSumByProducts(sums));
  tile::AssignRolesOptions roles;
  roles.loads = options.loads;
  pm.addPass(tile::createAssignRoles(roles));
  pm.addPass(tile::createInsertRings());
  addCleanup(pm);
  tile::SpecializeOptions specialize;
  specialize.replicas = options.replicas;
  specialize.warpSpecialize = options.warpSpecialize;
  pm.addPass(tile::createSpecialize(specialize));
  pm.addPass(tile::createResolveGuards());
  addCleanup(pm);
  tile::MakeAsyncOptions async;
  async.store = options.store;
  async.smemBudget = options.smemBudget;
  pm.addPass(tile::createMakeAsync(async));
  pm.addPass(createCanonicalizerPass());
}

void fa3::buildPipelinePipeline(OpPassManager &pm,
                                const PipelineOptions &options) {
  tile::ScheduleOptions schedule;
  schedule.stages = options.stages;
  schedule.solver = options.solver;
  pm.addPass(tile::createSchedule(schedule));
  pm.addPass(tile::createPipeline());
  pm.addPass(tile::createReleaseEarly());
  pm.addPass(tile::createAcquireLate());
  addCleanup(pm);
  tile::InsertPingPongOptions pingPong;
  pingPong.pingPong = options.pingPong;
  pm.addPass(tile::createInsertPingPong(pingPong));
  tile::HoldOperandsOptions hold;
  hold.steps = options.hold;
  pm.addPass(tile::createHoldOperands(hold));
  tile::CheckRegistersOptions registers;
  registers.producerRegisters = options.producerRegisters;
  pm.addPass(tile::createCheckRegisters(registers));
  // A deeper ring only lets its writer go on earlier: what is live now stays
  // so.
  if (options.check)
    pm.nest<gpu::GPUModuleOp>().addPass(warp::createCheck());
  tile::SizeRingsOptions rings;
  rings.smemBudget = options.smemBudget;
  rings.maxDepth = options.maxDepth;
  pm.addPass(tile::createSizeRings(rings));
  pm.addPass(tile::createSplitByPredicate());
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
  hopper::AssignRegistersOptions registers;
  registers.producerRegisters = options.producerRegisters;
  kernels.addPass(hopper::createAssignRegisters(registers));
  pm.addPass(hopper::createAllocateSmem());
  if (options.check)
    pm.addPass(hopper::createCheckProtocol());
  pm.addPass(hopper::createHoistReciprocals());
  if (options.shortenTanh)
    pm.nest<gpu::GPUModuleOp>().addNestedPass<gpu::GPUFuncOp>(
        hopper::createShortenTanh());
  hopper::VoteEarlyOptions votes;
  votes.tests = options.earlyVotes;
  pm.nest<gpu::GPUModuleOp>().addNestedPass<gpu::GPUFuncOp>(
      hopper::createVoteEarly(votes));
  if (options.exponentialShare > 0) {
    hopper::ShareExponentialsOptions exponentials;
    exponentials.share = options.exponentialShare;
    exponentials.degree = options.exponentialDegree;
    pm.nest<gpu::GPUModuleOp>().addNestedPass<gpu::GPUFuncOp>(
        hopper::createShareExponentials(exponentials));
  }
  if (options.record) {
    hopper::InsertRecordsOptions records;
    records.ctas = options.record;
    pm.addPass(hopper::createInsertRecords(records));
  }
}

void fa3::buildPTXPipeline(OpPassManager &pm, const PipelineOptions &options) {
  buildHopperPipeline(pm, options);
  HopperToLLVMOptions toLLVM;
  toLLVM.barrierWait = options.barrierWait;
  toLLVM.wgmmaAsm = options.wgmmaAsm;
  toLLVM.llvmPasses = options.llvmPasses;
  buildHopperToLLVMPipeline(pm, toLLVM);
}

void fa3::buildLowerToNVVMPipeline(OpPassManager &pm,
                                   const PipelineOptions &options) {
  if (isTuned(options)) {
    pm.addPass(createLowerTuned(options));
    return;
  }
  buildTilePipeline(pm, options);
  buildSpecializePipeline(pm, options);
  buildPipelinePipeline(pm, options);
  buildLayoutPipeline(pm, options);
  buildPTXPipeline(pm, options);
}

void fa3::registerPipelines() {
  PassPipelineRegistration<PipelineOptions>(
      "fa3-tile", "attention on tensors -> sequential tile kernels",
      buildTilePipeline);
  PassPipelineRegistration<PipelineOptions>(
      "fa3-specialize", "sequential tile kernels -> groups joined by rings",
      buildSpecializePipeline);
  PassPipelineRegistration<PipelineOptions>(
      "fa3-pipeline", "asynchronous groups -> software-pipelined groups",
      buildPipelinePipeline);
  PassPipelineRegistration<PipelineOptions>(
      "fa3-layout", "pipelined groups -> tiles and rings with layouts",
      buildLayoutPipeline);
  PassPipelineRegistration<PipelineOptions>(
      "fa3-hopper", "laid-out groups -> hopper kernels, ready to be launched",
      buildHopperPipeline);
  PassPipelineRegistration<PipelineOptions>(
      "fa3-ptx", "laid-out groups -> llvm and nvvm operations",
      buildPTXPipeline);
  PassPipelineRegistration<PipelineOptions>(
      "fa3-lower-to-nvvm-pipeline",
      "attention on tensors, or tile kernels -> llvm and nvvm operations",
      buildLowerToNVVMPipeline);
}
