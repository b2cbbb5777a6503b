//===- SlotMemory.cpp - views of slots, synchronous products --------------===//

#include "Elementwise.h"
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
  int64_t laneBytes = getLaneBytes(field.data->getLane());
  uint8_t *to = static_cast<uint8_t *>(lanes);
  for (int64_t row = 0; row < view.shape.rows; ++row) {
    int64_t first = (view.row + row) * field.shape.columns + view.column;
    const uint8_t *filled = field.filledBy.data() + first;
    if (const void *empty = std::memchr(filled, 0, view.shape.columns))
      return c.error(op) << "'" << op->getName() << "' reads element ("
                         << view.row + row << ", "
                         << view.column +
                                (static_cast<const uint8_t *>(empty) - filled)
                         << ") of entry " << view.slot->position
                         << ", which was never filled";
    for (int64_t i = 0; i < view.shape.columns; ++i)
      if (filled[i] >= kInPlace && filled[i] != kInPlace + view.slot->reader)
        return c.error(op) << "'" << op->getName() << "' reads element ("
                           << view.row + row << ", " << view.column + i
                           << ") of entry " << view.slot->position
                           << ", which another replica has overwritten";
    std::memcpy(to + row * view.shape.columns * laneBytes,
                field.data->data<uint8_t>() + first * laneBytes,
                view.shape.columns * laneBytes);
  }
  return success();
}

LogicalResult fa3::interp::writeWindow(const Context &c, Operation *op,
                                       const ViewObject &view,
                                       const void *lanes) {
  const SlotObject &slot = *view.slot;
  // What a reader has done with it may overwrite; `filledBy` then names it, so
  // that another reader's access is found.
  bool inPlace = slot.side == flow::Side::read;
  if (inPlace)
    for (const Ref<AsyncOp> &access : slot.accesses)
      if (!access->retired)
        return c.error(op) << "'" << op->getName() << "' overwrites entry "
                           << slot.position << ", which '"
                           << access->op->getName()
                           << "' in flight may still read";
  uint8_t owner = inPlace ? kInPlace + slot.reader : slot.part + 1;
  Field &field = getField(view);
  int64_t laneBytes = getLaneBytes(field.data->getLane());
  const uint8_t *from = static_cast<const uint8_t *>(lanes);
  for (int64_t row = 0; row < view.shape.rows; ++row) {
    int64_t first = (view.row + row) * field.shape.columns + view.column;
    for (int64_t i = first; i < first + view.shape.columns; ++i) {
      if (!inPlace && field.filledBy[i] && field.filledBy[i] != owner)
        return c.error(op) << "'" << op->getName() << "' of part " << slot.part
                           << " writes what part " << field.filledBy[i] - 1
                           << " has written";
      field.filledBy[i] = owner;
    }
    std::memcpy(field.data->data<uint8_t>() + first * laneBytes,
                from + row * view.shape.columns * laneBytes,
                view.shape.columns * laneBytes);
  }
  return success();
}

LogicalResult fa3::interp::landLoads(const Context &c, Place &place) {
  for (PendingLoad &load : place.pending) {
    Buffer dense(getLane(load.array.getFormat()), load.view->shape.size());
    loadTile(load.array, load.indices, load.view->shape, dense.data<uint8_t>());
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
  TileShape shape, entry;
};

LogicalResult runView(Context &c, const Instr &in) {
  const auto &extra = in.get<ViewExtra>();
  Ref<ViewObject> view(new ViewObject());
  view->slot = &c.object<SlotObject>(in.in[0]);
  view->field = extra.field;
  view->shape = extra.shape;
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
  extra->shape = getTileShape(op.getView().getType().getTile());
  extra->entry = getTileShape(cast<RankedTensorType>(
      op.getSlot().getType().getPayload()[extra->field]));
  d.emit(op, runView, extra);
  return success();
}

LogicalResult runRead(Context &c, const Instr &in) {
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

} // namespace

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

const float *fa3::interp::getOperand(const Context &c, Operation *op,
                                     Object &operand, bool isView,
                                     SmallVectorImpl<float> &storage) {
  if (!isView)
    return static_cast<Buffer &>(operand).data<float>();
  auto &view = static_cast<ViewObject &>(operand);
  storage.resize_for_overwrite(view.shape.size());
  if (failed(readWindow(c, op, view, storage.data())))
    return nullptr;
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
    d.emit(op, runRead).format = *format;
    return success();
  });
  r.addPlain<tile::WriteOp>(runWrite);
  r.add<tile::DotOp>([](Decoder &d, tile::DotOp op) {
    return decodeDot(d, op, op.getAcc().getType(), runDot);
  });
}
