//===- SequenceCode.h - lengths and places in a kernel ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What the regions of lengths and places say, as scalars of a kernel, and which
// tile is of which sequence.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_SEQUENCECODE_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_SEQUENCECODE_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Attention/IR/SequenceStarts.h"
#include "fa3/Support/IndexBuilder.h"

namespace fa3 {

/// Emits code on lengths and places at the position of a builder, from the
/// extents of q and k, auxiliary operands and the bound of queries.
class SequenceCode : IndexBuilder {
public:
  SequenceCode(mlir::ImplicitLocOpBuilder &b, attention::ScoredOpInterface op,
               const attention::Operands &operands,
               const mlir::IRMapping &captures)
      : IndexBuilder(b), op(op), operands(operands), captures(captures) {}

  /// Reads what q and k have room for.
  void readExtents();
  /// Opens a grid over tiles of `count` rows of all sequences and `heads`; the
  /// builder moves into it. Gives the first row of the tile and the head; the
  /// sequence and its lengths are then known. Of a sequence there are whole
  /// blocks of `parts` tiles.
  std::pair<mlir::Value, mlir::Value> openGrid(attention::Sequence rows,
                                               int64_t count, mlir::Value heads,
                                               int64_t parts = 1);
  /// Sets the sequence, and with it the lengths, once the extents are read.
  void setSequence(mlir::Value sequence);

  /// The sequence of the tile, what `attention.length` is there, and where its
  /// rows end: queries at `max_q`.
  mlir::Value batch, queryLength, keyLength, queryEnd;
  mlir::Value getEnd(attention::Sequence sequence) const {
    return sequence == attention::Sequence::query ? queryEnd : keyLength;
  }

  /// Where a row is in its array, without the element.
  llvm::SmallVector<mlir::Value> getPlace(attention::Sequence sequence,
                                          mlir::Value head, mlir::Value row);
  /// Where the statistics of queries are: in an array that has whole blocks of
  /// rows for each sequence, so that those behind its end are of no other one.
  static int64_t getStatisticRows(attention::ScoredOpInterface op) {
    constexpr int64_t kTile = 64, kBlock = 128;
    return endsEarly(op) ? kBlock : kTile;
  }
  /// Whether sequences may end in front of what their arrays have room for.
  static bool endsEarly(attention::ScoredOpInterface op) {
    return op.hasLengths() || op.getMaxQ();
  }
  llvm::SmallVector<mlir::Value> getStatisticPlace(mlir::Value head,
                                                   mlir::Value query);
  /// Where the sums of dq are: as statistics where sequences may end early, so
  /// that whole blocks can be added, else as queries.
  llvm::SmallVector<mlir::Value> getSumPlace(mlir::Value head,
                                             mlir::Value query) {
    return endsEarly(op) ? getStatisticPlace(head, query)
                         : getPlace(attention::Sequence::query, head, query);
  }
  /// Where the scale of a sequence and head is, in front of the number of a
  /// block: batches and heads share scales evenly, of which there may be fewer.
  llvm::SmallVector<mlir::Value> getPlaceOfScale(mlir::Value scales,
                                                 mlir::Value sequence,
                                                 mlir::Value head,
                                                 mlir::Value heads);
  /// Where stores of rows end in the array; null where they end with it.
  mlir::Value getStoreEnd(attention::Sequence sequence, mlir::Value head);

  /// What a region yields, given its arguments and what `attention.length` is.
  llvm::SmallVector<mlir::Value> expand(mlir::Region &region,
                                        mlir::ValueRange arguments,
                                        mlir::Value queries, mlir::Value keys);
  /// The number of sequences.
  mlir::Value buildBatch();
  /// Where sequences lie one behind the other: how many tiles of so many rows
  /// they take at most, of an array of `extent` rows.
  mlir::Value countTiles(mlir::Value extent, mlir::Value rows);
  /// The sequence that a tile is of, and its number there.
  std::pair<mlir::Value, mlir::Value>
  findSequence(mlir::Value starts, mlir::Value tile, mlir::Value rows);

  /// Rows of the arrays, once they are read.
  mlir::Value getExtent(attention::Sequence sequence) const {
    return sequence == attention::Sequence::query ? queryExtent : keyExtent;
  }

private:
  mlir::Value queryExtent, keyExtent;
  attention::ScoredOpInterface op;
  const attention::Operands &operands;
  const mlir::IRMapping &captures;
};

/// The extents of an array of statistics of queries, on the host.
llvm::SmallVector<mlir::Value>
getStatisticExtents(mlir::ImplicitLocOpBuilder &b,
                    const attention::HostFunction &host);

/// Where sequences lie one behind the other, requires no more of them on the
/// host than a tile can find its own among.
void limitSequences(attention::HostFunction &host,
                    attention::Sequence sequence);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_SEQUENCECODE_H
