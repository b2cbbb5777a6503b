//===- TileToHopper.cpp - tile-to-hopper ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Conversion/TileToHopper/TileToHopper.h"
#include "KernelLowering.h"
#include "fa3/Dialect/Tile/IR/TileExactOps.h"
#include "fa3/Support/PTXName.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace fa3 {
#define GEN_PASS_DEF_TILETOHOPPER
#include "fa3/Conversion/TileToHopper/Passes.h.inc"
} // namespace fa3

using namespace mlir;
using namespace fa3;

/// Threads of a kernel without groups: one warp group.
static constexpr int64_t kDefaultThreads = 128;

namespace {
struct TileToHopper : fa3::impl::TileToHopperBase<TileToHopper> {
  using TileToHopperBase::TileToHopperBase;
  void runOnOperation() override;

private:
  LogicalResult convert(gpu::GPUFuncOp kernel,
                        ArrayRef<tile::LaunchOp> launches);
};
} // namespace

/// The launch of `kernel` with the operands that it takes.
static LogicalResult convertLaunch(tile::LaunchOp launch, gpu::GPUFuncOp kernel,
                                   const KernelArguments &arguments) {
  if (!launch.getBlocks())
    return launch.emitOpError("expects 'blocks'; run tile-map-grid first");
  ImplicitLocOpBuilder b(launch.getLoc(), launch);
  SmallVector<Value> operands =
      arguments.computeOnHost(b, launch.getKernelArgs());
  SymbolRefAttr symbol = FlatSymbolRefAttr::get(kernel.getNameAttr());
  auto path = llvm::to_vector(launch.getKernelAttr().getNestedReferences());
  if (!path.empty()) {
    path.back() = cast<FlatSymbolRefAttr>(symbol);
    symbol =
        SymbolRefAttr::get(launch.getKernelAttr().getRootReference(), path);
  }
  hopper::LaunchOp::create(b, symbol, launch.getBlocks(),
                           b.getI64IntegerAttr(kDefaultThreads),
                           b.getI64IntegerAttr(0), operands, launch.getCost());
  launch.erase();
  return success();
}

/// What all groups read alike, so that their control flow agrees, nobody may
/// write: one would read another number than the other. Nor what is gathered,
/// at any time.
static LogicalResult verifyScalarArrays(gpu::GPUFuncOp kernel) {
  llvm::DenseMap<Value, Operation *> reads;
  kernel.walk([&](Operation *op) {
    if (isa<tile::ScalarLoadOp, tile::SearchOp, tile::GatherOp,
            tile::LoadExactOp>(op))
      reads.try_emplace(op->getOperand(0), op);
  });
  WalkResult result = kernel.walk([&](Operation *op) {
    Value target;
    if (auto store = dyn_cast<tile::StoreOp>(op))
      target = store.getTarget();
    else if (auto copy = dyn_cast<tile::StoreAsyncOp>(op))
      target = copy.getTarget();
    else if (auto add = dyn_cast<tile::AddExactOp>(op))
      target = add.getSums();
    auto read = reads.find(target ? tile::getStoredArray(target) : target);
    if (!target || read == reads.end())
      return WalkResult::advance();
    InFlightDiagnostic error =
        op->emitOpError("writes an array of which the launch reads scalars, "
                        "which are to be the same in all groups");
    error.attachNote(read->second->getLoc()) << "one is read here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult TileToHopper::convert(gpu::GPUFuncOp kernel,
                                    ArrayRef<tile::LaunchOp> launches) {
  if (failed(verifyScalarArrays(kernel)))
    return failure();
  OpBuilder builder(kernel);
  Operation *scope = kernel->getParentOp();
  std::string name = getPTXName(kernel.getName(), [&](StringRef other) {
    return SymbolTable::lookupSymbolIn(scope, other) != nullptr;
  });
  auto lowered = gpu::GPUFuncOp::create(builder, kernel.getLoc(), name,
                                        builder.getFunctionType({}, {}));
  lowered->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                   builder.getUnitAttr());
  KernelLowering lowering(kernel, lowered);
  if (failed(lowering.run())) {
    lowered.erase();
    return failure();
  }
  kernel.erase();
  lowered.walk([&](hopper::BarrierAllocOp barriers) {
    numBarriers += barriers.getBarrier().getType().getCount();
  });
  for (tile::LaunchOp launch : launches)
    if (failed(convertLaunch(launch, lowered, lowering.getArguments())))
      return failure();
  return success();
}

void TileToHopper::runOnOperation() {
  SmallVector<tile::LaunchOp> launches;
  SmallVector<gpu::GPUFuncOp> kernels;
  getOperation().walk([&](Operation *op) {
    if (auto launch = dyn_cast<tile::LaunchOp>(op))
      launches.push_back(launch);
    if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op); kernel && kernel.isKernel())
      kernels.push_back(kernel);
  });
  // Number of SMs: the same notion, named by the machine.
  getOperation().walk([&](tile::SmCountOp op) {
    OpBuilder builder(op);
    op.replaceAllUsesWith(
        hopper::SmCountOp::create(builder, op.getLoc()).getResult());
    op.erase();
  });
  for (gpu::GPUFuncOp kernel : kernels) {
    // Launches of this kernel move behind the others.
    auto *own = std::stable_partition(
        launches.begin(), launches.end(), [&](tile::LaunchOp launch) {
          return SymbolTable::lookupNearestSymbolFrom(
                     launch, launch.getKernelAttr()) != kernel;
        });
    SmallVector<tile::LaunchOp> ofKernel(own, launches.end());
    launches.erase(own, launches.end());
    if (failed(convert(kernel, ofKernel)))
      return signalPassFailure();
  }
}
