//===- Views.cpp - tensors followed through views -------------------------===//
//
// The dimensions of a tensor, in labels, through what only arranges them anew.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "DimensionMap.h"
#include "Elements.h"
#include "Foreign.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace fa3::convert;

/// Heads repeated in place: every one `repeats` times.
static State peelInterleave(Labels &labels, const State &state) {
  Operation *op = state.value.getDefiningOp();
  RankedTensorType source = getTensorType(getOperand(op, 0));
  std::optional<int64_t> repeats = getInteger(getOperand(op, 1));
  int64_t rank = state.dims.size();
  auto dim = wrap(getInteger(getOperand(op, 2)), rank);
  if (!source || source.getRank() != rank || !repeats || *repeats < 1 || !dim)
    return {};
  auto parts =
      labels.align(state.dims[*dim], {source.getDimSize(*dim), *repeats});
  if (failed(parts))
    return {};
  State result{op->getOperand(0), state.dims};
  result.dims[*dim] = (*parts)[0];
  return result;
}

State fa3::convert::peel(Labels &labels, const State &state) {
  Operation *op = state.value.getDefiningOp();
  if (getName(op) == "torch.aten.repeat_interleave.self_int")
    return peelInterleave(labels, state);
  std::optional<DimensionMap> view = getView(op);
  if (!view || state.dims.size() !=
                   static_cast<size_t>(getTensorType(state.value).getRank()))
    return {};
  RankedTensorType source = getTensorType(view->source);
  State result{view->source, Dims(source.getRank())};
  if (!view->expanded.empty()) {
    for (auto [from, group] : llvm::enumerate(view->expanded))
      for (int64_t dim : group)
        result.dims[from].append(state.dims[dim]);
    for (auto [dim, group] : llvm::enumerate(result.dims))
      if (group.empty())
        group.push_back(labels.create(source.getDimSize(dim)));
    return result;
  }
  if (view->groups.empty()) {
    for (auto [dim, from] : llvm::enumerate(view->from))
      if (from >= 0)
        result.dims[from] = state.dims[dim];
    for (auto [dim, group] : llvm::enumerate(result.dims))
      if (group.empty())
        group.push_back(labels.create(source.getDimSize(dim)));
    return result;
  }
  for (auto [dim, group] : llvm::enumerate(view->groups)) {
    SmallVector<int64_t> extents = llvm::map_to_vector(
        group, [&](int64_t from) { return source.getDimSize(from); });
    auto parts = labels.align(state.dims[dim], extents);
    if (group.empty())
      continue;
    if (failed(parts))
      return {};
    for (auto [from, part] : llvm::zip(group, *parts))
      result.dims[from] = part;
  }
  return result;
}

/// The result of an operation that rounds each element of a tensor, and may
/// move them.
static State followRound(Labels &labels, Operation *op, const State &state) {
  if (!getTensorType(op->getResult(0)))
    return {};
  State result = makeState(labels, op->getResult(0));
  auto terms = readTerms(labels, result);
  if (!terms || terms->size() != 1)
    return {};
  const State &source = terms->front().state;
  if (source.value != state.value || source.dims.size() != result.dims.size() ||
      source.dims.size() != state.dims.size())
    return {};
  for (Group &dim : result.dims) {
    auto *at = llvm::find(source.dims, dim);
    if (at == source.dims.end())
      return {};
    dim = state.dims[at - source.dims.begin()];
  }
  return result;
}

State fa3::convert::follow(Labels &labels, const State &state) {
  // Questions for extents do not count.
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : state.value.getUses())
    if (getName(use.getOwner()) != "tensor.dim")
      uses.push_back(&use);
  if (uses.size() != 1)
    return {};
  OpOperand &use = *uses.front();
  Operation *op = use.getOwner();
  if (getElementName(op) == "round")
    return followRound(labels, op, state);
  std::optional<DimensionMap> view = getView(op);
  if (!view || use.getOperandNumber() != 0)
    return {};
  RankedTensorType type = getTensorType(op->getResult(0));
  State result{op->getResult(0), Dims(type.getRank())};
  if (!view->groups.empty()) {
    for (auto [dim, group] : llvm::enumerate(view->groups)) {
      for (int64_t from : group)
        result.dims[dim].append(state.dims[from]);
      if (result.dims[dim].empty())
        result.dims[dim].push_back(labels.create(1));
    }
    return result;
  }
  if (view->expanded.empty()) {
    // Broadcasts make something else of it.
    if (!isPermutation(view->from, state.dims.size()))
      return {};
    for (auto [dim, from] : llvm::enumerate(view->from))
      result.dims[dim] = state.dims[from];
    return result;
  }
  for (auto [from, group] : llvm::enumerate(view->expanded)) {
    SmallVector<int64_t> extents = llvm::map_to_vector(
        group, [&](int64_t dim) { return type.getDimSize(dim); });
    auto parts = labels.align(state.dims[from], extents);
    if (failed(parts))
      return {};
    for (auto [dim, part] : llvm::zip(group, *parts))
      result.dims[dim] = part;
  }
  return result;
}
