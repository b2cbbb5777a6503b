//===- ListedLoop.h - a loop over lists of blocks ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a region of blocks says, as a loop of a kernel: its trip count and the
// rows of each step are scalars in memory, the same for all groups. Rows of a
// tile are those of one block; a step has some of the other sequence, the
// columns.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_LISTEDLOOP_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_LISTEDLOOP_H

#include "fa3/Support/IndexBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fa3 {

/// The lists of a tile.
struct BlockListing {
  /// What the region yields for an entry.
  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value)> read;
  /// Whether there is a list of blocks that are visible as a whole.
  bool hasFull;
  int64_t size, columns; ///< of a listed block, and of a step
  mlir::Value length;    ///< columns that there are
  /// Whether the last block may have columns that are not there.
  bool mayBeCut;
  /// Whether the mask is to be asked of all blocks, a scalar: the tile has rows
  /// that are not there. Null for never.
  mlir::Value asksAll;
  /// Whether steps say which list they are of.
  bool saysList = false;
  /// Whether steps choose their list by the condition that loops are divided
  /// by, so that each of these reads one. Not beside `asksAll`.
  bool isDivided = false;
};

/// What lists say of a step.
struct ListedStep {
  mlir::Value number;
  /// The first column, and where the mask is asked: the same in steps that are
  /// not visible.
  mlir::Value first, masked;
  /// Whether all rows see all columns, a scalar; null for never.
  mlir::Value isVisible;
  /// Whether the block is one of the second list, which may have a mask for
  /// what is not there; null for never, or where it is not asked for.
  mlir::Value isOfFull;
};

/// Whether a region yields a list of blocks that are visible as a whole.
bool hasFullList(mlir::Region &region);

/// Emits the loop: blocks that the mask looks at, then those that are visible
/// as a whole.
class ListedLoop : IndexBuilder {
public:
  using Body =
      llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
          const ListedStep &, mlir::ValueRange)>;

  ListedLoop(mlir::ImplicitLocOpBuilder &b, const BlockListing &listing)
      : IndexBuilder(b), listing(listing) {}

  /// `body` emits a step, from what the loop carries.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> build(mlir::ValueRange init,
                                                        Body body);

private:
  using Value = mlir::Value;
  enum List : unsigned { Masked = 0, Full = 2 };

  Value add(Value x, Value y);
  Value compare(mlir::arith::CmpIPredicate predicate, Value x, Value y);
  Value select(Value condition, Value x, Value y);
  Value count(List list);
  Value readBlock(Value entry, List list);
  void countEntries();
  ListedStep buildStep(Value number);

  const BlockListing &listing;
  Value blocks; ///< that there are
  /// Entries of the first list, those of which the mask is asked, and those of
  /// the second list that follow.
  Value masked, asked, full;
  /// The cut block, null if there can be none; it is behind those of the first
  /// list, in front of entry `others`, from which on the second list is read.
  Value cut, others;
  Value firstVisible; ///< step
};

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_LISTEDLOOP_H
