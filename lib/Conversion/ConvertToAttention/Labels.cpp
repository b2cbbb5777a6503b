//===- Labels.cpp - names of dimensions -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Labels.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace fa3::convert;

static bool isDynamic(int64_t extent) { return ShapedType::isDynamic(extent); }

Label Labels::create(int64_t extent) {
  entries.push_back({extent, std::nullopt});
  return entries.size() - 1;
}

Dims Labels::create(ArrayRef<int64_t> extents) {
  Dims dims;
  for (int64_t extent : extents)
    dims.push_back({create(extent)});
  return dims;
}

int64_t Labels::getExtent(ArrayRef<Label> labels) const {
  int64_t product = 1;
  for (Label label : labels) {
    int64_t extent = getExtent(label);
    // Products that do not fit are no extents of tensors that exist.
    if (isDynamic(extent) || llvm::MulOverflow(product, extent, product))
      return ShapedType::kDynamic;
  }
  return product;
}

LogicalResult Labels::meet(Label label, int64_t extent) {
  Entry &entry = entries[label];
  if (isDynamic(entry.extent) && !entry.parts)
    entry.extent = extent;
  return success(isDynamic(extent) || isDynamic(entry.extent) ||
                 entry.extent == extent);
}

Group Labels::resolve(ArrayRef<Label> labels) const {
  Group leaves;
  for (Label label : labels) {
    if (const auto &parts = entries[label].parts) {
      leaves.append(resolve(ArrayRef(parts->first)));
      leaves.append(resolve(ArrayRef(parts->second)));
    } else {
      leaves.push_back(label);
    }
  }
  return leaves;
}

Dims Labels::resolve(const Dims &dims) const {
  return llvm::map_to_vector<5>(
      dims, [&](const Group &group) { return resolve(group); });
}

Group Labels::dropUnits(ArrayRef<Label> labels) const {
  Group leaves = resolve(labels);
  llvm::erase_if(leaves, [&](Label label) { return getExtent(label) == 1; });
  return leaves;
}

std::pair<Label, Label> Labels::split(Label label, int64_t outer,
                                      int64_t inner) {
  Label first = create(outer), second = create(inner);
  entries[label].parts = {first, second};
  return {first, second};
}

FailureOr<Dims> Labels::align(ArrayRef<Label> group,
                              ArrayRef<int64_t> extents) {
  Group leaves = resolve(group);
  Dims dims;
  size_t next = 0;
  auto isUnit = [&](size_t i) { return getExtent(leaves[i]) == 1; };
  for (auto [number, extent] : llvm::enumerate(extents)) {
    Group &dim = dims.emplace_back();
    ArrayRef<int64_t> rest = extents.drop_front(number + 1);
    bool isOneToOne = leaves.size() - next == rest.size() + 1;
    if (next < leaves.size() && isOneToOne &&
        getExtent(leaves[next]) == extent) {
      dim.push_back(leaves[next++]);
      continue;
    }
    if (extent == 1) {
      if (next < leaves.size() && isUnit(next))
        dim.push_back(leaves[next++]);
      else
        dim.push_back(create(1));
      continue;
    }
    while (next < leaves.size() && isUnit(next))
      dim.push_back(leaves[next++]);
    if (next == leaves.size())
      return failure();
    int64_t own = getExtent(leaves[next]);
    if (isDynamic(extent) || isDynamic(own)) {
      // The last label may be split into a dynamic part and a known one.
      int64_t inner = 1;
      for (int64_t other : rest)
        if (isDynamic(other) || llvm::MulOverflow(inner, other, inner))
          return failure();
      if (next + 1 != leaves.size() || inner < 1)
        return failure();
      if (inner == 1) {
        dim.push_back(leaves[next++]);
        continue;
      }
      if (!isDynamic(extent) || (!isDynamic(own) && own % inner != 0))
        return failure();
      auto [first, second] =
          split(leaves[next], isDynamic(own) ? own : own / inner, inner);
      dim.push_back(first);
      leaves[next] = second;
      continue;
    }
    int64_t product = 1;
    while (product != extent) {
      if (next == leaves.size() || isDynamic(getExtent(leaves[next])) ||
          product <= 0 || extent <= 0 || extent % product != 0)
        return failure();
      int64_t wanted = extent / product, label = getExtent(leaves[next]);
      if (label <= 0)
        return failure();
      if (wanted % label == 0) {
        product *= label;
        dim.push_back(leaves[next++]);
      } else if (label % wanted == 0) {
        auto [first, second] = split(leaves[next], wanted, label / wanted);
        dim.push_back(first);
        leaves[next] = second;
        product = extent;
      } else {
        return failure();
      }
    }
  }
  for (; next < leaves.size(); ++next) {
    if (!isUnit(next) || dims.empty())
      return failure();
    dims.back().push_back(leaves[next]);
  }
  return dims;
}

SmallVector<State> fa3::convert::peelAll(Labels &labels, State state) {
  SmallVector<State> states = {state};
  while (states.size() < 64) {
    State next = peel(labels, states.back());
    if (!next.value)
      break;
    states.push_back(std::move(next));
  }
  return states;
}

SmallVector<State> fa3::convert::followAll(Labels &labels, State state) {
  SmallVector<State> states = {state};
  while (states.size() < 64) {
    State next = follow(labels, states.back());
    if (!next.value)
      break;
    states.push_back(std::move(next));
  }
  return states;
}
