//===- InsertRings.cpp - tile-insert-rings --------------------------------===//

#include "Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <numeric>

namespace fa3::tile {
#define GEN_PASS_DEF_INSERTRINGS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// What one copy through the registers of the convert role covers of a tile:
/// small, because that role has few registers. Layouts want these rows.
static constexpr int64_t kWindowRows = 32, kWindowColumns = 64;

namespace {
class RingInserter {
public:
  RingInserter(gpu::GPUFuncOp kernel)
      : kernel(kernel), b(kernel.getLoc(), kernel.getContext()),
        loadRole(b.getStringAttr("load")),
        convertRole(b.getStringAttr("convert")),
        mathRole(b.getStringAttr("math")) {}

  LogicalResult insert(LoadOp load);

private:
  /// Marks an operation with a role and gives it back.
  template <typename Op>
  Op with(StringAttr role, Op op) {
    op->setAttr(TileDialect::kRoleAttrName, role);
    return op;
  }

  Value makeRing(RankedTensorType type) {
    return flow::RingOp::create(b, flow::RingType::get(kernel.getContext(), 1,
                                                       {type}, 1, 0,
                                                       flow::Scope::cta));
  }
  Value makeCursor(Value ring, flow::Side side, StringAttr role) {
    return with(role, flow::CursorOp::create(b, side, ring)).getCursor();
  }
  Value window(Value slot, RankedTensorType type, StringAttr role,
               int64_t row = 0, int64_t column = 0) {
    Value offsets[] = {arith::ConstantIndexOp::create(b, row),
                       arith::ConstantIndexOp::create(b, column)};
    return with(role,
                ViewOp::create(b, ViewType::get(type), slot,
                               ArrayRef(offsets).take_back(type.getRank())))
        .getView();
  }
  LogicalResult copyConverted(ArrayRef<Operation *> conversions, Value source,
                              Value target);
  void readFrom(Value view, OpOperand &use);

  gpu::GPUFuncOp kernel;
  ImplicitLocOpBuilder b;
  StringAttr loadRole, convertRole, mathRole;
};
} // namespace

/// The relabellings and transpositions between a load and its products; none
/// if element code uses the tile.
static SmallVector<Operation *> getConversions(LoadOp load) {
  SmallVector<Operation *> conversions;
  Value value = load.getResult();
  while (value.hasOneUse() &&
         isa<RelabelOp, TransposeOp>(*value.getUsers().begin())) {
    conversions.push_back(*value.getUsers().begin());
    value = conversions.back()->getResult(0);
  }
  if (!llvm::all_of(value.getUsers(), llvm::IsaPred<DotOp>))
    conversions.clear();
  return conversions;
}

/// The order in which a bulk copy may bring rows instead of a conversion: that
/// of a relabelling of rows, if there is nothing else on the way.
static DenseI64ArrayAttr getRowOrder(ArrayRef<Operation *> conversions) {
  if (conversions.size() != 1)
    return {};
  auto relabel = dyn_cast<RelabelOp>(conversions.front());
  if (!relabel || relabel.getDim() != 0 ||
      relabel.getResult().getType().getRank() != 2)
    return {};
  return relabel.getBitsAttr();
}

/// Copies the slot `source` to `target` window by window, each converted as the
/// whole tile is to be.
LogicalResult RingInserter::copyConverted(ArrayRef<Operation *> conversions,
                                          Value source, Value target) {
  auto type =
      cast<RankedTensorType>(conversions.front()->getOperand(0).getType());
  int64_t rows = std::gcd(type.getDimSize(0), kWindowRows);
  int64_t columns = std::gcd(type.getDimSize(1), kWindowColumns);
  for (Operation *op : conversions)
    if (auto relabel = dyn_cast<RelabelOp>(op))
      if (std::gcd(rows, columns) % (int64_t(1) << relabel.getBits().size()))
        return op->emitOpError("has the convert role, which copies windows of ")
               << rows << "x" << columns
               << ": expects them to hold whole permutations";
  for (int64_t row = 0; row < type.getDimSize(0); row += rows)
    for (int64_t column = 0; column < type.getDimSize(1); column += columns) {
      int64_t at[] = {row, column}, shape[] = {rows, columns};
      auto getType = [&] {
        return RankedTensorType::get(shape, type.getElementType());
      };
      Value view = window(source, getType(), convertRole, row, column);
      Value part = with(convertRole, ReadOp::create(b, getType(), view));
      for (Operation *op : conversions) {
        if (auto relabel = dyn_cast<RelabelOp>(op)) {
          part = RelabelOp::create(b, getType(), part, relabel.getDim(),
                                   relabel.getBits());
        } else {
          std::swap(at[0], at[1]);
          std::swap(shape[0], shape[1]);
          part = TransposeOp::create(b, getType(), part);
        }
        with(convertRole, part.getDefiningOp());
      }
      view = window(target, getType(), convertRole, at[0], at[1]);
      with(convertRole, WriteOp::create(b, part, view));
    }
  return success();
}

/// Reads a tile for one use, right in front of it.
void RingInserter::readFrom(Value view, OpOperand &use) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(use.getOwner());
  use.set(
      with(mathRole, ReadOp::create(b, use.get().getType(), view)).getResult());
}

LogicalResult RingInserter::insert(LoadOp load) {
  RankedTensorType type = load.getResult().getType();
  SmallVector<Operation *> conversions = getConversions(load);
  Value operand = conversions.empty() ? Value(load.getResult())
                                      : conversions.back()->getResult(0);
  bool forProducts = true, forElements = conversions.empty();
  Operation *other = nullptr;
  for (OpOperand &use : operand.getUses()) {
    Operation *user = use.getOwner();
    bool isOperand = isa<DotOp>(user) && use.getOperandNumber() < 2;
    forProducts &= isOperand;
    bool isElement = isElementwise(user) || isa<RelabelOp>(user);
    forElements &= isElement;
    if (!isOperand && (!isElement || !other))
      other = user;
  }
  if (!forProducts && !forElements) {
    InFlightDiagnostic diagnostic = load.emitOpError(
        "has the load role, which loads left and right operands of products, "
        "or tiles for element code, only");
    diagnostic.attachNote(other->getLoc()) << "it is used here";
    return diagnostic;
  }
  // Element code knows no padding: rows are as wide as they are.
  if (!forProducts)
    type = RankedTensorType::get(type.getShape(), type.getElementType(),
                                 getUnpaddedStorage(type));
  DenseI64ArrayAttr rowOrder = getRowOrder(conversions);
  if (rowOrder && load.getFold())
    return load.emitOpError("with fold has rows that are relabelled, which no "
                            "copy does");
  bool isConverted = !conversions.empty() && !rowOrder;
  auto operandType =
      isConverted ? cast<RankedTensorType>(operand.getType()) : type;
  b.setLoc(load.getLoc());
  b.setInsertionPointToStart(&kernel.getBody().front());
  Value loaded = makeRing(type);
  Value ring = isConverted ? makeRing(operandType) : loaded;
  SmallVector<Value> cursors = {makeCursor(loaded, flow::Side::write, loadRole),
                                makeCursor(ring, flow::Side::read, mathRole)};
  if (isConverted) {
    cursors.push_back(makeCursor(loaded, flow::Side::read, convertRole));
    cursors.push_back(makeCursor(ring, flow::Side::write, convertRole));
  }
  if (failed(threadTo(load, cursors)))
    return failure();

  b.setInsertionPoint(load);
  auto filled = with(loadRole, flow::AcquireOp::create(b, loaded, cursors[0]));
  Value target = window(filled.getSlot(), type, loadRole);
  with(loadRole, LoadAsyncOp::create(b, load.getSource(), load.getIndices(),
                                     target, rowOrder, load.getFoldAttr()));
  with(loadRole, flow::PublishOp::create(b, filled.getSlot()));
  SmallVector<Value> next = {filled.getNext(), Value()};

  if (isConverted) {
    auto from =
        with(convertRole, flow::AcquireOp::create(b, loaded, cursors[2]));
    auto to = with(convertRole, flow::AcquireOp::create(b, ring, cursors[3]));
    if (failed(copyConverted(conversions, from.getSlot(), to.getSlot())))
      return failure();
    with(convertRole, flow::PublishOp::create(b, to.getSlot()));
    with(convertRole, flow::ReleaseOp::create(b, from.getSlot(), ValueRange()));
    next.append({from.getNext(), to.getNext()});
  }

  auto held = with(mathRole, flow::AcquireOp::create(b, ring, cursors[1]));
  next[1] = held.getNext();
  Value source = window(held.getSlot(), operandType, mathRole);
  Operation *lastUse = source.getDefiningOp();
  for (Operation *user : operand.getUsers()) {
    Operation *use = load->getBlock()->findAncestorOpInBlock(*user);
    if (lastUse->isBeforeInBlock(use))
      lastUse = use;
  }
  if (forProducts)
    operand.replaceAllUsesWith(source);
  else
    for (OpOperand &use : llvm::make_early_inc_range(operand.getUses()))
      readFrom(source, use);
  b.setInsertionPointAfter(lastUse);
  with(mathRole, flow::ReleaseOp::create(b, held.getSlot(), ValueRange()));

  threadFrom(load, next);
  for (Operation *op : llvm::reverse(conversions))
    op->erase();
  load.erase();
  return success();
}

namespace {
struct InsertRings : fa3::tile::impl::InsertRingsBase<InsertRings> {
  using InsertRingsBase::InsertRingsBase;
  void runOnOperation() override {
    LogicalResult result =
        forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          SmallVector<LoadOp> crossing;
          kernel.walk([&](LoadOp load) {
            auto role =
                load->getAttrOfType<StringAttr>(TileDialect::kRoleAttrName);
            if (role && role == "load")
              crossing.push_back(load);
          });
          RingInserter inserter(kernel);
          for (LoadOp load : crossing)
            if (failed(inserter.insert(load)))
              return failure();
          kernel.walk([&](flow::RingOp) { ++rings; });
          return success();
        });
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
