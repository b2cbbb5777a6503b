//===- KernelArguments.h - what a kernel takes on the machine ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Arguments of the lowered kernel, created where they are first used, and the
// host values that a launch computes for them.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_TILETOHOPPER_KERNELARGUMENTS_H
#define FA3_LIB_CONVERSION_TILETOHOPPER_KERNELARGUMENTS_H

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"

namespace fa3 {

class KernelArguments {
public:
  KernelArguments(mlir::gpu::GPUFuncOp source, mlir::gpu::GPUFuncOp target)
      : source(source), target(target) {}

  // Values in the lowered kernel for an argument of the source kernel. Static
  // extents and strides are constants at the builder's position.
  // A tensor map may split the rows of its array: into blocks of as many as
  // the product of `split`, those into the extents given, outermost first.
  mlir::Value getTensorMap(mlir::Value memref, hopper::TensorMapType type,
                           llvm::ArrayRef<int64_t> split = {});
  mlir::Value getPointer(mlir::Value memref);
  mlir::Value getExtent(mlir::OpBuilder &b, mlir::Value memref, int64_t dim);
  mlir::Value getStride(mlir::OpBuilder &b, mlir::Value memref, int64_t dim);
  mlir::Value getScalar(mlir::Value argument);
  /// A counter for tiles that CTAs share out.
  mlir::Value getCounter();

  /// Whether `value` is an argument of the source kernel.
  bool isArgument(mlir::Value value) const;

  /// Records that an array is the target of bulk stores.
  void markStored(mlir::Value memref);

  /// Gives the target kernel the type that its arguments amount to.
  void finish();

  /// The operands of a launch with the given source arguments.
  llvm::SmallVector<mlir::Value>
  computeOnHost(mlir::ImplicitLocOpBuilder &b,
                mlir::ValueRange sourceArguments) const;

private:
  enum class Kind { TensorMap, Pointer, Extent, Stride, Scalar, Counter };
  struct Argument {
    Kind kind;
    unsigned source; ///< number of the source kernel's argument, if any
    int64_t dim;
    mlir::Type type;
    llvm::SmallVector<int64_t, 2> split = {}; ///< of a tensor map's rows
    bool operator==(const Argument &o) const {
      return kind == o.kind && source == o.source && dim == o.dim &&
             type == o.type && split == o.split;
    }
  };
  mlir::Value get(Argument argument);
  void demandWholeUnits(mlir::ImplicitLocOpBuilder &b,
                        mlir::ValueRange sourceArguments) const;
  /// The array with its rows split; they have to be whole blocks.
  mlir::Value splitRows(mlir::ImplicitLocOpBuilder &b, mlir::Value memref,
                        llvm::ArrayRef<int64_t> split) const;
  unsigned number(mlir::Value argument) const;

  mlir::gpu::GPUFuncOp source, target;
  llvm::SmallVector<Argument> arguments;
  llvm::SetVector<unsigned> stored;
};

} // namespace fa3

#endif // FA3_LIB_CONVERSION_TILETOHOPPER_KERNELARGUMENTS_H
