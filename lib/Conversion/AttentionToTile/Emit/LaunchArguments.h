//===- LaunchArguments.h - what a launch passes to a kernel -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_LAUNCHARGUMENTS_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_LAUNCHARGUMENTS_H

#include "fa3/Dialect/Tile/IR/TileBuilder.h"
#include "mlir/IR/Matchers.h"

namespace fa3 {

/// What a launch passes to a kernel: host values, in the order of the kernel's
/// arguments. Constants are not passed but repeated in the kernel.
class LaunchArguments {
public:
  void add(mlir::Value hostValue) {
    if (hostValue && !isConstant(hostValue) &&
        !llvm::is_contained(values, hostValue))
      values.push_back(hostValue);
  }
  llvm::ArrayRef<mlir::Value> get() const { return values; }
  llvm::SmallVector<mlir::Type> getTypes() const {
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Value value : values)
      types.push_back(value.getType());
    return types;
  }
  /// The value inside the kernel that a host value becomes.
  mlir::Value lookup(mlir::OpBuilder &builder, mlir::gpu::GPUFuncOp kernel,
                     mlir::Value hostValue) {
    if (!hostValue)
      return {};
    if (isConstant(hostValue))
      return builder.clone(*hostValue.getDefiningOp())->getResult(0);
    return kernel.getArgument(llvm::find(values, hostValue) - values.begin());
  }

private:
  static bool isConstant(mlir::Value value) {
    return mlir::matchPattern(value, mlir::m_Constant());
  }
  llvm::SmallVector<mlir::Value> values;
};

/// Adds a kernel that only returns to `module`, behind the others.
mlir::gpu::GPUFuncOp createKernel(mlir::gpu::GPUModuleOp module,
                                  mlir::Location loc, const llvm::Twine &name,
                                  mlir::TypeRange arguments);

using tile::launchKernel;

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_LAUNCHARGUMENTS_H
