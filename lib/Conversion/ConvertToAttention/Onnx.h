//===- Onnx.h - reading operations of ONNX ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_ONNX_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_ONNX_H

#include "AttentionProblem.h"
#include "Foreign.h"

namespace fa3::convert {

/// Attributes of an operation of ONNX, under the name that the project gives
/// them.
struct Attributes {
  mlir::Operation *op;
  mlir::Attribute get(llvm::StringRef name) const {
    if (getName(op) == "torch.operator")
      return op->getAttr(("torch.onnx." + name).str());
    return op->getAttr(name);
  }
  int64_t getInteger(llvm::StringRef name, int64_t otherwise) const {
    return fa3::convert::getInteger(get(name)).value_or(otherwise);
  }
  /// 0 if it is not there.
  double getNumber(llvm::StringRef name) const {
    auto number = mlir::dyn_cast_or_null<mlir::FloatAttr>(get(name));
    return number ? number.getValueAsDouble() : 0;
  }
};

/// Labels of a problem of ONNX.
struct OnnxShape {
  Label b, i, j, c, e;
  Group head, keyHead;
  Dims getScores() const { return {{b}, head, {i}, {j}}; }
};

/// Reads operands 0 to 2 and result 0, (b, h, s, d) or (b, s, h * d).
llvm::LogicalResult readOnnxTensors(AttentionProblem &problem, OnnxShape &shape,
                                    int64_t heads, int64_t keyHeads);
/// Takes scale and soft cap, which have 0 for none.
llvm::LogicalResult readOnnxScale(AttentionProblem &problem,
                                  const Attributes &attributes);
/// Attention whose keys come behind those of `past_key`, or whose keys and
/// values are results.
llvm::LogicalResult convertOnnxWithPast(mlir::Operation *op,
                                        mlir::FloatType castType);
/// GroupQueryAttention of com.microsoft.
llvm::LogicalResult convertGroupQuery(mlir::Operation *op,
                                      mlir::FloatType castType);
/// RotaryEmbedding, of ONNX and of com.microsoft, and TensorScatter.
llvm::LogicalResult convertOnnxRotary(mlir::Operation *op);
llvm::LogicalResult convertTensorScatter(mlir::Operation *op);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_ONNX_H
