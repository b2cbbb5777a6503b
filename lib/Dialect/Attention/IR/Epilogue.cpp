//===- Epilogue.cpp - code on the output ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Constraints of `epilogue` and `epilogue_grad`.
//===----------------------------------------------------------------------===//

#include "ScalarRegions.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa3::attention;

bool fa3::attention::isOfEpilogue(Region *region) {
  auto op = dyn_cast<ScoredOpInterface>(region->getParentOp());
  if (!op)
    return false;
  auto backward = dyn_cast<BackwardOp>(op.getOperation());
  return region == &op.getEpilogue() ||
         (backward && region == &backward.getEpilogueGradRegion());
}

bool fa3::attention::isReadByEpilogue(Operation *operation, int64_t number) {
  auto op = cast<ScoredOpInterface>(operation);
  if (op.getEpilogue().empty() || number < 0 ||
      number >= static_cast<int64_t>(op.getAux().size()))
    return false;
  return llvm::any_of(op.getEpilogue().getOps<tensor::ExtractOp>(),
                      [&](tensor::ExtractOp read) {
                        return read.getTensor() == op.getAux()[number];
                      });
}

SmallVector<int64_t> BackwardOp::getAuxNumbers(bool ofEpilogue) {
  return llvm::filter_to_vector(getAuxNumbers(), [&](int64_t number) {
    return isReadByEpilogue(*this, number) == ofEpilogue;
  });
}

LogicalResult fa3::attention::verifyEpilogue(ScoredOpInterface op) {
  Builder builder(op->getContext());
  Type f32 = builder.getF32Type(), index = builder.getIndexType();
  return verifyScalarRegion(op, op.getEpilogue(), "epilogue",
                            {f32, index, index, index, index}, f32);
}

LogicalResult fa3::attention::verifyPlain(ForwardOp op) {
  if (!op.getPlain())
    return success();
  if (op.getEpilogue().empty())
    return op.emitOpError("expects 'epilogue' beside 'plain'");
  if (!op.getLse())
    return op.emitOpError("expects lse beside 'plain'");
  auto plain = cast<RankedTensorType>(op.getPlain().getType()),
       o = cast<RankedTensorType>(op.getO().getType());
  if (plain.getShape() != o.getShape())
    return op.emitOpError("expects plain to have the shape of o (")
           << o << "), got " << plain;
  Type element = op.getElementType(), own = plain.getElementType();
  if (element.getIntOrFloatBitWidth() != 8 && own != element)
    return op.emitOpError("expects plain to have the element type of q (")
           << element << "), got " << own;
  if (!own.isF16() && !own.isBF16() && !own.isF32())
    return op.emitOpError("expects plain of f16, bf16 or f32, got ") << own;
  return success();
}

LogicalResult fa3::attention::verifyEpilogueGrad(BackwardOp op) {
  if (!op.getEpilogueGradRegion().empty() && op.getEpilogue().empty())
    return op.emitOpError("expects no 'epilogue_grad' without 'epilogue'");
  if (op.getMaxQ() && !op.hasLengths() &&
      !op.getAuxNumbers(/*ofEpilogue=*/true).empty())
    return op.emitOpError(
        "expects no 'max_q' beside gradients of operands that "
        "'epilogue' reads");
  Builder builder(op.getContext());
  Type f32 = builder.getF32Type(), index = builder.getIndexType();
  SmallVector<Type> gradients(1 + op.getAuxNumbers(/*ofEpilogue=*/true).size(),
                              f32);
  return verifyScalarRegion(op, op.getEpilogueGradRegion(), "epilogue_grad",
                            {f32, f32, index, index, index, index}, gradients);
}
