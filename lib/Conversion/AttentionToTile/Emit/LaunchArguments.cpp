//===- LaunchArguments.cpp - kernels and their launches -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LaunchArguments.h"

using namespace mlir;
using namespace fa3;

gpu::GPUFuncOp fa3::createKernel(gpu::GPUModuleOp module, Location loc,
                                 const Twine &name, TypeRange arguments) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  return tile::createKernel(builder, loc, name, arguments);
}
