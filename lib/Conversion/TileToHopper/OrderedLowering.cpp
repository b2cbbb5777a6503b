//===- OrderedLowering.cpp - additions in one order -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// In front of an addition a replica says how far it is. Its earlier ones have
// to be complete for that; by then they have had a step's time to become so.
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "fa3/Dialect/Hopper/IR/ProgressOps.h"

using namespace mlir;
using namespace fa3;

LogicalResult KernelLowering::lowerProgress(Operation *op, Value progress,
                                            ValueRange number, Value position,
                                            bool isEnd) {
  auto group = op->getParentOfType<warp::GroupOp>();
  auto type = cast<MemRefType>(progress.getType());
  auto refuse = [&]() {
    return op->emitOpError("has no lowering to hopper: ");
  };
  if (!group || !arguments.isArgument(progress))
    return refuse() << "expects a group, and progress that is a kernel "
                       "argument";
  int64_t replicas = group.getReplicas();
  if (type.isDynamicDim(type.getRank() - 1) ||
      type.getShape().back() < replicas)
    return refuse() << "expects an element of the progress for each of "
                    << replicas << " replicas, got " << type;
  Values indices = get(number), strides;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    strides.push_back(arguments.getStride(b, progress, dim));
  indices.push_back(get(group.getReplica()));
  hopper::ProgressPassOp::create(b, position, arguments.getPointer(progress),
                                 indices, strides, isEnd);
  return success();
}

LogicalResult KernelLowering::lowerOrder(tile::StoreAsyncOp op) {
  auto ordered = op.getTarget().getDefiningOp<tile::OrderedOp>();
  if (!ordered)
    return success();
  return lowerProgress(ordered, ordered.getProgress(), ordered.getNumber(),
                       get(ordered.getPosition()), /*isEnd=*/false);
}

LogicalResult KernelLowering::lowerEndOrdered(tile::EndOrderedOp op) {
  static_assert(tile::kEndOfOrdered == hopper::kEndOfProgress);
  return lowerProgress(op, op.getProgress(), op.getNumber(),
                       i32(tile::kEndOfOrdered), /*isEnd=*/true);
}

/// The stores say where they take their turns.
LogicalResult KernelLowering::lowerOrdered(tile::OrderedOp) {
  return success();
}

void KernelLowering::addOrdered(Lowerings &lowerings) {
  lowerings.add(&KernelLowering::lowerOrdered);
  lowerings.add(&KernelLowering::lowerEndOrdered);
}
