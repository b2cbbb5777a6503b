//===- KernelArguments.cpp - kernels and their launches -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelArguments.h"
#include "fa3/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace fa3;

gpu::GPUFuncOp fa3::createKernel(gpu::GPUModuleOp module, Location loc,
                                 const Twine &name, TypeRange arguments) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto kernel = gpu::GPUFuncOp::create(builder, loc, name.str(),
                                       builder.getFunctionType(arguments, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  builder.setInsertionPointToEnd(&kernel.getBody().front());
  gpu::ReturnOp::create(builder, loc);
  return kernel;
}

void fa3::launchKernel(OpBuilder &onHost, Location loc, gpu::GPUModuleOp module,
                       gpu::GPUFuncOp kernel, ValueRange arguments,
                       ValueRange cost) {
  auto symbol = SymbolRefAttr::get(
      module.getNameAttr(), {FlatSymbolRefAttr::get(kernel.getNameAttr())});
  tile::LaunchOp::create(onHost, loc, symbol, /*blocks=*/Value(), arguments,
                         cost);
}
