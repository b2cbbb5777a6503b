//===- BackwardTiles.cpp - tiles of backward kernels ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Two warp groups with 64 rows each. Columns of a step as many as registers and
// shared memory allow.
//===----------------------------------------------------------------------===//

#include "BackwardTiles.h"
#include "fa3/Machine/Chip.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace fa3;

namespace {
constexpr int64_t kRows = 128;
/// Registers of a thread, of 240, that tiles may fill: more, and ptxas 13.0
/// spills. Of kernels with rows of keys, of those among them that need no
/// gradients of weights, and with rows of queries.
constexpr int64_t kOfKeys = 240, kOfWeights = 204, kOfQueries = 200;
/// The same beside tiles of another step.
constexpr int64_t kOfKeysOfTwo = 186, kOfQueriesOfTwo = 182;
/// Columns of a head that take no registers as addresses of products, and how
/// many beyond them take one, in kernels with gradients of weights.
constexpr int64_t kShortHead = 128, kPerAddress = 2, kPerAddressOfQueries = 16;
/// Addresses of a tile that threads load.
constexpr int64_t kAddressRegisters = 8;
/// One more statistic of queries beside sums of dk and dv, and what it takes
/// beside a mask where heads are not short, or tiles of f16 where they are.
constexpr int64_t kStatisticRegisters = 8, kTightStatisticRegisters = 12;
/// Steps of columns: the depth of a product whose operand they are.
constexpr int64_t kStep = 16;
/// More bring nothing, and spill first.
constexpr int64_t kWidest = 96;
/// The same of gradients of auxiliary operands, which have no product to
/// spend registers on, and may have elements in shared memory.
constexpr int64_t kWidestOfAux = 64;
/// Fewest columns for which dk and dv are computed together.
constexpr int64_t kFewestTogether = 32;
/// Shared memory for tiles; the rest is for statistics, barriers and alignment.
constexpr int64_t kTileBytes = kSm90a.maxSharedMemoryBytes - 4096;
} // namespace

/// Columns a head dim takes in shared memory: whole blocks of 128 bytes.
static int64_t paddedDim(int64_t dim) {
  return llvm::alignTo(dim, dim > 32 ? 64 : dim > 16 ? 32 : 16);
}

/// Most columns of a step, 0 if there is no room for one.
static int64_t getWidestStep(const BackwardProducts &products, int64_t d,
                             int64_t dv, const BackwardDemand &demand) {
  // A tile of 64 rows takes half of its columns as registers of a thread.
  int64_t sums =
      ((products.dq || products.dk ? d : 0) + (products.dv ? dv : 0)) / 2;
  // Scores and gradients of weights, and what of both is converted; one step
  // of keys is converted after the other where queries are rows.
  int64_t quarters = 2 + 2 * demand.keptTiles + 2 * demand.loadedTiles;
  if (products.needsGradient())
    quarters += 2;
  quarters += products.ofKeys ? 2 : 1;
  quarters += demand.usesNumbers;
  // Random numbers of keys that are rows have little in common, and are made
  // beside both sums.
  constexpr int64_t kDropped = 4, kBesideKept = 3;
  if (demand.dropsWeights && products.ofKeys)
    quarters += kDropped + kBesideKept * demand.keptTiles;
  // The sums of an element for each pair.
  bool isAux = products.aux != BackwardProducts::None;
  quarters += products.aux == BackwardProducts::OfPairs ? 2 : 0;
  bool byQuery = !products.ofKeys;
  int64_t registers = products.needsGradient() ? kOfKeys : kOfWeights;
  if (byQuery)
    registers = demand.pipelined ? kOfQueriesOfTwo : kOfQueries;
  else if (demand.pipelined)
    registers = kOfKeysOfTwo;
  registers -= demand.loadedTiles * kAddressRegisters;
  if (demand.hasLargeScores && products.dk && products.dv) {
    bool isShort = std::max(d, dv) < kShortHead;
    bool isTight = isShort ? demand.widensHalf : demand.isMasked;
    registers -= isTight ? kTightStatisticRegisters : kStatisticRegisters;
  }
  if (products.needsGradient())
    registers -= std::max<int64_t>(0, std::max(d, dv) - kShortHead) /
                 (byQuery ? kPerAddressOfQueries : kPerAddress);
  int64_t byRegisters = (registers - sums) * 4 / quarters;
  // Operands that stay, and two that come for every step: twice, if a step does
  // not get too narrow by that.
  int64_t perRow = 2 * paddedDim(d), perStep = perRow + 2 * paddedDim(dv);
  if (products.needsGradient())
    perRow = perStep;
  int64_t byMemory = (kTileBytes - kRows * perRow) / perStep;
  if (byMemory / 2 >= kFewestTogether)
    byMemory /= 2;
  int64_t widest = isAux ? kWidestOfAux : kWidest;
  int64_t columns = std::min({byRegisters, byMemory, widest}) / kStep * kStep;
  // Those of keys that are columns have, 32 at a time.
  constexpr int64_t kSpan = 32;
  if (demand.dropsWeights && byQuery && columns > kSpan)
    columns = columns / kSpan * kSpan;
  return columns;
}

TileChoice fa3::chooseBackwardTile(const BackwardProducts &products, int64_t d,
                                   int64_t dv, const BackwardDemand &demand) {
  int64_t columns = getWidestStep(products, d, dv, demand);
  return {kRows, std::max(columns, kStep)};
}

llvm::SmallVector<BackwardPart>
fa3::planBackward(int64_t d, int64_t dv, const BackwardDemand &demand) {
  llvm::SmallVector<BackwardPart> parts;
  auto add = [&](BackwardProducts products) {
    parts.push_back({products, chooseBackwardTile(products, d, dv, demand)});
  };
  BackwardProducts ofQueries;
  ofQueries.dq = true;
  ofQueries.sumsWeights = demand.hasLargeScores;
  if (ofQueries.sumsWeights)
    add(ofQueries);
  BackwardProducts together;
  together.ofKeys = together.dk = together.dv = true;
  if (getWidestStep(together, d, dv, demand) >= kFewestTogether) {
    add(together);
  } else {
    BackwardProducts apart;
    apart.ofKeys = apart.dv = true;
    add(apart);
    std::swap(apart.dk, apart.dv);
    add(apart);
  }
  if (!ofQueries.sumsWeights)
    add(ofQueries);
  return parts;
}
