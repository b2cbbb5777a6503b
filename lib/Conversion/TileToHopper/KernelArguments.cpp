//===- KernelArguments.cpp - what a kernel takes on the machine -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "KernelArguments.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa3;

bool KernelArguments::isArgument(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner()->getParentOp() == source;
}

unsigned KernelArguments::number(Value argument) const {
  return cast<BlockArgument>(argument).getArgNumber();
}

Value KernelArguments::get(Argument argument) {
  auto *it = llvm::find(arguments, argument);
  Block &entry = target.getBody().front();
  if (it != arguments.end())
    return entry.getArgument(it - arguments.begin());
  arguments.push_back(argument);
  return entry.addArgument(argument.type, target.getLoc());
}

Value KernelArguments::getTensorMap(Value memref, hopper::TensorMapType type,
                                    ArrayRef<int64_t> split) {
  return get({Kind::TensorMap, number(memref), 0, type,
              SmallVector<int64_t, 2>(split)});
}

Value KernelArguments::getPointer(Value memref) {
  Type type = LLVM::LLVMPointerType::get(target.getContext(), 1);
  return get({Kind::Pointer, number(memref), 0, type});
}

Value KernelArguments::getExtent(OpBuilder &b, Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return arith::ConstantOp::create(b, memref.getLoc(),
                                     b.getI32IntegerAttr(type.getDimSize(dim)));
  return get({Kind::Extent, number(memref), dim, b.getI32Type()});
}

Value KernelArguments::getStride(OpBuilder &b, Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (succeeded(type.getStridesAndOffset(strides, offset)) &&
      !ShapedType::isDynamic(strides[dim]))
    return arith::ConstantOp::create(b, memref.getLoc(),
                                     b.getI64IntegerAttr(strides[dim]));
  return get({Kind::Stride, number(memref), dim, b.getI64Type()});
}

Value KernelArguments::getScalar(Value argument) {
  Type type = argument.getType();
  if (type.isIndex())
    type = IntegerType::get(type.getContext(), 32);
  return get({Kind::Scalar, number(argument), 0, type});
}

Value KernelArguments::getCounter() {
  Type type = LLVM::LLVMPointerType::get(target.getContext(), 1);
  return get({Kind::Counter, 0, 0, type});
}

void KernelArguments::markStored(Value memref) {
  stored.insert(number(memref));
}

/// A bulk store writes whole units of 16 bytes: rows that end within one would
/// be written beyond their end.
void KernelArguments::demandWholeUnits(ImplicitLocOpBuilder &b,
                                       ValueRange sourceArguments) const {
  constexpr int64_t kUnitBytes = 16;
  for (unsigned argument : stored) {
    Value memref = sourceArguments[argument];
    auto type = cast<MemRefType>(memref.getType());
    int64_t last = type.getRank() - 1;
    int64_t unit = kUnitBytes * 8 / type.getElementTypeBitWidth();
    if (!type.isDynamicDim(last) && type.getDimSize(last) % unit == 0)
      continue;
    Value extent = memref::DimOp::create(b, memref, last);
    Value rest = arith::RemUIOp::create(
        b, extent, arith::ConstantIndexOp::create(b, unit));
    Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest,
                                       arith::ConstantIndexOp::create(b, 0));
    cf::AssertOp::create(b, fits,
                         "the last extent of an array that is stored in bulk "
                         "has to be a multiple of " +
                             std::to_string(unit) + " elements");
  }
}

Value KernelArguments::splitRows(ImplicitLocOpBuilder &b, Value memref,
                                 ArrayRef<int64_t> split) const {
  auto type = cast<MemRefType>(memref.getType());
  int64_t rows = type.getRank() - 2;
  int64_t block = 1;
  for (int64_t extent : split)
    block *= extent;
  SmallVector<OpFoldResult> extents;
  SmallVector<ReassociationIndices> parts(type.getRank());
  SmallVector<int64_t> shape;
  auto add = [&](int64_t dim, OpFoldResult extent) {
    parts[dim].push_back(shape.size());
    shape.push_back(getConstantIntValue(extent).value_or(ShapedType::kDynamic));
    extents.push_back(extent);
  };
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    OpFoldResult extent = b.getIndexAttr(type.getDimSize(dim));
    if (type.isDynamicDim(dim))
      extent = memref::DimOp::create(b, memref, dim).getResult();
    if (dim != rows) {
      add(dim, extent);
      continue;
    }
    if (type.isDynamicDim(dim)) {
      Value count = cast<Value>(extent);
      Value blockRows = arith::ConstantIndexOp::create(b, block);
      Value none = arith::ConstantIndexOp::create(b, 0);
      Value fits = arith::CmpIOp::create(
          b, arith::CmpIPredicate::eq,
          arith::RemUIOp::create(b, count, blockRows), none);
      cf::AssertOp::create(b, fits,
                           "the rows of an array that are loaded in another "
                           "order have to be a multiple of " +
                               std::to_string(block));
      extent = arith::DivUIOp::create(b, count, blockRows).getResult();
    } else {
      extent = b.getIndexAttr(type.getDimSize(dim) / block);
    }
    add(dim, extent);
    for (int64_t inner : split)
      add(dim, b.getIndexAttr(inner));
  }
  FailureOr<MemRefType> expanded =
      memref::ExpandShapeOp::computeExpandedType(type, shape, parts);
  assert(succeeded(expanded) && "arrays have strides");
  return memref::ExpandShapeOp::create(b, *expanded, memref, parts, extents);
}

void KernelArguments::finish() {
  SmallVector<Type> types;
  for (const Argument &argument : arguments)
    types.push_back(argument.type);
  target.setFunctionType(
      FunctionType::get(target.getContext(), types, TypeRange()));
}

SmallVector<Value>
KernelArguments::computeOnHost(ImplicitLocOpBuilder &b,
                               ValueRange sourceArguments) const {
  demandWholeUnits(b, sourceArguments);
  SmallVector<Value> operands;
  for (const Argument &argument : arguments) {
    Value value;
    if (argument.kind != Kind::Counter)
      value = sourceArguments[argument.source];
    switch (argument.kind) {
    case Kind::TensorMap:
      if (!argument.split.empty())
        value = splitRows(b, value, argument.split);
      value = hopper::EncodeOp::create(b, argument.type, value);
      break;
    case Kind::Pointer:
      value = hopper::AddressOp::create(b, argument.type, value);
      break;
    case Kind::Extent:
      value = memref::DimOp::create(b, value, argument.dim);
      value = arith::IndexCastOp::create(b, argument.type, value);
      break;
    case Kind::Stride: {
      auto metadata = memref::ExtractStridedMetadataOp::create(b, value);
      value = arith::IndexCastOp::create(b, argument.type,
                                         metadata.getStrides()[argument.dim]);
      break;
    }
    case Kind::Counter:
      value = hopper::CounterOp::create(b, argument.type);
      break;
    case Kind::Scalar:
      if (value.getType().isIndex())
        value = arith::IndexCastOp::create(b, argument.type, value);
      break;
    }
    operands.push_back(value);
  }
  return operands;
}
