//===- Reshape.cpp - expanding and collapsing dimensions ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Problem.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3::convert;

Value fa3::convert::reshape(OpBuilder &b, Location loc, Labels &labels,
                            Value value, const Dims &fromDims,
                            const Dims &toDims) {
  auto simplify = [&](const Dims &dims) {
    return llvm::map_to_vector<5>(
        dims, [&](const Group &group) { return labels.dropUnits(group); });
  };
  Dims from = simplify(fromDims), to = simplify(toDims);
  auto type = cast<RankedTensorType>(value.getType());

  // Pieces that both sides consist of.
  struct Piece {
    size_t from, to;
    int64_t extent;
  };
  SmallVector<Piece> pieces;
  size_t i = 0, j = 0;
  Group restFrom = from.empty() ? Group() : from[0],
        restTo = to.empty() ? Group() : to[0];
  auto nextFrom = [&] { restFrom = ++i < from.size() ? from[i] : Group(); };
  auto nextTo = [&] { restTo = ++j < to.size() ? to[j] : Group(); };
  if (from.empty() || to.empty())
    return {};
  while (i < from.size() || j < to.size()) {
    bool isUnitFrom = i < from.size() && restFrom.empty(),
         isUnitTo = j < to.size() && restTo.empty();
    if (isUnitFrom && isUnitTo) {
      pieces.push_back({i, j, 1});
      nextFrom(), nextTo();
    } else if (isUnitFrom) {
      pieces.push_back({i, std::min(j, to.size() - 1), 1});
      nextFrom();
    } else if (isUnitTo) {
      pieces.push_back({std::min(i, from.size() - 1), j, 1});
      nextTo();
    } else {
      if (i == from.size() || j == to.size())
        return {};
      Group piece;
      while (!restFrom.empty() && !restTo.empty()) {
        if (restFrom.front() != restTo.front())
          return {};
        piece.push_back(restFrom.front());
        restFrom.erase(restFrom.begin());
        restTo.erase(restTo.begin());
      }
      pieces.push_back({i, j, labels.getExtent(piece)});
      if (restFrom.empty())
        nextFrom();
      if (restTo.empty())
        nextTo();
    }
  }

  SmallVector<ReassociationIndices> expansion(from.size()), collapse(to.size());
  for (auto [number, piece] : llvm::enumerate(pieces)) {
    expansion[piece.from].push_back(number);
    collapse[piece.to].push_back(number);
  }
  auto isTrivial = [](ArrayRef<ReassociationIndices> groups) {
    return llvm::all_of(groups,
                        [](const auto &group) { return group.size() == 1; });
  };
  if (llvm::any_of(expansion, [](auto &group) { return group.empty(); }) ||
      llvm::any_of(collapse, [](auto &group) { return group.empty(); }))
    return {};

  // What the tensor at hand knows of the extents.
  SmallVector<OpFoldResult> sizes(pieces.size());
  for (auto [dim, group] : llvm::enumerate(expansion)) {
    int64_t extent = type.getDimSize(dim), known = 1;
    std::optional<size_t> open;
    for (int64_t number : group) {
      int64_t &own = pieces[number].extent;
      if (group.size() == 1)
        own = extent;
      if (ShapedType::isDynamic(own)) {
        if (open)
          return {};
        open = number;
      } else {
        known *= own;
        sizes[number] = b.getIndexAttr(own);
      }
    }
    if (known < 1)
      return {};
    if (!open) {
      if (ShapedType::isDynamic(extent) || extent != known)
        return {};
      continue;
    }
    if (!ShapedType::isDynamic(extent)) {
      if (extent % known)
        return {};
      pieces[*open].extent = extent / known;
      sizes[*open] = b.getIndexAttr(extent / known);
      continue;
    }
    if (isTrivial(expansion))
      continue;
    Value size = tensor::DimOp::create(b, loc, value, dim);
    if (known != 1)
      size = arith::DivSIOp::create(
          b, loc, size, arith::ConstantIndexOp::create(b, loc, known));
    sizes[*open] = size;
  }
  if (!isTrivial(expansion)) {
    SmallVector<int64_t> shape = llvm::map_to_vector(
        pieces, [](const Piece &piece) { return piece.extent; });
    value = tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get(shape, type.getElementType()), value,
        expansion, sizes);
  }
  if (!isTrivial(collapse))
    value = tensor::CollapseShapeOp::create(b, loc, value, collapse);
  return value;
}
