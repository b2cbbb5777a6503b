//===- OutlineViews.cpp - orders of dimensions at a call ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OutlineViews.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa3::attention;

static bool isIdentity(ArrayRef<int64_t> order) {
  return llvm::all_of(llvm::enumerate(order), [](auto entry) {
    return static_cast<int64_t>(entry.index()) == entry.value();
  });
}

std::optional<SmallVector<int64_t>>
fa3::attention::getTransposition(Operation *op) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  if (auto transpose = dyn_cast<linalg::TransposeOp>(op))
    return llvm::to_vector(transpose.getPermutation());
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumDpsInits() != 1 || !generic.hasPureTensorSemantics())
    return std::nullopt;
  Block *body = generic.getBody();
  auto yield = cast<linalg::YieldOp>(body->getTerminator());
  if (!llvm::hasSingleElement(*body) ||
      yield.getValues().front() != body->getArgument(0))
    return std::nullopt;
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  if (!maps[0].isPermutation() || !maps[1].isPermutation())
    return std::nullopt;
  // Dimension r of the operand is loop maps[0](r); dimension d of the result is
  // loop maps[1](d).
  AffineMap loopToOperand = inversePermutation(maps[0]);
  SmallVector<int64_t> order;
  for (unsigned dim = 0; dim < maps[1].getNumResults(); ++dim)
    order.push_back(loopToOperand.getDimPosition(maps[1].getDimPosition(dim)));
  return order;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

namespace {
class Taker {
public:
  explicit Taker(OpBuilder &builder) : builder(builder) {}

  /// What `value` is without transpositions.
  OrderedView take(Value value);
  /// Erases what was built and is not used for `value`.
  void cleanUp(Value value) {
    for (Operation *op : llvm::reverse(built))
      if (op->use_empty() && op != value.getDefiningOp())
        op->erase();
    built.clear();
  }

  Operation *blocker = nullptr;

private:
  OrderedView takeCast(tensor::CastOp op, const OrderedView &source);
  OrderedView takeSlice(tensor::ExtractSliceOp op, const OrderedView &source);
  OrderedView takeExpanded(tensor::ExpandShapeOp op, const OrderedView &source);
  OrderedView takeCollapsed(tensor::CollapseShapeOp op,
                            const OrderedView &source);
  template <typename Op, typename... Args>
  Value build(Op like, Args &&...args) {
    auto op = Op::create(builder, like.getLoc(), std::forward<Args>(args)...);
    built.push_back(op);
    return op;
  }

  OpBuilder &builder;
  SmallVector<Operation *> built;
};
} // namespace

OrderedView Taker::takeCast(tensor::CastOp op, const OrderedView &source) {
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<int64_t> shape(type.getRank());
  for (auto [dim, position] : llvm::enumerate(source.order))
    shape[position] = type.getDimSize(dim);
  auto result = RankedTensorType::get(shape, type.getElementType());
  return {build(op, result, source.value), source.order};
}

OrderedView Taker::takeSlice(tensor::ExtractSliceOp op,
                             const OrderedView &source) {
  size_t rank = source.order.size();
  SmallVector<OpFoldResult> offsets(rank), sizes(rank), strides(rank);
  llvm::SmallBitVector dropped = op.getDroppedDims(), droppedOfSource(rank);
  SmallVector<int64_t> extents(rank);
  for (auto [dim, position] : llvm::enumerate(source.order)) {
    offsets[position] = op.getMixedOffsets()[dim];
    sizes[position] = op.getMixedSizes()[dim];
    strides[position] = op.getMixedStrides()[dim];
    droppedOfSource[position] = dropped[dim];
    extents[position] = op.getStaticSizes()[dim];
  }
  // Positions among the dimensions that are left.
  SmallVector<int64_t> shape, place(rank), order;
  for (size_t position = 0; position < rank; ++position) {
    place[position] = shape.size();
    if (!droppedOfSource[position])
      shape.push_back(extents[position]);
  }
  for (auto [dim, position] : llvm::enumerate(source.order))
    if (!dropped[dim])
      order.push_back(place[position]);
  // What the type of the result says may be more than the sizes do.
  for (auto [dim, position] : llvm::enumerate(order))
    shape[position] = op.getType().getDimSize(dim);
  auto type = RankedTensorType::get(shape, op.getType().getElementType());
  return {build(op, type, source.value, offsets, sizes, strides), order};
}

OrderedView Taker::takeExpanded(tensor::ExpandShapeOp op,
                                const OrderedView &source) {
  SmallVector<ReassociationIndices> groups = op.getReassociationIndices(),
                                    ofSource(groups.size());
  SmallVector<OpFoldResult> extents = op.getMixedOutputShape(), ofResult;
  SmallVector<int64_t> group(groups.size()), shape, order(extents.size());
  for (auto [dim, position] : llvm::enumerate(source.order))
    group[position] = dim;
  for (size_t position = 0; position < groups.size(); ++position)
    for (int64_t dim : groups[group[position]]) {
      order[dim] = shape.size();
      ofSource[position].push_back(shape.size());
      shape.push_back(op.getResultType().getDimSize(dim));
      ofResult.push_back(extents[dim]);
    }
  auto type = RankedTensorType::get(shape, op.getResultType().getElementType());
  return {build(op, type, source.value, ofSource, ofResult), order};
}

OrderedView Taker::takeCollapsed(tensor::CollapseShapeOp op,
                                 const OrderedView &source) {
  SmallVector<ReassociationIndices> groups = op.getReassociationIndices();
  // Dimensions that become one lie side by side.
  SmallVector<std::pair<int64_t, int64_t>> starts;
  for (auto [dim, group] : llvm::enumerate(groups)) {
    for (size_t i = 1; i < group.size(); ++i)
      if (source.order[group[i]] != source.order[group[i - 1]] + 1)
        return {op.getResult(), {}};
    starts.push_back({source.order[group.front()], dim});
  }
  llvm::sort(starts);
  SmallVector<ReassociationIndices> ofSource;
  SmallVector<int64_t> shape, order(groups.size());
  int64_t next = 0;
  for (auto [position, entry] : llvm::enumerate(starts)) {
    int64_t dim = entry.second;
    order[dim] = position;
    ReassociationIndices &group = ofSource.emplace_back();
    for (size_t i = 0; i < groups[dim].size(); ++i)
      group.push_back(next++);
    shape.push_back(op.getResultType().getDimSize(dim));
  }
  auto type = RankedTensorType::get(shape, op.getResultType().getElementType());
  return {build(op, type, source.value, ofSource), order};
}

OrderedView Taker::take(Value value) {
  Operation *op = value.getDefiningOp();
  auto type = cast<RankedTensorType>(value.getType());
  if (!op || type.getEncoding())
    return {value, {}};
  if (std::optional<SmallVector<int64_t>> order = getTransposition(op)) {
    OrderedView source = take(op->getOperand(0));
    blocker = op;
    if (!source.order.empty())
      for (int64_t &dim : *order)
        dim = source.order[dim];
    return {source.value, *order};
  }
  if (!isa<tensor::CastOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp,
           tensor::CollapseShapeOp>(op) ||
      !isa<RankedTensorType>(op->getOperand(0).getType()))
    return {value, {}};
  OrderedView source = take(op->getOperand(0));
  if (source.order.empty())
    return {value, {}};
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return takeCast(cast, source);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return takeSlice(slice, source);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return takeExpanded(expand, source);
  return takeCollapsed(cast<tensor::CollapseShapeOp>(op), source);
}

static bool keepsLast(ArrayRef<int64_t> order) {
  return order.empty() ||
         order.back() == static_cast<int64_t>(order.size()) - 1;
}

OrderedView fa3::attention::takeTranspositions(OpBuilder &builder, Value value,
                                               Operation *&blocker) {
  Taker taker(builder);
  OrderedView view = taker.take(value);
  blocker = nullptr;
  if (!view.order.empty() && keepsLast(view.order)) {
    taker.cleanUp(view.value);
    if (isIdentity(view.order))
      view.order.clear();
    return view;
  }
  taker.cleanUp(value);
  blocker = taker.blocker;
  return {value, {}};
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

std::optional<SmallVector<int64_t>>
fa3::attention::getTranspositionOfUsers(Value result, Operation *&blocker) {
  std::optional<SmallVector<int64_t>> order;
  blocker = nullptr;
  for (Operation *user : result.getUsers())
    if (getTransposition(user))
      blocker = user;
  for (OpOperand &use : result.getUses()) {
    auto extent = dyn_cast<tensor::DimOp>(use.getOwner());
    if (extent && extent.getConstantIndex() &&
        *extent.getConstantIndex() <
            cast<RankedTensorType>(result.getType()).getRank())
      continue;
    auto own = getTransposition(use.getOwner());
    if (!own || use.getOperandNumber() != 0 || !keepsLast(*own) ||
        (order && *order != *own))
      return std::nullopt;
    order = own;
  }
  if (order)
    blocker = nullptr;
  return order;
}

static bool isView(Operation *op) {
  return op && (getTransposition(op) ||
                isa<tensor::CastOp, tensor::ExtractSliceOp,
                    tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                    tensor::EmptyOp, bufferization::ToTensorOp>(op));
}

void fa3::attention::eraseDeadViews(ArrayRef<Value> values) {
  llvm::SetVector<Operation *> views;
  for (Value value : values)
    if (isView(value.getDefiningOp()))
      views.insert(value.getDefiningOp());
  for (size_t i = 0; i < views.size(); ++i)
    for (Value operand : views[i]->getOperands())
      if (isView(operand.getDefiningOp()))
        views.insert(operand.getDefiningOp());
  // Users go before what they use.
  for (bool changes = true; changes;) {
    changes = false;
    for (Operation *op : llvm::to_vector(views))
      if (isa<bufferization::ToTensorOp>(op) ? op->use_empty()
                                             : isOpTriviallyDead(op)) {
        views.remove(op);
        op->erase();
        changes = true;
      }
  }
}
