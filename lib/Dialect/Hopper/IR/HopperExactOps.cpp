//===- HopperExactOps.cpp - sums of integers in memory --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "fa3/Dialect/Hopper/IR/HopperExactOps.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

#define GET_OP_CLASSES
#include "fa3/Dialect/Hopper/IR/HopperExactOps.cpp.inc"

static LogicalResult verifyCount(Operation *op, StringRef what, Type type,
                                 int64_t registers) {
  auto vector = cast<VectorType>(type);
  if (vector.getRank() != 1 || vector.getNumElements() != registers)
    return op->emitOpError("expects ")
           << what << " of " << registers << " elements, got " << vector;
  return success();
}

LogicalResult AddExactOp::verify() {
  auto value = cast<VectorType>(getValue().getType());
  if (!value.getElementType().isF32())
    return emitOpError("expects elements of f32, got ") << value;
  if (getStrides().size() != getIndices().size() ||
      getBounds().size() != getIndices().size())
    return emitOpError("expects as many strides and bounds as indices (")
           << getIndices().size() << "), got " << getStrides().size() << " and "
           << getBounds().size();
  for (Type type : getIndices().getTypes()) {
    auto vector = dyn_cast<VectorType>(type);
    if (vector && (!vector.getElementType().isInteger(32) ||
                   vector.getNumElements() != value.getNumElements()))
      return emitOpError("expects vectors of ")
             << value.getNumElements() << " i32 as indices, got " << type;
  }
  return success();
}

LogicalResult LoadExactOp::verify() {
  const LinearLayout &layout = getFragment().getLayout();
  if (getStrides().size() != getIndices().size() || getBounds().size() != 1 ||
      getIndices().empty())
    return emitOpError("expects as many strides as indices, at least one, and "
                       "one bound, got ")
           << getStrides().size() << ", " << getIndices().size() << " and "
           << getBounds().size();
  auto result = cast<VectorType>(getResult().getType());
  if (layout.getRank() != 1 || !result.getElementType().isF32())
    return emitOpError("expects a fragment of rank 1 and elements of f32, got "
                       "rank ")
           << layout.getRank() << " and " << result;
  return verifyCount(*this, "a result", result, layout.getNumRegisters());
}

bool DiagonalReduceOp::takes(const LinearLayout &layout) {
  return layout.getRank() == 2 && layout.getShape().front() == 64 &&
         LinearLayout::accumulator(64, layout.getShape().back()) == layout;
}

LogicalResult DiagonalReduceOp::verify() {
  const LinearLayout &layout = getFragment().getLayout();
  if (!takes(layout))
    return emitOpError("expects an accumulator of 64 rows, got ")
           << layout.str();
  Type element = cast<VectorType>(getSource().getType()).getElementType();
  bool isSum = getKind() == Combine::add;
  if (cast<VectorType>(getResult().getType()).getElementType() != element ||
      !(isSum ? element.isF32() : element.isInteger(32)))
    return emitOpError("expects elements of ")
           << (isSum ? "f32" : "i32") << " with '"
           << stringifyCombine(getKind()) << "', got " << getSource().getType()
           << " and " << getResult().getType();
  if (failed(verifyCount(*this, "an operand", getSource().getType(),
                         layout.getNumRegisters())))
    return failure();
  return verifyCount(*this, "a result", getResult().getType(),
                     getNumResults(layout.getShape().back()));
}
