//===- PartCount.cpp - into how many parts keys are divided ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tuning/PartCount.h"
#include "fa3/Tuning/GroupPacking.h"
#include "fa3/Tuning/TileChoice.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace fa3;

namespace {
/// The numbers themselves.
struct Known {
  using Number = int64_t;
  Number index(int64_t value) const { return value; }
  Number multiply(Number a, Number b) const { return a * b; }
  Number divide(Number a, Number b) const { return a / b; }
  Number atLeast(Number a, int64_t least) const { return std::max(a, least); }
  Number minimum(Number a, Number b) const { return std::min(a, b); }
  Number maximum(Number a, Number b) const { return std::max(a, b); }
  Number selectIfAtLeast(Number a, Number b, Number then,
                         Number otherwise) const {
    return a >= b ? then : otherwise;
  }
};
} // namespace

/// Tiles without parts. More than the multiprocessors of any device count as
/// many.
static int64_t countTiles(const PartFacts &facts,
                          const std::optional<GroupPacking> &packing) {
  constexpr uint64_t kMany = uint64_t(1) << 40;
  int64_t queries = kReplicaRows / (packing ? packing->rows : 1);
  uint64_t tiles = llvm::divideCeil(facts.queries, queries);
  uint64_t heads = packing ? facts.keyHeads * packing->parts : facts.heads;
  tiles = llvm::SaturatingMultiply<uint64_t>(tiles, facts.sequences);
  tiles = llvm::SaturatingMultiply<uint64_t>(tiles, heads);
  return std::clamp<uint64_t>(tiles, 1, kMany);
}

int64_t fa3::planParts(const PartFacts &facts) {
  std::optional<GroupPacking> packing;
  if (facts.packsGroups && facts.keyHeads)
    packing = packGroup(facts.heads / facts.keyHeads);
  int64_t tiles = countTiles(facts, packing);
  // Kernels that take parts are for few queries: others keep four of five
  // multiprocessors busy as they are.
  bool isFew = facts.queries * (packing ? packing->rows : 1) <= kReplicaRows;
  if (!isFew && tiles * 5 >= facts.multiprocessors * 4)
    return 1;
  Known known;
  return chooseParts(known, facts.multiprocessors, tiles,
                     [&] { return facts.keys; });
}
