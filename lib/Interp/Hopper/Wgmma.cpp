//===- Wgmma.cpp - descriptors and asynchronous products of hopper --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A product reads its fragments when it is issued and shared memory when it is
// executed, which may be as late as the wait for its group.
//===----------------------------------------------------------------------===//

#include "../Core/Elementwise.h"
#include "../Core/Gemm.h"
#include "Clock.h"
#include "Fragment.h"
#include "Machine.h"
#include "ShortSums.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

namespace {

struct WgmmaExtra : Extra {
  int64_t m = 0, n = 0, k = 0;
  Format format = Format::F16;
  /// Positions in the row-major matrix of the elements of a fragment.
  SmallVector<int32_t, 0> accPositions, lhsPositions;
};

SmallVector<int32_t, 0> getPositions(const LinearLayout &layout) {
  FragmentTable table(layout);
  int64_t columns = layout.getShape()[1];
  SmallVector<int32_t, 0> positions(table.size());
  for (int64_t i = 0; i < table.size(); ++i)
    positions[i] = table.at(i, 0) * columns + table.at(i, 1);
  return positions;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// Elements of a format in memory as floats, which hold 8-bit integers, too.
void decodeAsFloats(Format format, const uint8_t *bytes, int64_t count,
                    float *to) {
  constexpr int64_t kMostElements = 16; // of 16 bytes
  int64_t integers[kMostElements];
  bool isInteger = !isFloat(format);
  decode(format, bytes, getByteWidth(format), count,
         isInteger ? static_cast<void *>(integers) : to);
  if (isInteger)
    std::copy(integers, integers + count, to);
}

/// Reads `rows` x `columns` elements from the window of a descriptor.
LogicalResult fetch(Machine &machine, const Context &c, Operation *op,
                    const DescObject &desc, Format format, int64_t rows,
                    int64_t columns, float *to) {
  hopper::BufferType buffer = desc.buffer;
  int64_t width = buffer.getSwizzle(), bytes = buffer.getElementBytes();
  int64_t perChunk = 16 / bytes;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; column += perChunk) {
      int64_t byte = (desc.column + column) * bytes;
      int64_t linear = desc.slot + byte / width * buffer.getBlockBytes() +
                       (desc.row + row) * width + byte % width;
      int64_t address = SharedMemory::swizzle(linear, width);
      if (failed(machine.checkRead(c, op, {address, address + 16}, true)))
        return failure();
      decodeAsFloats(format, machine.getMemory().at(address), perChunk,
                     to + row * columns + column);
    }
  return success();
}

/// Products of integers, summed modulo 2^32. fp64 holds what is wrapped.
Ref<Buffer> sumIntegers(const WgmmaExtra &extra, const float *lhs,
                        const float *rhs, Buffer *acc) {
  auto [m, n, k] = std::tuple(extra.m, extra.n, extra.k);
  SmallVector<double, 0> a(lhs, lhs + m * k), b(rhs, rhs + k * n), sums(m * n);
  if (acc)
    for (auto [i, position] : llvm::enumerate(extra.accPositions))
      sums[position] = acc->data<int64_t>()[i];
  gemm(m, n, k, a.data(), b.data(), sums.data());
  Ref<Buffer> result(new Buffer(Lane::I64, m * n));
  for (auto [i, position] : llvm::enumerate(extra.accPositions))
    result->data<int64_t>()[i] =
        wrapTo(Format::I32, static_cast<int64_t>(sums[position]));
  return result;
}

} // namespace

LogicalResult fa3::interp::computeProduct(Machine &machine, const Context &c,
                                          Product &product) {
  const auto &extra = product.instr->get<WgmmaExtra>();
  Operation *op = product.instr->op;
  auto [m, n, k] = std::tuple(extra.m, extra.n, extra.k);
  SmallVector<float, 0> lhs(m * k), rhs(k * n), sums(m * n, 0.0f), other;
  if (product.lhsFragment) {
    Buffer &fragment = *product.lhsFragment;
    for (auto [i, position] : llvm::enumerate(extra.lhsPositions))
      lhs[position] = fragment.getLane() == Lane::F32
                          ? fragment.data<float>()[i]
                          : fragment.data<int64_t>()[i];
  } else if (product.lhsDesc->type.getMajor() == hopper::Major::k) {
    if (failed(fetch(machine, c, op, *product.lhsDesc, extra.format, m, k,
                     lhs.data())))
      return failure();
  } else {
    other.resize_for_overwrite(m * k);
    if (failed(fetch(machine, c, op, *product.lhsDesc, extra.format, k, m,
                     other.data())))
      return failure();
    transpose(k, m, other.data(), lhs.data());
  }
  if (product.rhsDesc->type.getMajor() == hopper::Major::mn) {
    if (failed(fetch(machine, c, op, *product.rhsDesc, extra.format, k, n,
                     rhs.data())))
      return failure();
  } else {
    other.resize_for_overwrite(k * n);
    if (failed(fetch(machine, c, op, *product.rhsDesc, extra.format, n, k,
                     other.data())))
      return failure();
    transpose(n, k, other.data(), rhs.data());
  }
  Buffer *acc = product.accInflight ? product.accInflight->value.get()
                                    : product.accFragment.get();
  if (!isFloat(extra.format)) {
    product.result->value = sumIntegers(extra, lhs.data(), rhs.data(), acc);
    return success();
  }
  if (acc)
    for (auto [i, position] : llvm::enumerate(extra.accPositions))
      sums[position] = acc->data<float>()[i];
  if (getByteWidth(extra.format) == 1)
    addShortSums(m, n, k, lhs.data(), rhs.data(), sums.data());
  else
    gemm(m, n, k, lhs.data(), rhs.data(), sums.data());
  Ref<Buffer> result(new Buffer(Lane::F32, m * n));
  for (auto [i, position] : llvm::enumerate(extra.accPositions))
    result->data<float>()[i] = sums[position];
  product.result->value = result;
  return success();
}

namespace {

//===----------------------------------------------------------------------===//
// desc, mma
//===----------------------------------------------------------------------===//

LogicalResult runDesc(Context &c, const Instr &in) {
  auto op = cast<hopper::DescOp>(in.op);
  Ref<DescObject> desc(new DescObject());
  desc->buffer = op.getBuffer().getType();
  desc->type = op.getDesc().getType();
  int64_t index = c.integer(in.in[1]), slots = desc->buffer.getSlots();
  desc->row = c.integer(in.in[2]);
  desc->column = c.integer(in.in[3]);
  desc->slot = c.integer(in.in[0]) + index * desc->buffer.getSlotBytes();
  if (index < 0 || index >= slots)
    return c.error(in) << "'hopper.desc' of slot " << index
                       << " of a buffer of " << slots;
  if (desc->row < 0 || desc->row >= desc->buffer.getRows() || desc->row % 8 ||
      desc->column < 0 || desc->column >= desc->buffer.getColumns() ||
      desc->column * desc->buffer.getElementBytes() % 16)
    return c.error(in) << "'hopper.desc' at (" << desc->row << ", "
                       << desc->column
                       << "): expects a row that is a multiple of 8 and a "
                          "column at a multiple of 16 bytes inside the tile of "
                       << desc->buffer.getRows() << "x"
                       << desc->buffer.getColumns();
  c.set(in.out[0], desc);
  return success();
}

/// Checks that a window of `outer` rows or columns and `k` of the contracted
/// dimension lies inside the slot and can be described.
LogicalResult checkWindow(const Context &c, const Instr &in,
                          const DescObject &desc, StringRef name, int64_t outer,
                          int64_t k, SmallVectorImpl<ByteRange> &ranges) {
  bool alongColumns = desc.type.getMajor() == hopper::Major::k;
  int64_t rows = alongColumns ? outer : k, columns = alongColumns ? k : outer;
  hopper::BufferType buffer = desc.buffer;
  if (desc.row + rows > buffer.getRows() ||
      desc.column + columns > buffer.getColumns())
    return c.error(in) << "'hopper.wgmma.mma' reads " << name << " of " << rows
                       << "x" << columns << " elements at (" << desc.row << ", "
                       << desc.column << ") of a slot of " << buffer.getRows()
                       << "x" << buffer.getColumns();
  int64_t startByte = desc.column * buffer.getElementBytes();
  if (alongColumns && startByte % 32)
    return c.error(in) << "'hopper.wgmma.mma' expects " << name
                       << " to start at a multiple of 32 bytes, got column "
                       << desc.column;
  if (!alongColumns && startByte % buffer.getSwizzle())
    return c.error(in) << "'hopper.wgmma.mma' expects " << name
                       << " to start at a block of columns, got column "
                       << desc.column;
  if (!alongColumns && buffer.getElementBytes() != 2)
    return c.error(in) << "'hopper.wgmma.mma' of 8-bit elements expects "
                       << name << " with K along the columns";
  ranges.append(
      getWindowRanges(buffer, desc.slot, desc.row, rows, desc.column, columns));
  return success();
}

/// Takes the operands of a product, and the shared memory that it will read.
LogicalResult takeOperands(Context &c, const Instr &in, Product &product,
                           SmallVectorImpl<ByteRange> &ranges) {
  const auto &extra = in.get<WgmmaExtra>();
  auto op = cast<hopper::WgmmaOp>(in.op);
  if (isa<hopper::DescType>(op.getLhs().getType())) {
    product.lhsDesc = &c.object<DescObject>(in.in[0]);
    if (failed(checkWindow(c, in, *product.lhsDesc, "lhs", extra.m, extra.k,
                           ranges)))
      return failure();
  } else {
    product.lhsFragment = &c.buffer(in.in[0]);
  }
  product.rhsDesc = &c.object<DescObject>(in.in[1]);
  if (failed(checkWindow(c, in, *product.rhsDesc, "rhs", extra.n, extra.k,
                         ranges)))
    return failure();
  if (op.getAcc()) {
    if (isa<hopper::InflightType>(op.getAcc().getType()))
      product.accInflight = &c.object<InflightObject>(in.in[2]);
    else
      product.accFragment = &c.buffer(in.in[2]);
  }
  return success();
}

LogicalResult runMma(Context &c, const Instr &in) {
  auto op = cast<hopper::WgmmaOp>(in.op);
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  if (c.group->threads != 128)
    return c.error(in) << "'hopper.wgmma.mma' expects a group of 128 threads, "
                          "got "
                       << c.group->threads;
  WarpGroup &warpGroup = getWarpGroup(c);
  if (c.engine.getOptions().requireFences && !warpGroup.fenced)
    return c.error(in) << "'hopper.wgmma.mma' without 'hopper.wgmma.fence' "
                          "since the last commit";
  auto &queue = warpGroup.products;
  Product product;
  product.instr = &in;
  product.group = c.group;
  product.batch = queue.next;
  Reader reader{in.op, queue.next, {}};
  if (failed(takeOperands(c, in, product, reader.ranges)))
    return failure();
  product.result = new InflightObject();
  product.result->batch = queue.next;
  for (const ByteRange &range : reader.ranges)
    if (failed(machine->checkStart(c, in.op, range)))
      return failure();
  if (Event *event = record(c, Event::AsyncRead, in.op)) {
    event->amount = queue.next;
    event->ranges.assign(reader.ranges.begin(), reader.ranges.end());
  }
  if (Clock *clock = c.cta->clock.get()) {
    warpGroup.productsDoneAt[queue.next] = clock->issueProduct(*c.group, op);
    if (failed(clock->resumeAt(c, 0)))
      return failure();
  }
  Fate fate = chooseFate(c);
  product.late = fate == Fate::Latest;
  c.set(in.out[0], product.result);
  queue.waiting.push_back(product);
  queue.readers.push_back(reader);
  // Products retire in order, so an early one completes those before it.
  if (fate == Fate::Earliest)
    while (machine->executeProduct(warpGroup))
      ;
  return failure(machine->isBroken());
}

LogicalResult decodeMma(Decoder &d, hopper::WgmmaOp op) {
  auto *extra = d.makeExtra<WgmmaExtra>();
  extra->m = op.getM();
  extra->n = op.getN();
  extra->k = op.getK();
  FailureOr<Format> format =
      d.getFormat(op, op.getRhs().getType().getElementType());
  if (failed(format))
    return failure();
  extra->format = *format;
  std::optional<LinearLayout> acc =
      LinearLayout::accumulator(extra->m, extra->n);
  unsigned bits =
      op.getRhs().getType().getElementType().getIntOrFloatBitWidth();
  std::optional<LinearLayout> lhs =
      isa<VectorType>(op.getLhs().getType())
          ? LinearLayout::operandA(extra->m, extra->k, bits)
          : acc;
  if (!acc || !lhs)
    return op.emitError("'hopper.wgmma.mma' of m ")
           << extra->m << ", n " << extra->n << " and k " << extra->k
           << " has no fragment layout";
  extra->accPositions = getPositions(*acc);
  extra->lhsPositions = getPositions(*lhs);
  d.emit(op, runMma, extra);
  return success();
}

//===----------------------------------------------------------------------===//
// fence, commit, wait
//===----------------------------------------------------------------------===//

LogicalResult runFence(Context &c, const Instr &in) {
  getWarpGroup(c).fenced = true;
  for (auto [to, from] : llvm::zip_equal(in.out, in.in))
    c.cells[to] = c.cells[from];
  return success();
}

LogicalResult runCommitProducts(Context &c, const Instr &in) {
  WarpGroup &warpGroup = getWarpGroup(c);
  c.cells[in.out[0]].i = warpGroup.products.next++;
  warpGroup.fenced = false;
  return success();
}

LogicalResult runGroupReady(Context &c, const Instr &in) {
  c.cells[in.out[0]].i = 0;
  return success();
}

LogicalResult runInflightReady(Context &c, const Instr &in) {
  Ref<InflightObject> ready(new InflightObject());
  ready->value = &c.buffer(in.in[0]);
  c.set(in.out[0], ready);
  return success();
}

LogicalResult runAwaitProducts(Context &c, const Instr &in) {
  auto op = cast<hopper::WgmmaWaitOp>(in.op);
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  WarpGroup &warpGroup = getWarpGroup(c);
  auto &queue = warpGroup.products;
  size_t groups = op.getGroups().size(), inflight = op.getInflight().size();
  int64_t needed = 0;
  for (CellId group : in.in.take_front(groups))
    needed = std::max(needed, c.integer(group));
  for (CellId fragment : in.in.slice(groups, inflight))
    needed = std::max(needed, c.object<InflightObject>(fragment).batch);
  if (needed >= queue.next)
    return c.error(in) << "'hopper.wgmma.wait' for a product whose group is "
                          "not committed";
  // Without `pending` the operation waits for what it names; with it, as the
  // instruction does, for all but the youngest groups.
  int64_t waited = needed;
  if (std::optional<int64_t> pending = op.getPending())
    waited = *pending < 0 ? 0 : std::max<int64_t>(0, queue.next - 1 - *pending);
  auto ready = [&] { return machine->isBroken() || queue.hasExecuted(waited); };
  auto help = [&] { return machine->executeProduct(warpGroup); };
  auto describe = [&] {
    return "for group " + std::to_string(waited) + " of products";
  };
  if (failed(c.cta->scheduler.wait({in.op, ready, help, describe})) ||
      machine->isBroken())
    return failure();
  queue.retire(waited);
  if (Event *event = record(c, Event::Retire, in.op))
    event->amount = waited;
  if (needed > queue.retired)
    return c.error(in) << "'hopper.wgmma.wait' with 'pending' "
                       << *op.getPending()
                       << " does not wait for a group that it names: "
                       << queue.next - 1 << " groups were committed, number "
                       << needed << " is needed";
  ArrayRef<CellId> out = in.out;
  for (CellId fragment : in.in.slice(groups, inflight)) {
    c.set(out.front(), c.object<InflightObject>(fragment).value);
    out = out.drop_front();
  }
  for (auto [to, from] :
       llvm::zip_equal(out, in.in.drop_front(groups + inflight)))
    c.cells[to] = c.cells[from];
  if (Clock *clock = c.cta->clock.get())
    return clock->resumeAt(c, warpGroup.productsDoneAt.lookup(waited));
  return success();
}

} // namespace

void fa3::interp::populateHopperWgmma(Registry &r) {
  r.addPlain<hopper::DescOp>(runDesc);
  r.addPlain<hopper::WgmmaFenceOp>(runFence);
  r.add<hopper::WgmmaOp>(decodeMma);
  r.addPlain<hopper::WgmmaCommitOp>(runCommitProducts);
  r.addPlain<hopper::GroupReadyOp>(runGroupReady);
  r.addPlain<hopper::InflightReadyOp>(runInflightReady);
  r.addPlain<hopper::WgmmaWaitOp>(runAwaitProducts);
}
