//===- ProgressOps.cpp - additions in one order ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "fa3/Dialect/Hopper/IR/ProgressOps.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

#define GET_OP_CLASSES
#include "fa3/Dialect/Hopper/IR/HopperProgressOps.cpp.inc"

LogicalResult ProgressPassOp::verify() {
  constexpr size_t kLeast = 2;
  if (getStrides().size() != getIndices().size() ||
      getIndices().size() < kLeast)
    return emitOpError("expects as many strides as indices, at least two, got ")
           << getStrides().size() << " and " << getIndices().size();
  return success();
}
