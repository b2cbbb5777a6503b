//===- Warp.cpp - groups and rings ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Core/Elementwise.h"
#include "../Hopper/Machine.h"
#include "Ring.h"
#include "fa3/Machine/Chip.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

RingObject::RingObject(Operation *op, warp::RingType type,
                       SmallVector<RingReader> ringReaders)
    : op(op), type(type), fifo(type.getDepth(), type.getParts(),
                               ringReaders.size(), type.getInitial()),
      places(type.getDepth()), readers(std::move(ringReaders)),
      writerNames(type.getParts()), readerNames(readers.size()) {
  for (Place &place : places) {
    for (Type payload : type.getPayload()) {
      Field &field = place.fields.emplace_back();
      auto tensor = dyn_cast<RankedTensorType>(payload);
      if (!tensor)
        continue;
      field.format = *getFormat(tensor.getElementType());
      field.shape = getTileShape(tensor);
      field.data = new Buffer(getLane(field.format), field.shape.size());
      field.filledBy.resize(field.shape.size());
      field.filledAs.resize(field.shape.size(), field.format);
    }
    clear(place);
  }
}

void RingObject::clear(Place &place) {
  place.pending.clear();
  for (Field &field : place.fields) {
    std::fill(field.filledBy.begin(), field.filledBy.end(), 0);
    if (field.data)
      std::memset(field.data->data<uint8_t>(), 0xff,
                  field.shape.size() * getLaneBytes(field.data->getLane()));
  }
}

static std::string str(Location location) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    os << file.getFilename().getValue() << ':' << file.getLine();
  else
    os << location;
  return text;
}

namespace {

/// The role of a cursor in code that has not been divided among groups.
Attribute getRole(warp::CursorOp cursor) {
  return cursor->getAttr(tile::TileDialect::kRoleAttrName);
}

struct RingExtra : Extra {
  warp::RingType type;
  SmallVector<RingReader> readers;
};

LogicalResult runRing(Context &c, const Instr &in) {
  const auto &extra = in.get<RingExtra>();
  Ref<RingObject> ring(new RingObject(in.op, extra.type, extra.readers));
  if (c.cta)
    c.cta->rings.push_back(ring);
  c.set(in.out[0], ring);
  return success();
}

LogicalResult decodeRing(Decoder &d, warp::RingOp op) {
  auto *extra = d.makeExtra<RingExtra>();
  extra->type = op.getRing().getType();
  for (Type payload : extra->type.getPayload()) {
    auto tensor = dyn_cast<RankedTensorType>(payload);
    if (!tensor)
      continue;
    if (tensor.getRank() < 1 || tensor.getRank() > 2 ||
        failed(d.getFormat(op, tensor)))
      return op.emitError("holds ")
             << tensor << ", which the interpreter cannot hold";
    if (failed(d.reserve(op, tensor, extra->type.getDepth())))
      return failure();
  }
  Operation *home = op->getParentOfType<warp::GroupOp>();
  SmallVector<std::pair<Operation *, Attribute>> seen;
  for (Operation *user : op.getRing().getUsers()) {
    auto cursor = dyn_cast<warp::CursorOp>(user);
    if (!cursor || cursor.getSide() != warp::Side::read)
      continue;
    auto group = cursor->getParentOfType<warp::GroupOp>();
    Operation *reader = group.getOperation() == home ? nullptr : group;
    Attribute role = reader ? Attribute() : getRole(cursor);
    if (llvm::is_contained(seen, std::pair(reader, role)))
      continue;
    seen.push_back({reader, role});
    int64_t replicas = reader ? group.getReplicas() : 1;
    for (int64_t i = 0; i < replicas; ++i)
      extra->readers.push_back({reader, i, role});
  }
  d.emit(op, runRing, extra);
  return success();
}

//===----------------------------------------------------------------------===//
// Cursors and slots
//===----------------------------------------------------------------------===//

LogicalResult runCursor(Context &c, const Instr &in) {
  auto op = cast<warp::CursorOp>(in.op);
  Ref<RingObject> ring(&c.object<RingObject>(in.in[0]));
  Ref<CursorObject> cursor(new CursorObject());
  cursor->ring = ring;
  cursor->side = op.getSide();
  std::string *name;
  if (cursor->side == warp::Side::write) {
    cursor->part = op.getPartOf(c.group->replica);
    cursor->position = ring->fifo.getFirstWritten();
    cursor->isIdle = !op.isActive(c.group->replica);
    if (cursor->isIdle) {
      c.set(in.out[0], cursor);
      return success();
    }
    name = &ring->writerNames[cursor->part];
  } else {
    auto *reader = llvm::find_if(ring->readers, [&](const RingReader &r) {
      return r.group ? r.group == c.group->op && r.replica == c.group->replica
                     : r.role == getRole(op);
    });
    if (reader == ring->readers.end())
      return c.error(in) << "creates a cursor of a ring this group does not "
                            "read";
    cursor->reader = reader - ring->readers.begin();
    cursor->position = ring->fifo.getFirstRead();
    name = &ring->readerNames[cursor->reader];
  }
  if (!name->empty())
    return c.error(in) << "creates a second "
                       << warp::stringifySide(cursor->side)
                       << " cursor of the ring, " << *name << " has one";
  *name = c.group->name;
  c.set(in.out[0], cursor);
  return success();
}

/// Names, or what is known about who they would be.
std::string list(ArrayRef<unsigned> which, ArrayRef<std::string> names,
                 StringRef kind) {
  std::string text;
  for (unsigned i : which) {
    if (!text.empty())
      text += ", ";
    text += names[i].empty() ? (kind + " " + Twine(i)).str() : names[i];
  }
  return text;
}

LogicalResult runAcquire(Context &c, const Instr &in) {
  Ref<RingObject> ring(&c.object<RingObject>(in.in[0]));
  CursorObject &cursor = c.object<CursorObject>(in.in[1]);
  if (cursor.ring != ring)
    return c.error(in) << "acquires with a cursor of another ring";
  int64_t position = cursor.position;
  bool isRead = cursor.side == warp::Side::read;
  auto ready = [&] {
    return isRead ? ring->fifo.canRead(position)
                  : ring->fifo.canWrite(position);
  };
  auto describe = [&] {
    std::string where = " of the ring of " + str(ring->op->getLoc());
    if (isRead)
      return "to read entry " + std::to_string(position) + where +
             ", not published by " +
             list(ring->fifo.getPartsMissing(position), ring->writerNames,
                  "the writer of part");
    return "to write entry " + std::to_string(position) + where + ", entry " +
           std::to_string(position - ring->fifo.getDepth()) +
           " is not released by " +
           list(ring->fifo.getReadersHolding(position), ring->readerNames,
                "reader");
  };
  if (!cursor.isIdle) {
    if (failed(c.cta->scheduler.wait({in.op, ready, nullptr, describe})))
      return failure();
    Place &place = ring->getPlace(position);
    if (isRead) {
      if (failed(landLoads(c, place)))
        return failure();
    } else if (ring->fifo.open(position)) {
      ring->clear(place);
    }
  }
  Ref<SlotObject> slot(new SlotObject());
  slot->ring = ring;
  slot->side = cursor.side;
  slot->position = position;
  slot->part = cursor.part;
  slot->reader = cursor.reader;
  slot->isIdle = cursor.isIdle;
  Ref<CursorObject> next(new CursorObject(cursor));
  ++next->position;
  c.set(in.out[0], slot);
  c.set(in.out[1], next);
  return success();
}

/// Ends the use of a slot.
LogicalResult endSlot(Context &c, const Instr &in, SlotObject &slot) {
  if (!slot.held)
    return c.error(in) << "'" << in.op->getName()
                       << "' of a slot that is no longer held";
  for (const Ref<AsyncOp> &access : slot.accesses)
    if (!access->retired) {
      InFlightDiagnostic diagnostic =
          c.error(in) << "'" << in.op->getName() << "' of entry "
                      << slot.position
                      << " while an operation in flight may still read it";
      diagnostic.attachNote(access->op->getLoc())
          << "issued here, and not waited for";
      return diagnostic;
    }
  slot.held = false;
  return success();
}

LogicalResult runPublish(Context &c, const Instr &in) {
  SlotObject &slot = c.object<SlotObject>(in.in[0]);
  if (failed(endSlot(c, in, slot)))
    return failure();
  if (slot.isIdle)
    return success();
  if (!slot.ring->fifo.publish(slot.position, slot.part))
    return c.error(in) << "publishes entry " << slot.position
                       << " a second time";
  return c.cta->scheduler.pause(in.op);
}

LogicalResult retireTokens(const Context &c, ArrayRef<CellId> tokens) {
  for (CellId token : tokens)
    if (Ref<Object> object = c.cells[token].object)
      if (failed(static_cast<AsyncOp &>(*object).retire(c)))
        return failure();
  return success();
}

LogicalResult runAwaitTokens(Context &c, const Instr &in) {
  return retireTokens(c, in.in);
}

LogicalResult runRelease(Context &c, const Instr &in) {
  if (failed(retireTokens(c, in.in.drop_front())))
    return failure();
  SlotObject &slot = c.object<SlotObject>(in.in[0]);
  if (failed(endSlot(c, in, slot)))
    return failure();
  if (!slot.ring->fifo.release(slot.position, slot.reader))
    return c.error(in) << "releases entry " << slot.position
                       << " a second time";
  return c.cta->scheduler.pause(in.op);
}

LogicalResult runReady(Context &c, const Instr &in) {
  c.set(in.out[0], nullptr);
  return success();
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

struct OrderExtra : Extra {
  int64_t replicas = 0;
};

LogicalResult runOrder(Context &c, const Instr &in) {
  Ref<OrderObject> order(new OrderObject());
  order->op = in.op;
  order->passed.assign(in.get<OrderExtra>().replicas, 0);
  order->taken = order->passed;
  if (c.cta)
    c.cta->orders.push_back(order);
  c.set(in.out[0], order);
  return success();
}

LogicalResult decodeOrderedBarrier(Decoder &d, warp::OrderedBarrierOp op) {
  auto *extra = d.makeExtra<OrderExtra>();
  for (Operation *user : op.getOrder().getUsers())
    if (auto group = user->getParentOfType<warp::GroupOp>())
      extra->replicas = group.getReplicas();
  d.emit(op, runOrder, extra);
  return success();
}

LogicalResult runTakeTurn(Context &c, const Instr &in) {
  Ref<OrderObject> order(&c.object<OrderObject>(in.in[0]));
  int64_t replica = c.group->replica, replicas = order->passed.size();
  int64_t before = (replica + replicas - 1) % replicas;
  int64_t turn = order->taken[replica];
  // Replica 0 begins.
  auto ready = [&] {
    return order->passed[before] + (replica == 0 ? 1 : 0) > turn;
  };
  auto describe = [&] {
    return "for turn " + std::to_string(turn) + ", replica " +
           std::to_string(before) + " has passed " +
           std::to_string(order->passed[before]);
  };
  if (failed(c.cta->scheduler.wait({in.op, ready, nullptr, describe})))
    return failure();
  ++order->taken[replica];
  c.set(in.out[0], order);
  return success();
}

LogicalResult runPassTurn(Context &c, const Instr &in) {
  ++c.object<OrderObject>(in.in[0]).passed[c.group->replica];
  return c.cta->scheduler.pause(in.op);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

struct SpecializeExtra : Extra {
  struct Member {
    Operation *op;
    std::string name;
    int64_t warps, replicas;
    std::optional<int64_t> firstWarp;
    Code code;
  };
  const Function *function = nullptr;
  std::vector<Member> members;
};

/// Runs one copy of a group.
LogicalResult runGroup(Context &c, const SpecializeExtra::Member &member) {
  if (failed(runCode(c, member.code)))
    return failure();
  return c.cta->machine ? c.cta->machine->finishGroup(c) : success();
}

LogicalResult checkBalance(Context &c) {
  for (const Ref<Object> &object : c.cta->rings) {
    auto *ring = static_cast<RingObject *>(object.get());
    if (ring->fifo.getNumUnread() > ring->type.getInitial())
      return c.error(ring->op)
             << "holds " << ring->fifo.getNumUnread()
             << " published entries that are not released when the groups end";
  }
  c.cta->rings.clear();
  for (const Ref<Object> &object : c.cta->orders) {
    const auto &order = static_cast<const OrderObject &>(*object);
    for (int64_t taken : order.taken)
      if (taken != order.taken.front())
        return c.error(order.op)
               << "gave one replica " << order.taken.front()
               << " turns and another " << taken << " when the groups end";
  }
  c.cta->orders.clear();
  return success();
}

LogicalResult runSpecialize(Context &c, const Instr &in) {
  const auto &extra = in.get<SpecializeExtra>();
  auto remaining = std::make_shared<int64_t>(0);
  Protocol *protocol = c.cta->protocol.get();
  for (const SpecializeExtra::Member &member : extra.members) {
    for (int64_t replica = 0; replica < member.replicas; ++replica) {
      auto owned = std::make_unique<Group>();
      Group *group = owned.get();
      c.cta->groups.push_back(std::move(owned));
      group->op = member.op;
      group->replica = replica;
      group->threads = member.warps * kSm90a.threadsPerWarp;
      group->now = c.group->now;
      if (member.firstWarp)
        group->firstWarp = *member.firstWarp + replica * member.warps;
      group->name = "@" + member.name;
      if (member.replicas > 1)
        group->name += " replica " + std::to_string(replica);
      if (protocol) {
        group->agent = protocol->agents.size();
        protocol->agents.push_back({group->name, {}});
      }
      // Captured values are copied; what the group computes is its own.
      auto cells = std::make_shared<std::vector<Cell>>(
          c.cells, c.cells + extra.function->numCells);
      (*cells)[member.code.arguments.front()].i = replica;
      ++*remaining;
      Context inner{c.engine, cells->data(), c.cta, group, c.depth};
      c.cta->scheduler.spawn(group->name, [=, &member]() mutable {
        LogicalResult result = runGroup(inner, member);
        cells->clear();
        if (succeeded(result))
          --*remaining;
        return result;
      });
    }
  }
  // The groups run only when the body waits.
  for (Event::Kind kind : {Event::Fork, Event::Join})
    if (Event *event = record(c, kind, in.op))
      event->amount = protocol->agents.size();
  if (failed(c.cta->scheduler.wait(
          {in.op, [&] { return *remaining == 0; }, nullptr, nullptr})))
    return failure();
  return checkBalance(c);
}

LogicalResult decodeSpecialize(Decoder &d, warp::SpecializeOp op) {
  auto *extra = d.makeExtra<SpecializeExtra>();
  extra->function = d.getFunction();
  // The code of the members is referred to by pointer, so that it must not
  // move.
  extra->members.reserve(llvm::range_size(op.getBody().front()));
  for (Operation &inner : op.getBody().front()) {
    auto group = cast<warp::GroupOp>(inner);
    SpecializeExtra::Member &member = extra->members.emplace_back();
    member.op = group;
    member.name = group.getSymName().str();
    member.warps = group.getWarps();
    member.replicas = group.getReplicas();
    if (group.getFirstWarp())
      member.firstWarp = *group.getFirstWarp();
    if (failed(d.decodeRegion(group.getBody(), member.code,
                              member.warps * kSm90a.threadsPerWarp)))
      return failure();
  }
  d.emit(op, runSpecialize, extra);
  return success();
}

} // namespace

void fa3::interp::populateWarp(Registry &r) {
  r.add<warp::RingOp>(decodeRing);
  r.addPlain<warp::CursorOp>(runCursor);
  r.addPlain<warp::AcquireOp>(runAcquire);
  r.addPlain<warp::PublishOp>(runPublish);
  r.addPlain<warp::ReleaseOp>(runRelease);
  r.addPlain<warp::WaitOp>(runAwaitTokens);
  r.addPlain<warp::ReadyOp>(runReady);
  r.add<warp::OrderedBarrierOp>(decodeOrderedBarrier);
  r.addPlain<warp::TakeTurnOp>(runTakeTurn);
  r.addPlain<warp::PassTurnOp>(runPassTurn);
  r.add<warp::SpecializeOp>(decodeSpecialize);
}
