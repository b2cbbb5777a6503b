//===- Moves.cpp - elements that lie elsewhere ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Moves.h"
#include "Foreign.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa3::convert;

static int64_t getExtent(Value tensor, int64_t dim) {
  return getTensorType(tensor).getDimSize(dim);
}

/// `number` as a dimension of `rank`, counted from the end if it is below 0.
static std::optional<int64_t> wrapDimension(std::optional<int64_t> number,
                                            int64_t rank) {
  if (!number || *number < -rank || *number >= rank)
    return std::nullopt;
  return *number < 0 ? *number + rank : *number;
}

/// An element of a tensor, in one dimension at a position.
static Value readAt(PointBuilder &point, Value source, Dims dims, int64_t dim,
                    Value position) {
  if (!position)
    return {};
  dims[dim] = {point.bind(position, getExtent(source, dim))};
  return point.getElement({source, std::move(dims)});
}

/// start + step * index.
static Value getPosition(PointBuilder &point, Value index, int64_t start,
                         int64_t step) {
  if (!index)
    return {};
  if (step != 1)
    index = arith::MulIOp::create(point.b, index, point.constantIndex(step));
  if (start != 0)
    index = arith::AddIOp::create(point.b, index, point.constantIndex(start));
  return index;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// A slice whose numbers are known, of all dimensions of its source.
static Value readSlice(PointBuilder &point, const State &state,
                       ArrayRef<int64_t> starts, ArrayRef<int64_t> steps) {
  Value source = state.value.getDefiningOp()->getOperand(0);
  RankedTensorType type = getTensorType(source);
  size_t rank = state.dims.size();
  if (!type || static_cast<size_t>(type.getRank()) != rank ||
      starts.size() != rank || steps.size() != rank)
    return {};
  State result{source, {}};
  for (auto [dim, group] : llvm::enumerate(state.dims)) {
    if (starts[dim] < 0 || steps[dim] < 1)
      return {};
    Value position =
        getPosition(point, point.getIndex(group), starts[dim], steps[dim]);
    if (!position)
      return {};
    result.dims.push_back({point.bind(position, type.getDimSize(dim))});
  }
  return point.getElement(result);
}

static Value readTensorSlice(PointBuilder &point, tensor::ExtractSliceOp slice,
                             const State &state) {
  auto isDynamic = [](int64_t number) { return ShapedType::isDynamic(number); };
  if (llvm::any_of(slice.getStaticOffsets(), isDynamic) ||
      llvm::any_of(slice.getStaticStrides(), isDynamic))
    return {};
  // Dimensions that the result has not are read at their offset.
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  State source{slice.getSource(), {}};
  size_t next = 0;
  for (int64_t dim = 0; dim < slice.getSourceType().getRank(); ++dim) {
    Value index = dropped.test(dim) ? point.constantIndex(0)
                                    : point.getIndex(state.dims[next++]);
    Value position = getPosition(point, index, slice.getStaticOffsets()[dim],
                                 slice.getStaticStrides()[dim]);
    if (!position)
      return {};
    source.dims.push_back(
        {point.bind(position, slice.getSourceType().getDimSize(dim))});
  }
  return point.getElement(source);
}

/// torch.aten.slice.Tensor: (x, dimension, start, end, step).
static Value readTorchSlice(PointBuilder &point, Operation *op,
                            const State &state) {
  int64_t rank = state.dims.size();
  Value source = getOperand(op, 0);
  RankedTensorType type = getTensorType(source);
  auto dim = wrapDimension(getInteger(getOperand(op, 1)), rank);
  auto start = isNone(getOperand(op, 2)) ? 0 : getInteger(getOperand(op, 2)),
       step = getInteger(getOperand(op, 4));
  if (!type || type.getRank() != rank || !dim || !start || !step || *step < 1)
    return {};
  int64_t extent = type.getDimSize(*dim), first = *start;
  if (!ShapedType::isDynamic(extent))
    first = std::clamp<int64_t>(first < 0 ? first + extent : first, 0, extent);
  if (first < 0)
    return {};
  return readAt(
      point, source, state.dims, *dim,
      getPosition(point, point.getIndex(state.dims[*dim]), first, *step));
}

/// torch.aten.select.int: (x, dimension, index).
static Value readSelect(PointBuilder &point, Operation *op,
                        const State &state) {
  Value source = getOperand(op, 0);
  int64_t rank = state.dims.size() + 1;
  RankedTensorType type = getTensorType(source);
  auto dim = wrapDimension(getInteger(getOperand(op, 1)), rank);
  auto index = getInteger(getOperand(op, 2));
  if (!type || type.getRank() != rank || !dim || !index)
    return {};
  int64_t extent = type.getDimSize(*dim);
  if (*index < 0 && !ShapedType::isDynamic(extent))
    *index += extent;
  if (*index < 0)
    return {};
  Dims dims = state.dims;
  dims.insert(dims.begin() + *dim, Group());
  return readAt(point, source, dims, *dim, point.constantIndex(*index));
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// A position that counts from the end if it is below 0.
static Value wrap(PointBuilder &point, Value position, int64_t extent) {
  if (point.facts.isNonNegative(position))
    return position;
  if (ShapedType::isDynamic(extent))
    return point.fail("its mask reads a table at positions of any sign");
  Value zero = point.constantIndex(0);
  Value isBelow =
      arith::CmpIOp::create(point.b, arith::CmpIPredicate::slt, position, zero);
  Value moved =
      arith::AddIOp::create(point.b, position, point.constantIndex(extent));
  return arith::SelectOp::create(point.b, isBelow, moved, position);
}

/// torch.aten.index.Tensor: (x, list of tensors of positions or none). The
/// dimensions of the positions are where the first of them is, or in front if
/// others stand between.
static Value readGather(PointBuilder &point, Operation *op,
                        const State &state) {
  Value source = getOperand(op, 0);
  Operation *list =
      getOperand(op, 1) ? op->getOperand(1).getDefiningOp() : nullptr;
  RankedTensorType type = getTensorType(source);
  if (!type || getName(list) != "torch.prim.ListConstruct" ||
      list->getNumOperands() > type.getRank())
    return {};
  int64_t rank = 0, first = -1, last = -1, count = 0;
  for (auto [dim, operand] : llvm::enumerate(list->getOperands())) {
    if (isNone(operand))
      continue;
    RankedTensorType own = getTensorType(operand);
    if (!own || !isa<IntegerType>(own.getElementType()) ||
        own.getElementType().getIntOrFloatBitWidth() < 32)
      return {};
    rank = std::max(rank, own.getRank());
    first = first < 0 ? dim : first;
    last = dim;
    ++count;
  }
  int64_t full = state.dims.size();
  if (count == 0 || full != type.getRank() - count + rank)
    return {};
  int64_t at = last - first + 1 == count ? first : 0;
  ArrayRef<Group> places = ArrayRef(state.dims).slice(at, rank);
  SmallVector<Group> others(state.dims.begin(), state.dims.begin() + at);
  others.append(state.dims.begin() + at + rank, state.dims.end());
  RankedTensorType result = getTensorType(state.value);
  State element{source, {}};
  size_t next = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Value operand = getOperand(list, dim);
    if (!operand || isNone(operand)) {
      element.dims.push_back(others[next++]);
      continue;
    }
    RankedTensorType own = getTensorType(operand);
    State position{operand, {}};
    for (int64_t i = 0; i < own.getRank(); ++i) {
      int64_t place = rank - own.getRank() + i;
      bool isRepeated =
          own.getDimSize(i) == 1 && result.getDimSize(at + place) != 1;
      position.dims.push_back(isRepeated ? Group{point.labels.create(1)}
                                         : places[place]);
    }
    Value index = point.getElement(position);
    index = index ? point.toIndex(index) : Value();
    index = index ? wrap(point, index, type.getDimSize(dim)) : Value();
    if (!index)
      return {};
    if (!point.facts.isOfArguments(index))
      return point.fail("its mask reads a table at positions from memory");
    element.dims.push_back({point.bind(index, type.getDimSize(dim))});
  }
  return point.getElement(element);
}

//===----------------------------------------------------------------------===//
// Parts side by side
//===----------------------------------------------------------------------===//

/// An element of tensors side by side in a dimension, at a position.
static Value readJoined(PointBuilder &point, ArrayRef<Value> parts,
                        const Dims &dims, int64_t dim, Value position) {
  SmallVector<int64_t> starts = {0};
  for (Value part : parts) {
    RankedTensorType type = getTensorType(part);
    if (!type || type.getRank() != static_cast<int64_t>(dims.size()))
      return {};
    int64_t extent = type.getDimSize(dim);
    bool isLast = starts.size() == parts.size();
    if (!isLast && ShapedType::isDynamic(extent))
      return {};
    starts.push_back(starts.back() + (isLast ? 0 : extent));
  }
  Value result;
  for (size_t number = parts.size(); number-- > 0;) {
    Value own = readAt(point, parts[number], dims, dim,
                       getPosition(point, position, -starts[number], 1));
    if (own && !own.getType().isInteger(1))
      own = point.toIndex(own);
    if (!own || (result && own.getType() != result.getType()))
      return {};
    if (!result) {
      result = own;
      continue;
    }
    Value isInside =
        arith::CmpIOp::create(point.b, arith::CmpIPredicate::slt, position,
                              point.constantIndex(starts[number + 1]));
    result = arith::SelectOp::create(point.b, isInside, own, result);
  }
  return result;
}

/// The operation of this name, also as torch-mlir keeps it if it does not know
/// it.
static bool isTorch(Operation *op, StringRef name) {
  if (getName(op) == name)
    return true;
  auto own = dyn_cast_or_null<StringAttr>(op->getAttr("name"));
  return getName(op) == "torch.operator" && own && own.getValue() == name;
}

/// torch.aten.diff: (x, how often, dimension, in front, behind).
static Value readDifference(PointBuilder &point, Operation *op,
                            const State &state) {
  int64_t rank = state.dims.size();
  auto dim = wrapDimension(getInteger(getOperand(op, 2)), rank);
  if (getInteger(getOperand(op, 1)) != 1 || !dim)
    return {};
  SmallVector<Value> parts;
  for (unsigned number : {3, 0, 4})
    if (Value part = getOperand(op, number); part && !isNone(part))
      parts.push_back(part);
  Value position = point.getIndex(state.dims[*dim]);
  Value next = getPosition(point, position, 1, 1);
  if (!next)
    return {};
  Value second = readJoined(point, parts, state.dims, *dim, next),
        first = second ? readJoined(point, parts, state.dims, *dim, position)
                       : Value();
  if (!first || first.getType().isInteger(1))
    return {};
  return arith::SubIOp::create(point.b, second, first);
}

/// The tensors side by side and their dimension.
static std::optional<std::pair<SmallVector<Value>, std::optional<int64_t>>>
getJoined(Operation *op) {
  StringRef name = getName(op);
  if (name == "tensor.concat")
    return std::pair(SmallVector<Value>(op->getOperands()),
                     getInteger(op->getAttr("dim")));
  if (name == "stablehlo.concatenate")
    return std::pair(SmallVector<Value>(op->getOperands()),
                     getInteger(op->getAttr("dimension")));
  Operation *list = name == "torch.aten.cat" && getOperand(op, 0)
                        ? op->getOperand(0).getDefiningOp()
                        : nullptr;
  if (getName(list) != "torch.prim.ListConstruct")
    return std::nullopt;
  return std::pair(SmallVector<Value>(list->getOperands()),
                   getInteger(getOperand(op, 1)));
}

//===----------------------------------------------------------------------===//
// Running sums
//===----------------------------------------------------------------------===//

/// What is summed up along a dimension, the element itself included.
static std::optional<std::pair<Value, std::optional<int64_t>>>
getSummed(Operation *op, Value result) {
  StringRef name = getName(op);
  if (name == "torch.aten.cumsum")
    return std::pair(getOperand(op, 0), getInteger(getOperand(op, 1)));
  if ((name != "tm_tensor.scan" && name != "iree_linalg_ext.scan") ||
      result != op->getResult(0) || op->getNumRegions() != 1 ||
      !llvm::hasSingleElement(op->getRegion(0)))
    return std::nullopt;
  auto inclusive = dyn_cast_or_null<BoolAttr>(op->getAttr("inclusive"));
  Block &block = op->getRegion(0).front();
  if (!inclusive || !inclusive.getValue() || block.empty() ||
      block.getNumArguments() != 2 || block.back().getNumOperands() != 1)
    return std::nullopt;
  auto sum = block.back().getOperand(0).getDefiningOp<arith::AddIOp>();
  if (!sum || sum.getLhs() == sum.getRhs() ||
      !llvm::is_contained(block.getArguments(), sum.getLhs()) ||
      !llvm::is_contained(block.getArguments(), sum.getRhs()))
    return std::nullopt;
  // A sum that starts from the first element does not read its accumulator.
  return std::pair(getOperand(op, 0), getInteger(op->getAttr("dimension")));
}

/// Sums of a number that is everywhere the same.
static Value readRunningSum(PointBuilder &point, Value source,
                            std::optional<int64_t> number, const State &state) {
  int64_t rank = state.dims.size();
  RankedTensorType type = getTensorType(source);
  auto dim = wrapDimension(number, rank);
  if (!type || type.getRank() != rank || !dim)
    return {};
  Value element = point.getElement({source, state.dims});
  auto each = element ? point.facts.getConstant(element) : std::nullopt;
  if (!each)
    return {};
  if (*each == 0)
    return point.constantIndex(0);
  return getPosition(point, point.getIndex(state.dims[*dim]), *each, *each);
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

Value fa3::convert::computeMoved(PointBuilder &point, const State &state) {
  Operation *op = state.value.getDefiningOp();
  if (!op)
    return {};
  StringRef name = getName(op);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return point.attempt([&] { return readTensorSlice(point, slice, state); });
  if (name == "torch.aten.slice.Tensor")
    return point.attempt([&] { return readTorchSlice(point, op, state); });
  if (name == "torch.aten.select.int")
    return point.attempt([&] { return readSelect(point, op, state); });
  if (name == "stablehlo.slice") {
    auto starts = getIntegers(op->getAttr("start_indices")),
         steps = getIntegers(op->getAttr("strides"));
    if (!starts || !steps || op->getNumOperands() != 1)
      return {};
    return point.attempt(
        [&] { return readSlice(point, state, *starts, *steps); });
  }
  if (name == "torch.aten.index.Tensor")
    return point.attempt([&] { return readGather(point, op, state); });
  // Of the others only integers that turn out to be positions or constants.
  if (!isa<IntegerType, IndexType>(getTensorType(state.value).getElementType()))
    return {};
  auto isKnown = [&](Value value) { return point.facts.isOfArguments(value); };
  if (isTorch(op, "torch.aten.diff"))
    return point.attempt([&] { return readDifference(point, op, state); },
                         isKnown);
  if (auto joined = getJoined(op)) {
    auto &[parts, number] = *joined;
    auto dim = wrapDimension(number, state.dims.size());
    if (!dim || parts.empty() || parts.size() > 4)
      return {};
    return point.attempt(
        [&, &parts = parts] {
          return readJoined(point, parts, state.dims, *dim,
                            point.getIndex(state.dims[*dim]));
        },
        isKnown);
  }
  if (auto summed = getSummed(op, state.value)) {
    auto &[source, number] = *summed;
    return point.attempt([&, source = source, number = number] {
      return readRunningSum(point, source, number, state);
    });
  }
  return {};
}
