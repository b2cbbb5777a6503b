//===- InitAll.cpp - registers dialects, passes and pipelines -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Conversion/AttentionToTile/AttentionToTile.h"
#include "fa3/Conversion/ConvertToAttention/ConvertToAttention.h"
#include "fa3/Conversion/HopperToNVVM/HopperToNVVM.h"
#include "fa3/Conversion/LowerHost/LowerHost.h"
#include "fa3/Conversion/TileToHopper/TileToHopper.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Attention/Transforms/Bufferization.h"
#include "fa3/Dialect/Attention/Transforms/GradientRules.h"
#include "fa3/Dialect/Attention/Transforms/Interfaces.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "fa3/Dialect/Warp/Transforms/Passes.h"
#include "fa3/InitAllDialects.h"
#include "fa3/InitAllPasses.h"
#include "fa3/Pipelines/Pipelines.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

void fa3::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<attention::AttentionDialect, warp::WarpDialect,
                  tile::TileDialect, hopper::HopperDialect>();
  registry.insert<mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                  mlir::bufferization::BufferizationDialect,
                  mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                  mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect,
                  mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::NVVM::NVVMDialect,
                  mlir::scf::SCFDialect, mlir::tensor::TensorDialect,
                  mlir::ub::UBDialect, mlir::vector::VectorDialect>();
  attention::registerBufferization(registry);
  attention::registerGradientRules(registry);
  attention::registerShapeReification(registry);
  attention::registerSharding(registry);
  attention::registerTiling(registry);
}

void fa3::registerAllPasses() {
  attention::registerAttentionPasses();
  registerConvertToAttentionPasses();
  registerAttentionToTilePasses();
  registerTileToHopperPasses();
  warp::registerWarpPasses();
  tile::registerTilePasses();
  registerPipelines();
  hopper::registerHopperPasses();
  registerHopperToNVVMPasses();
  registerHopperToLLVMPipeline();
  registerLowerHostPasses();
}
