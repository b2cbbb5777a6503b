//===- BackwardCopies.cpp - 8-bit copies in attention.backward ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ScalarRegions.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fa3::attention;

namespace {
/// An operand and its copy.
struct Copied {
  StringRef name;
  RankedTensorType own, copy;
};
} // namespace

/// C31: what a copy is.
static LogicalResult verifyCopy(BackwardOp op, const Copied &copied,
                                Type element) {
  auto [name, own, copy] = copied;
  if (copy.getElementType() != element)
    return op.emitOpError("expects 8-bit copies of one element type, got ")
           << element << " and " << copy.getElementType() << " for " << name;
  if (failed(verifyCompatibleShape(own.getShape(), copy.getShape())))
    return op.emitOpError("expects the 8-bit copy of ")
           << name << " to have its shape (" << own << "), got " << copy;
  constexpr int64_t kStep = 16, kMost = 256;
  int64_t dim = copy.getShape().back();
  if (dim % kStep || dim > kMost)
    return op.emitOpError("expects 8-bit copies with head dims that are "
                          "multiples of 16 up to 256, that of ")
           << name << " is " << dim;
  return success();
}

/// C32.
static LogicalResult verifyScale(BackwardOp op, RankedTensorType type) {
  if (type.getRank() != 3 || !type.getElementType().isF32())
    return op.emitOpError("expects scales of rank 3 and f32, got ") << type;
  if (type.getDimSize(2) != 1)
    return op.emitOpError("expects scales for whole sequences, with a last "
                          "extent of 1, got ")
           << type;
  return success();
}

/// C33.
static LogicalResult verifyNeighbors(BackwardOp op) {
  for (auto [isThere, what] :
       {std::pair(op.hasPlace(Sequence::query) || op.hasPlace(Sequence::key),
                  "places of sequences"),
        {op.hasLengths(), "lengths of sequences"},
        {op.getMaxQ() != nullptr, "'max_q'"},
        {op.getSizesOfBlocks().has_value(), "lists of blocks"},
        {!op.getAuxNumbers().empty(), "'grad_aux'"},
        {!op.getEpilogue().empty(), "'epilogue'"}})
    if (isThere)
      return op.emitOpError("expects no ") << what << " beside 8-bit copies";
  return success();
}

LogicalResult fa3::attention::verifyCopies(BackwardOp op) {
  OperandRange copies = op.getCopies(), scales = op.getScales();
  if (copies.empty() && scales.empty())
    return success();
  if (copies.size() != 4 || scales.size() != 4)
    return op.emitOpError("expects 8-bit copies of q, k, v and do, and a scale "
                          "for each, got ")
           << copies.size() << " and " << scales.size();
  auto get = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  Type element = get(copies[0]).getElementType();
  if (!isa<Float8E4M3FNType, Float8E5M2Type>(element))
    return op.emitOpError("expects 8-bit copies of f8E4M3FN or f8E5M2, got ")
           << element;
  for (auto [name, own, copy] : {std::tuple("q", op.getQ(), copies[0]),
                                 {"k", op.getK(), copies[1]},
                                 {"v", op.getV(), copies[2]},
                                 {"do", op.getOutGrad(), copies[3]}})
    if (failed(verifyCopy(op, {name, get(own), get(copy)}, element)))
      return failure();
  for (Value scale : scales)
    if (failed(verifyScale(op, get(scale))))
      return failure();
  return verifyNeighbors(op);
}
