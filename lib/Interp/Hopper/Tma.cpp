//===- Tma.cpp - tensor maps and bulk copies of hopper --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Core/Elementwise.h"
#include "Clock.h"
#include "Machine.h"
#include "fa3/Dialect/Hopper/IR/ProgressOps.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

namespace {

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

LogicalResult runEncode(Context &c, const Instr &in) {
  auto op = cast<hopper::EncodeOp>(in.op);
  const Array &array = c.array(in.in[0]);
  int64_t bytes = getByteWidth(array.getFormat());
  if (array.getOffset() * bytes % 16)
    return c.error(in) << "'hopper.tensormap.encode' expects an address that "
                          "is a multiple of 16 bytes, got offset "
                       << array.getOffset() * bytes;
  for (auto [dim, stride] : llvm::enumerate(array.getStrides().drop_back()))
    if (stride * bytes % 16 || stride < 0)
      return c.error(in) << "'hopper.tensormap.encode' expects strides that "
                            "are multiples of 16 bytes, got "
                         << stride * bytes << " in dimension " << dim;
  if (array.getStrides().back() != 1)
    return c.error(in) << "'hopper.tensormap.encode' expects an innermost "
                          "stride of 1, got "
                       << array.getStrides().back();
  c.set(in.out[0], new TensorMapObject(array, op.getResult().getType()));
  return success();
}

LogicalResult runAddress(Context &c, const Instr &in) {
  const Array &array = c.array(in.in[0]);
  c.set(in.out[0],
        new PointerObject(array,
                          array.getOffset() * getByteWidth(array.getFormat())));
  return success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Fills in where a box lies in shared memory and in the array.
LogicalResult placeBox(Context &c, const Instr &in, hopper::BufferType buffer,
                       CellId base, ArrayRef<int64_t> place, CellId map,
                       ArrayRef<int64_t> coordinates, BoxCopy &copy) {
  copy.op = in.op;
  copy.group = c.group;
  copy.map = &c.object<TensorMapObject>(map);
  copy.coordinates.assign(coordinates.begin(), coordinates.end());
  int64_t index = place[0], row = place[1], column = place[2];
  int64_t rows = copy.map->type.getBoxRows();
  if (index < 0 || index >= buffer.getSlots())
    return c.error(in) << "'" << in.op->getName() << "' of slot " << index
                       << " of a buffer of " << buffer.getSlots();
  constexpr int64_t kUnit = 128; // of addresses
  if (row < 0 || row * buffer.getSwizzle() % kUnit ||
      row + rows > buffer.getRows() || column < 0 ||
      column % buffer.getBlockColumns() || column >= buffer.getColumns())
    return c.error(in) << "'" << in.op->getName() << "' of " << rows
                       << " rows at (" << row << ", " << column
                       << ") of a slot of " << buffer.getRows() << "x"
                       << buffer.getColumns()
                       << ": expects a row that is a multiple of "
                       << kUnit / buffer.getSwizzle()
                       << " and the first column of a block";
  int64_t width = buffer.getSwizzle();
  int64_t begin = c.integer(base) + index * buffer.getSlotBytes() +
                  column / buffer.getBlockColumns() * buffer.getBlockBytes() +
                  row * width;
  copy.range = {begin, begin + rows * width};
  return success();
}

/// Copies a box to a place of a slot that is so many rows and columns further
/// on than the operation says.
LogicalResult copyIn(Context &c, const Instr &in, ArrayRef<int64_t> coordinates,
                     int64_t rows = 0, int64_t columns = 0) {
  auto op = cast<hopper::TmaLoadOp>(in.op);
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  ArrayRef<CellId> ids = in.in.drop_front(1 + op.getCoordinates().size());
  SmallVector<int64_t> place = c.integers(ids.slice(1, 3));
  place[1] += rows;
  place[2] += columns;
  BoxCopy load;
  if (failed(placeBox(c, in, op.getWindowType(), ids[0], place, in.in[0],
                      coordinates, load)))
    return failure();
  BarrierState *state =
      lookUpBarrier(c, in.op, op.getBarrier().getType(), *machine,
                    c.integer(ids[4]), c.integer(ids[5]), load.barrier);
  if (!state || failed(machine->checkWrite(c, in.op, load.range,
                                           /*byElected=*/true)))
    return failure();
  if (c.engine.getOptions().requireFences &&
      machine->getMemory().hasReaders(load.range))
    return c.error(in) << "'hopper.tma.load' writes bytes " << load.range.begin
                       << " to " << load.range.end
                       << " of shared memory, some of which threads have read "
                          "without 'hopper.fence.acq_rel' since";
  state->lastLoad = in.op;
  state->lastPhase = state->barrier.getPhase();
  machine->getMemory().mark(load.range, SharedMemory::Landing);
  if (Event *event = record(c, Event::Load, in.op)) {
    event->barrier = load.barrier;
    event->ranges.push_back(load.range);
  }
  if (Clock *clock = c.cta->clock.get())
    load.doneAt =
        clock->issueCopy(*c.group, load.range.end - load.range.begin, in.op);
  Fate fate = chooseFate(c);
  load.late = fate == Fate::Latest;
  machine->loads.push_back(std::move(load));
  if (fate == Fate::Earliest)
    machine->completeLoad(machine->loads.size() - 1);
  return failure(machine->isBroken());
}

LogicalResult runCopyIn(Context &c, const Instr &in) {
  auto op = cast<hopper::TmaLoadOp>(in.op);
  return copyIn(c, in, c.integers(in.in.slice(1, op.getCoordinates().size())));
}

/// Says where the pieces of a copy are.
struct CopyPiecesExtra : Extra {
  Code places;
};

LogicalResult runCopyPieces(Context &c, const Instr &in) {
  auto op = cast<hopper::TmaLoadOp>(in.op);
  const Code &places = in.get<CopyPiecesExtra>().places;
  hopper::TensorMapType map = op.getMap().getType();
  int64_t width = map.getBox().back();
  for (int64_t piece = 0; piece < op.getNumPieces(); ++piece) {
    c.cells[places.arguments.front()].i = piece;
    if (failed(runCode(c, places)))
      return failure();
    SmallVector<int64_t> at = c.integers(places.yields);
    for (int64_t block = 0; block < op.getNumBlocks(); ++block) {
      if (failed(copyIn(c, in, at, piece * map.getBoxRows(), block * width)))
        return failure();
      at.back() += width;
    }
  }
  return success();
}

LogicalResult decodeCopyIn(Decoder &d, hopper::TmaLoadOp op) {
  if (!op.getPieces()) {
    d.emit(op, runCopyIn);
    return success();
  }
  auto *extra = d.makeExtra<CopyPiecesExtra>();
  if (failed(d.decodeRegion(op.getPlaces().front(), extra->places)))
    return failure();
  d.emit(op, runCopyPieces, extra);
  return success();
}

/// A group that passes positions adds nowhere else.
LogicalResult checkAdding(Context &c, const Instr &in, WarpGroup &warpGroup) {
  using Adding = WarpGroup::Adding;
  if (warpGroup.adding == Adding::Unknown) {
    Operation *group = c.group->op ? c.group->op : c.cta->kernel;
    bool passes = group
                      ->walk([](hopper::ProgressPassOp) {
                        return WalkResult::interrupt();
                      })
                      .wasInterrupted();
    warpGroup.adding = passes ? Adding::Barred : Adding::Free;
  }
  if (warpGroup.adding != Adding::Barred)
    return success();
  return c.error(in) << "'hopper.tma.store' adds out of order: expects a "
                        "'hopper.progress.pass' of the group since the last "
                        "'hopper.tma.commit'";
}

LogicalResult runCopyOut(Context &c, const Instr &in) {
  auto op = cast<hopper::TmaStoreOp>(in.op);
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  WarpGroup &warpGroup = getWarpGroup(c);
  BoxCopy store;
  if (failed(placeBox(c, in, op.getWindowType(), in.in[0],
                      c.integers(in.in.slice(1, 3)), in.in[4],
                      c.integers(in.in.drop_front(5)), store)))
    return failure();
  if (failed(machine->checkStart(c, in.op, store.range)))
    return failure();
  if (op.getAdd() && failed(checkAdding(c, in, warpGroup)))
    return failure();
  store.batch = warpGroup.stores.next;
  if (Event *event = record(c, Event::AsyncRead, in.op)) {
    event->amount = store.batch;
    event->queue = 1;
    event->ranges.push_back(store.range);
  }
  if (Clock *clock = c.cta->clock.get())
    warpGroup.storesDoneAt =
        clock->issueCopy(*c.group, store.range.end - store.range.begin, in.op);
  Fate fate = chooseFate(c);
  store.late = fate == Fate::Latest;
  warpGroup.stores.readers.push_back({in.op, store.batch, {store.range}});
  warpGroup.stores.waiting.push_back(std::move(store));
  if (fate == Fate::Earliest)
    while (machine->executeStore(warpGroup))
      ;
  return failure(machine->isBroken());
}

LogicalResult runCommitCopies(Context &c, const Instr &in) {
  WarpGroup &warpGroup = getWarpGroup(c);
  ++warpGroup.stores.next;
  if (warpGroup.adding == WarpGroup::Adding::Passed)
    warpGroup.adding = WarpGroup::Adding::Barred;
  return success();
}

LogicalResult runWaitRead(Context &c, const Instr &in) {
  return waitForStores(c, in, cast<hopper::TmaWaitReadOp>(in.op).getPending());
}

} // namespace

LogicalResult fa3::interp::waitForStores(Context &c, const Instr &in,
                                         int64_t pending) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  WarpGroup &warpGroup = getWarpGroup(c);
  auto &queue = warpGroup.stores;
  int64_t waited = std::max<int64_t>(0, queue.next - 1 - pending);
  auto ready = [&] { return machine->isBroken() || queue.hasExecuted(waited); };
  auto help = [&] { return machine->executeStore(warpGroup); };
  auto describe = [&] {
    return "for group " + std::to_string(waited) + " of stores";
  };
  if (failed(c.cta->scheduler.wait({in.op, ready, help, describe})) ||
      machine->isBroken())
    return failure();
  queue.electedRetired = std::max(queue.electedRetired, waited);
  if (Event *event = record(c, Event::Retire, in.op)) {
    event->amount = waited;
    event->queue = 1;
  }
  if (Clock *clock = c.cta->clock.get())
    return clock->resumeAt(c, pending ? 0 : warpGroup.storesDoneAt);
  return success();
}

void fa3::interp::populateHopperTma(Registry &r) {
  r.addPlain<hopper::EncodeOp>(runEncode);
  r.addPlain<hopper::AddressOp>(runAddress);
  r.add<hopper::TmaLoadOp>(decodeCopyIn);
  r.addPlain<hopper::TmaStoreOp>(runCopyOut);
  r.addPlain<hopper::TmaCommitOp>(runCommitCopies);
  r.addPlain<hopper::TmaWaitReadOp>(runWaitRead);
}
