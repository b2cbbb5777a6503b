//===- HostBuilder.h - code of a host function -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The body of a host function: checks of shapes, views of the arguments,
// extents and scalars, and what comes in front of the attention.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_ATTENTION_CONTRACT_HOSTBUILDER_H
#define FA3_LIB_DIALECT_ATTENTION_CONTRACT_HOSTBUILDER_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3::attention {

/// Emits the body of a host function. What its methods need of the function is
/// in `host`, which they complete.
class HostBuilder {
public:
  HostBuilder(HostFunction &host, mlir::func::FuncOp source)
      : host(host), source(source),
        b(mlir::ImplicitLocOpBuilder::atBlockBegin(
            host.getScored() ? host.getScored()->getLoc() : source.getLoc(),
            &host.function.getBody().front())) {}

  void build();

private:
  // HostBuilder.cpp
  mlir::Value constant(int64_t value);
  /// Extent `axis` of memref `argument`.
  mlir::Value dim(mlir::Value argument, int64_t axis);
  void require(mlir::Value condition, const llvm::Twine &message);
  void requireEqual(mlir::Value lhs, mlir::Value rhs,
                    const llvm::Twine &message);
  llvm::StringRef getNameOf(mlir::Value array);
  void cloneScalars();
  /// Copies what computes a scalar of the function on tensors, unless done.
  void cloneScalar(mlir::Value value);
  mlir::Operation *cloneScalar(mlir::Operation &op);
  mlir::Value view(mlir::Value argument, Layout layout);
  mlir::Value viewTransposed(mlir::Value argument, Layout layout);

  // HostChecks.cpp
  void countSequences();
  void requireSame(Role role);
  void requireShapes();
  void requireShapesOfKeys();
  void requireGroup();
  void requireReads(unsigned number);
  void requireAuxGradient(unsigned position);
  /// Checks that `argument`, which holds the tensor that regions of `op` read,
  /// is large enough; `extents` are what bounds indices, by Extent.
  void requireReads(mlir::Operation *op, mlir::Value tensor,
                    mlir::Value argument, llvm::ArrayRef<mlir::Value> extents);
  void requireScales(unsigned operand);

  // HostPreparation.cpp
  void buildQuantization(HostQuantization &quantization);
  void buildRotation(HostQuantization &quantization);
  void buildUpdate(HostUpdate &update);
  void buildAppend(HostUpdate &update, Layout layout);
  mlir::Value provideRotated(HostUpdate &update, Layout layout);
  void buildBlockLists(HostBlockLists &lists);
  mlir::Value provideList(HostBlockLists &lists, mlir::OpResult result);

  // HostFunction.cpp
  void buildScored();
  void requireOperands();
  void buildScalars();
  void buildScale();
  void viewOperands();

  HostFunction &host;
  mlir::func::FuncOp source;
  mlir::ImplicitLocOpBuilder b;
  /// Arguments, in the order of their memory.
  Operands given;
  llvm::SmallDenseMap<int64_t, mlir::Value> constants;
  llvm::SmallDenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> dims;
  /// Matrices by signs and type.
  llvm::SmallDenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> matrices;
};

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_CONTRACT_HOSTBUILDER_H
