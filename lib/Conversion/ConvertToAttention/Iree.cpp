//===- Iree.cpp - iree_linalg_ext.attention -------------------------------===//
//
// ins(q, k, v, scale[, mask]) outs(o) with a map of the iteration space for
// each, and a region that edits a score. As IREE lowers it (LinalgExt,
// AggregatedOpInterfaceImpl.cpp): scores are times scale and, for exp2, times
// log2(e) when the region edits them; a mask is then added in natural units,
// or hides keys if its elements are integers.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "Foreign.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;
using namespace fa3::convert;

LogicalResult fa3::convert::refuseOnline(Operation *op) {
  return refuse(op,
                "it gives the parts of a running sum, which other operations "
                "finish; convert before IREE makes it of "
                "iree_linalg_ext.attention");
}

/// The labels of a tensor by its map.
static FailureOr<State> readMap(Labels &labels, Value tensor,
                                Attribute attribute, ArrayRef<Label> loops) {
  auto map = dyn_cast<AffineMapAttr>(attribute);
  if (!map || map.getValue().getNumDims() != loops.size() ||
      !map.getValue().isProjectedPermutation(/*allowZeroInResults=*/true))
    return failure();
  Dims dims;
  for (AffineExpr expr : map.getValue().getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      dims.push_back({loops[dim.getPosition()]});
    else
      dims.push_back({labels.create(1)});
  }
  return makeState(labels, tensor, std::move(dims));
}

/// Whether it has the operands, results and regions of an attention.
static LogicalResult checkForm(Operation *op, ArrayAttr maps) {
  if (!maps)
    return refuse(op, "it has no 'indexing_maps', as in IREE before 2024");
  unsigned count = op->getNumOperands();
  if ((count != 5 && count != 6) || maps.size() != count)
    return refuse(op, "expects q, k, v, scale, perhaps a mask, and the output, "
                      "with a map for each, got " +
                          Twine(count) + " operands and " + Twine(maps.size()) +
                          " maps");
  if (op->getNumResults() != 1 || op->getNumRegions() != 1 ||
      !llvm::hasSingleElement(op->getRegion(0)))
    return refuse(op, op->getNumResults() == 1
                          ? "expects one region of one block"
                          : "expects one result, a tensor");
  if (!isa<AffineMapAttr>(maps[0]))
    return refuse(op, "expects 'indexing_maps' of maps");
  return success();
}

/// Reads q, k, v, the result, the scale and a mask.
static LogicalResult readIreeTensors(AttentionProblem &problem, ArrayAttr maps,
                                     ArrayRef<Label> loops) {
  Operation *op = problem.op;
  unsigned count = op->getNumOperands();
  std::pair<Value, State *> tensors[] = {{op->getOperand(0), &problem.q},
                                         {op->getOperand(1), &problem.k},
                                         {op->getOperand(2), &problem.v},
                                         {op->getResult(0), &problem.o}};
  for (auto [number, entry] : llvm::enumerate(tensors)) {
    auto state = readMap(problem.labels, entry.first,
                         maps[number == 3 ? count - 1 : number], loops);
    if (failed(state))
      return refuse(op, Twine("the map of ") +
                            (ArrayRef<const char *>{"q", "k", "v",
                                                    "the output"})[number] +
                            " does not fit its shape");
    *entry.second = std::move(*state);
  }
  problem.scaleValue = op->getOperand(3);
  if (!problem.scaleValue.getType().isIntOrFloat())
    return refuse(op, "its scale is no float");
  if (count != 6)
    return success();
  Value mask = op->getOperand(4);
  auto state = readMap(problem.labels, mask, maps[4], loops);
  if (failed(state))
    return refuse(op, "the map of the mask does not fit its shape");
  Type element = getTensorType(mask).getElementType();
  problem.masks.push_back({std::move(*state), isa<IntegerType>(element)});
  return success();
}

/// The region's score for `natural`; what the region sees has the unit of exp2.
static Value editScore(PointBuilder &point, Value natural, Value yielded,
                       BlockArgument score, ArrayRef<Label> loops) {
  Type f32 = natural.getType();
  constexpr double log2e = 1.4426950408889634;
  Value seen =
      arith::MulFOp::create(point.b, natural, point.constant(log2e, f32));
  auto resolve = [&](Value value) -> Value {
    if (value == score)
      return point.toFloat(seen, score.getType());
    Operation *inner = value.getDefiningOp();
    if (getName(inner) != "iree_linalg_ext.index")
      return {};
    std::optional<int64_t> dim = getInteger(inner->getAttr("dim"));
    if (!dim || *dim < 0 || *dim >= static_cast<int64_t>(loops.size()))
      return {};
    return point.getIndex({loops[*dim]});
  };
  Value edited = point.clone(yielded, score.getOwner(), resolve);
  if (!edited)
    return {};
  Value factor = point.constant(1 / log2e, f32);
  return arith::MulFOp::create(point.b, point.toF32(edited), factor);
}

/// The code of the region.
static LogicalResult readRegion(AttentionProblem &problem,
                                ArrayRef<Label> loops) {
  Block &block = problem.op->getRegion(0).front();
  if (block.getNumArguments() < 1 || block.empty() ||
      getName(&block.back()) != "iree_linalg_ext.yield" ||
      block.back().getNumOperands() != 1)
    return refuse(problem.op, "expects a region that takes and yields a score");
  Value yielded = block.back().getOperand(0);
  BlockArgument score = block.getArgument(0);
  if (!isa<FloatType>(score.getType()) || !isa<FloatType>(yielded.getType()))
    return refuse(problem.op, "expects a region that takes and yields a score");
  if (yielded != score)
    problem.scores.push_back([=, loops = llvm::to_vector(loops)](
                                 PointBuilder &point, Value natural) -> Value {
      return editScore(point, natural, yielded, score, loops);
    });
  return success();
}

LogicalResult fa3::convert::convertIree(Operation *op, FloatType castType) {
  auto maps = dyn_cast_or_null<ArrayAttr>(op->getAttr("indexing_maps"));
  if (failed(checkForm(op, maps)))
    return failure();
  AttentionProblem problem(op, castType);
  SmallVector<Label> loops;
  AffineMap first = cast<AffineMapAttr>(maps[0]).getValue();
  for (unsigned i = 0; i < first.getNumDims(); ++i)
    loops.push_back(problem.labels.create(ShapedType::kDynamic));
  if (failed(readIreeTensors(problem, maps, loops)) ||
      failed(readRegion(problem, loops)))
    return failure();
  return assemble(problem);
}
