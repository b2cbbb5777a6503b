//===- RingProtocol.cpp - who fills and who drains a ring -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/Analysis/RingProtocol.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

static void addCursor(warp::CursorOp cursor, RingProtocol &ring) {
  auto group = cursor->getParentOfType<warp::GroupOp>();
  int64_t replicas = group ? group.getReplicas() : 1;
  bool writes = cursor.getSide() == warp::Side::write;
  (writes ? ring.writers : ring.readers) += replicas;
  ring.hasLeader |= cursor.getLeader();
}

static void addRead(Operation *access, RingProtocol &ring) {
  llvm::TypeSwitch<Operation *>(access)
      .Case<DotAsyncOp, DotOp>([&](auto) { ring.hasProducts = true; })
      .Case<ReadOp, ReceiveOp>([&](auto) { ring.hasReads = true; })
      .Case<StoreAsyncOp>([&](auto) { ring.hasStores = true; })
      .Case<WriteOp>([&](auto) { ring.hasRewrites = true; });
}

/// What fills a ring whose slots `copies` and `writes` fill, and `others`.
static RingProtocol::Fill getFill(int64_t copies, int64_t writes,
                                  int64_t others) {
  if (others || (copies && writes))
    return RingProtocol::Fill::mixed;
  return writes ? RingProtocol::Fill::writes : RingProtocol::Fill::copies;
}

RingProtocols::RingProtocols(Operation *root) {
  struct Fills {
    int64_t copies = 0, writes = 0, others = 0;
  };
  DenseMap<Value, Fills> fills;
  root->walk([&](warp::RingOp op) {
    RingProtocol &ring = protocols[op.getRing()];
    warp::RingType type = op.getRing().getType();
    ring.isPrivate = op->getParentOfType<warp::GroupOp>() != nullptr;
    ring.startsFull = type.getInitial() != 0;
    for (Operation *user : op->getUsers())
      if (auto cursor = dyn_cast<warp::CursorOp>(user))
        addCursor(cursor, ring);
  });
  root->walk([&](ViewOp view) {
    auto acquire = view.getSlot().getDefiningOp<warp::AcquireOp>();
    if (!acquire)
      return;
    auto ring = protocols.find(acquire.getRing());
    if (ring == protocols.end())
      return;
    for (Operation *access : view->getUsers()) {
      if (acquire.getSide() == warp::Side::read) {
        addRead(access, ring->second);
        continue;
      }
      // A number goes with copies.
      if (isa<PostOp>(access))
        continue;
      Fills &of = fills[acquire.getRing()];
      ++(isa<LoadAsyncOp>(access) ? of.copies
         : isa<WriteOp>(access)   ? of.writes
                                  : of.others);
    }
  });
  for (auto &[value, ring] : protocols) {
    ArrayRef<Type> payload = cast<warp::RingType>(value.getType()).getPayload();
    Fills of = fills.lookup(value);
    ring.fill = llvm::all_of(payload, llvm::IsaPred<warp::TokenType>)
                    ? RingProtocol::Fill::tokens
                    : getFill(of.copies, of.writes, of.others);
  }
}

llvm::raw_ostream &fa3::tile::operator<<(llvm::raw_ostream &os,
                                         const RingProtocol &ring) {
  if (ring.isPrivate)
    os << "private, ";
  switch (ring.fill) {
  case RingProtocol::Fill::tokens:
    os << "filled by arrivals";
    break;
  case RingProtocol::Fill::copies:
    os << "filled by copies";
    break;
  case RingProtocol::Fill::writes:
    os << "filled by threads";
    break;
  case RingProtocol::Fill::mixed:
    os << "filled by copies and threads";
    break;
  }
  if (ring.hasLeader)
    os << " of replica 0";
  if (!ring.isPrivate)
    os << ": " << ring.getFullArrivals()
       << (ring.isFilledByThreads() ? "" : " and their bytes");
  os << "; drained by ";
  llvm::ListSeparator comma(" and ");
  if (ring.hasProducts)
    os << comma << "products";
  if (ring.hasReads)
    os << comma << "threads";
  if (ring.hasStores)
    os << comma << "stores";
  if (!ring.hasProducts && !ring.hasReads && !ring.hasStores)
    os << "arrivals";
  if (!ring.isPrivate)
    os << ": " << ring.getEmptyArrivals();
  if (ring.hasRewrites)
    os << "; written over by readers";
  if (ring.startsFull)
    os << "; starts full";
  return os;
}

bool fa3::tile::isReadByThreads(warp::ReleaseOp release) {
  bool isRead = false;
  for (Operation *view : release.getSlot().getUsers())
    for (Operation *access : view->getUsers()) {
      if (!isa<ReadOp, ReceiveOp>(access))
        return false;
      isRead = true;
    }
  return isRead && release.getAfter().empty();
}
