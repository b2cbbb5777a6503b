//===- HostArguments.h - names and types of a host function -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_CONTRACT_HOSTARGUMENTS_H
#define FA3_LIB_DIALECT_ATTENTION_CONTRACT_HOSTARGUMENTS_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace fa3::attention {

/// Names of the arguments with scales, by operand.
inline constexpr llvm::StringLiteral kScaleNames[] = {"q_scale", "k_scale",
                                                      "v_scale", "do_scale"};

/// What one argument of the host function is.
struct HostArgument {
  mlir::Type type;
  mlir::Location loc;
  mlir::DictionaryAttr attributes;
  std::string role;                    ///< default name; empty if it has none
  llvm::SmallVector<std::string> dims; ///< default names of dimensions
};

/// Which extent bounds an index of the regions.
enum class Extent { Batch, Heads, Queries, Keys, KeyHeads, Columns };

/// What bounds an index: an extent, `more` elements behind it.
struct IndexBound {
  Extent extent;
  int64_t more = 0;
};

/// The bound of `index` if it is an argument of a region of attention.forward,
/// or a constant of at least 0 more. The last arguments of lengths and places
/// have none that the host knows.
std::optional<IndexBound> getBound(mlir::Value index);

/// Calls `visit` on every tensor.extract in the regions that reads auxiliary
/// operand `number`.
void forEachRead(ScoredOpInterface op, unsigned number,
                 llvm::function_ref<void(mlir::tensor::ExtractOp)> visit);
/// The same for a tensor that the regions of any operation read.
void forEachRead(mlir::Operation *op, mlir::Value tensor,
                 llvm::function_ref<void(mlir::tensor::ExtractOp)> visit);

/// The arguments of the host function: those of `function`, then its results in
/// the order in which they are returned.
llvm::SmallVector<HostArgument> collectArguments(mlir::func::FuncOp function,
                                                 ScoredOpInterface op,
                                                 mlir::Type outputType);

/// Gives the arguments that attention takes their names.
void nameTensors(ScoredOpInterface op,
                 llvm::MutableArrayRef<HostArgument> arguments);

/// Gives rotations and sources that attention does not take their names, and
/// every quantization one for what it computes.
llvm::SmallDenseMap<mlir::Operation *, std::string>
nameQuantized(mlir::func::FuncOp function, ScoredOpInterface op,
              llvm::MutableArrayRef<HostArgument> arguments);

/// Gives arguments of attention.rotary and attention.append that have no name
/// yet theirs, and each of these operations one for what it makes.
llvm::SmallDenseMap<mlir::Operation *, std::string>
nameUpdates(mlir::func::FuncOp function,
            llvm::MutableArrayRef<HostArgument> arguments);

/// Gives arguments that attention.list_blocks takes or gives, and that have no
/// name yet, theirs.
void nameBlockLists(mlir::func::FuncOp function,
                    llvm::MutableArrayRef<HostArgument> arguments);

/// Gives arguments that attention.merge takes or gives theirs.
void nameMerge(mlir::func::FuncOp function,
               llvm::MutableArrayRef<HostArgument> arguments);

/// Adds `tile.name` and `tile.dims` where the function does not have them.
mlir::DictionaryAttr nameArgument(const HostArgument &argument,
                                  unsigned number);

mlir::LogicalResult
verifyNames(mlir::func::FuncOp function,
            llvm::ArrayRef<mlir::DictionaryAttr> attributes);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_CONTRACT_HOSTARGUMENTS_H
