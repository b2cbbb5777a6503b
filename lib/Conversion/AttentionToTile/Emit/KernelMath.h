//===- KernelMath.h - arithmetic of attention kernels -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Products and exponentials of tiles, as the builders of kernels use them.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_KERNELMATH_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_KERNELMATH_H

#include "fa3/Dialect/Tile/IR/TileBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace fa3 {

/// What the builder of a kernel emits arithmetic with.
class KernelMath : public tile::TileBuilder {
public:
  using TileBuilder::TileBuilder;

  mlir::Value f32(double value) {
    return mlir::arith::ConstantOp::create(
        b, b.getF32FloatAttr(static_cast<float>(value)));
  }
  mlir::arith::FastMathFlagsAttr contract() {
    return mlir::arith::FastMathFlagsAttr::get(
        b.getContext(), mlir::arith::FastMathFlags::contract);
  }
  /// Of products that factors and terms of score code may be joined to.
  mlir::arith::FastMathFlagsAttr reassociate() {
    return mlir::arith::FastMathFlagsAttr::get(
        b.getContext(), mlir::arith::FastMathFlags::contract |
                            mlir::arith::FastMathFlags::reassoc);
  }
  mlir::arith::FastMathFlagsAttr approximate() {
    return mlir::arith::FastMathFlagsAttr::get(
        b.getContext(),
        mlir::arith::FastMathFlags::afn | mlir::arith::FastMathFlags::contract);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulFOp::create(b, x, y, contract());
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return mlir::arith::SubFOp::create(b, x, y, contract());
  }
  mlir::Value exp2(mlir::Value x) {
    return mlir::math::Exp2Op::create(b, x, approximate());
  }
};

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_KERNELMATH_H
