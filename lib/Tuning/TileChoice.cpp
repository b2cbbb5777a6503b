//===- TileChoice.cpp - block sizes from head dims ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tuning/TileChoice.h"
#include "fa3/Machine/RegisterModel.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace fa3;

namespace {
/// Steps of blockN: the depth of a product whose operand it is, of 16 and of 8
/// bits.
constexpr int64_t kStep = kSm90a.productBytes / 2,
                  kFloat8Step = kSm90a.productBytes;
/// Wider key blocks bring nothing once the products dominate, and spill first.
constexpr int64_t kWidestBlockN = 112, kWidestBlockNTwoGroups = 128;
/// Of one warp group, whose few rows wait for copies: wider ones are fewer.
constexpr int64_t kWidestBlockNOneGroup = 192;
constexpr int64_t kWidestBlockNWideHeads = 64, kWidestBlockNFloat8 = 128;
/// Below this a further warp group does not pay for the narrower block. A
/// fourth one may pay from the second number on.
constexpr int64_t kNarrowestBlockN = 64, kNarrowestBlockNFourGroups = 48;
/// Columns of one product of the tensor core.
constexpr int64_t kMostColumns = 256;
/// Shared memory for tiles.
constexpr int64_t kTileBytes = kSharedMemoryBudget - kReservedSharedBytes;
/// Columns of the output that are in shared memory at a time: two blocks.
constexpr int64_t kStagedColumns = 128;
} // namespace

static const RegisterModel &getModel() { return getRegisterModel(kSm90a); }

/// Registers of a consumer beside tiles: row statistics, addresses, loop
/// control, and what score code loads or reads.
static int64_t countOthers(const RegionDemand &demand) {
  const RegisterModel &model = getModel();
  // Words of a random number, and the next ones.
  constexpr int64_t kWords = 16;
  return model.others + demand.loadedTiles * model.loadAddresses +
         demand.bulkTiles * model.readAddresses + (demand.keySpan ? kWords : 0);
}

int64_t fa3::getPaddedDim(int64_t dim) {
  return llvm::alignTo(dim, dim > 32 ? 64 : dim > 16 ? 32 : 16);
}

/// Steps by which integers that stay in registers for each key make a block
/// narrower. Beside narrow heads the first uses of the key cost nothing.
static int64_t countStepsOfNumbers(int64_t dims, const RegionDemand &demand) {
  const RegisterModel &model = getModel();
  int64_t steps = demand.keyNumbers * model.stepsOfKeyNumber;
  // So do digits of the key: the first costs nothing, beside narrow heads the
  // first two.
  auto ofDigits = [&](int64_t free) {
    return std::max<int64_t>(demand.keyDigits - free, 0);
  };
  if (dims >= model.wideColumns)
    return steps + ofDigits(1);
  int64_t uses = demand.keyUses + demand.keyNumbers - model.manyKeyUses;
  return std::clamp<int64_t>(uses, 0, steps) + ofDigits(2);
}

/// Heads of which a product has not all columns.
static bool isWide(int64_t d, int64_t dv) {
  return std::max(d, dv) > kMostColumns;
}

/// Two stages of K and V beside Q and one of what score code reads. The output
/// leaves by two blocks of columns: with wider keys it would have to wait for
/// the rows of Q, and the next Q for it.
static int64_t getKeysInMemory(int64_t d, int64_t dv,
                               const RegionDemand &demand, int64_t blockM) {
  int64_t ofQ = getPaddedDim(d), ofV = getPaddedDim(dv);
  int64_t bytes =
      kTileBytes - blockM * (ofQ + std::min(ofV, kStagedColumns)) * 2;
  return bytes / (2 * 2 * (ofQ + ofV) + 2 * demand.packedBytes +
                  blockM * demand.bulkBytes);
}

/// Of wide heads K and V are there once, and weights go through memory.
static int64_t getKeysOfWideInMemory(int64_t d, int64_t dv,
                                     const RegionDemand &demand,
                                     int64_t blockM) {
  constexpr int64_t kVectorBytes = 2 * 1024;
  int64_t bytes = kTileBytes - blockM * getPaddedDim(d) * 2 - kVectorBytes;
  return bytes / (2 * (getPaddedDim(d) + getPaddedDim(dv)) +
                  blockM * (2 + demand.bulkBytes));
}

/// The most keys of a block that bring anything beside so many rows.
static int64_t getMostUseful(const RegionDemand &demand, int64_t blockM) {
  if (blockM > 2 * kReplicaRows)
    return kWidestBlockN;
  // Tiles that score code reads keep addresses and parts of them alive.
  bool readsTiles = demand.bulkTiles + demand.loadedTiles > 0;
  return blockM > kReplicaRows || readsTiles ? kWidestBlockNTwoGroups
                                             : kWidestBlockNOneGroup;
}

KeyRoom fa3::getKeyRoom(int64_t d, int64_t dv, const RegionDemand &demand,
                        int64_t blockM) {
  if (isWide(d, dv))
    return {kStep, getKeysOfWideInMemory(d, dv, demand, blockM),
            kWidestBlockNWideHeads};
  return {demand.packedBytes ? kFloat8Step : kStep,
          getKeysInMemory(d, dv, demand, blockM),
          getMostUseful(demand, blockM)};
}

/// Widest blockN, a multiple of 16, within registers and shared memory.
static int64_t widestBlockN(int64_t d, int64_t dv, const RegionDemand &demand,
                            int64_t blockM, int64_t widest) {
  const RegisterModel &model = getModel();
  int64_t groups = llvm::divideCeil(blockM, kReplicaRows);
  int64_t registers =
      demand.packedBytes
          ? model.getTile8Budget(groups) -
                llvm::alignTo((model.wideConverter - model.converter) / groups,
                              8)
          : model.getTileBudget(groups);
  // Scores blockN / 2, weights blockN / 4, loaded tiles blockN / 2 each; of
  // what is read from shared memory a part is in registers at a time, blockN
  // / 8; two scales of a key blockN / 4 each.
  int64_t eighths = 6 + 4 * demand.loadedTiles + demand.bulkTiles +
                    (demand.packedBytes ? 4 : 0);
  int64_t byRegisters =
      (registers - countOthers(demand) - dv / 2) * 8 / eighths;
  int64_t byMemory = getKeysInMemory(d, dv, demand, blockM);
  int64_t columns = std::min({byRegisters, byMemory, widest}) / kStep * kStep;
  // Uses of the key index cost a step of a wide tile, and so does, with more
  // columns, a tile that score code reads beside three or more warp groups.
  bool needsIndex =
      d + dv >= model.wideColumns && demand.keyUses >= model.manyKeyUses;
  bool isTight =
      d + dv > model.wideColumns && blockM > 128 && demand.bulkTiles > 0;
  int64_t steps = std::max<int64_t>(needsIndex || isTight,
                                    countStepsOfNumbers(d + dv, demand));
  steps += demand.pairQuotients ? model.stepsOfQuotient : 0;
  columns -= steps * kStep;
  // Three groups beside narrow heads have no room for numbers of many keys.
  constexpr int64_t kNarrowHeads = 160, kFewKeys = 64;
  if (demand.keySpan && d + dv <= kNarrowHeads &&
      demand.keyUses + demand.keyNumbers > 1)
    columns = std::min(columns, kFewKeys);
  if (demand.keySpan && columns > demand.keySpan)
    columns = columns / demand.keySpan * demand.keySpan;
  if (demand.packedBytes)
    columns = columns / kFloat8Step * kFloat8Step;
  return columns;
}

int64_t fa3::getWidestBlockN(int64_t d, int64_t dv, const RegionDemand &demand,
                             int64_t blockM) {
  return widestBlockN(d, dv, demand, blockM, /*widest=*/256);
}

/// Time for `queries` rows in tiles of `blockM`, relative to rows of tiles of
/// three warp groups. A row of a smaller one costs more because fewer warp
/// groups hide the softmax of each other, one of a larger tile because its
/// blocks of keys are narrower.
static double estimateTime(int64_t queries, int64_t blockM, double perRow) {
  return llvm::alignTo(queries, blockM) * perRow;
}

/// Whether four warp groups with a narrow block of keys are ahead of three with
/// a wide one (docs/Performance.md, "What was tried").
static bool isNarrowBlockBetter(int64_t d, int64_t dv,
                                const RegionDemand &demand,
                                std::optional<int64_t> queries) {
  // Rows that begin within a sector of memory take more copies, which more
  // queries share.
  constexpr int64_t kSectorColumns = 32 / 2;
  if (d % kSectorColumns || dv % kSectorColumns)
    return true;
  // Under a mask less of a narrow block is hidden.
  if (demand.keyUses > 0)
    return true;
  constexpr double kRowOfFourGroups = 1.065;
  return queries && estimateTime(*queries, 256, kRowOfFourGroups) <
                        estimateTime(*queries, 192, 1);
}

/// Columns of a wide sum that one of the groups that share it keeps.
static int64_t getSumColumns(int64_t dv) {
  constexpr int64_t kUnit = 64;
  int64_t count = llvm::divideCeil(dv, kMostColumns);
  return count == 1 ? dv : llvm::alignTo(llvm::divideCeil(dv, count), kUnit);
}

/// Wide heads: 64 rows, the output by columns among groups (tile-split-sums).
static TileChoice chooseWideTile(int64_t d, int64_t dv,
                                 const RegionDemand &demand) {
  const RegisterModel &model = getModel();
  int64_t eighths = 6 + 4 * demand.loadedTiles + demand.bulkTiles;
  int64_t registers =
      model.mostOfConsumer - countOthers(demand) - getSumColumns(dv) / 2;
  KeyRoom room = getKeyRoom(d, dv, demand, kReplicaRows);
  int64_t columns =
      std::min({registers * 8 / eighths, room.inMemory, room.useful});
  return {kReplicaRows, std::max(columns / kStep * kStep, kStep)};
}

TileChoice fa3::chooseTile(int64_t d, int64_t dv, const RegionDemand &given,
                           std::optional<int64_t> queries,
                           int64_t leastBlockN) {
  RegionDemand demand = given;
  if (queries)
    demand.keyNumbers = 0;
  if (isWide(d, dv))
    return chooseWideTile(d, dv, demand);
  constexpr double kRowOfTwoGroups = 1.05;
  int64_t step = demand.packedBytes ? kFloat8Step : kStep;
  auto widest = [&](int64_t blockM) {
    return widestBlockN(d, dv, demand, blockM, getMostUseful(demand, blockM));
  };
  if (queries && *queries <= kReplicaRows) {
    int64_t one = widest(kReplicaRows);
    return {kReplicaRows, std::max(one, step)};
  }
  // What is computed for spans of keys leaves four groups too few registers,
  // and beside wide heads three.
  constexpr int64_t kWideBesideSpans = 160;
  int64_t four = widest(256);
  bool hasRoomForFour = !demand.keySpan && !demand.packedBytes &&
                        (four >= kNarrowestBlockN ||
                         (four >= kNarrowestBlockNFourGroups &&
                          isNarrowBlockBetter(d, dv, demand, queries)));
  if (hasRoomForFour && four >= leastBlockN)
    return {256, four};
  int64_t three = widest(192);
  // Two ways to compute a step (ShortForm.h) beside lengths and a mask.
  if (!queries && demand.hasTwoWays && demand.keyUses > 0 &&
      d + dv >= getModel().wideColumns && three > kNarrowestBlockN)
    three -= kStep;
  int64_t two = widest(128);
  bool isShort = queries && estimateTime(*queries, 128, kRowOfTwoGroups) <
                                estimateTime(*queries, 192, 1);
  bool isTight = demand.keySpan && d + dv > kWideBesideSpans;
  if (three >= kNarrowestBlockN && three >= leastBlockN && !isShort && !isTight)
    return {192, three};
  return {128, std::max(two, step)};
}

KeyRoom fa3::getFloat8KeyRoom(int64_t d, int64_t dv, const RegionDemand &demand,
                              const Float8Needs &needs, int64_t blockM) {
  // Two stages of K, V and V transposed beside Q. If there is no room for O,
  // it goes through the rows of Q.
  int64_t bytes = kTileBytes - blockM * needs.queryTerms * getPaddedDim(d);
  int64_t ofKey =
      getPaddedDim(d) + (needs.transposedV ? 1 : 2) * getPaddedDim(dv);
  return {kFloat8Step, bytes / (2 * ofKey + blockM * demand.bulkBytes),
          kWidestBlockNFloat8};
}

static int64_t widestFloat8BlockN(int64_t d, int64_t dv,
                                  const RegionDemand &demand,
                                  const Float8Needs &needs, int64_t blockM) {
  const RegisterModel &model = getModel();
  // The convert role takes registers from those who compute.
  int64_t registers =
      model.getTile8Budget(llvm::divideCeil(blockM, kReplicaRows));
  // Addresses of the columns of q; the other registers hold some of them.
  int64_t held = needs.twoLevel && needs.queryTerms > 1
                     ? model.heldAddressesOfTwoSums
                     : model.heldAddresses;
  int64_t addresses = llvm::divideCeil(needs.queryTerms * d, kFloat8Step);
  int64_t others = countOthers(demand) +
                   std::max<int64_t>(addresses - held, 0) * model.termAddresses;
  // Scores blockN / 2, weights blockN / 8, loaded tiles blockN / 2 each,
  // tiles in shared memory blockN / 8, a scale for every key blockN / 4 and
  // what reading them needs.
  int64_t eighths = 5 + 4 * demand.loadedTiles + demand.bulkTiles +
                    (needs.blocks.keys == 1 ? 3 : 0);
  int64_t outputs = (needs.twoLevel ? 2 : 1) * dv / 2;
  int64_t byRegisters = (registers - others - outputs) * 8 / eighths;
  KeyRoom room = getFloat8KeyRoom(d, dv, demand, needs, blockM);
  int64_t columns = std::min({byRegisters, room.inMemory, room.useful});
  // Random numbers beside wide heads, whose addresses come and go.
  constexpr int64_t kWideBesideSpans = 256;
  if (demand.keySpan && dv >= kWideBesideSpans)
    columns -= kFloat8Step;
  // Columns as numbers and as a mask are kept beside both sums, or what score
  // code reads beside the addresses of further terms.
  bool readsBesideTerms = needs.queryTerms > 1 && demand.bulkTiles > 0;
  if (needs.twoLevel &&
      (demand.keyUses > model.manyKeyUses || readsBesideTerms))
    columns -= kFloat8Step;
  if (needs.blocks.keys > 1)
    while (columns > kFloat8Step &&
           needs.blocks.keys % (columns / kFloat8Step * kFloat8Step))
      columns -= kFloat8Step;
  return columns / kFloat8Step * kFloat8Step;
}

int64_t fa3::getWidestFloat8BlockN(int64_t d, int64_t dv,
                                   const RegionDemand &demand, int64_t blockM,
                                   bool transposedV) {
  // Four consumer groups and the role that converts have not enough registers.
  constexpr int64_t kMostRows = 192;
  Float8Needs needs;
  needs.transposedV = transposedV;
  return blockM > kMostRows ? 0
                            : widestFloat8BlockN(d, dv, demand, needs, blockM);
}

TileChoice fa3::chooseFloat8Tile(int64_t d, int64_t dv,
                                 const RegionDemand &demand,
                                 const Float8Needs &needs,
                                 std::optional<int64_t> queries) {
  constexpr int64_t kLeast = 32, kNarrowest = 96;
  auto getWidest = [&](int64_t blockM) {
    return std::max(widestFloat8BlockN(d, dv, demand, needs, blockM), kLeast);
  };
  auto fitsScales = [&](int64_t blockM) {
    return needs.blocks.queries <= 1 || needs.blocks.queries % blockM == 0;
  };
  if (queries && *queries <= kReplicaRows && fitsScales(kReplicaRows))
    return {kReplicaRows, getWidest(kReplicaRows)};
  TileChoice three{192, getWidest(192)};
  if (three.blockN >= kNarrowest && fitsScales(192))
    return three;
  int64_t blockM = fitsScales(128) || !fitsScales(64) ? 128 : 64;
  return {blockM, getWidest(blockM)};
}
