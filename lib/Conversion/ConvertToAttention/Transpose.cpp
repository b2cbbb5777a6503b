//===- Transpose.cpp - other orders of dimensions -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace fa3::convert;

std::optional<SmallVector<int64_t>>
fa3::convert::findOrder(const Labels &labels, const Dims &from,
                        const Dims &to) {
  Group wanted;
  for (const Group &group : to)
    wanted.append(labels.dropUnits(group));
  SmallVector<Group> own;
  for (const Group &group : from)
    own.push_back(labels.dropUnits(group));
  SmallVector<int64_t> order;
  ArrayRef<Label> left = wanted;
  while (!left.empty()) {
    auto next = llvm::find_if(own, [&](const Group &group) {
      return !group.empty() && left.take_front(group.size()) == ArrayRef(group);
    });
    if (next == own.end())
      return std::nullopt;
    order.push_back(next - own.begin());
    left = left.drop_front(next->size());
    next->clear();
  }
  // Dimensions of one element stand anywhere.
  for (size_t dim = 0; dim < from.size(); ++dim)
    if (!llvm::is_contained(order, static_cast<int64_t>(dim))) {
      if (!own[dim].empty())
        return std::nullopt;
      order.push_back(dim);
    }
  return order;
}

Value fa3::convert::transpose(OpBuilder &b, Location loc, Value value,
                              ArrayRef<int64_t> order) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, value);
  applyPermutationToVector(sizes, order);
  Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
  return linalg::TransposeOp::create(b, loc, value, empty, order)->getResult(0);
}
