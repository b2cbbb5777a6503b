//===- LoopProblem.cpp - a loop as a scheduling problem -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "LoopProblem.h"
#include "../Utils.h"
#include "fa3/Dialect/Tile/Analysis/TileResources.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;
using Kind = PipelineProblem::Kind;

/// The publications of the loop's body for the entry that is read.
static SmallVector<warp::PublishOp> findPublications(warp::AcquireOp acquire) {
  SmallVector<warp::PublishOp> publications;
  if (acquire.getSide() == warp::Side::read)
    for (auto publish : acquire->getBlock()->getOps<warp::PublishOp>()) {
      auto filled = publish.getSlot().getDefiningOp<warp::AcquireOp>();
      if (filled && filled.getRing() == acquire.getRing())
        publications.push_back(publish);
    }
  return publications;
}

/// The copies into the slot that is handed over.
static SmallVector<LoadAsyncOp> findCopies(warp::PublishOp publish) {
  SmallVector<LoadAsyncOp> copies;
  for (Operation *user : publish.getSlot().getUsers())
    if (auto view = dyn_cast<ViewOp>(user))
      for (Operation *access : view->getUsers())
        if (auto copy = dyn_cast<LoadAsyncOp>(access))
          copies.push_back(copy);
  return copies;
}

/// Whether the loop makes the copies that an acquire waits for.
static bool isArrival(warp::AcquireOp acquire) {
  return llvm::any_of(findPublications(acquire), [](warp::PublishOp publish) {
    return !findCopies(publish).empty();
  });
}

/// The tiles that are written into the slot that is handed over.
static SmallVector<Value> findWrittenTiles(warp::PublishOp publish) {
  SmallVector<Value> tiles;
  for (Operation *user : publish.getSlot().getUsers())
    if (isa<ViewOp>(user))
      for (Operation *access : user->getUsers())
        if (auto write = dyn_cast<WriteOp>(access))
          tiles.push_back(write.getValue());
  return tiles;
}

/// The products of the loop's body that read the entry.
static SmallVector<DotAsyncOp> findReaders(warp::AcquireOp acquire) {
  SmallVector<DotAsyncOp> readers;
  for (Operation *view : acquire.getSlot().getUsers())
    if (isa<ViewOp>(view))
      for (Operation *user : view->getUsers())
        if (auto dot = dyn_cast<DotAsyncOp>(user);
            dot && dot->getBlock() == acquire->getBlock())
          readers.push_back(dot);
  return readers;
}

/// Whether all that becomes of a value in its block is stored, at the most
/// through rings that nothing but stores reads.
static bool isOnlyStored(Value value, unsigned depth = 0) {
  constexpr unsigned kMostDepth = 16;
  Operation *def = value.getDefiningOp();
  return depth < kMostDepth && def &&
         llvm::all_of(
             value.getUsers(),
             [&](Operation *user) {
               if (user->getBlock() != def->getBlock())
                 return false;
               if (isa<StoreOp, StoreAsyncOp>(user))
                 return true;
               if (isa<AwaitOp>(user) || (isElementwise(user) && isPure(user)))
                 return llvm::all_of(user->getResults(), [&](Value result) {
                   return isOnlyStored(result, depth + 1);
                 });
               auto write = dyn_cast<WriteOp>(user);
               auto view =
                   write ? write.getView().getDefiningOp<ViewOp>() : ViewOp();
               auto filled =
                   view ? view.getSlot().getDefiningOp<warp::AcquireOp>()
                        : warp::AcquireOp();
               if (!filled || filled->getBlock() != def->getBlock())
                 return false;
               return llvm::all_of(
                   filled.getRing().getUsers(), [&](Operation *other) {
                     auto read = dyn_cast<warp::AcquireOp>(other);
                     return !read || read.getSide() == warp::Side::write ||
                            llvm::all_of(
                                read.getSlot().getUsers(), [](Operation *end) {
                                  return !isa<ViewOp>(end) ||
                                         llvm::all_of(
                                             end->getUsers(),
                                             llvm::IsaPred<StoreAsyncOp>);
                                });
                   });
             });
}

/// Whether products read an entry that threads of the loop fill, and nothing
/// else of the loop needs what they give.
static bool isMeeting(warp::AcquireOp acquire) {
  SmallVector<DotAsyncOp> readers = findReaders(acquire);
  auto publications = findPublications(acquire);
  return !readers.empty() && !publications.empty() &&
         llvm::all_of(publications,
                      [](warp::PublishOp publish) {
                        return findCopies(publish).empty() &&
                               !findWrittenTiles(publish).empty();
                      }) &&
         llvm::all_of(acquire.getSlot().getUsers(),
                      [&](Operation *user) {
                        return !isa<ViewOp>(user) ||
                               llvm::all_of(user->getUsers(),
                                            llvm::IsaPred<DotAsyncOp>);
                      }) &&
         llvm::all_of(readers, [](DotAsyncOp dot) {
           return isOnlyStored(dot.getResult());
         });
}

Kind LoopProblem::classify(Operation *op) const {
  if (isa<DotAsyncOp>(op))
    return Kind::Issue;
  if (isa<LoadAsyncOp>(op))
    return Kind::Copy;
  // Copies are handed over as they are issued.
  if (auto publish = dyn_cast<warp::PublishOp>(op))
    return findCopies(publish).empty() ? Kind::Compute : Kind::Copy;
  if (auto acquire = dyn_cast<warp::AcquireOp>(op))
    return isArrival(acquire)                 ? Kind::Arrival
           : order.late && isMeeting(acquire) ? Kind::Meeting
                                              : Kind::Compute;
  if (isa<AwaitOp>(op))
    return Kind::Wait;
  if (auto release = dyn_cast<warp::ReleaseOp>(op)) {
    for (Value token : release.getAfter())
      if (auto dot = token.getDefiningOp<DotAsyncOp>();
          dot && dot->getBlock() == op->getBlock() && !findAwait(dot))
        return Kind::DeferredWait;
    return Kind::Free;
  }
  if (isa<BroadcastOp, tensor::SplatOp>(op))
    return Kind::Spread;
  return Kind::Compute;
}

bool LoopProblem::hasOwnCopies() const {
  return llvm::any_of(problem.getOperations(), [](const auto &operation) {
    return operation.kind == Kind::Arrival;
  });
}

bool LoopProblem::hasMeetings() const {
  return llvm::any_of(problem.getOperations(), [](const auto &operation) {
    return operation.kind == Kind::Meeting;
  });
}

void LoopProblem::placeBehind(Operation *from, Operation *to) {
  auto source = numbers.find(from), target = numbers.find(to);
  if (source != numbers.end() && target != numbers.end() &&
      source->second != target->second)
    problem.addOrder(source->second, target->second);
}

void LoopProblem::depend(Operation *from, Operation *to, unsigned distance) {
  auto source = numbers.find(from), target = numbers.find(to);
  if (source != numbers.end() && target != numbers.end() &&
      source->second != target->second)
    problem.addDependence(source->second, target->second, distance);
}

/// Follows the operands of an operation and of everything inside it.
LogicalResult LoopProblem::addDataDependences(Operation *op) {
  WalkResult result = op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      if (Operation *def = operand.getDefiningOp()) {
        depend(def, op, 0);
        continue;
      }
      auto argument = cast<BlockArgument>(operand);
      if (argument.getOwner() != loop.getBody() ||
          argument == loop.getInductionVar())
        continue;
      Value yielded = loop.getBody()->getTerminator()->getOperand(
          argument.getArgNumber() - 1);
      if (Operation *def = yielded.getDefiningOp())
        depend(def, op, 1);
      else if (yielded.getParentBlock() == loop.getBody() &&
               yielded != argument) {
        loop.emitOpError("carries a value over more than one iteration, which "
                         "cannot be pipelined");
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The memory of a slot is used before the slot is given away. Tiles for
/// element code are used as they are read, a few registers at a time: the slot
/// is kept until then, or the read would come as early as the slot can be
/// released.
void LoopProblem::addSlotDependences(ViewOp view) {
  for (Operation *end : view.getSlot().getUsers()) {
    if (!isa<warp::PublishOp, warp::ReleaseOp>(end))
      continue;
    for (Operation *user : view.getView().getUsers()) {
      auto read = dyn_cast<ReadOp>(user);
      depend(loop.getBody()->findAncestorOpInBlock(*user), end, 0);
      if (read && read->getBlock() == loop.getBody())
        depend(findMeeting(read), end, 0);
    }
  }
}

/// The awaits of the loop whose results element code combines with numbers of
/// columns or rows that are read.
static SmallVector<AwaitOp> findMetAwaits(ReadOp read) {
  SmallVector<AwaitOp> awaits;
  if (read.getResult().getType().getRank() != 1)
    return awaits;
  for (Operation *broadcast : read->getUsers())
    for (Operation *user : broadcast->getUsers())
      for (Value operand : user->getOperands())
        if (auto await = operand.getDefiningOp<AwaitOp>();
            await && isa<BroadcastOp>(broadcast) &&
            await->getBlock() == read->getBlock())
          awaits.push_back(await);
  return awaits;
}

/// Whether a read of numbers of columns behind the await would wait for a
/// product in flight: one that is issued next and whose operands keep shared
/// memory busy.
static bool isStarved(ReadOp read, AwaitOp await) {
  bool isOfColumns = llvm::all_of(read->getUsers(), [](Operation *user) {
    auto broadcast = dyn_cast<BroadcastOp>(user);
    return broadcast && broadcast.getDim() == 0;
  });
  auto first = await.getPending().getDefiningOp<DotAsyncOp>();
  if (!isOfColumns || !first || first->getBlock() != read->getBlock())
    return false;
  return llvm::any_of(
      read->getBlock()->getOps<DotAsyncOp>(), [&](DotAsyncOp other) {
        return first->isBeforeInBlock(other) && other->isBeforeInBlock(await) &&
               fa3::tile::isBoundByReads(other);
      });
}

/// Numbers of columns or rows that element code repeats are read when what they
/// meet is there: before, they would only occupy registers. Where they would
/// wait for the operands of a product, they come before all products instead.
void LoopProblem::addMeetingDependences(ReadOp read) {
  for (AwaitOp await : findMetAwaits(read)) {
    if (!order.readsEarly || !isStarved(read, await)) {
      depend(await, read, 0);
      continue;
    }
    // In front of all products that are in flight then: the first of them is
    // awaited first.
    for (auto dot : loop.getBody()->getOps<DotAsyncOp>())
      if (dot->isBeforeInBlock(await))
        placeBehind(read, dot);
  }
}

bool fa3::tile::canReadEarly(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<ReadOp>(), [](ReadOp read) {
    return llvm::any_of(findMetAwaits(read),
                        [&](AwaitOp await) { return isStarved(read, await); });
  });
}

bool fa3::tile::canBeLate(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<warp::AcquireOp>(), isMeeting);
}

/// The awaits in `block` that element code computes a value from.
static void collectAwaits(Value value, Block *block,
                          llvm::SmallPtrSetImpl<Operation *> &awaits,
                          llvm::SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block || !seen.insert(op).second)
    return;
  if (isa<AwaitOp>(op))
    awaits.insert(op);
  else if (isElementwise(op))
    for (Value operand : op->getOperands())
      collectAwaits(operand, block, awaits, seen);
}

/// A tile that is converted for a product, and meets another product that is
/// still awaited, is converted behind that: before, the tile and what it is
/// converted to would both occupy registers.
void LoopProblem::addConversionDependences(arith::TruncFOp convert) {
  Block *block = loop.getBody();
  if (llvm::none_of(convert->getUsers(), llvm::IsaPred<DotAsyncOp>))
    return;
  llvm::SmallPtrSet<Operation *, 4> own, seen;
  collectAwaits(convert.getIn(), block, own, seen);
  for (Operation *user : convert.getIn().getUsers()) {
    if (user == convert || user->getBlock() != block || !isElementwise(user))
      continue;
    llvm::SmallPtrSet<Operation *, 4> all, seenHere;
    for (Value operand : user->getOperands())
      collectAwaits(operand, block, all, seenHere);
    if (all.size() > own.size())
      depend(user, convert, 0);
  }
}

/// A release behind the await of its product waits for nothing further.
void LoopProblem::addReleaseDependences(warp::ReleaseOp release) {
  for (Value token : release.getAfter())
    if (auto dot = token.getDefiningOp<DotAsyncOp>())
      if (AwaitOp await = findAwait(dot))
        depend(await, release, 0);
}

/// What the loop itself publishes comes before the read of it, and copies take
/// their time. Products that take what was written from registers come behind
/// those that read it: replicas meet for the read, and would meet behind these
/// products else; and they run while what the others gave is stored.
void LoopProblem::addArrivalDependences(warp::AcquireOp acquire) {
  SmallVector<DotAsyncOp> readers = findReaders(acquire);
  bool isLate = classify(acquire) == Kind::Meeting;
  if (isLate)
    addMeetingOrders(acquire);
  for (warp::PublishOp publish : findPublications(acquire)) {
    depend(publish, acquire, 0);
    for (LoadAsyncOp copy : findCopies(publish))
      depend(copy, acquire, 0);
    if (isLate)
      continue;
    for (Value tile : findWrittenTiles(publish))
      for (Operation *user : tile.getUsers())
        if (isa<DotAsyncOp>(user) && user->getBlock() == loop.getBody() &&
            !llvm::is_contained(readers, cast<DotAsyncOp>(user))) {
          depend(acquire, user, 0);
          for (DotAsyncOp reader : readers)
            depend(reader, user, 0);
        }
  }
}

/// Products that read what was exchanged in the iteration before come behind
/// the element code of a step, when its tiles are down to what is converted,
/// and in front of the products that take these from registers. Others wait for
/// the entry of this step, so that it is handed over before further products
/// are issued that take it from registers.
void LoopProblem::addMeetingOrders(warp::AcquireOp acquire) {
  SmallVector<DotAsyncOp> readers = findReaders(acquire);
  auto isReader = [&](DotAsyncOp dot) {
    return llvm::is_contained(readers, dot);
  };
  for (auto dot : loop.getBody()->getOps<DotAsyncOp>()) {
    if (!isa<RankedTensorType>(dot.getLhs().getType()) || isReader(dot))
      continue;
    if (Operation *converted = dot.getLhs().getDefiningOp())
      placeBehind(converted, acquire);
    for (DotAsyncOp reader : readers)
      placeBehind(reader, dot);
  }
  for (warp::PublishOp publish : findPublications(acquire))
    for (Value tile : findWrittenTiles(publish)) {
      if (Operation *made = tile.getDefiningOp())
        placeBehind(made, acquire);
      for (Operation *user : tile.getUsers())
        if (auto dot = dyn_cast<DotAsyncOp>(user); dot && !isReader(dot))
          placeBehind(publish, dot);
    }
}

/// An entry that threads write is asked for behind the element code of all but
/// the last product that the tile is made of: others may read the one before
/// until then, and who waits for the last product has done the work for the
/// first.
void LoopProblem::addFillDependences(warp::AcquireOp acquire) {
  Block *block = loop.getBody();
  auto getAwaits = [&](Value value) {
    llvm::SmallPtrSet<Operation *, 4> awaits, seen;
    collectAwaits(value, block, awaits, seen);
    return awaits;
  };
  SmallVector<Value> rest;
  for (Operation *view : acquire.getSlot().getUsers())
    for (Operation *access : view->getUsers())
      if (auto write = dyn_cast<WriteOp>(access))
        rest.push_back(write.getValue());
  // With an entry that others still read an iteration later, there is no hurry.
  bool isLate = llvm::any_of(block->getOps<warp::AcquireOp>(),
                             [&](warp::AcquireOp other) {
                               return other.getRing() == acquire.getRing() &&
                                      classify(other) == Kind::Meeting;
                             });
  if (isLate) {
    for (Value tile : rest)
      if (Operation *made = tile.getDefiningOp())
        depend(made, acquire, 0);
    return;
  }
  Operation *last = nullptr;
  for (Value tile : rest)
    for (Operation *await : getAwaits(tile))
      if (!last || last->isBeforeInBlock(await))
        last = await;
  // Up to where a tile meets the last product.
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!rest.empty()) {
    Operation *op = rest.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != block || !isElementwise(op) ||
        !seen.insert(op).second)
      continue;
    for (Value operand : op->getOperands()) {
      auto awaits = getAwaits(operand);
      if (awaits.contains(last))
        rest.push_back(operand);
      else if (!awaits.empty())
        depend(operand.getDefiningOp(), acquire, 0);
    }
  }
}

/// A left operand in registers is read until the product is awaited: the next
/// iteration's may not be made before that, and what others get of it through
/// memory is handed over in front of the product.
void LoopProblem::addRegisterHazard(DotAsyncOp dot) {
  Value lhs = dot.getLhs();
  if (!isa<RankedTensorType>(lhs.getType()))
    return;
  AwaitOp await = findAwait(dot);
  if (await && lhs.getDefiningOp())
    depend(await, lhs.getDefiningOp(), 1);
  for (auto publish : loop.getBody()->getOps<warp::PublishOp>())
    if (publish->isBeforeInBlock(dot) &&
        llvm::is_contained(findWrittenTiles(publish), lhs))
      depend(publish, dot, 0);
}

/// Whether an operation needs what another one gives, in the same iteration.
bool LoopProblem::needs(unsigned user, unsigned other) const {
  llvm::SmallSetVector<unsigned, 16> found;
  found.insert(user);
  for (unsigned i = 0; i < found.size(); ++i)
    for (const auto &dep : problem.getDependences())
      if (dep.distance == 0 && dep.to == found[i])
        found.insert(dep.from);
  return found.contains(other);
}

/// Entries that later products of a step read, too, are given back last, and
/// those of the next step arrive last. Of products that do not need each other
/// those come first whose entries are on their way by then.
void LoopProblem::addRefillOrders() {
  llvm::MapVector<unsigned, bool> holds;
  for (auto acquire : loop.getBody()->getOps<warp::AcquireOp>()) {
    if (acquire.getSide() != warp::Side::read)
      continue;
    llvm::SmallSetVector<unsigned, 2> chains;
    for (DotAsyncOp dot : findReaders(acquire))
      chains.insert(numbers.lookup(dot));
    for (unsigned chain : chains)
      holds[chain] |= chains.size() > 1;
  }
  for (auto [late, isHeld] : holds)
    for (auto [early, isAlsoHeld] : holds)
      if (isHeld && !isAlsoHeld && !needs(early, late) && !needs(late, early))
        problem.addOrder(early, late);
}

/// Units and latencies of one replica that has the multiprocessor for itself:
/// others, at other phases of the same schedule, fill what is left.
void LoopProblem::addTimes() {
  const Chip &chip = getChip(loop);
  auto group = loop->getParentOfType<warp::GroupOp>();
  int64_t warps = group ? group.getWarps() : chip.warpsPerWarpgroup;
  // The stream is that of the replica's own instructions, which start in order.
  unsigned stream = problem.addUnit("stream"),
           tensor = problem.addUnit("tensor");
  for (auto [i, parts] : llvm::enumerate(operations)) {
    ResourceUse use;
    for (Operation *op : parts) {
      ResourceUse part = getResourceUse(op, warps * chip.threadsPerWarp);
      use.issue += part.issue;
      use.special += part.special;
      use.latency = use.tensor + part.latency;
      use.tensor += part.tensor;
    }
    if (int64_t cycles = std::max(use.issue, use.special))
      problem.addUse(i, stream, cycles);
    if (use.tensor)
      problem.addUse(i, tensor, use.tensor);
    problem.setLatency(i, use.latency);
  }
}

void LoopProblem::number() {
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto dot = dyn_cast<DotAsyncOp>(op)) {
      auto before = dot.getAcc().getDefiningOp<DotAsyncOp>();
      if (before && findNextInChain(before) == dot) {
        unsigned shared = numbers.lookup(before);
        numbers[&op] = shared;
        operations[shared].push_back(&op);
        continue;
      }
    }
    std::string name = op.getName().getStringRef().str();
    numbers[&op] = problem.addOperation(name, classify(&op));
    operations.push_back({&op});
  }
}

LogicalResult LoopProblem::addDependences(Operation *op) {
  if (failed(addDataDependences(op)))
    return failure();
  if (auto view = dyn_cast<ViewOp>(op))
    addSlotDependences(view);
  else if (auto release = dyn_cast<warp::ReleaseOp>(op))
    addReleaseDependences(release);
  else if (auto acquire = dyn_cast<warp::AcquireOp>(op))
    acquire.getSide() == warp::Side::read ? addArrivalDependences(acquire)
                                          : addFillDependences(acquire);
  else if (auto dot = dyn_cast<DotAsyncOp>(op))
    addRegisterHazard(dot);
  else if (auto read = dyn_cast<ReadOp>(op))
    addMeetingDependences(read);
  else if (auto convert = dyn_cast<arith::TruncFOp>(op))
    addConversionDependences(convert);
  return success();
}

LogicalResult LoopProblem::build() {
  number();
  Operation *lastEffect = nullptr;
  for (Operation &body : loop.getBody()->without_terminator()) {
    Operation *op = &body;
    if (failed(addDependences(op)))
      return failure();
    // Effects that nothing above orders keep the order of the program.
    if (isa<warp::AcquireOp, warp::PublishOp, warp::ReleaseOp, DotAsyncOp,
            LoadAsyncOp, AwaitOp>(op) ||
        isMemoryEffectFree(op))
      continue;
    if (lastEffect)
      depend(lastEffect, op, 0);
    lastEffect = op;
  }
  if (order.refills)
    addRefillOrders();
  addTimes();
  return success();
}

void LoopProblem::annotate() {
  SmallVector<unsigned> order(
      llvm::to_vector(llvm::seq<unsigned>(0, operations.size())));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return *problem.getOperations()[a].position <
           *problem.getOperations()[b].position;
  });
  int64_t position = 0;
  for (unsigned i : order)
    for (Operation *op : operations[i])
      op->setAttr(TileDialect::kSlottingAttrName,
                  SlottingAttr::get(loop.getContext(),
                                    *problem.getOperations()[i].stage,
                                    position++));
  carryFewerScalars(loop);
}
