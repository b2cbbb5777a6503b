//===- RingLowering.cpp - rings become buffers and mbarriers --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Protocol of a ring between groups (PTX ISA, "mbarrier"): the writer waits for
// the *empty* barrier of a slot with the inverse of the reader's parity, so its
// first lap never blocks; it arrives on *full* once, expecting the bytes of its
// copies, or when its threads have written the slot; each reading replica waits
// for *full* and arrives on *empty* when the products that read the slot have
// retired.
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3;

static int64_t countThreads(warp::GroupOp group) {
  return group.getWarps() * getChip(group).threadsPerWarp;
}

/// One barrier id per replica serves all rings and stores of the group: they
/// are used by the same threads, one after another.
Value KernelLowering::getNamedBarrier(warp::GroupOp group) {
  usesNamedBarrier = true;
  return arith::AddIOp::create(b, get(group.getReplica()),
                               i32(nextNamedBarrier));
}

void KernelLowering::syncReplica(Operation *op) {
  auto group = op->getParentOfType<warp::GroupOp>();
  hopper::NamedBarrierSyncOp::create(b, getNamedBarrier(group),
                                     countThreads(group));
}

/// The mbarriers of a ring between groups.
LogicalResult KernelLowering::allocateBarriers(warp::RingOp op, Ring &ring) {
  if (ring.protocol.readers == 0)
    return op.emitOpError("has no reader");
  auto barrier = [&](int64_t arrivals) -> Value {
    return hopper::BarrierAllocOp::create(
        b, hopper::BarrierType::get(b.getContext(), ring.depth, arrivals),
        IntegerAttr());
  };
  ring.full = barrier(ring.protocol.getFullArrivals());
  ring.empty = barrier(ring.protocol.getEmptyArrivals());
  return success();
}

/// Turns: mbarriers only. Entries that can be read from the start are a first
/// lap in which the reader never blocks instead of the writer.
LogicalResult KernelLowering::lowerTokenRing(warp::RingOp op) {
  warp::RingType type = op.getRing().getType();
  int64_t initial = type.getInitial();
  const tile::RingProtocol &protocol = protocols.get(op);
  if (type.getParts() != 1 || protocol.isPrivate ||
      (initial != 0 && initial != type.getDepth()))
    return op.emitOpError("has no lowering to hopper: expects a ring of tokens "
                          "between groups, with one part and all or none of "
                          "its entries initial, got ")
           << type;
  auto ring = std::make_unique<Ring>();
  ring->protocol = protocol;
  ring->depth = type.getDepth();
  if (failed(allocateBarriers(op, *ring)))
    return failure();
  rings[op.getRing()] = std::move(ring);
  return success();
}

std::optional<KernelLowering::Memory>
KernelLowering::allocateEntries(int64_t count, Type type) {
  if (tile::isNumber(type))
    return Memory{
        hopper::MailboxAllocOp::create(
            b, hopper::MailboxType::get(b.getContext(), count), IntegerAttr()),
        hopper::BufferType()};
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto storage =
      tensor ? dyn_cast_or_null<tile::SmemAttr>(tensor.getEncoding()) : nullptr;
  if (!storage)
    return std::nullopt;
  // What has rank 1 is the first row of as many as a swizzle has.
  SmallVector<int64_t> shape = {
      tensor.getRank() == 1 ? tile::kSwizzleRows : tensor.getDimSize(0),
      storage.getPaddedColumns(tensor.getShape().back(),
                               tensor.getElementType())};
  auto buffer = hopper::BufferType::get(
      b.getContext(), count,
      RankedTensorType::get(shape, tensor.getElementType()),
      storage.getSwizzle());
  return Memory{hopper::AllocOp::create(b, buffer, IntegerAttr()), buffer};
}

LogicalResult KernelLowering::lowerRing(warp::RingOp op) {
  warp::RingType type = op.getRing().getType();
  const tile::RingProtocol &protocol = protocols.get(op);
  using Fill = tile::RingProtocol::Fill;
  if (protocol.fill == Fill::tokens)
    return lowerTokenRing(op);
  auto ring = std::make_unique<Ring>();
  ring->protocol = protocol;
  ring->depth = type.getDepth();
  for (Type field : type.getPayload())
    if (std::optional<Memory> memory = allocateEntries(type.getDepth(), field))
      ring->fields.push_back(*memory);
  if (ring->fields.size() != type.getPayload().size() || type.getInitial() != 0)
    return op.emitOpError("has no lowering to hopper: expects a ring of "
                          "tensors with #tile.smem encodings and no initial "
                          "entries, got ")
           << type;
  if (protocol.isPrivate) {
    if (protocol.fill == Fill::copies)
      return op.emitOpError("has no lowering to hopper: a ring inside a group "
                            "is expected to be filled by 'tile.write'");
    auto group = op->getParentOfType<warp::GroupOp>();
    ring->namedBarrier = getNamedBarrier(group);
    ring->threads = countThreads(group);
  } else {
    if (protocol.fill == Fill::mixed)
      return op.emitOpError("has no lowering to hopper: a ring between groups "
                            "is expected to be filled by 'tile.load.async', or "
                            "by 'tile.write'");
    if (protocol.hasLeader && protocol.fill != Fill::copies)
      return op.emitOpError("has no lowering to hopper: a ring that a leader "
                            "fills is expected to be filled by "
                            "'tile.load.async'");
    // Every writer arrives once for an entry.
    if (type.getParts() > 1 &&
        (protocol.fill != Fill::writes || type.getParts() != protocol.writers))
      return op.emitOpError("has no lowering to hopper: expects parts that "
                            "replicas write, one each, got ")
             << type;
    if (failed(allocateBarriers(op, *ring)))
      return failure();
  }
  rings[op.getRing()] = std::move(ring);
  return success();
}

LogicalResult KernelLowering::prepareConstants(warp::SpecializeOp op) {
  WalkResult result = op.walk([&](tile::DotAsyncOp dot) {
    auto type = dyn_cast<RankedTensorType>(dot.getRhs().getType());
    if (!type)
      return WalkResult::advance();
    SplatElementsAttr value;
    if (!matchPattern(dot.getRhs(), m_Constant(&value))) {
      dot.emitOpError("has no wgmma: expects a right operand in shared memory, "
                      "or a constant of one value");
      return WalkResult::interrupt();
    }
    std::unique_ptr<Ring> &ring = constants[value];
    if (ring)
      return WalkResult::advance();
    tile::SmemAttr storage = tile::getDefaultStorage(type);
    ring = std::make_unique<Ring>();
    ring->depth = 1;
    ring->fields.push_back(*allocateEntries(
        ring->depth, RankedTensorType::get(type.getShape(),
                                           type.getElementType(), storage)));
    hopper::SmemFillOp::create(
        b, ring->fields.front().buffer,
        cast<TypedAttr>(value.getSplatValue<Attribute>()));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult KernelLowering::lowerCursor(warp::CursorOp op) {
  // The parity of the phase before the first passes at once.
  bool writes = op.getSide() == warp::Side::write;
  bool startsFull = rings[op.getRing()]->protocol.startsFull;
  set(op.getCursor(), {i32(0), i32(writes != startsFull ? 1 : 0)});
  return success();
}

/// One named barrier per replica. The replica waits there, the one before
/// arrives; nobody arrives a second time before it has opened, because its own
/// turn comes after that of who waits there.
LogicalResult KernelLowering::lowerOrderedBarrier(warp::OrderedBarrierOp op) {
  warp::GroupOp group;
  for (Operation *user : op.getOrder().getUsers())
    group = user->getParentOfType<warp::GroupOp>();
  if (!group)
    return success();
  orders[op.getOrder()] = {group, nextNamedBarrier, Value(), Value()};
  nextNamedBarrier += group.getReplicas();
  if (nextNamedBarrier > getChip(op).namedBarriers)
    return op.emitOpError("has no lowering to hopper: with the turns of ")
           << group.getReplicas() << " replicas the kernel needs "
           << nextNamedBarrier - 1 << " named barriers, a block has "
           << getChip(op).namedBarriers - 1 << " beside its own";
  return success();
}

void KernelLowering::beginTurns(warp::GroupOp group) {
  for (auto &[value, order] : orders) {
    if (order.group != group)
      continue;
    b.setLoc(value.getLoc());
    int64_t replicas = group.getReplicas();
    Value replica = get(group.getReplica());
    Value first = i32(order.firstBarrier);
    order.own = arith::AddIOp::create(b, replica, first);
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, replica,
                                         i32(replicas - 1));
    Value next = arith::AddIOp::create(b, order.own, i32(1));
    order.next = arith::SelectOp::create(b, isLast, first, next);
    // The first turn of replica 0 is passed to it like all others.
    auto branch = scf::IfOp::create(b, isLast, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    hopper::NamedBarrierArriveOp::create(b, first, 2 * countThreads(group));
  }
}

LogicalResult KernelLowering::lowerTakeTurn(warp::TakeTurnOp op) {
  const Order &order = orders.find(op.getOrder())->second;
  hopper::NamedBarrierSyncOp::create(b, order.own,
                                     2 * countThreads(order.group));
  return success();
}

LogicalResult KernelLowering::lowerPassTurn(warp::PassTurnOp op) {
  auto take = op.getTurn().getDefiningOp<warp::TakeTurnOp>();
  const Order &order = orders.find(take.getOrder())->second;
  hopper::NamedBarrierArriveOp::create(b, order.next,
                                       2 * countThreads(order.group));
  return success();
}

void KernelLowering::continueSlot(Value from, Value to) {
  if (auto it = slotRing.find(from); it != slotRing.end())
    slotRing[to] = it->second;
}

/// Bytes that are copied into a field of an entry: all of it, or some rows if
/// one copy brings no more, or has rank 1.
static int64_t countCopiedBytes(warp::AcquireOp op, unsigned field,
                                hopper::BufferType buffer) {
  if (!buffer)
    return 0;
  SmallVector<RankedTensorType> copied;
  for (Operation *user : op.getSlot().getUsers())
    if (auto view = dyn_cast<tile::ViewOp>(user);
        view && view.getField() == field)
      for (Operation *access : view->getUsers())
        if (isa<tile::LoadAsyncOp>(access))
          copied.push_back(view.getView().getType().getTile());
  auto entry =
      cast<RankedTensorType>(op.getSlot().getType().getPayload()[field]);
  if (entry.getRank() == 1)
    return buffer.getSlotBytes() / buffer.getRows();
  if (copied.size() != 1 ||
      copied.front().getShape().drop_front() != entry.getShape().drop_front())
    return buffer.getSlotBytes();
  return buffer.getSlotBytes() / entry.getDimSize(0) *
         copied.front().getDimSize(0);
}

void KernelLowering::emitFill(const Ring &ring, warp::GroupOp group,
                              function_ref<void()> emit) {
  if (!ring.protocol.hasLeader)
    return emit();
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                      get(group.getReplica()), i32(0));
  auto branch = scf::IfOp::create(b, leads, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emit();
}

LogicalResult KernelLowering::postNumbers(warp::AcquireOp op) {
  for (Operation *user : op.getSlot().getUsers()) {
    auto view = dyn_cast<tile::ViewOp>(user);
    if (!view)
      continue;
    for (Operation *access : view->getUsers()) {
      auto post = dyn_cast<tile::PostOp>(access);
      if (!post)
        continue;
      auto number = values.find(post.getNumber());
      if (number == values.end())
        return post.emitOpError("has no lowering to hopper: expects a number "
                                "that is known where the entry is acquired");
      const Ring &ring = *rings[op.getRing()];
      hopper::MailboxPostOp::create(b, number->second.front(),
                                    ring.fields[view.getField()].buffer,
                                    values[op.getCursor()][0]);
    }
  }
  return success();
}

/// With the acquire of its entry.
LogicalResult KernelLowering::lowerPost(tile::PostOp op) { return success(); }

LogicalResult KernelLowering::lowerReceive(tile::ReceiveOp op) {
  const View &view = views[op.getView()];
  Value number =
      hopper::MailboxReadOp::create(b, view.memory->buffer, view.index);
  set(op.getResult(), number);
  return success();
}

LogicalResult KernelLowering::lowerAcquire(warp::AcquireOp op) {
  const Ring &ring = *rings[op.getRing()];
  Value index = values[op.getCursor()][0], parity = values[op.getCursor()][1];
  bool writes = op.getSide() == warp::Side::write;
  int64_t depth = ring.depth;
  if (ring.isPrivate()) {
    if (writes) {
      // The store that read this slot `depth` entries ago has left it.
      hopper::TmaWaitReadOp::create(b, depth - 1);
      hopper::NamedBarrierSyncOp::create(b, ring.namedBarrier, ring.threads);
    }
  } else if (writes) {
    LogicalResult posted = success();
    emitFill(ring, op->getParentOfType<warp::GroupOp>(), [&] {
      hopper::BarrierWaitOp::create(b, ring.empty, index, parity);
      // The arrival that expects the bytes hands numbers over, too.
      posted = postNumbers(op);
      int64_t bytes = 0;
      for (auto [field, memory] : llvm::enumerate(ring.fields))
        bytes += countCopiedBytes(op, field, memory.type);
      if (!ring.protocol.isFilledByThreads())
        hopper::BarrierExpectTxOp::create(b, ring.full, index, bytes);
    });
    if (failed(posted))
      return failure();
  } else {
    hopper::BarrierWaitOp::create(b, ring.full, index, parity);
  }
  set(op.getSlot(), index);
  slotRing[op.getSlot()] = &ring;

  // Next slot; the parity changes when the slot number wraps around.
  Value next = index, nextParity;
  if (depth == 1) {
    nextParity = arith::XOrIOp::create(b, parity, i32(1));
  } else if (depth == 2) {
    next = arith::XOrIOp::create(b, index, i32(1));
    nextParity = arith::XOrIOp::create(b, parity, index);
  } else {
    Value successor = arith::AddIOp::create(b, index, i32(1));
    Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, successor,
                                        i32(depth));
    next = arith::SelectOp::create(b, wraps, i32(0), successor);
    nextParity = arith::XOrIOp::create(
        b, parity, arith::ExtUIOp::create(b, b.getI32Type(), wraps));
  }
  set(op.getNext(), {next, nextParity});
  return success();
}

LogicalResult KernelLowering::lowerPublish(warp::PublishOp op) {
  const Ring &ring = *slotRing[op.getSlot()];
  if (ring.isPrivate()) {
    hopper::NamedBarrierSyncOp::create(b, ring.namedBarrier, ring.threads);
  } else if (ring.protocol.isFilledByThreads()) {
    // The elected thread arrives for all threads of its replica.
    syncReplica(op);
    hopper::BarrierArriveOp::create(b, ring.full, get(op.getSlot()));
  }
  // Otherwise the arrival that expected the bytes was the publication.
  return success();
}

/// Whether a token is that of a product or a store whatever way control takes:
/// all warps of the replica have come that far when it is complete.
static bool joinsWarps(Value token, llvm::SmallPtrSetImpl<Value> &seen) {
  if (!seen.insert(token).second)
    return true;
  auto joins = [&](Value other) { return joinsWarps(other, seen); };
  if (auto argument = dyn_cast<BlockArgument>(token)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop)
      return false;
    return joins(loop.getTiedLoopInit(argument)->get()) &&
           joins(loop.getTiedLoopYieldedValue(argument)->get());
  }
  unsigned number = cast<OpResult>(token).getResultNumber();
  return llvm::TypeSwitch<Operation *, bool>(token.getDefiningOp())
      .Case<tile::DotAsyncOp, tile::StoreAsyncOp>([](auto) { return true; })
      .Case(
          [&](scf::ForOp loop) { return joins(loop.getRegionIterArg(number)); })
      .Case([&](scf::IfOp branch) {
        return joins(branch.thenYield().getOperand(number)) &&
               joins(branch.elseYield().getOperand(number));
      })
      .Default([](Operation *) { return false; });
}

/// Whether the warps of the replica meet between all that they read of the slot
/// and its release: to hand over what they have written to another one, or to
/// give back another one. What products read does not count if the release
/// waits for these (`joined`).
static bool meetsBefore(warp::ReleaseOp release, bool joined) {
  Operation *meeting = release->getPrevNode();
  auto isMeeting = [](Operation *op) {
    if (auto other = dyn_cast<warp::ReleaseOp>(op))
      return tile::isReadByThreads(other) && !meetsBefore(other, false);
    auto publish = dyn_cast<warp::PublishOp>(op);
    return publish &&
           llvm::any_of(publish.getSlot().getUsers(), [](Operation *view) {
             return llvm::any_of(view->getUsers(),
                                 llvm::IsaPred<tile::WriteOp>);
           });
  };
  while (meeting && !isMeeting(meeting))
    meeting = meeting->getPrevNode();
  if (!meeting)
    return false;
  auto isBefore = [&](Operation *op) {
    return op->getBlock() == meeting->getBlock() &&
           op->isBeforeInBlock(meeting);
  };
  Operation *acquire = release.getSlot().getDefiningOp();
  if (!acquire || !isBefore(acquire))
    return false;
  for (Operation *view : release.getSlot().getUsers())
    if (isa<tile::ViewOp>(view) &&
        !llvm::all_of(view->getUsers(), [&](Operation *access) {
          return (joined && isa<tile::DotAsyncOp>(access)) || isBefore(access);
        }))
      return false;
  return true;
}

LogicalResult KernelLowering::lowerRelease(warp::ReleaseOp op) {
  const Ring &ring = *slotRing[op.getSlot()];
  Values groups = get(op.getAfter());
  if (!groups.empty())
    hopper::WgmmaWaitOp::create(b, groups, ValueRange(), ValueRange(),
                                IntegerAttr());
  if (ring.isPrivate())
    return success();
  // Copies out of the slot have read it; the thread that issued them arrives.
  if (ring.protocol.hasStores)
    hopper::TmaWaitReadOp::create(b, 0);
  // The elected thread arrives for all warps of its replica. One that has not
  // seen yet that the slot was filled would sleep through the phase, for ever;
  // and one that copies elements into registers may not have done so yet.
  bool joined = llvm::any_of(op.getAfter(), [](Value token) {
    llvm::SmallPtrSet<Value, 4> seen;
    return joinsWarps(token, seen);
  });
  bool hasWarps = op->getParentOfType<warp::GroupOp>().getWarps() > 1;
  bool waits = ring.protocol.hasReads || (!joined && hasWarps);
  if (waits && !meetsBefore(op, joined))
    syncReplica(op);
  hopper::BarrierArriveOp::create(b, ring.empty, get(op.getSlot()));
  return success();
}

LogicalResult KernelLowering::lowerWait(warp::WaitOp op) {
  Values groups = get(op.getTokens());
  if (!groups.empty())
    hopper::WgmmaWaitOp::create(b, groups, ValueRange(), ValueRange(),
                                IntegerAttr());
  // Tokens of copies stand for bulk groups, of which the elected thread waits
  // for all.
  bool isOfProduct = llvm::all_of(op.getTokens(), [](Value token) {
    return token.getDefiningOp<tile::DotAsyncOp>() != nullptr;
  });
  if (!isOfProduct)
    hopper::TmaWaitReadOp::create(b, 0);
  return success();
}

LogicalResult KernelLowering::lowerReady(warp::ReadyOp op) {
  set(op.getDone(), hopper::GroupReadyOp::create(b).getGroup());
  return success();
}

void KernelLowering::addRings(Lowerings &lowerings) {
  lowerings.add(&KernelLowering::lowerRing);
  lowerings.add(&KernelLowering::lowerCursor);
  lowerings.add(&KernelLowering::lowerAcquire);
  lowerings.add(&KernelLowering::lowerPost);
  lowerings.add(&KernelLowering::lowerReceive);
  lowerings.add(&KernelLowering::lowerPublish);
  lowerings.add(&KernelLowering::lowerRelease);
  lowerings.add(&KernelLowering::lowerOrderedBarrier);
  lowerings.add(&KernelLowering::lowerTakeTurn);
  lowerings.add(&KernelLowering::lowerPassTurn);
  lowerings.add(&KernelLowering::lowerWait);
  lowerings.add(&KernelLowering::lowerReady);
}
