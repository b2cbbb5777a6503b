//===- TileBuilder.cpp - code of tile kernels -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/IR/TileBuilder.h"
#include "fa3/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace fa3::tile;

gpu::GPUFuncOp fa3::tile::createKernel(OpBuilder &builder, Location loc,
                                       const Twine &name, TypeRange arguments) {
  auto kernel = gpu::GPUFuncOp::create(builder, loc, name.str(),
                                       builder.getFunctionType(arguments, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  OpBuilder inKernel = OpBuilder::atBlockEnd(&kernel.getBody().front());
  gpu::ReturnOp::create(inKernel, loc);
  return kernel;
}

void fa3::tile::launchKernel(OpBuilder &onHost, Location loc,
                             gpu::GPUModuleOp module, gpu::GPUFuncOp kernel,
                             ValueRange arguments, ValueRange cost) {
  auto symbol = SymbolRefAttr::get(
      module.getNameAttr(), {FlatSymbolRefAttr::get(kernel.getNameAttr())});
  LaunchOp::create(onHost, loc, symbol, /*blocks=*/Value(), arguments, cost);
}

ValueRange TileBuilder::openGrid(ValueRange bounds) {
  auto grid = GridOp::create(b, bounds);
  b.setInsertionPointToStart(&grid.getBody().front());
  return grid.getBody().getArguments();
}
