//===- DimensionMap.cpp - transposes, broadcasts and reshapes -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "DimensionMap.h"
#include "Elements.h"
#include "Foreign.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace fa3::convert;

static SmallVector<int64_t> iota(int64_t count) {
  return llvm::to_vector(llvm::seq<int64_t>(0, count));
}

std::optional<int64_t> fa3::convert::wrap(std::optional<int64_t> number,
                                          int64_t rank) {
  if (!number || *number < -rank || *number >= rank)
    return std::nullopt;
  return *number < 0 ? *number + rank : *number;
}

bool fa3::convert::isPermutation(ArrayRef<int64_t> numbers, int64_t rank) {
  if (static_cast<int64_t>(numbers.size()) != rank)
    return false;
  SmallVector<int64_t> sorted(numbers);
  llvm::sort(sorted);
  return llvm::equal(sorted, iota(rank));
}

/// Runs of dimensions of the source whose products are the extents of the
/// result; nothing if a dimension would have to be divided.
static std::optional<SmallVector<SmallVector<int64_t>>>
getCollapsed(ArrayRef<int64_t> source, ArrayRef<int64_t> result) {
  auto isDynamic = [](int64_t extent) { return ShapedType::isDynamic(extent); };
  // With one dynamic extent on each side the others say that they are equal.
  if (llvm::count_if(source, isDynamic) != llvm::count_if(result, isDynamic) ||
      llvm::count_if(source, isDynamic) > 1)
    return std::nullopt;
  SmallVector<SmallVector<int64_t>> groups;
  size_t next = 0;
  for (int64_t extent : result) {
    SmallVector<int64_t> &group = groups.emplace_back();
    if (extent == 1) {
      if (next < source.size() && source[next] == 1)
        group.push_back(next++);
      continue;
    }
    while (next < source.size() && source[next] == 1)
      group.push_back(next++);
    if (isDynamic(extent)) {
      if (next == source.size() || !isDynamic(source[next]))
        return std::nullopt;
      group.push_back(next++);
      continue;
    }
    int64_t product = 1;
    while (product != extent) {
      if (next == source.size() || isDynamic(source[next]) ||
          llvm::MulOverflow(product, source[next], product) ||
          product > extent || product == 0)
        return std::nullopt;
      group.push_back(next++);
    }
  }
  for (; next < source.size(); ++next) {
    if (source[next] != 1 || groups.empty())
      return std::nullopt;
    groups.back().push_back(next);
  }
  return groups;
}

static SmallVector<SmallVector<int64_t>> getReassociation(Operation *op) {
  SmallVector<SmallVector<int64_t>> groups;
  auto array = dyn_cast_or_null<ArrayAttr>(op->getAttr("reassociation"));
  for (Attribute element : array ? array.getValue() : ArrayRef<Attribute>())
    groups.push_back(getIntegers(element).value_or(SmallVector<int64_t>()));
  return groups;
}

/// A linalg.generic that copies elements: transposes, broadcasts.
static std::optional<DimensionMap> getCopy(Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1 ||
      op->getNumRegions() != 1 || !llvm::hasSingleElement(op->getRegion(0)))
    return std::nullopt;
  Block &block = op->getRegion(0).front();
  auto maps = dyn_cast_or_null<ArrayAttr>(op->getAttr("indexing_maps"));
  if (!maps || maps.size() != 2 || !llvm::hasSingleElement(block) ||
      getName(&block.front()) != "linalg.yield" ||
      block.front().getNumOperands() != 1 || block.getNumArguments() != 2 ||
      block.front().getOperand(0) != block.getArgument(0))
    return std::nullopt;
  auto in = dyn_cast<AffineMapAttr>(maps[0]),
       out = dyn_cast<AffineMapAttr>(maps[1]);
  if (!in || !out || !out.getValue().isPermutation() ||
      !in.getValue().isProjectedPermutation(/*allowZeroInResults=*/true) ||
      in.getValue().getNumDims() != out.getValue().getNumDims())
    return std::nullopt;
  DimensionMap view{op->getOperand(0), {}, {}, {}};
  for (AffineExpr expr : out.getValue().getResults()) {
    std::optional<unsigned> position = in.getValue().getResultPosition(expr);
    view.from.push_back(position ? static_cast<int64_t>(*position) : -1);
  }
  return view;
}

namespace {
/// What an operation of torch, stablehlo, tosa or onnx does, by its name, given
/// its source.
class NamedView {
public:
  NamedView(Operation *op, RankedTensorType source, RankedTensorType result)
      : op(op), name(getName(op)), source(source), result(result),
        rank(source.getRank()), view{op->getOperand(0), iota(rank), {}, {}} {}

  std::optional<DimensionMap> get();

private:
  using Numbers = std::optional<SmallVector<int64_t>>;

  bool isOneOf(ArrayRef<StringRef> names) const {
    return llvm::is_contained(names, name);
  }
  auto getArgument(unsigned operand) const {
    return getInteger(getOperand(op, operand));
  }
  bool isIdentity() const;
  bool isReshape() const;
  std::optional<Numbers> getPermutation() const;
  std::optional<DimensionMap> permute(const Numbers &numbers);
  std::optional<DimensionMap> swap();
  std::optional<DimensionMap> insert();
  std::optional<DimensionMap> broadcast();
  std::optional<DimensionMap> broadcastTo(const Numbers &dims);
  std::optional<DimensionMap> broadcastAlong(const Numbers &added);
  std::optional<DimensionMap> reshape();

  Operation *op;
  StringRef name;
  RankedTensorType source, result;
  int64_t rank;
  DimensionMap view;
};
} // namespace

/// Whether the result is the source.
bool NamedView::isIdentity() const {
  if (isOneOf({"torch.aten.clone", "torch.aten.contiguous",
               "torch_c.to_builtin_tensor", "torch_c.from_builtin_tensor",
               "torch.aten.detach", "torch.aten.alias",
               "torch.aten.lift_fresh_copy"}))
    return true;
  // The source knows as much.
  if (name == "tensor.cast")
    return source.getNumDynamicDims() <= result.getNumDynamicDims();
  // Nothing is dropped outside of a training.
  if (name == "torch.aten.dropout")
    return getNumber(getOperand(op, 1)) == 0.0 || getArgument(2) == 0;
  // All of a tensor.
  return name == "torch.aten.slice.Tensor" &&
         source.getShape() == result.getShape() && source.hasStaticShape() &&
         getArgument(4) == 1;
}

bool NamedView::isReshape() const {
  return isOneOf({"torch.aten.squeeze.dim", "torch.aten.unflatten.int",
                  "torch.aten.flatten.using_ints", "tosa.reshape",
                  "torch.aten._unsafe_view", "torch.aten.reshape",
                  "torch.aten.view", "torch.prims.collapse",
                  "stablehlo.reshape", "onnx.Reshape", "onnx.Unsqueeze"});
}

/// The permutation that the operation names, if it is a transpose.
std::optional<NamedView::Numbers> NamedView::getPermutation() const {
  if (name == "linalg.transpose" || name == "stablehlo.transpose")
    return getIntegers(op->getAttr("permutation"));
  if (name == "onnx.Transpose")
    return getIntegers(op->getAttr("perm"));
  if (name == "tosa.transpose")
    return getIntegers(op->getAttr("perms"));
  if (name != "torch.aten.permute")
    return std::nullopt;
  Numbers numbers = getIntegers(getOperand(op, 1));
  if (numbers)
    for (int64_t &number : *numbers)
      number = wrap(number, rank).value_or(rank);
  return numbers;
}

std::optional<DimensionMap> NamedView::permute(const Numbers &numbers) {
  if (!numbers || !isPermutation(*numbers, rank))
    return std::nullopt;
  view.from = *numbers;
  return view;
}

std::optional<DimensionMap> NamedView::swap() {
  auto first = wrap(getArgument(1), rank), second = wrap(getArgument(2), rank);
  if (!first || !second)
    return std::nullopt;
  std::swap(view.from[*first], view.from[*second]);
  return view;
}

std::optional<DimensionMap> NamedView::insert() {
  auto at = wrap(getArgument(1), rank + 1);
  if (!at)
    return std::nullopt;
  view.from.insert(view.from.begin() + *at, -1);
  return view;
}

/// Dimensions at the end correspond; extents of 1 are repeated.
std::optional<DimensionMap> NamedView::broadcast() {
  int64_t more = result.getRank() - rank;
  if (more < 0)
    return std::nullopt;
  view.from.assign(more, -1);
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t own = source.getDimSize(dim), to = result.getDimSize(more + dim);
    // Copies side by side are none, but of an extent of 1.
    if (isOneOf({"tosa.tile", "torch.aten.repeat"}) && own != to && own != 1)
      return std::nullopt;
    view.from.push_back(own == 1 && to != 1 ? -1 : dim);
  }
  return view;
}

/// `dims` says where dimensions of the source go.
std::optional<DimensionMap> NamedView::broadcastTo(const Numbers &dims) {
  if (!dims || static_cast<int64_t>(dims->size()) != rank)
    return std::nullopt;
  view.from.assign(result.getRank(), -1);
  for (auto [dim, at] : llvm::enumerate(*dims)) {
    if (at < 0 || at >= result.getRank() || view.from[at] != -1)
      return std::nullopt;
    if (source.getDimSize(dim) == result.getDimSize(at))
      view.from[at] = dim;
    else if (source.getDimSize(dim) != 1)
      return std::nullopt;
  }
  return view;
}

/// `added` says which dimensions of the result are new.
std::optional<DimensionMap> NamedView::broadcastAlong(const Numbers &added) {
  if (!added)
    return std::nullopt;
  view.from.clear();
  int64_t next = 0;
  for (int64_t dim = 0; dim < result.getRank(); ++dim)
    view.from.push_back(llvm::is_contained(*added, dim) ? -1 : next++);
  return view;
}

std::optional<DimensionMap> NamedView::reshape() {
  if (auto groups = getCollapsed(source.getShape(), result.getShape())) {
    view.groups = std::move(*groups);
    return view;
  }
  auto expanded = getCollapsed(result.getShape(), source.getShape());
  if (!expanded)
    return std::nullopt;
  view.expanded = std::move(*expanded);
  return view;
}

std::optional<DimensionMap> NamedView::get() {
  if (isIdentity())
    return view;
  if (std::optional<Numbers> numbers = getPermutation())
    return permute(*numbers);
  if (name == "torch.aten.transpose.int")
    return swap();
  if (name == "torch.aten.unsqueeze")
    return insert();
  if (name == "linalg.broadcast")
    return broadcastAlong(getIntegers(op->getAttr("dimensions")));
  if (name == "stablehlo.broadcast_in_dim")
    return broadcastTo(getIntegers(op->getAttr("broadcast_dimensions")));
  if (isOneOf({"torch.aten.expand", "torch.aten.broadcast_to", "onnx.Expand",
               "tosa.tile", "torch.aten.repeat"}))
    return broadcast();
  if (isReshape())
    return reshape();
  return std::nullopt;
}

std::optional<DimensionMap> fa3::convert::getView(Operation *op) {
  if (!op || op->getNumOperands() == 0 || op->getNumResults() != 1)
    return std::nullopt;
  StringRef name = getName(op);
  RankedTensorType source = getTensorType(op->getOperand(0)),
                   result = getTensorType(op->getResult(0));
  if (!source || !result || source.getElementType() != result.getElementType())
    return std::nullopt;
  std::optional<DimensionMap> view;
  if (name == "tensor.collapse_shape") {
    view = DimensionMap{op->getOperand(0), {}, getReassociation(op), {}};
  } else if (name == "tensor.expand_shape") {
    view = DimensionMap{op->getOperand(0), {}, {}, getReassociation(op)};
  } else if (name == "linalg.generic") {
    view = getCopy(op);
  } else {
    view = NamedView(op, source, result).get();
  }
  if (!view)
    return std::nullopt;
  // What the text says need not fit where nobody has verified it.
  auto fits = [](ArrayRef<int64_t> numbers, int64_t rank) {
    return llvm::all_of(
        numbers, [&](int64_t number) { return number >= 0 && number < rank; });
  };
  int64_t rank = source.getRank(), own = result.getRank();
  if (!view->groups.empty()) {
    if (static_cast<int64_t>(view->groups.size()) != own ||
        !llvm::all_of(view->groups,
                      [&](const auto &group) { return fits(group, rank); }))
      return std::nullopt;
  } else if (!view->expanded.empty()) {
    if (static_cast<int64_t>(view->expanded.size()) != rank ||
        !llvm::all_of(view->expanded,
                      [&](const auto &group) { return fits(group, own); }))
      return std::nullopt;
  } else {
    SmallVector<int64_t> used;
    llvm::copy_if(view->from, std::back_inserter(used),
                  [](int64_t number) { return number >= 0; });
    llvm::sort(used);
    if (static_cast<int64_t>(view->from.size()) != own || !fits(used, rank) ||
        std::adjacent_find(used.begin(), used.end()) != used.end())
      return std::nullopt;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (!llvm::is_contained(view->from, dim) && source.getDimSize(dim) != 1)
        return std::nullopt;
  }
  return view;
}
