//===- SlotMemory.cpp - views of slots, synchronous products --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Core/Elementwise.h"
#include "Ring.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// From here on `filledBy` numbers readers that have written in place.
static constexpr uint8_t kInPlace = 128;

static Field &getField(const ViewObject &view) {
  return view.slot->ring->getPlace(view.slot->position).fields[view.field];
}

LogicalResult fa3::interp::checkHeld(const Context &c, Operation *op,
                                     const ViewObject &view) {
  if (view.slot->held)
    return success();
  return c.error(op) << "'" << op->getName() << "' uses a view of entry "
                     << view.slot->position << ", which is no longer held";
}

LogicalResult fa3::interp::readWindow(const Context &c, Operation *op,
                                      const ViewObject &view, void *lanes) {
  Field &field = getField(view);
  int64_t fieldBytes = getLaneBytes(field.data->getLane()),
          viewBytes = getLaneBytes(getLane(view.format));
  uint8_t *to = static_cast<uint8_t *>(lanes);
  int64_t width = view.shape.columns * view.span;
  for (int64_t row = 0; row < view.shape.rows; ++row) {
    int64_t first =
        (view.row + row) * field.shape.columns + view.column * view.span;
    const uint8_t *filled = field.filledBy.data() + first;
    auto fail = [&](int64_t i, StringRef what) -> LogicalResult {
      return c.error(op) << "'" << op->getName() << "' reads element ("
                         << view.row + row << ", "
                         << view.column + i / view.span << ") of entry "
                         << view.slot->position << ", which " << what;
    };
    if (const void *empty = std::memchr(filled, 0, width))
      return fail(static_cast<const uint8_t *>(empty) - filled,
                  "was never filled");
    for (int64_t i = 0; i < width; ++i) {
      if (filled[i] >= kInPlace && filled[i] != kInPlace + view.slot->reader)
        return fail(i, "another replica has overwritten");
      if (field.filledAs[first + i] != view.format)
        return fail(i, "holds elements of another type");
    }
    const uint8_t *from = field.data->data<uint8_t>() + first * fieldBytes;
    for (int64_t i = 0; i < view.shape.columns; ++i)
      std::memcpy(to + (row * view.shape.columns + i) * viewBytes,
                  from + i * view.span * fieldBytes, viewBytes);
  }
  return success();
}

LogicalResult fa3::interp::writeWindow(const Context &c, Operation *op,
                                       const ViewObject &view,
                                       const void *lanes) {
  const SlotObject &slot = *view.slot;
  // What a reader has done with it may overwrite; `filledBy` then names it, so
  // that another reader's access is found.
  bool inPlace = slot.side == warp::Side::read;
  if (inPlace)
    for (const Ref<AsyncOp> &access : slot.accesses)
      if (!access->retired)
        return c.error(op) << "'" << op->getName() << "' overwrites entry "
                           << slot.position << ", which '"
                           << access->op->getName()
                           << "' in flight may still read";
  uint8_t owner = inPlace ? kInPlace + slot.reader : slot.part + 1;
  Field &field = getField(view);
  int64_t fieldBytes = getLaneBytes(field.data->getLane()),
          viewBytes = getLaneBytes(getLane(view.format));
  const uint8_t *from = static_cast<const uint8_t *>(lanes);
  int64_t width = view.shape.columns * view.span;
  for (int64_t row = 0; row < view.shape.rows; ++row) {
    int64_t first =
        (view.row + row) * field.shape.columns + view.column * view.span;
    for (int64_t i = first; i < first + width; ++i) {
      if (!inPlace && field.filledBy[i] && field.filledBy[i] != owner)
        return c.error(op) << "'" << op->getName() << "' of part " << slot.part
                           << " writes what part " << field.filledBy[i] - 1
                           << " has written";
      field.filledBy[i] = owner;
      field.filledAs[i] = view.format;
    }
    uint8_t *to = field.data->data<uint8_t>() + first * fieldBytes;
    for (int64_t i = 0; i < view.shape.columns; ++i)
      std::memcpy(to + i * view.span * fieldBytes,
                  from + (row * view.shape.columns + i) * viewBytes, viewBytes);
  }
  return success();
}

/// Moves the row at coordinate x to y, whose bit i is bit bits[i] of x.
static void permuteRows(Buffer &dense, TileShape shape,
                        ArrayRef<int64_t> bits) {
  int64_t bytes = shape.columns * getLaneBytes(dense.getLane());
  SmallVector<uint8_t, 0> source(shape.rows * bytes);
  std::memcpy(source.data(), dense.data<uint8_t>(), source.size());
  for (int64_t x = 0; x < shape.rows; ++x) {
    int64_t y = x >> bits.size() << bits.size();
    for (auto [i, bit] : llvm::enumerate(bits))
      y |= ((x >> bit) & 1) << i;
    std::memcpy(dense.data<uint8_t>() + y * bytes, source.data() + x * bytes,
                bytes);
  }
}

LogicalResult fa3::interp::landLoads(const Context &c, Place &place) {
  for (PendingLoad &load : place.pending) {
    Buffer dense(getLane(load.array.getFormat()), load.view->shape.size());
    auto op = cast<tile::LoadAsyncOp>(load.op);
    TileShape shape = load.view->shape;
    shape.fold = op.getFold().value_or(0);
    loadPieces(load.array, load.indices, op.getPieces().value_or(1), shape,
               load.limit, dense.data<uint8_t>());
    if (auto rows = op.getRows())
      permuteRows(dense, load.view->shape, *rows);
    if (failed(writeWindow(c, load.op, *load.view, dense.data<uint8_t>())))
      return failure();
  }
  place.pending.clear();
  return success();
}

namespace {

//===----------------------------------------------------------------------===//
// view, read, write
//===----------------------------------------------------------------------===//

struct ViewExtra : Extra {
  unsigned field = 0;
  TileShape shape;
  TileShape entry; ///< in elements of the window
  Format format = Format::F32;
  int64_t span = 1;
};

LogicalResult runView(Context &c, const Instr &in) {
  const auto &extra = in.get<ViewExtra>();
  Ref<ViewObject> view(new ViewObject());
  view->slot = &c.object<SlotObject>(in.in[0]);
  view->field = extra.field;
  view->shape = extra.shape;
  view->format = extra.format;
  view->span = extra.span;
  if (in.in.size() == 3)
    view->row = c.integer(in.in[1]);
  view->column = c.integer(in.in.back());
  if (view->row < 0 || view->row + extra.shape.rows > extra.entry.rows ||
      view->column < 0 ||
      view->column + extra.shape.columns > extra.entry.columns)
    return c.error(in) << "'tile.view' of " << extra.shape.rows << "x"
                       << extra.shape.columns << " elements at (" << view->row
                       << ", " << view->column
                       << ") reaches out of the entry of " << extra.entry.rows
                       << "x" << extra.entry.columns;
  if (failed(checkHeld(c, in.op, *view)))
    return failure();
  c.set(in.out[0], view);
  return success();
}

LogicalResult decodeView(Decoder &d, tile::ViewOp op) {
  auto *extra = d.makeExtra<ViewExtra>();
  extra->field = op.getField();
  RankedTensorType window = op.getView().getType().getTile();
  auto entry =
      cast<RankedTensorType>(op.getSlot().getType().getPayload()[extra->field]);
  FailureOr<Format> format = d.getFormat(op, window);
  FailureOr<Format> stored = d.getFormat(op, entry);
  if (failed(format) || failed(stored))
    return failure();
  extra->format = *format;
  extra->span = getByteWidth(*format) / getByteWidth(*stored);
  // An element takes the place of the first of the lanes that it covers.
  if (getLaneBytes(getLane(*format)) >
      extra->span * getLaneBytes(getLane(*stored)))
    return op.emitError("'tile.view' of ")
           << window << " in " << entry << " is not known to the interpreter";
  extra->shape = getTileShape(window);
  extra->entry = getTileShape(entry);
  extra->entry.columns /= extra->span;
  d.emit(op, runView, extra);
  return success();
}

LogicalResult runReadSlot(Context &c, const Instr &in) {
  const ViewObject &view = c.object<ViewObject>(in.in[0]);
  Buffer &out = c.makeBuffer(in.out[0], getLane(in.format), view.shape.size());
  if (failed(checkHeld(c, in.op, view)))
    return failure();
  return readWindow(c, in.op, view, out.data<uint8_t>());
}

LogicalResult runWrite(Context &c, const Instr &in) {
  const ViewObject &view = c.object<ViewObject>(in.in[1]);
  if (failed(checkHeld(c, in.op, view)))
    return failure();
  return writeWindow(c, in.op, view, c.buffer(in.in[0]).data<uint8_t>());
}

LogicalResult runPostNumber(Context &c, const Instr &in) {
  const ViewObject &view = c.object<ViewObject>(in.in[1]);
  int64_t number = c.integer(in.in[0]);
  if (failed(checkHeld(c, in.op, view)))
    return failure();
  return writeWindow(c, in.op, view, &number);
}

LogicalResult runReceive(Context &c, const Instr &in) {
  const ViewObject &view = c.object<ViewObject>(in.in[0]);
  int64_t number;
  if (failed(checkHeld(c, in.op, view)) ||
      failed(readWindow(c, in.op, view, &number)))
    return failure();
  c.cells[in.out[0]].i = number;
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

const float *fa3::interp::getOperand(const Context &c, Operation *op,
                                     Object &operand, bool isView,
                                     SmallVectorImpl<float> &storage) {
  if (!isView) {
    auto &buffer = static_cast<Buffer &>(operand);
    if (buffer.getLane() == Lane::F32)
      return buffer.data<float>();
    const int64_t *from = buffer.data<int64_t>();
    storage.assign(from, from + buffer.size());
    return storage.data();
  }
  auto &view = static_cast<ViewObject &>(operand);
  storage.resize_for_overwrite(view.shape.size());
  if (getLane(view.format) == Lane::F32)
    return succeeded(readWindow(c, op, view, storage.data())) ? storage.data()
                                                              : nullptr;
  SmallVector<int64_t, 0> integers(view.shape.size());
  if (failed(readWindow(c, op, view, integers.data())))
    return nullptr;
  llvm::copy(integers, storage.begin());
  return storage.data();
}

namespace {

LogicalResult runDot(Context &c, const Instr &in) {
  const auto &dot = in.get<DotExtra>();
  for (auto [isView, cell] :
       {std::pair(dot.lhsIsView, in.in[0]), std::pair(dot.rhsIsView, in.in[1])})
    if (isView && failed(checkHeld(c, in.op, c.object<ViewObject>(cell))))
      return failure();
  SmallVector<float, 0> lhsStorage, rhsStorage;
  const float *lhs = getOperand(c, in.op, *c.cells[in.in[0]].object,
                                dot.lhsIsView, lhsStorage);
  const float *rhs = lhs ? getOperand(c, in.op, *c.cells[in.in[1]].object,
                                      dot.rhsIsView, rhsStorage)
                         : nullptr;
  if (!rhs)
    return failure();
  Buffer &acc = c.buffer(in.in[2]);
  Buffer &out = c.makeBuffer(in.out[0], acc.getLane(), acc.size());
  multiply(dot, in.format, lhs, rhs, acc, out);
  return success();
}

} // namespace

void fa3::interp::populateSlotMemory(Registry &r) {
  r.add<tile::ViewOp>(decodeView);
  r.add<tile::ReadOp>([](Decoder &d, tile::ReadOp op) -> LogicalResult {
    FailureOr<Format> format = d.getFormat(op, op.getResult().getType());
    if (failed(format))
      return failure();
    d.emit(op, runReadSlot).format = *format;
    return success();
  });
  r.addPlain<tile::WriteOp>(runWrite);
  r.addPlain<tile::PostOp>(runPostNumber);
  r.addPlain<tile::ReceiveOp>(runReceive);
  r.add<tile::DotOp>([](Decoder &d, tile::DotOp op) {
    return decodeDot(d, op, op.getAcc().getType(), runDot);
  });
}
