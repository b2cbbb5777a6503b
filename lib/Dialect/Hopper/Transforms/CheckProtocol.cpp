//===- CheckProtocol.cpp - barriers, copies and products are in order -----===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/Analysis/Dependence.h"
#include "fa3/Dialect/Hopper/Analysis/Protocol.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/ToolOutputFile.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_CHECKPROTOCOL
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// A launch gives a kernel the threads and the shared memory it uses.
static LogicalResult checkLaunch(LaunchOp launch, gpu::GPUFuncOp function) {
  if (std::optional<ArrayRef<int32_t>> size = function.getKnownBlockSize()) {
    int64_t threads = 1;
    for (int32_t extent : *size)
      threads *= extent;
    if (int64_t(launch.getThreads()) != threads)
      return launch.emitOpError("starts ")
             << launch.getThreads() << " threads of a kernel for " << threads;
  }
  int64_t end = 0;
  function.walk([&](Operation *op) {
    auto group = op->getParentOfType<warp::GroupOp>();
    int64_t replicas = group ? int64_t(group.getReplicas()) : 1;
    auto visit = [&](auto alloc) {
      if (std::optional<int64_t> offset = alloc.getOffset())
        end = std::max(end, *offset + alloc.getReplicaBytes() * replicas);
    };
    if (auto alloc = dyn_cast<AllocOp>(op))
      visit(alloc);
    else if (auto alloc = dyn_cast<BarrierAllocOp>(op))
      visit(alloc);
  });
  if (end > int64_t(launch.getSmem()))
    return launch.emitOpError("gives ")
           << launch.getSmem() << " bytes of shared memory to a kernel that "
           << "uses " << end;
  return success();
}

namespace {
struct CheckProtocol : hopper::impl::CheckProtocolBase<CheckProtocol> {
  using CheckProtocolBase::CheckProtocolBase;

  void runOnOperation() override {
    SmallVector<gpu::GPUFuncOp> kernels;
    getOperation().walk([&](gpu::GPUFuncOp function) {
      if (function.isKernel())
        kernels.push_back(function);
    });
    for (gpu::GPUFuncOp function : kernels) {
      if (failed(verifyPredecessorWaits(function)) ||
          failed(verifyFlags(function)))
        return signalPassFailure();
      int64_t states = 0;
      LogicalResult result = checkProtocol(function, mostStates, states);
      numStates += states;
      if (failed(result))
        return signalPassFailure();
    }
    SymbolTableCollection symbols;
    WalkResult result = getOperation().walk([&](LaunchOp launch) {
      auto function = dyn_cast_or_null<gpu::GPUFuncOp>(
          symbols.lookupNearestSymbolFrom(launch, launch.getKernelAttr()));
      return WalkResult(function ? checkLaunch(launch, function) : success());
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (!happensBefore.empty() && failed(draw(kernels)))
      return signalPassFailure();
  }

  LogicalResult draw(ArrayRef<gpu::GPUFuncOp> kernels) {
    if (kernels.empty())
      return emitError(getOperation().getLoc(), "has no kernel to draw");
    std::string message;
    auto file = openOutputFile(happensBefore, &message);
    if (!file)
      return emitError(getOperation().getLoc()) << message;
    if (failed(drawHappensBefore(kernels.front(), file->os())))
      return failure();
    file->keep();
    return success();
  }
};
} // namespace
