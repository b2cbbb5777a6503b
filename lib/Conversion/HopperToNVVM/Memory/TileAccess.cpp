//===- TileAccess.cpp - where a thread's elements are ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace fa3;

/// Alignment of a pointer in bytes, as far as the kernel's arguments state it.
static int64_t getAlignment(Value pointer) {
  auto argument = dyn_cast<BlockArgument>(pointer);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  if (!function)
    return 1;
  auto alignment = function.getArgAttrOfType<IntegerAttr>(
      argument.getArgNumber(), LLVM::LLVMDialect::getAlignAttrName());
  return alignment ? alignment.getInt() : 1;
}

int64_t fa3::getStorageBits(Type element) {
  return std::max<int64_t>(element.getIntOrFloatBitWidth(), 8);
}

TileAccess::TileAccess(OpBuilder &builder, Location loc, Value pointer,
                       Type element)
    : builder(builder), loc(loc), ints(builder, loc), pointer(pointer),
      bytes(getStorageBits(element) / 8) {
  base = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), pointer);
}

void TileAccess::addDimension(Value start, Value stride, Value bound,
                              bool isInside) {
  Value limit =
      builder.createOrFold<arith::MaxSIOp>(loc, bound, ints.constant(0));
  dims.push_back({start, stride, limit, getDivisor(bound), isInside, {}, {}});
}

void TileAccess::addCondition(Value index, Value bound) {
  // One unsigned comparison: what is below 0 is beyond every bound.
  Value inBounds = builder.createOrFold<arith::CmpIOp>(
      loc, arith::CmpIPredicate::ult, index, bound);
  condition =
      condition ? builder.createOrFold<arith::AndIOp>(loc, condition, inBounds)
                : inBounds;
}

bool TileAccess::canPair(int64_t indexDivisor, int64_t strideDivisor) const {
  return mayPair(indexDivisor) && getAlignment(pointer) % (2 * bytes) == 0 &&
         strideDivisor % 2 == 0;
}

bool TileAccess::mayPair(int64_t indexDivisor) const {
  const Dimension &dim = dims.back();
  return bytes <= 4 && getConstant(dim.stride) == 1 && indexDivisor % 2 == 0 &&
         dim.boundDivisor % 2 == 0;
}

Value TileAccess::buildAligned(ValueRange strides, int64_t unit) {
  Value low =
      LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), pointer);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  for (Value stride : strides)
    low = builder.createOrFold<arith::OrIOp>(
        loc, low,
        builder.createOrFold<arith::MulIOp>(loc, stride, constant(bytes)));
  low = builder.createOrFold<arith::AndIOp>(loc, low, constant(unit - 1));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, low,
                               constant(0));
}

Value TileAccess::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}

Value TileAccess::getBytes(Value index, Value stride) {
  Value wide =
      builder.createOrFold<arith::ExtSIOp>(loc, builder.getI64Type(), index);
  Value size =
      arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(bytes));
  Value scaled = builder.createOrFold<arith::MulIOp>(loc, stride, size);
  return builder.createOrFold<arith::MulIOp>(loc, wide, scaled);
}

Value TileAccess::getAddress(ArrayRef<int64_t> offsets, int64_t &immediate) {
  // Offsets along dimensions of constant stride need no arithmetic, as far as
  // they fit PTX's 32-bit immediates.
  immediate = 0;
  SmallVector<int64_t, 2> key(offsets);
  for (auto [dim, offset] : llvm::zip(dims, key)) {
    std::optional<int64_t> stride = getConstant(dim.stride);
    if (stride && llvm::isInt<30>(*stride) &&
        llvm::isInt<31>(immediate + offset * *stride * bytes)) {
      immediate += offset * *stride * bytes;
      offset = 0;
    }
  }
  Value &address = addresses[key];
  if (address)
    return address;
  Value sum = base;
  for (auto [dim, offset] : llvm::zip(dims, key)) {
    Value &term = dim.terms[offset];
    if (!term)
      term = getBytes(ints.add(dim.start, offset), dim.stride);
    sum = add(sum, term);
  }
  return address = sum;
}

Value TileAccess::getPredicate(ArrayRef<int64_t> offsets, Value owner) {
  Value &predicate = predicates[SmallVector<int64_t, 2>(offsets)];
  if (predicate)
    return predicate;
  Value all = owner;
  if (condition)
    all = all ? builder.createOrFold<arith::AndIOp>(loc, all, condition)
              : condition;
  for (auto [dim, offset] : llvm::zip(dims, offsets)) {
    if (dim.isInside)
      continue;
    Value &inBounds = dim.inBounds[offset];
    // One unsigned comparison: what is below 0 is beyond every bound.
    if (!inBounds)
      inBounds = builder.createOrFold<arith::CmpIOp>(
          loc, arith::CmpIPredicate::ult, ints.add(dim.start, offset),
          dim.limit);
    all = all ? builder.createOrFold<arith::AndIOp>(loc, all, inBounds)
              : inBounds;
  }
  if (!all)
    all = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  return predicate = all;
}
