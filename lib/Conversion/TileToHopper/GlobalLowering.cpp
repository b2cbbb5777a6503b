//===- GlobalLowering.cpp - tiles in global memory ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What threads load and store by elements: an array is a pointer, strides and
// bounds.
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa3;

namespace {
/// Operands of an access to a global array by its elements.
struct GlobalAccess {
  Value pointer;
  SmallVector<Value> strides, bounds;
};
} // namespace

static FailureOr<GlobalAccess> getAccess(OpBuilder &b,
                                         KernelArguments &arguments,
                                         Operation *op, Value memref,
                                         int64_t rank) {
  if (!arguments.isArgument(memref))
    return op->emitOpError("has no lowering to hopper: expects an array that "
                           "is a kernel argument");
  int64_t dims = cast<MemRefType>(memref.getType()).getRank();
  GlobalAccess access;
  access.pointer = arguments.getPointer(memref);
  for (int64_t dim = 0; dim < dims; ++dim)
    access.strides.push_back(arguments.getStride(b, memref, dim));
  for (int64_t dim = dims - rank; dim < dims; ++dim)
    access.bounds.push_back(arguments.getExtent(b, memref, dim));
  return access;
}

LogicalResult KernelLowering::lowerLoad(tile::LoadOp op) {
  if (op.getPieces())
    return op.emitOpError(
        "has no lowering to hopper: expects what is loaded in "
        "pieces to be an operand of products, in an array that "
        "bulk copies take");
  FailureOr<LinearLayout> layout = getLayout(op, op.getResult().getType());
  SmallVector<Type> types;
  if (failed(layout) ||
      failed(convertType(op.getLoc(), op.getResult().getType(), types)))
    return failure();
  if (op.getFold())
    layout = layout->folded(*op.getFold());
  FailureOr<GlobalAccess> access =
      getAccess(b, arguments, op, op.getSource(), layout->getRank());
  if (failed(access))
    return failure();
  if (op.getLimit()) {
    // Rows in front of the array are outside of it in any case.
    Value first = get(op.getIndices().drop_back().back());
    Value left = arith::SubIOp::create(b, access->bounds.front(), first);
    Value count = arith::MinSIOp::create(b, get(op.getLimit()), left);
    access->bounds.front() = arith::AddIOp::create(
        b, first, arith::MaxSIOp::create(b, count, i32(0)));
  }
  set(op.getResult(),
      hopper::FragmentLoadOp::create(b, types.front(), access->pointer,
                                     get(op.getIndices()), access->strides,
                                     access->bounds, fragment(*layout))
          .getResult());
  return success();
}

LogicalResult KernelLowering::lowerGather(tile::GatherOp op) {
  SmallVector<Type> types;
  FailureOr<GlobalAccess> access =
      getAccess(b, arguments, op, op.getSource(), op.getIndices().size());
  if (failed(access) ||
      failed(convertType(op.getLoc(), op.getResult().getType(), types)))
    return failure();
  set(op.getResult(), hopper::GatherOp::create(
                          b, types.front(), access->pointer,
                          get(op.getIndices()), access->strides, access->bounds)
                          .getResult());
  return success();
}

/// Operands of an access to sums, whose words are no dimension.
static FailureOr<GlobalAccess> getSums(OpBuilder &b, KernelArguments &arguments,
                                       Operation *op, Value sums,
                                       int64_t rank) {
  FailureOr<GlobalAccess> access =
      getAccess(b, arguments, op, sums, rank + /*words=*/1);
  if (succeeded(access)) {
    access->strides.pop_back();
    access->bounds.pop_back();
  }
  return access;
}

LogicalResult KernelLowering::lowerAddExact(tile::AddExactOp op) {
  FailureOr<LinearLayout> layout = getLayout(op, op.getValue().getType());
  FailureOr<GlobalAccess> access =
      getSums(b, arguments, op, op.getSums(), op.getIndices().size());
  if (failed(layout) || failed(access))
    return failure();
  int64_t threads = layout->getNumWarps() << layout->getLaneBases().size();
  if (layout->getNumRegisters() * threads !=
      op.getValue().getType().getNumElements())
    return op.emitOpError("has no lowering to hopper: expects terms of which "
                          "each thread has its own");
  Value value = get(op.getValue());
  SmallVector<Value> indices = get(op.getIndices());
  if (op.getDiagonal() && hopper::DiagonalReduceOp::takes(*layout)) {
    int64_t count = hopper::DiagonalReduceOp::getNumResults(
        op.getValue().getType().getDimSize(1));
    auto reduce = [&](Value source, hopper::Combine kind) -> Value {
      Type element = cast<VectorType>(source.getType()).getElementType();
      return hopper::DiagonalReduceOp::create(
          b, VectorType::get(count, element), kind, source, fragment(*layout));
    };
    value = reduce(value, hopper::Combine::add);
    for (Value &index : indices)
      if (isa<VectorType>(index.getType()))
        index = reduce(index, hopper::Combine::max);
  }
  hopper::AddExactOp::create(b, value, access->pointer, indices,
                             access->strides, access->bounds);
  return success();
}

LogicalResult KernelLowering::lowerLoadExact(tile::LoadExactOp op) {
  SmallVector<Type> types;
  FailureOr<LinearLayout> layout = getLayout(op, op.getResult().getType());
  FailureOr<GlobalAccess> access =
      getSums(b, arguments, op, op.getSums(), /*rank=*/1);
  if (failed(layout) || failed(access) ||
      failed(convertType(op.getLoc(), op.getResult().getType(), types)))
    return failure();
  set(op.getResult(),
      hopper::LoadExactOp::create(b, types.front(), access->pointer,
                                  get(op.getIndices()), access->strides,
                                  access->bounds, fragment(*layout))
          .getResult());
  return success();
}

LogicalResult KernelLowering::lowerStore(tile::StoreOp op) {
  if (op.getTarget().getDefiningOp<tile::OrderedOp>())
    return op.emitOpError("has no lowering to hopper: expects ordered "
                          "additions to be those of bulk copies, which "
                          "tile-make-async makes");
  FailureOr<LinearLayout> layout = getLayout(op, op.getValue().getType());
  if (failed(layout))
    return failure();
  if (op.getFold())
    layout = layout->folded(*op.getFold());
  FailureOr<GlobalAccess> access =
      getAccess(b, arguments, op, op.getTarget(), layout->getRank());
  if (failed(access))
    return failure();
  // What is below 0 is beyond every bound of a fragment.
  if (op.getBelow())
    access->bounds.front() =
        arith::MinSIOp::create(b, access->bounds.front(), get(op.getBelow()));
  hopper::FragmentStoreOp::create(
      b, get(op.getValue()), access->pointer, get(op.getIndices()),
      access->strides, access->bounds, fragment(*layout), op.getAdd());
  return success();
}

LogicalResult KernelLowering::lowerScalarLoad(tile::ScalarLoadOp op) {
  FailureOr<GlobalAccess> access =
      getAccess(b, arguments, op, op.getSource(), 0);
  if (failed(access))
    return failure();
  set(op.getResult(),
      hopper::ScalarLoadOp::create(b, op.getResult().getType(), access->pointer,
                                   get(op.getIndices()), access->strides)
          .getResult());
  return success();
}

LogicalResult KernelLowering::lowerSearch(tile::SearchOp op) {
  FailureOr<GlobalAccess> access =
      getAccess(b, arguments, op, op.getSource(), 0);
  if (failed(access))
    return failure();
  set(op.getResult(),
      hopper::SearchOp::create(b, b.getI32Type(), access->pointer,
                               access->strides.front(), get(op.getFirst()),
                               get(op.getEnd()), get(op.getLimit()),
                               get(op.getStep()), op.getMostAttr())
          .getResult());
  return success();
}

void KernelLowering::addGlobal(Lowerings &lowerings) {
  lowerings.add(&KernelLowering::lowerLoad);
  lowerings.add(&KernelLowering::lowerGather);
  lowerings.add(&KernelLowering::lowerAddExact);
  lowerings.add(&KernelLowering::lowerLoadExact);
  lowerings.add(&KernelLowering::lowerStore);
  lowerings.add(&KernelLowering::lowerScalarLoad);
  lowerings.add(&KernelLowering::lowerSearch);
}
