//===- TileBuilder.h - code of tile kernels ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What builders of kernels share: the kernel and its launch, grids, loops, and
// tiles of constants.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_TILE_IR_TILEBUILDER_H
#define FA3_DIALECT_TILE_IR_TILEBUILDER_H

#include "fa3/Support/IndexBuilder.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace fa3::tile {

/// Adds a kernel that only returns where the builder inserts.
mlir::gpu::GPUFuncOp createKernel(mlir::OpBuilder &builder, mlir::Location loc,
                                  const llvm::Twine &name,
                                  mlir::TypeRange arguments);

/// Launches a kernel of `module`, whose grid says how many tiles there are.
/// `cost` is empty, or operations and bytes.
void launchKernel(mlir::OpBuilder &onHost, mlir::Location loc,
                  mlir::gpu::GPUModuleOp module, mlir::gpu::GPUFuncOp kernel,
                  mlir::ValueRange arguments, mlir::ValueRange cost = {});

/// What the builder of a kernel emits code with.
class TileBuilder : public OwnIndexBuilder {
public:
  using OwnIndexBuilder::OwnIndexBuilder;

  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape,
                                mlir::Type element) {
    return mlir::RankedTensorType::get(shape, element);
  }
  mlir::Value splat(mlir::Type type, double value) {
    auto tensor = llvm::cast<mlir::RankedTensorType>(type);
    return mlir::arith::ConstantOp::create(
        b, mlir::DenseElementsAttr::get(
               tensor, b.getFloatAttr(tensor.getElementType(), value)));
  }
  mlir::Value scalarTile(mlir::Value scalar, mlir::RankedTensorType type) {
    return mlir::tensor::SplatOp::create(b, scalar, type);
  }

  /// Opens a grid, into which the builder moves; gives the position.
  mlir::ValueRange openGrid(mlir::ValueRange bounds);
  /// The same, and the builder comes back behind what `body` emits.
  void grid(mlir::ValueRange bounds,
            llvm::function_ref<void(mlir::ValueRange)> body) {
    mlir::OpBuilder::InsertionGuard guard(b);
    body(openGrid(bounds));
  }

  /// A loop from 0 by 1 that carries values, or one.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value end, mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body) {
    mlir::Value one = index(1), zero = index(0);
    return OwnIndexBuilder::loop(zero, end, one, init, body);
  }
  mlir::Value
  loop(mlir::Value end, mlir::Value init,
       llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> body) {
    mlir::Value one = index(1), zero = index(0);
    return OwnIndexBuilder::loop(zero, end, one, init, body);
  }
};

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_IR_TILEBUILDER_H
