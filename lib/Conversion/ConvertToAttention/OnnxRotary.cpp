//===- OnnxRotary.cpp - rotation and caches of ONNX -----------------------===//
//
// RotaryEmbedding of ONNX (X, cos, sin, positions) and of com.microsoft (X,
// positions, cos, sin) becomes attention.rotary; TensorScatter
// attention.append.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Onnx.h"
#include "Rewrite.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3::convert;
using fa3::attention::Layout;

namespace {
class RotaryRewrite : Rewrite {
public:
  explicit RotaryRewrite(Operation *op) : Rewrite(op), op(op), attributes{op} {}
  LogicalResult run();

private:
  LogicalResult readInput();
  LogicalResult readPositions();

  Operation *op;
  Attributes attributes;
  /// What is turned, (b, s, h, d) if `isFlat` and else (b, h, s, d).
  Value input, cos, sin, positions, first;
  bool isFlat = false;
};
} // namespace

LogicalResult RotaryRewrite::readInput() {
  RankedTensorType type = getTensorType(op->getOperand(0));
  if (!type || (type.getRank() != 3 && type.getRank() != 4))
    return refuse("expects a tensor of rank 3 or 4");
  isFlat = type.getRank() == 3;
  input = take(op->getOperand(0));
  if (!isFlat)
    return success();
  int64_t heads = attributes.getInteger("num_heads", 0);
  // Without a partial rotation the tables say how long a row is.
  if (int64_t pairs = getTensorType(cos).getShape().back();
      heads < 1 && !ShapedType::isDynamic(pairs) && pairs > 0 &&
      pairs < fa3::attention::kGreatestExtent && !type.isDynamicDim(2))
    heads = type.getDimSize(2) / (2 * pairs);
  input = splitHeads(input, heads);
  return input ? success()
               : refuse("expects a known number of heads that divides its "
                        "columns, got " +
                        Twine(heads));
}

/// Positions of rows that one of them says, or a table that has a row for each.
LogicalResult RotaryRewrite::readPositions() {
  RankedTensorType table = getTensorType(cos);
  if (!isGiven(positions)) {
    if (table.getRank() != 3)
      return refuse("it has no positions: expects a 'cos_cache' (batch, "
                    "sequence, pairs)");
    first = getStarts(cos);
    cos = joinRows(cos), sin = joinRows(sin);
    return success();
  }
  RankedTensorType type = getTensorType(positions);
  if (table.getRank() != 2 || !type || type.getRank() < 1 ||
      type.getRank() > 2 || !isa<IntegerType>(type.getElementType()))
    return refuse("expects positions for each row, or for all, of a "
                  "'cos_cache' (position, pairs)");
  positions = take(positions);
  auto keep = [](ImplicitLocOpBuilder &, Value number) { return number; };
  if (type.getRank() == 2 && type.getDimSize(1) == 1 &&
      getTensorType(input).getDimSize(isFlat ? 1 : 2) == 1) {
    first = mapIntegers(positions, keep);
  } else if (type.getRank() == 2) {
    first = getStarts(positions);
    cos = takeRows(cos, positions), sin = takeRows(sin, positions);
  } else if (type.getDimSize(0) == 1) {
    // One number, that of the first row of all sequences.
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value number = tensor::ExtractOp::create(b, loc, positions, zero);
    if (cast<IntegerType>(number.getType()).getWidth() != 32)
      number = arith::IndexCastOp::create(b, loc, b.getIndexType(), number),
      number = arith::IndexCastOp::create(b, loc, b.getI32Type(), number);
    Value empty =
        tensor::EmptyOp::create(b, loc, getExtent(input, 0), b.getI32Type());
    first = linalg::FillOp::create(b, loc, number, empty)->getResult(0);
  } else {
    return refuse("expects positions for each row, or one for all");
  }
  return success();
}

LogicalResult RotaryRewrite::run() {
  if (op->getNumOperands() < 3)
    return refuse("expects tables of cosines and sines");
  // com.microsoft has integers behind X.
  RankedTensorType second = getTensorType(op->getOperand(1));
  bool isMicrosoft = second && isa<IntegerType>(second.getElementType());
  if (isMicrosoft && op->getNumOperands() < 4)
    return refuse("expects tables of cosines and sines");
  positions = getOperand(op, isMicrosoft ? 1 : 3);
  Value tables[] = {op->getOperand(isMicrosoft ? 2 : 1),
                    op->getOperand(isMicrosoft ? 3 : 2)};
  RankedTensorType type = getTensorType(tables[0]);
  if (!type || type.getRank() < 2 || type.getRank() > 3 ||
      type != getTensorType(tables[1]))
    return refuse("its cosines and sines are no tensors of one type");
  if (attributes.getInteger("is_packed_batching", 0) != 0)
    return refuse("it has packed batches ('is_packed_batching')");
  if (double scale = attributes.getNumber("scale"); scale != 0 && scale != 1)
    return refuse("it has a 'scale'");
  cos = take(tables[0]), sin = take(tables[1]);
  if (failed(readInput()) || failed(readPositions()))
    return failure();
  int64_t width = attributes.getInteger("rotary_embedding_dim", 0),
          d = getTensorType(input).getShape().back(),
          pairs = type.getShape().back();
  if (width < 1 && !ShapedType::isDynamic(d))
    width = d;
  if (ShapedType::isDynamic(pairs) || width < 2 || pairs != width / 2)
    return refuse("expects a column of cosines for each of " +
                  Twine(width / 2) + " pairs");
  Value turned = rotate(input, cos, sin, first,
                        attributes.getInteger("interleaved", 0) != 0,
                        isFlat ? Layout::bshd : Layout::bhsd);
  if (!turned)
    return refuse("its shapes are not known well enough");
  if (failed(check()))
    return failure();
  turned = like(isFlat ? joinHeads(turned) : turned, op->getResult(0));
  if (!turned)
    return refuse("the type of its result is another one");
  replace(op->getResult(0), turned);
  finish();
  return success();
}

LogicalResult fa3::convert::convertOnnxRotary(Operation *op) {
  return RotaryRewrite(op).run();
}

LogicalResult fa3::convert::convertTensorScatter(Operation *op) {
  Rewrite rewrite(op);
  Attributes attributes{op};
  RankedTensorType type = getTensorType(op->getOperand(0)),
                   rows = getTensorType(op->getOperand(1));
  if (!type || !rows || type.getRank() != 4 || rows.getRank() != 4)
    return rewrite.refuse("expects a cache and rows of rank 4");
  auto mode = dyn_cast_or_null<StringAttr>(attributes.get("mode"));
  if (mode && mode.getValue() != "linear")
    return rewrite.refuse("its mode is '" + mode.getValue() +
                          "', expects 'linear'");
  int64_t axis = attributes.getInteger("axis", -2);
  if (axis != -2 && axis != 2)
    return rewrite.refuse("its axis is " + Twine(axis) + ", expects -2");
  Value places = getOperand(op, 2), first;
  if (isGiven(places)) {
    first = rewrite.mapIntegers(
        rewrite.take(places),
        [](ImplicitLocOpBuilder &, Value number) { return number; });
  } else {
    first = rewrite.fill(rewrite.getExtent(rewrite.take(op->getOperand(0)), 0),
                         rewrite.b.getI32Type());
  }
  Value old = rewrite.take(op->getOperand(0));
  Value cache = rewrite.append(rewrite.take(op->getOperand(1)), old, first);
  if (!cache)
    return rewrite.refuse("its 'write_indices' are no integers for each batch");
  if (failed(rewrite.check()))
    return failure();
  cache = rewrite.like(cache, op->getResult(0));
  if (!cache)
    return rewrite.refuse("the type of its result is not that of the cache");
  rewrite.replace(op->getResult(0), cache);
  rewrite.finish();
  return success();
}
