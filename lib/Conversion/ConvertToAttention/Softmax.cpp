//===- Softmax.cpp - softmax, named or written out ------------------------===//
//
// Written out it is max, sub, exp, sum and div (or mul by a reciprocal), in the
// operations of any project; all of them on the same tensor along the same
// dimension.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Softmax.h"
#include "Elements.h"
#include "Foreign.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"
#include <cmath>

using namespace mlir;
using namespace fa3::convert;

SmallVector<State> fa3::convert::peelRounds(Labels &labels, State state,
                                            bool widens) {
  SmallVector<State> states;
  // Of f16 and bf16 neither has all numbers of the other.
  auto isExact = [](Value from, Value to) {
    Type own = getTensorType(from).getElementType(),
         other = getTensorType(to).getElementType();
    return own == other ||
           own.getIntOrFloatBitWidth() < other.getIntOrFloatBitWidth();
  };
  // Nothing refers to itself but by mistake.
  while (states.size() < 64) {
    states.push_back(state);
    if (State next = peel(labels, state); next.value) {
      state = next;
      continue;
    }
    Operation *op = state.value.getDefiningOp();
    if (getElementName(op) != "round")
      break;
    auto terms = readTerms(labels, state);
    if (!terms || terms->size() != 1)
      break;
    const State &source = terms->front().state;
    if (!source.value || source.dims.size() != state.dims.size() ||
        (widens && !isExact(source.value, state.value)))
      break;
    state = source;
  }
  return states;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
enum class Kind { Max, Sum };

/// The maximum or the sum of a tensor along one dimension.
struct Reduction {
  Kind kind;
  /// The tensor, with no label where it is reduced.
  State source;
  size_t dimension;
};
} // namespace

/// A dimension of `rank`, counted from the end if it is below 0.
static std::optional<size_t> getDimension(std::optional<int64_t> number,
                                          int64_t rank) {
  if (!number || *number < -rank || *number >= rank)
    return std::nullopt;
  return *number < 0 ? *number + rank : *number;
}

/// A reduction of `source` by one dimension, which the result has not, or with
/// an extent of 1.
static std::optional<Reduction> makeReduction(Kind kind, Value source,
                                              std::optional<int64_t> number,
                                              const State &result) {
  RankedTensorType type = getTensorType(source);
  if (!type)
    return std::nullopt;
  auto dimension = getDimension(number, type.getRank());
  int64_t rank = result.dims.size();
  if (!dimension || (rank != type.getRank() && rank + 1 != type.getRank()))
    return std::nullopt;
  Dims dims = result.dims;
  if (rank == type.getRank())
    dims[*dimension].clear();
  else
    dims.insert(dims.begin() + *dimension, Group());
  return Reduction{kind, {source, std::move(dims)}, *dimension};
}

static std::optional<Kind> getKindOfBody(Operation *body) {
  StringRef name = getName(body);
  if (name == "arith.addf" || name == "stablehlo.add")
    return Kind::Sum;
  if (name == "arith.maximumf" || name == "arith.maxnumf" ||
      name == "stablehlo.maximum")
    return Kind::Max;
  return std::nullopt;
}

/// Whether a reduction starts from what changes nothing.
static bool isNeutral(Kind kind, std::optional<double> start) {
  return start && (kind == Kind::Sum ? *start == 0 : *start == -INFINITY);
}

/// A linalg.generic that reduces one loop; a second result, as where the
/// maximum is, does not count.
static std::optional<Reduction> readGeneric(Operation *op,
                                            const State &result) {
  unsigned results = op->getNumResults();
  auto maps = dyn_cast_or_null<ArrayAttr>(op->getAttr("indexing_maps"));
  if (op->getNumOperands() != 1 + results || !maps ||
      maps.size() != op->getNumOperands() || op->getNumRegions() != 1 ||
      !llvm::hasSingleElement(op->getRegion(0)) ||
      result.value != op->getResult(0))
    return std::nullopt;
  auto in = dyn_cast<AffineMapAttr>(maps[0]),
       out = dyn_cast<AffineMapAttr>(maps[1]);
  Block &block = op->getRegion(0).front();
  RankedTensorType type = getTensorType(op->getOperand(0));
  if (!in || !out || !type || !in.getValue().isIdentity() ||
      type.getRank() != in.getValue().getNumResults() || block.empty() ||
      getName(&block.back()) != "linalg.yield" ||
      block.back().getNumOperands() != results ||
      block.getNumArguments() != op->getNumOperands())
    return std::nullopt;
  Operation *body = block.back().getOperand(0).getDefiningOp();
  std::optional<Kind> kind = getKindOfBody(body);
  if (!kind || body->getNumOperands() != 2)
    return std::nullopt;
  Value element = block.getArgument(0), carried = block.getArgument(1);
  if (!(body->getOperand(0) == element && body->getOperand(1) == carried) &&
      !(body->getOperand(1) == element && body->getOperand(0) == carried))
    return std::nullopt;
  // The loop that the result has not.
  int64_t rank = type.getRank();
  SmallVector<bool> has(rank, false);
  SmallVector<int64_t> order;
  for (AffineExpr expr : out.getValue().getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (dim)
      has[dim.getPosition()] = true;
    order.push_back(dim ? int64_t(dim.getPosition()) : -1);
  }
  if (llvm::count(has, false) != 1)
    return std::nullopt;
  int64_t dimension = llvm::find(has, false) - has.begin();
  SmallVector<int64_t> kept = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  SmallVector<int64_t> wanted = kept;
  wanted[dimension] = -1;
  kept.erase(kept.begin() + dimension);
  if (order != kept && order != wanted)
    return std::nullopt;
  Operation *init = op->getOperand(1).getDefiningOp();
  Value start =
      getName(init) == "linalg.fill" ? getOperand(init, 0) : op->getOperand(1);
  if (!isNeutral(*kind, getNumber(start)))
    return std::nullopt;
  return makeReduction(*kind, op->getOperand(0), dimension, result);
}

static std::optional<Reduction> readStableHlo(Operation *op,
                                              const State &result) {
  auto dims = getIntegers(op->getAttr("dimensions"));
  if (op->getNumOperands() != 2 || op->getNumResults() != 1 || !dims ||
      dims->size() != 1 || op->getNumRegions() != 1 ||
      !llvm::hasSingleElement(op->getRegion(0)))
    return std::nullopt;
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() != 2 || block.empty() ||
      getName(&block.back()) != "stablehlo.return" ||
      block.back().getNumOperands() != 1)
    return std::nullopt;
  Operation *body = block.back().getOperand(0).getDefiningOp();
  std::optional<Kind> kind = getKindOfBody(body);
  if (!kind || body->getNumOperands() != 2 ||
      !isNeutral(*kind, getNumber(op->getOperand(1))))
    return std::nullopt;
  Value first = body->getOperand(0), second = body->getOperand(1);
  if (first == second || first.getParentBlock() != &block ||
      second.getParentBlock() != &block || first.getDefiningOp() ||
      second.getDefiningOp())
    return std::nullopt;
  return makeReduction(*kind, op->getOperand(0), dims->front(), result);
}

static std::optional<Reduction> readReduction(const State &result) {
  Operation *op = result.value.getDefiningOp();
  StringRef name = getName(op);
  if (name == "linalg.generic")
    return readGeneric(op, result);
  if (name == "stablehlo.reduce")
    return readStableHlo(op, result);
  if (!op || result.value != op->getResult(0) || op->getNumOperands() < 1)
    return std::nullopt;
  if (name == "tosa.reduce_max" || name == "tosa.reduce_sum")
    return makeReduction(name == "tosa.reduce_max" ? Kind::Max : Kind::Sum,
                         op->getOperand(0), getInteger(op->getAttr("axis")),
                         result);
  if (name == "torch.aten.max.dim")
    return makeReduction(Kind::Max, op->getOperand(0),
                         getInteger(getOperand(op, 1)), result);
  if (name == "torch.aten.amax" || name == "torch.aten.sum.dim_IntList") {
    auto dims = getIntegers(getOperand(op, 1));
    if (!dims || dims->size() != 1)
      return std::nullopt;
    return makeReduction(name == "torch.aten.amax" ? Kind::Max : Kind::Sum,
                         op->getOperand(0), dims->front(), result);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

bool fa3::convert::isNamedSoftmax(Operation *op) {
  static constexpr StringLiteral names[] = {
      "linalg.softmax", "torch.aten.softmax.int", "torch.aten._softmax"};
  return op && op->getNumResults() == 1 &&
         llvm::is_contained(names, getName(op));
}

/// What a tensor is a view of, or the maximum with -inf.
static State peelLeast(Labels &labels, const State &state) {
  State last = peelRounds(labels, state).back();
  if (getElementName(last.value.getDefiningOp()) != "maximum")
    return last;
  auto terms = readTerms(labels, last);
  if (!terms || terms->size() != 2)
    return last;
  for (unsigned side : {0, 1}) {
    const Term &term = (*terms)[side], &other = (*terms)[1 - side];
    auto number = term.number ? term.number : getUniform(labels, term.state);
    if (number == -INFINITY && other.state.value)
      return peelRounds(labels, other.state).back();
  }
  return last;
}

/// Whether `state` is `kind` of a tensor of the chain along a dimension; that.
/// `along`, if it is not empty, is the one to be.
static std::optional<Group> matchReduction(Labels &labels, const State &state,
                                           Kind kind, ArrayRef<State> chain,
                                           const Group &along = {}) {
  auto reduction = readReduction(peelLeast(labels, state));
  if (!reduction || reduction->kind != kind)
    return std::nullopt;
  auto isInChain = [&](Value value) {
    return llvm::any_of(
        chain, [&](const State &tensor) { return tensor.value == value; });
  };
  // Sums are of wider floats.
  for (unsigned step = 0; step < 4 && !isInChain(reduction->source.value);
       ++step) {
    if (getElementName(reduction->source.value.getDefiningOp()) != "round")
      break;
    auto terms = readTerms(labels, reduction->source);
    if (!terms || terms->size() != 1 ||
        terms->front().state.dims != reduction->source.dims)
      break;
    reduction->source = terms->front().state;
  }
  for (const State &tensor : chain) {
    if (tensor.value != reduction->source.value ||
        tensor.dims.size() != reduction->source.dims.size())
      continue;
    for (size_t dim = 0; dim < tensor.dims.size(); ++dim)
      if (dim != reduction->dimension &&
          labels.dropUnits(tensor.dims[dim]) !=
              labels.dropUnits(reduction->source.dims[dim]))
        return std::nullopt;
    Group own = labels.resolve(tensor.dims[reduction->dimension]);
    if (!along.empty() && own != labels.resolve(along))
      return std::nullopt;
    return own;
  }
  return std::nullopt;
}

/// The operands of an operation with this name, all tensors; nothing if it is
/// another one.
static std::optional<SmallVector<Term>>
matchStep(Labels &labels, const State &state, StringRef name) {
  if (getElementName(state.value.getDefiningOp()) != name)
    return std::nullopt;
  auto terms = readTerms(labels, state);
  if (!terms || !llvm::all_of(*terms, [](const Term &term) {
        return static_cast<bool>(term.state.value);
      }))
    return std::nullopt;
  return terms;
}

/// exp(x - max x), given what its sum is along.
static std::optional<State> matchExponential(Labels &labels, const State &state,
                                             const Group &along) {
  auto exponent = matchStep(labels, state, "exp");
  if (!exponent)
    return std::nullopt;
  State shifted = peelRounds(labels, (*exponent)[0].state).back();
  auto difference = matchStep(labels, shifted, "sub");
  if (!difference)
    return std::nullopt;
  SmallVector<State> chain = peelRounds(labels, (*difference)[0].state);
  if (!matchReduction(labels, (*difference)[1].state, Kind::Max, chain, along))
    return std::nullopt;
  return (*difference)[0].state;
}

static std::optional<Softmax> matchQuotient(Labels &labels,
                                            const State &result) {
  auto quotient = matchStep(labels, result, "div");
  std::optional<State> weight, sum;
  if (quotient) {
    weight = (*quotient)[0].state;
    sum = (*quotient)[1].state;
  } else if (auto product = matchStep(labels, result, "mul")) {
    for (unsigned side : {0, 1}) {
      State factor = peelRounds(labels, (*product)[1 - side].state).back();
      if (auto inverse = matchStep(labels, factor, "reciprocal")) {
        weight = (*product)[side].state;
        sum = (*inverse)[0].state;
        break;
      }
    }
  }
  if (!weight)
    return std::nullopt;
  SmallVector<State> chain = peelRounds(labels, *weight);
  auto along = matchReduction(labels, *sum, Kind::Sum, chain);
  if (!along)
    return std::nullopt;
  auto input = matchExponential(labels, chain.back(), *along);
  if (!input)
    return std::nullopt;
  return Softmax{result.value.getDefiningOp(), *input, *along};
}

std::optional<Softmax> fa3::convert::readSoftmax(Labels &labels,
                                                 const State &result) {
  Operation *op = result.value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (!isNamedSoftmax(op))
    return matchQuotient(labels, result);
  RankedTensorType type = getTensorType(op->getResult(0)),
                   from = getTensorType(getOperand(op, 0));
  if (!type || !from || type.getShape() != from.getShape())
    return std::nullopt;
  auto dimension = getDimension(getName(op) == "linalg.softmax"
                                    ? getInteger(op->getAttr("dimension"))
                                    : getInteger(getOperand(op, 1)),
                                type.getRank());
  if (!dimension)
    return std::nullopt;
  return Softmax{op,
                 {op->getOperand(0), result.dims},
                 labels.resolve(result.dims[*dimension])};
}
