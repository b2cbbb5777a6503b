//===- HopperFlagOps.cpp - tiles that another kernel waits for ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "fa3/Dialect/Hopper/IR/Hopper.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

template <typename FlagOp>
static LogicalResult verifyFlag(FlagOp op) {
  if (op.getStrides().size() != op.getIndices().size())
    return op.emitOpError("expects as many strides as indices (")
           << op.getIndices().size() << "), got " << op.getStrides().size();
  if (op->template getParentOfType<warp::GroupOp>())
    return op.emitOpError("expects to stand outside of groups, where all "
                          "threads of the block pass");
  return success();
}

LogicalResult FlagClearOp::verify() { return verifyFlag(*this); }
LogicalResult FlagSetOp::verify() { return verifyFlag(*this); }
LogicalResult FlagAwaitOp::verify() { return verifyFlag(*this); }
