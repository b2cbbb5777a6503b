//===- AffineVectors.cpp - vectors that hold few values -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AffineVectors.h"
#include "../KernelInfo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;

Value fa3::getSplat(Value vector) {
  auto broadcast = vector.getDefiningOp<vector::BroadcastOp>();
  return broadcast && !isa<VectorType>(broadcast.getSource().getType())
             ? broadcast.getSource()
             : Value();
}

vector::ShuffleOp fa3::getShuffle(Value vector) {
  auto shuffle = vector.getDefiningOp<vector::ShuffleOp>();
  return shuffle && shuffle.getV1() == shuffle.getV2() ? shuffle
                                                       : vector::ShuffleOp();
}

//===----------------------------------------------------------------------===//
// NarrowBuilder
//===----------------------------------------------------------------------===//

Value NarrowBuilder::splat(Value scalar, int64_t size) {
  auto type = VectorType::get(size, scalar.getType());
  return vector::BroadcastOp::create(builder, loc, type, scalar);
}

Value NarrowBuilder::constants(ArrayRef<int32_t> values) {
  int64_t size = values.size();
  auto type = VectorType::get(size, builder.getI32Type());
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, values));
}

Value NarrowBuilder::zero(int64_t size) {
  return splat(IntegerBuilder(builder, loc).constant(0), size);
}

Value NarrowBuilder::apply(Value a, Unary function) {
  if (Value scalar = getSplat(a))
    return splat(function(scalar), getSize(a));
  if (vector::ShuffleOp shuffle = getShuffle(a)) {
    Value narrow = function(shuffle.getV1());
    return vector::ShuffleOp::create(builder, loc, narrow, narrow,
                                     shuffle.getMask());
  }
  return function(a);
}

Value NarrowBuilder::apply(Value a, Value b, Function function) {
  int64_t size = getSize(a);
  Value splatA = getSplat(a), splatB = getSplat(b);
  if (splatA && splatB)
    return splat(function(splatA, splatB), size);
  vector::ShuffleOp shuffleA = getShuffle(a), shuffleB = getShuffle(b);
  auto shuffle = [&](Value narrow, vector::ShuffleOp like) {
    return vector::ShuffleOp::create(builder, loc, narrow, narrow,
                                     like.getMask());
  };
  if (shuffleA && splatB) {
    int64_t narrow = getSize(shuffleA.getV1());
    return shuffle(function(shuffleA.getV1(), splat(splatB, narrow)), shuffleA);
  }
  if (splatA && shuffleB) {
    int64_t narrow = getSize(shuffleB.getV1());
    return shuffle(function(splat(splatA, narrow), shuffleB.getV1()), shuffleB);
  }
  if (shuffleA && shuffleB && shuffleA.getMask() == shuffleB.getMask() &&
      shuffleA.getV1().getType() == shuffleB.getV1().getType())
    return shuffle(function(shuffleA.getV1(), shuffleB.getV1()), shuffleA);
  return function(a, b);
}

Value NarrowBuilder::toI32(Value vector) {
  Type i32 = builder.getI32Type();
  auto type = cast<VectorType>(vector.getType());
  if (type.getElementType() == i32)
    return vector;
  if (Value scalar = getSplat(vector))
    return splat(arith::IndexCastOp::create(builder, loc, i32, scalar),
                 type.getNumElements());
  return arith::IndexCastOp::create(
      builder, loc, VectorType::get(type.getShape(), i32), vector);
}

//===----------------------------------------------------------------------===//
// AffineSplitter
//===----------------------------------------------------------------------===//

/// lhs + sign * rhs.
Affine AffineSplitter::combine(Value lhs, Value rhs, int64_t sign,
                               unsigned depth) {
  Affine a = split(lhs, depth + 1), b = split(rhs, depth + 1);
  for (auto [x, y] : llvm::zip(a.constants, b.constants))
    x += sign * y;
  if (!b.base)
    return a;
  if (!a.base)
    a.base = narrow.zero(a.constants.size());
  a.base = narrow.apply(a.base, b.base, [&](Value x, Value y) {
    return sign > 0 ? builder.createOrFold<arith::AddIOp>(loc, x, y)
                    : builder.createOrFold<arith::SubIOp>(loc, x, y);
  });
  return a;
}

Affine AffineSplitter::split(Value value, unsigned depth) {
  constexpr unsigned kMaxDepth = 8;
  DenseIntElementsAttr constants;
  if (matchPattern(value, m_Constant(&constants))) {
    Affine result;
    for (const APInt &element : constants.getValues<APInt>())
      result.constants.push_back(element.getSExtValue());
    return result;
  }
  Operation *op = value.getDefiningOp();
  if (!op || depth > kMaxDepth)
    return opaque(value);
  if (auto cast = dyn_cast<arith::IndexCastOp>(op)) {
    Type from = getElementTypeOrSelf(cast.getIn().getType());
    Type to = getElementTypeOrSelf(value.getType());
    if ((from.isInteger(32) && to.isIndex()) ||
        (from.isIndex() && to.isInteger(32)))
      return split(cast.getIn(), depth + 1);
  }
  if (auto add = dyn_cast<arith::AddIOp>(op))
    return combine(add.getLhs(), add.getRhs(), 1, depth);
  if (auto sub = dyn_cast<arith::SubIOp>(op))
    return combine(sub.getLhs(), sub.getRhs(), -1, depth);
  if (vector::ShuffleOp shuffle = getShuffle(value)) {
    Affine source = split(shuffle.getV1(), depth + 1);
    if (source.base && !getSplat(source.base))
      return opaque(value);
    Affine result;
    int64_t size = source.constants.size();
    for (int64_t index : shuffle.getMask())
      result.constants.push_back(index < 0 ? 0
                                           : source.constants[index % size]);
    if (source.base)
      result.base =
          narrow.splat(getSplat(source.base), result.constants.size());
    return result;
  }
  return opaque(value);
}
