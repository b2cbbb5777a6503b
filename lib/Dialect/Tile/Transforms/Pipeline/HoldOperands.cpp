//===- HoldOperands.cpp - tile-hold-operands ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A product reads its left operand from shared memory once for every use. What
// a loop does not change may be read once and stay in registers.
//===----------------------------------------------------------------------===//

#include "../Utils.h"
#include "RingSizes.h"
#include "fa3/Dialect/Tile/Analysis/RegisterEstimate.h"
#include "fa3/Dialect/Tile/Analysis/TileResources.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "fa3/Machine/RegisterModel.h"
#include "fa3/Support/ShortForm.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace fa3::tile {
#define GEN_PASS_DEF_HOLDOPERANDS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Bytes of a row that one instruction of a product takes: a step.
constexpr int64_t kStepBytes = kSm90a.productBytes;

//===----------------------------------------------------------------------===//
// Operands that a loop does not change
//===----------------------------------------------------------------------===//

/// Products by the window that is their left operand, in order.
using Products = llvm::MapVector<ViewOp, SmallVector<DotAsyncOp>>;

/// Windows that are left operands and that some loop around a product does not
/// change, with all products that read them.
static Products findInvariant(warp::GroupOp group) {
  Products products;
  llvm::SmallPtrSet<Operation *, 4> invariant;
  group.walk([&](DotAsyncOp dot) {
    auto view = dot.getLhs().getDefiningOp<ViewOp>();
    if (!view || dot.getLhsOrder() != LhsOrder::mk ||
        !dot.getRhs().getDefiningOp<ViewOp>())
      return;
    products[view].push_back(dot);
    auto loop = dot->getParentOfType<scf::ForOp>();
    if (loop && !loop->isAncestor(view))
      invariant.insert(view);
  });
  products.remove_if(
      [&](const auto &entry) { return !invariant.contains(entry.first); });
  return products;
}

static int64_t getStepColumns(RankedTensorType tile) {
  return kStepBytes * 8 / tile.getElementTypeBitWidth();
}

/// Registers that a step of the window takes on each thread of the group.
static int64_t getStepRegisters(ViewOp view, warp::GroupOp group) {
  constexpr int64_t kRegisterBytes = 4;
  const Chip &chip = getChip(group);
  int64_t rows = view.getView().getType().getTile().getDimSize(0);
  return llvm::divideCeil(rows * kStepBytes, group.getWarps() *
                                                 chip.threadsPerWarp *
                                                 kRegisterBytes);
}

/// Whether the group computes with tiles that its threads load or with numbers
/// that differ from column to column, which stay in registers from step to
/// step. The estimate takes them for something that is made anew.
static bool keepsElements(warp::GroupOp group) {
  WalkResult result = group.walk([](Operation *op) {
    auto broadcast = dyn_cast<BroadcastOp>(op);
    bool isOfColumns = broadcast && broadcast.getDim() == 0 &&
                       broadcast.getType().getElementType().isF32() &&
                       !matchPattern(broadcast.getSource(), m_Constant());
    return isOfColumns || isa<LoadOp>(op) ? WalkResult::interrupt()
                                          : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether threads of the group load tiles, element by element.
static bool loadsTiles(warp::GroupOp group) {
  return group
      .walk([](LoadOp op) {
        return WalkResult(failure(op.getType().getRank() == 2));
      })
      .wasInterrupted();
}

namespace {
/// Element code of a step: operations on numbers of a tile, and conditions.
struct ElementCode {
  int64_t operations = 0, conditions = 0;
  /// What more code keeps the estimate sees in part.
  bool isShort() const {
    constexpr int64_t kFewOperations = 4, kFewConditions = 2;
    return operations <= kFewOperations && conditions <= kFewConditions;
  }
  /// Registers of a second condition, which the estimate does not see.
  int64_t getUnseen() const {
    constexpr int64_t kSecondCondition = 16;
    return conditions > 1 ? kSecondCondition : 0;
  }
};
} // namespace

/// The longest of the group's loops.
static ElementCode findElementCode(warp::GroupOp group) {
  ElementCode longest;
  group.walk([&](scf::ForOp loop) {
    ElementCode code;
    for (Operation &op : *loop.getBody()) {
      auto type = op.getNumResults() == 1
                      ? dyn_cast<RankedTensorType>(op.getResult(0).getType())
                      : RankedTensorType();
      if (!type || type.getRank() != 2 || !isElementwise(&op))
        continue;
      code.conditions += isa<arith::CmpIOp>(op);
      code.operations += type.getElementType().isF32() &&
                         !isa<arith::SelectOp, arith::ConstantOp>(op);
    }
    longest.operations = std::max(longest.operations, code.operations);
    longest.conditions = std::max(longest.conditions, code.conditions);
  });
  return longest;
}

/// Columns of the widest tile that element code reads from shared memory, 0 if
/// there is none.
static int64_t getReadColumns(warp::GroupOp group) {
  int64_t columns = 0;
  group.walk([&](ReadOp read) {
    RankedTensorType tile = read.getResult().getType();
    if (tile.getRank() == 2)
      columns = std::max(columns, tile.getDimSize(1));
  });
  return columns;
}

/// How many steps of a window are worth holding in `spare` registers.
static int64_t chooseSteps(ArrayRef<DotAsyncOp> dots, int64_t readColumns,
                           int64_t spare, int64_t perStep) {
  DotAsyncOp first = dots.front();
  const RegisterModel &model = getRegisterModel(getChip(first));
  int64_t least = model.worthHolding;
  if (!readColumns)
    return spare >= least * perStep && llvm::all_of(dots, isBoundByReads)
               ? least
               : 0;
  // Tiles for element code go through shared memory as well, and every step
  // that is held makes room for them. They take registers that the estimate
  // does not see, and so do conversions to 8 bits.
  if (getTileType(first.getLhs().getType()).getElementTypeBitWidth() == 8)
    return 0;
  int64_t unseen = std::max<int64_t>(readColumns - model.narrowRead, 0) /
                   model.columnsPerUnseen;
  int64_t steps = std::min((spare - unseen) / perStep, model.mostHeld);
  return steps < least ? 0 : steps;
}

/// Whether a product is awaited before another one with a left operand in
/// registers is issued in a loop that does not change the window, as in loops
/// of one stage. There ptxas (13.0) may give the held registers to that operand
/// although the next iteration reads them, unless the loop writes them anew
/// (HopperToNVVM/HeldOperands.cpp).
static bool isAwaitedFirst(DotAsyncOp dot, ViewOp view) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!loop || loop->isAncestor(view))
    return false;
  AwaitOp await = findAwait(dot);
  bool hasOthers = false;
  for (auto other : dot->getBlock()->getOps<DotAsyncOp>()) {
    if (other == dot || !isa<RankedTensorType>(other.getLhs().getType()))
      continue;
    hasOthers = true;
    if (!await ||
        (dot->isBeforeInBlock(other) && other->isBeforeInBlock(await)))
      return false;
  }
  return hasOthers;
}

/// Whether a product is in a loop that reads what an earlier step exchanged.
static bool isLate(DotAsyncOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  return loop && readsEarlierExchange(loop);
}

/// Whether the products are in loops of one stage, which do not run beside
/// those of another group.
static bool isOfOneStage(ViewOp view, ArrayRef<DotAsyncOp> dots) {
  return countComputingGroups(view->getParentOfType<gpu::GPUFuncOp>()) == 1 &&
         llvm::all_of(
             dots, [&](DotAsyncOp dot) { return isAwaitedFirst(dot, view); });
}

/// How many steps of each of `windows` windows are worth holding in loops of
/// one stage, if they are long: between their products there is element code,
/// under which nothing is read, and all that is held takes less of the time
/// that they take.
static int64_t chooseStepsOfOneStage(ViewOp view, ArrayRef<DotAsyncOp> dots,
                                     int64_t spare, int64_t perStep,
                                     int64_t windows) {
  const RegisterModel &model = getRegisterModel(getChip(dots.front()));
  int64_t columns = view.getView().getType().getTile().getDimSize(1);
  // Shorter ones have not been run on a GPU.
  constexpr int64_t kLong = 256;
  return columns >= kLong && llvm::all_of(dots, isBoundByReads)
             ? std::clamp<int64_t>(spare / (perStep * windows), 0,
                                   model.mostHeld)
             : 0;
}

/// How many steps are worth holding beside late products, of all windows: none
/// where a loop around theirs, or a list, has a state, too, or numbers of many
/// columns.
static int64_t countLateSteps(warp::GroupOp group, const Products &products,
                              int64_t spare) {
  const RegisterModel &model = getRegisterModel(getChip(group));
  int64_t perStep = 0;
  bool endsAnywhere = false;
  for (const auto &[view, dots] : products) {
    perStep = std::max(perStep, getStepRegisters(view, group));
    for (DotAsyncOp dot : dots) {
      auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
      if (loop && (loop->getParentOfType<scf::ForOp>() ||
                   receivesNumbers(loop) || meetsWideNumbers(loop)))
        return 0;
      endsAnywhere |= loop && !getConstantIntValue(loop.getUpperBound());
    }
  }
  constexpr int64_t kBesideLongCode = 2;
  int64_t most =
      findElementCode(group).isShort() ? model.heldLate : kBesideLongCode;
  if (usesCoordinates(group))
    spare -= endsAnywhere ? model.lateNumbersOfUnknown : model.lateNumbers;
  return std::clamp<int64_t>(spare / perStep, 0, most);
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// `size` rows (`dim` 0) or columns (1) of a window from `start` on.
static ViewOp createPart(ImplicitLocOpBuilder &b, ViewOp view, unsigned dim,
                         int64_t start, int64_t size) {
  SmallVector<Value> offsets(view.getOffsets());
  std::optional<int64_t> known = getConstantIntValue(offsets[dim]);
  if (start != 0) {
    Value moved = arith::ConstantIndexOp::create(b, known.value_or(0) + start);
    if (!known)
      moved = arith::AddIOp::create(b, offsets[dim], moved);
    offsets[dim] = moved;
  }
  RankedTensorType window = view.getView().getType().getTile();
  SmallVector<int64_t> shape(window.getShape());
  shape[dim] = size;
  auto type = ViewType::get(RankedTensorType::get(
      shape, window.getElementType(), window.getEncoding()));
  return ViewOp::create(b, type, view.getSlot(), offsets, view.getField());
}

/// The last write through the window in front of its products, which replaces
/// what was loaded by what is computed of it.
static WriteOp findComputed(ViewOp view, ArrayRef<DotAsyncOp> dots) {
  WriteOp last;
  for (Operation *user : view->getUsers()) {
    auto write = dyn_cast<WriteOp>(user);
    if (!write || write->getBlock() != view->getBlock() ||
        (last && write->isBeforeInBlock(last)))
      continue;
    if (llvm::all_of(dots, [&](DotAsyncOp dot) {
          return write->isBeforeInBlock(
              write->getBlock()->findAncestorOpInBlock(*dot));
        }))
      last = write;
  }
  return last;
}

/// Splits the products at column `held` of the window, which is read once up to
/// there.
static void holdColumns(ViewOp view, ArrayRef<DotAsyncOp> dots, int64_t held) {
  int64_t rest = view.getView().getType().getTile().getDimSize(1) - held;
  ImplicitLocOpBuilder b(view.getLoc(), view);
  if (WriteOp write = findComputed(view, dots))
    b.setInsertionPointAfter(write);
  ViewOp head = createPart(b, view, 1, 0, held), tail;
  auto read =
      ReadOp::create(b, head.getView().getType().getTile(), head.getView());
  if (rest != 0)
    tail = createPart(b, view, 1, held, rest);
  for (DotAsyncOp dot : dots) {
    auto rhs = dot.getRhs().getDefiningOp<ViewOp>();
    unsigned dim = dot.getRhsOrder() == RhsOrder::nk ? 1 : 0;
    b.setLoc(rhs.getLoc());
    b.setInsertionPoint(rhs);
    ViewOp rhsHead = createPart(b, rhs, dim, 0, held), rhsTail;
    if (rest != 0)
      rhsTail = createPart(b, rhs, dim, held, rest);
    b.setLoc(dot.getLoc());
    b.setInsertionPoint(dot);
    auto product = [&](Value left, ViewOp right, Value acc) {
      return DotAsyncOp::create(b, dot.getResult().getType(),
                                dot.getDone().getType(), left, right, acc,
                                dot.getLhsOrder(), dot.getRhsOrder());
    };
    DotAsyncOp last = product(read, rhsHead, dot.getAcc());
    if (rest != 0)
      last = product(tail, rhsTail, last.getResult());
    dot.replaceAllUsesWith(last);
    dot.erase();
    if (rhs != view && rhs.use_empty())
      rhs.erase();
  }
  if (view.use_empty())
    view.erase();
}

namespace {
struct HoldOperands : fa3::tile::impl::HoldOperandsBase<HoldOperands> {
  using HoldOperandsBase::HoldOperandsBase;

  void runOnOperation() override {
    std::optional<int64_t> wanted;
    if (hold != "auto") {
      int64_t number;
      bool isNumber = !StringRef(hold).getAsInteger(10, number);
      wanted = isNumber ? number : -1;
    }
    if (wanted && *wanted < 0) {
      emitError(getOperation()->getLoc())
          << "tile-hold-operands: expects hold 'auto' or a number of at "
             "least 0, got '"
          << hold << "'";
      return signalPassFailure();
    }
    getOperation()->walk(
        [&](warp::GroupOp group) { transform(group, wanted); });
  }

  /// Holds so many steps of each operand, or as many as are worth it.
  void transform(warp::GroupOp group, std::optional<int64_t> wanted) {
    Products products = findInvariant(group);
    if (products.empty())
      return;
    int64_t readColumns = getReadColumns(group);
    bool mayHold = wanted || (!keepsElements(group) &&
                              (readColumns || !becomesTwoWays(group)));
    int64_t spare = wanted ? 0 : getSpareRegisters(group);
    ElementCode code = findElementCode(group);
    int64_t windows = products.size(), left = windows;
    int64_t lateSteps = wanted ? 0 : countLateSteps(group, products, spare);
    for (auto &[view, dots] : products) {
      RankedTensorType tile = view.getView().getType().getTile();
      int64_t stepColumns = getStepColumns(tile);
      int64_t perStep = getStepRegisters(view, group);
      bool isOneStage = isOfOneStage(view, dots);
      int64_t count = 0;
      if (wanted) {
        count = *wanted;
      } else if (llvm::any_of(dots, isLate)) {
        count = lateSteps / left;
        lateSteps -= count;
      } else if (isOneStage) {
        if (!readColumns && !loadsTiles(group) && !readsPlaces(group) &&
            code.isShort())
          count = chooseStepsOfOneStage(view, dots, spare - code.getUnseen(),
                                        perStep, windows);
      } else if (mayHold && llvm::none_of(dots, [view = view](DotAsyncOp dot) {
                   return isAwaitedFirst(dot, view);
                 })) {
        count = chooseSteps(dots, readColumns, spare, perStep);
      }
      --left;
      count = std::min(count, tile.getDimSize(1) / stepColumns);
      if (count == 0)
        continue;
      if (!isOneStage)
        spare -= count * perStep;
      holdColumns(view, dots, count * stepColumns);
      held += count;
    }
  }
};
} // namespace
