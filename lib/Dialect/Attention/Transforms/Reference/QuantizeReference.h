//===- QuantizeReference.h - quantization by definition ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_QUANTIZEREFERENCE_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_QUANTIZEREFERENCE_H

#include "fa3/Dialect/Attention/Contract/Quantization.h"

namespace fa3::attention {

/// Bits of the mantissa of an 8-bit format, and the bias of its exponent.
struct Float8Format {
  explicit Float8Format(mlir::Type type)
      : mantissa(mlir::isa<mlir::Float8E4M3FNType>(type) ? 3 : 2),
        bias(mlir::isa<mlir::Float8E4M3FNType>(type) ? 7 : 15) {}
  int mantissa, bias;
};

/// An 8-bit float as f32.
mlir::Value decodeFloat8(mlir::ImplicitLocOpBuilder &b, mlir::Value value);

/// The nearest number that `format` has, ties to even, of an f32 below its
/// largest.
mlir::Value roundToFloat8(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                          mlir::Type format);

/// The number of an 8-bit format nearest to an f32: beyond the largest that
/// one, of a NaN the code 0x7f.
mlir::Value encodeFloat8(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                         mlir::Type type);

/// Emits what attention.quantize means as loops over memrefs.
void buildQuantizeReference(mlir::ImplicitLocOpBuilder &b,
                            const HostQuantization &quantization);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_QUANTIZEREFERENCE_H
