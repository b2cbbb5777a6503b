//===- Views.cpp - transposes, broadcasts and reshapes --------------------===//
//
// Operations of all projects that move no number but arrange those of one
// tensor anew, in one form: where each dimension comes from.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Elements.h"
#include "Foreign.h"
#include "Problem.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace fa3::convert;

namespace {
/// How the dimensions of a tensor come from those of another.
struct View {
  Value source;
  /// For every dimension the source's that it is; -1 for one that the source
  /// does not have. Dimensions of the source that are nowhere have extent 1.
  SmallVector<int64_t> from;
  /// For every dimension those of the source that were collapsed into it; used
  /// instead of `from` if there are any.
  SmallVector<SmallVector<int64_t>> groups;
  /// The same for dimensions of the source that were expanded.
  SmallVector<SmallVector<int64_t>> expanded;
};
} // namespace

static SmallVector<int64_t> iota(int64_t count) {
  return llvm::to_vector(llvm::seq<int64_t>(0, count));
}

/// `number` counted from the end if it is below 0; nothing if out of range.
static std::optional<int64_t> wrap(std::optional<int64_t> number,
                                   int64_t rank) {
  if (!number || *number < -rank || *number >= rank)
    return std::nullopt;
  return *number < 0 ? *number + rank : *number;
}

static bool isPermutation(ArrayRef<int64_t> numbers, int64_t rank) {
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
static std::optional<View> getCopy(Operation *op) {
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
  View view{op->getOperand(0), {}, {}, {}};
  for (AffineExpr expr : out.getValue().getResults()) {
    std::optional<unsigned> position = in.getValue().getResultPosition(expr);
    view.from.push_back(position ? static_cast<int64_t>(*position) : -1);
  }
  return view;
}

/// What an operation of torch or stablehlo does, given its source.
static std::optional<View> getByName(Operation *op, StringRef name,
                                     RankedTensorType source,
                                     RankedTensorType result) {
  int64_t rank = source.getRank();
  View view{op->getOperand(0), iota(rank), {}, {}};
  auto integer = [&](unsigned number) {
    return getInteger(getOperand(op, number));
  };
  auto permute =
      [&](std::optional<SmallVector<int64_t>> numbers) -> std::optional<View> {
    if (!numbers || !isPermutation(*numbers, rank))
      return std::nullopt;
    view.from = *numbers;
    return view;
  };
  // Dimensions at the end correspond; extents of 1 are repeated.
  auto broadcast = [&]() -> std::optional<View> {
    int64_t more = result.getRank() - rank;
    if (more < 0)
      return std::nullopt;
    view.from.assign(more, -1);
    for (int64_t dim = 0; dim < rank; ++dim)
      view.from.push_back(source.getDimSize(dim) == 1 &&
                                  result.getDimSize(more + dim) != 1
                              ? -1
                              : dim);
    return view;
  };
  if (name == "linalg.transpose")
    return permute(getIntegers(op->getAttr("permutation")));
  if (name == "linalg.broadcast") {
    auto added = getIntegers(op->getAttr("dimensions"));
    if (!added)
      return std::nullopt;
    view.from.clear();
    int64_t next = 0;
    for (int64_t dim = 0; dim < result.getRank(); ++dim)
      view.from.push_back(llvm::is_contained(*added, dim) ? -1 : next++);
    return view;
  }
  if (name == "stablehlo.transpose")
    return permute(getIntegers(op->getAttr("permutation")));
  if (name == "onnx.Transpose")
    return permute(getIntegers(op->getAttr("perm")));
  if (name == "torch.aten.permute") {
    auto numbers = getIntegers(getOperand(op, 1));
    for (int64_t &number : numbers ? *numbers : SmallVector<int64_t>())
      number = wrap(number, rank).value_or(rank);
    return permute(numbers);
  }
  if (name == "torch.aten.transpose.int") {
    auto first = wrap(integer(1), rank), second = wrap(integer(2), rank);
    if (!first || !second)
      return std::nullopt;
    std::swap(view.from[*first], view.from[*second]);
    return view;
  }
  if (name == "torch.aten.unsqueeze") {
    auto at = wrap(integer(1), rank + 1);
    if (!at)
      return std::nullopt;
    view.from.insert(view.from.begin() + *at, -1);
    return view;
  }
  if (name == "stablehlo.broadcast_in_dim") {
    auto dims = getIntegers(op->getAttr("broadcast_dimensions"));
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
  if (name == "torch.aten.expand" || name == "torch.aten.broadcast_to" ||
      name == "onnx.Expand")
    return broadcast();
  if (name == "torch.aten.clone" || name == "torch.aten.contiguous" ||
      name == "torch_c.to_builtin_tensor" ||
      name == "torch_c.from_builtin_tensor")
    return view;
  if (name == "tosa.transpose")
    return permute(getIntegers(op->getAttr("perms")));
  // Copies side by side, of extents of 1 only.
  if (name == "tosa.tile" || name == "torch.aten.repeat") {
    int64_t more = result.getRank() - rank;
    if (more < 0)
      return std::nullopt;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (source.getDimSize(dim) != result.getDimSize(more + dim) &&
          source.getDimSize(dim) != 1)
        return std::nullopt;
    return broadcast();
  }
  if (name == "torch.aten.detach" || name == "torch.aten.alias" ||
      name == "torch.aten.lift_fresh_copy")
    return view;
  // The source knows as much.
  if (name == "tensor.cast")
    return source.getNumDynamicDims() <= result.getNumDynamicDims()
               ? std::optional(view)
               : std::nullopt;
  // Nothing is dropped outside of a training.
  if (name == "torch.aten.dropout" &&
      (getNumber(getOperand(op, 1)) == 0.0 || integer(2) == 0))
    return view;
  // All of a tensor.
  if (name == "torch.aten.slice.Tensor") {
    bool isWhole = source.getShape() == result.getShape() &&
                   source.hasStaticShape() && integer(4) == 1;
    return isWhole ? std::optional(view) : std::nullopt;
  }
  if (name == "torch.aten.squeeze.dim" || name == "torch.aten.unflatten.int" ||
      name == "torch.aten.flatten.using_ints" || name == "tosa.reshape" ||
      name == "torch.aten._unsafe_view" || name == "torch.aten.reshape" ||
      name == "torch.aten.view" || name == "torch.prims.collapse" ||
      name == "stablehlo.reshape" || name == "onnx.Reshape" ||
      name == "onnx.Unsqueeze") {
    auto groups = getCollapsed(source.getShape(), result.getShape());
    if (groups) {
      view.groups = std::move(*groups);
      return view;
    }
    auto expanded = getCollapsed(result.getShape(), source.getShape());
    if (!expanded)
      return std::nullopt;
    view.expanded = std::move(*expanded);
    return view;
  }
  return std::nullopt;
}

/// What an operation does if it is a view. Its numbers fit the ranks.
static std::optional<View> getView(Operation *op) {
  if (!op || op->getNumOperands() == 0 || op->getNumResults() != 1)
    return std::nullopt;
  StringRef name = getName(op);
  RankedTensorType source = getTensorType(op->getOperand(0)),
                   result = getTensorType(op->getResult(0));
  if (!source || !result || source.getElementType() != result.getElementType())
    return std::nullopt;
  std::optional<View> view;
  if (name == "tensor.collapse_shape") {
    view = View{op->getOperand(0), {}, getReassociation(op), {}};
  } else if (name == "tensor.expand_shape") {
    view = View{op->getOperand(0), {}, {}, getReassociation(op)};
  } else if (name == "linalg.generic") {
    view = getCopy(op);
  } else {
    view = getByName(op, name, source, result);
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
  std::optional<View> view = getView(op);
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
  std::optional<View> view = getView(op);
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
