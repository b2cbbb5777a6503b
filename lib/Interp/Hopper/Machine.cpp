//===- Machine.cpp - shared memory and asynchronous units -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Machine.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

Machine *fa3::interp::getMachine(const Context &c, Operation *op) {
  if (c.cta && c.cta->machine)
    return c.cta->machine.get();
  c.error(op) << "'" << op->getName()
              << "' can be run only in a kernel of a 'hopper.launch'";
  return nullptr;
}

WarpGroup &fa3::interp::getWarpGroup(const Context &c) {
  if (!c.group->warpGroup)
    c.group->warpGroup = std::make_shared<WarpGroup>();
  return *c.group->warpGroup;
}

Fate fa3::interp::chooseFate(const Context &c) {
  switch (c.engine.getOptions().completion) {
  case Completion::Eager:
    return Fate::Earliest;
  case Completion::Latest:
    return Fate::Latest;
  case Completion::Random:
    break;
  }
  // Mistakes show at the extremes, so these are as likely as all between.
  return static_cast<Fate>(c.engine.choose(3));
}

Event *fa3::interp::record(const Context &c, Event::Kind kind, Operation *op) {
  if (!c.cta->protocol)
    return nullptr;
  std::vector<Event> &events = c.cta->protocol->agents[c.group->agent].events;
  events.push_back({kind, op});
  return &events.back();
}

SmallVector<ByteRange> fa3::interp::getWindowRanges(hopper::BufferType buffer,
                                                    int64_t slot, int64_t row,
                                                    int64_t rows,
                                                    int64_t column,
                                                    int64_t columns) {
  SmallVector<ByteRange> ranges;
  int64_t width = buffer.getSwizzle(), bytes = buffer.getElementBytes();
  int64_t first = column * bytes / width;
  int64_t last = (column + columns) * bytes;
  // Chunks move within a row of a block only, so whole rows bound the window.
  for (int64_t block = first; block * width < last; ++block) {
    int64_t begin = slot + block * buffer.getBlockBytes() + row * width;
    ranges.push_back({begin, begin + rows * width});
  }
  return ranges;
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

static int64_t bytesOf(Operation *alloc) {
  if (auto buffer = dyn_cast<hopper::AllocOp>(alloc)) {
    hopper::BufferType type = buffer.getBuffer().getType();
    return type.getSlots() * type.getSlotBytes();
  }
  if (auto mailbox = dyn_cast<hopper::MailboxAllocOp>(alloc))
    return mailbox.getReplicaBytes();
  return cast<hopper::BarrierAllocOp>(alloc).getBarrier().getType().getCount() *
         8;
}

/// Bytes of the copies of all replicas of the group around an allocation.
static int64_t totalBytesOf(Operation *alloc) {
  auto group = alloc->getParentOfType<warp::GroupOp>();
  int64_t alignment = isa<hopper::AllocOp>(alloc) ? 1024 : 8;
  int64_t copies = group ? group.getReplicas() : 1;
  return (copies - 1) * llvm::alignTo(bytesOf(alloc), alignment) +
         bytesOf(alloc);
}

static std::optional<int64_t> offsetOf(Operation *alloc) {
  if (auto buffer = dyn_cast<hopper::AllocOp>(alloc))
    return buffer.getOffset();
  if (auto mailbox = dyn_cast<hopper::MailboxAllocOp>(alloc))
    return mailbox.getOffset();
  return cast<hopper::BarrierAllocOp>(alloc).getOffset();
}

/// Before places are chosen, kernels may have any buffers; no pass makes more
/// than a small multiple of what an SM has.
static constexpr int64_t kMaxSharedBytes = int64_t(1) << 26;

LogicalResult Machine::layOut(Operation *kernel) {
  SmallVector<std::pair<ByteRange, Operation *>> placed;
  int64_t total = declared;
  WalkResult result = kernel->walk([&](Operation *op) {
    if (!isa<hopper::AllocOp, hopper::BarrierAllocOp, hopper::MailboxAllocOp>(
            op))
      return WalkResult::advance();
    int64_t bytes = totalBytesOf(op);
    if (bytes < 0 || bytes > kMaxSharedBytes - total) {
      op->emitError("brings the shared memory of the kernel from ")
          << total << " bytes over the interpreter's limit of "
          << kMaxSharedBytes;
      return WalkResult::interrupt();
    }
    total += bytes;
    std::optional<int64_t> offset = offsetOf(op);
    if (!offset)
      return WalkResult::advance();
    ByteRange range{*offset, *offset + totalBytesOf(op)};
    if (range.end > declared) {
      op->emitError("ends at byte ")
          << range.end << " of shared memory, the launch reserves " << declared;
      return WalkResult::interrupt();
    }
    // Buffers may share memory on purpose; barriers may not.
    for (auto &[other, otherOp] : placed)
      if (range.overlaps(other) && (isa<hopper::BarrierAllocOp>(op) ||
                                    isa<hopper::BarrierAllocOp>(otherOp))) {
        InFlightDiagnostic diagnostic =
            op->emitError("overlaps mbarriers in shared memory");
        diagnostic.attachNote(otherOp->getLoc()) << "other allocation";
        return WalkResult::interrupt();
      }
    placed.push_back({range, op});
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

int64_t Machine::getAddress(const Context &c, Operation *alloc, int64_t bytes,
                            int64_t alignment, std::optional<int64_t> offset) {
  // Inside a group every copy has its own memory, one after another.
  bool inGroup = alloc->getParentOfType<warp::GroupOp>() != nullptr;
  int64_t replica = inGroup ? c.group->replica : 0;
  auto [it, isNew] = addresses.try_emplace({alloc, replica}, 0);
  if (!isNew)
    return it->second;
  if (offset) {
    it->second = *offset + replica * llvm::alignTo(bytes, alignment);
  } else {
    it->second = llvm::alignTo(memory.size(), alignment);
    memory.resize(it->second + bytes);
  }
  if (isa<hopper::BarrierAllocOp>(alloc))
    barrierRanges.push_back({it->second, it->second + bytes});
  return it->second;
}

//===----------------------------------------------------------------------===//
// Checks of accesses
//===----------------------------------------------------------------------===//

std::optional<Machine::Conflict>
Machine::findConflict(const Context &c, ByteRange range, bool byElected) const {
  if (range.begin < 0 || range.end > memory.size())
    return Conflict{"which has " + std::to_string(memory.size()), nullptr};
  for (const ByteRange &barrier : barrierRanges)
    if (range.overlaps(barrier))
      return Conflict{"where mbarriers are", nullptr};
  if (memory.contains(range, SharedMemory::Landing))
    return Conflict{"which a TMA load in flight writes as well", nullptr};
  for (auto &group : cta.groups) {
    if (!group->warpGroup)
      continue;
    auto overlaps = [&](const Reader &reader) {
      return llvm::any_of(reader.ranges, [&](const ByteRange &read) {
        return range.overlaps(read);
      });
    };
    for (const Reader &reader : group->warpGroup->products.readers)
      if (overlaps(reader))
        return Conflict{"which an operation in flight may still read",
                        reader.op};
    // Stores are waited for by the elected thread. It knows, and so do other
    // groups once it has arrived where they waited; the other threads of its
    // group do after a barrier.
    const InOrderQueue<BoxCopy> &stores = group->warpGroup->stores;
    int64_t known = group.get() != c.group ? stores.electedReleased
                    : byElected            ? stores.electedRetired
                                           : stores.retired;
    for (const Reader &reader : stores.readers)
      if (reader.batch > known && overlaps(reader))
        return Conflict{reader.batch <= stores.electedRetired
                            ? "which was read by an operation that only the "
                              "elected thread has waited for"
                            : "which an operation in flight may still read",
                        reader.op};
  }
  return std::nullopt;
}

LogicalResult Machine::checkWrite(const Context &c, Operation *op,
                                  ByteRange range, bool byElected) {
  std::optional<Conflict> conflict = findConflict(c, range, byElected);
  if (!conflict)
    return success();
  InFlightDiagnostic diagnostic = c.error(op)
                                  << "'" << op->getName() << "' writes bytes "
                                  << range.begin << " to " << range.end
                                  << " of shared memory, " << conflict->what;
  if (conflict->op)
    diagnostic.attachNote(conflict->op->getLoc())
        << "issued here, and not waited for";
  return diagnostic;
}

LogicalResult Machine::checkRead(const Context &c, Operation *op,
                                 ByteRange range, bool async) {
  if (range.begin < 0 || range.end > memory.size())
    return c.error(op) << "reads bytes " << range.begin << " to " << range.end
                       << " of shared memory, which has " << memory.size();
  for (int64_t i = range.begin; i < range.end; ++i) {
    switch (memory.stateOf(i)) {
    case SharedMemory::Ready:
      break;
    case SharedMemory::Empty:
      return c.error(op) << "reads byte " << i
                         << " of shared memory, which was never written";
    case SharedMemory::Landing:
      return c.error(op) << "reads byte " << i
                         << " of shared memory, which a TMA load in flight is "
                            "still writing";
    case SharedMemory::Unfenced:
      if (async && c.engine.getOptions().requireFences)
        return c.error(op)
               << "reads byte " << i
               << " of shared memory, which threads have written without "
                  "'hopper.fence.proxy_async' since";
      break;
    }
  }
  return success();
}

LogicalResult Machine::checkStart(const Context &c, Operation *op,
                                  ByteRange range) {
  if (range.begin < 0 || range.end > memory.size())
    return c.error(op) << "reads bytes " << range.begin << " to " << range.end
                       << " of shared memory, which has " << memory.size();
  if (memory.contains(range, SharedMemory::Landing))
    return c.error(op) << "'" << op->getName() << "' may read bytes "
                       << range.begin << " to " << range.end
                       << " of shared memory while a TMA load writes there";
  if (c.group->warpGroup)
    for (const ByteRange &written : c.group->warpGroup->unsynced)
      if (range.overlaps(written))
        return c.error(op)
               << "'" << op->getName() << "' reads bytes "
               << std::max(range.begin, written.begin) << " to "
               << std::min(range.end, written.end)
               << " of shared memory, which threads of the group have written "
                  "without meeting at a barrier since";
  return success();
}

BarrierState *Machine::getBarrier(const Context &c, Operation *op,
                                  int64_t address) {
  auto it = barriers.find(address);
  if (it == barriers.end() || !initVisible) {
    c.error(op) << (it == barriers.end()
                        ? "uses an mbarrier that is not initialized"
                        : "uses an mbarrier before a CTA-wide barrier has made "
                          "its initialization visible");
    return nullptr;
  }
  return &it->second;
}

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

/// Calls `function` for every row of a box with its number, the array's bytes
/// of the row, the columns that lie outside before it, and those inside.
template <typename Function>
static void forEachRow(const BoxCopy &copy, Function &&function) {
  const Array &array = copy.map->array;
  ArrayRef<int64_t> box = copy.map->type.getBox();
  size_t rank = box.size();
  int64_t rows = 1;
  for (int64_t extent : box.drop_back())
    rows *= extent;
  int64_t start = copy.coordinates.back();
  int64_t before = std::clamp<int64_t>(-start, 0, box.back());
  int64_t inside = std::max<int64_t>(
      0, std::min(box.back(), array.getShape().back() - start) - before);
  SmallVector<int64_t> index(rank);
  for (int64_t row = 0; row < rows; ++row) {
    bool isInside = true;
    for (int64_t rest = row, dim = rank - 1; dim-- > 0;) {
      index[dim] = copy.coordinates[dim] + rest % box[dim];
      rest /= box[dim];
      isInside &= index[dim] >= 0 && index[dim] < array.getShape()[dim];
    }
    index[rank - 1] = start + before;
    bool some = isInside && inside > 0;
    function(row, some ? array.at(index) : nullptr, before, some ? inside : 0);
  }
}

LogicalResult Machine::copyIn(const BoxCopy &load) {
  hopper::TensorMapType type = load.map->type;
  int64_t width = type.getSwizzle();
  int64_t bytes = getByteWidth(load.map->array.getFormat());
  SmallVector<uint8_t, 128> line(width);
  forEachRow(load, [&](int64_t row, const uint8_t *source, int64_t before,
                       int64_t inside) {
    std::fill(line.begin(), line.end(), 0);
    if (inside)
      std::memcpy(line.data() + before * bytes, source, inside * bytes);
    for (int64_t chunk = 0; chunk < width; chunk += 16)
      std::memcpy(memory.at(SharedMemory::swizzle(
                      load.range.begin + row * width + chunk, width)),
                  line.data() + chunk, 16);
  });
  memory.mark(load.range, SharedMemory::Ready);
  Context c = contextOf(load.group);
  BarrierState *state = getBarrier(c, load.op, load.barrier);
  if (!state)
    return failure();
  int64_t phase = state->barrier.getPhase();
  if (!state->barrier.complete(load.range.end - load.range.begin))
    return c.error(load.op)
           << "copies " << load.range.end - load.range.begin
           << " bytes, which its mbarrier does not expect ("
           << state->barrier.getPendingBytes() << " bytes and "
           << state->barrier.getPendingArrivals() << " arrivals are pending)";
  state->noteTime(load.doneAt, phase);
  return success();
}

/// Adds a number to one in memory.
template <typename T>
static void addTo(uint8_t *to, const uint8_t *from) {
  T sum, increment;
  std::memcpy(&sum, to, sizeof(T));
  std::memcpy(&increment, from, sizeof(T));
  sum += increment;
  std::memcpy(to, &sum, sizeof(T));
}

LogicalResult Machine::copyOut(const BoxCopy &store) {
  hopper::TensorMapType type = store.map->type;
  int64_t width = type.getSwizzle();
  int64_t bytes = getByteWidth(store.map->array.getFormat());
  bool add = cast<hopper::TmaStoreOp>(store.op).getAdd();
  // What lies outside the array is clipped: those bytes may hold anything.
  LogicalResult result = success();
  SmallVector<uint8_t, 128> line(width);
  forEachRow(store, [&](int64_t row, uint8_t *target, int64_t before,
                        int64_t inside) {
    int64_t first = before * bytes, last = (before + inside) * bytes;
    for (int64_t chunk = first / 16 * 16; inside && chunk < last; chunk += 16) {
      int64_t address =
          SharedMemory::swizzle(store.range.begin + row * width + chunk, width);
      if (succeeded(result))
        result = checkRead(contextOf(store.group), store.op,
                           {address + std::max<int64_t>(first - chunk, 0),
                            address + std::min<int64_t>(last - chunk, 16)},
                           /*async=*/true);
      if (failed(result))
        return;
      std::memcpy(line.data() + chunk, memory.at(address), 16);
    }
    if (inside && !add)
      std::memcpy(target, line.data() + first, inside * bytes);
    for (int64_t at = 0; add && at < inside * bytes; at += bytes) {
      uint8_t *sum = target + at;
      const uint8_t *increment = line.data() + first + at;
      if (type.getElementType().isF32())
        addTo<float>(sum, increment);
      else
        addTo<uint32_t>(sum, increment);
    }
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Completion
//===----------------------------------------------------------------------===//

void Machine::completeLoad(size_t place) {
  BoxCopy load = std::move(loads[place]);
  loads.erase(loads.begin() + place);
  broken |= failed(copyIn(load));
}

bool Machine::completeLoadOf(int64_t barrier) {
  for (size_t i = 0; i < loads.size(); ++i)
    if (loads[i].barrier == barrier) {
      completeLoad(i);
      return true;
    }
  return false;
}

bool Machine::executeProduct(WarpGroup &warpGroup) {
  auto &waiting = warpGroup.products.waiting;
  if (waiting.empty())
    return false;
  Product product = std::move(waiting.front());
  waiting.pop_front();
  broken |= failed(computeProduct(*this, contextOf(product.group), product));
  return true;
}

bool Machine::executeStore(WarpGroup &warpGroup) {
  auto &waiting = warpGroup.stores.waiting;
  if (waiting.empty())
    return false;
  BoxCopy store = std::move(waiting.front());
  waiting.pop_front();
  broken |= failed(copyOut(store));
  return true;
}

void Machine::completeRandom() {
  if (broken || engine.flip())
    return;
  // One candidate per load, and per queue of each group.
  uint64_t place = engine.choose(loads.size() + 2 * cta.groups.size() + 1);
  if (place < loads.size()) {
    if (!loads[place].late)
      completeLoad(place);
    return;
  }
  place -= loads.size();
  if (place / 2 >= cta.groups.size() || !cta.groups[place / 2]->warpGroup)
    return;
  WarpGroup &group = *cta.groups[place / 2]->warpGroup;
  auto isLate = [](auto &waiting) {
    return !waiting.empty() && waiting.front().late;
  };
  if (place % 2 && !isLate(group.products.waiting))
    executeProduct(group);
  else if (place % 2 == 0 && !isLate(group.stores.waiting))
    executeStore(group);
}

LogicalResult Machine::finishGroup(const Context &c) {
  if (!c.group->warpGroup)
    return success();
  WarpGroup &group = *c.group->warpGroup;
  group.stores.retire(group.stores.electedRetired);
  for (const std::deque<Reader> *readers :
       {&group.products.readers, &group.stores.readers})
    if (!readers->empty())
      return c.error(readers->front().op)
             << "is not waited for before its group ends";
  return success();
}

LogicalResult Machine::finish(const Context &c) {
  if (broken)
    return failure();
  for (auto &[address, state] : barriers)
    if (state.lastLoad && state.observed <= state.lastPhase)
      return c.error(state.lastLoad)
             << "fills shared memory, but nobody waits for its mbarrier before "
                "the block ends";
  return success();
}
