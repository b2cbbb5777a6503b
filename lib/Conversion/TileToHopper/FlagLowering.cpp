//===- FlagLowering.cpp - tiles that another kernel waits for -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Flags stand outside of groups, where all threads of the block pass: a barrier
// of the block joins what one of them does to what the others do.
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace fa3;

FailureOr<KernelLowering::Flag>
KernelLowering::getFlag(Operation *op, Value flags, ValueRange indices) {
  if (op->getBlock() != &source.getBody().front())
    return op->emitOpError("has no lowering to hopper: expects to stand "
                           "outside of groups and of control flow");
  if (!arguments.isArgument(flags))
    return op->emitOpError("has no lowering to hopper: expects an array that "
                           "is a kernel argument");
  int64_t dims = cast<MemRefType>(flags.getType()).getRank();
  Flag flag{arguments.getPointer(flags), get(indices), {}};
  for (int64_t dim = 0; dim < dims; ++dim)
    flag.strides.push_back(arguments.getStride(b, flags, dim));
  return flag;
}

LogicalResult KernelLowering::lowerClearFlag(tile::ClearFlagOp op) {
  FailureOr<Flag> flag = getFlag(op, op.getFlags(), op.getIndices());
  if (failed(flag))
    return failure();
  cleared = *flag;
  return success();
}

LogicalResult KernelLowering::lowerSetFlag(tile::SetFlagOp op) {
  FailureOr<Flag> flag = getFlag(op, op.getFlags(), op.getIndices());
  if (failed(flag))
    return failure();
  gpu::BarrierOp::create(b);
  hopper::FlagSetOp::create(b, flag->pointer, flag->indices, flag->strides);
  return success();
}

LogicalResult KernelLowering::lowerAwaitFlags(tile::AwaitFlagsOp op) {
  FailureOr<Flag> flag = getFlag(op, op.getFlags(), op.getIndices());
  if (failed(flag))
    return failure();
  Value count = arguments.getExtent(b, op.getFlags(), 0);
  hopper::FlagAwaitOp::create(b, flag->pointer, flag->indices,
                              ValueRange(flag->strides).drop_front(), count,
                              flag->strides.front());
  gpu::BarrierOp::create(b);
  return success();
}

void KernelLowering::finishFlags() {
  bool copies =
      target.walk([](hopper::TmaLoadOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  for (auto await : target.getBody().front().getOps<hopper::FlagAwaitOp>())
    await.setCopies(copies);
}

void KernelLowering::addFlags(Lowerings &lowerings) {
  lowerings.add(&KernelLowering::lowerClearFlag);
  lowerings.add(&KernelLowering::lowerSetFlag);
  lowerings.add(&KernelLowering::lowerAwaitFlags);
}
