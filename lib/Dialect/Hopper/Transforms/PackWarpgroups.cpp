//===- PackWarpgroups.cpp - which warps run which group -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_PACKWARPGROUPS
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// Places the groups and returns the number of warps of the block.
static int64_t placeGroups(warp::SpecializeOp specialize, int64_t &idle) {
  int64_t next = 0;
  auto place = [&](warp::GroupOp group) {
    group.setFirstWarp(next);
    next += group.getWarps() * group.getReplicas();
  };
  for (int64_t warps : {2, 1})
    for (auto group : specialize.getOps<warp::GroupOp>())
      if (static_cast<int64_t>(group.getWarps()) == warps)
        place(group);
  int64_t small = next;
  int64_t perGroup = getChip(specialize).warpsPerWarpgroup;
  next = llvm::alignTo(next, perGroup);
  idle = next - small;
  for (auto group : specialize.getOps<warp::GroupOp>())
    if (group.getWarps() % perGroup == 0)
      place(group);
  return next;
}

namespace {
struct PackWarpgroups : hopper::impl::PackWarpgroupsBase<PackWarpgroups> {
  void runOnOperation() override {
    llvm::DenseMap<Operation *, SmallVector<LaunchOp>> launches;
    SymbolTableCollection symbols;
    getOperation().walk([&](LaunchOp launch) {
      Operation *kernel =
          symbols.lookupNearestSymbolFrom(launch, launch.getKernelAttr());
      launches[kernel].push_back(launch);
    });
    WalkResult result = getOperation().walk([&](gpu::GPUFuncOp function) {
      return WalkResult(pack(function, launches[function]));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult pack(gpu::GPUFuncOp function,
                     MutableArrayRef<LaunchOp> launches) {
    if (!function.isKernel())
      return success();
    SmallVector<warp::SpecializeOp> specialized;
    function.walk([&](warp::SpecializeOp op) { specialized.push_back(op); });
    if (specialized.size() > 1)
      return specialized[1].emitOpError(
          "expects to be the only 'warp.specialize' of its kernel");

    int64_t threads = 0;
    if (!specialized.empty()) {
      int64_t idle;
      threads = placeGroups(specialized.front(), idle) *
                getChip(function).threadsPerWarp;
      numIdle += idle;
    } else {
      for (LaunchOp launch : launches) {
        if (launch.getThreads() != launches.front().getThreads())
          return launch.emitOpError("expects the threads of the other launches "
                                    "of its kernel (")
                 << launches.front().getThreads() << "), got "
                 << launch.getThreads();
        threads = launch.getThreads();
      }
      if (threads == 0)
        return success();
    }
    int64_t limit = getChip(function).maxThreadsPerBlock;
    if (threads > limit)
      return specialized.front().emitOpError("needs ")
             << threads << " threads, the limit of a block is " << limit;
    function.setKnownBlockSizeAttr(DenseI32ArrayAttr::get(
        function.getContext(), {static_cast<int32_t>(threads), 1, 1}));
    for (LaunchOp launch : launches)
      launch.setThreads(threads);
    return success();
  }
};
} // namespace
