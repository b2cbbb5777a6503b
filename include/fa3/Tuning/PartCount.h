//===- PartCount.h - into how many parts keys are divided -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Parts make tiles for multiprocessors that had none. One tile at a time runs
// on each, so tiles run in waves, and the last wave should be nearly full. Of
// the largest numbers of parts that fit one, two and four waves the first is
// taken that fills seven eighths of them, else the last, which leaves at most a
// quarter of a wave per wave: numbers of tiles may divide the multiprocessors
// badly. A part also has a price, a result to write and to merge, so it has at
// least 256 keys. Results are merged sixteen at a time, which takes as long as
// 600 keys: of more than sixteen parts each has as many
// (docs/experiments/decode.md).
//
// The rule is written once, for numbers that are known and for code that the
// host runs: attention-to-tile emits it, libfa3 computes it for callers that
// choose between a kernel with parts and one without.
//===----------------------------------------------------------------------===//

#ifndef FA3_TUNING_PARTCOUNT_H
#define FA3_TUNING_PARTCOUNT_H

#include <cstdint>

namespace fa3 {

/// How many parts keys are divided into, at least 1, for so many tiles without
/// parts (at least 1) and multiprocessors. `getKeys` gives the keys that a
/// sequence has at most. `Numbers` makes and combines values of its type
/// `Number`: index, multiply, divide, atLeast (a constant), minimum, maximum,
/// and selectIfAtLeast(a, b, then, otherwise).
template <typename Numbers, typename GetKeys>
auto chooseParts(Numbers &n, typename Numbers::Number multiprocessors,
                 typename Numbers::Number tiles, GetKeys getKeys) {
  using Number = typename Numbers::Number;
  constexpr int64_t kLeastKeys = 256, kMostWaves = 4, kEighths = 7;
  constexpr int64_t kAtOnce = 16, kKeysOfMerge = 600;
  // The fewest waves are asked last, and win.
  Number room = n.multiply(multiprocessors, n.index(kMostWaves));
  Number chosen = n.divide(room, tiles);
  for (int64_t waves = kMostWaves / 2; waves > 0; waves /= 2) {
    room = n.multiply(multiprocessors, n.index(waves));
    Number parts = n.divide(room, tiles);
    Number filled = n.multiply(parts, tiles);
    Number least = n.multiply(room, n.index(kEighths));
    Number eighths = n.multiply(filled, n.index(8));
    chosen = n.selectIfAtLeast(eighths, least, parts, chosen);
  }
  // Sixteens of parts, or a few.
  Number keys = getKeys();
  Number atOnce = n.index(kAtOnce);
  Number ofKeys = n.divide(keys, n.index(kLeastKeys));
  Number few = n.minimum(ofKeys, atOnce);
  Number sixteen = n.index(kAtOnce);
  Number sixteens = n.divide(keys, n.index(kAtOnce * kKeysOfMerge));
  Number many = n.multiply(sixteens, sixteen);
  Number most = n.maximum(few, many);
  Number count = n.minimum(chosen, most);
  return n.atLeast(count, 1);
}

/// A call of attention whose keys may be divided into parts.
struct PartFacts {
  /// Queries that a sequence has at most, and keys.
  int64_t sequences = 1, queries = 1, keys = 1;
  int64_t heads = 1, keyHeads = 1, multiprocessors = 1;
  /// Whether heads of a group are rows of a tile, where that is possible.
  bool packsGroups = false;
};

/// How many parts there should be; 1 where a kernel without parts is better.
/// Extents have to be in 0 to 2^30, and multiprocessors above 0.
int64_t planParts(const PartFacts &facts);

} // namespace fa3

#endif // FA3_TUNING_PARTCOUNT_H
