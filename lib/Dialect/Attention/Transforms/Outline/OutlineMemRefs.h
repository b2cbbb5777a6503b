//===- OutlineMemRefs.h - attention in programs on memrefs ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// After bufferization attention is still on tensors, which
// bufferization.to_tensor makes of memory, and memory is made of its results:
// by bufferization.to_buffer, or bufferization.materialize_in_destination. A
// call in its place is on memrefs.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_OUTLINE_OUTLINEMEMREFS_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_OUTLINE_OUTLINEMEMREFS_H

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Analysis/AliasAnalysis.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"

namespace fa3::attention {

/// Bytes, as upstream's bufferization has it; TMA asks for 16.
constexpr int64_t kAllocationAlignment = 64;

/// The memref that holds `tensor`, null if it is no bufferization.to_tensor of
/// one, or if bufferization may still decide to write there.
mlir::Value getMemory(mlir::Value tensor);

/// Lets the regions of `op` read auxiliary operands in place of their memory,
/// which bufferization has made of them.
void readTensors(mlir::Operation *op);

/// `memory`, or a copy of it if elements of its last dimension are known not to
/// lie side by side.
mlir::Value getContiguous(mlir::ImplicitLocOpBuilder &b, mlir::Value memory);

/// The memory of the cache of `op` if the result is all that is made of it and
/// goes there; else a copy of it.
mlir::Value getCache(mlir::ImplicitLocOpBuilder &b, AppendOp op);

/// Where a program writes results of attention in the end.
class Destinations {
public:
  /// `inputs` is what the call of `root` is going to read.
  Destinations(mlir::Operation *root, llvm::ArrayRef<mlir::Value> inputs,
               mlir::DominanceInfo &dominance);

  /// The memref that `value`, a result of the attention or what transposes it,
  /// is written to and nowhere else, if the call may write it instead: it is
  /// there before the call, nothing in between may touch it, and it is apart
  /// from what the call reads. Erases what would write it. Null if there is
  /// none.
  mlir::Value take(mlir::Value value);

private:
  bool isApart(mlir::Value memory, bool isRestrict);

  mlir::Operation *root;
  llvm::SmallVector<mlir::Value> inputs;
  mlir::DominanceInfo &dominance;
  mlir::AliasAnalysis aliases;
  llvm::SmallVector<mlir::Value> taken;
};

/// bufferization.to_tensor of memory that nothing else writes.
mlir::Value createTensor(mlir::ImplicitLocOpBuilder &b, mlir::Value memory);

/// Users of `tensor` that ask for memory get `memory`; other operations on
/// tensors keep it. Erases it if there are none.
void lowerUses(mlir::Value tensor, mlir::Value memory);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_OUTLINE_OUTLINEMEMREFS_H
