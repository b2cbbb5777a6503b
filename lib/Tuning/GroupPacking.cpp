//===- GroupPacking.cpp - when the heads of a group are rows --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tuning/GroupPacking.h"
#include "fa3/Tuning/TileChoice.h"
#include "llvm/Support/MathExtras.h"

using namespace fa3;

int64_t fa3::getMostHeadsTogether(int64_t heads) {
  int64_t together = 1;
  for (int64_t count = 2; count <= kReplicaRows; ++count)
    if (heads % count == 0)
      together = count;
  return together;
}

std::optional<GroupPacking> fa3::packGroup(int64_t heads) {
  GroupPacking packing;
  packing.heads = getMostHeadsTogether(heads);
  if (packing.heads == 1)
    return std::nullopt;
  packing.rows = llvm::PowerOf2Ceil(packing.heads);
  packing.parts = heads / packing.heads;
  return packing;
}

/// Whether tiles of rows that hold all heads are filled better by 10 % than
/// tiles of the queries of one head.
static bool isFilledBetter(int64_t queries, const GroupPacking &packing) {
  constexpr double kGain = 1.1;
  int64_t apart = llvm::alignTo(queries, kReplicaRows) * packing.heads;
  int64_t packed = llvm::alignTo(queries * packing.rows, kReplicaRows);
  return apart >= kGain * packed;
}

/// A tile of fewer queries and more heads touches fewer keys beside the visible
/// ones. Heads wider than this gain nothing, and lose 3 % of short sequences
/// (docs/Performance.md).
static bool gainsByMask(const GroupPacking &packing, const GroupFacts &facts) {
  constexpr int64_t kWidest = 128;
  // With lists, the keys of a tile are those of a block of queries anyway.
  return packing.heads == packing.rows && !facts.isListed &&
         facts.isMaskedByQuery && facts.valueHeadDim <= kWidest;
}

bool fa3::isPackingBetter(const GroupPacking &packing,
                          const GroupFacts &facts) {
  // Rows of different heads have no random numbers in common.
  if (facts.drops)
    return false;
  if (facts.queries && isFilledBetter(*facts.queries, packing))
    return true;
  // Keys are divided where queries are few.
  return gainsByMask(packing, facts) || (facts.isInParts && !facts.queries);
}
