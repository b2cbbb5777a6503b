//===- PositiveConstant.h - constants above 0 -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_SUPPORT_POSITIVECONSTANT_H
#define FA3_SUPPORT_POSITIVECONSTANT_H

#include "mlir/IR/Matchers.h"

namespace fa3 {

/// The positive float that a constant, or every element of it, is; else 0.
inline double getPositive(mlir::Value value) {
  llvm::APFloat constant(0.0);
  if (!mlir::matchPattern(value, mlir::m_ConstantFloat(&constant)))
    return 0;
  double number = constant.convertToDouble();
  return number > 0 ? number : 0;
}

} // namespace fa3

#endif // FA3_SUPPORT_POSITIVECONSTANT_H
