//===- OverlapLaunches.cpp - the start of a kernel beside the end of one --===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/Analysis/Dependence.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "fa3/Machine/Chip.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_OVERLAPLAUNCHES
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;
using NVVM::GridDepActionKind;
using NVVM::GriddepcontrolOp;

/// Whether a kernel has the operation already.
static bool has(gpu::GPUFuncOp kernel, GridDepActionKind kind) {
  return kernel
      .walk([&](GriddepcontrolOp op) {
        return op.getKind() == kind ? WalkResult::interrupt()
                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct OverlapLaunches : hopper::impl::OverlapLaunchesBase<OverlapLaunches> {
  using OverlapLaunchesBase::OverlapLaunchesBase;

  void runOnOperation() override {
    llvm::SetVector<Operation *> early, releasing;
    for (auto function : getOperation().getOps<func::FuncOp>())
      collect(function, early, releasing);
    for (Operation *kernel : releasing)
      release(cast<gpu::GPUFuncOp>(kernel));
    for (Operation *kernel : early)
      wait(cast<gpu::GPUFuncOp>(kernel));
  }

  /// Kernels that another one may be in front of, and those that let the next
  /// one start.
  void collect(func::FuncOp function, llvm::SetVector<Operation *> &early,
               llvm::SetVector<Operation *> &releasing) {
    SmallVector<LaunchOp> launches;
    function.walk([&](LaunchOp launch) {
      if (getKernel(launch))
        launches.push_back(launch);
    });
    for (auto [i, launch] : llvm::enumerate(launches)) {
      SmallVector<LaunchOp> behind;
      for (LaunchOp other : ArrayRef(launches).drop_front(i + 1))
        if (!insideMutuallyExclusiveRegions(launch, other))
          behind.push_back(other);
      for (LaunchOp other : behind)
        early.insert(getKernel(other));
      if (!behind.empty() && areAloneBehind(launch, behind))
        releasing.insert(getKernel(launch));
    }
  }

  static gpu::GPUFuncOp getKernel(LaunchOp launch) {
    return dyn_cast_or_null<gpu::GPUFuncOp>(
        SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr()));
  }

  /// Whether blocks of the next launch, whichever that is, are alone on their
  /// multiprocessor. Others would all gather where there is room first.
  static bool areAloneBehind(LaunchOp launch, ArrayRef<LaunchOp> behind) {
    for (LaunchOp next : behind) {
      if (2 * int64_t(next.getSmem()) <= getChip(launch).sharedMemoryBytes)
        return false;
      // Nothing behind one that is always launched comes next.
      if (next->getParentRegion()->isAncestor(launch->getParentRegion()))
        return true;
    }
    return true;
  }

  /// As soon as a block runs: what is started waits by itself.
  void release(gpu::GPUFuncOp kernel) {
    if (has(kernel, GridDepActionKind::launch_dependents))
      return;
    auto builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
    GriddepcontrolOp::create(builder, kernel.getLoc(),
                             GridDepActionKind::launch_dependents);
    ++numReleases;
  }

  void wait(gpu::GPUFuncOp kernel) {
    if (has(kernel, GridDepActionKind::wait))
      return;
    Block &entry = kernel.getBody().front();
    auto place = llvm::find_if(entry, [](Operation &op) {
      return touchesGlobalMemory(&op) || op.hasTrait<OpTrait::IsTerminator>();
    });
    OpBuilder builder(&entry, place);
    GriddepcontrolOp::create(builder, kernel.getLoc(), GridDepActionKind::wait);
    ++numWaits;
  }
};
} // namespace
