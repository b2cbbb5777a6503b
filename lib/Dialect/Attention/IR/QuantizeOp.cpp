//===- QuantizeOp.cpp - verification of attention.quantize ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fa3::attention;

double fa3::attention::getLargestNumber(Type format) {
  if (auto floats = dyn_cast<FloatType>(format))
    return APFloat::getLargest(floats.getFloatSemantics()).convertToDouble();
  unsigned bits = format.getIntOrFloatBitWidth();
  return APInt::getSignedMaxValue(bits).roundToDouble();
}

uint64_t fa3::attention::getMostTerms(Type format) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(format) ? 2 : 1;
}

std::optional<HadamardFactors>
fa3::attention::getHadamardFactors(int64_t order) {
  for (int64_t prime : {0, 11, 19}) {
    int64_t paley = prime + 1;
    if (order > 0 && order % paley == 0 && llvm::isPowerOf2_64(order / paley))
      return HadamardFactors{prime, order / paley};
  }
  return std::nullopt;
}

/// C3 and C4.
static LogicalResult verifyScales(QuantizeOp op, RankedTensorType source) {
  auto scales = cast<RankedTensorType>(op.getScales().getType());
  if (scales.getRank() != 3 || !scales.getElementType().isF32())
    return op.emitOpError("expects scales of rank 3 and f32, got ") << scales;
  int64_t rows = op.getRows();
  if (rows < 0)
    return op.emitOpError("expects 'rows' of at least 0, got ") << rows;
  for (auto [dim, axis, what] :
       {std::tuple(0, int64_t(0), "batch"), {1, op.getHeadAxis(), "heads"}}) {
    int64_t extent = scales.getDimSize(dim), own = source.getDimSize(axis);
    if (extent != 1 && failed(verifyCompatibleDims({extent, own})))
      return op.emitOpError("expects extent ")
             << dim << " of the scales to be 1 or that of the " << what << " ("
             << own << "), got " << extent;
  }
  int64_t length = source.getDimSize(op.getSequenceAxis());
  int64_t blocks = rows == 0 ? 1
                   : ShapedType::isDynamic(length)
                       ? ShapedType::kDynamic
                       : llvm::divideCeil(length, rows);
  bool fits =
      rows == 0
          ? scales.getDimSize(2) == 1
          : succeeded(verifyCompatibleDims({scales.getDimSize(2), blocks}));
  if (!fits)
    return op.emitOpError("expects a last extent of the scales of ")
           << blocks << " with 'rows' " << rows << ", got " << scales;
  return success();
}

LogicalResult QuantizeOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  auto values = cast<RankedTensorType>(getValues().getType());
  Type element = source.getElementType();
  if (source.getRank() != 4)
    return emitOpError("expects a source of rank 4, got ") << source.getRank();
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return emitOpError("expects a source of f16, bf16 or f32, got ") << element;
  int64_t d = source.getDimSize(3);
  if (ShapedType::isDynamic(d) || d < 16 || d % 16 || d > 256)
    return emitOpError("expects a static head dim that is a multiple of 16 up "
                       "to 256, got ")
           << source;
  if (!isa<Float8E4M3FNType, Float8E5M2Type>(values.getElementType()) &&
      !values.getElementType().isSignlessInteger(8))
    return emitOpError("expects values of f8E4M3FN, f8E5M2 or i8, got ")
           << values.getElementType();
  uint64_t most = getMostTerms(values.getElementType());
  if (getTerms() < 1 || getTerms() > most)
    return emitOpError("expects 'terms' of 1")
           << (most > 1 ? " or 2" : "") << " with values of "
           << values.getElementType() << ", got "
           << static_cast<int64_t>(getTerms());
  SmallVector<int64_t> shape(source.getShape());
  shape.back() *= static_cast<int64_t>(getTerms());
  if (values.getShape() != ArrayRef(shape)) {
    InFlightDiagnostic error = emitOpError("expects values of the shape of the "
                                           "source, ")
                               << source;
    if (getTerms() > 1)
      error << ", with " << getTerms() << " columns for each element";
    return error << ", got " << values;
  }
  if (failed(verifyExtents(*this)) || failed(verifyScales(*this, source)))
    return failure();
  if (!getRotation())
    return success();
  auto rotation = cast<RankedTensorType>(getRotation().getType());
  if (rotation.getRank() == 1) {
    if (rotation.getDimSize(0) != d ||
        !isa<FloatType>(rotation.getElementType()) ||
        element.getIntOrFloatBitWidth() != 16)
      return emitOpError("expects ")
             << d << " signs that are floats, and a source of f16 or bf16, got "
             << rotation << " for a source of " << element;
    if (!getHadamardFactors(d))
      return emitOpError("expects a head dim of 1, 12 or 20 times a power of "
                         "two for a Hadamard matrix, got ")
             << d;
    return success();
  }
  if (rotation.getShape() != ArrayRef<int64_t>{d, d} ||
      rotation.getElementType() != element ||
      element.getIntOrFloatBitWidth() != 16)
    return emitOpError("expects a matrix of ")
           << d << "x" << d << " elements of the source's type, f16 or bf16, "
           << "got " << rotation << " for a source of " << element;
  return success();
}
