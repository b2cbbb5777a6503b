//===- TileMutants.cpp - mutants of the use of rings ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/IR/OrderedOps.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Tile/IR/TileExactOps.h"
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "fa3/Tools/Mutate/Mutate.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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
  forEach<warp::ReleaseOp>(module, places,
                           [](warp::ReleaseOp op) { op.erase(); });
}
void collectDropPublish(ModuleOp module, Places &places) {
  forEach<warp::PublishOp>(module, places,
                           [](warp::PublishOp op) { op.erase(); });
}

template <typename OpType>
void collectDuplicate(ModuleOp module, Places &places) {
  forEach<OpType>(module, places, [](OpType op) {
    OpBuilder builder(op);
    builder.clone(*op);
  });
}

void collectUnawaited(ModuleOp module, Places &places) {
  forEachMatch<warp::ReleaseOp>(
      module, places, [](warp::ReleaseOp op) { return !op.getAfter().empty(); },
      [](warp::ReleaseOp op) { op.getAfterMutable().clear(); });
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
  forEachMatch<warp::ReleaseOp>(module, places, findAcquire<warp::ReleaseOp>,
                                [](warp::ReleaseOp op) {
                                  op.getAfterMutable().clear();
                                  op->moveAfter(findAcquire(op));
                                });
}
void collectEarlyPublish(ModuleOp module, Places &places) {
  forEachMatch<warp::PublishOp>(
      module, places, findAcquire<warp::PublishOp>,
      [](warp::PublishOp op) { op->moveAfter(findAcquire(op)); });
}

template <int64_t difference>
void collectDepth(ModuleOp module, Places &places) {
  forEachMatch<warp::RingOp>(
      module, places,
      [](warp::RingOp op) {
        return op.getRing().getType().getDepth() + difference > 0;
      },
      [](warp::RingOp op) {
        warp::RingType type = op.getRing().getType();
        op.getRing().setType(type.withDepth(type.getDepth() + difference));
      });
}

void collectSkipEntry(ModuleOp module, Places &places) {
  forEach<warp::AcquireOp>(module, places, [](warp::AcquireOp op) {
    OpBuilder builder(op);
    auto extra = cast<warp::AcquireOp>(builder.clone(*op));
    if (op.getSide() == warp::Side::read)
      warp::ReleaseOp::create(builder, op.getLoc(), extra.getSlot(),
                              ValueRange());
    else
      warp::PublishOp::create(builder, op.getLoc(), extra.getSlot());
    op.getCursorMutable().assign(extra.getNext());
  });
}

/// The position stays where it was: the next acquire takes the entry again.
void collectStuckCursor(ModuleOp module, Places &places) {
  forEachMatch<warp::AcquireOp>(
      module, places,
      [](warp::AcquireOp op) { return !op.getNext().use_empty(); },
      [](warp::AcquireOp op) {
        op.getNext().replaceAllUsesWith(op.getCursor());
      });
}

warp::RingType withInitial(warp::RingType type, int64_t initial) {
  return warp::RingType::get(type.getContext(), type.getDepth(),
                             type.getPayload(), type.getParts(), initial,
                             type.getScope());
}

/// Nobody has the first turn, or replicas do not take one.
void collectDropTurn(ModuleOp module, Places &places) {
  forEach<warp::TakeTurnOp>(module, places, [](warp::TakeTurnOp op) {
    for (Operation *pass : llvm::make_early_inc_range(op.getTurn().getUsers()))
      pass->erase();
    op.erase();
  });
  forEachMatch<warp::RingOp>(
      module, places,
      [](warp::RingOp op) { return op.getRing().getType().getInitial() > 0; },
      [](warp::RingOp op) {
        op.getRing().setType(withInitial(op.getRing().getType(), 0));
      });
}

/// Replicas take one turn more.
void collectExtraTurn(ModuleOp module, Places &places) {
  forEach<warp::TakeTurnOp>(module, places, [](warp::TakeTurnOp op) {
    OpBuilder builder(op);
    auto extra = cast<warp::TakeTurnOp>(builder.clone(*op));
    warp::PassTurnOp::create(builder, op.getLoc(), extra.getTurn());
  });
}

/// The last entry that is acquired before a turn is taken is acquired in it.
warp::AcquireOp findAcquireBefore(warp::TakeTurnOp take) {
  for (Operation *op = take->getPrevNode(); op; op = op->getPrevNode())
    if (auto acquire = dyn_cast<warp::AcquireOp>(op))
      return acquire;
  return {};
}
void collectEarlyTurn(ModuleOp module, Places &places) {
  forEachMatch<warp::TakeTurnOp>(
      module, places, findAcquireBefore,
      [](warp::TakeTurnOp op) { op->moveBefore(findAcquireBefore(op)); });
}

/// A turn is passed on before it is taken.
void collectSwapTurns(ModuleOp module, Places &places) {
  auto findPass = [](warp::AcquireOp take) -> warp::AcquireOp {
    auto isToken = [](warp::AcquireOp op) {
      return llvm::all_of(op.getRing().getType().getPayload(),
                          llvm::IsaPred<warp::TokenType>);
    };
    if (take.getSide() == warp::Side::read && isToken(take))
      for (auto op : take->getBlock()->getOps<warp::AcquireOp>())
        if (op.getSide() == warp::Side::write && isToken(op) &&
            take->isBeforeInBlock(op))
          return op;
    return {};
  };
  forEachMatch<warp::AcquireOp>(
      module, places, findPass, [findPass](warp::AcquireOp take) {
        warp::AcquireOp pass = findPass(take);
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

/// All replicas write one part.
void collectSamePart(ModuleOp module, Places &places) {
  forEachMatch<warp::CursorOp>(
      module, places, [](warp::CursorOp op) { return op.getEach(); },
      [](warp::CursorOp op) { op.setEach(false); });
}

/// What another tile has added is overwritten.
void collectDropAdd(ModuleOp module, Places &places) {
  forEachMatch<tile::StoreAsyncOp>(
      module, places, [](tile::StoreAsyncOp op) { return op.getAdd(); },
      [](tile::StoreAsyncOp op) { op.setAdd(false); });
  forEachMatch<tile::StoreOp>(
      module, places, [](tile::StoreOp op) { return op.getAdd(); },
      [](tile::StoreOp op) { op.setAdd(false); });
}

/// Tiles do not say that they have made their last addition.
void collectDropEndOrdered(ModuleOp module, Places &places) {
  forEach<tile::EndOrderedOp>(module, places,
                              [](tile::EndOrderedOp op) { op.erase(); });
}

/// All tiles of a line are the first one.
void collectFirstOfLine(ModuleOp module, Places &places) {
  forEach<tile::OrderedOp>(module, places, [](tile::OrderedOp op) {
    OpBuilder builder(op);
    op.getNumberMutable()[op.getNumber().size() - 1].set(
        arith::ConstantIndexOp::create(builder, op.getLoc(), 0));
  });
}

/// Terms are added to the next sum of a row of sums.
void collectNextSum(ModuleOp module, Places &places) {
  forEach<tile::AddExactOp>(module, places, [](tile::AddExactOp op) {
    OpBuilder builder(op);
    OpOperand &index = op.getIndicesMutable()[op.getIndices().size() - 1];
    Type type = index.get().getType();
    Attribute one = builder.getIndexAttr(1);
    if (auto tile = dyn_cast<RankedTensorType>(type))
      one = DenseElementsAttr::get(tile, one);
    Value step =
        arith::ConstantOp::create(builder, op.getLoc(), cast<TypedAttr>(one));
    index.set(arith::AddIOp::create(builder, op.getLoc(), index.get(), step));
  });
}

/// Terms of other sums are taken for those of a diagonal's.
void collectFalseDiagonal(ModuleOp module, Places &places) {
  forEachMatch<tile::AddExactOp>(
      module, places, [](tile::AddExactOp op) { return !op.getDiagonal(); },
      [](tile::AddExactOp op) { op.setDiagonal(true); });
}

/// A replica reads what is not its part of a product, or writes it elsewhere:
/// all take the window of replica 0.
void collectSameWindow(ModuleOp module, Places &places) {
  auto isShared = [](tile::ViewOp op) {
    auto group = op->getParentOfType<warp::GroupOp>();
    return group && group.getReplicas() > 1 &&
           llvm::any_of(op->getUsers(), llvm::IsaPred<tile::WriteOp>) &&
           llvm::any_of(op.getOffsets(), [](Value offset) {
             return !isa_and_nonnull<arith::ConstantOp>(offset.getDefiningOp());
           });
  };
  forEachMatch<tile::ViewOp>(module, places, isShared, [](tile::ViewOp op) {
    OpBuilder builder(op);
    Value zero = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
    for (OpOperand &offset : op.getOffsetsMutable())
      offset.set(zero);
  });
}

/// Whether places of pieces differ.
bool hasPieces(tile::LoadAsyncOp op) { return op.getPieces().value_or(1) > 1; }

/// Every piece is where the next one should be.
void collectNextPiece(ModuleOp module, Places &places) {
  forEachMatch<tile::LoadAsyncOp>(
      module, places, hasPieces, [](tile::LoadAsyncOp op) {
        Value number = op.getPlaces().front().getArgument(0);
        OpBuilder builder(op);
        builder.setInsertionPointToStart(&op.getPlaces().front().front());
        Value one = arith::ConstantIndexOp::create(builder, op.getLoc(), 1);
        auto next = arith::AddIOp::create(builder, op.getLoc(), number, one);
        number.replaceAllUsesExcept(next, next);
      });
}

/// One piece, of all rows, instead of several.
void collectOnePiece(ModuleOp module, Places &places) {
  forEachMatch<tile::LoadAsyncOp>(
      module, places, hasPieces, [](tile::LoadAsyncOp op) { op.setPieces(1); });
}

/// Rows behind the end are written as well.
void collectDropEnd(ModuleOp module, Places &places) {
  forEachMatch<tile::StoreOp>(
      module, places, [](tile::StoreOp op) { return bool(op.getBelow()); },
      [](tile::StoreOp op) { op.getBelowMutable().clear(); });
}

/// The row behind the end is written as well.
void collectLaterEnd(ModuleOp module, Places &places) {
  forEachMatch<tile::StoreOp>(
      module, places, [](tile::StoreOp op) { return bool(op.getBelow()); },
      [](tile::StoreOp op) {
        OpBuilder builder(op);
        Value one = arith::ConstantIndexOp::create(builder, op.getLoc(), 1);
        op.getBelowMutable().assign(
            arith::AddIOp::create(builder, op.getLoc(), op.getBelow(), one));
      });
}

bool hasLimit(tile::LoadAsyncOp op) { return bool(op.getLimit()); }

/// What is behind the end of a sequence is copied as well.
void collectDropLimit(ModuleOp module, Places &places) {
  forEachMatch<tile::LoadAsyncOp>(
      module, places, hasLimit,
      [](tile::LoadAsyncOp op) { op.getLimitMutable().clear(); });
}

/// A row behind the end of a sequence is copied as well, or the last one is
/// not.
template <int64_t difference>
void collectLimit(ModuleOp module, Places &places) {
  forEachMatch<tile::LoadAsyncOp>(
      module, places, hasLimit, [](tile::LoadAsyncOp op) {
        OpBuilder builder(op);
        Value more =
            arith::ConstantIndexOp::create(builder, op.getLoc(), difference);
        op.getLimitMutable().assign(
            arith::AddIOp::create(builder, op.getLoc(), op.getLimit(), more));
      });
}

/// Whether a group reads an array that a launch in front of this one writes, of
/// which other groups read the same element.
bool readsList(tile::ScalarLoadOp op) {
  auto groups = op->getParentOfType<warp::SpecializeOp>();
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  auto array = dyn_cast<BlockArgument>(op.getSource());
  if (!groups || llvm::hasSingleElement(groups.getOps<warp::GroupOp>()) ||
      !array || array.getOwner() != &kernel.getBody().front())
    return false;
  WalkResult result =
      kernel->getParentOfType<ModuleOp>().walk([&](tile::LaunchOp launch) {
        bool isOurs =
            launch.getKernelAttr().getLeafReference() == kernel.getNameAttr();
        Value memory =
            isOurs ? launch.getKernelArgs()[array.getArgNumber()] : Value();
        return WalkResult(
            failure(memory && memory.getDefiningOp<memref::AllocOp>()));
      });
  return result.wasInterrupted();
}

/// A group finds one more element, as if the line were one step further up.
void collectNextFound(ModuleOp module, Places &places) {
  forEachMatch<tile::SearchOp>(
      module, places,
      [](tile::SearchOp op) {
        auto groups = op->getParentOfType<warp::SpecializeOp>();
        return groups &&
               !llvm::hasSingleElement(groups.getOps<warp::GroupOp>());
      },
      [](tile::SearchOp op) {
        OpBuilder builder(op);
        op.getLimitMutable().assign(arith::AddIOp::create(
            builder, op.getLoc(), op.getLimit(), op.getStep()));
      });
}

/// A group works on the next entry of a list.
void collectNextEntry(ModuleOp module, Places &places) {
  forEachMatch<tile::ScalarLoadOp>(
      module, places, readsList, [](tile::ScalarLoadOp op) {
        OpBuilder builder(op);
        Value one = arith::ConstantIndexOp::create(builder, op.getLoc(), 1);
        OpOperand &entry = op.getIndicesMutable()[0];
        entry.set(
            arith::AddIOp::create(builder, op.getLoc(), entry.get(), one));
      });
}

/// A group takes the place in a list for what stands there.
void collectNoEntry(ModuleOp module, Places &places) {
  forEachMatch<tile::ScalarLoadOp>(
      module, places, readsList, [](tile::ScalarLoadOp op) {
        OpBuilder builder(op);
        Value place = arith::IndexCastOp::create(
            builder, op.getLoc(), op.getType(), op.getIndices()[0]);
        op.getResult().replaceAllUsesWith(place);
      });
}

} // namespace

ArrayRef<MutantKind> mutate::getTileMutants() {
  static const MutantKind kinds[] = {
      {"drop-release", "an entry is not handed back", collectDropRelease},
      {"duplicate-release", "an entry is handed back twice",
       collectDuplicate<warp::ReleaseOp>},
      {"early-release", "an entry is handed back as soon as it is acquired",
       collectEarlyRelease},
      {"unawaited-release", "an entry is handed back without awaiting products",
       collectUnawaited},
      {"drop-publish", "an entry is not handed to the readers",
       collectDropPublish},
      {"duplicate-publish", "an entry is handed to the readers twice",
       collectDuplicate<warp::PublishOp>},
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
      {"same-part", "replicas write one part of an entry", collectSamePart},
      {"same-window", "replicas write one window of an entry",
       collectSameWindow},
      {"drop-add", "what others have added is overwritten", collectDropAdd},
      {"drop-end-ordered", "the end of ordered additions is not told",
       collectDropEndOrdered},
      {"first-of-line", "all tiles of a line are the first one",
       collectFirstOfLine},
      {"next-sum", "terms are added to the next sum", collectNextSum},
      {"false-diagonal", "elements of other sums are taken for a diagonal",
       collectFalseDiagonal},
      {"drop-end", "rows behind the end of a sequence are written",
       collectDropEnd},
      {"later-end", "a row behind the end of a sequence is written",
       collectLaterEnd},
      {"drop-limit", "rows behind the end of a sequence are copied",
       collectDropLimit},
      {"later-limit", "a row behind the end of a sequence is copied",
       collectLimit<1>},
      {"earlier-limit", "the last row of a sequence is not copied",
       collectLimit<-1>},
      {"next-piece", "pieces are looked for where the next ones are",
       collectNextPiece},
      {"one-piece", "what are pieces is taken for one", collectOnePiece},
      {"next-entry", "a group works on the next entry of a list",
       collectNextEntry},
      {"next-found", "a search of a group finds one more element",
       collectNextFound},
      {"no-entry", "a group takes the place in a list for its entry",
       collectNoEntry},
  };
  return kinds;
}
