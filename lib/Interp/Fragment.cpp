//===- Fragment.cpp - fragments of hopper: values and memory --------------===//

#include "Fragment.h"
#include "Elementwise.h"
#include "Machine.h"
#include "TileAccess.h"
#include <cmath>

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

FragmentTable::FragmentTable(const LinearLayout &layout)
    : rank(layout.getRank()), registers(layout.getNumRegisters()),
      threads(layout.getNumWarps() * 32) {
  coordinates.resize(size() * rank);
  for (int64_t r = 0; r < registers; ++r) {
    LinearLayout::Basis inThread = layout.getRegisterOffset(r);
    for (int64_t t = 0; t < threads; ++t) {
      LinearLayout::Basis ofThread = layout.getThreadOffset(t % 32, t / 32);
      for (int64_t dim = 0; dim < rank; ++dim)
        coordinates[(r * threads + t) * rank + dim] =
            inThread[dim] + ofThread[dim];
    }
  }
  // Threads that differ in bits that move nothing are replicas.
  auto movesNothing = [](const LinearLayout::Basis &basis) {
    return llvm::all_of(basis, [](int64_t v) { return v == 0; });
  };
  int64_t replicaBits = 0;
  for (auto [bit, basis] : llvm::enumerate(layout.getLaneBases()))
    replicaBits |= int64_t(movesNothing(basis)) << bit;
  for (auto [bit, basis] : llvm::enumerate(layout.getWarpBases()))
    replicaBits |= int64_t(movesNothing(basis)) << (bit + 5);
  for (int64_t t = 0; t < threads; ++t)
    owner.push_back(t & ~replicaBits);
}

namespace {

struct FragmentExtra : Extra {
  FragmentTable table;
  int64_t dim = 0, indices = 0, rank = 0;
  hopper::BufferType buffer;
  TileShape shape;
};

/// Checks that a layout is one of the executing group, and tabulates it.
FailureOr<FragmentExtra *> makeTable(Decoder &d, Operation *op,
                                     hopper::FragmentAttr fragment) {
  const LinearLayout &layout = fragment.getLayout();
  if (layout.getNumWarps() * 32 != d.getThreads()) {
    op->emitError("'") << op->getName() << "' of a fragment of "
                       << layout.getNumWarps() * 32
                       << " threads, the group has " << d.getThreads();
    return failure();
  }
  auto *extra = d.makeExtra<FragmentExtra>();
  extra->table = FragmentTable(layout);
  extra->rank = layout.getRank();
  return extra;
}

LogicalResult runCoord(Context &c, const Instr &in) {
  const auto &extra = in.get<FragmentExtra>();
  int64_t offset = c.integer(in.in[0]);
  Buffer &out = c.makeBuffer(in.out[0], Lane::I64, extra.table.size());
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<int64_t>()[i] = offset + extra.table.at(i, extra.dim);
  return success();
}

LogicalResult decodeCoord(Decoder &d, hopper::CoordOp op) {
  auto extra = makeTable(d, op, op.getFragment());
  if (failed(extra))
    return failure();
  (*extra)->dim = op.getDim();
  d.emit(op, runCoord, *extra).format = Format::I32;
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions and votes
//===----------------------------------------------------------------------===//

/// Of integers the greater signed one.
template <typename T>
T combine(bool isMax, Format format, T a, T b) {
  if (!isMax)
    return finish(format, T(a + b));
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(b) || a >= b ? a : b;
  return std::max(a, b);
}

struct FragmentReduceExtra : Extra {
  bool isMax = false;
  int64_t threads = 1, results = 1;
  /// The result register of every register, and whether it comes first.
  SmallVector<int64_t> target;
  SmallVector<bool> isFirst;
};

LogicalResult runFragmentReduce(Context &c, const Instr &in) {
  const auto &extra = in.get<FragmentReduceExtra>();
  Buffer &source = c.buffer(in.in[0]);
  int64_t threads = extra.threads;
  Buffer &out =
      c.makeBuffer(in.out[0], source.getLane(), extra.results * threads);
  dispatchLane(source.getLane(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, uint8_t>) {
      for (auto [reg, target] : llvm::enumerate(extra.target)) {
        const T *from = source.data<T>() + reg * threads;
        T *to = out.data<T>() + target * threads;
        for (int64_t t = 0; t < threads; ++t)
          to[t] = extra.isFirst[reg]
                      ? from[t]
                      : combine(extra.isMax, in.format, to[t], from[t]);
      }
    }
  });
  return success();
}

/// Truth values are not combined.
LogicalResult checkNumber(Operation *op, Format format) {
  if (getLane(format) != Lane::I1)
    return success();
  return op->emitError("'")
         << op->getName() << "' of i1 is not known to the interpreter";
}

LogicalResult decodeFragmentReduce(Decoder &d, hopper::FragmentReduceOp op) {
  FailureOr<Format> format = d.getFormat(op, op.getSource().getType());
  if (failed(format) || failed(checkNumber(op, *format)))
    return failure();
  auto *extra = d.makeExtra<FragmentReduceExtra>();
  extra->isMax = op.getKind() == hopper::Combine::max;
  extra->threads = d.getThreads();
  const LinearLayout &layout = op.getFragment().getLayout();
  SmallVector<LinearLayout::Basis> kept;
  for (int64_t r = 0; r < layout.getNumRegisters(); ++r) {
    LinearLayout::Basis offset = layout.getRegisterOffset(r);
    int64_t &along = offset[op.getDim()];
    along = op.getModulo() ? along % *op.getModulo() : 0;
    auto *it = llvm::find(kept, offset);
    extra->target.push_back(it - kept.begin());
    extra->isFirst.push_back(it == kept.end());
    if (it == kept.end())
      kept.push_back(offset);
  }
  extra->results = kept.size();
  auto result = cast<VectorType>(op.getResult().getType());
  if (result.getNumElements() != extra->results)
    return op.emitError("'hopper.fragment.reduce' gives ")
           << extra->results << " registers, its result has "
           << result.getNumElements();
  d.emit(op, runFragmentReduce, extra).format = *format;
  return success();
}

struct LaneReduceExtra : Extra {
  bool isMax = false;
  SmallVector<int64_t> bits;
};

LogicalResult runLaneReduce(Context &c, const Instr &in) {
  const auto &extra = in.get<LaneReduceExtra>();
  Buffer &source = c.buffer(in.in[0]);
  Buffer &out = c.makeBuffer(in.out[0], source.getLane(), source.size());
  dispatchLane(source.getLane(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, uint8_t>) {
      T *values = out.data<T>();
      std::copy_n(source.data<T>(), source.size(), values);
      for (int64_t bit : extra.bits)
        for (int64_t i = 0; i < source.size(); ++i) {
          int64_t other = i ^ (int64_t(1) << bit);
          if (other < i)
            continue;
          T a = values[i], b = values[other];
          values[i] = combine(extra.isMax, in.format, a, b);
          values[other] = combine(extra.isMax, in.format, b, a);
        }
    }
  });
  return success();
}

LogicalResult decodeLaneReduce(Decoder &d, hopper::LaneReduceOp op) {
  FailureOr<Format> format = d.getFormat(op, op.getSource().getType());
  if (failed(format) || failed(checkNumber(op, *format)))
    return failure();
  auto *extra = d.makeExtra<LaneReduceExtra>();
  extra->isMax = op.getKind() == hopper::Combine::max;
  extra->bits.assign(op.getLaneBits().begin(), op.getLaneBits().end());
  d.emit(op, runLaneReduce, extra).format = *format;
  return success();
}

/// The answer of a warp, in all of its threads.
LogicalResult runVote(Context &c, const Instr &in) {
  int64_t threads = in.get<CountExtra>().count;
  Buffer &source = c.buffer(in.in[0]);
  Buffer &out = c.makeBuffer(in.out[0], Lane::I1, threads);
  uint8_t *votes = out.data<uint8_t>();
  std::fill_n(votes, threads, 0);
  for (int64_t i = 0; i < source.size(); ++i)
    if (source.data<uint8_t>()[i])
      std::fill_n(votes + i % threads / 32 * 32, 32, 1);
  return success();
}

struct WarpIfExtra : Extra {
  Code body;
  int64_t threads = 1;
};

LogicalResult runWarpIf(Context &c, const Instr &in) {
  const auto &extra = in.get<WarpIfExtra>();
  const uint8_t *taken = c.buffer(in.in[0]).data<uint8_t>();
  if (std::all_of(taken, taken + extra.threads,
                  [](uint8_t v) { return v == 0; })) {
    for (size_t i = 0; i < in.out.size(); ++i)
      c.cells[in.out[i]] = c.cells[in.in[i + 1]];
    return success();
  }
  // Per-thread arithmetic has no effects: warps that do not take the branch
  // compute it and drop the results.
  if (failed(runCode(c, extra.body)))
    return failure();
  for (size_t number = 0; number < in.out.size(); ++number) {
    Buffer &yielded = c.buffer(extra.body.yields[number]);
    Buffer &otherwise = c.buffer(in.in[number + 1]);
    Buffer &out =
        c.makeBuffer(in.out[number], yielded.getLane(), yielded.size());
    dispatchLane(yielded.getLane(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < yielded.size(); ++i)
        out.data<T>()[i] =
            (taken[i % extra.threads] ? yielded : otherwise).data<T>()[i];
    });
  }
  return success();
}

LogicalResult decodeWarpIf(Decoder &d, hopper::WarpIfOp op) {
  for (Type type : op.getResultTypes())
    if (!isa<VectorType>(type))
      return op.emitError("'hopper.warp_if' of ")
             << type << " is not known to the interpreter";
  auto *extra = d.makeExtra<WarpIfExtra>();
  extra->threads = d.getThreads();
  CellId condition = d.asBuffer(op, op.getCondition(), d.getThreads());
  if (failed(d.decodeRegion(op.getBody(), extra->body)))
    return failure();
  SmallVector<CellId> in{condition}, out;
  for (auto [otherwise, result] :
       llvm::zip(op.getOtherwise(), op.getResults())) {
    in.push_back(d.cell(otherwise));
    out.push_back(d.cell(result));
  }
  d.emit(op, runWarpIf, in, out, extra);
  return success();
}

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
    encode(in.format, from, 1, 0, window.pointer->array.getBase() + *position);
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

LogicalResult runScalarLoad(Context &c, const Instr &in) {
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
                                              /*byLeader=*/false)))
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

void fa3::interp::populateHopperFragments(Registry &r) {
  r.add<hopper::CoordOp>(decodeCoord);
  r.add<hopper::FragmentReduceOp>(decodeFragmentReduce);
  r.add<hopper::LaneReduceOp>(decodeLaneReduce);
  r.add<hopper::VoteAnyOp>([](Decoder &d, hopper::VoteAnyOp op) {
    auto *extra = d.makeExtra<CountExtra>();
    extra->count = d.getThreads();
    d.emit(op, runVote, extra);
    return success();
  });
  r.add<hopper::WarpIfOp>(decodeWarpIf, /*varying=*/true);
  r.add<hopper::FragmentLoadOp>([](Decoder &d, hopper::FragmentLoadOp op) {
    return decodeGlobal(d, op, op.getResult().getType(), runFragmentLoad);
  });
  r.add<hopper::FragmentStoreOp>([](Decoder &d, hopper::FragmentStoreOp op) {
    return decodeGlobal(d, op, op.getValue().getType(), runFragmentStore);
  });
  r.add<hopper::ScalarLoadOp>(
      [](Decoder &d, hopper::ScalarLoadOp op) -> LogicalResult {
        FailureOr<Format> format = d.getFormat(op, op.getResult().getType());
        if (failed(format))
          return failure();
        d.emit(op, runScalarLoad).format = *format;
        return success();
      });
  r.add<hopper::SmemStoreOp>([](Decoder &d, hopper::SmemStoreOp op) {
    return decodeSmem(d, op, runSmemStore);
  });
  r.add<hopper::SmemLoadOp>([](Decoder &d, hopper::SmemLoadOp op) {
    return decodeSmem(d, op, runSmemLoad);
  });
}
