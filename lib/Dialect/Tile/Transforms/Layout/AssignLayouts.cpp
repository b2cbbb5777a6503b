//===- AssignLayouts.cpp - tile-assign-layouts ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Layouts spread from anchors (products, stores) through every operation that
// relates the layouts of its tiles, both ways, until nothing changes.
//===----------------------------------------------------------------------===//

#include "../Utils.h"
#include "fa3/Dialect/Tile/IR/TileExactOps.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fa3::tile {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
class LayoutSolver {
public:
  explicit LayoutSolver(gpu::GPUFuncOp kernel)
      : kernel(kernel), acc(AccAttr::get(kernel.getContext())) {}

  LogicalResult run();
  int64_t countTiles() const { return layouts.size(); }

private:
  void want(Value value, Attribute layout) {
    if (!isa<ViewType>(value.getType()) && getTileType(value.getType()))
      worklist.push_back({value, layout});
  }
  LogicalResult propagate();
  void visit(Operation *op, Value value, Attribute layout);
  void visitAwait(AwaitOp await, Value value, Attribute layout);
  void visitReduce(ReduceOp reduce, Value value, Attribute layout);
  void visitWhere(WhereOp where, Value value, Attribute layout);
  void seedRest();
  LogicalResult rewrite(Value value, Attribute layout);
  /// The layout in which a product takes its left operand from registers.
  Attribute getOperandLayout(Value operand) {
    unsigned bits = getTileType(operand.getType()).getElementTypeBitWidth();
    return bits == 8 ? Attribute(OperandAAttr::get(kernel.getContext(), bits))
                     : acc;
  }
  void seed(Operation *op);
  /// Layouts of relabeled and transposed tiles that nobody asked for another
  /// layout: every register keeps its element.
  void seedRenamed();
  Attribute slice(int64_t dim, Attribute parent) {
    return SliceAttr::get(kernel.getContext(), dim, parent);
  }
  /// The layout of the tile that `layout` is the slice of along `dim`.
  static Attribute getParent(Attribute layout, int64_t dim) {
    auto sliced = dyn_cast<SliceAttr>(layout);
    return sliced && sliced.getDim() == dim ? sliced.getParent() : Attribute();
  }

  gpu::GPUFuncOp kernel;
  Attribute acc;
  SmallVector<std::pair<Value, Attribute>> worklist;
  llvm::MapVector<Value, Attribute> layouts;
};
} // namespace

void LayoutSolver::visitAwait(AwaitOp await, Value value, Attribute layout) {
  if (value == await.getPending() || value == await.getResult()) {
    want(await.getPending(), layout);
    want(await.getResult(), layout);
  }
  for (auto [from, to] : llvm::zip(await.getKeep(), await.getKept()))
    if (value == from || value == to) {
      want(from, layout);
      want(to, layout);
    }
}

void LayoutSolver::visitReduce(ReduceOp reduce, Value value, Attribute layout) {
  int64_t dim = reduce.getDim();
  if (reduce.getModulo()) {
    want(reduce.getSource(), layout);
    want(reduce.getResult(), layout);
  } else if (value == reduce.getSource()) {
    want(reduce.getResult(), slice(dim, layout));
  } else if (Attribute parent = getParent(layout, dim)) {
    want(reduce.getSource(), parent);
    want(reduce.getResult(), layout);
  }
  if (reduce.getInit() && value != reduce.getSource()) {
    want(reduce.getInit(), layout);
    want(reduce.getResult(), layout);
  }
}

void LayoutSolver::visitWhere(WhereOp where, Value value, Attribute layout) {
  Value condition = where.getCondition();
  for (unsigned i = 0; i < where.getNumResults(); ++i) {
    Value result = where.getResult(i), otherwise = where.getOtherwise()[i];
    bool sliced = where.getCondition().getType().getRank() <
                  cast<RankedTensorType>(result.getType()).getRank();
    if (value == condition) {
      if (Attribute parent = sliced ? getParent(layout, 1) : layout)
        want(result, parent);
    } else if (value == result || value == otherwise) {
      want(otherwise, layout);
      want(result, layout);
      want(where.getYield().getOperand(i), layout);
      want(condition, sliced ? slice(1, layout) : layout);
    }
  }
}

void LayoutSolver::visit(Operation *op, Value value, Attribute layout) {
  auto wantAll = [&](ValueRange values) {
    for (Value other : values)
      want(other, layout);
  };
  if (isElementwise(op)) {
    wantAll(op->getOperands());
    wantAll(op->getResults());
    return;
  }
  if (visitCarried(op, value, [&](Value other) { want(other, layout); }))
    return;
  llvm::TypeSwitch<Operation *>(op)
      .Case<DotOp, DotAsyncOp>([&](auto dot) {
        want(dot.getAcc(), acc);
        want(dot.getResult(), acc);
        want(dot.getLhs(), getOperandLayout(dot.getLhs()));
      })
      .Case<PendOp>(
          [&](PendOp pend) { wantAll({pend.getValue(), pend.getResult()}); })
      .Case<AwaitOp>([&](AwaitOp await) { visitAwait(await, value, layout); })
      .Case<ReduceOp>(
          [&](ReduceOp reduce) { visitReduce(reduce, value, layout); })
      .Case<BroadcastOp>([&](BroadcastOp broadcast) {
        int64_t dim = broadcast.getDim();
        if (value == broadcast.getResult())
          want(broadcast.getSource(), slice(dim, layout));
        else if (Attribute parent = getParent(layout, dim))
          want(broadcast.getResult(), parent);
      })
      .Case<WhereOp>([&](WhereOp where) { visitWhere(where, value, layout); })
      .Case<tensor::ExtractSliceOp>([&](tensor::ExtractSliceOp slice) {
        wantAll({slice.getSource(), slice.getResult()});
      })
      .Case<UnpackOp>([&](UnpackOp unpack) {
        wantAll({unpack.getSource(), unpack.getResult()});
      })
      .Case<AddExactOp>([&](AddExactOp add) {
        want(add.getValue(), layout);
        wantAll(add.getIndices());
      });
}

LogicalResult LayoutSolver::propagate() {
  while (!worklist.empty()) {
    auto [value, layout] = worklist.pop_back_val();
    auto [it, inserted] = layouts.insert({value, layout});
    if (!inserted) {
      if (it->second == layout)
        continue;
      return emitError(value.getLoc())
             << "tile of type " << value.getType()
             << " would need two layouts, " << it->second << " and " << layout;
    }
    if (Operation *op = value.getDefiningOp())
      visit(op, value, layout);
    else
      visit(value.getParentBlock()->getParentOp(), value, layout);
    for (Operation *user : value.getUsers())
      visit(user, value, layout);
  }
  return success();
}

/// Whether a tile is only the right operand of products, which read it from
/// shared memory.
static bool isOnlyRightOperand(Value tile) {
  return !tile.use_empty() && llvm::all_of(tile.getUses(), [](OpOperand &use) {
    return isa<DotOp, DotAsyncOp>(use.getOwner()) &&
           use.getOperandNumber() == 1;
  });
}

/// Tiles that nothing related to a product: rank 2 like an accumulator, rank 1
/// like the statistics of its rows.
void LayoutSolver::seedRest() {
  kernel.walk([&](Operation *op) {
    for (Value result : op->getResults()) {
      RankedTensorType type = getTileType(result.getType());
      if (!worklist.empty() || !type || isa<ViewType>(result.getType()) ||
          layouts.contains(result) || isOnlyRightOperand(result))
        continue;
      want(result, type.getRank() == 2 ? acc : slice(1, acc));
    }
  });
}

void LayoutSolver::seedRenamed() {
  MLIRContext *context = kernel.getContext();
  kernel.walk([&](Operation *op) {
    if (!isa<RelabelOp, TransposeOp>(op))
      return;
    auto it = layouts.find(op->getOperand(0));
    auto wanted = layouts.find(op->getResult(0));
    // Nobody asked for the operand: it is computed where its result is used.
    if (auto relabel = dyn_cast<RelabelOp>(op);
        relabel && wanted != layouts.end() && it == layouts.end())
      want(relabel.getSource(),
           RelabeledAttr::get(context, relabel.getDim(),
                              invertPermutationVector(relabel.getBits()),
                              wanted->second));
    if (wanted != layouts.end() || it == layouts.end())
      return;
    if (auto relabel = dyn_cast<RelabelOp>(op))
      want(relabel.getResult(),
           RelabeledAttr::get(context, relabel.getDim(), relabel.getBits(),
                              it->second));
    else
      want(op->getResult(0), TransposedAttr::get(context, it->second));
  });
}

LogicalResult LayoutSolver::rewrite(Value value, Attribute layout) {
  RankedTensorType type = getTileType(value.getType());
  auto emit = [&]() { return emitError(value.getLoc()); };
  RankedTensorType laidOut = RankedTensorType::getChecked(
      emit, type.getShape(), type.getElementType(), layout);
  if (!laidOut)
    return failure();
  if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements || !elements.isSplat())
      return constant.emitOpError("has no layout: it is no splat");
    constant.setValueAttr(elements.resizeSplat(laidOut));
  }
  value.setType(withTileType(value.getType(), laidOut));
  return success();
}

/// Whether a tile is the left operand of a product, which says its layout.
static bool isLeftOperand(Value tile) {
  return llvm::any_of(tile.getUses(), [](OpOperand &use) {
    return isa<DotOp, DotAsyncOp>(use.getOwner()) &&
           use.getOperandNumber() == 0;
  });
}

/// Whether a tile is transposed on its way.
static bool isTransposedLater(Value tile) {
  return llvm::any_of(tile.getUsers(), [](Operation *user) {
    return isa<TransposeOp>(user) ||
           (isa<RelabelOp>(user) && isTransposedLater(user->getResult(0)));
  });
}

/// Whether a tile, or a part of it, is unpacked.
static bool isUnpacked(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op))
    op = slice.getSource().getDefiningOp();
  return isa_and_nonnull<UnpackOp>(op);
}

void LayoutSolver::seed(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<DotOp, DotAsyncOp>([&](auto dot) { want(dot->getResult(0), acc); })
      .Case<StoreOp>([&](StoreOp store) {
        if (store.getValue().getType().getRank() == 2)
          want(store.getValue(), acc);
      })
      .Case<AddExactOp>([&](AddExactOp add) { want(add.getValue(), acc); })
      .Case<UnpackOp>([&](UnpackOp unpack) {
        want(unpack.getSource(), TransposingAttr::get(kernel.getContext()));
      })
      .Case<WriteOp>([&](WriteOp write) {
        // A vector of rows or of columns is laid out by what it is made of.
        if (write.getValue().getType().getRank() == 2 &&
            !isUnpacked(write.getValue()) &&
            !isa_and_nonnull<RelabelOp, TransposeOp>(
                write.getValue().getDefiningOp()))
          want(write.getValue(), acc);
      })
      .Case<ReadOp>([&](ReadOp read) {
        // Numbers of columns are laid out like the tiles that they are used in.
        if (isLeftOperand(read.getResult()) ||
            read.getResult().getType().getRank() == 1 ||
            llvm::any_of(read->getUsers(), llvm::IsaPred<UnpackOp>))
          return;
        bool isTransposed =
            isTransposedLater(read.getResult()) &&
            read.getResult().getType().getElementTypeBitWidth() == 8;
        want(read.getResult(),
             isTransposed ? Attribute(TransposingAttr::get(kernel.getContext()))
                          : acc);
      });
}

LogicalResult LayoutSolver::run() {
  kernel.walk([&](Operation *op) { seed(op); });
  do {
    if (failed(propagate()))
      return failure();
    seedRenamed();
    if (worklist.empty())
      seedRest();
  } while (!worklist.empty());
  for (auto [value, layout] : layouts)
    if (failed(rewrite(value, layout)))
      return failure();
  return success();
}

namespace {
struct AssignLayouts : fa3::tile::impl::AssignLayoutsBase<AssignLayouts> {
  using AssignLayoutsBase::AssignLayoutsBase;
  void runOnOperation() override {
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          separateSplats(kernel);
          LayoutSolver solver(kernel);
          if (failed(solver.run()))
            return failure();
          numTiles += solver.countTiles();
          return success();
        })))
      signalPassFailure();
  }
};
} // namespace
