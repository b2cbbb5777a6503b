//===- TileChoice.h - block sizes from head dims ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TUNING_TILECHOICE_H
#define FA3_TUNING_TILECHOICE_H

#include "fa3/Machine/Chip.h"
#include <optional>

namespace fa3 {

/// Rows of a consumer warp group, which the rows of a query have to fit and few
/// queries do not fill.
inline constexpr int64_t kReplicaRows = kSm90a.productRows;

struct TileChoice {
  int64_t blockM, blockN;
};

/// What score_mod and mask_mod regions ask of registers.
struct RegionDemand {
  /// Elements of auxiliary operands that are read for every (query, key) pair:
  /// each becomes a tile of rank 2 that threads load,
  int64_t loadedTiles = 0;
  /// or one that is copied in bulk: how many, and bytes of an element of each.
  int64_t bulkTiles = 0, bulkBytes = 0;
  /// Uses of the key index beside the scores: 1 for a comparison, 2 for a
  /// conversion to a number, which stays alive with the scores.
  int64_t keyUses = 0;
  /// Integers of a key that are loaded, or divided by a number that only the
  /// launch knows.
  int64_t keyNumbers = 0;
  /// Integers of a key, made by division by constants or of its bits, that are
  /// looked at together with the query.
  int64_t keyDigits = 0;
  /// Conditions of a query and elements that are read for it.
  int64_t queryValues = 0;
  /// Quotients for each pair by numbers that are no constants.
  int64_t pairQuotients = 0;
  /// Keys whose numbers agree in all bits but the last ones, where code of a
  /// query and a key computes for them together what it takes apart for each
  /// (the bits of a random number); 0 without such code. A block has whole
  /// spans where it can.
  int64_t keySpan = 0;
  /// Whether it computes a function of scores that becomes two ways to compute
  /// a step (ShortForm.h).
  bool hasTwoWays = false;
  /// Whether elements are read for each query, each key or each pair.
  bool readsElements = false;
  /// Bytes of a key and a value that are unpacked on their way; 0 if they come
  /// as they are. Each has a scale then, which is in registers, and those who
  /// unpack have registers, too.
  int64_t packedBytes = 0;
};

/// Columns a head dim takes in shared memory: whole blocks of 128 bytes.
int64_t getPaddedDim(int64_t dim);

/// What bounds the keys of a block beside so many rows, but registers.
struct KeyRoom {
  /// Keys by which a block grows: the depth of a product.
  int64_t step = 0;
  /// The most for which there is shared memory, and the most that bring
  /// anything.
  int64_t inMemory = 0, useful = 0;
};

KeyRoom getKeyRoom(int64_t d, int64_t dv, const RegionDemand &demand,
                   int64_t blockM);

/// Most keys in a block beside blockM rows, by registers and shared memory.
int64_t getWidestBlockN(int64_t d, int64_t dv, const RegionDemand &demand,
                        int64_t blockM);

/// The same for 8-bit operands whose scales are for whole sequences.
int64_t getWidestFloat8BlockN(int64_t d, int64_t dv, const RegionDemand &demand,
                              int64_t blockM, bool transposedV);

/// Block sizes for head dims d and dv of 16-bit elements. Each warp group owns
/// 64 rows. Registers per thread: dv/2 for the output, blockN/2 for the scores,
/// blockN/4 for the converted weights, blockN/2 for each tile that score code
/// loads, and a rest for statistics and addresses. Four consumer warp
/// groups have 112 registers a thread, three 160, two 240. Where head dims are
/// wide and regions use the key index a lot, blockN is one step narrower:
/// values that the estimate does not see would spill. So it is for tanh of
/// scores under a mask, and for integers of a key that stay in registers, where
/// the number of queries is not known; and for each digit of a key but the
/// first, or beside narrow heads the first two.
///
/// Without `queries`, a number of query rows known at compile time, the tile is
/// the best one for long sequences; short ones may fill smaller tiles better,
/// and those of up to 64 rows have one warp group. Rows of more than 64 leave
/// room for `leastBlockN` keys, if any number of them does.
TileChoice chooseTile(int64_t d, int64_t dv, const RegionDemand &demand,
                      std::optional<int64_t> queries, int64_t leastBlockN = 0);

/// Rows of q, and keys, that share a scale; 0 for all.
struct ScaleBlocks {
  int64_t queries, keys;
};

/// What takes registers and shared memory beside 8-bit operands.
struct Float8Needs {
  ScaleBlocks blocks = {0, 0};
  bool twoLevel = false, transposedV = false;
  /// Numbers whose sum is an element of q.
  int64_t queryTerms = 1;
};

KeyRoom getFloat8KeyRoom(int64_t d, int64_t dv, const RegionDemand &demand,
                         const Float8Needs &needs, int64_t blockM);

/// The same for 8-bit operands, whose weights take blockN/8 registers. blockN
/// is a multiple of 32, the depth of a product; values go through shared memory
/// twice, as they are loaded and transposed, unless they are given transposed.
/// Blocks of scales are multiples of the tile where that is possible.
/// Two levels take dv/2 registers more for the product of a step.
TileChoice chooseFloat8Tile(int64_t d, int64_t dv, const RegionDemand &demand,
                            const Float8Needs &needs,
                            std::optional<int64_t> queries);

} // namespace fa3

#endif // FA3_TUNING_TILECHOICE_H
