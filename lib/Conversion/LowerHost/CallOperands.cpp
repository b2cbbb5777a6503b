//===- CallOperands.cpp - what calls bring beside arguments ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "CallOperands.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Runtime/fa3_runtime.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa3;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

FailureOr<Value> fa3::findStream(Operation *call) {
  auto function = call->getParentOfType<FunctionOpInterface>();
  Value stream;
  for (unsigned number = 0; function && number < function.getNumArguments();
       ++number) {
    if (!function.getArgAttr(number, attention::kStreamAttr))
      continue;
    if (stream)
      return function.emitError("has more than one argument with '")
             << attention::kStreamAttr << "'";
    stream = function.getArgument(number);
    if (!isa<LLVM::LLVMPointerType>(stream.getType()))
      return function.emitError("argument ")
             << number << " has '" << attention::kStreamAttr
             << "': expects type '!llvm.ptr', got " << stream.getType();
  }
  if (!stream)
    return Value();
  for (Operation *parent = call->getParentOp(); parent != function;
       parent = parent->getParentOp())
    if (parent->hasTrait<OpTrait::IsIsolatedFromAbove>())
      return call->emitOpError(
                 "cannot see the stream of its function through '")
             << parent->getName() << "'";
  return stream;
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

bool fa3::hasWorkspaces(func::FuncOp host) {
  return host.walk([](memref::AllocOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// The array and dimension that an extent is of, through views; none if it is
/// of something else than an argument.
static std::optional<std::pair<BlockArgument, int64_t>>
findArray(memref::DimOp dim) {
  std::optional<int64_t> axis = dim.getConstantIndex();
  Value array = dim.getSource();
  while (axis) {
    if (auto argument = dyn_cast<BlockArgument>(array)) {
      if (!isa<FunctionOpInterface>(argument.getOwner()->getParentOp()))
        return std::nullopt;
      return std::pair(argument, *axis);
    }
    if (auto cast = array.getDefiningOp<memref::CastOp>()) {
      array = cast.getSource();
    } else if (auto view = array.getDefiningOp<memref::TransposeOp>()) {
      axis = view.getPermutation().getDimPosition(*axis);
      array = view.getIn();
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// Whether a caller could compute a number of the host function.
static bool isFormula(Value number) {
  if (auto argument = dyn_cast<BlockArgument>(number))
    return isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  Operation *op = number.getDefiningOp();
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return findArray(dim).has_value();
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         op->getName().getDialectNamespace() ==
             arith::ArithDialect::getDialectNamespace() &&
         llvm::all_of(op->getOperands(), isFormula);
}

LogicalResult fa3::verifyWorkspaces(func::FuncOp host) {
  WalkResult found = host.walk([](memref::AllocOp op) {
    for (Value extent : op.getDynamicSizes())
      if (!isFormula(extent)) {
        op.emitError("has an extent that is no formula of the arguments "
                     "(splits of 0 make it one of multiprocessors): expects "
                     "workspace=runtime");
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(found.wasInterrupted());
}

namespace {
/// Formulas of a host function, computed in front of a call.
class Formulas {
public:
  Formulas(OpBuilder &b, Location loc, func::FuncOp host, ValueRange operands)
      : b(b), loc(loc) {
    map.map(host.getArguments(), operands);
  }

  Value get(Value number) {
    if (Value known = map.lookupOrNull(number))
      return known;
    Operation *op = number.getDefiningOp();
    if (auto dim = dyn_cast<memref::DimOp>(op)) {
      auto [array, axis] = *findArray(dim);
      Value made = getExtent(map.lookup(array), axis);
      map.map(number, made);
      return made;
    }
    for (Value operand : op->getOperands())
      (void)get(operand);
    Operation *copy = b.clone(*op, map);
    fold(copy, op);
    return map.lookup(number);
  }
  Value multiply(Value x, Value y) {
    return b.createOrFold<arith::MulIOp>(loc, x, y);
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }

private:
  Value getExtent(Value array, int64_t axis) {
    auto type = cast<MemRefType>(array.getType());
    if (!type.isDynamicDim(axis))
      return constant(type.getDimSize(axis));
    return b.createOrFold<memref::DimOp>(loc, array, axis);
  }
  /// Extents of static shapes are numbers, so that planners see them.
  void fold(Operation *copy, Operation *op) {
    SmallVector<Value> results;
    if (failed(b.tryFold(copy, results)) || results.empty())
      return;
    map.map(op->getResults(), results);
    copy->erase();
  }

  OpBuilder &b;
  Location loc;
  IRMapping map;
};
} // namespace

Value fa3::allocateWorkspaces(OpBuilder &b, Location loc, func::FuncOp host,
                              ValueRange operands) {
  Formulas formulas(b, loc, host, operands);
  Value total = formulas.constant(0),
        unit = formulas.constant(FA3_WORKSPACE_ALIGNMENT);
  host.walk([&](memref::AllocOp op) {
    MemRefType type = op.getType();
    Value bytes =
        formulas.constant(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
    unsigned next = 0;
    for (int64_t extent : type.getShape())
      bytes = formulas.multiply(bytes,
                                ShapedType::isDynamic(extent)
                                    ? formulas.get(op.getDynamicSizes()[next++])
                                    : formulas.constant(extent));
    Value pieces = b.createOrFold<arith::CeilDivUIOp>(loc, bytes, unit);
    total = b.createOrFold<arith::AddIOp>(loc, total,
                                          formulas.multiply(pieces, unit));
  });
  IntegerAttr alignment = b.getI64IntegerAttr(FA3_WORKSPACE_ALIGNMENT);
  APInt size;
  if (matchPattern(total, m_ConstantInt(&size)))
    return memref::AllocOp::create(
        b, loc, MemRefType::get({size.getSExtValue()}, b.getI8Type()),
        ValueRange(), alignment);
  return memref::AllocOp::create(
      b, loc, MemRefType::get({ShapedType::kDynamic}, b.getI8Type()),
      ValueRange{total}, alignment);
}
