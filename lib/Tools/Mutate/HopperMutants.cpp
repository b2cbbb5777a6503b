//===- HopperMutants.cpp - mutants of barriers, waits, fences, memory -----===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/IR/ProgressOps.h"
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "fa3/Tools/Mutate/Mutate.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;
using namespace fa3::mutate;

namespace {

/// Every operation of some types is a place where `apply` makes the mutant.
template <typename... OpTypes, typename Function>
void forEach(ModuleOp module, Places &places, Function apply) {
  module.walk([&](Operation *op) {
    if (isa<OpTypes...>(op))
      places.push_back({op, [op, apply] { apply(op); }});
  });
}

/// Like forEach, with a value of `match` where it has one.
template <typename OpType, typename Match, typename Function>
void forEachMatch(ModuleOp module, Places &places, Match match,
                  Function apply) {
  module.walk([&](OpType op) {
    if (match(op))
      places.push_back({op, [op, apply] { apply(op); }});
  });
}

void erase(Operation *op) { op->erase(); }

/// Erases an operation whose results are its operands.
void forward(Operation *op) {
  op->replaceAllUsesWith(op->getOperands());
  op->erase();
}

void duplicate(Operation *op) {
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  builder.clone(*op);
}

Value constant(OpBuilder &builder, Operation *op, int64_t value) {
  return arith::ConstantOp::create(builder, op->getLoc(),
                                   builder.getI32IntegerAttr(value));
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

void collectDropArrive(ModuleOp module, Places &places) {
  forEach<BarrierArriveOp, BarrierExpectTxOp>(module, places, erase);
}
void collectDuplicateArrive(ModuleOp module, Places &places) {
  forEach<BarrierArriveOp, BarrierExpectTxOp>(module, places, duplicate);
}
void collectDropWait(ModuleOp module, Places &places) {
  forEach<BarrierWaitOp>(module, places, erase);
}

void collectFlipParity(ModuleOp module, Places &places) {
  forEach<BarrierWaitOp>(module, places, [](Operation *op) {
    auto wait = cast<BarrierWaitOp>(op);
    OpBuilder builder(op);
    wait.getParityMutable().assign(arith::XOrIOp::create(
        builder, op->getLoc(), wait.getParity(), constant(builder, op, 1)));
  });
}

void collectConstantParity(ModuleOp module, Places &places) {
  forEachMatch<BarrierWaitOp>(
      module, places,
      [](BarrierWaitOp op) {
        return !op.getParity().getDefiningOp<arith::ConstantOp>();
      },
      [](BarrierWaitOp op) {
        OpBuilder builder(op);
        op.getParityMutable().assign(constant(builder, op, 0));
      });
}

/// The number of the slot after the one given.
Value nextSlot(Operation *op, Value index, int64_t slots) {
  OpBuilder builder(op);
  Value next = arith::AddIOp::create(builder, op->getLoc(), index,
                                     constant(builder, op, 1));
  return arith::RemUIOp::create(builder, op->getLoc(), next,
                                constant(builder, op, slots));
}

void collectWrongSlot(ModuleOp module, Places &places) {
  auto add = [&](auto op, OpOperand &index, int64_t slots) {
    if (slots > 1)
      places.push_back({op, [op, &index, slots] {
                          index.set(nextSlot(op, index.get(), slots));
                        }});
  };
  module.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<BarrierWaitOp, BarrierArriveOp, BarrierExpectTxOp>([&](auto op) {
          add(op, op.getIndexMutable(), op.getBarrier().getType().getCount());
        })
        .Case<TmaLoadOp>([&](TmaLoadOp op) {
          add(op, op.getIndexMutable(), op.getBuffer().getType().getSlots());
          add(op, op.getBarrierIndexMutable(),
              op.getBarrier().getType().getCount());
        })
        .Case<DescOp, TmaStoreOp>([&](auto op) {
          add(op, op.getIndexMutable(), op.getBuffer().getType().getSlots());
        });
  });
}

/// Where an arrival comes right after the wait for its slot: before the
/// products that read the slot are issued or have retired.
Operation *findEarlier(BarrierArriveOp op) {
  bool passesUse = false;
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode()) {
    // The slot number has to be known.
    if (before == op.getIndex().getDefiningOp())
      return passesUse ? before : nullptr;
    if (isa<BarrierWaitOp>(before) && passesUse)
      return before;
    passesUse |= before->getNumRegions() > 0 || isa<WgmmaOp>(before);
  }
  return nullptr;
}

void collectEarlyArrive(ModuleOp module, Places &places) {
  forEachMatch<BarrierArriveOp>(
      module, places, findEarlier,
      [](BarrierArriveOp op) { op->moveAfter(findEarlier(op)); });
}

template <int64_t difference>
void collectBytes(ModuleOp module, Places &places) {
  forEach<BarrierExpectTxOp>(module, places, [](Operation *op) {
    auto expect = cast<BarrierExpectTxOp>(op);
    expect.setBytes(expect.getBytes() + difference);
  });
}

template <int64_t difference>
void collectArrivals(ModuleOp module, Places &places) {
  forEachMatch<BarrierAllocOp>(
      module, places,
      [](BarrierAllocOp op) {
        return op.getBarrier().getType().getArrivals() + difference > 0;
      },
      [](BarrierAllocOp op) {
        BarrierType type = op.getBarrier().getType();
        op.getBarrier().setType(
            BarrierType::get(type.getContext(), type.getCount(),
                             type.getArrivals() + difference));
      });
}

//===----------------------------------------------------------------------===//
// Waits, fences, barriers of threads
//===----------------------------------------------------------------------===//

void collectDropProxyFence(ModuleOp module, Places &places) {
  forEach<FenceProxyAsyncOp>(module, places, erase);
}
void collectDropReadFence(ModuleOp module, Places &places) {
  forEach<FenceAcqRelOp>(module, places, erase);
}
void collectDropFill(ModuleOp module, Places &places) {
  forEach<SmemFillOp>(module, places, erase);
}
void collectDropProductFence(ModuleOp module, Places &places) {
  forEach<WgmmaFenceOp>(module, places, forward);
}

/// -1 says that no instruction is needed.
bool waits(WgmmaWaitOp op) {
  return static_cast<int64_t>(op.getPending().value_or(0)) >= 0;
}

void collectDropProductWait(ModuleOp module, Places &places) {
  forEachMatch<WgmmaWaitOp>(module, places, waits,
                            [](WgmmaWaitOp op) { op.setPending(-1); });
}
void collectWeakenProductWait(ModuleOp module, Places &places) {
  forEachMatch<WgmmaWaitOp>(module, places, waits, [](WgmmaWaitOp op) {
    op.setPending(op.getPending().value_or(0) + 1);
  });
}

void collectDropThreadBarrier(ModuleOp module, Places &places) {
  forEach<NamedBarrierSyncOp, gpu::BarrierOp>(module, places, erase);
}
void collectThreadBarrierCount(ModuleOp module, Places &places) {
  auto add = [](auto op) { op.setThreads(op.getThreads() + 128); };
  forEach<NamedBarrierSyncOp, NamedBarrierArriveOp>(
      module, places, [add](Operation *op) {
        llvm::TypeSwitch<Operation *>(op)
            .Case<NamedBarrierSyncOp, NamedBarrierArriveOp>(add);
      });
}

void collectDropPass(ModuleOp module, Places &places) {
  forEach<NamedBarrierArriveOp>(module, places, erase);
}
void collectDuplicatePass(ModuleOp module, Places &places) {
  forEach<NamedBarrierArriveOp>(module, places, duplicate);
}
/// A turn is passed to whoever has it.
void collectSwapTurns(ModuleOp module, Places &places) {
  auto findTake = [](NamedBarrierArriveOp op) -> NamedBarrierSyncOp {
    for (Operation *before = op->getPrevNode(); before;
         before = before->getPrevNode())
      if (auto sync = dyn_cast<NamedBarrierSyncOp>(before);
          sync && sync.getThreads() == op.getThreads())
        return sync;
    return {};
  };
  forEachMatch<NamedBarrierArriveOp>(
      module, places, findTake, [findTake](NamedBarrierArriveOp op) {
        op.getIdMutable().assign(findTake(op).getId());
      });
}
/// A turn is passed before it is taken.
void collectEarlyPass(ModuleOp module, Places &places) {
  forEachMatch<NamedBarrierArriveOp>(
      module, places,
      [](NamedBarrierArriveOp op) {
        return isa_and_nonnull<NamedBarrierSyncOp>(op->getPrevNode());
      },
      [](NamedBarrierArriveOp op) { op->moveBefore(op->getPrevNode()); });
}
void collectThreadBarrierId(ModuleOp module, Places &places) {
  forEachMatch<NamedBarrierSyncOp>(
      module, places,
      [](NamedBarrierSyncOp op) {
        auto group = op->getParentOfType<warp::GroupOp>();
        return group && group.getReplicas() > 1;
      },
      [](NamedBarrierSyncOp op) {
        OpBuilder builder(op);
        op.getIdMutable().assign(constant(builder, op, 1));
      });
}

void collectDropStoreWait(ModuleOp module, Places &places) {
  forEach<TmaWaitReadOp>(module, places, erase);
}
void collectWeakenStoreWait(ModuleOp module, Places &places) {
  forEach<TmaWaitReadOp>(module, places, [](Operation *op) {
    auto wait = cast<TmaWaitReadOp>(op);
    wait.setPending(wait.getPending() + 1);
  });
}
void collectDropStoreCommit(ModuleOp module, Places &places) {
  forEach<TmaCommitOp>(module, places, erase);
}

/// Additions do not wait for those in front of them, or those behind for them.
void collectDropProgress(ModuleOp module, Places &places) {
  forEach<ProgressPassOp>(module, places, erase);
}
/// The addition is made before its position is passed.
void collectLateProgress(ModuleOp module, Places &places) {
  auto findCommit = [](ProgressPassOp op) -> Operation * {
    for (Operation *it = op->getNextNode(); it; it = it->getNextNode())
      if (isa<TmaCommitOp>(it))
        return it;
    return nullptr;
  };
  forEachMatch<ProgressPassOp>(
      module, places,
      [=](ProgressPassOp op) { return !op.getEnd() && findCommit(op); },
      [=](ProgressPassOp op) { op->moveAfter(findCommit(op)); });
}
/// All replicas, or all tiles of a line, have the progress of the first one.
template <unsigned fromLast>
void collectSameProgress(ModuleOp module, Places &places) {
  forEachMatch<ProgressPassOp>(
      module, places,
      [](ProgressPassOp op) {
        auto group = op->getParentOfType<warp::GroupOp>();
        return op.getIndices().size() >= fromLast &&
               (fromLast > 1 || (group && group.getReplicas() > 1));
      },
      [](ProgressPassOp op) {
        OpBuilder builder(op);
        op.getIndicesMutable()[op.getIndices().size() - fromLast].set(
            constant(builder, op, 0));
      });
}

//===----------------------------------------------------------------------===//
// Memory, copies, registers
//===----------------------------------------------------------------------===//

int64_t getEnd(AllocOp op) {
  return op.getOffset().value_or(0) + op.getReplicaBytes();
}

/// A buffer starts where the one before it in memory does, or half way in it;
/// an mbarrier lies where the one before it does.
void collectOverlap(ModuleOp module, Places &places) {
  SmallVector<AllocOp> buffers;
  SmallVector<BarrierAllocOp> barriers;
  module.walk([&](Operation *op) {
    if (auto buffer = dyn_cast<AllocOp>(op); buffer && buffer.getOffset())
      buffers.push_back(buffer);
    if (auto barrier = dyn_cast<BarrierAllocOp>(op);
        barrier && barrier.getOffset())
      barriers.push_back(barrier);
  });
  for (AllocOp op : buffers)
    for (AllocOp other : buffers)
      if (getEnd(other) == static_cast<int64_t>(*op.getOffset())) {
        int64_t begin = *other.getOffset();
        int64_t half = begin + (getEnd(other) - begin) / 2048 * 1024;
        places.push_back({op, [op, begin]() mutable { op.setOffset(begin); }});
        if (half != begin)
          places.push_back({op, [op, half]() mutable { op.setOffset(half); }});
      }
  for (auto [other, op] : llvm::zip(barriers, llvm::drop_begin(barriers)))
    places.push_back({op, [op = op, begin = *other.getOffset()]() mutable {
                        op.setOffset(begin);
                      }});
}

void collectFewerSlots(ModuleOp module, Places &places) {
  forEachMatch<AllocOp>(
      module, places,
      [](AllocOp op) { return op.getBuffer().getType().getSlots() > 1; },
      [](AllocOp op) {
        BufferType type = op.getBuffer().getType();
        op.getBuffer().setType(
            BufferType::get(type.getContext(), type.getSlots() - 1,
                            type.getTile(), type.getSwizzle()));
      });
  forEachMatch<BarrierAllocOp>(
      module, places,
      [](BarrierAllocOp op) {
        return op.getBarrier().getType().getCount() > 1;
      },
      [](BarrierAllocOp op) {
        BarrierType type = op.getBarrier().getType();
        op.getBarrier().setType(BarrierType::get(
            type.getContext(), type.getCount() - 1, type.getArrivals()));
      });
}

void collectLateDependence(ModuleOp module, Places &places) {
  using NVVM::GriddepcontrolOp;
  forEachMatch<GriddepcontrolOp>(
      module, places,
      [](GriddepcontrolOp op) {
        return op.getKind() == NVVM::GridDepActionKind::wait &&
               isa<gpu::GPUFuncOp>(op->getParentOp());
      },
      [](GriddepcontrolOp op) {
        op->moveBefore(op->getBlock()->getTerminator());
      });
}
/// Without what orders two kernels: a flag that is not cleared, set or awaited,
/// another one, the end of the kernel in front, bulk stores that are not
/// complete.
void collectDropFlag(ModuleOp module, Places &places) {
  forEach<FlagClearOp>(module, places, erase);
  forEach<FlagSetOp>(module, places, erase);
  forEach<FlagAwaitOp>(module, places, erase);
}
void collectOtherFlag(ModuleOp module, Places &places) {
  auto next = [](auto op) {
    OpBuilder builder(op);
    Value index = op.getIndices().back();
    Value one = arith::ConstantIntOp::create(builder, op.getLoc(), 1, 32);
    op.getIndicesMutable()
        .slice(op.getIndices().size() - 1, 1)
        .assign(arith::AddIOp::create(builder, op.getLoc(), index, one)
                    .getResult());
  };
  auto isAny = [](auto) { return true; };
  forEachMatch<FlagSetOp>(module, places, isAny, next);
  forEachMatch<FlagAwaitOp>(module, places, isAny, next);
}
/// A flag in front of what it is for, and without a barrier.
void collectEarlyFlag(ModuleOp module, Places &places) {
  forEach<FlagSetOp>(module, places, [](Operation *op) {
    if (Operation *barrier = op->getPrevNode())
      op->moveBefore(barrier);
  });
  forEach<FlagAwaitOp>(module, places, [](Operation *op) {
    op->moveBefore(op->getBlock()->getTerminator());
  });
}
void collectEarlyStart(ModuleOp module, Places &places) {
  forEachMatch<FlagClearOp>(
      module, places, [](FlagClearOp op) { return op.getStart(); },
      [](FlagClearOp op) {
        auto builder = OpBuilder::atBlockBegin(op->getBlock());
        NVVM::GriddepcontrolOp::create(
            builder, op.getLoc(), NVVM::GridDepActionKind::launch_dependents);
      });
}
void collectUnwritten(ModuleOp module, Places &places) {
  forEachMatch<TmaWaitReadOp>(
      module, places,
      [](TmaWaitReadOp op) {
        auto stores = [](TmaStoreOp) { return WalkResult::interrupt(); };
        return op.getWritten() &&
               op->getParentOp()->walk(stores).wasInterrupted();
      },
      [](TmaWaitReadOp op) { op.setWritten(false); });
  forEachMatch<FlagAwaitOp>(
      module, places, [](FlagAwaitOp op) { return op.getCopies(); },
      [](FlagAwaitOp op) { op.setCopies(false); });
}
void collectDropEnd(ModuleOp module, Places &places) {
  using NVVM::GriddepcontrolOp;
  forEachMatch<GriddepcontrolOp>(
      module, places,
      [](GriddepcontrolOp op) { return isa<scf::IfOp>(op->getParentOp()); },
      erase);
}
void collectDropLoad(ModuleOp module, Places &places) {
  forEach<TmaLoadOp>(module, places, erase);
}
void collectDuplicateLoad(ModuleOp module, Places &places) {
  forEach<TmaLoadOp>(module, places, duplicate);
}

/// Every piece is where the next one should be.
void collectNextPiece(ModuleOp module, Places &places) {
  forEachMatch<TmaLoadOp>(
      module, places, [](TmaLoadOp op) { return op.getNumPieces() > 1; },
      [](TmaLoadOp op) {
        Value number = op.getPlaces().front().getArgument(0);
        OpBuilder builder(op);
        builder.setInsertionPointToStart(&op.getPlaces().front().front());
        Value one =
            arith::ConstantIntOp::create(builder, op.getLoc(), 1, /*width=*/32);
        auto next = arith::AddIOp::create(builder, op.getLoc(), number, one);
        number.replaceAllUsesExcept(next, next);
      });
}

/// A row, or a column, of boxes is missing.
void collectFewerPieces(ModuleOp module, Places &places) {
  forEachMatch<TmaLoadOp>(
      module, places, [](TmaLoadOp op) { return op.getNumPieces() > 1; },
      [](TmaLoadOp op) { op.setPieces(op.getNumPieces() - 1); });
  forEachMatch<TmaLoadOp>(
      module, places, [](TmaLoadOp op) { return op.getNumBlocks() > 1; },
      [](TmaLoadOp op) { op.setBlocks(op.getNumBlocks() - 1); });
}

void collectMoreRegisters(ModuleOp module, Places &places) {
  forEach<SetMaxRegistersOp>(module, places, [](Operation *op) {
    auto set = cast<SetMaxRegistersOp>(op);
    set.setRegisters(set.getRegisters() + 8);
  });
}
void collectKeepRegisters(ModuleOp module, Places &places) {
  forEachMatch<SetMaxRegistersOp>(
      module, places, [](SetMaxRegistersOp op) { return !op.getIncrease(); },
      [](SetMaxRegistersOp op) { op.erase(); });
}

} // namespace

ArrayRef<MutantKind> mutate::getHopperMutants() {
  static const MutantKind kinds[] = {
      {"drop-arrive", "an arrival on an mbarrier is missing",
       collectDropArrive},
      {"duplicate-arrive", "an arrival on an mbarrier is made twice",
       collectDuplicateArrive},
      {"early-arrive", "a slot is handed back before its reads have completed",
       collectEarlyArrive},
      {"drop-wait", "a wait for an mbarrier is missing", collectDropWait},
      {"flip-parity", "a wait for an mbarrier has the other parity",
       collectFlipParity},
      {"constant-parity",
       "a wait for an mbarrier forgets how often it was done",
       collectConstantParity},
      {"wrong-slot", "an access or a barrier of the next slot instead",
       collectWrongSlot},
      {"more-bytes", "16 bytes more are expected than are copied",
       collectBytes<16>},
      {"fewer-bytes", "16 bytes less are expected than are copied",
       collectBytes<-16>},
      {"more-arrivals", "an mbarrier for one arrival more", collectArrivals<1>},
      {"fewer-arrivals", "an mbarrier for one arrival less",
       collectArrivals<-1>},
      {"drop-proxy-fence", "no fence between threads and the async proxy",
       collectDropProxyFence},
      {"drop-read-fence", "no fence between reads by threads and a copy",
       collectDropReadFence},
      {"drop-fill", "a constant in shared memory is never written",
       collectDropFill},
      {"drop-product-fence", "no fence before products",
       collectDropProductFence},
      {"drop-product-wait", "a wait for products is missing",
       collectDropProductWait},
      {"weaken-product-wait", "one group of products more may stay in flight",
       collectWeakenProductWait},
      {"drop-thread-barrier", "a barrier of threads is missing",
       collectDropThreadBarrier},
      {"thread-barrier-count", "a barrier of threads waits for 128 more",
       collectThreadBarrierCount},
      {"thread-barrier-id", "all copies of a group use one barrier of threads",
       collectThreadBarrierId},
      {"drop-pass", "a replica does not pass its turn", collectDropPass},
      {"duplicate-pass", "a replica passes its turn twice",
       collectDuplicatePass},
      {"swap-turns", "a replica passes its turn to itself", collectSwapTurns},
      {"early-pass", "a replica passes its turn before it takes it",
       collectEarlyPass},
      {"drop-store-wait", "a wait for stores is missing", collectDropStoreWait},
      {"weaken-store-wait", "one group of stores more may stay in flight",
       collectWeakenStoreWait},
      {"drop-store-commit", "a group of stores is not closed",
       collectDropStoreCommit},
      {"drop-progress", "additions in one order do not wait, or no end is told",
       collectDropProgress},
      {"late-progress", "an addition does not wait for those in front",
       collectLateProgress},
      {"same-progress", "replicas share their progress",
       collectSameProgress<1>},
      {"same-number", "tiles share their progress", collectSameProgress<2>},
      {"overlap", "two allocations overlap in shared memory", collectOverlap},
      {"fewer-slots", "a buffer or array of mbarriers is one slot shorter",
       collectFewerSlots},
      {"late-dependence", "a kernel waits for those in front of it at its end",
       collectLateDependence},
      {"drop-flag", "a flag is not cleared, set or awaited", collectDropFlag},
      {"other-flag", "the flag of another tile is set or awaited",
       collectOtherFlag},
      {"early-flag", "a flag is set before the block meets, or awaited late",
       collectEarlyFlag},
      {"early-start", "the next kernel may start before a flag is cleared",
       collectEarlyStart},
      {"unwritten", "flags know nothing of bulk stores or copies",
       collectUnwritten},
      {"drop-end", "a kernel may end before those in front of it",
       collectDropEnd},
      {"drop-load", "a copy is missing", collectDropLoad},
      {"duplicate-load", "a copy is made twice", collectDuplicateLoad},
      {"next-piece", "pieces are looked for where the next ones are",
       collectNextPiece},
      {"fewer-pieces", "pieces are missing", collectFewerPieces},
      {"more-registers", "a group asks for 8 registers more",
       collectMoreRegisters},
      {"keep-registers", "a group does not give its registers up",
       collectKeepRegisters},
  };
  return kinds;
}
