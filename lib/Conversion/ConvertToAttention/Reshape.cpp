//===- Reshape.cpp - expanding and collapsing dimensions ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3::convert;

namespace {
/// A piece that dimensions of both sides consist of.
struct Piece {
  size_t from, to;
  int64_t extent;
};

/// Takes two lists of groups of labels apart into pieces.
class Pieces {
public:
  Pieces(Labels &labels, Dims from, Dims to)
      : labels(labels), from(std::move(from)), to(std::move(to)) {}

  /// False if the two are not the same labels in the same order.
  bool cut();
  SmallVector<Piece> take() { return std::move(pieces); }

private:
  bool cutGroups();
  void nextFrom() { restFrom = ++i < from.size() ? from[i] : Group(); }
  void nextTo() { restTo = ++j < to.size() ? to[j] : Group(); }

  Labels &labels;
  Dims from, to;
  SmallVector<Piece> pieces;
  size_t i = 0, j = 0;
  Group restFrom, restTo;
};

using Groups = SmallVector<ReassociationIndices>;
} // namespace

/// Where both sides have labels left.
bool Pieces::cutGroups() {
  if (i == from.size() || j == to.size())
    return false;
  Group piece;
  while (!restFrom.empty() && !restTo.empty()) {
    if (restFrom.front() != restTo.front())
      return false;
    piece.push_back(restFrom.front());
    restFrom.erase(restFrom.begin());
    restTo.erase(restTo.begin());
  }
  pieces.push_back({i, j, labels.getExtent(piece)});
  if (restFrom.empty())
    nextFrom();
  if (restTo.empty())
    nextTo();
  return true;
}

bool Pieces::cut() {
  if (from.empty() || to.empty())
    return false;
  restFrom = from[0], restTo = to[0];
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
    } else if (!cutGroups()) {
      return false;
    }
  }
  return true;
}

/// Whether no dimension is of several pieces.
static bool isTrivial(const Groups &groups) {
  return llvm::all_of(groups,
                      [](const auto &group) { return group.size() == 1; });
}

/// The extents of pieces that dimension `dim` of a tensor consists of, given
/// what the tensor knows of it. False if it does not say enough.
static bool measure(OpBuilder &b, Location loc, Value value, size_t dim,
                    const Groups &expansion, MutableArrayRef<Piece> pieces,
                    MutableArrayRef<OpFoldResult> sizes) {
  ArrayRef<int64_t> group = expansion[dim];
  int64_t extent = cast<RankedTensorType>(value.getType()).getDimSize(dim);
  int64_t known = 1;
  std::optional<size_t> open;
  for (int64_t number : group) {
    int64_t &own = pieces[number].extent;
    if (group.size() == 1)
      own = extent;
    if (ShapedType::isDynamic(own)) {
      if (open)
        return false;
      open = number;
    } else {
      known *= own;
      sizes[number] = b.getIndexAttr(own);
    }
  }
  if (known < 1)
    return false;
  if (!open)
    return !ShapedType::isDynamic(extent) && extent == known;
  if (!ShapedType::isDynamic(extent)) {
    if (extent % known)
      return false;
    pieces[*open].extent = extent / known;
    sizes[*open] = b.getIndexAttr(extent / known);
    return true;
  }
  if (isTrivial(expansion))
    return true;
  Value size = tensor::DimOp::create(b, loc, value, dim);
  if (known != 1)
    size = arith::DivSIOp::create(
        b, loc, size, arith::ConstantIndexOp::create(b, loc, known));
  sizes[*open] = size;
  return true;
}

Value fa3::convert::reshape(OpBuilder &b, Location loc, Labels &labels,
                            Value value, const Dims &fromDims,
                            const Dims &toDims) {
  auto simplify = [&](const Dims &dims) {
    return llvm::map_to_vector<5>(
        dims, [&](const Group &group) { return labels.dropUnits(group); });
  };
  Pieces cutter(labels, simplify(fromDims), simplify(toDims));
  if (!cutter.cut())
    return {};
  SmallVector<Piece> pieces = cutter.take();
  Groups expansion(fromDims.size()), collapse(toDims.size());
  for (auto [number, piece] : llvm::enumerate(pieces)) {
    expansion[piece.from].push_back(number);
    collapse[piece.to].push_back(number);
  }
  auto isEmpty = [](const auto &group) { return group.empty(); };
  if (llvm::any_of(expansion, isEmpty) || llvm::any_of(collapse, isEmpty))
    return {};
  SmallVector<OpFoldResult> sizes(pieces.size());
  for (size_t dim = 0; dim < expansion.size(); ++dim)
    if (!measure(b, loc, value, dim, expansion, pieces, sizes))
      return {};
  if (!isTrivial(expansion)) {
    auto type = cast<RankedTensorType>(value.getType());
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
