//===- SplitRows.cpp - divides the rows of a group over replicas ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A dataflow over dimensions: which dimension of a tile, if any, is divided.
// It starts from the rows of products, or the columns of those with fewer, and
// follows every operation both ways.
//===----------------------------------------------------------------------===//

#include "SplitRows.h"
#include "../Utils.h"
#include "fa3/Dialect/Tile/IR/TileExactOps.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
class RowSplitter {
public:
  explicit RowSplitter(warp::GroupOp group)
      : group(group), replicas(group.getReplicas()) {}

  LogicalResult run();

private:
  LogicalResult analyze();
  LogicalResult chooseDimension(DotOp dot);
  void divideStores();
  LogicalResult visit(Operation *op, Value value, int64_t dim);
  /// Records that dimension `dim` of `value` is divided.
  void divide(Value value, int64_t dim) {
    if (getTileType(value.getType()))
      worklist.push_back({value, dim});
  }
  template <typename DotLike>
  LogicalResult visitDot(DotLike dot, Value value, int64_t dim);
  LogicalResult visitReduce(ReduceOp reduce, Value value, int64_t dim);
  void visitWhere(WhereOp where, Value value, int64_t dim);

  LogicalResult verifyFold(Operation *op) const;
  LogicalResult rewriteType(Value value, int64_t dim);
  void rewriteOffset(Operation *op);
  Value getFirstRow(ImplicitLocOpBuilder &b, int64_t rows);
  Value shift(ImplicitLocOpBuilder &b, Value offset, int64_t rows);

  warp::GroupOp group;
  int64_t replicas;
  SmallVector<std::pair<Value, int64_t>> worklist;
  llvm::MapVector<Value, int64_t> divided;
  /// The dimension of a product's result that is divided.
  llvm::DenseMap<Operation *, int64_t> resultDim;
  int64_t mostRows = 0; ///< of a product
};
} // namespace

template <typename DotLike>
LogicalResult RowSplitter::visitDot(DotLike dot, Value value, int64_t dim) {
  // The operand that has the divided dimension, the other one has it not.
  bool isByRows = resultDim.lookup(dot) == 0;
  Value operand = isByRows ? dot.getLhs() : dot.getRhs();
  int64_t own = isByRows ? dot.getLhsOrder() == LhsOrder::km
                         : dot.getRhsOrder() == RhsOrder::kn;
  int64_t expected = value == operand ? own : resultDim.lookup(dot);
  bool isOther = value == (isByRows ? dot.getRhs() : dot.getLhs());
  if (isOther || dim != expected)
    return dot.emitOpError("would be divided along a dimension other than the ")
           << (isByRows ? "rows" : "columns") << " of its result";
  divide(operand, own);
  divide(dot.getAcc(), resultDim.lookup(dot));
  divide(dot.getResult(), resultDim.lookup(dot));
  return success();
}

/// Rows of the products that have most of them, and where a replica gets as
/// many as the tensor core takes; columns of others.
LogicalResult RowSplitter::chooseDimension(DotOp dot) {
  constexpr int64_t kColumnUnit = 8;
  RankedTensorType type = dot.getResult().getType();
  if (type.getDimSize(0) == mostRows ||
      type.getDimSize(0) % (kRowsPerReplica * replicas) == 0) {
    resultDim[dot] = 0;
    return success();
  }
  if (type.getDimSize(1) % (kColumnUnit * replicas))
    return dot.emitOpError("cannot be divided among ")
           << replicas << " replicas: expects rows that are a multiple of "
           << kRowsPerReplica * replicas << ", or columns that are one of "
           << kColumnUnit * replicas << ", got " << type;
  resultDim[dot] = 1;
  return success();
}

LogicalResult RowSplitter::visitReduce(ReduceOp reduce, Value value,
                                       int64_t dim) {
  int64_t along = reduce.getDim();
  bool vanishes = !reduce.getModulo();
  if (value == reduce.getSource() && dim == along)
    return reduce.emitOpError(
        "sums over the dimension that is divided among replicas");
  int64_t sourceDim = dim, resultDim = dim;
  if (value == reduce.getSource())
    resultDim -= vanishes && along < dim;
  else
    sourceDim += vanishes && along <= dim;
  divide(reduce.getSource(), sourceDim);
  divide(reduce.getResult(), resultDim);
  if (reduce.getInit())
    divide(reduce.getInit(), resultDim);
  return success();
}

void RowSplitter::visitWhere(WhereOp where, Value value, int64_t dim) {
  // All results hang on the condition if it has the dimension.
  bool sharesDim = dim < where.getCondition().getType().getRank();
  for (unsigned i = 0; i < where.getNumResults(); ++i) {
    if (!sharesDim && where.getResult(i) != value &&
        where.getOtherwise()[i] != value)
      continue;
    divide(where.getOtherwise()[i], dim);
    divide(where.getResult(i), dim);
    divide(where.getYield().getOperand(i), dim);
  }
  if (sharesDim)
    divide(where.getCondition(), dim);
}

/// Follows a divided value through one operation that defines or uses it.
LogicalResult RowSplitter::visit(Operation *op, Value value, int64_t dim) {
  auto divideAll = [&](ValueRange values) {
    for (Value other : values)
      divide(other, dim);
    return success();
  };
  if (isElementwise(op)) {
    (void)divideAll(op->getOperands());
    return divideAll(op->getResults());
  }
  if (visitCarried(op, value, [&](Value other) { divide(other, dim); }) ||
      visitRenamed(op, value, dim,
                   [&](Value other, int64_t own) { divide(other, own); }))
    return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<DotOp>([&](auto dot) { return visitDot(dot, value, dim); })
      .Case<ReduceOp>(
          [&](ReduceOp reduce) { return visitReduce(reduce, value, dim); })
      .Case<RelabelOp>([&](RelabelOp relabel) -> LogicalResult {
        if (dim == static_cast<int64_t>(relabel.getDim()))
          return relabel.emitOpError("permutes the dimension that is divided "
                                     "among replicas");
        return divideAll({relabel.getSource(), relabel.getResult()});
      })
      .Case<ReadOp>([&](ReadOp read) {
        return divideAll({read.getView(), read.getResult()});
      })
      .Case<WriteOp>([&](WriteOp write) {
        return divideAll({write.getView(), write.getValue()});
      })
      .Case<WhereOp>([&](WhereOp where) {
        visitWhere(where, value, dim);
        return success();
      })
      .Case<AddExactOp>([&](AddExactOp add) {
        divide(add.getValue(), dim);
        for (Value index : add.getIndices())
          divide(index, dim);
        return success();
      })
      .Case<CoordOp, LoadOp, StoreOp, ViewOp, AnyPossibleOp>(
          [&](auto) { return success(); })
      .Default([&](Operation *other) {
        return other->emitOpError(
            "cannot be divided among the replicas of a group");
      });
}

/// Without a product a replica has as many rows of what is stored.
void RowSplitter::divideStores() {
  group.walk([&](StoreOp store) {
    auto type = cast<RankedTensorType>(store.getValue().getType());
    if (type.getRank() == 2 &&
        type.getDimSize(0) % (kRowsPerReplica * replicas) == 0)
      divide(store.getValue(), 0);
  });
}

LogicalResult RowSplitter::analyze() {
  group.walk([&](DotOp dot) {
    mostRows = std::max(mostRows, dot.getResult().getType().getDimSize(0));
  });
  WalkResult chosen = group.walk([&](DotOp dot) {
    if (failed(chooseDimension(dot)))
      return WalkResult::interrupt();
    divide(dot.getResult(), resultDim.lookup(dot));
    return WalkResult::advance();
  });
  if (chosen.wasInterrupted())
    return failure();
  if (mostRows == 0)
    divideStores();
  while (!worklist.empty()) {
    auto [value, dim] = worklist.pop_back_val();
    auto [it, inserted] = divided.insert({value, dim});
    if (!inserted) {
      if (it->second == dim)
        continue;
      return emitError(value.getLoc())
             << "tile would be divided among replicas along dimensions "
             << it->second << " and " << dim;
    }
    if (Operation *op = value.getDefiningOp()) {
      if (failed(visit(op, value, dim)))
        return failure();
    } else if (failed(
                   visit(cast<BlockArgument>(value).getOwner()->getParentOp(),
                         value, dim))) {
      return failure();
    }
    for (Operation *user : value.getUsers())
      if (failed(visit(user, value, dim)))
        return failure();
  }
  return success();
}

LogicalResult RowSplitter::rewriteType(Value value, int64_t dim) {
  RankedTensorType type = getTileType(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (shape[dim] % replicas)
    return emitError(value.getLoc())
           << "expects the replicas of the group (" << replicas
           << ") to divide the rows of a tile (" << shape[dim] << ")";
  shape[dim] /= replicas;
  RankedTensorType part =
      RankedTensorType::get(shape, type.getElementType(), type.getEncoding());
  if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements || !elements.isSplat())
      return constant.emitOpError(
          "cannot be divided among replicas: it is no splat");
    constant.setValueAttr(elements.resizeSplat(part));
  }
  value.setType(withTileType(value.getType(), part));
  return success();
}

/// A replica starts at the first of the elements that a fold takes together.
LogicalResult RowSplitter::verifyFold(Operation *op) const {
  auto verify = [&](Value tile, std::optional<int64_t> fold) -> LogicalResult {
    auto it = divided.find(tile);
    if (it == divided.end() || it->second != 0 || !fold)
      return success();
    int64_t rows = cast<RankedTensorType>(tile.getType()).getDimSize(0);
    if (rows / replicas % *fold)
      return op->emitOpError("expects fold (")
             << *fold << ") to divide the rows of a replica ("
             << rows / replicas << ")";
    return success();
  };
  if (auto load = dyn_cast<LoadOp>(op)) {
    if (load.getPieces() && divided.contains(load.getResult()))
      return load.emitOpError("in pieces has rows that are divided among "
                              "replicas, expects a whole tile for each");
    return verify(load.getResult(), load.getFold());
  }
  if (auto store = dyn_cast<StoreOp>(op))
    return verify(store.getValue(), store.getFold());
  return success();
}

/// g * rows.
Value RowSplitter::getFirstRow(ImplicitLocOpBuilder &b, int64_t rows) {
  return arith::MulIOp::create(b, group.getReplica(),
                               arith::ConstantIndexOp::create(b, rows));
}

/// offset + g * rows.
Value RowSplitter::shift(ImplicitLocOpBuilder &b, Value offset, int64_t rows) {
  return arith::AddIOp::create(b, offset, getFirstRow(b, rows));
}

/// Operations that address a tile by its first element start at the replica's.
void RowSplitter::rewriteOffset(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  auto shiftIndex = [&](MutableOperandRange indices, RankedTensorType tile,
                        Value value, std::optional<int64_t> fold) {
    auto it = divided.find(value);
    if (it == divided.end())
      return;
    unsigned position = indices.size() - tile.getRank() + it->second;
    int64_t extent = tile.getDimSize(it->second);
    if (fold && it->second == 0) { // the outer of two dimensions
      --position;
      extent /= *fold;
    }
    indices[position].assign(shift(b, indices[position].get(), extent));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<CoordOp>([&](CoordOp coord) {
        auto it = divided.find(coord.getResult());
        int64_t dim = coord.getDim();
        if (it != divided.end() && it->second == dim)
          coord.getOffsetMutable().assign(
              shift(b, coord.getOffset(),
                    coord.getResult().getType().getDimSize(dim)));
      })
      .Case<LoadOp>([&](LoadOp load) {
        RankedTensorType tile = load.getResult().getType();
        shiftIndex(load.getIndicesMutable(), tile, load.getResult(),
                   load.getFold());
        auto it = divided.find(load.getResult());
        if (load.getLimit() && it != divided.end() && it->second == 0)
          load.getLimitMutable().assign(arith::SubIOp::create(
              b, load.getLimit(), getFirstRow(b, tile.getDimSize(0))));
      })
      .Case<StoreOp>([&](StoreOp store) {
        shiftIndex(store.getIndicesMutable(), store.getValue().getType(),
                   store.getValue(), store.getFold());
      })
      .Case<ViewOp>([&](ViewOp view) {
        shiftIndex(view.getOffsetsMutable(), view.getView().getType().getTile(),
                   view.getView(), std::nullopt);
      });
}

LogicalResult RowSplitter::run() {
  if (failed(analyze()))
    return failure();
  SmallVector<Operation *> addressed;
  group.walk([&](Operation *op) {
    if (isa<CoordOp, LoadOp, StoreOp, ViewOp>(op))
      addressed.push_back(op);
  });
  for (Operation *op : addressed)
    if (failed(verifyFold(op)))
      return failure();
  WalkResult written = group.walk([&](WriteOp write) {
    if (divided.contains(write.getValue()))
      return WalkResult::advance();
    write.emitOpError("would be done by all replicas alike: expects a tile "
                      "that is divided among them");
    return WalkResult::interrupt();
  });
  if (written.wasInterrupted())
    return failure();
  for (auto [value, dim] : divided)
    if (failed(rewriteType(value, dim)))
      return failure();
  for (Operation *op : addressed)
    rewriteOffset(op);
  return success();
}

/// A product that takes a slot as its right operand, or with its columns as
/// rows, has a window of its own: it is divided in another way than what others
/// have of the slot, or not at all.
static void separateViews(warp::GroupOp group) {
  SmallVector<OpOperand *> uses;
  group.walk([&](DotOp dot) {
    if (dot.getLhsOrder() == LhsOrder::km)
      uses.push_back(&dot.getLhsMutable());
    uses.push_back(&dot.getRhsMutable());
  });
  for (OpOperand *use : uses) {
    auto view = use->get().getDefiningOp<ViewOp>();
    if (!view || view->hasOneUse())
      continue;
    OpBuilder builder(view);
    use->set(builder.clone(*view)->getResult(0));
  }
}

/// Whether entries of a ring that replicas share are acquired inside.
static bool movesSharedRings(Operation *op, warp::GroupOp group) {
  return op
      ->walk([&](warp::AcquireOp acquire) {
        Operation *ring = acquire.getRing().getDefiningOp();
        return WalkResult(failure(!group->isAncestor(ring)));
      })
      .wasInterrupted();
}

/// Rings between replicas move in all of them or in none: a guard around one
/// asks for the whole tile, with a mask of its own.
static LogicalResult separateGuards(warp::GroupOp group) {
  WalkResult result = group.walk([&](scf::IfOp guard) {
    auto condition = guard.getCondition().getDefiningOp<AnyPossibleOp>();
    if (!condition || !movesSharedRings(guard, group))
      return WalkResult::advance();
    llvm::SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.omitBlockArguments = true;
    options.inclusive = true;
    options.filter = [&](Operation *op) {
      return group->isAncestor(op) &&
             llvm::any_of(op->getResultTypes(),
                          llvm::IsaPred<RankedTensorType>);
    };
    if (failed(getBackwardSlice(condition.getMask(), &slice, options)))
      return WalkResult::interrupt();
    IRMapping mapping;
    OpBuilder builder(condition);
    for (Operation *op : mlir::topologicalSort(slice)) {
      if (!isPure(op) && !isa<LoadOp>(op)) {
        InFlightDiagnostic error = condition.emitOpError(
            "guards a ring between replicas: expects a mask that each of them "
            "can compute alone");
        error.attachNote(op->getLoc()) << "it depends on this";
        return WalkResult::interrupt();
      }
      builder.clone(*op, mapping);
    }
    condition.getMaskMutable().assign(
        mapping.lookupOrDefault(condition.getMask()));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult fa3::tile::splitRows(warp::GroupOp group) {
  separateSplats(group);
  separateViews(group);
  if (failed(separateGuards(group)))
    return failure();
  return RowSplitter(group).run();
}
