//===- TileFaults.cpp - faults in the use of rings ------------------------===//

#include "fa3/Dialect/Flow/IR/Flow.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Mutate/Mutate.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::mutate;

namespace {

template <typename OpType, typename Match, typename Function>
void forEachMatch(ModuleOp module, Places &places, Match match,
                  Function apply) {
  module.walk([&](OpType op) {
    if (match(op))
      places.push_back({op, [op, apply] { apply(op); }});
  });
}
template <typename OpType, typename Function>
void forEach(ModuleOp module, Places &places, Function apply) {
  forEachMatch<OpType>(module, places, [](OpType) { return true; }, apply);
}

void collectDropRelease(ModuleOp module, Places &places) {
  forEach<flow::ReleaseOp>(module, places,
                           [](flow::ReleaseOp op) { op.erase(); });
}
void collectDropPublish(ModuleOp module, Places &places) {
  forEach<flow::PublishOp>(module, places,
                           [](flow::PublishOp op) { op.erase(); });
}

template <typename OpType>
void collectDuplicate(ModuleOp module, Places &places) {
  forEach<OpType>(module, places, [](OpType op) {
    OpBuilder builder(op);
    builder.clone(*op);
  });
}

void collectUnawaited(ModuleOp module, Places &places) {
  forEachMatch<flow::ReleaseOp>(
      module, places, [](flow::ReleaseOp op) { return !op.getAfter().empty(); },
      [](flow::ReleaseOp op) { op.getAfterMutable().clear(); });
}

/// The operation that a release or publish follows: the acquire of its slot,
/// where that is in the same block and something comes between.
template <typename OpType>
Operation *findAcquire(OpType op) {
  Operation *acquire = op.getSlot().getDefiningOp();
  bool fits = acquire && acquire->getBlock() == op->getBlock() &&
              acquire->getNextNode() != op.getOperation();
  return fits ? acquire : nullptr;
}

void collectEarlyRelease(ModuleOp module, Places &places) {
  forEachMatch<flow::ReleaseOp>(module, places, findAcquire<flow::ReleaseOp>,
                                [](flow::ReleaseOp op) {
                                  op.getAfterMutable().clear();
                                  op->moveAfter(findAcquire(op));
                                });
}
void collectEarlyPublish(ModuleOp module, Places &places) {
  forEachMatch<flow::PublishOp>(
      module, places, findAcquire<flow::PublishOp>,
      [](flow::PublishOp op) { op->moveAfter(findAcquire(op)); });
}

template <int64_t difference>
void collectDepth(ModuleOp module, Places &places) {
  forEachMatch<flow::RingOp>(
      module, places,
      [](flow::RingOp op) {
        return op.getRing().getType().getDepth() + difference > 0;
      },
      [](flow::RingOp op) {
        flow::RingType type = op.getRing().getType();
        op.getRing().setType(type.withDepth(type.getDepth() + difference));
      });
}

void collectSkipEntry(ModuleOp module, Places &places) {
  forEach<flow::AcquireOp>(module, places, [](flow::AcquireOp op) {
    OpBuilder builder(op);
    auto extra = cast<flow::AcquireOp>(builder.clone(*op));
    if (op.getSide() == flow::Side::read)
      flow::ReleaseOp::create(builder, op.getLoc(), extra.getSlot(),
                              ValueRange());
    else
      flow::PublishOp::create(builder, op.getLoc(), extra.getSlot());
    op.getCursorMutable().assign(extra.getNext());
  });
}

/// The position stays where it was: the next acquire takes the entry again.
void collectStuckCursor(ModuleOp module, Places &places) {
  forEachMatch<flow::AcquireOp>(
      module, places,
      [](flow::AcquireOp op) { return !op.getNext().use_empty(); },
      [](flow::AcquireOp op) {
        op.getNext().replaceAllUsesWith(op.getCursor());
      });
}

flow::RingType withInitial(flow::RingType type, int64_t initial) {
  return flow::RingType::get(type.getContext(), type.getDepth(),
                             type.getPayload(), type.getParts(), initial,
                             type.getScope());
}

/// Nobody has the first turn, or replicas do not take one.
void collectDropTurn(ModuleOp module, Places &places) {
  forEach<flow::TakeOp>(module, places, [](flow::TakeOp op) {
    for (Operation *pass : llvm::make_early_inc_range(op.getTurn().getUsers()))
      pass->erase();
    op.erase();
  });
  forEachMatch<flow::RingOp>(
      module, places,
      [](flow::RingOp op) { return op.getRing().getType().getInitial() > 0; },
      [](flow::RingOp op) {
        op.getRing().setType(withInitial(op.getRing().getType(), 0));
      });
}

/// Replicas take one turn more.
void collectExtraTurn(ModuleOp module, Places &places) {
  forEach<flow::TakeOp>(module, places, [](flow::TakeOp op) {
    OpBuilder builder(op);
    auto extra = cast<flow::TakeOp>(builder.clone(*op));
    flow::PassOp::create(builder, op.getLoc(), extra.getTurn());
  });
}

/// The last entry that is acquired before a turn is taken is acquired in it.
flow::AcquireOp findAcquireBefore(flow::TakeOp take) {
  for (Operation *op = take->getPrevNode(); op; op = op->getPrevNode())
    if (auto acquire = dyn_cast<flow::AcquireOp>(op))
      return acquire;
  return {};
}
void collectEarlyTurn(ModuleOp module, Places &places) {
  forEachMatch<flow::TakeOp>(
      module, places, findAcquireBefore,
      [](flow::TakeOp op) { op->moveBefore(findAcquireBefore(op)); });
}

/// A turn is passed on before it is taken.
void collectSwapTurns(ModuleOp module, Places &places) {
  auto findPass = [](flow::AcquireOp take) -> flow::AcquireOp {
    auto isToken = [](flow::AcquireOp op) {
      return llvm::all_of(op.getRing().getType().getPayload(),
                          llvm::IsaPred<flow::TokenType>);
    };
    if (take.getSide() == flow::Side::read && isToken(take))
      for (auto op : take->getBlock()->getOps<flow::AcquireOp>())
        if (op.getSide() == flow::Side::write && isToken(op) &&
            take->isBeforeInBlock(op))
          return op;
    return {};
  };
  forEachMatch<flow::AcquireOp>(
      module, places, findPass, [findPass](flow::AcquireOp take) {
        flow::AcquireOp pass = findPass(take);
        Operation *publish = nullptr;
        for (Operation *user : pass.getSlot().getUsers())
          publish = user;
        pass->moveBefore(take);
        if (publish)
          publish->moveBefore(take);
      });
}

void collectDropLoad(ModuleOp module, Places &places) {
  forEach<tile::LoadAsyncOp>(module, places,
                             [](tile::LoadAsyncOp op) { op.erase(); });
}

} // namespace

ArrayRef<FaultKind> mutate::getTileFaults() {
  static const FaultKind kinds[] = {
      {"drop-release", "an entry is not handed back", collectDropRelease},
      {"duplicate-release", "an entry is handed back twice",
       collectDuplicate<flow::ReleaseOp>},
      {"early-release", "an entry is handed back as soon as it is acquired",
       collectEarlyRelease},
      {"unawaited-release", "an entry is handed back without awaiting products",
       collectUnawaited},
      {"drop-publish", "an entry is not handed to the readers",
       collectDropPublish},
      {"duplicate-publish", "an entry is handed to the readers twice",
       collectDuplicate<flow::PublishOp>},
      {"early-publish", "an entry is handed to the readers before it is filled",
       collectEarlyPublish},
      {"shallower-ring", "a ring with one entry less", collectDepth<-1>},
      {"deeper-ring", "a ring with one entry more", collectDepth<1>},
      {"skip-entry", "a group passes over an entry", collectSkipEntry},
      {"stuck-cursor", "a group does not move on to the next entry",
       collectStuckCursor},
      {"drop-turn", "nobody has the first turn, or one is not taken",
       collectDropTurn},
      {"extra-turn", "replicas take a turn twice", collectExtraTurn},
      {"early-turn", "a turn is taken before an entry is there",
       collectEarlyTurn},
      {"swap-turns", "a turn is passed on before it is taken",
       collectSwapTurns},
      {"drop-load", "a copy is missing", collectDropLoad},
  };
  return kinds;
}
