//===- SplitSums.cpp - tile-split-sums ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A dataflow over dimensions, as that of replicas over rows: from the columns
// of a sum through every operation both ways. What is divided is copied for
// every piece; what was whole is dead then.
//
//===----------------------------------------------------------------------===//

#include "../Groups/Roles.h"
#include "../Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fa3::tile {
#define GEN_PASS_DEF_SPLITSUMS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Columns of a product of the tensor core, and those of a row of 128 bytes in
/// shared memory, in which pieces are counted.
static constexpr int64_t kMostColumns = 256, kColumnUnit = 64;

namespace {
struct Piece {
  int64_t first, extent;
};

class ColumnSplitter {
public:
  ColumnSplitter(int64_t columns);
  LogicalResult analyze(Value sum);
  void rewrite(Block &block);

private:
  LogicalResult visit(Operation *op, Value value, int64_t dim);
  LogicalResult visitDot(DotOp dot, Value value, int64_t dim);
  LogicalResult visitWhere(WhereOp where, Value value, int64_t dim);
  LogicalResult visitLoad(LoadOp load, int64_t dim);
  InFlightDiagnostic refuse(Operation *op, StringRef what) const;
  /// Records that dimension `dim` of `value` is divided.
  void divide(Value value, int64_t dim) {
    if (isa<RankedTensorType>(value.getType()))
      worklist.push_back({value, dim});
  }
  bool isDivided(Value value) const { return dims.contains(value); }
  bool touches(Operation *op) const {
    return llvm::any_of(op->getOperands(),
                        [&](Value value) { return isDivided(value); }) ||
           llvm::any_of(op->getResults(),
                        [&](Value value) { return isDivided(value); });
  }
  Type getPieceType(Value value, unsigned piece) const;
  void append(SmallVectorImpl<Value> &to, Value value) {
    llvm::append_range(to, parts.lookup(value));
  }
  void adopt(Value value, int64_t dim, ValueRange pieces) {
    dims[value] = dim;
    parts[value].assign(pieces.begin(), pieces.end());
  }
  void rewriteOp(Operation *op);
  void rewriteChain(DotOp dot);
  void rewriteLoop(scf::ForOp loop);
  void rewriteBranch(scf::IfOp branch);
  void rewriteWhere(WhereOp where);
  Operation *copy(OpBuilder &b, Operation *op, unsigned piece,
                  IRMapping &mapping);
  void mapOperands(Operation *op, unsigned piece, IRMapping &mapping);

  SmallVector<Piece> pieces;
  SmallVector<std::pair<Value, int64_t>> worklist;
  llvm::DenseMap<Value, int64_t> dims;
  llvm::DenseMap<Value, SmallVector<Value>> parts;
  /// Products that sum up over what is divided.
  llvm::DenseSet<Operation *> chained;
};
} // namespace

/// As even as whole units of columns allow.
ColumnSplitter::ColumnSplitter(int64_t columns) {
  int64_t count = llvm::divideCeil(columns, kMostColumns);
  int64_t width = llvm::alignTo(llvm::divideCeil(columns, count), kColumnUnit);
  for (int64_t first = 0; first < columns; first += width)
    pieces.push_back({first, std::min(width, columns - first)});
}

LogicalResult ColumnSplitter::visitLoad(LoadOp load, int64_t dim) {
  if (dim + 1 == load.getType().getRank())
    return success();
  return load.emitOpError("has rows that are columns of a sum for several "
                          "products, which is not supported");
}

InFlightDiagnostic ColumnSplitter::refuse(Operation *op, StringRef what) const {
  return op->emitOpError() << what << " the columns of a sum that takes "
                           << pieces.size() << " products";
}

LogicalResult ColumnSplitter::visitDot(DotOp dot, Value value, int64_t dim) {
  int64_t own = dot.getRhsOrder() == RhsOrder::kn;
  // What is summed up over becomes a chain of products.
  int64_t ofLhs = dot.getLhsOrder() == LhsOrder::mk;
  if ((value == dot.getLhs() && dim == ofLhs) ||
      (value == dot.getRhs() && dim == 1 - own)) {
    chained.insert(dot);
    divide(dot.getLhs(), ofLhs);
    divide(dot.getRhs(), 1 - own);
    return success();
  }
  if (value == dot.getLhs() || dim != (value == dot.getRhs() ? own : 1))
    return refuse(dot, "multiplies by");
  divide(dot.getRhs(), own);
  divide(dot.getAcc(), 1);
  divide(dot.getResult(), 1);
  return success();
}

LogicalResult ColumnSplitter::visitWhere(WhereOp where, Value value,
                                         int64_t dim) {
  if (value == where.getCondition())
    return refuse(where, "chooses by");
  for (unsigned i = 0; i < where.getNumResults(); ++i)
    if (where.getResult(i) == value || where.getOtherwise()[i] == value) {
      if (dim < where.getCondition().getType().getRank())
        divide(where.getCondition(), dim);
      divide(where.getOtherwise()[i], dim);
      divide(where.getResult(i), dim);
      divide(where.getYield().getOperand(i), dim);
    }
  return success();
}

/// Follows a divided value through one operation that defines or uses it.
LogicalResult ColumnSplitter::visit(Operation *op, Value value, int64_t dim) {
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
      .Case<DotOp>([&](DotOp dot) { return visitDot(dot, value, dim); })
      .Case<ReduceOp>([&](ReduceOp reduce) -> LogicalResult {
        if (value != reduce.getSource())
          return success();
        return refuse(op, "reduces");
      })
      .Case<RelabelOp>([&](RelabelOp relabel) -> LogicalResult {
        if (dim == static_cast<int64_t>(relabel.getDim()))
          return refuse(op, "permutes");
        return divideAll({relabel.getSource(), relabel.getResult()});
      })
      .Case<WhereOp>(
          [&](WhereOp where) { return visitWhere(where, value, dim); })
      .Case<LoadOp>([&](LoadOp load) { return visitLoad(load, dim); })
      .Case<StoreOp>([&](StoreOp store) -> LogicalResult {
        if (dim + 1 == store.getValue().getType().getRank())
          return success();
        return refuse(op, "stores as rows");
      })
      .Case<CoordOp>([&](auto) { return success(); })
      .Default([&](Operation *) { return refuse(op, "cannot divide"); });
}

LogicalResult ColumnSplitter::analyze(Value sum) {
  divide(sum, 1);
  while (!worklist.empty()) {
    auto [value, dim] = worklist.pop_back_val();
    auto [it, inserted] = dims.insert({value, dim});
    if (!inserted) {
      if (it->second == dim)
        continue;
      return emitError(value.getLoc())
             << "tile would be divided along both dimensions among products "
                "for a wide sum";
    }
    // Each use of a constant may have its own.
    Operation *op = value.getDefiningOp();
    if (op && isa<arith::ConstantOp, tensor::SplatOp>(op)) {
      auto constant = dyn_cast<arith::ConstantOp>(op);
      auto elements =
          constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
      if (constant && (!elements || !elements.isSplat()))
        return constant.emitOpError("cannot be divided among products for a "
                                    "wide sum: it is no splat");
      continue;
    }
    if (failed(visit(op ? op
                        : cast<BlockArgument>(value).getOwner()->getParentOp(),
                     value, dim)))
      return failure();
    for (Operation *user : value.getUsers())
      if (failed(visit(user, value, dim)))
        return failure();
  }
  return success();
}

Type ColumnSplitter::getPieceType(Value value, unsigned piece) const {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dims.lookup(value)] = pieces[piece].extent;
  return RankedTensorType::get(shape, type.getElementType(),
                               type.getEncoding());
}

void ColumnSplitter::mapOperands(Operation *op, unsigned piece,
                                 IRMapping &mapping) {
  for (Value operand : op->getOperands())
    if (isDivided(operand) && !mapping.contains(operand))
      if (auto it = parts.find(operand); it != parts.end())
        mapping.map(operand, it->second[piece]);
}

/// An operation for one piece of what is divided.
Operation *ColumnSplitter::copy(OpBuilder &b, Operation *op, unsigned piece,
                                IRMapping &mapping) {
  mapOperands(op, piece, mapping);
  ImplicitLocOpBuilder at(op->getLoc(), b);
  int64_t first = pieces[piece].first;
  auto shift = [&](OpOperand &index) {
    if (first)
      index.set(arith::AddIOp::create(
          at, index.get(), arith::ConstantIndexOp::create(at, first)));
  };
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto type = cast<RankedTensorType>(getPieceType(op->getResult(0), piece));
    return arith::ConstantOp::create(
        at, cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type));
  }
  Operation *copied = at.clone(*op, mapping);
  for (auto [from, to] : llvm::zip(op->getResults(), copied->getResults()))
    if (isDivided(from))
      to.setType(getPieceType(from, piece));
  at.setInsertionPoint(copied);
  llvm::TypeSwitch<Operation *>(copied)
      .Case<CoordOp>([&](CoordOp coord) {
        if (dims.lookup(op->getResult(0)) ==
            static_cast<int64_t>(coord.getDim()))
          shift(coord.getOffsetMutable());
      })
      .Case<StoreOp>([&](StoreOp store) {
        shift(*std::prev(store.getIndicesMutable().end()));
      })
      .Case<LoadOp>([&](LoadOp load) {
        if (!load.getPieces())
          return shift(*std::prev(load.getIndicesMutable().end()));
        Operation *yield = load.getPlaces().front().front().getTerminator();
        at.setInsertionPoint(yield);
        shift(yield->getOpOperand(yield->getNumOperands() - 1));
      });
  return copied;
}

void ColumnSplitter::rewriteLoop(scf::ForOp loop) {
  SmallVector<std::pair<unsigned, int64_t>> carried;
  SmallVector<Value> inits;
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (isDivided(argument)) {
      carried.push_back({i, dims.lookup(argument)});
      append(inits, loop.getInitArgs()[i]);
      dims.erase(argument);
      dims.erase(loop.getResult(i));
    }
  if (carried.empty())
    return rewrite(*loop.getBody());
  unsigned before = loop.getNumResults();
  loop = appendIterArgs(loop, inits);
  unsigned count = pieces.size();
  for (auto [k, entry] : llvm::enumerate(carried)) {
    auto [i, dim] = entry;
    unsigned at = before + k * count;
    adopt(loop.getRegionIterArg(i), dim,
          loop.getRegionIterArgs().slice(at, count));
    adopt(loop.getResult(i), dim, loop.getResults().slice(at, count));
  }
  rewrite(*loop.getBody());
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [k, entry] : llvm::enumerate(carried)) {
    ArrayRef<Value> next = parts[yield->getOperand(entry.first)];
    for (auto [p, value] : llvm::enumerate(next))
      yield->setOperand(before + k * count + p, value);
    // What was whole is not carried on.
    yield->setOperand(entry.first, loop.getRegionIterArg(entry.first));
  }
}

void ColumnSplitter::rewriteBranch(scf::IfOp branch) {
  rewrite(*branch.thenBlock());
  if (branch.elseBlock())
    rewrite(*branch.elseBlock());
  SmallVector<std::pair<unsigned, int64_t>> carried;
  SmallVector<Value> placeholders;
  for (auto [i, result] : llvm::enumerate(branch.getResults()))
    if (isDivided(result)) {
      carried.push_back({i, dims.lookup(result)});
      append(placeholders, branch.elseYield().getOperand(i));
      dims.erase(result);
    }
  if (carried.empty())
    return;
  // Both arms get the values of one, and then their own.
  unsigned before = branch.getNumResults(), count = pieces.size();
  branch = appendResults(branch, placeholders);
  for (auto [k, entry] : llvm::enumerate(carried)) {
    unsigned at = before + k * count;
    for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
      for (auto [p, value] :
           llvm::enumerate(parts[yield.getOperand(entry.first)]))
        yield->setOperand(at + p, value);
    adopt(branch.getResult(entry.first), entry.second,
          branch.getResults().slice(at, count));
  }
}

/// One operation for each piece. What is not divided stays with the first.
void ColumnSplitter::rewriteWhere(WhereOp where) {
  OpBuilder b(where);
  auto make = [&](ArrayRef<unsigned> indices, unsigned piece) {
    auto getPiece = [&](Value value) {
      return isDivided(value) ? parts[value][piece] : value;
    };
    SmallVector<Value> otherwise, yields;
    SmallVector<Type> types;
    IRMapping mapping;
    for (unsigned i : indices) {
      otherwise.push_back(getPiece(where.getOtherwise()[i]));
      types.push_back(otherwise.back().getType());
    }
    auto part = WhereOp::create(b, where.getLoc(), types,
                                getPiece(where.getCondition()), otherwise);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&part.getBody());
    for (Operation &op : where.getBody().front().without_terminator()) {
      Operation *copied =
          touches(&op) ? copy(b, &op, piece, mapping) : b.clone(op, mapping);
      for (auto [from, to] : llvm::zip(op.getResults(), copied->getResults()))
        mapping.map(from, to);
    }
    for (unsigned i : indices) {
      Value yielded = where.getYield().getOperand(i);
      yields.push_back(mapping.contains(yielded) ? mapping.lookup(yielded)
                                                 : getPiece(yielded));
    }
    YieldOp::create(b, where.getLoc(), yields);
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(part.getBody().front())))
      if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
    return part;
  };
  SmallVector<unsigned> divided, all;
  for (unsigned i = 0; i < where.getNumResults(); ++i) {
    if (isDivided(where.getResult(i)))
      divided.push_back(i);
    all.push_back(i);
  }
  if (divided.empty())
    return;
  for (unsigned p = 0; p < pieces.size(); ++p) {
    WhereOp part = make(p ? divided : all, p);
    for (auto [i, result] : llvm::zip(p ? divided : all, part.getResults())) {
      if (isDivided(where.getResult(i)))
        parts[where.getResult(i)].push_back(result);
      else
        where.getResult(i).replaceAllUsesWith(result);
    }
  }
}

/// One product for each piece, onto that of the piece in front.
void ColumnSplitter::rewriteChain(DotOp dot) {
  OpBuilder b(dot);
  Value sum = dot.getAcc();
  for (unsigned p = 0; p < pieces.size(); ++p) {
    IRMapping mapping;
    mapOperands(dot, p, mapping);
    auto copied = cast<DotOp>(b.clone(*dot, mapping));
    copied.getAccMutable().assign(sum);
    sum = copied.getResult();
  }
  dot.getResult().replaceAllUsesWith(sum);
}

void ColumnSplitter::rewriteOp(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return rewriteLoop(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return rewriteBranch(branch);
  if (auto where = dyn_cast<WhereOp>(op))
    return rewriteWhere(where);
  if (!touches(op))
    return;
  if (chained.contains(op))
    return rewriteChain(cast<DotOp>(op));
  OpBuilder b(op);
  for (unsigned p = 0; p < pieces.size(); ++p) {
    IRMapping mapping;
    Operation *copied = copy(b, op, p, mapping);
    for (auto [from, to] : llvm::zip(op->getResults(), copied->getResults()))
      if (isDivided(from))
        parts[from].push_back(to);
  }
  if (isa<StoreOp>(op))
    op->erase();
}

void ColumnSplitter::rewrite(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    rewriteOp(&op);
}

/// The sum of most columns that one product cannot have, and whose rows are
/// those of one warp group.
static std::optional<CarriedSum> findWideSum(gpu::GPUFuncOp kernel) {
  for (CarriedSum sum : findCarriedSums(kernel)) {
    RankedTensorType type = sum.dot.getType();
    if (type.getDimSize(0) == kRowsPerReplica &&
        type.getDimSize(1) > kMostColumns)
      return sum;
  }
  return std::nullopt;
}

/// A load of some columns of what another loads.
static Value loadColumns(OpBuilder &b, LoadOp load, Piece piece) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(load);
  auto copy = cast<LoadOp>(b.clone(*load));
  OpOperand *column = nullptr;
  if (copy.getPieces()) {
    Operation *yield = copy.getPlaces().front().front().getTerminator();
    b.setInsertionPoint(yield);
    column = &yield->getOpOperand(yield->getNumOperands() - 1);
  } else {
    b.setInsertionPoint(copy);
    column = &*std::prev(copy.getIndicesMutable().end());
  }
  if (piece.first)
    column->set(arith::AddIOp::create(
        b, load.getLoc(), column->get(),
        arith::ConstantIndexOp::create(b, load.getLoc(), piece.first)));
  RankedTensorType type = load.getType();
  copy.getResult().setType(type.clone({type.getDimSize(0), piece.extent}));
  return copy.getResult();
}

/// A product in a loop of what the loop loads, over more columns than a row of
/// memory has room for, that no sum is: its result is for one step.
static bool isLongInStep(DotOp dot) {
  auto loop = dot->getParentOfType<scf::ForOp>();
  auto lhs = dot.getLhs().getDefiningOp<LoadOp>(),
       rhs = dot.getRhs().getDefiningOp<LoadOp>();
  return loop && lhs && rhs && lhs->hasOneUse() && rhs->hasOneUse() &&
         loop->isAncestor(rhs) && dot.getLhsOrder() == LhsOrder::mk &&
         dot.getRhsOrder() == RhsOrder::nk &&
         dot.getType().getDimSize(0) == kRowsPerReplica &&
         lhs.getType().getDimSize(1) > kMostColumns &&
         lhs.getType().getDimSize(1) % kColumnUnit == 0 &&
         dot.getAcc().getDefiningOp<arith::ConstantOp>();
}

/// Products over columns become chains of products over some of them, whose
/// operands are loaded, awaited and given back one by one.
static int64_t splitContractions(gpu::GPUFuncOp kernel) {
  // Pieces of 128 or 192 columns, whichever divide better: with four of 512
  // each has time to arrive (docs/experiments/wide-heads.md).
  constexpr int64_t kColumns = 160;
  SmallVector<DotOp> dots;
  kernel.walk([&](DotOp dot) {
    if (isLongInStep(dot))
      dots.push_back(dot);
  });
  for (DotOp dot : dots) {
    auto lhs = dot.getLhs().getDefiningOp<LoadOp>(),
         rhs = dot.getRhs().getDefiningOp<LoadOp>();
    int64_t columns = lhs.getType().getDimSize(1),
            count = llvm::divideCeil(columns, kColumns),
            width =
                llvm::alignTo(llvm::divideCeil(columns, count), kColumnUnit);
    OpBuilder b(dot);
    Value sum = dot.getAcc();
    for (int64_t first = 0; first < columns; first += width) {
      Piece piece{first, std::min(width, columns - first)};
      auto copy = cast<DotOp>(b.clone(*dot));
      copy.getLhsMutable().assign(loadColumns(b, lhs, piece));
      copy.getRhsMutable().assign(loadColumns(b, rhs, piece));
      copy.getAccMutable().assign(sum);
      sum = copy.getResult();
    }
    dot.getResult().replaceAllUsesWith(sum);
    dot.erase();
    lhs.erase();
    rhs.erase();
  }
  return dots.size();
}

namespace {
struct SplitSums : fa3::tile::impl::SplitSumsBase<SplitSums> {
  using SplitSumsBase::SplitSumsBase;
  void runOnOperation() override {
    LogicalResult result =
        forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          while (std::optional<CarriedSum> sum = findWideSum(kernel)) {
            ColumnSplitter splitter(sum->dot.getType().getDimSize(1));
            if (failed(splitter.analyze(sum->dot.getResult())))
              return failure();
            splitter.rewrite(kernel.getBody().front());
            ++numSplit;
            numSplit += splitContractions(kernel);
            // What was whole has no use any more.
            OpPassManager cleanup(gpu::GPUFuncOp::getOperationName());
            cleanup.addPass(createCanonicalizerPass());
            cleanup.addPass(createCSEPass());
            if (failed(runPipeline(cleanup, kernel)))
              return failure();
          }
          return success();
        });
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
