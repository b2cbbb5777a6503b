//===- AttentionToTile.cpp - attention-to-tile ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Conversion/AttentionToTile/AttentionToTile.h"
#include "Backward/BackwardKernels.h"
#include "Forward/ForwardKernels.h"
#include "Operands/ListKernels.h"
#include "Operands/MergeKernel.h"
#include "Operands/QuantizeKernels.h"
#include "Operands/UpdateKernel.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3 {
#define GEN_PASS_DEF_ATTENTIONTOTILE
#include "fa3/Conversion/AttentionToTile/Passes.h.inc"
} // namespace fa3

using namespace mlir;
using namespace fa3;
using attention::HostFunction;
using attention::ScoredOpInterface;

namespace {
struct AttentionToTile : fa3::impl::AttentionToTileBase<AttentionToTile> {
  using AttentionToTileBase::AttentionToTileBase;
  void runOnOperation() override;

private:
  /// As the C++ interface gives them.
  AttentionToTileOptions getOptions() const;
  LogicalResult verifyOptions();
  LogicalResult convert(func::FuncOp function);
  LogicalResult buildQuantizations(HostFunction &host, gpu::GPUModuleOp module);
  LogicalResult buildForward(HostFunction &host, gpu::GPUModuleOp module);
  LogicalResult buildBackward(HostFunction &host, gpu::GPUModuleOp module);
};
} // namespace

AttentionToTileOptions AttentionToTile::getOptions() const {
  AttentionToTileOptions options;
  options.blockM = blockM;
  options.blockN = blockN;
  options.rescale = rescale;
  options.rescaleThreshold = rescaleThreshold;
  options.loads = loads;
  options.twoLevel = twoLevel;
  options.twoLevelSteps = twoLevelSteps;
  options.lastBlock = lastBlock;
  options.lastKeys = lastKeys;
  options.endRows = endRows;
  options.packGqa = packGqa;
  options.partKeys = partKeys;
  options.backwardForm = backwardForm;
  options.deterministic = deterministic;
  options.stages = stages;
  return options;
}

LogicalResult AttentionToTile::verifyOptions() {
  auto error = [&]() {
    return getOperation().emitError("attention-to-tile: ");
  };
  if (blockM < 0 || blockM % 64)
    return error() << "expects block-m to be a multiple of 64, got "
                   << blockM.getValue();
  if (blockN < 0 || blockN % 16 || blockN > 256)
    return error() << "expects block-n to be a multiple of 16 up to 256, got "
                   << blockN.getValue();
  if (twoLevelSteps < 0)
    return error() << "expects two-level-steps of at least 0, got "
                   << twoLevelSteps.getValue();
  if (twoLevelSteps != 0 && twoLevel == options::Choice::False)
    return error() << "expects no two-level-steps without "
                      "two-level-accumulation, got "
                   << twoLevelSteps.getValue();
  // 2^threshold must fit the type of the weights; 2^15 is f16's last power.
  if (rescaleThreshold != -1 &&
      !(rescaleThreshold >= 0 && rescaleThreshold <= 14))
    return error() << "expects rescale-threshold between 0 and 14, or -1, got "
                   << rescaleThreshold.getValue();
  return success();
}

/// Refuses extents that no array has. Canonicalization, which follows, reads
/// them before it asks whether they are there (LLVM 22, gpu dialect).
static LogicalResult verifyExtents(ModuleOp module) {
  WalkResult result = module.walk([](memref::DimOp dim) {
    std::optional<int64_t> index = dim.getConstantIndex();
    auto type = dyn_cast<MemRefType>(dim.getSource().getType());
    if (!index || !type || (0 <= *index && *index < type.getRank()))
      return WalkResult::advance();
    dim.emitOpError("asks for dimension ")
        << *index << " of a memref of rank " << type.getRank();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

void AttentionToTile::runOnOperation() {
  if (failed(verifyOptions()) || failed(verifyExtents(getOperation())))
    return signalPassFailure();
  SmallVector<func::FuncOp> functions;
  for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
    if (attention::hasAttention(function))
      functions.push_back(function);
  for (func::FuncOp function : functions)
    if (failed(convert(function)))
      return signalPassFailure();
}

/// Kernels of the operands that the attention takes in 8 bits.
LogicalResult AttentionToTile::buildQuantizations(HostFunction &host,
                                                  gpu::GPUModuleOp module) {
  for (attention::HostQuantization &quantization : host.quantizations) {
    OpBuilder builder = host.getBuilder();
    ImplicitLocOpBuilder b(quantization.op.getLoc(), builder);
    FailureOr<int64_t> count =
        buildQuantizeKernels(b, quantization, module, host.function.getName());
    if (failed(count))
      return failure();
    quantizeKernels += *count;
  }
  return success();
}

static ForwardOptions getForwardOptions(const AttentionToTileOptions &options) {
  return {{options.blockM, options.blockN, options.rescale,
           options.rescaleThreshold, options.twoLevel, options.twoLevelSteps,
           options.lastBlock, options.lastKeys, options.endRows},
          options.loads,
          options.packGqa,
          options.partKeys};
}

static BackwardPlanOptions
getBackwardOptions(const AttentionToTileOptions &options) {
  return {options.blockM, options.blockN, options.backwardForm,
          options.deterministic, options.stages > 1};
}

LogicalResult AttentionToTile::buildForward(HostFunction &host,
                                            gpu::GPUModuleOp module) {
  FailureOr<ForwardKernels> built =
      buildForwardKernels(host, module, getForwardOptions(getOptions()));
  if (failed(built))
    return failure();
  packed += built->packsGroups;
  kernels += built->kernels;
  return success();
}

LogicalResult AttentionToTile::buildBackward(HostFunction &host,
                                             gpu::GPUModuleOp module) {
  FailureOr<int64_t> count =
      buildBackwardKernels(host, module, getBackwardOptions(getOptions()));
  if (failed(count))
    return failure();
  kernels += *count;
  return success();
}

LogicalResult AttentionToTile::convert(func::FuncOp function) {
  FailureOr<HostFunction> host = attention::createHostFunction(function);
  if (failed(host))
    return failure();
  OpBuilder builder(host->function);
  builder.setInsertionPointAfter(host->function);
  ScoredOpInterface op = host->getScored();
  Location loc = op ? op->getLoc() : function.getLoc();
  auto module = gpu::GPUModuleOp::create(
      builder, loc, (function.getName() + "_kernels").str());
  FailureOr<int64_t> ofLists = buildListKernels(*host, module);
  FailureOr<int64_t> merges = buildMergeKernel(*host, module);
  if (failed(ofLists) || failed(merges) ||
      failed(buildQuantizations(*host, module)) ||
      failed(buildUpdateKernel(*host, module)) ||
      (host->forward && failed(buildForward(*host, module))) ||
      (host->backward && failed(buildBackward(*host, module)))) {
    module.erase();
    host->function.erase();
    return failure();
  }
  listKernels += *ofLists;
  kernels += *merges;
  function.erase();
  return success();
}

/// The plans of one function.
static LogicalResult plan(HostFunction &host,
                          const AttentionToTileOptions &options,
                          PlannedFunction &planned) {
  if (host.forward) {
    FailureOr<ForwardPlan> forward =
        planForward(host, getForwardOptions(options));
    if (failed(forward))
      return failure();
    planned.forward = *forward;
  }
  if (host.backward) {
    FailureOr<BackwardPlan> backward =
        planBackward(host, getBackwardOptions(options));
    if (failed(backward))
      return failure();
    planned.backward = *backward;
  }
  return success();
}

FailureOr<SmallVector<PlannedFunction, 1>>
fa3::planFunctions(ModuleOp module, const AttentionToTileOptions &options) {
  SmallVector<PlannedFunction, 1> plans;
  for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (!attention::hasAttention(function))
      continue;
    FailureOr<HostFunction> host = attention::createHostFunction(function);
    if (failed(host))
      return failure();
    PlannedFunction planned{function.getName().str(), {}, {}};
    if (failed(plan(*host, options, planned)))
      return failure();
    if (planned.forward || planned.backward)
      plans.push_back(std::move(planned));
  }
  return plans;
}
