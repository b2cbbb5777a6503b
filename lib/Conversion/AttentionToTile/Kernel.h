//===- Kernel.h - body of a tiled attention kernel --------------*- C++ -*-===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_KERNEL_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_KERNEL_H

#include "TileChoice.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace fa3 {

/// When the accumulator is rescaled.
struct RescalePolicy {
  bool lazy;
  /// log2 of the tolerated growth of a row maximum, lazy only.
  double threshold;
};

/// Values that a kernel takes for one attention: memrefs in (batch, head,
/// sequence, element) order.
struct KernelOperands {
  mlir::Value q, k, v, o, lse; ///< lse is null without that result
  llvm::SmallVector<mlir::Value> aux;
  mlir::Value scale; ///< f32
  /// Scalars that the regions capture.
  mlir::IRMapping captures;
};

/// Emits the `tile.grid` of a kernel at the builder's position.
mlir::LogicalResult buildKernelBody(mlir::OpBuilder &builder,
                                    attention::ForwardOp op,
                                    const KernelOperands &operands,
                                    TileChoice tile, RescalePolicy rescale);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_KERNEL_H
