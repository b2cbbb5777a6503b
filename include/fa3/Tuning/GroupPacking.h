//===- GroupPacking.h - when the heads of a group are rows ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Query heads that share a key head (grouped-query attention) may be rows of
// one tile, so that what is loaded for one serves all: FlashAttention's
// pack_gqa. Facts go in, a choice comes out; no IR is looked at.
//===----------------------------------------------------------------------===//

#ifndef FA3_TUNING_GROUPPACKING_H
#define FA3_TUNING_GROUPPACKING_H

#include <cstdint>
#include <optional>

namespace fa3 {

/// Groups (dynamic where only the launch knows), heads of each and the rows
/// that each query of them takes: the next power of two. Rows of a query
/// without a head are loaded as zero and not stored. A group of more heads than
/// a tile has rows is `parts` groups that share a key head.
struct GroupPacking {
  int64_t keyHeads = 1, heads = 1, rows = 1, parts = 1;

  bool operator==(const GroupPacking &other) const {
    return keyHeads == other.keyHeads && heads == other.heads &&
           rows == other.rows && parts == other.parts;
  }
};

/// The most of so many heads, each a row of a tile, that divide them.
int64_t getMostHeadsTogether(int64_t heads);

/// How a group of so many heads becomes rows, without its number of key heads.
/// Nothing if it cannot: it has one head, or more than a tile has rows and no
/// divisor up to that.
std::optional<GroupPacking> packGroup(int64_t heads);

/// What the choice depends on.
struct GroupFacts {
  int64_t valueHeadDim = 0;
  /// Whether a mask shows a query some keys and not others; whether lists name
  /// blocks of keys; whether weights are dropped; whether keys are summed up in
  /// parts.
  bool isMaskedByQuery = false, isListed = false, drops = false,
       isInParts = false;
  /// Queries of a sequence, if their number is known.
  std::optional<int64_t> queries;
};

/// Whether a kernel is better for having the heads of a group as rows. It is
/// where the number of queries is known and tiles of 64 rows are filled better,
/// or unknown and keys are summed up in parts; and where keys are masked by
/// query, heads are not wide and no row is without one.
bool isPackingBetter(const GroupPacking &packing, const GroupFacts &facts);

} // namespace fa3

#endif // FA3_TUNING_GROUPPACKING_H
