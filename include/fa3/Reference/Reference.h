//===- Reference.h - attention by definition, compiled in process -*- C++ -*-=//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a function with attention.forward on the CPU: what every kernel is
// compared with. See attention-to-reference for what is computed.
//===----------------------------------------------------------------------===//

#ifndef FA3_REFERENCE_REFERENCE_H
#define FA3_REFERENCE_REFERENCE_H

#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "fa3/Reference/HostTensor.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace fa3 {

/// A value passed to a reference: an array in memory or a scalar.
struct ReferenceArgument {
  /// An array; strides are in elements.
  ReferenceArgument(void *data, llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<int64_t> strides, mlir::Type elementType)
      : type(elementType), isArray(true), data(data), shape(shape),
        strides(strides) {}
  ReferenceArgument(HostTensor &tensor)
      : ReferenceArgument(tensor.getData(), tensor.getShape(),
                          tensor.getStrides(), tensor.getElementType()) {}
  /// A scalar: f32, f64, index or an integer of up to 64 bits.
  ReferenceArgument(mlir::FloatType type, double value);
  ReferenceArgument(mlir::Type indexOrInteger, int64_t value);

  mlir::Type type; ///< of an element or of the scalar
  bool isArray;
  void *data = nullptr;
  llvm::SmallVector<int64_t, 4> shape, strides;
  uint64_t bits = 0; ///< of a scalar
};

struct ReferenceOptions {
  attention::Precision precision = attention::Precision::f64;
  /// Store o as f32 instead of the element type.
  bool wideOutput = false;
};

/// Which heads a reference computes: `heads` of them over all batches, picked
/// by `seed`; 0: all. Outputs of the others stay as they are.
struct ReferenceSample {
  int64_t heads = 0;
  uint64_t seed = 0;
};

/// A compiled reference. Diagnostics are emitted at the function's location.
class Reference {
public:
  ~Reference();

  /// Compiles function `name` of `module`, which stays as it is: a function on
  /// tensors with attention.forward, or one that attention-to-reference has
  /// lowered already (`options` then have no effect).
  static llvm::FailureOr<std::unique_ptr<Reference>>
  create(mlir::ModuleOp module, llvm::StringRef name,
         const ReferenceOptions &options = {});

  /// Runs the function on arguments in the order of the host function: those of
  /// the function on tensors, then the results in the order of the return.
  /// Fails with an error if they do not have the types that the function takes
  /// or the shapes that it demands. Heads are computed side by side on all
  /// SMs.
  llvm::LogicalResult run(llvm::ArrayRef<ReferenceArgument> arguments,
                          const ReferenceSample &sample = {});

private:
  Reference(mlir::Location loc);
  llvm::LogicalResult verify(llvm::ArrayRef<ReferenceArgument> arguments) const;
  /// Calls the function once; gives its result.
  int64_t call(llvm::ArrayRef<ReferenceArgument> arguments, int64_t first,
               int64_t last) const;

  mlir::Location loc;
  llvm::SmallVector<mlir::Type> argumentTypes; ///< without first and last
  llvm::SmallVector<std::string> argumentNames;
  bool isSliced = false;
  /// What the function demands of its arguments, in the order of the checks.
  llvm::SmallVector<std::string> demands;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  void (*entry)(void **) = nullptr;
};

/// The error that is allowed to a fused kernel, in the manner of
/// FlashAttention: `factor` times the error that unfused attention in the
/// element type makes, plus twice the rounding error of adding and subtracting
/// 0.3 in `type`, the type that the reference is held in. `low` and `reference`
/// are o of the two precisions. `factor` is 2, or 3 where scores are capped.
double getErrorBound(llvm::ArrayRef<float> low, llvm::ArrayRef<float> reference,
                     mlir::FloatType type, double factor = 2);

/// The largest absolute difference; infinite if one has a NaN or an infinity
/// where the other does not have the same.
double getMaxError(llvm::ArrayRef<float> values,
                   llvm::ArrayRef<float> reference);

} // namespace fa3

#endif // FA3_REFERENCE_REFERENCE_H
