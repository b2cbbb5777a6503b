//===- OverlapLaunches.cpp - the start of a kernel beside the end of one --===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/Analysis/Dependence.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "fa3/Machine/Chip.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
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
    for (Operation *kernel : early) {
      auto function = cast<gpu::GPUFuncOp>(kernel);
      if (mayWaitForFlags(function))
        waitInTheEnd(function);
      else
        wait(function);
    }
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
      if (!behind.empty() &&
          (setsFlags(launch) || areAloneBehind(launch, behind)))
        releasing.insert(getKernel(launch));
      if (!isBehindFlags(ArrayRef(launches).take_front(i), launch))
        waitingForAll.insert(getKernel(launch));
    }
  }

  static bool setsFlags(LaunchOp launch) {
    gpu::GPUFuncOp kernel = getKernel(launch);
    return hasIn<FlagSetOp>(kernel) && !hasIn<FlagAwaitOp>(kernel);
  }

  /// Whether the kernel right in front of a launch, whichever that is, sets
  /// flags. Itself it waits for all in front of it.
  static bool isBehindFlags(ArrayRef<LaunchOp> inFront, LaunchOp launch) {
    for (LaunchOp other : llvm::reverse(inFront)) {
      if (insideMutuallyExclusiveRegions(other, launch))
        continue;
      if (!setsFlags(other))
        return false;
      if (other->getParentRegion()->isAncestor(launch->getParentRegion()))
        return true;
    }
    return false;
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

  template <typename OpType>
  static bool hasIn(gpu::GPUFuncOp kernel) {
    return !kernel.getBody().front().getOps<OpType>().empty();
  }

  /// As soon as a block runs: what is started waits by itself. With a flag when
  /// that is cleared.
  void release(gpu::GPUFuncOp kernel) {
    if (has(kernel, GridDepActionKind::launch_dependents))
      return;
    Block &entry = kernel.getBody().front();
    if (hasIn<FlagClearOp>(kernel)) {
      FlagClearOp clear = *entry.getOps<FlagClearOp>().begin();
      numReleases += !clear.getStart();
      return clear.setStart(true);
    }
    auto builder = OpBuilder::atBlockBegin(&entry);
    GriddepcontrolOp::create(builder, kernel.getLoc(),
                             GridDepActionKind::launch_dependents);
    ++numReleases;
  }

  /// Whether flags say all that a kernel has to wait for.
  bool mayWaitForFlags(gpu::GPUFuncOp kernel) const {
    return hasIn<FlagAwaitOp>(kernel) && !waitingForAll.contains(kernel);
  }

  /// The last block does, so that the kernel ends behind those in front of it;
  /// others make room for blocks that still have to start.
  void waitInTheEnd(gpu::GPUFuncOp kernel) {
    if (has(kernel, GridDepActionKind::wait))
      return;
    ImplicitLocOpBuilder b(kernel.getLoc(),
                           kernel.getBody().front().getTerminator());
    Type i32 = b.getI32Type();
    Value number = arith::IndexCastOp::create(
        b, i32, gpu::BlockIdOp::create(b, gpu::Dimension::x));
    Value count = arith::IndexCastOp::create(
        b, i32, gpu::GridDimOp::create(b, gpu::Dimension::x));
    Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
    Value last = arith::SubIOp::create(b, count, one);
    Value isLast =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, last);
    auto branch = scf::IfOp::create(b, isLast, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    GriddepcontrolOp::create(b, GridDepActionKind::wait);
    ++numWaits;
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

  /// Kernels behind others than the one whose flags they wait for.
  llvm::SetVector<Operation *> waitingForAll;
};
} // namespace
