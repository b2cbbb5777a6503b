//===- TileChoice.cpp - block sizes from head dims ------------------------===//

#include "TileChoice.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace fa3;

namespace {
/// Registers besides tiles: row statistics, addresses, loop control.
constexpr int64_t kOtherRegisters = 25;
/// Registers per thread that a tile may fill, leaving ptxas some room.
constexpr int64_t kFourGroupRegisters = 108, kThreeGroupRegisters = 152,
                  kTwoGroupRegisters = 232;
/// Of these, addresses of a tile that score code loads, and of one that it
/// reads from shared memory.
constexpr int64_t kAddressRegisters = 8, kReadRegisters = 2;
/// Head dims of so many columns, d and dv together, are wide.
constexpr int64_t kWideColumns = 256;
/// Uses of the key index that cost a step of a wide tile, as does, with more
/// columns, a tile that score code reads beside three or more warp groups.
constexpr int64_t kManyKeyUses = 2;
/// Steps of blockN: the depth of a product whose operand it is.
constexpr int64_t kStep = 16;
/// Wider key blocks bring nothing once the products dominate, and spill first.
constexpr int64_t kWidestBlockN = 112, kWidestBlockNTwoGroups = 128;
/// Of one warp group, whose few rows wait for copies: wider ones are fewer.
constexpr int64_t kWidestBlockNOneGroup = 192;
/// Below this a further warp group does not pay for the narrower block. A
/// fourth one may pay from the second number on.
constexpr int64_t kNarrowestBlockN = 64, kNarrowestBlockNFourGroups = 48;
/// Shared memory for tiles; the rest of 227 KiB is for barriers and alignment.
constexpr int64_t kTileBytes = 230400;
/// Columns of the output that are in shared memory at a time: two blocks.
constexpr int64_t kStagedColumns = 128;
} // namespace

/// Columns a head dim takes in shared memory: whole blocks of 128 bytes.
static int64_t paddedDim(int64_t dim) {
  return llvm::alignTo(dim, dim > 32 ? 64 : dim > 16 ? 32 : 16);
}

/// Widest blockN, a multiple of 16, within registers and shared memory.
static int64_t widestBlockN(int64_t d, int64_t dv, const RegionDemand &demand,
                            int64_t blockM, int64_t registers, int64_t widest) {
  int64_t others = kOtherRegisters + demand.loadedTiles * kAddressRegisters +
                   demand.bulkTiles * kReadRegisters;
  // Scores blockN / 2, weights blockN / 4, loaded tiles blockN / 2 each; of
  // what is read from shared memory a part is in registers at a time, blockN
  // / 8.
  int64_t eighths = 6 + 4 * demand.loadedTiles + demand.bulkTiles;
  int64_t byRegisters = (registers - others - dv / 2) * 8 / eighths;
  // Two stages of K and V beside Q and one of what score code reads. The output
  // leaves by two blocks of columns: with wider keys it would have to wait for
  // the rows of Q, and the next Q for it.
  int64_t bytes =
      kTileBytes -
      blockM * (paddedDim(d) + std::min(paddedDim(dv), kStagedColumns)) * 2;
  int64_t byMemory = bytes / (2 * 2 * (paddedDim(d) + paddedDim(dv)) +
                              blockM * demand.bulkBytes);
  int64_t columns = std::min({byRegisters, byMemory, widest}) / kStep * kStep;
  bool needsIndex = d + dv >= kWideColumns && demand.keyUses >= kManyKeyUses;
  bool isTight = d + dv > kWideColumns && blockM > 128 && demand.bulkTiles > 0;
  return needsIndex || isTight ? columns - kStep : columns;
}

int64_t fa3::getWidestBlockN(int64_t d, int64_t dv, const RegionDemand &demand,
                             int64_t blockM) {
  int64_t registers = blockM > 192   ? kFourGroupRegisters
                      : blockM > 128 ? kThreeGroupRegisters
                                     : kTwoGroupRegisters;
  return widestBlockN(d, dv, demand, blockM, registers, /*widest=*/256);
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

TileChoice fa3::chooseTile(int64_t d, int64_t dv, const RegionDemand &demand,
                           std::optional<int64_t> queries,
                           int64_t leastBlockN) {
  constexpr double kRowOfTwoGroups = 1.05;
  if (queries && *queries <= kReplicaRows) {
    // Tiles that score code reads keep addresses and parts of them alive.
    bool readsTiles = demand.bulkTiles + demand.loadedTiles > 0;
    int64_t widest =
        readsTiles ? kWidestBlockNTwoGroups : kWidestBlockNOneGroup;
    int64_t one =
        widestBlockN(d, dv, demand, kReplicaRows, kTwoGroupRegisters, widest);
    return {kReplicaRows, std::max(one, kStep)};
  }
  int64_t four =
      widestBlockN(d, dv, demand, 256, kFourGroupRegisters, kWidestBlockN);
  bool hasRoomForFour =
      four >= kNarrowestBlockN || (four >= kNarrowestBlockNFourGroups &&
                                   isNarrowBlockBetter(d, dv, demand, queries));
  if (hasRoomForFour && four >= leastBlockN)
    return {256, four};
  int64_t three =
      widestBlockN(d, dv, demand, 192, kThreeGroupRegisters, kWidestBlockN);
  // Two ways to compute a step (hopper-shorten-tanh) beside lengths and a mask.
  if (!queries && demand.hasTanh && demand.keyUses > 0 &&
      d + dv >= kWideColumns && three > kNarrowestBlockN)
    three -= kStep;
  int64_t two = widestBlockN(d, dv, demand, 128, kTwoGroupRegisters,
                             kWidestBlockNTwoGroups);
  bool isShort = queries && estimateTime(*queries, 128, kRowOfTwoGroups) <
                                estimateTime(*queries, 192, 1);
  if (three >= kNarrowestBlockN && three >= leastBlockN && !isShort)
    return {192, three};
  return {128, std::max<int64_t>(two, kStep)};
}

static int64_t widestFloat8BlockN(int64_t d, int64_t dv,
                                  const RegionDemand &demand,
                                  const Float8Needs &needs, int64_t blockM) {
  constexpr int64_t kFloat8Step = 32, kWidest = 128;
  // The convert role takes registers from those who compute.
  constexpr int64_t kThreeGroups = 152, kTwoGroups = 216;
  int64_t registers = blockM > 128 ? kThreeGroups : kTwoGroups;
  // Addresses of 32 columns of q; the other registers hold some of them, beside
  // two sums fewer.
  constexpr int64_t kAddress = 2;
  int64_t held = needs.twoLevel && needs.queryTerms > 1 ? 4 : 8;
  int64_t addresses = llvm::divideCeil(needs.queryTerms * d, kFloat8Step);
  int64_t others = kOtherRegisters + demand.loadedTiles * kAddressRegisters +
                   demand.bulkTiles * kReadRegisters +
                   std::max<int64_t>(addresses - held, 0) * kAddress;
  // Scores blockN / 2, weights blockN / 8, loaded tiles blockN / 2 each,
  // tiles in shared memory blockN / 8, a scale for every key blockN / 4 and
  // what reading them needs.
  int64_t eighths = 5 + 4 * demand.loadedTiles + demand.bulkTiles +
                    (needs.blocks.keys == 1 ? 3 : 0);
  int64_t outputs = (needs.twoLevel ? 2 : 1) * dv / 2;
  int64_t byRegisters = (registers - others - outputs) * 8 / eighths;
  // Two stages of K, V and V transposed beside Q. If there is no room for O,
  // it goes through the rows of Q.
  int64_t bytes = kTileBytes - blockM * needs.queryTerms * paddedDim(d);
  int64_t ofKey = paddedDim(d) + (needs.transposedV ? 1 : 2) * paddedDim(dv);
  int64_t byMemory = bytes / (2 * ofKey + blockM * demand.bulkBytes);
  int64_t columns = std::min({byRegisters, byMemory, kWidest});
  // Columns as numbers and as a mask are kept beside both sums, or what score
  // code reads beside the addresses of further terms.
  bool readsBesideTerms = needs.queryTerms > 1 && demand.bulkTiles > 0;
  if (needs.twoLevel && (demand.keyUses > kManyKeyUses || readsBesideTerms))
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
