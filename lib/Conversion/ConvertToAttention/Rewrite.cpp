//===- Rewrite.cpp - operations around an attention -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Rewrite.h"
#include "Foreign.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::convert;

Rewrite::Rewrite(Operation *op) : op(op), b(op, &recorder), loc(op->getLoc()) {}

Rewrite::~Rewrite() {
  if (!op)
    return;
  for (auto [use, value] : replaced)
    use->set(value);
  recorder.takeBack();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

OpFoldResult Rewrite::getExtent(Value value, int64_t dim) {
  return tensor::getMixedSize(b, loc, value, dim);
}

Value Rewrite::getExtentAsI32(Value value, int64_t dim) {
  int64_t extent = getTensorType(value).getDimSize(dim);
  if (!ShapedType::isDynamic(extent))
    return arith::ConstantOp::create(
        b, loc, b.getI32IntegerAttr(static_cast<int32_t>(extent)));
  return arith::IndexCastOp::create(b, loc, b.getI32Type(),
                                    tensor::DimOp::create(b, loc, value, dim));
}

Value Rewrite::splitHeads(Value flat, int64_t heads) {
  RankedTensorType type = getTensorType(flat);
  if (!type || type.getRank() != 3 || type.isDynamicDim(2) || heads < 1 ||
      type.getDimSize(2) % heads)
    return {};
  int64_t d = type.getDimSize(2) / heads;
  SmallVector<OpFoldResult> extents = {getExtent(flat, 0), getExtent(flat, 1),
                                       b.getIndexAttr(heads),
                                       b.getIndexAttr(d)};
  auto shaped =
      RankedTensorType::get({type.getDimSize(0), type.getDimSize(1), heads, d},
                            type.getElementType());
  return tensor::ExpandShapeOp::create(
      b, loc, shaped, flat, ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}},
      extents);
}

Value Rewrite::joinHeads(Value value) {
  if (!value)
    return {};
  return tensor::CollapseShapeOp::create(
      b, loc, value, ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}});
}

Value Rewrite::takeColumns(Value value, int64_t first, int64_t count) {
  RankedTensorType type = getTensorType(value);
  if (!type || type.getRank() != 3)
    return {};
  SmallVector<OpFoldResult> offsets(3, b.getIndexAttr(0)),
      strides(3, b.getIndexAttr(1)),
      sizes = {getExtent(value, 0), getExtent(value, 1), b.getIndexAttr(count)};
  offsets[2] = b.getIndexAttr(first);
  return tensor::ExtractSliceOp::create(b, loc, value, offsets, sizes, strides);
}

Value Rewrite::exchange(Value value) {
  if (!value)
    return {};
  RankedTensorType type = getTensorType(value);
  SmallVector<OpFoldResult> extents = tensor::getMixedSizes(b, loc, value);
  std::swap(extents[1], extents[2]);
  Value empty = tensor::EmptyOp::create(b, loc, extents, type.getElementType());
  return linalg::TransposeOp::create(b, loc, value, empty,
                                     ArrayRef<int64_t>{0, 2, 1, 3})
      ->getResult(0);
}

//===----------------------------------------------------------------------===//
// Numbers and rows
//===----------------------------------------------------------------------===//

/// Integers of any width as one of 32 bits.
static Value toI32(ImplicitLocOpBuilder &b, Value value) {
  auto type = cast<IntegerType>(value.getType());
  if (type.getWidth() < 32)
    return arith::ExtSIOp::create(b, b.getI32Type(), value);
  if (type.getWidth() > 32)
    return arith::TruncIOp::create(b, b.getI32Type(), value);
  return value;
}

Value Rewrite::mapElements(
    Value value, Type element,
    function_ref<Value(ImplicitLocOpBuilder &, Value)> edit) {
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, value), element);
  AffineMap map = b.getMultiDimIdentityMap(1);
  auto generic = linalg::GenericOp::create(
      b, loc, empty.getType(), value, empty, ArrayRef<AffineMap>{map, map},
      ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
      [&](OpBuilder &inner, Location loc, ValueRange arguments) {
        ImplicitLocOpBuilder at(loc, inner);
        linalg::YieldOp::create(at, edit(at, arguments[0]));
      });
  return generic->getResult(0);
}

Value Rewrite::mapIntegers(
    Value value, function_ref<Value(ImplicitLocOpBuilder &, Value)> edit) {
  RankedTensorType type = getTensorType(value);
  if (!type || !isa<IntegerType>(type.getElementType()) || type.getRank() < 1 ||
      type.getRank() > 2 || (type.getRank() == 2 && type.getDimSize(1) != 1))
    return {};
  if (type.getRank() == 2)
    value = tensor::CollapseShapeOp::create(
        b, loc, value, ArrayRef<ReassociationIndices>{{0, 1}});
  return mapElements(value, b.getI32Type(),
                     [&](ImplicitLocOpBuilder &at, Value number) {
                       return edit(at, toI32(at, number));
                     });
}

Value Rewrite::fill(ArrayRef<OpFoldResult> extents, Type element) {
  Value empty = tensor::EmptyOp::create(b, loc, extents, element);
  Value zero =
      arith::ConstantOp::create(b, loc, element, b.getZeroAttr(element));
  return linalg::FillOp::create(b, loc, zero, empty)->getResult(0);
}

Value Rewrite::insertRows(Value source, Value target, OpFoldResult first) {
  SmallVector<OpFoldResult> offsets(4, b.getIndexAttr(0)),
      strides(4, b.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(b, loc, source);
  offsets[2] = first;
  return tensor::InsertSliceOp::create(b, loc, source, target, offsets, sizes,
                                       strides);
}

Value Rewrite::joinRows(Value table) {
  RankedTensorType type = getTensorType(table);
  if (!type || type.getRank() != 3)
    return {};
  return tensor::CollapseShapeOp::create(
      b, loc, table, ArrayRef<ReassociationIndices>{{0, 1}, {2}});
}

Value Rewrite::takeRows(Value table, Value positions) {
  RankedTensorType type = getTensorType(table), of = getTensorType(positions);
  if (!type || !of || type.getRank() != 2 || of.getRank() != 2 ||
      !isa<IntegerType>(of.getElementType()))
    return {};
  SmallVector<OpFoldResult> extents = {
      getExtent(positions, 0), getExtent(positions, 1), getExtent(table, 1)};
  Value empty = tensor::EmptyOp::create(b, loc, extents, type.getElementType());
  MLIRContext *context = b.getContext();
  AffineExpr n, t, c;
  bindDims(context, n, t, c);
  AffineMap maps[] = {AffineMap::get(3, 0, {n, t}, context),
                      b.getMultiDimIdentityMap(3)};
  SmallVector<utils::IteratorType> kinds(3, utils::IteratorType::parallel);
  Value last = arith::ConstantIndexOp::create(b, loc, 1);
  last = arith::SubIOp::create(b, loc, tensor::DimOp::create(b, loc, table, 0),
                               last);
  auto generic = linalg::GenericOp::create(
      b, loc, empty.getType(), positions, empty, maps, kinds,
      [&](OpBuilder &inner, Location loc, ValueRange arguments) {
        ImplicitLocOpBuilder at(loc, inner);
        Value row =
            arith::IndexCastOp::create(at, at.getIndexType(), arguments[0]);
        // As attention.rotary does with what is outside.
        row = arith::MaxSIOp::create(at, row,
                                     arith::ConstantIndexOp::create(at, 0));
        row = arith::MinSIOp::create(at, row, last);
        Value column = linalg::IndexOp::create(at, 2);
        Value element =
            tensor::ExtractOp::create(at, table, ValueRange{row, column});
        linalg::YieldOp::create(at, element);
      });
  return joinRows(generic->getResult(0));
}

Value Rewrite::getStarts(Value table) {
  OpFoldResult batch = getExtent(table, 0);
  Value rows = getExtentAsI32(table, 1);
  Value empty = tensor::EmptyOp::create(b, loc, batch, b.getI32Type());
  auto generic = linalg::GenericOp::create(
      b, loc, empty.getType(), ValueRange(), empty,
      ArrayRef<AffineMap>{b.getMultiDimIdentityMap(1)},
      ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
      [&](OpBuilder &inner, Location loc, ValueRange) {
        ImplicitLocOpBuilder at(loc, inner);
        Value number = arith::IndexCastOp::create(
            at, at.getI32Type(), linalg::IndexOp::create(at, 0));
        Value start = arith::MulIOp::create(at, number, rows);
        linalg::YieldOp::create(at, start);
      });
  return generic->getResult(0);
}

Value Rewrite::rotate(Value value, Value cos, Value sin, Value first,
                      bool interleaved, attention::Layout layout) {
  if (!value || !cos || !sin || !first)
    return {};
  return attention::RotaryOp::create(b, loc, value.getType(), value, cos, sin,
                                     first, interleaved, layout);
}

Value Rewrite::append(Value rows, Value cache, Value first) {
  if (!rows || !cache || !first)
    return {};
  return attention::AppendOp::create(
      b, loc, cache.getType(), rows, cache, first, /*aux=*/ValueRange(),
      /*scales=*/Value(), /*sequences=*/Value(), attention::Layout::bhsd,
      /*mods=*/ArrayAttr());
}

//===----------------------------------------------------------------------===//
// The operation
//===----------------------------------------------------------------------===//

Value Rewrite::like(Value value, Value result) {
  RankedTensorType wanted = getTensorType(result);
  if (!value || !wanted)
    return {};
  if (value.getType() != wanted) {
    if (!tensor::CastOp::areCastCompatible(value.getType(), wanted))
      return {};
    value = tensor::CastOp::create(b, loc, wanted, value);
  }
  return fromBuiltin(b, loc, value, result.getType());
}

Operation *Rewrite::createInner(Value q, Value k, Value v) {
  SmallVector<int64_t> shape(getTensorType(q).getShape());
  shape.back() = getTensorType(v).getShape().back();
  OperationState state(loc, op->getName());
  state.addOperands({q, k, v});
  state.addTypes(
      RankedTensorType::get(shape, getTensorType(q).getElementType()));
  return b.create(state);
}

LogicalResult Rewrite::check() {
  std::string reason;
  {
    ScopedDiagnosticHandler handler(
        op->getContext(), [&](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              reason.empty())
            reason = diagnostic.str();
          return success();
        });
    for (Operation *made : recorder.made)
      if (isa<attention::AppendOp, attention::BackwardOp, attention::RotaryOp>(
              made) &&
          failed(verify(made)) && reason.empty())
        reason = "it makes no valid " + getName(made).str();
  }
  return reason.empty() ? success() : refuse(reason);
}

void Rewrite::replace(Value result, Value value) {
  for (OpOperand &use : llvm::make_early_inc_range(result.getUses())) {
    replaced.push_back({&use, result});
    use.set(value);
  }
}

void Rewrite::finish() {
  llvm::SetVector<Operation *> sources;
  for (Value operand : op->getOperands())
    if (Operation *source = operand.getDefiningOp())
      sources.insert(source);
  op->erase();
  op = nullptr;
  eraseDead(sources.getArrayRef());
}
