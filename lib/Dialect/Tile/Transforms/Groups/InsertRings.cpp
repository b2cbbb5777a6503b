//===- InsertRings.cpp - tile-insert-rings --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "OperandCode.h"
#include "Roles.h"
#include "fa3/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"
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

  /// Gives `load` a ring. `before` is a load of fewer rows in front of the loop
  /// around it, or null, whose entries go through the same ring.
  LogicalResult insert(LoadOp load, LoadOp before);

private:
  /// A load with what lies between it and its products.
  struct Crossing {
    LoadOp load;
    SmallVector<Operation *> conversions;
    /// What is computed of the tile before products read it, in place.
    std::optional<OperandCode> code;
    Value operand;
    bool forProducts = true;
    DenseI64ArrayAttr rowOrder;
    /// Who reads it.
    llvm::SmallSetVector<StringAttr, 2> readers;
    bool isConverted() const { return !conversions.empty() && !rowOrder; }
  };
  FailureOr<Crossing> inspect(LoadOp load);
  /// Lets a tile go through the rings of what is loaded and of what is read,
  /// which may be the same. Gives the cursors behind it. They are that of the
  /// copy, one of each reader, and two of conversions.
  FailureOr<SmallVector<Value>> pass(const Crossing &crossing,
                                     ArrayRef<StringAttr> readers, Value loaded,
                                     Value ring, ArrayRef<Value> cursors);
  /// Lets a reader of the slot have what is its own among the uses of a tile,
  /// and release it behind the last one.
  void read(const Crossing &crossing, StringAttr reader, Value slot,
            RankedTensorType type);
  /// Marks an operation with a role and gives it back.
  template <typename Op>
  Op with(StringAttr role, Op op) {
    op->setAttr(TileDialect::kRoleAttrName, role);
    return op;
  }

  Value makeRing(RankedTensorType type) {
    return warp::RingOp::create(b, warp::RingType::get(kernel.getContext(), 1,
                                                       {type}, 1, 0,
                                                       warp::Scope::cta));
  }
  Value makeCursor(Value ring, warp::Side side, StringAttr role) {
    return with(role, warp::CursorOp::create(b, side, ring)).getCursor();
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
  void writeUnpacked(UnpackOp unpack, Value part, Value target, int64_t row,
                     int64_t column);
  void readFrom(Value view, OpOperand &use, StringAttr reader);
  void computeInPlace(const OperandCode &code, LoadOp load, Value view);

  gpu::GPUFuncOp kernel;
  ImplicitLocOpBuilder b;
  StringAttr loadRole, convertRole, mathRole;
};
} // namespace

/// What converts a tile between a load and its products; none if element code
/// uses the tile.
static SmallVector<Operation *> getConversions(LoadOp load) {
  SmallVector<Operation *> conversions;
  Value value = load.getResult();
  while (value.hasOneUse() && isConversion(*value.getUsers().begin())) {
    conversions.push_back(*value.getUsers().begin());
    value = conversions.back()->getResult(0);
  }
  if (!llvm::all_of(value.getUsers(), llvm::IsaPred<DotOp>))
    conversions.clear();
  return conversions;
}

/// The order in which a bulk copy may bring rows instead of a conversion: that
/// of a relabeling of rows, if there is nothing else on the way.
static DenseI64ArrayAttr getRowOrder(ArrayRef<Operation *> conversions) {
  if (conversions.size() != 1)
    return {};
  auto relabel = dyn_cast<RelabelOp>(conversions.front());
  if (!relabel || relabel.getDim() != 0 ||
      relabel.getResult().getType().getRank() != 2)
    return {};
  return relabel.getBitsAttr();
}

/// Unpacks a part of a tile, which is at this place, into `target`: both halves
/// of its elements are at places of their own.
void RingInserter::writeUnpacked(UnpackOp unpack, Value part, Value target,
                                 int64_t row, int64_t column) {
  auto type = cast<RankedTensorType>(part.getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  Type element = unpack.getResult().getType().getElementType();
  auto both = RankedTensorType::get({rows, 2 * columns}, element);
  auto half = RankedTensorType::get({rows, columns}, element);
  Value unpacked = with(convertRole, UnpackOp::create(b, both, part));
  ArrayRef<int64_t> shape = half.getShape();
  int64_t one[] = {1, 1};
  for (int64_t i : {0, 1}) {
    int64_t from[] = {0, i * columns};
    Value numbers =
        with(convertRole, tensor::ExtractSliceOp::create(
                              b, half, unpacked, ValueRange(), ValueRange(),
                              ValueRange(), from, shape, one));
    int64_t behind = i * unpack.getSource().getType().getDimSize(1);
    Value view = window(target, half, convertRole, row, behind + column);
    with(convertRole, WriteOp::create(b, numbers, view));
  }
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
    if (isa<UnpackOp>(op) && conversions.size() != 1)
      return op->emitOpError("has the convert role, which unpacks tiles that "
                             "nothing else changes");
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
      auto entry = cast<RankedTensorType>(
          cast<warp::SlotType>(source.getType()).getPayload().front());
      Value view = window(source,
                          RankedTensorType::get(shape, type.getElementType(),
                                                entry.getEncoding()),
                          convertRole, row, column);
      Value part = with(convertRole, ReadOp::create(b, getType(), view));
      if (auto unpack = dyn_cast<UnpackOp>(conversions.front())) {
        writeUnpacked(unpack, part, target, row, column);
        continue;
      }
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
void RingInserter::readFrom(Value view, OpOperand &use, StringAttr reader) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(use.getOwner());
  use.set(
      with(reader, ReadOp::create(b, use.get().getType(), view)).getResult());
}

/// Replaces what lies in the view by what is computed of it. Rows of a left
/// operand are divided among replicas: each has its own.
void RingInserter::computeInPlace(const OperandCode &code, LoadOp load,
                                  Value view) {
  b.setInsertionPointAfter(code.operations.back());
  IRMapping mapping;
  mapping.map(load.getResult(),
              with(mathRole, ReadOp::create(b, load.getType(), view)));
  for (Operation *op : code.operations)
    b.clone(*op, mapping);
  with(mathRole, WriteOp::create(b, mapping.lookup(code.result), view));
}

FailureOr<RingInserter::Crossing> RingInserter::inspect(LoadOp load) {
  Crossing crossing{load, getConversions(load), {}, load.getResult()};
  if (!crossing.conversions.empty())
    crossing.operand = crossing.conversions.back()->getResult(0);
  else if ((crossing.code = findOperandCode(load)))
    crossing.operand = crossing.code->result;
  bool forElements = crossing.conversions.empty();
  Operation *other = nullptr;
  for (OpOperand &use : crossing.operand.getUses()) {
    Operation *user = use.getOwner();
    bool isOperand = isa<DotOp>(user) && use.getOperandNumber() < 2;
    crossing.forProducts &= isOperand;
    bool isElement = isElementwise(user) || isa<RelabelOp, BroadcastOp>(user);
    forElements &= isElement;
    if (!isOperand && (!isElement || !other))
      other = user;
    crossing.readers.insert(isOperand ? b.getStringAttr(getRole(user))
                                      : mathRole);
  }
  if (crossing.readers.empty())
    crossing.readers.insert(mathRole);
  if (crossing.code && crossing.readers.size() > 1)
    return load.emitOpError("is changed on its way to products of several "
                            "groups, which would all write it");
  if (!crossing.forProducts && !forElements) {
    InFlightDiagnostic diagnostic = load.emitOpError(
        "has the load role, which loads left and right operands of products, "
        "or tiles for element code, only");
    diagnostic.attachNote(other->getLoc()) << "it is used here";
    return diagnostic;
  }
  crossing.rowOrder = getRowOrder(crossing.conversions);
  if (crossing.rowOrder &&
      (load.getFold() || load.getPieces() || load.getLimit()))
    return load.emitOpError("with ")
           << (load.getFold()     ? "fold"
               : load.getPieces() ? "pieces"
                                  : "limit")
           << " has rows that are relabeled, which no copy does";
  return crossing;
}

/// The type of what is loaded, as it lies in shared memory.
static RankedTensorType getLoadedType(LoadOp load, bool forProducts) {
  RankedTensorType type = load.getResult().getType();
  // Element code knows no padding: rows are as wide as they are. A single one
  // takes as few copies as can be.
  if (!forProducts)
    type =
        RankedTensorType::get(type.getShape(), type.getElementType(),
                              type.getRank() == 1 ? getDefaultStorage(type)
                                                  : getUnpaddedStorage(type));
  // Single rows of a tile are copied where they are as wide as can be, and so
  // are pieces of fewer rows than a copy may start with.
  constexpr int64_t kWidest = 128;
  int64_t swizzle = getDefaultStorage(type).getSwizzle();
  bool isLow = load.getPieces() &&
               type.getDimSize(0) / *load.getPieces() * swizzle % kWidest;
  if ((load.getLimit() || isLow) && swizzle != kWidest)
    type = RankedTensorType::get(type.getShape(), type.getElementType(),
                                 SmemAttr::get(type.getContext(), kWidest));
  return type;
}

void RingInserter::read(const Crossing &crossing, StringAttr reader, Value slot,
                        RankedTensorType type) {
  Value operand = crossing.operand, source = window(slot, type, reader);
  if (crossing.code)
    computeInPlace(*crossing.code, crossing.load, source);
  Operation *lastUse = source.getDefiningOp();
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : operand.getUses())
    if (!crossing.forProducts || getRole(use.getOwner()) == reader)
      uses.push_back(&use);
  for (OpOperand *use : uses) {
    Operation *at =
        crossing.load->getBlock()->findAncestorOpInBlock(*use->getOwner());
    if (lastUse->isBeforeInBlock(at))
      lastUse = at;
  }
  for (OpOperand *use : uses) {
    if (crossing.forProducts)
      use->set(source);
    else
      readFrom(source, *use, reader);
  }
  b.setInsertionPointAfter(lastUse);
  with(reader, warp::ReleaseOp::create(b, slot, ValueRange()));
}

FailureOr<SmallVector<Value>> RingInserter::pass(const Crossing &crossing,
                                                 ArrayRef<StringAttr> readers,
                                                 Value loaded, Value ring,
                                                 ArrayRef<Value> cursors) {
  LoadOp load = crossing.load;
  RankedTensorType type = getLoadedType(load, crossing.forProducts);
  b.setLoc(load.getLoc());
  b.setInsertionPoint(load);
  auto filled = with(loadRole, warp::AcquireOp::create(b, loaded, cursors[0]));
  Value target = window(filled.getSlot(), type, loadRole);
  auto copy =
      with(loadRole, LoadAsyncOp::create(
                         b, load.getSource(), load.getIndices(), target,
                         load.getLimit(), crossing.rowOrder, load.getFoldAttr(),
                         load.getPiecesAttr(), load.getPlaces().size()));
  for (auto [to, from] : llvm::zip(copy.getPlaces(), load.getPlaces()))
    to.takeBody(from);
  with(loadRole, warp::PublishOp::create(b, filled.getSlot()));
  SmallVector<Value> next = {filled.getNext()};
  next.resize(1 + readers.size());

  if (crossing.isConverted()) {
    ArrayRef<Value> own = cursors.take_back(2);
    auto from = with(convertRole, warp::AcquireOp::create(b, loaded, own[0]));
    auto to = with(convertRole, warp::AcquireOp::create(b, ring, own[1]));
    if (failed(
            copyConverted(crossing.conversions, from.getSlot(), to.getSlot())))
      return failure();
    with(convertRole, warp::PublishOp::create(b, to.getSlot()));
    with(convertRole, warp::ReleaseOp::create(b, from.getSlot(), ValueRange()));
    next.append({from.getNext(), to.getNext()});
  }

  RankedTensorType held =
      crossing.isConverted()
          ? cast<RankedTensorType>(crossing.operand.getType())
          : type;
  auto insertionPoint = b.saveInsertionPoint();
  for (auto [i, reader] : llvm::enumerate(readers)) {
    b.restoreInsertionPoint(insertionPoint);
    auto slot = with(reader, warp::AcquireOp::create(b, ring, cursors[1 + i]));
    next[1 + i] = slot.getNext();
    read(crossing, reader, slot.getSlot(), held);
  }
  return next;
}

/// The innermost block around both.
static Block *getCommonBlock(Operation *a, Operation *b) {
  Block *block = a->getBlock();
  while (!block->findAncestorOpInBlock(*b))
    block = block->getParentOp()->getBlock();
  return block;
}

LogicalResult RingInserter::insert(LoadOp load, LoadOp before) {
  FailureOr<Crossing> crossing = inspect(load);
  if (failed(crossing))
    return failure();
  SmallVector<Crossing> all = {*crossing};
  if (before) {
    FailureOr<Crossing> first = inspect(before);
    if (failed(first))
      return failure();
    all.insert(all.begin(), *first);
  }

  b.setLoc(load.getLoc());
  b.setInsertionPointToStart(&kernel.getBody().front());
  Value loaded = makeRing(getLoadedType(load, crossing->forProducts));
  Value ring =
      crossing->isConverted()
          ? makeRing(cast<RankedTensorType>(crossing->operand.getType()))
          : loaded;
  SmallVector<Value> cursors = {
      makeCursor(loaded, warp::Side::write, loadRole)};
  llvm::SmallSetVector<StringAttr, 2> readers;
  for (const Crossing &each : all)
    readers.insert_range(each.readers);
  for (StringAttr reader : readers)
    cursors.push_back(makeCursor(ring, warp::Side::read, reader));
  if (crossing->isConverted()) {
    cursors.push_back(makeCursor(loaded, warp::Side::read, convertRole));
    cursors.push_back(makeCursor(ring, warp::Side::write, convertRole));
  }
  // What comes first hands its cursors on to what comes in a loop behind it.
  Block *common = nullptr;
  for (const Crossing &each : all) {
    if (failed(threadTo(each.load, cursors, common)))
      return failure();
    FailureOr<SmallVector<Value>> next =
        pass(each, readers.getArrayRef(), loaded, ring, cursors);
    if (failed(next))
      return failure();
    common = before ? getCommonBlock(before, load) : load->getBlock();
    cursors = threadFrom(each.load, *next, common);
  }
  threadFrom(common->findAncestorOpInBlock(*load), cursors);
  for (const Crossing &each : all) {
    for (Operation *op : llvm::reverse(each.conversions))
      op->erase();
    if (each.code)
      for (Operation *op : llvm::reverse(each.code->operations))
        op->erase();
    each.load->erase();
  }
  return success();
}

/// Whether the results of two chains of conversions differ in extents only.
static bool areAlike(ArrayRef<Operation *> a, ArrayRef<Operation *> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           auto [x, y] = pair;
           return x->getName() == y->getName() &&
                  x->getAttrDictionary() == y->getAttrDictionary();
         });
}

/// Whether `before` loads the same columns of an array in fewer rows, in front
/// of a loop around `load` and perhaps in branches, for the same products.
static bool comesBefore(LoadOp before, LoadOp load) {
  RankedTensorType narrow = before.getType(), wide = load.getType();
  Block *common = getCommonBlock(before, load);
  Operation *around = common->findAncestorOpInBlock(*load);
  Operation *first = before;
  while (first->getBlock() != common && isa<scf::IfOp>(first->getParentOp()))
    first = first->getParentOp();
  return around != load && first->getBlock() == common &&
         first->isBeforeInBlock(around) &&
         before.getSource() == load.getSource() && narrow.getRank() == 2 &&
         wide.getRank() == 2 && narrow.getDimSize(1) == wide.getDimSize(1) &&
         narrow.getDimSize(0) < wide.getDimSize(0) && !before.getFold() &&
         !load.getFold() && !before.getPieces() && !load.getPieces() &&
         areAlike(getConversions(before), getConversions(load)) &&
         llvm::all_of(before->getUsers(), isProductOrConversion);
}

LogicalResult fa3::tile::insertRing(gpu::GPUFuncOp kernel, LoadOp load,
                                    LoadOp before) {
  return RingInserter(kernel).insert(load, before);
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
          // Loads that share the ring of another one, in pairs.
          llvm::MapVector<Operation *, LoadOp> before;
          llvm::SmallPtrSet<Operation *, 4> sharing;
          for (LoadOp load : crossing)
            for (LoadOp other : crossing)
              if (!before.contains(load) && !before.contains(other) &&
                  !sharing.contains(load) && !sharing.contains(other) &&
                  comesBefore(other, load)) {
                before[load] = other;
                sharing.insert(other);
              }
          for (LoadOp load : crossing)
            if (!sharing.contains(load) &&
                failed(insertRing(kernel, load, before.lookup(load))))
              return failure();
          kernel.walk([&](warp::RingOp) { ++rings; });
          return success();
        });
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
