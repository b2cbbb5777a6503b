//===- HostFunction.h - from tensors to the launch contract -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Builds the host function of a function on tensors: its arguments as strided
// memrefs, the checks of their shapes, and the values a kernel is given.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_ATTENTION_CONTRACT_HOSTFUNCTION_H
#define FA3_DIALECT_ATTENTION_CONTRACT_HOSTFUNCTION_H

#include "fa3/Dialect/Attention/Contract/Blocks.h"
#include "fa3/Dialect/Attention/Contract/Merge.h"
#include "fa3/Dialect/Attention/Contract/Quantization.h"
#include "fa3/Dialect/Attention/Contract/Update.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace fa3::attention {

/// The attribute of an argument that is the stream of its function.
inline constexpr llvm::StringLiteral kStreamAttr = "attention.stream";

struct HostFunctionOptions {
  /// Element type of o in memory; null for that of the operation.
  mlir::Type outputType;
};

/// A host function under construction. All values are values of `function`.
///
/// Operands are arguments seen as (batch, head, sequence, element); numbers of
/// queries as (batch, head, query). With a place other dimensions, or none, are
/// in front of the heads. Null is what the operation does not take, or the
/// function does not return. Auxiliary operands, and their gradients, have
/// their own order of dimensions.
struct HostFunction : Operands {
  /// The new function: straight-line code that ends in an empty return. Code
  /// that computes or launches goes in front of that return.
  mlir::func::FuncOp function;
  /// The operation it stands for, still in the function on tensors: one of the
  /// two, or none if the function only prepares operands, or merges results.
  /// Then all of it is null but quantizations, updates, lists of blocks and
  /// what is merged.
  ForwardOp forward;
  BackwardOp backward;
  /// The quantizations that come before it, in order.
  llvm::SmallVector<HostQuantization, 0> quantizations;
  /// What turns rows, or puts them into a cache, in order.
  llvm::SmallVector<HostUpdate, 0> updates;
  /// What lists blocks of keys, in order.
  llvm::SmallVector<HostBlockLists, 0> blockLists;
  /// What merges results, alone in its function.
  std::optional<HostMerge> merge;

  /// Extents, of type index. Queries and keys are what q and k have room for
  /// along their sequence dimension: of every sequence, or with a place of all.
  mlir::Value batch, heads, keyHeads, queries, keys;

  /// Scalars of the function on tensors that the regions of the operation may
  /// capture.
  mlir::IRMapping values;

  /// What both operations have; null if the function only prepares operands.
  ScoredOpInterface getScored() const {
    if (backward)
      return ScoredOpInterface(backward);
    return forward ? ScoredOpInterface(forward) : ScoredOpInterface();
  }
  /// A builder in front of the return.
  mlir::OpBuilder getBuilder();
};

/// The memref a tensor is passed as: any strides, the last dimension
/// contiguous.
mlir::MemRefType getStridedType(mlir::RankedTensorType tensor,
                                mlir::Type elementType);

/// The attention.forward that `function` consists of. Null if there is none.
ForwardOp findForward(mlir::func::FuncOp function);
/// The same for attention.backward.
BackwardOp findBackward(mlir::func::FuncOp function);

/// Whether `function` holds operations of attention, or is none of ours.
bool hasAttention(mlir::func::FuncOp function);

/// Names of symbols that operations in `scope` refer to, other than calls of
/// attention (attention.call).
llvm::DenseSet<mlir::StringAttr> collectReferences(mlir::Operation *scope);

/// Whether `function` consists of attention on its arguments, so that it
/// becomes a host function rather than one that holds a call of one. What else
/// createHostFunction asks for is a matter of its errors.
bool hasHostForm(mlir::func::FuncOp function);

/// Builds the host function of `function`, in front of it and with its name;
/// the caller erases one of the two.
///
/// Every tensor argument becomes a memref with dynamic strides, the last being
/// 1; results become trailing arguments. Arguments are named by the attribute
/// `tile.name` ("q", "k", "v", "qv", "aux0", .., "scale", "q_scale", "k_scale",
/// "v_scale", "previous_o", "previous_lse", "o", "lse", "o_plain",
/// "max_logits", "o_parts", "lse_parts", "dq", "dk", "dv", "daux0",
/// .., "rotation", "x8", "x_scale", "count", "index", "full_count",
/// "full_index", "arg3" unless the argument or result has a name already) and
/// dimensions by `tile.dims`. Checks that need the actual shapes are
/// `cf.assert` operations: extents that must agree, key heads that divide the
/// heads, auxiliary operands that are large enough for the elements read (with
/// a gradient just so large), a positive scale. Scalar operations of the
/// function are kept. Results of attention.quantize and attention.list_blocks
/// that are not returned become memory that the function allocates
/// (memref.alloc). The result of attention.append is the argument that holds
/// its cache.
///
/// Calls of the function (attention.call) may be anywhere.
///
/// Fails with an error at the operation in question, and without a change to
/// the IR, if the function is not of that form: one block with one
/// attention.forward or attention.backward without mods, whose tensors are
/// arguments or come from attention.quantize, attention.rotary,
/// attention.append or attention.list_blocks of arguments and whose results are
/// returned, or these alone, or one attention.merge of arguments alone, and
/// otherwise pure operations on scalars.
llvm::FailureOr<HostFunction>
createHostFunction(mlir::func::FuncOp function,
                   const HostFunctionOptions &options = {});

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_CONTRACT_HOSTFUNCTION_H
