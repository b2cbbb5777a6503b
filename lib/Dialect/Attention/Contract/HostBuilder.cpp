//===- HostBuilder.cpp - parts of the code of a host function -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Constants, extents, views, checks and scalars, each built once.
//===----------------------------------------------------------------------===//

#include "HostBuilder.h"
#include "fa3/Support/CloneScalars.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

Value HostBuilder::constant(int64_t value) {
  Value &cached = constants[value];
  if (!cached)
    cached = arith::ConstantIndexOp::create(b, value);
  return cached;
}

Value HostBuilder::dim(Value argument, int64_t axis) {
  Value &cached = dims[{argument, axis}];
  if (cached)
    return cached;
  auto type = cast<MemRefType>(argument.getType());
  Value value = type.isDynamicDim(axis)
                    ? memref::DimOp::create(b, argument, constant(axis))
                    : constant(type.getDimSize(axis));
  return cached = value;
}

void HostBuilder::require(Value condition, const Twine &message) {
  cf::AssertOp::create(b, condition, b.getStringAttr(message));
}

void HostBuilder::requireEqual(Value lhs, Value rhs, const Twine &message) {
  // Static extents were compared by the verifier of the operation.
  if (lhs == rhs || (getConstantIntValue(lhs) && getConstantIntValue(rhs)))
    return;
  require(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lhs, rhs),
          message);
}

/// The name of an argument, or of memory that the function allocates.
StringRef HostBuilder::getNameOf(Value array) {
  if (auto argument = dyn_cast<BlockArgument>(array))
    return host.function
        .getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                      kArgumentNameAttr)
        .getValue();
  Operation *memory =
      array.getDefiningOp<memref::CastOp>().getSource().getDefiningOp();
  return memory->getAttrOfType<StringAttr>(kArgumentNameAttr).getValue();
}

Operation *HostBuilder::cloneScalar(Operation &op) {
  auto extent = dyn_cast<tensor::DimOp>(op);
  if (!extent)
    return b.clone(op, host.values);
  Value memref = host.values.lookup(extent.getSource());
  Value axis = host.values.lookup(extent.getIndex());
  auto copy = memref::DimOp::create(b, extent.getLoc(), memref, axis);
  host.values.map(extent.getResult(), copy.getResult());
  return copy;
}

void HostBuilder::cloneScalar(Value value) {
  auto isMapped = [](BlockArgument) -> Value {
    llvm_unreachable("arguments are mapped");
  };
  auto copy = [&](Operation *op) -> FailureOr<Operation *> {
    return cloneScalar(*op);
  };
  (void)fa3::cloneScalars(b, value, host.values, {isMapped, copy});
}

void HostBuilder::cloneScalars() {
  for (Operation &op : source.getBody().front().without_terminator()) {
    bool isDone =
        op.getNumResults() != 0 && host.values.contains(op.getResult(0));
    if (!isDone && !isa<ScoredOpInterface>(op) && !isPreparation(&op) &&
        !isDescription(&op))
      cloneScalar(op);
  }
}

Value HostBuilder::view(Value argument, Layout layout) {
  if (layout == Layout::bhsd)
    return argument;
  auto order = llvm::to_vector(
      llvm::seq<int64_t>(0, cast<MemRefType>(argument.getType()).getRank()));
  std::swap(order[order.size() - 3], order[order.size() - 2]);
  AffineMap map = AffineMap::getPermutationMap(order, b.getContext());
  return memref::TransposeOp::create(b, argument, AffineMapAttr::get(map));
}

/// A view of what holds the sequence where others hold the elements.
Value HostBuilder::viewTransposed(Value argument, Layout layout) {
  SmallVector<int64_t> order = {0, 1, 3, 2};
  if (layout == Layout::bshd)
    order = {0, 2, 3, 1};
  AffineMap map = AffineMap::getPermutationMap(order, b.getContext());
  return memref::TransposeOp::create(b, argument, AffineMapAttr::get(map));
}
