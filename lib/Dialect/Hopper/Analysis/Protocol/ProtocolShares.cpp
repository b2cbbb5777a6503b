//===- ProtocolShares.cpp - tiles that CTAs share out ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One group claims tile after tile and posts their numbers to the others. That
// all groups perform the same tiles follows from how the mailbox is used: every
// post is before an arrival at the same slot, every read after a wait for it,
// and nobody else is at these mbarriers. That reads and posts are in order is
// checked like any other access to shared memory.
//===----------------------------------------------------------------------===//

#include "ProtocolModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {
/// A loop over the tiles of a CTA; the first carried value is the tile.
struct TileLoop {
  scf::ForOp op;
  ClaimOp claim;        ///< of the group that claims
  MailboxReadOp read;   ///< of the others
  BarrierWaitOp waited; ///< for the slot that is read
};
} // namespace

static std::optional<TileLoop> matchLoop(scf::ForOp loop) {
  if (loop.getInitArgs().empty())
    return std::nullopt;
  TileLoop result{loop, {}, {}, {}};
  Operation *yielded = loop.getYieldedValues()[0].getDefiningOp();
  if (!yielded || yielded->getBlock() != loop.getBody())
    return std::nullopt;
  if (auto claim = dyn_cast<ClaimOp>(yielded)) {
    result.claim = claim;
    return claim.getTile() == loop.getRegionIterArg(0) ? std::optional(result)
                                                       : std::nullopt;
  }
  // The greater of the next number and this one: numbers rise.
  if (auto max = dyn_cast<arith::MaxUIOp>(yielded))
    if (max.getRhs() == loop.getRegionIterArg(0) &&
        max.getLhs().getDefiningOp())
      yielded = max.getLhs().getDefiningOp();
  auto read = dyn_cast<MailboxReadOp>(yielded);
  if (!read || read->getBlock() != loop.getBody())
    return std::nullopt;
  for (Operation *op = read; op && !result.waited; op = op->getPrevNode())
    result.waited = dyn_cast<BarrierWaitOp>(op);
  if (!result.waited || result.waited.getIndex() != read.getIndex())
    return std::nullopt;
  result.read = read;
  return result;
}

/// Whether all of `loops` get the numbers that the first one claims.
static bool isOneExchange(warp::SpecializeOp specialize,
                          ArrayRef<TileLoop> loops) {
  const TileLoop &claimer = loops.front();
  MailboxPostOp post;
  BarrierArriveOp arrival;
  for (const TileLoop &loop : loops.drop_front()) {
    if (loop.claim)
      return false;
    MailboxReadOp read = loop.read;
    if (post && read.getMailbox() != post.getMailbox())
      return false;
    if (post)
      continue;
    for (Operation *user : read.getMailbox().getUsers())
      if (auto other = dyn_cast<MailboxPostOp>(user)) {
        if (post)
          return false;
        post = other;
      }
    scf::ForOp ofClaimer = claimer.op;
    ClaimOp claim = claimer.claim;
    if (!post || post->getBlock() != ofClaimer.getBody() ||
        post.getValue() != claim.getNext())
      return false;
    for (Operation *op = post; op && !arrival; op = op->getNextNode())
      arrival = dyn_cast<BarrierArriveOp>(op);
    if (!arrival || arrival.getIndex() != post.getIndex())
      return false;
  }
  if (!post)
    return true;
  // Nobody else arrives at, or waits for, what tells of a number.
  WalkResult result = specialize.walk([&](Operation *op) {
    bool isOther = false;
    if (auto other = dyn_cast<BarrierArriveOp>(op))
      isOther = other.getBarrier() == arrival.getBarrier() && other != arrival;
    else if (auto other = dyn_cast<BarrierExpectTxOp>(op))
      isOther = other.getBarrier() == arrival.getBarrier();
    else if (auto other = dyn_cast<BarrierWaitOp>(op))
      isOther = other.getBarrier() == arrival.getBarrier() &&
                llvm::none_of(loops, [&](const TileLoop &loop) {
                  return loop.waited == other;
                });
    return isOther ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !result.wasInterrupted() &&
         llvm::all_of(loops.drop_front(), [&](TileLoop loop) {
           return loop.waited.getBarrier() == arrival.getBarrier();
         });
}

void ProtocolModel::readShares() {
  SmallVector<TileLoop> loops;
  bool isUnderstood = true;
  specialize.walk([&](scf::ForOp loop) {
    if (!loop.getUpperBound().getDefiningOp<ShareOp>())
      return;
    std::optional<TileLoop> match = matchLoop(loop);
    isUnderstood &= match.has_value();
    if (!match)
      return;
    // The group that claims comes first.
    loops.insert(match->claim ? loops.begin() : loops.end(), *match);
  });
  if (!isUnderstood || loops.empty() || !loops.front().claim ||
      !isOneExchange(specialize, loops))
    return;
  for (TileLoop &loop : loops)
    agreedTiles.push_back(loop.op.getRegionIterArg(0));
}
