//===- Blocks.h - attention.list_blocks in host functions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a host function knows of an attention.list_blocks: numbers, and lists as
// memrefs, those that nobody returns among them as memory of the call.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_ATTENTION_CONTRACT_BLOCKS_H
#define FA3_DIALECT_ATTENTION_CONTRACT_BLOCKS_H

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fa3::attention {

/// One attention.list_blocks. All values are values of the host function.
struct HostBlockLists {
  ListBlocksOp op;
  /// Of type index, at least 0.
  mlir::Value batch, heads, queries, keys;
  /// Numbers of blocks of queries and of keys, at least 1.
  mlir::Value queryBlocks, keyBlocks;
  /// (batch, head, block of queries), and with entries of the list.
  mlir::Value count, index, fullCount, fullIndex;
  /// Arguments of the auxiliary operands.
  llvm::SmallVector<mlir::Value> aux;
};

/// Checks that every attention.list_blocks of `function` reads arguments of the
/// function, and that `forward`, which may be null, takes its results as
/// auxiliary operands, or the function returns them.
mlir::LogicalResult verifyBlockLists(mlir::func::FuncOp function,
                                     ForwardOp forward);

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_CONTRACT_BLOCKS_H
