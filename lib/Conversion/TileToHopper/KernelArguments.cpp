//===- KernelArguments.cpp - what a kernel takes on the machine -----------===//

#include "KernelArguments.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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

Value KernelArguments::getTensorMap(Value memref, hopper::TensorMapType type) {
  return get({Kind::TensorMap, number(memref), 0, type});
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
