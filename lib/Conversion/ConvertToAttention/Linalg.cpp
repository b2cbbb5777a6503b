//===- Linalg.cpp - softmax between two contractions ----------------------===//
//
// S = contraction(q, k), elementwise code on S, linalg.softmax along the keys,
// perhaps a narrower type, contraction with v. Opt-in: scores that the program
// rounds to 16 bits are not rounded by attention.forward.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Foreign.h"
#include "Problem.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3::convert;

/// The argument that a value is, perhaps in a wider type.
static BlockArgument getArgument(Value value) {
  while (auto ext = value.getDefiningOp<arith::ExtFOp>())
    value = ext.getIn();
  return dyn_cast<BlockArgument>(value);
}

/// Sum of products of elements of two tensors, starting from 0.
static bool isContraction(Operation *op) {
  if (!op || !getName(op).starts_with("linalg.") || op->getNumOperands() != 3 ||
      op->getNumResults() != 1 || op->getNumRegions() != 1 ||
      !llvm::hasSingleElement(op->getRegion(0)))
    return false;
  auto maps = dyn_cast_or_null<ArrayAttr>(op->getAttr("indexing_maps"));
  if (!maps || maps.size() != 3)
    return false;
  unsigned dims = 0;
  for (auto [number, attribute] : llvm::enumerate(maps)) {
    auto map = dyn_cast<AffineMapAttr>(attribute);
    RankedTensorType type = getTensorType(op->getOperand(number));
    if (!map || !type || map.getValue().getNumResults() != type.getRank() ||
        !map.getValue().isProjectedPermutation())
      return false;
    if (number > 0 && map.getValue().getNumDims() != dims)
      return false;
    dims = map.getValue().getNumDims();
  }
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() != 3 || block.empty() ||
      getName(&block.back()) != "linalg.yield" ||
      block.back().getNumOperands() != 1)
    return false;
  auto sum = block.back().getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  Value product =
      sum.getLhs() == block.getArgument(2) ? sum.getRhs() : sum.getLhs();
  Value carried =
      sum.getLhs() == block.getArgument(2) ? sum.getLhs() : sum.getRhs();
  auto mul = product.getDefiningOp<arith::MulFOp>();
  if (!mul || carried != block.getArgument(2))
    return false;
  BlockArgument lhs = getArgument(mul.getLhs()),
                rhs = getArgument(mul.getRhs());
  if (!lhs || !rhs || lhs.getArgNumber() + rhs.getArgNumber() != 1)
    return false;
  Operation *init = op->getOperand(2).getDefiningOp();
  Value start =
      getName(init) == "linalg.fill" ? getOperand(init, 0) : op->getOperand(2);
  return getNumber(start) == 0.0;
}

static Dims getDims(AffineMap map, const Dims &loops) {
  return llvm::map_to_vector<5>(map.getResults(), [&](AffineExpr expr) {
    return loops[cast<AffineDimExpr>(expr).getPosition()];
  });
}

namespace {
/// Searches for the product that scores are computed of.
struct Search {
  Labels &labels;
  Operation *product = nullptr;
  Dims dims;
  /// The operation right behind the product if it only scales it.
  Operation *scaled = nullptr;
  double scale = 1;
  unsigned count = 0;

  bool visit(const State &given) {
    if (++count > 64)
      return false;
    State state = peelAll(labels, given).back();
    Operation *op = state.value.getDefiningOp();
    if (isContraction(op)) {
      Dims own = labels.resolve(state.dims);
      if (product && (product != op || dims != own))
        return false;
      product = op;
      dims = own;
      return true;
    }
    if (!op || !isElementwise(op))
      return true;
    for (const State &input : getInputs(labels, op, state))
      if (!visit(input))
        return false;
    return true;
  }

  /// Whether the only use of the product multiplies it by a constant.
  void findScale() {
    Value result = product->getResult(0);
    if (!result.hasOneUse())
      return;
    Operation *op = *result.user_begin();
    if (!isElementwise(op))
      return;
    Block &block = op->getRegion(0).front();
    auto mul = block.back().getOperand(0).getDefiningOp<arith::MulFOp>();
    if (!mul)
      return;
    for (auto [x, y] : {std::pair(mul.getLhs(), mul.getRhs()),
                        {mul.getRhs(), mul.getLhs()}}) {
      auto argument = dyn_cast<BlockArgument>(x);
      std::optional<double> number = getNumber(y);
      if (!argument || argument.getOwner() != &block || !number ||
          op->getOperand(argument.getArgNumber()) != result)
        continue;
      scaled = op;
      scale = *number;
    }
  }
};
} // namespace

LogicalResult fa3::convert::raiseLinalg(Operation *op) {
  std::optional<int64_t> dimension = getInteger(op->getAttr("dimension"));
  RankedTensorType type = op->getNumResults() == 1
                              ? getTensorType(op->getResult(0))
                              : RankedTensorType();
  if (!type || op->getNumOperands() < 1 || !dimension || *dimension < 0 ||
      *dimension >= type.getRank() || getTensorType(op->getOperand(0)) != type)
    return refuse(op, "expects a tensor and a dimension of it");

  // The product behind, perhaps after a conversion of the weights.
  Value weights = op->getResult(0);
  SmallVector<Operation *> between;
  while (weights.hasOneUse() && !isContraction(*weights.user_begin())) {
    Operation *user = *weights.user_begin();
    if (!isElementwise(user) || user->getNumOperands() != 2 ||
        user->getOperand(0) != weights || between.size() == 4)
      break;
    Value yielded = user->getRegion(0).front().back().getOperand(0);
    if (auto trunc = yielded.getDefiningOp<arith::TruncFOp>())
      yielded = trunc.getIn();
    else if (auto ext = yielded.getDefiningOp<arith::ExtFOp>())
      yielded = ext.getIn();
    if (yielded != user->getRegion(0).front().getArgument(0))
      break;
    between.push_back(user);
    weights = user->getResult(0);
  }
  Operation *second = weights.hasOneUse() ? *weights.user_begin() : nullptr;
  if (!isContraction(second) || weights == second->getOperand(2))
    return refuse(op, "its result is not only used by a contraction");

  Problem problem(second);
  Labels &labels = problem.labels;
  unsigned side = second->getOperand(0) == weights ? 0 : 1;
  Dims loops;
  for (unsigned i = 0; i < getMap(second, 0).getNumDims(); ++i)
    loops.push_back({labels.create(ShapedType::kDynamic)});
  auto read = [&](Value tensor, AffineMap map) {
    return makeState(labels, tensor, getDims(map, loops));
  };
  auto w = read(weights, getMap(second, side)),
       v = read(second->getOperand(1 - side), getMap(second, 1 - side)),
       o = read(second->getResult(0), getMap(second, 2));
  if (failed(w) || failed(v) || failed(o))
    return refuse(op, "the shapes of the contraction behind it do not fit");
  State state = *w;
  for (Operation *conversion : llvm::reverse(between)) {
    state.value = conversion->getResult(0);
    state = getInputs(labels, conversion, state)[0];
  }
  Group key = labels.resolve(state.dims[*dimension]);
  state.value = op->getOperand(0);

  Search search{labels};
  if (!search.visit(state) || !search.product)
    return refuse(op, "its scores are not computed of one contraction by "
                      "elementwise code");
  Operation *first = search.product;
  search.findScale();
  Dims inner(getMap(first, 0).getNumDims());
  for (auto [number, expr] : llvm::enumerate(getMap(first, 2).getResults()))
    inner[cast<AffineDimExpr>(expr).getPosition()] = search.dims[number];
  for (Group &group : inner)
    if (group.empty())
      group.push_back(labels.create(ShapedType::kDynamic));
  auto readInner = [&](unsigned number) {
    return makeState(labels, first->getOperand(number),
                     getDims(getMap(first, number), inner));
  };
  auto lhs = readInner(0), rhs = readInner(1);
  if (failed(lhs) || failed(rhs))
    return refuse(op,
                  "the shapes of the contraction in front of it do not fit");
  auto hasKey = [&](const State &state) {
    return llvm::any_of(state.dims, [&](const Group &group) {
      return labels.resolve(group) == key;
    });
  };
  if (hasKey(*lhs) == hasKey(*rhs))
    return refuse(op, "its dimension is not that of one operand of the "
                      "contraction in front of it");
  bool isSwapped = hasKey(*lhs);
  problem.q = isSwapped ? *rhs : *lhs;
  problem.k = isSwapped ? *lhs : *rhs;
  problem.v = *v, problem.o = *o;
  problem.scale = search.scale;
  Operation *leaf = search.scaled ? search.scaled : first;
  State scores = state;
  if (peelAll(labels, scores).back().value != leaf->getResult(0))
    problem.scores.push_back([=](Point &point, Value score) -> Value {
      point.setElement(leaf, score);
      Value edited = point.getElement(scores);
      if (edited && !isa<FloatType>(edited.getType()))
        return point.fail("its scores are no floats");
      return edited ? point.toF32(edited) : Value();
    });
  std::string shape;
  llvm::raw_string_ostream(shape) << type;
  Location loc = op->getLoc();
  if (failed(assemble(problem)))
    return failure();
  remarkConverted(loc,
                  "softmax of " + shape +
                      " between two contractions became attention.forward, "
                      "which keeps scores in f32");
  return success();
}
