//===- TorchMods.cpp - torch.hop_flex_attention ---------------------------===//
//
// (query, key, value, scale, return_lse, return_max_scores) with functions that
// edit a score, (score, b, h, i, j), and say whether a key is visible, (b, h,
// i, j), on tensors of rank 0. Their code becomes scalar code: floats are f32,
// integers index, booleans i1.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "Foreign.h"
#include "ScalarCode.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace fa3::convert;

//===----------------------------------------------------------------------===//
// The operation
//===----------------------------------------------------------------------===//

/// The body of a function that takes `count` numbers and returns one; null if
/// there is no such function.
static Block *getBody(Operation *function, unsigned count) {
  if (!function || function->getNumRegions() != 1 ||
      !llvm::hasSingleElement(function->getRegion(0)))
    return nullptr;
  Block &block = function->getRegion(0).front();
  if (block.getNumArguments() != count || block.empty() ||
      getName(&block.back()) != "func.return" ||
      block.back().getNumOperands() != 1)
    return nullptr;
  for (BlockArgument argument : block.getArguments()) {
    RankedTensorType type = getTensorType(argument);
    if (!type || type.getRank() != 0)
      return nullptr;
  }
  return &block;
}

LogicalResult
fa3::convert::convertFlex(Operation *op, FloatType castType,
                          SmallVectorImpl<Operation *> &functions) {
  if (op->getNumOperands() != 6 || op->getNumResults() < 1)
    return refuse(op, "expects q, k, v, the scale and two flags as operands, "
                      "got " +
                          Twine(op->getNumOperands()));
  AttentionProblem problem(op, castType);
  if (failed(readLikeTorch(problem, /*grouped=*/true)))
    return failure();
  if (!isNone(op->getOperand(3))) {
    problem.scale = getNumber(op->getOperand(3));
    if (!problem.scale)
      return refuse(op, "expects its scale to be a constant");
  }
  if (op->getNumResults() > 1 && !op->getResult(1).use_empty())
    return refuse(op, "its log-sum-exp is used, which has the base 2 here");

  auto find = [&](StringRef name, unsigned count) -> FailureOr<Block *> {
    auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(op->getAttr(name));
    if (!symbol)
      return static_cast<Block *>(nullptr);
    Operation *function = SymbolTable::lookupNearestSymbolFrom(op, symbol);
    Block *block = getBody(function, count);
    if (!block)
      return refuse(op, "'" + name + "' names no function of " + Twine(count) +
                            " tensors of rank 0 that returns one");
    functions.push_back(function);
    return block;
  };
  FailureOr<Block *> score = find("score_mod_fn", 5);
  if (failed(score))
    return failure();
  FailureOr<Block *> mask = find("mask_mod_fn", 4);
  if (failed(mask))
    return failure();
  auto mapIndices = [](Translator &translator, PointBuilder &point,
                       ArrayRef<BlockArgument> arguments) {
    translator.map(arguments[0], point.getBatch());
    translator.map(arguments[1], point.getHead());
    translator.map(arguments[2], point.getQuery());
    translator.map(arguments[3], point.getKey());
  };
  if (*score && (*score)->back().getOperand(0) != (*score)->getArgument(0))
    problem.scores.push_back([&](PointBuilder &point, Value value) -> Value {
      Translator translator(point);
      translator.map((*score)->getArgument(0), value);
      mapIndices(translator, point, (*score)->getArguments().drop_front());
      Value edited = translator.get((*score)->back().getOperand(0));
      return edited ? point.toF32(edited) : Value();
    });
  if (*mask)
    problem.conditions.push_back([&](PointBuilder &point) -> Value {
      Translator translator(point);
      mapIndices(translator, point, (*mask)->getArguments());
      Value visible = translator.get((*mask)->back().getOperand(0));
      if (visible && !visible.getType().isInteger(1))
        return point.fail("its mask function gives no boolean");
      // All keys.
      if (visible && getInteger(visible) == 1) {
        visible.getDefiningOp()->erase();
        return {};
      }
      return visible;
    });
  return assemble(problem);
}
