//===- FragmentMemory.cpp - fragments of hopper: loads and stores ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Core/Elementwise.h"
#include "../Core/Search.h"
#include "Fragment.h"
#include "Machine.h"
#include "fa3/Dialect/Hopper/IR/HopperExactOps.h"
#include "fa3/Support/ExactSum.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

namespace {

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// Operands of an access: indices, strides, bounds of the tile's dimensions.
struct GlobalWindow {
  const PointerObject *pointer;
  SmallVector<int64_t> indices, strides, bounds;

  /// Byte offset from the start of the allocation of element `i`; empty if it
  /// is out of bounds.
  std::optional<int64_t> locate(const FragmentExtra &extra, int64_t i,
                                int64_t bytes) const {
    int64_t position = 0, leading = extra.indices - extra.rank;
    for (int64_t dim = 0; dim < extra.indices; ++dim) {
      int64_t index = indices[dim];
      if (dim >= leading) {
        index += extra.table.at(i, dim - leading);
        if (index < 0 || index >= bounds[dim - leading])
          return std::nullopt;
      }
      position += index * strides[dim];
    }
    return pointer->byte + position * bytes;
  }
};

GlobalWindow getWindow(const Context &c, const FragmentExtra &extra,
                       ArrayRef<CellId> ids) {
  return {&c.object<PointerObject>(ids[0]),
          c.integers(ids.slice(1, extra.indices)),
          c.integers(ids.slice(1 + extra.indices, extra.indices)),
          c.integers(ids.slice(1 + 2 * extra.indices, extra.rank))};
}

LogicalResult checkGlobal(const Context &c, const Instr &in,
                          const PointerObject &pointer, int64_t position,
                          int64_t bytes, StringRef verb) {
  int64_t size = pointer.array.getAllocatedBytes();
  if (position >= 0 && position + bytes <= size)
    return success();
  return c.error(in) << "'" << in.op->getName() << "' " << verb << " byte "
                     << position << " of an array of " << size << " bytes";
}

LogicalResult runFragmentLoad(Context &c, const Instr &in) {
  const auto &extra = in.get<FragmentExtra>();
  GlobalWindow window = getWindow(c, extra, in.in);
  int64_t bytes = getByteWidth(in.format), size = extra.table.size();
  Lane lane = getLane(in.format);
  Buffer &out = c.makeBuffer(in.out[0], lane, size);
  int64_t laneBytes = getLaneBytes(lane);
  for (int64_t i = 0; i < size; ++i) {
    uint8_t *to = out.data<uint8_t>() + i * laneBytes;
    std::optional<int64_t> position = window.locate(extra, i, bytes);
    if (!position) {
      std::memset(to, 0, laneBytes);
      continue;
    }
    if (failed(checkGlobal(c, in, *window.pointer, *position, bytes, "reads")))
      return failure();
    decode(in.format, window.pointer->array.getBase() + *position, 0, 1, to);
  }
  return success();
}

LogicalResult runFragmentStore(Context &c, const Instr &in) {
  const auto &extra = in.get<FragmentExtra>();
  GlobalWindow window = getWindow(c, extra, in.in.drop_front());
  int64_t bytes = getByteWidth(in.format), threads = extra.table.threads;
  Buffer &value = c.buffer(in.in[0]);
  bool add = cast<hopper::FragmentStoreOp>(in.op).getAdd();
  int64_t laneBytes = getLaneBytes(value.getLane());
  for (int64_t i = 0; i < value.size(); ++i) {
    const uint8_t *from = value.data<uint8_t>() + i * laneBytes;
    std::optional<int64_t> position = window.locate(extra, i, bytes);
    if (!position)
      continue;
    // One thread writes what several hold; they have to agree.
    int64_t thread = i % threads, owner = extra.table.owner[thread];
    if (owner != thread) {
      const uint8_t *theirs = from + (owner - thread) * laneBytes;
      uint8_t mine[8], other[8];
      encode(in.format, from, 1, 0, mine);
      encode(in.format, theirs, 1, 0, other);
      if (std::memcmp(mine, other, bytes))
        return c.error(in) << "'hopper.fragment.store' of an element on which "
                              "threads "
                           << owner << " and " << thread << " differ";
      continue;
    }
    if (failed(checkGlobal(c, in, *window.pointer, *position, bytes, "writes")))
      return failure();
    uint8_t *to = window.pointer->array.getBase() + *position;
    if (!add) {
      encode(in.format, from, 1, 0, to);
      continue;
    }
    dispatchLane(value.getLane(), [&](auto zero) {
      decltype(zero) sum, increment;
      decode(in.format, to, 0, 1, &sum);
      std::memcpy(&increment, from, sizeof(increment));
      sum += increment;
      encode(in.format, &sum, 1, 0, to);
    });
  }
  return success();
}

template <typename OpType>
LogicalResult decodeGlobal(Decoder &d, OpType op, Type value, Handler handler) {
  FailureOr<Format> format = d.getFormat(op, value);
  if (failed(format))
    return failure();
  auto extra = makeTable(d, op, op.getFragment());
  if (failed(extra))
    return failure();
  (*extra)->indices = op.getIndices().size();
  d.emit(op, handler, *extra).format = *format;
  return success();
}

/// Which indices are vectors, and the elements of all threads.
struct FragmentGatherExtra : Extra {
  int64_t size = 0;
  SmallVector<bool> isVector;
};

LogicalResult runFragmentGather(Context &c, const Instr &in) {
  const auto &extra = in.get<FragmentGatherExtra>();
  const auto &pointer = c.object<PointerObject>(in.in[0]);
  int64_t bytes = getByteWidth(in.format), count = extra.isVector.size();
  Lane lane = getLane(in.format);
  Buffer &out = c.makeBuffer(in.out[0], lane, extra.size);
  int64_t laneBytes = getLaneBytes(lane);
  for (int64_t i = 0; i < extra.size; ++i) {
    int64_t position = pointer.byte;
    bool isInside = true;
    for (int64_t dim = 0; dim < count; ++dim) {
      CellId cell = in.in[1 + dim];
      int64_t index = extra.isVector[dim] ? c.buffer(cell).data<int64_t>()[i]
                                          : c.integer(cell);
      isInside &= index >= 0 && index < c.integer(in.in[1 + 2 * count + dim]);
      position += index * c.integer(in.in[1 + count + dim]) * bytes;
    }
    uint8_t *to = out.data<uint8_t>() + i * laneBytes;
    if (!isInside) {
      std::memset(to, 0, laneBytes);
      continue;
    }
    if (failed(checkGlobal(c, in, pointer, position, bytes, "reads")))
      return failure();
    decode(in.format, pointer.array.getBase() + position, 0, 1, to);
  }
  return success();
}

LogicalResult runAddExact(Context &c, const Instr &in) {
  const auto &extra = in.get<FragmentGatherExtra>();
  const auto &pointer = c.object<PointerObject>(in.in[1]);
  constexpr int64_t kWord = sizeof(int64_t);
  int64_t count = extra.isVector.size();
  const float *terms = c.buffer(in.in[0]).data<float>();
  for (int64_t i = 0; i < extra.size; ++i) {
    ExactTerm term = getExactTerm(terms[i]);
    int64_t position = pointer.byte + term.word * kWord;
    bool isInside = true;
    for (int64_t dim = 0; dim < count; ++dim) {
      CellId cell = in.in[2 + dim];
      int64_t index = extra.isVector[dim] ? c.buffer(cell).data<int64_t>()[i]
                                          : c.integer(cell);
      isInside &= index >= 0 && index < c.integer(in.in[2 + 2 * count + dim]);
      position += index * c.integer(in.in[2 + count + dim]) * kWord;
    }
    if (!isInside || term.amount == 0)
      continue;
    if (failed(checkGlobal(c, in, pointer, position, kWord, "writes")))
      return failure();
    uint8_t *at = pointer.array.getBase() + position;
    int64_t sum;
    std::memcpy(&sum, at, kWord);
    sum = int64_t(uint64_t(sum) + uint64_t(term.amount));
    std::memcpy(at, &sum, kWord);
  }
  return success();
}

LogicalResult runLoadExact(Context &c, const Instr &in) {
  const auto &extra = in.get<FragmentExtra>();
  GlobalWindow window = getWindow(c, extra, in.in);
  constexpr int64_t kWord = sizeof(int64_t);
  Buffer &out = c.makeBuffer(in.out[0], Lane::F32, extra.table.size());
  for (int64_t i = 0; i < out.size(); ++i) {
    std::optional<int64_t> position = window.locate(extra, i, kWord);
    float &result = out.data<float>()[i];
    result = 0;
    if (!position)
      continue;
    if (failed(checkGlobal(c, in, *window.pointer, *position,
                           kWord * kExactWords, "reads")))
      return failure();
    int64_t words[kExactWords];
    std::memcpy(words, window.pointer->array.getBase() + *position,
                sizeof(words));
    result = readExact(words);
  }
  return success();
}

LogicalResult runFragmentScalarLoad(Context &c, const Instr &in) {
  const auto &pointer = c.object<PointerObject>(in.in[0]);
  size_t count = (in.in.size() - 1) / 2;
  int64_t bytes = getByteWidth(in.format), position = pointer.byte;
  for (size_t i = 0; i < count; ++i)
    position +=
        c.integer(in.in[1 + i]) * c.integer(in.in[1 + count + i]) * bytes;
  if (failed(checkGlobal(c, in, pointer, position, bytes, "reads")))
    return failure();
  loadCell(in.format, pointer.array.getBase() + position, c.cells[in.out[0]]);
  return success();
}

LogicalResult runSearch(Context &c, const Instr &in) {
  const auto &pointer = c.object<PointerObject>(in.in[0]);
  int64_t stride = c.integer(in.in[1]), first = c.integer(in.in[2]);
  int64_t end = c.integer(in.in[3]), limit = c.integer(in.in[4]);
  int64_t step = c.integer(in.in[5]);
  if (int64_t most = cast<hopper::SearchOp>(in.op).getMost();
      end - first > most)
    return c.error(in) << "'hopper.search' in " << end - first
                       << " elements, at most " << most;
  auto getByte = [&](int64_t i) {
    return pointer.byte + i * stride * int64_t(sizeof(int32_t));
  };
  // Lanes that have no element read the last one.
  for (int64_t i : {std::min(first, end - 1), end - 1})
    if (failed(checkGlobal(c, in, pointer, getByte(i), 4, "reads")))
      return failure();
  c.cells[in.out[0]].i =
      search(std::max<int64_t>(end - first, 0), [&](int64_t i) {
        int32_t number;
        std::memcpy(&number, pointer.array.getBase() + getByte(first + i),
                    sizeof(number));
        return number < limit - step * (first + i);
      });
  return success();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// Calls `access` with the address of every element of a fragment in a slot.
template <typename Function>
LogicalResult forEachAddress(Context &c, const Instr &in,
                             const FragmentExtra &extra, ArrayRef<CellId> ids,
                             Function &&access) {
  hopper::BufferType buffer = extra.buffer;
  int64_t index = c.integer(ids[1]);
  if (index < 0 || index >= buffer.getSlots())
    return c.error(in) << "'" << in.op->getName() << "' of slot " << index
                       << " of a buffer of " << buffer.getSlots();
  int64_t slot = c.integer(ids[0]) + index * buffer.getSlotBytes();
  int64_t row0 = c.integer(ids[2]), column0 = c.integer(ids[3]);
  for (int64_t i = 0; i < extra.table.size(); ++i) {
    int64_t row = row0, column = column0;
    if (extra.rank == 2)
      row += extra.table.at(i, 0);
    column += extra.table.at(i, extra.rank - 1);
    if (row < 0 || row >= buffer.getRows() || column < 0 ||
        column >= buffer.getColumns())
      return c.error(in) << "'" << in.op->getName() << "' of element (" << row
                         << ", " << column << ") of a slot of "
                         << buffer.getRows() << "x" << buffer.getColumns();
    if (failed(access(i, slot + buffer.getByteOffset(row, column))))
      return failure();
  }
  return success();
}

/// Where the rows of the tile are; exact up to columns of a block beside it.
/// `in` are the buffer, the slot, and the first row and column.
SmallVector<ByteRange> getRows(const Context &c, const FragmentExtra &extra,
                               ArrayRef<CellId> in) {
  int64_t slot =
      c.integer(in[0]) + c.integer(in[1]) * extra.buffer.getSlotBytes();
  return getWindowRanges(extra.buffer, slot, c.integer(in[2]), extra.shape.rows,
                         c.integer(in[3]), extra.shape.columns);
}

LogicalResult runSmemStore(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  const auto &extra = in.get<FragmentExtra>();
  Buffer &value = c.buffer(in.in[0]);
  int64_t bytes = getByteWidth(in.format);
  int64_t laneBytes = getLaneBytes(value.getLane());
  SharedMemory &memory = machine->getMemory();
  WarpGroup &warpGroup = getWarpGroup(c);
  SmallVector<ByteRange> rows = getRows(c, extra, in.in.drop_front());
  bool isFree = llvm::all_of(
      rows, [&](ByteRange range) { return machine->isFree(c, range); });
  auto write = [&](int64_t i, int64_t address) -> LogicalResult {
    ByteRange range{address, address + bytes};
    if (!isFree && failed(machine->checkWrite(c, in.op, range,
                                              /*byElected=*/false)))
      return failure();
    encode(in.format, value.data<uint8_t>() + i * laneBytes, 1, 0,
           memory.at(address));
    memory.mark(range, SharedMemory::Unfenced);
    return success();
  };
  if (failed(forEachAddress(c, in, extra, in.in.drop_front(), write)))
    return failure();
  warpGroup.unfenced.append(rows);
  warpGroup.unsynced.append(rows);
  if (Event *event = record(c, Event::Write, in.op))
    event->ranges.assign(rows.begin(), rows.end());
  return success();
}

LogicalResult runSmemLoad(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  const auto &extra = in.get<FragmentExtra>();
  Lane lane = getLane(in.format);
  int64_t bytes = getByteWidth(in.format), laneBytes = getLaneBytes(lane);
  Buffer &out = c.makeBuffer(in.out[0], lane, extra.table.size());
  SmallVector<ByteRange> rows = getRows(c, extra, in.in);
  for (const ByteRange &range : rows)
    if (failed(machine->checkStart(c, in.op, range)))
      return failure();
  WarpGroup &warpGroup = getWarpGroup(c);
  for (const ByteRange &range : rows)
    if (machine->getMemory().addReader(range, c.group->agent))
      warpGroup.unfencedReads.push_back(range);
  if (Event *event = record(c, Event::Read, in.op))
    event->ranges.assign(rows.begin(), rows.end());
  return forEachAddress(
      c, in, extra, in.in, [&](int64_t i, int64_t address) -> LogicalResult {
        if (failed(machine->checkRead(c, in.op, {address, address + bytes},
                                      /*async=*/false)))
          return failure();
        decode(in.format, machine->getMemory().at(address), 0, 1,
               out.data<uint8_t>() + i * laneBytes);
        return success();
      });
}

template <typename OpType>
LogicalResult decodeSmem(Decoder &d, OpType op, Handler handler) {
  auto extra = makeTable(d, op, op.getFragment());
  if (failed(extra))
    return failure();
  ArrayRef<int64_t> shape = op.getFragment().getLayout().getShape();
  (*extra)->buffer = op.getWindowType();
  (*extra)->shape = {shape.size() == 2 ? shape[0] : 1, shape.back(), 2};
  FailureOr<Format> format =
      d.getFormat(op, (*extra)->buffer.getTile().getElementType());
  if (failed(format))
    return failure();
  d.emit(op, handler, *extra).format = *format;
  return success();
}

} // namespace

void fa3::interp::populateHopperFragmentMemory(Registry &r) {
  r.add<hopper::FragmentLoadOp>([](Decoder &d, hopper::FragmentLoadOp op) {
    return decodeGlobal(d, op, op.getResult().getType(), runFragmentLoad);
  });
  r.add<hopper::FragmentStoreOp>([](Decoder &d, hopper::FragmentStoreOp op) {
    return decodeGlobal(d, op, op.getValue().getType(), runFragmentStore);
  });
  r.add<hopper::GatherOp>([](Decoder &d, hopper::GatherOp op) -> LogicalResult {
    FailureOr<Format> format = d.getFormat(op, op.getResult().getType());
    if (failed(format))
      return failure();
    auto *extra = d.makeExtra<FragmentGatherExtra>();
    extra->size = d.getCount(op.getResult());
    for (Type type : op.getIndices().getTypes())
      extra->isVector.push_back(isa<VectorType>(type));
    d.emit(op, runFragmentGather, extra).format = *format;
    return success();
  });
  r.add<hopper::AddExactOp>([](Decoder &d, hopper::AddExactOp op) {
    auto *extra = d.makeExtra<FragmentGatherExtra>();
    extra->size = d.getCount(op.getValue());
    for (Type type : op.getIndices().getTypes())
      extra->isVector.push_back(isa<VectorType>(type));
    d.emit(op, runAddExact, extra);
    return success();
  });
  r.add<hopper::LoadExactOp>([](Decoder &d, hopper::LoadExactOp op) {
    return decodeGlobal(d, op, op.getResult().getType(), runLoadExact);
  });
  r.add<hopper::ScalarLoadOp>(
      [](Decoder &d, hopper::ScalarLoadOp op) -> LogicalResult {
        FailureOr<Format> format = d.getFormat(op, op.getResult().getType());
        if (failed(format))
          return failure();
        d.emit(op, runFragmentScalarLoad).format = *format;
        return success();
      });
  r.addPlain<hopper::SearchOp>(runSearch);
  r.add<hopper::SmemStoreOp>([](Decoder &d, hopper::SmemStoreOp op) {
    return decodeSmem(d, op, runSmemStore);
  });
  r.add<hopper::SmemLoadOp>([](Decoder &d, hopper::SmemLoadOp op) {
    return decodeSmem(d, op, runSmemLoad);
  });
}
