//===- JoinRings.cpp - tile-join-rings ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every ring costs its groups a position, a wait and an arrival for each entry.
// Numbers that are copied beside a tile, and read while that is held, need none
// of their own.
//===----------------------------------------------------------------------===//

#include "../Pipeline/RingSizes.h"
#include "../Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "fa3/Support/ShortForm.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fa3::tile {
#define GEN_PASS_DEF_JOINRINGS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
/// An entry that is acquired and given away in one block.
struct Entry {
  warp::AcquireOp acquire;
  Operation *end; ///< its publish or release
};

/// What the groups of a kernel do with the entries of a ring.
struct RingUse {
  warp::RingOp ring;
  SmallVector<warp::CursorOp> cursors;
  /// In the order of the program.
  SmallVector<Entry> entries;
  bool isOfNumbers() const {
    auto first = cast<RankedTensorType>(
        cast<warp::RingType>(ring->getResult(0).getType())
            .getPayload()
            .front());
    return first.getRank() == 1;
  }
};

/// The first and the last operation that touches an entry.
struct Span {
  int64_t first = -1, last = -1;
  bool isEmpty() const { return first < 0; }
};

class Joiner {
public:
  explicit Joiner(gpu::GPUFuncOp kernel);
  /// Joins rings of numbers to rings of tiles. Returns how many.
  int64_t run();

private:
  std::optional<RingUse> inspect(warp::RingOp ring) const;
  Span getSpan(Entry entry) const;
  /// Whether the entries of both are filled and given back one beside the
  /// other, those of the tile before and behind those of the numbers.
  bool encloses(RingUse &tile, RingUse &numbers) const;
  /// Where entries are held to the end of a step.
  int64_t getLastUse(const RingUse &use) const;
  void join(RingUse &tile, RingUse &numbers);
  void joinEntry(const Entry &tile, const Entry &numbers, int64_t firstField);

  gpu::GPUFuncOp kernel;
  llvm::DenseMap<Operation *, int64_t> places;
};
} // namespace

Joiner::Joiner(gpu::GPUFuncOp kernel) : kernel(kernel) {
  kernel.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { places[op] = places.size(); });
}

/// What is written to an entry has to be copied in the block of its acquire.
static std::optional<Entry> findEntry(warp::AcquireOp acquire) {
  Entry entry{acquire, nullptr};
  bool writes = acquire.getSide() == warp::Side::write;
  auto isCopyHere = [&](Operation *access) {
    return isa<LoadAsyncOp, PostOp>(access) &&
           access->getBlock() == acquire->getBlock();
  };
  for (Operation *user : acquire.getSlot().getUsers()) {
    if (isa<ViewOp>(user)) {
      if (writes && !llvm::all_of(user->getUsers(), isCopyHere))
        return std::nullopt;
      continue;
    }
    auto release = dyn_cast<warp::ReleaseOp>(user);
    bool isEnd =
        isa<warp::PublishOp>(user) || (release && release.getAfter().empty());
    if (!isEnd || entry.end || user->getBlock() != acquire->getBlock())
      return std::nullopt;
    entry.end = user;
  }
  return entry.end ? std::optional(entry) : std::nullopt;
}

/// Nothing if the ring has another form than those that copies fill.
std::optional<RingUse> Joiner::inspect(warp::RingOp ring) const {
  warp::RingType type = ring.getRing().getType();
  if (type.getDepth() != 1 || type.getParts() != 1 || type.getInitial() != 0 ||
      ring->getParentOfType<warp::GroupOp>() ||
      !llvm::all_of(type.getPayload(), llvm::IsaPred<RankedTensorType>))
    return std::nullopt;
  RingUse use{ring, {}, {}};
  for (Operation *user : ring->getUsers()) {
    if (auto cursor = dyn_cast<warp::CursorOp>(user)) {
      use.cursors.push_back(cursor);
      continue;
    }
    auto acquire = dyn_cast<warp::AcquireOp>(user);
    std::optional<Entry> entry =
        acquire ? findEntry(acquire) : std::optional<Entry>();
    if (!entry)
      return std::nullopt;
    use.entries.push_back(*entry);
  }
  auto byPlace = [&](Operation *a, Operation *b) {
    return places.at(a) < places.at(b);
  };
  llvm::sort(use.cursors, byPlace);
  llvm::sort(use.entries, [&](const Entry &a, const Entry &b) {
    return byPlace(a.acquire, b.acquire);
  });
  return use;
}

Span Joiner::getSpan(Entry entry) const {
  Span span;
  for (Operation *view : entry.acquire.getSlot().getUsers()) {
    if (!isa<ViewOp>(view))
      continue;
    for (Operation *access : view->getUsers()) {
      int64_t place = places.at(access);
      span.first = span.isEmpty() ? place : std::min(span.first, place);
      span.last = std::max(span.last, place);
    }
  }
  return span;
}

int64_t Joiner::getLastUse(const RingUse &use) const {
  int64_t last = -1;
  for (const Entry &entry : use.entries)
    if (isa<warp::ReleaseOp>(entry.end))
      last = std::max(last, getSpan(entry).last);
  return last;
}

bool Joiner::encloses(RingUse &tile, RingUse &numbers) const {
  if (tile.cursors.size() != numbers.cursors.size() ||
      tile.entries.size() != numbers.entries.size())
    return false;
  llvm::DenseSet<std::pair<Operation *, warp::Side>> sides, ofNumbers;
  for (auto &[use, found] : {std::pair(&tile, &sides), {&numbers, &ofNumbers}})
    for (warp::CursorOp cursor : use->cursors)
      found->insert({cursor->getParentOp(), cursor.getSide()});
  for (auto side : sides)
    if (!ofNumbers.contains(side))
      return false;
  llvm::DenseSet<std::pair<Block *, warp::Side>> blocks;
  for (auto &&[outer, inner] : llvm::zip(tile.entries, numbers.entries)) {
    Block *block = outer.acquire->getBlock();
    warp::Side side = outer.acquire.getSide();
    if (inner.acquire->getBlock() != block || inner.acquire.getSide() != side ||
        !blocks.insert({block, side}).second)
      return false;
    Span around = getSpan(outer), inside = getSpan(inner);
    if (side == warp::Side::write || inside.isEmpty())
      continue;
    if (around.isEmpty() || inside.first < around.first ||
        inside.last > around.last)
      return false;
  }
  return true;
}

/// Lets what is copied into an entry, or read of it, be a further field of
/// another one.
void Joiner::joinEntry(const Entry &tile, const Entry &numbers,
                       int64_t firstField) {
  warp::AcquireOp acquire = tile.acquire, other = numbers.acquire;
  bool writes = acquire.getSide() == warp::Side::write;
  for (Operation *user : llvm::make_early_inc_range(other.getSlot().getUsers()))
    if (auto view = dyn_cast<ViewOp>(user)) {
      view.getSlotMutable().assign(acquire.getSlot());
      view.setField(firstField + view.getField());
      if (view->getBlock() == acquire->getBlock() &&
          view->isBeforeInBlock(acquire))
        view->moveAfter(acquire);
      if (!writes)
        continue;
      // Copies come in front of what hands the entry over.
      for (Operation *copy : llvm::make_early_inc_range(view->getUsers())) {
        if (copy->isBeforeInBlock(acquire))
          copy->moveBefore(tile.end);
        else if (tile.end->isBeforeInBlock(copy))
          tile.end->moveAfter(copy);
      }
    }
  numbers.end->erase();
  other.getNext().replaceAllUsesWith(other.getCursor());
  other.erase();
}

void Joiner::join(RingUse &tile, RingUse &numbers) {
  warp::RingType type = tile.ring.getRing().getType();
  SmallVector<Type> payload(type.getPayload());
  int64_t firstField = payload.size();
  llvm::append_range(payload, numbers.ring.getRing().getType().getPayload());
  tile.ring.getRing().setType(type.withPayload(payload));
  for (auto &&[outer, inner] : llvm::zip(tile.entries, numbers.entries)) {
    outer.acquire.getSlot().setType(warp::SlotType::get(
        kernel.getContext(), outer.acquire.getSide(), payload));
    joinEntry(outer, inner, firstField);
  }
}

int64_t Joiner::run() {
  SmallVector<RingUse> tiles, numbers;
  kernel.walk([&](warp::RingOp ring) {
    if (std::optional<RingUse> use = inspect(ring))
      (use->isOfNumbers() ? numbers : tiles).push_back(*use);
  });
  int64_t count = 0;
  for (RingUse &some : numbers) {
    RingUse *best = nullptr;
    for (RingUse &tile : tiles)
      if (encloses(tile, some) &&
          (!best || getLastUse(tile) > getLastUse(*best)))
        best = &tile;
    if (!best)
      continue;
    join(*best, some);
    ++count;
  }
  return count;
}

/// Whether a loop meets numbers of many columns and coordinates that change,
/// starts anywhere and ends at a constant. Such loops have no late products,
/// and what ptxas makes of the others' bounds is measured to be faster with
/// rings apart (docs/experiments/late-products.md).
static bool isFasterApart(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](scf::ForOp loop) {
    bool isFaster = !loop.getBody()->getOps<DotOp>().empty() &&
                    meetsWideNumbers(loop) && changesCoordinates(loop) &&
                    !getConstantIntValue(loop.getLowerBound()) &&
                    getConstantIntValue(loop.getUpperBound());
    return isFaster ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {
/// A position that nothing is acquired at does nothing.
struct EraseCursor : OpRewritePattern<warp::CursorOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(warp::CursorOp op,
                                PatternRewriter &rewriter) const override {
    if (!op->use_empty())
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct JoinRings : fa3::tile::impl::JoinRingsBase<JoinRings> {
  using JoinRingsBase::JoinRingsBase;
  void runOnOperation() override {
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          // Where several groups compute, rings have one entry, and each copy
          // is to be on its way as soon as its own is given back. Beside tanh
          // ptxas spills.
          if (countComputingGroups(kernel) > 1 || becomesTwoWays(kernel) ||
              isFasterApart(kernel))
            return success();
          int64_t count = Joiner(kernel).run();
          numJoined += count;
          return count ? dropPositions(kernel) : success();
        })))
      signalPassFailure();
  }

  /// Of rings that are left without entries, which loops still carry.
  static LogicalResult dropPositions(gpu::GPUFuncOp kernel) {
    MLIRContext *context = kernel.getContext();
    RewritePatternSet patterns(context);
    patterns.add<EraseCursor>(context);
    scf::ForOp::getCanonicalizationPatterns(patterns, context);
    scf::IfOp::getCanonicalizationPatterns(patterns, context);
    return applyPatternsGreedily(kernel, std::move(patterns));
  }
};
} // namespace
