//===- ShareLowering.cpp - tiles that CTAs share out ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One warp claims the next tile from a counter in global memory and posts it in
// shared memory for the other groups: a ring of two numbers, with an mbarrier
// that tells readers that a slot is full and one that tells the claimer that
// all of them have read it. All groups get the same tiles in the same order.
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa3;

/// A power of two.
static constexpr int64_t kSlots = 2;

static bool sharesTiles(warp::GroupOp group) {
  WalkResult result = group.walk([](scf::ForOp loop) {
    return loop.getUpperBound().getDefiningOp<tile::ShareOp>()
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

LogicalResult KernelLowering::prepareShares(warp::SpecializeOp op) {
  SmallVector<warp::GroupOp> groups;
  for (auto group : op.getBody().getOps<warp::GroupOp>())
    if (sharesTiles(group))
      groups.push_back(group);
  if (groups.empty())
    return success();
  if (mailbox.claimer)
    return op.emitOpError("has no lowering to hopper: a kernel shares out "
                          "tiles once");
  auto *claimer = llvm::find_if(groups, [](warp::GroupOp group) {
    return group.getWarps() == 1 && group.getReplicas() == 1;
  });
  if (claimer == groups.end())
    return groups.front().emitOpError("has no lowering to hopper: expects a "
                                      "group of one warp and one replica that "
                                      "claims tiles for all");
  mailbox.claimer = *claimer;
  int64_t readers = 0;
  for (warp::GroupOp group : groups)
    if (group != *claimer)
      readers += group.getReplicas();
  if (readers == 0)
    return success();
  auto barrier = [&](int64_t arrivals) -> Value {
    return hopper::BarrierAllocOp::create(
        b, hopper::BarrierType::get(b.getContext(), kSlots, arrivals),
        IntegerAttr());
  };
  mailbox.full = barrier(1);
  mailbox.empty = barrier(readers);
  mailbox.slots = hopper::MailboxAllocOp::create(
      b, hopper::MailboxType::get(b.getContext(), kSlots), IntegerAttr());
  return success();
}

/// Whether the body of a loop over tiles depends on the tile.
static bool usesTile(scf::ForOp loop) {
  return llvm::any_of(loop.getInductionVar().getUsers(), [](Operation *user) {
    return isa<tile::ClaimOp>(user) && !user->use_empty();
  });
}

LogicalResult KernelLowering::lowerShare(scf::ForOp loop, tile::ShareOp share) {
  auto group = loop->getParentOfType<warp::GroupOp>();
  if (!group || loop->getParentOp() != group)
    return loop.emitOpError(
        "has no lowering to hopper: a loop over the tiles "
        "of a CTA is expected to be outermost in its group");
  if (!isConstantIntValue(loop.getLowerBound(), 0) ||
      !isConstantIntValue(loop.getStep(), 1))
    return loop.emitOpError("has no lowering to hopper: a loop over the tiles "
                            "of a CTA is expected to start at 0, with step 1");
  for (Operation *user : loop.getInductionVar().getUsers())
    if (auto claim = dyn_cast<tile::ClaimOp>(user);
        !claim || claim.getNumber() != loop.getInductionVar())
      return user->emitOpError(
          "has no lowering to hopper: the number of a tile "
          "within its CTA is used by 'tile.claim' only");

  bool isClaimer = group == mailbox.claimer;
  Value tiles = get(share.getTiles());
  Value bounds[] = {i32(0), get(share.getResult()), i32(1)};
  Value first = asI32(gpu::BlockIdOp::create(b, gpu::Dimension::x));
  // The tile, and the number of the exchange modulo two laps of the slots.
  Value inits[] = {first, i32(0)};
  auto start = [&](ValueRange carried) {
    claimed[loop.getInductionVar()] = carried[0];
  };
  auto finish = [&](ValueRange carried) -> Values {
    Value tile = carried[0], exchange = carried[1];
    Value slot = arith::AndIOp::create(b, exchange, i32(kSlots - 1));
    Value parity =
        arith::ShRUIOp::create(b, exchange, i32(llvm::Log2_64(kSlots)));
    Value next;
    if (isClaimer) {
      // Its first lap waits for nobody.
      parity = arith::XOrIOp::create(b, parity, i32(1));
      next = hopper::ClaimOp::create(b, arguments.getCounter(), tile, tiles);
      if (mailbox.slots) {
        hopper::BarrierWaitOp::create(b, mailbox.empty, slot, parity);
        hopper::MailboxPostOp::create(b, next, mailbox.slots, slot);
        hopper::BarrierArriveOp::create(b, mailbox.full, slot);
      }
    } else {
      hopper::BarrierWaitOp::create(b, mailbox.full, slot, parity);
      next = hopper::MailboxReadOp::create(b, mailbox.slots, slot);
      // A group that does not care which tile it is still ends by its number:
      // a carried value that nothing but the next one needs would vanish.
      if (!usesTile(loop))
        next = arith::MaxUIOp::create(b, next, tile);
      // The elected thread arrives for all threads of its replica.
      if (group.getWarps() > 1)
        syncReplica(loop);
      hopper::BarrierArriveOp::create(b, mailbox.empty, slot);
    }
    Value nextExchange = arith::AddIOp::create(b, exchange, i32(1));
    nextExchange = arith::AndIOp::create(b, nextExchange, i32(2 * kSlots - 1));
    return {next, nextExchange};
  };
  return lowerLoop(loop, bounds, inits, start, finish);
}

LogicalResult KernelLowering::lowerClaim(tile::ClaimOp op) {
  auto it = claimed.find(op.getNumber());
  if (it == claimed.end())
    return op.emitOpError("has no lowering to hopper: expects the number of a "
                          "loop up to 'tile.share'");
  set(op.getResult(), it->second);
  return success();
}

LogicalResult KernelLowering::lowerCount(tile::ShareOp op) {
  set(op.getResult(),
      hopper::ShareOp::create(b, get(op.getTiles())).getResult());
  return success();
}

void KernelLowering::addShares(Lowerings &lowerings) {
  lowerings.add(&KernelLowering::lowerCount);
  lowerings.add(&KernelLowering::lowerClaim);
}
