//===- ProtocolMemory.cpp - registers and memory that products use --------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProtocolModel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// Fragments that products read come out of a fence.
LogicalResult ProtocolModel::checkFragments() {
  WalkResult result = specialize.walk([&](WgmmaOp mma) {
    for (Value operand : {mma.getLhs(), mma.getAcc()})
      if (operand && isa<VectorType>(operand.getType()) &&
          !operand.getDefiningOp<WgmmaFenceOp>()) {
        InFlightDiagnostic diagnostic = mma.emitOpError(
            "reads registers that have not passed a 'hopper.wgmma.fence'");
        if (Operation *producer = operand.getDefiningOp())
          diagnostic.attachNote(producer->getLoc()) << "they stem from here";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Threads of a block, 0 if their number is not fixed.
static int64_t getNumThreads(gpu::GPUFuncOp function) {
  std::optional<ArrayRef<int32_t>> size = function.getKnownBlockSize();
  int64_t threads = size ? 1 : 0;
  if (size)
    for (int32_t extent : *size)
      threads *= extent;
  return threads;
}

/// Groups that have a place lie inside the block.
static LogicalResult checkPlaces(warp::SpecializeOp specialize,
                                 const Chip &chip, int64_t threads) {
  for (auto group : specialize.getBody().getOps<warp::GroupOp>())
    if (group.getFirstWarp() && threads &&
        (int64_t(*group.getFirstWarp()) +
         int64_t(group.getWarps()) * int64_t(group.getReplicas())) *
                chip.threadsPerWarp >
            threads)
      return group.emitOpError("ends beyond the ")
             << threads << " threads of the block";
  return success();
}

/// Takes note of what a group asks for in each of its warp groups, where a
/// block of `threads` starts with `entry` registers per thread.
static LogicalResult
setRegisters(warp::GroupOp group, SetMaxRegistersOp op, const Chip &chip,
             int64_t threads, int64_t entry,
             MutableArrayRef<SetMaxRegistersOp> ofWarpgroup) {
  if (!group.getFirstWarp())
    return group.emitOpError("changes its registers, but has no place (see "
                             "hopper-pack-warpgroups)");
  int64_t count = op.getRegisters();
  if (op.getIncrease() ? count < entry : count > entry)
    return op.emitOpError(op.getIncrease() ? "increases" : "decreases")
           << " registers to " << count << ", but a block of " << threads
           << " threads starts with " << entry;
  int64_t first = *group.getFirstWarp();
  int64_t last =
      first + int64_t(group.getWarps()) * int64_t(group.getReplicas()) - 1;
  for (int64_t i = first / chip.warpsPerWarpgroup;
       i <= last / chip.warpsPerWarpgroup; ++i) {
    SetMaxRegistersOp &other = ofWarpgroup[i];
    if (other && other.getRegisters() != op.getRegisters()) {
      InFlightDiagnostic diagnostic = op.emitOpError("asks for ")
                                      << count << " registers in warp group "
                                      << i;
      diagnostic.attachNote(other.getLoc())
          << "another group of it asks for " << other.getRegisters();
      return failure();
    }
    other = op;
  }
  return success();
}

/// All warp groups together have no more registers than the block started with.
static LogicalResult checkPool(warp::SpecializeOp specialize, int64_t perGroup,
                               int64_t entry,
                               ArrayRef<SetMaxRegistersOp> ofWarpgroup) {
  int64_t total = 0;
  for (SetMaxRegistersOp op : ofWarpgroup)
    total += (op ? int64_t(op.getRegisters()) : entry) * perGroup;
  int64_t pool = entry * int64_t(ofWarpgroup.size()) * perGroup;
  if (total <= pool)
    return success();
  InFlightDiagnostic diagnostic = specialize.emitOpError("needs ")
                                  << total << " registers, the block has "
                                  << pool;
  for (auto [i, op] : llvm::enumerate(ofWarpgroup))
    if (SetMaxRegistersOp asking = op)
      diagnostic.attachNote(asking.getLoc())
          << "warp group " << i << " asks for " << asking.getRegisters()
          << " per thread";
  return failure();
}

LogicalResult ProtocolModel::checkRegisters() {
  const Chip &chip = getChip(function);
  int64_t perGroup = chip.getThreadsPerWarpgroup();
  int64_t threads = getNumThreads(function);
  SmallVector<std::pair<warp::GroupOp, SetMaxRegistersOp>> set;
  for (auto group : specialize.getBody().getOps<warp::GroupOp>())
    for (auto op : group.getBodyBlock()->getOps<SetMaxRegistersOp>())
      set.push_back({group, op});
  if (failed(checkPlaces(specialize, chip, threads)))
    return failure();
  if (set.empty())
    return success();
  if (!threads)
    return function.emitOpError("changes registers of groups, but has no "
                                "'known_block_size'");
  int64_t warpgroups = llvm::divideCeil(threads, perGroup);
  int64_t entry = chip.getEntryRegisters(warpgroups * perGroup);
  std::vector<SetMaxRegistersOp> ofWarpgroup(warpgroups);
  for (auto [group, op] : set)
    if (failed(setRegisters(group, op, chip, threads, entry, ofWarpgroup)))
      return failure();
  return checkPool(specialize, perGroup, entry, ofWarpgroup);
}

namespace {
/// A window of a slot, whichever slot it is.
struct Window {
  Value buffer;
  bool writes;
  int64_t row, rowEnd, column, columnEnd;
};
} // namespace

/// Windows of shared memory that an operation accesses.
static SmallVector<Window> getWindows(Operation *op,
                                      llvm::function_ref<int64_t(Value)> get) {
  SmallVector<Window> windows;
  auto add = [&](bool writes, TypedValue<BufferType> buffer, Value row,
                 Value column, int64_t rows, int64_t columns,
                 int64_t elementBytes) {
    // Columns of the access count its own elements.
    int64_t bytes = buffer.getType().getElementBytes();
    Window window{buffer, writes, get(row), 0, get(column), 0};
    bool known = window.row != warp::kUnknown;
    window.rowEnd = known ? window.row + rows : buffer.getType().getRows();
    window.row = known ? window.row : 0;
    known = window.column != warp::kUnknown;
    window.columnEnd =
        known
            ? llvm::divideCeil((window.column + columns) * elementBytes, bytes)
            : buffer.getType().getColumns();
    window.column = known ? window.column * elementBytes / bytes : 0;
    windows.push_back(window);
  };
  auto addFragment = [&](auto access, bool writes) {
    ArrayRef<int64_t> shape = access.getFragment().getLayout().getShape();
    add(writes, access.getBuffer(), access.getRow(), access.getColumn(),
        shape[0], shape.size() > 1 ? shape[1] : 1,
        access.getWindowType().getElementBytes());
  };
  auto addBoxes = [&](auto copy, bool writes, int64_t rows, int64_t columns) {
    add(writes, copy.getBuffer(), copy.getRow(), copy.getColumn(), rows,
        columns, copy.getWindowType().getElementBytes());
  };
  auto addOperand = [&](Value operand, int64_t extent, int64_t k) {
    auto desc = operand.getDefiningOp<DescOp>();
    if (!desc)
      return;
    bool alongColumns = desc.getDesc().getType().getMajor() == Major::k;
    add(false, desc.getBuffer(), desc.getRow(), desc.getColumn(),
        alongColumns ? extent : k, alongColumns ? k : extent,
        desc.getBuffer().getType().getElementBytes());
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](SmemStoreOp store) { addFragment(store, true); })
      .Case([&](SmemLoadOp load) { addFragment(load, false); })
      .Case([&](TmaLoadOp load) {
        addBoxes(load, true, load.getRows(), load.getColumns());
      })
      .Case([&](TmaStoreOp store) {
        TensorMapType map = store.getMap().getType();
        addBoxes(store, false, map.getBoxRows(), map.getBox().back());
      })
      .Case([&](WgmmaOp mma) {
        addOperand(mma.getLhs(), mma.getM(), mma.getK());
        addOperand(mma.getRhs(), mma.getN(), mma.getK());
      });
  return windows;
}

/// Whether two replicas of a group may access the same part of a buffer that
/// they share, one of them to write it.
static bool meetsInMemory(warp::GroupOp group) {
  std::vector<std::vector<Window>> ofReplica(group.getReplicas());
  for (size_t replica = 0; replica < ofReplica.size(); ++replica) {
    auto get = [&](Value value) {
      return evaluateScalar(value, [&](Value leaf) {
        return leaf == group.getReplica() ? static_cast<int64_t>(replica)
                                          : warp::kUnknown;
      });
    };
    group.walk([&](Operation *op) {
      for (const Window &window : getWindows(op, get))
        if (!group->isAncestor(window.buffer.getDefiningOp()))
          ofReplica[replica].push_back(window);
    });
  }
  for (size_t i = 0; i < ofReplica.size(); ++i)
    for (size_t j = i + 1; j < ofReplica.size(); ++j)
      for (const Window &a : ofReplica[i])
        for (const Window &b : ofReplica[j])
          if (a.buffer == b.buffer && (a.writes || b.writes) &&
              a.row < b.rowEnd && b.row < a.rowEnd && a.column < b.columnEnd &&
              b.column < a.columnEnd)
            return true;
  return false;
}

LogicalResult ProtocolModel::checkSharedMemory() {
  struct Range {
    Operation *op;
    int64_t begin, end;
    bool isBarrier;
  };
  SmallVector<Range> ranges;
  function.walk([&](Operation *op) {
    auto group = op->getParentOfType<warp::GroupOp>();
    int64_t replicas = group ? int64_t(group.getReplicas()) : 1;
    auto add = [&](auto alloc, bool isBarrier) {
      if (std::optional<int64_t> offset = alloc.getOffset())
        ranges.push_back({op, *offset,
                          *offset + alloc.getReplicaBytes() * replicas,
                          isBarrier});
    };
    if (auto alloc = dyn_cast<AllocOp>(op))
      add(alloc, false);
    else if (auto alloc = dyn_cast<BarrierAllocOp>(op))
      add(alloc, true);
    else if (auto alloc = dyn_cast<MailboxAllocOp>(op))
      add(alloc, true);
  });
  int64_t end = 0;
  llvm::stable_sort(
      ranges, [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (auto [i, range] : llvm::enumerate(ranges)) {
    end = std::max(end, range.end);
    for (const Range &other : ArrayRef(ranges).drop_front(i + 1)) {
      if (other.begin >= range.end)
        break;
      // Buffers may share memory if their accesses are ordered.
      joinsReplicas = true;
      if (!range.isBarrier && !other.isBarrier)
        continue;
      InFlightDiagnostic diagnostic =
          (range.isBarrier ? range : other).op->emitOpError("overlaps bytes ")
          << other.begin << " to " << std::min(range.end, other.end)
          << " of shared memory that are in use";
      diagnostic.attachNote((range.isBarrier ? other : range).op->getLoc())
          << "by this allocation";
      return failure();
    }
  }
  int64_t limit = getChip(function).maxSharedMemoryBytes;
  if (end > limit)
    return function.emitOpError("needs ")
           << end << " bytes of shared memory, the limit is " << limit;

  for (auto group : specialize.getBody().getOps<warp::GroupOp>())
    joinsReplicas |= meetsInMemory(group);
  joinsReplicas |= hasMeetings;
  return success();
}
