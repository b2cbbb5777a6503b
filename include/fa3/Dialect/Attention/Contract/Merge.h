//===- Merge.h - attention.merge in host functions --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a host function knows of an attention.merge: its tensors as memrefs.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_ATTENTION_CONTRACT_MERGE_H
#define FA3_DIALECT_ATTENTION_CONTRACT_MERGE_H

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fa3::attention {

struct HostFunction;

/// The attention.merge of a host function, whose values all others are.
struct HostMerge {
  MergeOp op;
  /// Seen as (part, batch, head, row, element), and without the last dimension;
  /// there may be no batch.
  mlir::Value parts, lseParts;
  /// The same without the part; lse is null if the function does not return it.
  mlir::Value o, lse;
  mlir::Value sinks; ///< (head), null for none
};

/// Checks that an attention.merge of `function` takes arguments of the
/// function, that its o is returned, and that there is no attention, and
/// nothing that prepares operands, beside it.
mlir::LogicalResult verifyMerge(mlir::func::FuncOp function);

/// Fills `host.merge` and emits the checks of shapes.
void buildHostMerge(mlir::ImplicitLocOpBuilder &b, HostFunction &host);

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_CONTRACT_MERGE_H
