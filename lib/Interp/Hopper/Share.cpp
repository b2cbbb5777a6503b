//===- Share.cpp - tiles that CTAs share out ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which CTA gets which tile is up to the machine. Here they are dealt out in
// turn: CTA c of n gets c, c + n, c + 2n, ...
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "fa3/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

namespace {

LogicalResult runShare(Context &c, const Instr &in) {
  int64_t left = std::max<int64_t>(0, c.integer(in.in[0]) - c.cta->block);
  c.cells[in.out[0]].i = llvm::divideCeil(left, c.cta->blocks);
  return success();
}

LogicalResult runTileClaim(Context &c, const Instr &in) {
  int64_t tile = c.cta->block + c.integer(in.in[0]) * c.cta->blocks;
  int64_t tiles = c.integer(in.in[1]);
  if (tile >= tiles)
    return c.error(in) << "'tile.claim' of tile " << tile << " of " << tiles;
  c.cells[in.out[0]].i = tile;
  return success();
}

LogicalResult runClaim(Context &c, const Instr &in) {
  c.cells[in.out[0]].i = c.integer(in.in[1]) + c.cta->blocks;
  return success();
}

/// Claims have no memory here.
LogicalResult runCounter(Context &c, const Instr &in) {
  c.cells[in.out[0]].i = 0;
  return success();
}

//===----------------------------------------------------------------------===//
// Mailboxes
//===----------------------------------------------------------------------===//

LogicalResult runAllocMailbox(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  auto op = cast<hopper::MailboxAllocOp>(in.op);
  c.cells[in.out[0]].i = machine->getAddress(c, in.op, op.getReplicaBytes(),
                                             op.kAlignment, op.getOffset());
  return success();
}

/// The bytes of a slot, noted as an access.
FailureOr<ByteRange> getSlot(Context &c, const Instr &in,
                             hopper::MailboxType type, CellId mailbox,
                             CellId number, Event::Kind kind) {
  int64_t index = c.integer(number);
  if (index < 0 || index >= type.getSlots())
    return c.error(in) << "'" << in.op->getName() << "' of slot " << index
                       << " of a mailbox of " << type.getSlots();
  constexpr int64_t kBytes = hopper::MailboxAllocOp::kSlotBytes;
  int64_t address = c.integer(mailbox) + index * kBytes;
  ByteRange range{address, address + kBytes};
  if (Event *event = record(c, kind, in.op))
    event->ranges.push_back(range);
  return range;
}

LogicalResult runPost(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  auto op = cast<hopper::MailboxPostOp>(in.op);
  FailureOr<ByteRange> slot = getSlot(c, in, op.getMailbox().getType(),
                                      in.in[1], in.in[2], Event::Write);
  if (failed(slot) ||
      failed(machine->checkWrite(c, in.op, *slot, /*byElected=*/true)))
    return failure();
  auto value = static_cast<int32_t>(c.integer(in.in[0]));
  std::memcpy(machine->getMemory().at(slot->begin), &value, sizeof(value));
  machine->getMemory().mark(*slot, SharedMemory::Ready);
  return success();
}

LogicalResult runReadMailbox(Context &c, const Instr &in) {
  Machine *machine = getMachine(c, in.op);
  if (!machine)
    return failure();
  auto op = cast<hopper::MailboxReadOp>(in.op);
  FailureOr<ByteRange> slot = getSlot(c, in, op.getMailbox().getType(),
                                      in.in[0], in.in[1], Event::Read);
  if (failed(slot) ||
      failed(machine->checkRead(c, in.op, *slot, /*async=*/false)))
    return failure();
  int32_t value;
  std::memcpy(&value, machine->getMemory().at(slot->begin), sizeof(value));
  c.cells[in.out[0]].i = value;
  return success();
}

} // namespace

void fa3::interp::populateShare(Registry &r) {
  r.addPlain<tile::ShareOp>(runShare);
  r.addPlain<tile::ClaimOp>(runTileClaim);
  r.addPlain<hopper::ShareOp>(runShare);
  r.addPlain<hopper::ClaimOp>(runClaim);
  r.addPlain<hopper::CounterOp>(runCounter);
  r.addPlain<hopper::MailboxAllocOp>(runAllocMailbox);
  r.addPlain<hopper::MailboxPostOp>(runPost);
  r.addPlain<hopper::MailboxReadOp>(runReadMailbox);
}
