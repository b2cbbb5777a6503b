//===- GridSharing.cpp - tiles that several grid positions load -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "GridSharing.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa3::tile;

/// The dimension of its array of which the load takes the index, if the launch
/// may give its stride as zero.
static std::optional<int64_t> getBroadcastDim(LoadOp load, Value index) {
  auto [strides, offset] =
      cast<MemRefType>(load.getSource().getType()).getStridesAndOffset();
  for (auto [dim, position] : llvm::enumerate(load.getIndices()))
    if (position == index && ShapedType::isDynamic(strides[dim]))
      return dim;
  return std::nullopt;
}

/// Whether a position in an array is computed from an index of the grid.
static bool isComputedFrom(Value position, Value index) {
  llvm::SetVector<Operation *> slice;
  getForwardSlice(index, &slice);
  return position == index || slice.contains(position.getDefiningOp());
}

/// Whether the place of a loaded tile depends on an index of the grid.
static bool dependsOn(LoadOp load, Value index) {
  return llvm::any_of(load.getPlaceOperands(), [&](Value position) {
    return isComputedFrom(position, index);
  });
}

SmallVector<unsigned> fa3::tile::orderIndices(GridOp grid, LoadPolicy loads) {
  SmallVector<unsigned> order = {0}, perhaps, others;
  for (unsigned i = 1; i < grid.getUpperBounds().size(); ++i) {
    Value index = grid.getBody().getArgument(i);
    bool isShared = false, mayBeShared = false;
    grid.walk([&](LoadOp load) {
      if (load.getType().getRank() != 2)
        return;
      isShared |= !dependsOn(load, index);
      mayBeShared |=
          isBulkElementLoad(load, loads) && getBroadcastDim(load, index);
    });
    (isShared ? order : mayBeShared ? perhaps : others).push_back(i);
  }
  llvm::append_range(order, llvm::reverse(perhaps));
  llvm::append_range(order, others);
  return order;
}

/// Whether a part of the array is known to fit a cache.
static bool isKnownToFit(const SharedRows &rows, int64_t l2Bytes) {
  auto type = cast<MemRefType>(rows.array.getType());
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t dim : rows.part) {
    if (type.isDynamicDim(dim))
      return false;
    bytes *= type.getDimSize(dim);
  }
  return bytes <= l2Bytes;
}

std::optional<SharedRows> fa3::tile::findSharedRows(GridOp grid, unsigned index,
                                                    LoadPolicy loads,
                                                    int64_t l2Bytes) {
  Block::BlockArgListType indices = grid.getBody().getArguments();
  std::optional<SharedRows> found;
  grid.walk([&](LoadOp load) {
    if (!isBulkElementLoad(load, loads) || !dependsOn(load, indices.front()))
      return WalkResult::advance();
    bool isShared = !dependsOn(load, indices[index]);
    std::optional<int64_t> dim = getBroadcastDim(load, indices[index]);
    if (!isShared && !dim)
      return WalkResult::advance();
    SharedRows rows{load.getSource(), {}, isShared ? std::nullopt : dim};
    for (auto [number, position] : llvm::enumerate(load.getIndices()))
      if (llvm::none_of(indices.drop_front(), [&](Value other) {
            return isComputedFrom(position, other);
          }))
        rows.part.push_back(number);
    if (isKnownToFit(rows, l2Bytes))
      return WalkResult::advance();
    found = std::move(rows);
    return WalkResult::interrupt();
  });
  return found;
}

Value fa3::tile::computeFront(ImplicitLocOpBuilder &b, const SharedRows &rows,
                              Value bound, int64_t l2Bytes) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, predicate, x, y);
  };
  auto type = cast<MemRefType>(rows.array.getType());
  Value bytes = constant(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  for (int64_t dim : rows.part)
    bytes = arith::MulIOp::create(b, bytes,
                                  memref::DimOp::create(b, rows.array, dim));
  Value one = constant(1);
  Value shares = compare(arith::CmpIPredicate::ugt, bytes, constant(l2Bytes));
  if (rows.stride) {
    auto metadata = memref::ExtractStridedMetadataOp::create(b, rows.array);
    Value isSame = compare(arith::CmpIPredicate::eq,
                           metadata.getStrides()[*rows.stride], constant(0));
    shares = arith::AndIOp::create(b, shares, isSame);
  }
  Value all = arith::MaxUIOp::create(b, bound, one);
  return arith::SelectOp::create(b, shares, all, one);
}
