//===- Update.h - rotary and append in host functions -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a host function knows of an attention.rotary or attention.append: its
// tensors as memrefs. What is appended is turned on the way.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_ATTENTION_CONTRACT_UPDATE_H
#define FA3_DIALECT_ATTENTION_CONTRACT_UPDATE_H

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fa3::attention {

/// Rows that are turned, or put into a cache, or both. All values are values of
/// the host function.
struct HostUpdate {
  /// One of them may be null.
  RotaryOp rotary;
  AppendOp append;
  /// Name of what is made: "q" for the q of attention.
  std::string name;
  /// Seen as (batch, head, row, element); a target with a place as what that
  /// indexes.
  mlir::Value source, target;
  /// Tables, and the positions that first rows have there; null without rotary.
  mlir::Value cos, sin, angle;
  /// The keys that first rows become; null without append.
  mlir::Value first;
  /// In units of which an 8-bit cache has its numbers; null without.
  mlir::Value scales;
  /// Arguments of the auxiliary operands of append.
  llvm::SmallVector<mlir::Value> aux;
  /// Extents of the source.
  mlir::Value batch, heads, rows;

  mlir::Operation *getOperation() const {
    mlir::Operation *op = append;
    return op ? op : static_cast<mlir::Operation *>(rotary);
  }
};

/// The rotary whose result `op` appends, which is done on the way; null for
/// none.
RotaryOp getAppendedRotary(AppendOp op);
/// Whether a rotary has a result in memory: somebody else than an append takes
/// it.
bool isInMemory(RotaryOp op);

/// Checks that every attention.rotary and attention.append of `function` takes
/// arguments of the function, agrees in layout with who takes its result, and
/// that a cache is used by its append only.
mlir::LogicalResult verifyUpdates(mlir::func::FuncOp function,
                                  ForwardOp forward);

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_CONTRACT_UPDATE_H
