//===- Dependence.cpp - kernels that start before others end --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/Analysis/Dependence.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

static bool isWait(Operation *op) {
  auto control = dyn_cast<NVVM::GriddepcontrolOp>(op);
  return control && control.getKind() == NVVM::GridDepActionKind::wait;
}

bool fa3::hopper::touchesGlobalMemory(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        bool touches = llvm::any_of(inner->getOperandTypes(), [](Type type) {
          return isa<LLVM::LLVMPointerType, TensorMapType, BaseMemRefType>(
              type);
        });
        return touches ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool fa3::hopper::waitsForPredecessors(Operation *kernel) {
  return kernel
      ->walk([](Operation *op) {
        return isWait(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The wait of a kernel's last block, which has waited for flags before.
static bool isWaitInTheEnd(Operation *op, Block &entry) {
  auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
  if (!branch || branch->getBlock() != &entry ||
      entry.getOps<FlagAwaitOp>().empty())
    return false;
  return llvm::none_of(
      llvm::make_range(std::next(branch->getIterator()), entry.end()),
      [](Operation &behind) { return touchesGlobalMemory(&behind); });
}

LogicalResult fa3::hopper::verifyPredecessorWaits(gpu::GPUFuncOp kernel) {
  Block &entry = kernel.getBody().front();
  bool waitsInTheEnd = false;
  WalkResult places = kernel.walk([&](NVVM::GriddepcontrolOp op) {
    if (!isWait(op) || op->getBlock() == &entry)
      return WalkResult::advance();
    if (isWaitInTheEnd(op, entry)) {
      waitsInTheEnd = true;
      return WalkResult::advance();
    }
    op.emitOpError("expects to wait in the first block of the kernel, where "
                   "all threads pass");
    return WalkResult::interrupt();
  });
  if (places.wasInterrupted())
    return failure();
  auto wait = llvm::find_if(
      entry, [](Operation &op) { return isWait(&op) || isa<FlagAwaitOp>(op); });
  if (wait == entry.end())
    return success();
  for (Operation &op : llvm::make_range(entry.begin(), wait)) {
    if (!touchesGlobalMemory(&op))
      continue;
    InFlightDiagnostic diagnostic =
        wait->emitOpError("waits for kernels in front of this one, which has "
                          "touched global memory before");
    diagnostic.attachNote(op.getLoc()) << "'" << op.getName() << "' does";
    return failure();
  }
  return success();
}

template <typename OpType>
static OpType findOne(Block &block) {
  auto ops = block.getOps<OpType>();
  return ops.empty() ? OpType() : *ops.begin();
}

template <typename OpType>
static bool contains(Operation *around) {
  return around->walk([](OpType) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Whether a barrier of the block stands between two of its operations.
static bool hasBarrierBetween(Operation *first, Operation *second) {
  return llvm::any_of(
      llvm::make_range(first->getIterator(), second->getIterator()),
      [](Operation &op) { return isa<gpu::BarrierOp>(op); });
}

/// Bulk stores are complete at the end of each group that has some.
static LogicalResult verifyWritten(warp::SpecializeOp specialize,
                                   FlagSetOp set) {
  for (auto group : specialize.getBody().getOps<warp::GroupOp>()) {
    bool stores = contains<TmaStoreOp>(group);
    Operation *end = group.getBodyBlock()->getTerminator();
    auto last = dyn_cast_or_null<TmaWaitReadOp>(end->getPrevNode());
    if (!stores || (last && last.getWritten() && last.getPending() == 0))
      continue;
    InFlightDiagnostic diagnostic = set.emitOpError(
        "says that all is in memory, expects groups with bulk stores to end "
        "with 'hopper.tma.wait_read pending 0 written'");
    diagnostic.attachNote(group.getLoc()) << "this one does not";
    return failure();
  }
  return success();
}

LogicalResult fa3::hopper::verifyFlags(gpu::GPUFuncOp kernel) {
  Block &entry = kernel.getBody().front();
  auto clear = findOne<FlagClearOp>(entry);
  auto set = findOne<FlagSetOp>(entry);
  auto await = findOne<FlagAwaitOp>(entry);
  auto specialize = findOne<warp::SpecializeOp>(entry);
  if (await && specialize &&
      (specialize->isBeforeInBlock(await) ||
       !hasBarrierBetween(await, specialize)))
    return await.emitOpError("expects to stand in front of the groups and of a "
                             "'gpu.barrier', which all threads wait for");
  if (await && !await.getCopies() && contains<TmaLoadOp>(kernel))
    return await.emitOpError("expects 'copies' in a kernel with bulk copies");
  if (!clear && !set)
    return success();
  if (!clear || !set)
    return kernel.emitOpError("expects a flag to be cleared and set, got ")
           << (clear ? "'hopper.flag.clear' alone" : "'hopper.flag.set' alone");
  if (clear.getPointer() != set.getPointer() ||
      clear.getIndices() != set.getIndices() ||
      clear.getStrides() != set.getStrides())
    return set.emitOpError("expects the flag that is cleared");
  if (specialize && (!clear->isBeforeInBlock(specialize) ||
                     !specialize->isBeforeInBlock(set)))
    return set.emitOpError("expects the groups between the clearing and the "
                           "setting of a flag");
  Operation *work = specialize ? specialize.getOperation() : clear;
  if (!clear->isBeforeInBlock(set) || !hasBarrierBetween(work, set))
    return set.emitOpError("expects a 'gpu.barrier' in front of it: other "
                           "threads may still store");
  if (specialize && failed(verifyWritten(specialize, set)))
    return failure();
  WalkResult starts = kernel.walk([&](NVVM::GriddepcontrolOp op) {
    if (isWait(op))
      return WalkResult::advance();
    op.emitOpError("lets the next kernel start, which may see the flag before "
                   "it is cleared: expects 'start' of 'hopper.flag.clear'");
    return WalkResult::interrupt();
  });
  return failure(starts.wasInterrupted());
}
