//===- Machine.h - shared memory, barriers and asynchronous units -*- C++ -*-=//
// SPDX-License-Identifier: Apache-2.0
//
// What the hopper dialect runs on: the state of one CTA of an sm_90 device that
// is visible to its operations.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_HOPPER_MACHINE_H
#define FA3_LIB_INTERP_HOPPER_MACHINE_H

#include "../Core/Engine.h"
#include "SharedMemory.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Interp/Mbarrier.h"
#include <deque>
#include <map>

namespace fa3::interp {

/// A tensor map.
class TensorMapObject final : public Object {
public:
  TensorMapObject(Array array, hopper::TensorMapType type)
      : array(std::move(array)), type(type) {}
  Array array;
  hopper::TensorMapType type;
};

/// A matrix descriptor: a window of a slot that starts at (row, column).
class DescObject final : public Object {
public:
  int64_t slot = 0; ///< address of the slot
  int64_t row = 0, column = 0;
  hopper::BufferType buffer;
  hopper::DescType type;
};

/// A fragment that a product is writing.
class InflightObject final : public Object {
public:
  Ref<Buffer> value; ///< null until the product has been executed
  int64_t batch = 0; ///< that of the product; 0 if complete from the start
};

/// An issued wgmma.mma. Fragments are read when it is issued, shared memory
/// when it is executed.
struct Product {
  const Instr *instr = nullptr;
  Group *group = nullptr;
  int64_t batch = 0;
  Ref<DescObject> lhsDesc, rhsDesc;
  Ref<Buffer> lhsFragment, accFragment;
  Ref<InflightObject> accInflight, result;
  bool late = false; ///< executed only when nothing can go on without it
};

/// An issued TMA copy of one box.
struct BoxCopy {
  mlir::Operation *op = nullptr;
  Group *group = nullptr;
  int64_t batch = 0; ///< of a store
  Ref<TensorMapObject> map;
  llvm::SmallVector<int64_t> coordinates;
  ByteRange range = {0, 0}; ///< in shared memory
  int64_t barrier = 0;      ///< address, of a load
  bool late = false;  ///< completes only when nothing can go on without it
  int64_t doneAt = 0; ///< of a timed run
};

/// Shared memory that an operation reads until the program has waited for it.
struct Reader {
  mlir::Operation *op;
  int64_t batch;
  llvm::SmallVector<ByteRange> ranges;
};

/// Asynchronous operations of one kind that retire in the order of issue.
/// Batches are numbered from 1; `next` is the one that is open.
template <typename T>
struct InOrderQueue {
  int64_t next = 1;
  /// Batches the program has waited for.
  int64_t retired = 0;
  /// Those that only the elected thread has waited for: other threads know of
  /// it after the next barrier.
  int64_t electedRetired = 0;
  /// Those that the elected thread had waited for when it last arrived at an
  /// mbarrier: other groups know of it when they have waited there.
  int64_t electedReleased = 0;
  /// Issued and not executed; the latter is a matter of the completion policy.
  std::deque<T> waiting;
  std::deque<Reader> readers;

  bool hasExecuted(int64_t batch) const {
    return waiting.empty() || waiting.front().batch > batch;
  }
  void retire(int64_t batch) {
    retired = std::max(retired, batch);
    while (!readers.empty() && readers.front().batch <= retired)
      readers.pop_front();
  }
};

/// Products and bulk stores that a group has issued.
class WarpGroup {
public:
  InOrderQueue<Product> products;
  InOrderQueue<BoxCopy> stores;
  /// Shared memory that was written by threads since the last proxy fence.
  llvm::SmallVector<ByteRange> unfenced;
  /// Shared memory that was read by threads since the last fence.
  llvm::SmallVector<ByteRange> unfencedReads;
  /// Shared memory that was written by threads since they last met.
  llvm::SmallVector<ByteRange> unsynced;
  /// Whether what the group adds has an order, and if so, whether it has passed
  /// a position for the open batch.
  enum class Adding { Unknown, Free, Barred, Passed };
  Adding adding = Adding::Unknown;
  /// The positions it has passed last, by the element of its progress.
  llvm::DenseMap<const uint8_t *, int32_t> passed;
  /// Whether wgmma.fence was executed in the open batch.
  bool fenced = false;
  /// Of a timed run: when the last product of each batch, and all stores, are
  /// done.
  llvm::DenseMap<int64_t, int64_t> productsDoneAt;
  int64_t storesDoneAt = 0;

  /// All threads of the group have met.
  void meet() {
    unsynced.clear();
    stores.retire(stores.electedRetired);
  }
};

/// An mbarrier and what its diagnostics need.
struct BarrierState {
  Mbarrier barrier;
  /// Phases that some group has waited for.
  int64_t observed = 0;
  /// The last load that signals it, and the phase that counts its bytes.
  mlir::Operation *lastLoad = nullptr;
  int64_t lastPhase = 0;
  /// Of a timed run: the latest arrival in the current phase, and when the last
  /// phase of each parity completed.
  int64_t latest = 0, completedAt[2] = {0, 0};

  /// Notes the time of an arrival, or of bytes, made in `phase`.
  void noteTime(int64_t time, int64_t phase) {
    latest = std::max(latest, time);
    if (barrier.getPhase() == phase)
      return;
    completedAt[phase & 1] = latest;
    latest = 0;
  }
};

/// When an operation that is issued now completes.
enum class Fate { Earliest, Between, Latest };
Fate chooseFate(const Context &c);

class Machine {
public:
  Machine(Engine &engine, Cta &cta, int64_t bytes)
      : engine(engine), cta(cta), declared(bytes), memory(bytes) {}

  /// Reserves the allocations of a kernel that have an offset.
  mlir::LogicalResult layOut(mlir::Operation *kernel);
  /// The address of an allocation for the executing group.
  int64_t getAddress(const Context &c, mlir::Operation *alloc, int64_t bytes,
                     int64_t alignment, std::optional<int64_t> offset);

  SharedMemory &getMemory() { return memory; }

  /// Checks that a range may be written now: nothing in flight accesses it and
  /// it holds no barrier. `byElected`: the elected thread alone writes.
  mlir::LogicalResult checkWrite(const Context &c, mlir::Operation *op,
                                 ByteRange range, bool byElected);
  bool isFree(const Context &c, ByteRange range) const {
    return !findConflict(c, range, /*byElected=*/false);
  }
  /// Checks that an asynchronous operation that reads a range may start now;
  /// generic reads by other threads than the writing ones likewise.
  mlir::LogicalResult checkStart(const Context &c, mlir::Operation *op,
                                 ByteRange range);
  /// Checks that a range may be read; `async` by the asynchronous proxy.
  mlir::LogicalResult checkRead(const Context &c, mlir::Operation *op,
                                ByteRange range, bool async);

  /// The initialized barrier at an address; null after a diagnostic.
  BarrierState *getBarrier(const Context &c, mlir::Operation *op,
                           int64_t address);
  void initBarrier(int64_t address, int64_t arrivals) {
    barriers.insert_or_assign(address, BarrierState{Mbarrier(arrivals)});
  }
  /// Set by a CTA-wide barrier after barrier.init.
  bool initVisible = false;

  struct NamedBarrier {
    int64_t threads = 0, arrived = 0, generation = 0;
    /// Groups that meet here, and their threads.
    llvm::SmallPtrSet<const Group *, 2> groups;
    int64_t members = 0;
    /// Groups that have arrived since it last opened.
    llvm::SmallPtrSet<const Group *, 2> present;
    /// Of a timed run: the latest arrival, and when it last opened.
    int64_t latest = 0, openedAt = 0;
  };
  NamedBarrier named[16];

  /// The register file, as setmaxnreg moves it between warp groups.
  struct Registers {
    int64_t perThread = 0, free = 0;
    llvm::DenseMap<int64_t, int64_t> ofGroup;
  };
  Registers registers;

  /// TMA loads in flight.
  std::deque<BoxCopy> loads;

  /// Completes the load at a place of `loads`.
  void completeLoad(size_t place);
  /// Completes one load that signals the barrier; false if there is none.
  bool completeLoadOf(int64_t barrier);
  /// Executes the oldest product or store; false if there is none.
  bool executeProduct(WarpGroup &warpGroup);
  bool executeStore(WarpGroup &warpGroup);
  /// Completes something at random, or nothing.
  void completeRandom();
  /// Whether an asynchronous operation failed; its error has been reported.
  bool isBroken() const { return broken; }

  /// Checks at the end of a group, and of the block, that nothing is left in
  /// flight.
  mlir::LogicalResult finishGroup(const Context &c);
  mlir::LogicalResult finish(const Context &c);

private:
  /// Why a range may not be written, and the operation that is in the way.
  struct Conflict {
    std::string what;
    mlir::Operation *op;
  };
  std::optional<Conflict> findConflict(const Context &c, ByteRange range,
                                       bool byElected) const;

  Context contextOf(Group *group) {
    return Context{engine, nullptr, &cta, group};
  }
  mlir::LogicalResult copyIn(const BoxCopy &load);
  mlir::LogicalResult copyOut(const BoxCopy &store);

  Engine &engine;
  Cta &cta;
  int64_t declared;
  SharedMemory memory;
  llvm::DenseMap<std::pair<mlir::Operation *, int64_t>, int64_t> addresses;
  llvm::SmallVector<ByteRange> barrierRanges;
  std::map<int64_t, BarrierState> barriers;
  bool broken = false;
};

/// The machine of the executing CTA; null after a diagnostic.
Machine *getMachine(const Context &c, mlir::Operation *op);

/// The barrier at an index of an array, and its address; null after a
/// diagnostic.
BarrierState *lookUpBarrier(const Context &c, mlir::Operation *op,
                            hopper::BarrierType type, Machine &machine,
                            int64_t base, int64_t index, int64_t &address);

/// Appends an event to the protocol of the executing group. Null if nothing is
/// recorded.
Event *record(const Context &c, Event::Kind kind, mlir::Operation *op);

/// What the executing group has in flight.
WarpGroup &getWarpGroup(const Context &c);

/// The elected thread waits until all but `pending` groups of stores have been
/// executed.
mlir::LogicalResult waitForStores(Context &c, const Instr &in, int64_t pending);

/// Reads shared memory and computes the result of a product.
mlir::LogicalResult computeProduct(Machine &machine, const Context &c,
                                   Product &product);

/// Byte ranges of rows [row, row + rows) and columns [column, column + columns)
/// of a slot, one per block of columns.
llvm::SmallVector<ByteRange> getWindowRanges(hopper::BufferType buffer,
                                             int64_t slot, int64_t row,
                                             int64_t rows, int64_t column,
                                             int64_t columns);

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_HOPPER_MACHINE_H
