//===- OutlineResults.cpp - the call in the place of attention ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OutlineCandidate.h"
#include "OutlineMemRefs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3::attention;

/// The extent of a dimension of a tensor that the function takes.
OpFoldResult Candidate::getExtent(Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.isDynamicDim(dim))
    return b.getIndexAttr(type.getDimSize(dim));
  if (llvm::is_contained(preparations, value.getDefiningOp()))
    return getResultExtent(cast<OpResult>(value), dim);
  const OrderedView &view = seen.find(value)->second;
  int64_t source = view.order.empty() ? dim : view.order[dim];
  if (Value memory = getMemory(view.value))
    return memref::DimOp::create(b, memory, source).getResult();
  return tensor::DimOp::create(b, view.value, source).getResult();
}

OpFoldResult Candidate::getResultExtent(OpResult result, int64_t dim) {
  auto type = cast<RankedTensorType>(result.getType());
  if (!type.isDynamicDim(dim))
    return b.getIndexAttr(type.getDimSize(dim));
  unsigned number = result.getResultNumber();
  if (auto rotary = dyn_cast<RotaryOp>(result.getOwner()))
    return getExtent(rotary.getSource(), dim);
  if (auto lists = dyn_cast<ListBlocksOp>(result.getOwner())) {
    // Numbers of batches, heads, queries and keys are operands in this order.
    Value rows = lists->getOperand(dim);
    if (dim < 2)
      return rows;
    Value size = arith::ConstantIndexOp::create(b, lists.getSizes()[dim - 2]),
          one = arith::ConstantIndexOp::create(b, 1);
    Value blocks = arith::CeilDivSIOp::create(b, rows, size);
    return arith::MaxSIOp::create(b, blocks, one).getResult();
  }
  if (auto quantize = dyn_cast<QuantizeOp>(result.getOwner())) {
    Value source = quantize.getSource();
    if (number == 0 || dim == 0)
      return getExtent(source, dim);
    if (dim == 1)
      return getExtent(source, quantize.getHeadAxis());
    Value length = getValueOrCreateConstantIndexOp(
        b, b.getLoc(), getExtent(source, quantize.getSequenceAxis()));
    Value rows = arith::ConstantIndexOp::create(b, quantize.getRows());
    return arith::CeilDivSIOp::create(b, length, rows).getResult();
  }
  if (auto merge = dyn_cast<MergeOp>(root))
    return getExtent(number == 0 ? merge.getParts() : merge.getLseParts(),
                     dim + 1);
  if (auto backward = dyn_cast<BackwardOp>(root)) {
    constexpr unsigned kOfOperands = 3;
    if (number < kOfOperands)
      return getExtent(root->getOperand(number), dim);
    int64_t aux = backward.getAuxNumbers()[number - kOfOperands];
    return getExtent(backward.getAux()[aux], dim);
  }
  auto forward = cast<ForwardOp>(root);
  ScoredOpInterface scored = forward;
  if (forward.isOfRows(root->getResult(number))) {
    int64_t head = scored.getHeadAxisOf(forward.getQ()),
            sequence = scored.getSequenceAxisOf(forward.getQ()),
            outer = std::min(head, sequence);
    dim = dim < outer ? dim : dim == outer ? head : sequence;
  }
  return getExtent(forward.getQ(), dim);
}

/// Where a result is written whose users see its dimensions in `order`: what
/// they would write to, if it is there, or memory that has no contents.
Value Candidate::createInit(OpResult result, ArrayRef<int64_t> order,
                            DominanceInfo &dominance) {
  if (auto append = dyn_cast<AppendOp>(root))
    return append.getCache();
  if (!order.empty() && result.hasOneUse()) {
    auto user = cast<DestinationStyleOpInterface>(*result.user_begin());
    Value init = user.getDpsInits().front();
    if (!init.getDefiningOp<tensor::EmptyOp>() &&
        dominance.properlyDominates(init, root))
      return init;
  }
  SmallVector<Value> extents;
  SmallVector<int64_t> shape = getShape(result, order, extents);
  return tensor::EmptyOp::create(
      b, shape, cast<RankedTensorType>(result.getType()).getElementType(),
      extents);
}

SmallVector<int64_t> Candidate::getShape(OpResult result,
                                         ArrayRef<int64_t> order,
                                         SmallVector<Value> &extents) {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<int64_t> shape;
  for (int64_t position = 0; position < type.getRank(); ++position) {
    int64_t dim = order.empty() ? position : order[position];
    shape.push_back(type.getDimSize(dim));
    if (type.isDynamicDim(dim))
      extents.push_back(getValueOrCreateConstantIndexOp(
          b, b.getLoc(), getResultExtent(result, dim)));
  }
  return shape;
}

SmallVector<int64_t> Candidate::findOrder(OpResult result) {
  // That of the cache.
  if (isa<AppendOp>(root))
    return {};
  Operation *blocker = nullptr;
  auto order = getTranspositionOfUsers(result, blocker);
  if (blocker)
    remark::missed(blocker->getLoc(), getOutlineRemark("Transposition", root))
        << remark::reason("result {0} is moved in memory: not all of its "
                          "users transpose it alike and keep the last "
                          "dimension",
                          result.getResultNumber());
  if (order)
    remark::passed(root->getLoc(), getOutlineRemark("Transposition", root))
        << remark::add("result {0} is written in the order {1}",
                       result.getResultNumber(), toText(*order));
  return order.value_or(SmallVector<int64_t>());
}

void Candidate::replaceOnTensors(StringRef callee,
                                 ArrayRef<SmallVector<int64_t>> orders,
                                 DominanceInfo &dominance) {
  SmallVector<Value> inits;
  for (auto [result, order] : llvm::zip(results, orders))
    inits.push_back(createInit(result, order, dominance));
  auto call =
      CallOp::create(b, callee, inputs, inits, views, isa<AppendOp>(root));
  for (auto [number, result] : llvm::enumerate(results)) {
    Value value = call.getResult(number);
    if (orders[number].empty())
      result.replaceAllUsesWith(value);
    else
      replaceTransposed(result, value, views[inputs.size() + number]);
  }
}

bool Candidate::isOnMemRefs() {
  bool isOn = false;
  for (Value input : inputs) {
    if (!isa<RankedTensorType>(input.getType()))
      continue;
    if (!getMemory(input))
      return false;
    isOn = true;
  }
  auto append = dyn_cast<AppendOp>(root);
  return isOn && (!append || getMemory(append.getCache()));
}

void Candidate::replaceOnMemRefs(StringRef callee,
                                 ArrayRef<SmallVector<int64_t>> orders,
                                 DominanceInfo &dominance) {
  SmallVector<Value> memory, inits;
  llvm::SmallDenseMap<Value, Value> contiguous;
  for (auto [number, input] : llvm::enumerate(inputs)) {
    Value source = getMemory(input);
    if (!source) {
      memory.push_back(input);
      continue;
    }
    auto [entry, isNew] = contiguous.try_emplace(source);
    if (isNew) {
      entry->second = getContiguous(b, source);
      if (entry->second != source)
        remark::missed(root->getLoc(), getOutlineRemark("Copy", root))
            << remark::reason("input {0} is moved in memory: elements of its "
                              "last dimension are apart",
                              number);
    }
    memory.push_back(entry->second);
  }
  Destinations destinations(root, memory, dominance);
  for (auto [result, order] : llvm::zip(results, orders)) {
    if (auto append = dyn_cast<AppendOp>(root)) {
      inits.push_back(getCache(b, append));
      continue;
    }
    // What transposes it does so by strides.
    SmallVector<Value> seenByUsers;
    for (Operation *user : result.getUsers())
      if (!order.empty() && !isa<tensor::DimOp>(user))
        seenByUsers.push_back(user->getResult(0));
    Value value = order.empty()             ? Value(result)
                  : seenByUsers.size() == 1 ? seenByUsers.front()
                                            : Value();
    if (Value known = value ? destinations.take(value) : Value()) {
      inits.push_back(known);
      continue;
    }
    SmallVector<Value> extents;
    SmallVector<int64_t> shape = getShape(result, order, extents);
    auto type = MemRefType::get(
        shape, cast<RankedTensorType>(result.getType()).getElementType());
    inits.push_back(memref::AllocOp::create(
        b, type, extents, b.getI64IntegerAttr(kAllocationAlignment)));
  }
  CallOp::create(b, callee, memory, inits, views, isa<AppendOp>(root));
  for (auto [number, result] : llvm::enumerate(results)) {
    Value tensor = createTensor(b, inits[number]);
    if (orders[number].empty())
      result.replaceAllUsesWith(tensor);
    else
      replaceTransposed(result, tensor, views[inputs.size() + number]);
    lowerUses(tensor, inits[number]);
  }
}

void Candidate::replace(StringRef callee, DominanceInfo &dominance) {
  SmallVector<SmallVector<int64_t>> orders;
  for (OpResult result : results) {
    orders.push_back(findOrder(result));
    // Dimension order[d] of the result is dimension d of what is written.
    SmallVector<int64_t> &view = views.emplace_back(orders.back().size());
    for (auto [dim, source] : llvm::enumerate(orders.back()))
      view[source] = dim;
  }
  if (isOnMemRefs())
    replaceOnMemRefs(callee, orders, dominance);
  else
    replaceOnTensors(callee, orders, dominance);
  eraseWithDescriptions(root);
  for (Operation *op : llvm::reverse(preparations))
    op->erase();
  llvm::erase_if(originals, [](Value value) {
    return !isa<RankedTensorType>(value.getType());
  });
  eraseDeadViews(originals);
}

/// Users see what was written as it is, and extents where they are now.
void Candidate::replaceTransposed(OpResult result, Value value,
                                  ArrayRef<int64_t> view) {
  SmallVector<Value> inits;
  for (Operation *user : llvm::make_early_inc_range(result.getUsers())) {
    OpBuilder at(user);
    if (auto extent = dyn_cast<tensor::DimOp>(user)) {
      Value dim = arith::ConstantIndexOp::create(
          at, user->getLoc(), view[*extent.getConstantIndex()]);
      extent.getSourceMutable().assign(value);
      extent.getIndexMutable().assign(dim);
      continue;
    }
    Value seenByUser = value, own = user->getResult(0);
    if (own.getType() != value.getType())
      seenByUser =
          tensor::CastOp::create(at, user->getLoc(), own.getType(), value);
    inits.push_back(
        cast<DestinationStyleOpInterface>(user).getDpsInits().front());
    own.replaceAllUsesWith(seenByUser);
    user->erase();
  }
  eraseDeadViews(inits);
}
