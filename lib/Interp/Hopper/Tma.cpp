//===- Tma.cpp - tensor maps and bulk copies of hopper --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Core/Elementwise.h"
#include "Clock.h"
#include "Machine.h"

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
                       CellId base, ArrayRef<CellId> place, CellId map,
                       ArrayRef<CellId> coordinates, BoxCopy &copy) {
  copy.op = in.op;
  copy.group = c.group;
  copy.map = &c.object<TensorMapObject>(map);
  copy.coordinates = c.integers(coordinates);
  int64_t index = c.integer(place[0]), row = c.integer(place[1]);
  int64_t column = c.integer(place[2]), rows = copy.map->type.getBoxRows();
  if (index < 0 || index >= buffer.getSlots())
    return c.error(in) << "'" << in.op->getName() << "' of slot " << index
                       << " of a buffer of " << buffer.getSlots();
  if (row < 0 || row % 8 || row + rows > buffer.getRows() || column < 0 ||
      column % buffer.getBlockColumns() || column >= buffer.getColumns())
    return c.error(in) << "'" << in.op->getName() << "' of " << rows
                       << " rows at (" << row << ", " << column
                       << ") of a slot of " << buffer.getRows() << "x"
                       << buffer.getColumns()
                       << ": expects a row that is a multiple of 8 and the "
                          "first column of a block";
  int64_t width = buffer.getSwizzle();
  int64_t begin = c.integer(base) + index * buffer.getSlotBytes() +
                  column / buffer.getBlockColumns() * buffer.getBlockBytes() +
                  row * width;
  copy.range = {begin, begin + rows * width};
  return success();
}

LogicalResult runCopyIn(Context &c, const Instr &in) {
  auto op = cast<hopper::TmaLoadOp>(in.op);
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  ArrayRef<CellId> ids = in.in.drop_front();
  size_t rank = op.getCoordinates().size();
  ArrayRef<CellId> coordinates = ids.take_front(rank);
  ids = ids.drop_front(rank);
  BoxCopy load;
  if (failed(placeBox(c, in, op.getWindowType(), ids[0], ids.slice(1, 3),
                      in.in[0], coordinates, load)))
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

LogicalResult runCopyOut(Context &c, const Instr &in) {
  auto op = cast<hopper::TmaStoreOp>(in.op);
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  WarpGroup &warpGroup = getWarpGroup(c);
  BoxCopy store;
  if (failed(placeBox(c, in, op.getWindowType(), in.in[0], in.in.slice(1, 3),
                      in.in[4], in.in.drop_front(5), store)))
    return failure();
  if (failed(machine->checkStart(c, in.op, store.range)))
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
  ++getWarpGroup(c).stores.next;
  return success();
}

LogicalResult runWaitRead(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  WarpGroup &warpGroup = getWarpGroup(c);
  auto &queue = warpGroup.stores;
  int64_t pending = cast<hopper::TmaWaitReadOp>(in.op).getPending();
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

} // namespace

void fa3::interp::populateHopperTma(Registry &r) {
  r.addPlain<hopper::EncodeOp>(runEncode);
  r.addPlain<hopper::AddressOp>(runAddress);
  r.addPlain<hopper::TmaLoadOp>(runCopyIn);
  r.addPlain<hopper::TmaStoreOp>(runCopyOut);
  r.addPlain<hopper::TmaCommitOp>(runCommitCopies);
  r.addPlain<hopper::TmaWaitReadOp>(runWaitRead);
}
