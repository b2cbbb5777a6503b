//===- OnnxPast.cpp - Attention of ONNX with past keys --------------------===//
//
// Keys and values are those of the past with the new ones behind them, which
// are results, too. Query i stands at key i + the number of past keys.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Onnx.h"
#include "Rewrite.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3::convert;

namespace {
class PastRewrite : Rewrite {
public:
  explicit PastRewrite(Operation *op) : Rewrite(op), op(op), attributes{op} {}
  LogicalResult run(FloatType castType);

private:
  LogicalResult readOperands();
  LogicalResult concatenate();
  LogicalResult attend(FloatType castType);
  LogicalResult readMasks(AttentionProblem &problem, const OnnxShape &shape);

  Operation *op;
  Attributes attributes;
  bool isFlat = false;
  /// q, k and v as (b, h, s, d).
  Value q, rows[2];
  /// The number of past keys, null for none.
  OpFoldResult offset;
  /// Whether there are as many new keys as queries by their types.
  bool isSquare = false;
};
} // namespace

LogicalResult PastRewrite::readOperands() {
  int64_t heads[] = {attributes.getInteger("q_num_heads", -1),
                     attributes.getInteger("kv_num_heads", -1)};
  Value *values[] = {&q, &rows[0], &rows[1]};
  for (auto [number, value] : llvm::enumerate(values)) {
    RankedTensorType type = getTensorType(op->getOperand(number));
    if (!type || (type.getRank() != 3 && type.getRank() != 4))
      return refuse("expects q, k, v and the result to be of rank 3 or 4");
    if (number == 0)
      isFlat = type.getRank() == 3;
    *value = take(op->getOperand(number));
    if (isFlat != (type.getRank() == 3))
      return refuse("expects q, k, v and the result to be of one rank");
    if (isFlat)
      *value = exchange(splitHeads(*value, heads[number != 0]));
    if (!*value)
      return refuse("expects known numbers of heads, got " + Twine(heads[0]) +
                    " and " + Twine(heads[1]));
  }
  int64_t queries = getTensorType(q).getDimSize(2);
  isSquare = !ShapedType::isDynamic(queries) &&
             getTensorType(rows[0]).getDimSize(2) == queries;
  return success();
}

LogicalResult PastRewrite::concatenate() {
  static constexpr StringLiteral names[] = {"past_key", "past_value"};
  bool some = isGiven(getOperand(op, 4)) || isGiven(getOperand(op, 5));
  for (auto [number, name] : llvm::enumerate(names)) {
    if (!some)
      break;
    Value past = getOperand(op, 4 + number);
    RankedTensorType type = getTensorType(isGiven(past) ? past : Value()),
                     own = getTensorType(rows[number]);
    auto agrees = [&](int64_t dim) {
      int64_t extent = type.getDimSize(dim), other = own.getDimSize(dim);
      return extent == other || ShapedType::isDynamic(extent) ||
             ShapedType::isDynamic(other);
    };
    if (!type || type.getRank() != 4 ||
        type.getElementType() != own.getElementType() || !agrees(0) ||
        !agrees(1) || !agrees(3))
      return refuse("its '" + name +
                    "' is no tensor (batch, head, row, "
                    "element) that fits its keys and values");
    past = take(past);
    OpFoldResult count = getExtent(past, 2), fresh = getExtent(rows[number], 2),
                 all;
    if (number == 0)
      offset = count;
    auto known = getConstantIntValue(count), more = getConstantIntValue(fresh);
    if (known && more)
      all = b.getIndexAttr(*known + *more);
    else
      all = arith::AddIOp::create(
                b, loc, getValueOrCreateConstantIndexOp(b, loc, count),
                getValueOrCreateConstantIndexOp(b, loc, fresh))
                .getResult();
    Value target = tensor::EmptyOp::create(
        b, loc,
        {getExtent(past, 0), getExtent(past, 1), all, getExtent(past, 3)},
        type.getElementType());
    target = insertRows(past, target, b.getIndexAttr(0));
    rows[number] = insertRows(rows[number], target, count);
  }
  return success();
}

/// Bounds on key - query - offset, of causal masks and of windows.
LogicalResult PastRewrite::readMasks(AttentionProblem &problem,
                                     const OnnxShape &shape) {
  using namespace fa3::attention;
  bool isCausal = attributes.getInteger("is_causal", 0) != 0;
  int64_t left = attributes.getInteger("left_window_size", -1),
          right = attributes.getInteger("right_window_size", -1);
  if (left > kGreatestExtent || right > kGreatestExtent)
    return fa3::convert::refuse(problem.op, "its window is too large");
  if (isCausal)
    right = right < 0 ? 0 : std::min<int64_t>(right, 0);
  if (left < 0 && right < 0)
    return success();
  // The last query stands at the last key.
  auto side = [](int64_t size) {
    return size < 0 ? std::nullopt : std::optional<int64_t>(size);
  };
  if (isSquare || offset.isNull()) {
    Alignment align =
        offset.isNull() ? Alignment::top_left : Alignment::bottom_right;
    Attribute mod =
        WindowAttr::get(b.getContext(), side(left), side(right), align);
    if (left < 0 && right == 0)
      mod = offset.isNull()
                ? getCausal(b.getContext(), problem.labels.getExtent(shape.i),
                            problem.labels.getExtent(shape.j))
                : CausalAttr::get(b.getContext());
    problem.mods.push_back(mod);
    return success();
  }
  problem.conditions.push_back([=,
                                offset = offset](PointBuilder &point) -> Value {
    ImplicitLocOpBuilder &at = point.b;
    std::optional<int64_t> number = getConstantIntValue(offset);
    Value own = number ? point.constantIndex(*number) : cast<Value>(offset),
          keep;
    own = arith::AddIOp::create(at, point.getQuery(), own);
    auto bound = [&](arith::CmpIPredicate predicate, int64_t distance) {
      Value limit =
          arith::AddIOp::create(at, own, point.constantIndex(distance));
      Value here = arith::CmpIOp::create(at, predicate, point.getKey(), limit);
      keep = keep ? arith::AndIOp::create(at, keep, here) : here;
    };
    if (right >= 0)
      bound(arith::CmpIPredicate::sle, right);
    if (left >= 0)
      bound(arith::CmpIPredicate::sge, -left);
    return keep;
  });
  return success();
}

LogicalResult PastRewrite::attend(FloatType castType) {
  Operation *inner = createInner(q, rows[0], rows[1]);
  Value out = inner->getResult(0);
  if (isFlat)
    out = joinHeads(exchange(out));
  out = like(out, op->getResult(0));
  Value presents[2];
  for (unsigned i : {0, 1})
    if (Value result = getUsedResult(op, 1 + i);
        result && !(presents[i] = like(rows[i], result)))
      return refuse("the type of its result " + Twine(1 + i) +
                    " is not that of its keys and values");
  if (!out)
    return refuse("the type of its result is not that of q");
  for (unsigned i : {0, 1})
    if (presents[i])
      replace(op->getResult(1 + i), presents[i]);
  replace(op->getResult(0), out);
  AttentionProblem problem(inner, castType);
  OnnxShape shape;
  if (failed(readOnnxTensors(problem, shape, -1, -1)))
    return failure();
  if (failed(readOnnxScale(problem, attributes)))
    return refuse("its soft cap is not positive");
  if (failed(readMasks(problem, shape)))
    return failure();
  if (Value mask = getOperand(op, 3); isGiven(mask)) {
    RankedTensorType type = getTensorType(mask);
    int64_t keys = problem.labels.getExtent(shape.j);
    if (type && type.getRank() > 0 && type.getShape().back() != 1 &&
        !type.isDynamicDim(type.getRank() - 1) && type.getShape().back() < keys)
      return refuse("its mask has fewer keys than there are");
    if (failed(readBroadcastMask(problem, mask, shape.getScores())))
      return failure();
  }
  if (failed(assemble(problem)))
    return failure();
  finish();
  return success();
}

LogicalResult PastRewrite::run(FloatType castType) {
  if (isGiven(getOperand(op, 6)))
    return refuse("it has a 'nonpad_kv_seqlen' beside past or present keys");
  if (failed(readOperands()) || failed(concatenate()))
    return failure();
  return attend(castType);
}

LogicalResult fa3::convert::convertOnnxWithPast(Operation *op,
                                                FloatType castType) {
  return PastRewrite(op).run(castType);
}
