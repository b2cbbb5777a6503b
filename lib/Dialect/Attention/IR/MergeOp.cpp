//===- MergeOp.cpp - attention.merge --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fa3::attention;

/// C1 and C3.
static LogicalResult verifyRanks(MergeOp op, RankedTensorType o,
                                 RankedTensorType parts) {
  if (o.getRank() != 3 && o.getRank() != 4)
    return op.emitOpError("expects o of rank 3 or 4, got ") << o.getRank();
  for (auto [name, value, rank] :
       {std::tuple("parts", op.getParts(), o.getRank() + 1),
        {"lse_parts", op.getLseParts(), o.getRank()},
        {"lse", op.getLse(), o.getRank() - 1}}) {
    int64_t own = cast<RankedTensorType>(value.getType()).getRank();
    if (own != rank)
      return op.emitOpError("expects ")
             << name << " of rank " << rank << " beside o of rank "
             << o.getRank() << ", got " << own;
  }
  int64_t columns = o.getShape().back();
  if (ShapedType::isDynamic(columns) || columns < 8 || columns % 8)
    return op.emitOpError("expects o to have a static last extent that is a "
                          "multiple of 8, got ")
           << o;
  if (parts.getShape().back() != columns)
    return op.emitOpError("expects parts and o to agree in their last extent, "
                          "got ")
           << parts.getShape().back() << " and " << columns;
  return success();
}

/// C4: those of o and parts with those of lse_parts and lse.
static LogicalResult verifyAgreement(MergeOp op) {
  auto extent = [](Value value, int64_t axis) {
    return cast<RankedTensorType>(value.getType()).getDimSize(axis);
  };
  auto check = [&](StringRef what, ArrayRef<int64_t> extents) -> LogicalResult {
    if (succeeded(verifyCompatibleDims(extents)))
      return success();
    InFlightDiagnostic error =
        op.emitOpError("expects parts, lse_parts, o and lse to agree in ");
    error << what << ", got ";
    llvm::interleaveComma(extents, error, [&](int64_t size) {
      ShapedType::isDynamic(size) ? error << "?" : error << size;
    });
    return error;
  };
  if (failed(check("the number of parts",
                   {extent(op.getParts(), 0), extent(op.getLseParts(), 0)})))
    return failure();
  for (int64_t axis = 0, rank = op.getRankOfO() - 1; axis < rank; ++axis) {
    int64_t ofO = op.getAxisOfO(axis);
    StringRef what = axis < rank - 2    ? "batch"
                     : axis == rank - 2 ? "heads"
                                        : "rows";
    if (failed(
            check(what, {extent(op.getParts(), ofO + 1),
                         extent(op.getLseParts(), axis + 1),
                         extent(op.getO(), ofO), extent(op.getLse(), axis)})))
      return failure();
  }
  return success();
}

LogicalResult MergeOp::verify() {
  auto o = cast<RankedTensorType>(getO().getType()),
       parts = cast<RankedTensorType>(getParts().getType());
  if (failed(verifyRanks(*this, o, parts)))
    return failure();
  for (auto [name, type] : {std::pair("parts", parts), {"o", o}}) {
    Type element = type.getElementType();
    if (!element.isF16() && !element.isBF16() && !element.isF32())
      return emitOpError("expects ")
             << name << " of f16, bf16 or f32, got " << element;
  }
  for (auto [name, value] :
       {std::pair("lse_parts", getLseParts()), {"lse", getLse()}}) {
    Type element = getElementTypeOrSelf(value);
    if (!element.isF32())
      return emitOpError("expects ") << name << " of f32, got " << element;
  }
  if (failed(verifyAgreement(*this)))
    return failure();
  if (getSinks()) {
    auto sinks = cast<RankedTensorType>(getSinks().getType());
    if (sinks.getRank() != 1 || !sinks.getElementType().isF32())
      return emitOpError("expects sinks of rank 1 and f32, got ") << sinks;
    int64_t heads = o.getDimSize(getHeadAxis());
    if (failed(verifyCompatibleDims({sinks.getDimSize(0), heads})))
      return emitOpError("expects a sink for every head (")
             << heads << "), got " << sinks.getDimSize(0);
  }
  return verifyExtents(*this);
}
