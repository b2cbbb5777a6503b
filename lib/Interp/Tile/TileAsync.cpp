//===- TileAsync.cpp - asynchronous operations of tile --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous loads land at the latest when a reader acquires the entry;
// products and stores are executed at the latest when they are waited for.
//===----------------------------------------------------------------------===//

#include "../Core/Elementwise.h"
#include "Ring.h"
#include <deque>

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

namespace {

/// Whether an asynchronous operation is executed when it is issued.
bool isEager(const Context &c) {
  switch (c.engine.getOptions().completion) {
  case Completion::Eager:
    return true;
  case Completion::Latest:
    return false;
  case Completion::Random:
    return c.engine.flip();
  }
  return true;
}

class AsyncDot;

} // namespace

namespace fa3::interp {

/// Products of a group in the order of issue.
class DotQueue {
public:
  std::deque<Ref<AsyncDot>> dots;
};

} // namespace fa3::interp

namespace {

/// An issued product; `!tile.pending` refers to it. Tiles are read when it is
/// issued, views when it is executed.
class AsyncDot final : public AsyncOp {
public:
  const Instr *instr = nullptr;
  Ref<Object> lhs, rhs;
  /// A tile, or the product that computes it.
  Ref<Buffer> acc;
  Ref<AsyncDot> accDot;
  /// Null until executed.
  Ref<Buffer> result;
  std::shared_ptr<DotQueue> queue;

  LogicalResult execute(const Context &c);
  LogicalResult retire(const Context &c) override;
};

LogicalResult AsyncDot::execute(const Context &c) {
  if (result)
    return success();
  const auto &dot = instr->get<DotExtra>();
  SmallVector<float, 0> lhsStorage, rhsStorage;
  const float *left = getOperand(c, op, *lhs, dot.lhsIsView, lhsStorage);
  const float *right =
      left ? getOperand(c, op, *rhs, dot.rhsIsView, rhsStorage) : nullptr;
  if (!right)
    return failure();
  Buffer &start = accDot ? *accDot->result : *acc;
  result = new Buffer(start.getLane(), start.size());
  multiply(dot, instr->format, left, right, start, *result);
  acc = nullptr;
  accDot = nullptr;
  return success();
}

/// Products retire in the order of issue.
LogicalResult AsyncDot::retire(const Context &c) {
  while (!retired) {
    Ref<AsyncDot> first = queue->dots.front();
    queue->dots.pop_front();
    if (failed(first->execute(c)))
      return failure();
    first->retired = true;
  }
  return success();
}

class AsyncStore final : public AsyncOp {
public:
  Array array;
  SmallVector<int64_t> indices;
  Ref<ViewObject> view;
  int64_t fold = 0;
  bool add = false, executed = false;

  LogicalResult execute(const Context &c) {
    if (executed)
      return success();
    executed = true;
    Buffer dense(getLane(array.getFormat()), view->shape.size());
    if (failed(readWindow(c, op, *view, dense.data<uint8_t>())))
      return failure();
    TileShape shape = view->shape;
    shape.fold = fold;
    storeTile(array, indices, shape, dense.data<uint8_t>(), add);
    return success();
  }
  LogicalResult retire(const Context &c) override {
    retired = true;
    return execute(c);
  }
};

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

/// A copy in pieces.
struct PiecesExtra : Extra {
  Code places;
};

LogicalResult runLoadAsync(Context &c, const Instr &in) {
  auto op = cast<tile::LoadAsyncOp>(in.op);
  ArrayRef<CellId> operands = in.in;
  std::optional<int64_t> limit;
  if (op.getLimit()) {
    limit = c.integer(operands.back());
    operands = operands.drop_back();
  }
  Ref<ViewObject> view(&c.object<ViewObject>(operands.back()));
  if (failed(checkHeld(c, in.op, *view)))
    return failure();
  if (view->slot->side != warp::Side::write)
    return c.error(in)
           << "'tile.load.async' into a slot that is held for reading";
  if (view->slot->isIdle)
    return success();
  FailureOr<SmallVector<int64_t>> indices =
      c.integers(operands.drop_front().drop_back());
  if (op.getPieces())
    indices = findPieces(c, in.get<PiecesExtra>().places, *op.getPieces());
  if (failed(indices))
    return failure();
  Place &place = view->slot->ring->getPlace(view->slot->position);
  place.pending.push_back({in.op, c.array(in.in[0]), *indices, limit, view});
  return isEager(c) ? landLoads(c, place) : success();
}

LogicalResult decodeLoadAsync(Decoder &d, tile::LoadAsyncOp op) {
  auto *extra = d.makeExtra<PiecesExtra>();
  if (op.getPieces() &&
      failed(d.decodeRegion(op.getPlaces().front(), extra->places)))
    return failure();
  d.emit(op, runLoadAsync, extra);
  return success();
}

LogicalResult runStoreAsync(Context &c, const Instr &in) {
  auto op = cast<tile::StoreAsyncOp>(in.op);
  Ref<AsyncStore> store(new AsyncStore());
  store->op = in.op;
  store->view = &c.object<ViewObject>(in.in[0]);
  store->array = c.array(in.in[1]);
  store->indices = c.integers(in.in.drop_front(2));
  store->add = op.getAdd();
  store->fold = op.getFold().value_or(0);
  if (failed(checkHeld(c, in.op, *store->view)))
    return failure();
  store->view->slot->accesses.push_back(store);
  if (isEager(c) && failed(store->execute(c)))
    return failure();
  c.set(in.out[0], store);
  return success();
}

LogicalResult runDotAsync(Context &c, const Instr &in) {
  const auto &extra = in.get<DotExtra>();
  if (!c.group->dots)
    c.group->dots = std::make_shared<DotQueue>();
  Ref<AsyncDot> dot(new AsyncDot());
  dot->op = in.op;
  dot->instr = &in;
  dot->lhs = c.cells[in.in[0]].object;
  dot->rhs = c.cells[in.in[1]].object;
  dot->queue = c.group->dots;
  if (isa<tile::PendingType>(in.op->getOperand(2).getType()))
    dot->accDot = &c.object<AsyncDot>(in.in[2]);
  else
    dot->acc = &c.buffer(in.in[2]);
  for (auto [isView, operand] : {std::pair(extra.lhsIsView, dot->lhs.get()),
                                 std::pair(extra.rhsIsView, dot->rhs.get())}) {
    if (!isView)
      continue;
    auto &view = static_cast<ViewObject &>(*operand);
    if (failed(checkHeld(c, in.op, view)))
      return failure();
    view.slot->accesses.push_back(dot);
  }
  dot->queue->dots.push_back(dot);
  if (isEager(c))
    for (const Ref<AsyncDot> &earlier : dot->queue->dots)
      if (failed(earlier->execute(c)))
        return failure();
  c.set(in.out[0], dot);
  c.set(in.out[1], dot);
  return success();
}

LogicalResult runPend(Context &c, const Instr &in) {
  Ref<AsyncDot> dot(new AsyncDot());
  dot->op = in.op;
  dot->result = &c.buffer(in.in[0]);
  dot->retired = true;
  c.set(in.out[0], dot);
  return success();
}

/// Results: the tile, then the values that are kept.
LogicalResult runAwait(Context &c, const Instr &in) {
  Ref<AsyncDot> dot(&c.object<AsyncDot>(in.in[0]));
  if (failed(dot->retire(c)))
    return failure();
  c.set(in.out[0], dot->result);
  for (auto [to, from] :
       llvm::zip_equal(in.out.drop_front(), in.in.drop_front()))
    c.cells[to] = c.cells[from];
  return success();
}

} // namespace

void fa3::interp::populateTileAsync(Registry &r) {
  r.add<tile::LoadAsyncOp>(decodeLoadAsync);
  r.addPlain<tile::StoreAsyncOp>(runStoreAsync);
  r.add<tile::DotAsyncOp>([](Decoder &d, tile::DotAsyncOp op) {
    return decodeDot(d, op, op.getResult().getType().getTile(), runDotAsync);
  });
  r.addPlain<tile::PendOp>(runPend);
  r.addPlain<tile::AwaitOp>(runAwait);
}
