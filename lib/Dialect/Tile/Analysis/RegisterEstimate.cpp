//===- RegisterEstimate.cpp - registers a group needs ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/Analysis/RegisterEstimate.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Machine/RegisterModel.h"
#include "mlir/Analysis/Liveness.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
/// The registers that the values of one group take.
class ValueRegisters {
public:
  ValueRegisters(int64_t threads, const Chip &chip)
      : threads(threads), chip(chip) {}
  /// Registers per thread of a value; 0 for what is rematerialized.
  int64_t get(Value value);

private:
  bool isRematerialized(Operation *op);
  /// Whether the elements of a tile exist one at a time: from the operation to
  /// the last use there is only element code, and the elements that it is
  /// computed from stay until then, as those of a score that code reads twice.
  bool isTransient(Operation *op);
  /// Whether each element of `value`, or of a tile that it is computed from
  /// element by element, is in a register up to `last`.
  bool holdsElements(Value value, Operation *first, Operation *last,
                     llvm::DenseSet<Operation *> &visited);
  /// Whether all of the code from `first` to `last`, in one block, may be
  /// computed element by element: nothing in between waits, or changes memory.
  bool isElementCode(Operation *first, Operation *last);
  /// Whether what `user` computes goes, element by element, into `last` or what
  /// comes behind it.
  bool leadsTo(Operation *user, Operation *last);
  /// The last use in the block of the value, or of one that it is computed from
  /// element by element.
  unsigned getLastUse(Value value, Block *block);
  /// Where an operation is in its block.
  struct Place {
    unsigned index;
    /// Operations in front of it that wait or change memory.
    unsigned effects;
  };
  Place getPlace(Operation *op);

  int64_t threads;
  const Chip &chip;
  llvm::DenseMap<Operation *, bool> rematerialized, transient;
  llvm::DenseMap<Operation *, Place> places;
  llvm::DenseMap<std::pair<Value, Block *>, unsigned> lastUses;
  llvm::DenseMap<Operation *, llvm::DenseSet<Operation *>> sources;
};
} // namespace

/// Whether numbers of columns are read in front of products that are issued
/// before these numbers meet a tile.
static bool isAheadOfProducts(ReadOp read) {
  if (read.getResult().getType().getRank() != 1)
    return false;
  Operation *first = nullptr;
  for (Operation *user : read->getUsers()) {
    auto broadcast = dyn_cast<BroadcastOp>(user);
    if (!broadcast || broadcast.getDim() != 0)
      return false;
    for (Operation *use : broadcast->getUsers())
      if (use->getBlock() == read->getBlock() &&
          (!first || use->isBeforeInBlock(first)))
        first = use;
  }
  for (Operation *op = read; first && op != first; op = op->getNextNode())
    if (isa<DotAsyncOp>(op))
      return true;
  return false;
}

/// Whether a tile is computed element by element from scalars, coordinates,
/// statistics and what is read from shared memory for element code: each
/// element then exists only next to its use.
bool ValueRegisters::isRematerialized(Operation *op) {
  if (isa<arith::ConstantOp, tensor::SplatOp, BroadcastOp, CoordOp>(op))
    return true;
  if (auto read = dyn_cast<ReadOp>(op))
    return !isAheadOfProducts(read) &&
           llvm::all_of(op->getUsers(), [](Operation *user) {
             return isElementwise(user) || isa<BroadcastOp>(user);
           });
  if (!isElementwise(op) && !isa<RelabelOp>(op))
    return false;
  if (auto it = rematerialized.find(op); it != rematerialized.end())
    return it->second;
  bool result = llvm::all_of(op->getOperands(), [&](Value value) {
    Operation *def = value.getDefiningOp();
    return !getTileType(value.getType()) || (def && isRematerialized(def));
  });
  rematerialized[op] = result;
  return result;
}

ValueRegisters::Place ValueRegisters::getPlace(Operation *op) {
  auto it = places.find(op);
  if (it != places.end())
    return it->second;
  Place place{0, 0};
  for (Operation &other : *op->getBlock()) {
    places[&other] = place;
    ++place.index;
    place.effects += !isPure(&other);
  }
  return places.lookup(op);
}

bool ValueRegisters::isElementCode(Operation *first, Operation *last) {
  return getPlace(first).effects == getPlace(last).effects &&
         isElementwise(last);
}

/// Whether a tile is one of numbers, which registers hold; masks and places are
/// computed where they are used.
static bool isNumbers(RankedTensorType tile) {
  return !tile.getElementType().isIndex() &&
         !tile.getElementType().isInteger(1);
}

bool ValueRegisters::leadsTo(Operation *user, Operation *last) {
  constexpr unsigned kMostDepth = 8;
  auto [it, inserted] = sources.try_emplace(last);
  llvm::DenseSet<Operation *> &reached = it->second;
  SmallVector<Operation *> level = {last};
  for (unsigned depth = 0; inserted && depth < kMostDepth; ++depth) {
    SmallVector<Operation *> next;
    for (Operation *op : level)
      for (Value operand : op->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (def && def->getBlock() == last->getBlock() && isElementwise(def) &&
            isElementCode(def, last) && reached.insert(def).second)
          next.push_back(def);
      }
    level = std::move(next);
  }
  return reached.contains(user);
}

unsigned ValueRegisters::getLastUse(Value value, Block *block) {
  RankedTensorType tile = getTileType(value.getType());
  Operation *op = value.getDefiningOp();
  if (!tile || tile.getRank() != 2 || (op && isRematerialized(op)))
    return 0;
  auto it = lastUses.find({value, block});
  if (it != lastUses.end())
    return it->second;
  constexpr unsigned kElsewhere = std::numeric_limits<unsigned>::max();
  unsigned last = 0;
  for (Operation *user : value.getUsers()) {
    Operation *inBlock = block->findAncestorOpInBlock(*user);
    last = std::max(last, inBlock ? getPlace(inBlock).index : kElsewhere);
  }
  if (op && op->getBlock() == block && isElementwise(op))
    for (Value operand : op->getOperands())
      last = std::max(last, getLastUse(operand, block));
  return lastUses[{value, block}] = last;
}

bool ValueRegisters::holdsElements(Value value, Operation *first,
                                   Operation *last,
                                   llvm::DenseSet<Operation *> &visited) {
  RankedTensorType tile = getTileType(value.getType());
  Operation *op = value.getDefiningOp();
  if (!tile || tile.getRank() != 2 || (op && isRematerialized(op)))
    return false;
  Block *block = last->getBlock();
  // Nothing that it is computed from has a use behind the first operation.
  if (getLastUse(value, block) <= getPlace(first).index)
    return false;
  if (isNumbers(tile))
    for (Operation *user : value.getUsers()) {
      Operation *inBlock = block->findAncestorOpInBlock(*user);
      if (!inBlock || !inBlock->isBeforeInBlock(last))
        return true;
      // Further code on the same elements, which is computed beside them.
      if (first->isBeforeInBlock(inBlock) && leadsTo(user, last))
        return true;
    }
  return op && op->getBlock() == block && isElementwise(op) &&
         visited.insert(op).second && isElementCode(op, last) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return holdsElements(operand, first, last, visited);
         });
}

bool ValueRegisters::isTransient(Operation *op) {
  if (!isElementwise(op) || op->use_empty())
    return false;
  if (auto it = transient.find(op); it != transient.end())
    return it->second;
  Operation *last = nullptr;
  bool inElementCode = true;
  for (Operation *user : op->getUsers()) {
    inElementCode &= user->getBlock() == op->getBlock() && isElementwise(user);
    if (inElementCode && (!last || last->isBeforeInBlock(user)))
      last = user;
  }
  llvm::DenseSet<Operation *> visited;
  bool result = inElementCode && isElementCode(op, last) &&
                llvm::any_of(op->getOperands(), [&](Value operand) {
                  return holdsElements(operand, op, last, visited);
                });
  transient[op] = result;
  return result;
}

/// Whether these are maxima that loops carry and that nothing but further ones
/// is computed of. They take the place of those of a step, and ptxas finds room
/// for them that the estimate does not see (docs/experiments/max-logits.md).
static bool isCarriedMaximum(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && !isa<arith::MaxNumFOp, scf::ForOp, scf::IfOp>(op))
    return false;
  return !value.use_empty() &&
         llvm::all_of(value.getUsers(), [](Operation *op) {
           auto reduce = dyn_cast<ReduceOp>(op);
           return (reduce && reduce.getKind() == ReduceKind::max) ||
                  isa<arith::MaxNumFOp, scf::ForOp, scf::YieldOp>(op);
         });
}

int64_t ValueRegisters::get(Value value) {
  if (isa<ViewType>(value.getType()))
    return 0;
  RankedTensorType tile = getTileType(value.getType());
  if (!tile || !isNumbers(tile))
    return 0;
  Operation *op = value.getDefiningOp();
  if (op && (isRematerialized(op) || isTransient(op)))
    return 0;
  if (tile.getRank() == 2 && isCarriedMaximum(value))
    return 0;
  int64_t bits = tile.getElementTypeBitWidth();
  int64_t perThread;
  if (tile.getRank() == 2) {
    perThread = llvm::divideCeil(tile.getNumElements() * bits, 32 * threads);
  } else {
    // Rows are spread over the warps, columns repeated in each.
    int64_t warps = threads / chip.threadsPerWarp;
    int64_t asRows =
        tile.getDimSize(0) * chip.lanesPerRow / (warps * chip.threadsPerWarp);
    int64_t asColumns =
        tile.getDimSize(0) * chip.lanesPerColumn / chip.threadsPerWarp;
    bool alongRows = true;
    for (Operation *user : value.getUsers())
      if (auto broadcast = dyn_cast<BroadcastOp>(user))
        alongRows = broadcast.getDim() == 1;
    perThread = std::max<int64_t>(alongRows ? asRows : asColumns, 1);
  }
  return perThread;
}

namespace {
/// The values that are alive at a point, and the registers that they take.
class LiveValues {
public:
  LiveValues(ValueRegisters &registers, const llvm::DenseSet<Value> &values)
      : registers(registers) {
    for (Value value : values)
      add(value);
  }
  void add(Value value) {
    if (values.insert(value).second)
      sum += registers.get(value);
  }
  void remove(Value value) {
    if (values.erase(value))
      sum -= registers.get(value);
  }
  int64_t getSum() const { return sum; }
  const llvm::DenseSet<Value> &get() const { return values; }

private:
  ValueRegisters &registers;
  llvm::DenseSet<Value> values;
  int64_t sum = 0;
};
} // namespace

/// Visits a block, from its end, whose surroundings keep `outside` alive.
/// Values that end at an operation make room for its results.
static int64_t visitBlock(Block &block, const Liveness &liveness,
                          const llvm::DenseSet<Value> &outside,
                          ValueRegisters &registers, Operation *&where) {
  int64_t most = 0;
  LiveValues live(registers, outside);
  for (Value value : liveness.getLiveOut(&block))
    live.add(value);
  for (Operation &op : llvm::reverse(block)) {
    for (Value result : op.getResults())
      live.add(result);
    int64_t own = live.getSum();
    Operation *ownWhere = &op;
    for (Value result : op.getResults())
      live.remove(result);
    // Inside, what lives past the operation stays, its results aside.
    for (Region &region : op.getRegions())
      for (Block &inner : region) {
        Operation *innerWhere = nullptr;
        int64_t innerMost =
            visitBlock(inner, liveness, live.get(), registers, innerWhere);
        if (innerMost > own) {
          own = innerMost;
          ownWhere = innerWhere;
        }
      }
    // The first of several.
    if (own > 0 && own >= most) {
      most = own;
      where = ownWhere;
    }
    op.walk([&](Operation *user) {
      for (Value operand : user->getOperands())
        if (!op.isAncestor(operand.getParentBlock()->getParentOp()))
          live.add(operand);
    });
  }
  return most;
}

bool fa3::tile::readsEarlierExchange(scf::ForOp loop) {
  auto acquires = loop.getBody()->getOps<warp::AcquireOp>();
  auto isWritten = [](warp::AcquireOp acquire) {
    return llvm::any_of(acquire.getSlot().getUsers(), [](Operation *user) {
      return isa<ViewOp>(user) &&
             llvm::any_of(user->getUsers(), llvm::IsaPred<WriteOp>);
    });
  };
  return llvm::any_of(acquires, [&](warp::AcquireOp read) {
    return read.getSide() == warp::Side::read &&
           llvm::any_of(acquires, [&](warp::AcquireOp write) {
             return write.getSide() == warp::Side::write &&
                    write.getRing() == read.getRing() &&
                    read->isBeforeInBlock(write) && isWritten(write);
           });
  });
}

int64_t fa3::tile::estimateRegisters(warp::GroupOp group, Operation *&where) {
  Liveness liveness(group);
  const Chip &chip = getChip(group);
  const RegisterModel &model = getRegisterModel(chip);
  ValueRegisters registers(group.getWarps() * chip.threadsPerWarp, chip);
  where = group;
  int64_t tiles =
      visitBlock(*group.getBodyBlock(), liveness, {}, registers, where);
  WalkResult late = group.walk([](scf::ForOp loop) {
    return readsEarlierExchange(loop) ? WalkResult::interrupt()
                                      : WalkResult::advance();
  });
  return model.others + tiles - (late.wasInterrupted() ? model.lateTiles : 0);
}

int64_t fa3::tile::countThreads(warp::SpecializeOp op) {
  // Groups of less than a warp group share warp groups.
  const Chip &chip = getChip(op);
  int64_t small = 0, whole = 0;
  for (auto group : op.getOps<warp::GroupOp>())
    (int64_t(group.getWarps()) < chip.warpsPerWarpgroup ? small : whole) +=
        group.getWarps() * group.getReplicas();
  return (whole + llvm::alignTo(small, chip.warpsPerWarpgroup)) *
         chip.threadsPerWarp;
}

int64_t fa3::tile::getRegisterLimit(warp::GroupOp group,
                                    std::optional<int64_t> others) {
  const Chip &chip = getChip(group);
  int64_t warps = chip.warpsPerWarpgroup;
  // Small groups share a warp group.
  int64_t own = group.getReplicas() * llvm::divideCeil(group.getWarps(), warps);
  int64_t otherGroups = 0;
  bool small = false;
  for (auto other : group->getBlock()->getOps<warp::GroupOp>()) {
    if (other == group)
      continue;
    if (int64_t(other.getWarps()) < warps)
      small = true;
    else
      otherGroups += other.getReplicas() * (other.getWarps() / warps);
  }
  otherGroups += small;
  int64_t threads = (own + otherGroups) * chip.getThreadsPerWarpgroup();
  int64_t pool = chip.getEntryRegisters(threads) * (own + otherGroups) -
                 others.value_or(chip.leastRegisters) * otherGroups;
  int64_t granule = chip.registerGranule;
  return std::min(pool / own / granule * granule,
                  getRegisterModel(chip).mostOfConsumer);
}
