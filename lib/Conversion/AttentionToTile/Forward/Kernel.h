//===- Kernel.h - body of a tiled attention kernel --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_FORWARD_KERNEL_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_FORWARD_KERNEL_H

#include "../Plan/PackGroups.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Tuning/ForwardPlan.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"
#include <array>

namespace fa3 {

/// Columns of a tile that holds rows of `dim` elements. Those beyond the row
/// are outside of the array: they read as 0 and are not written.
inline int64_t getTileWidth(int64_t dim) {
  constexpr int64_t kStep = 8;
  return llvm::alignTo(dim, kStep);
}

/// log2 of the largest weight that fits an element type with a factor below 2
/// to spare: 8 of 448, 15 of 57344 and of 65504; bf16 has the range of f32.
double getLargestWeight(mlir::Type element);

/// Values that a kernel takes for one attention: memrefs in (batch, head,
/// sequence, element) order, or what places index instead; with `packing` q, o
/// and lse as `viewGroups` gives them. A transposed v is (batch, head, element,
/// sequence).
struct KernelOperands : attention::Operands {
  /// Whether o is edited elsewhere: it is f32 then.
  bool isUnedited = false;
  /// Whether results are of parts of the keys: f32, with the number of the
  /// part in front of other indices.
  bool inParts = false;
  /// Keys of each part but the last, which has the rest; 0 for equal parts.
  int64_t partKeys = 0;
  /// Flags of tiles, for a kernel that merges parts beside this one: i32, where
  /// the first row of a tile is in an array of lse of parts. Null for none.
  mlir::Value finished;
  /// Keys of a block that lie one behind the other: a block is loaded in pieces
  /// of as many. 0 if all do.
  int64_t pieceRows = 0;
  /// Scalars that the regions capture.
  mlir::IRMapping captures;
  /// The heads of a group are rows.
  std::optional<GroupPacking> packing;
};

/// Results of an attention, or of its parts, in memory: null for those that
/// nobody wants.
struct AttentionResults {
  mlir::Value o, lse;
  /// o before it is edited.
  mlir::Value plain;
  mlir::Value maxLogits;

  std::array<mlir::Value *, 4> list() { return {&o, &lse, &plain, &maxLogits}; }
};

/// How many parts a merge may be asked for. A few are many tiles as a rule,
/// which want many CTAs beside each other, so few registers; more of them are
/// few tiles, which want all loads at once.
enum class PartCount { any, few };
constexpr int64_t kFewParts = 4;
/// Of these so many are looked at together.
constexpr int64_t kFewAtOnce = 2;

/// Emits a kernel that merges `parts` (with inParts) into `whole`, whose q
/// gives extents only. Without `op` the arrays are those of a caller, who may
/// have no batch, and parts of 16 bits.
mlir::LogicalResult buildMergeBody(mlir::OpBuilder &builder,
                                   attention::ForwardOp op,
                                   const KernelOperands &whole,
                                   const AttentionResults &parts,
                                   PartCount count = PartCount::any);

/// Whether the registers of a tile of the output, of `blockM` rows, have room
/// for what `epilogue` reads beside it, and for a previous output.
bool fitsOutput(attention::ForwardOp op, int64_t blockM);

/// Emits a kernel that edits `unedited`, an output in f32 and its lse, which is
/// null without a previous one, into o and lse.
void buildEditBody(mlir::OpBuilder &builder, attention::ForwardOp op,
                   const KernelOperands &operands,
                   const AttentionResults &unedited);

/// Emits the `tile.grid` of a kernel at the builder's position.
mlir::LogicalResult buildKernelBody(mlir::OpBuilder &builder,
                                    attention::ForwardOp op,
                                    const KernelOperands &operands,
                                    TileChoice tile, AccumulationPolicy policy);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_FORWARD_KERNEL_H
