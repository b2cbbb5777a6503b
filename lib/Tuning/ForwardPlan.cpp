//===- ForwardPlan.cpp - how a forward is tiled ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tuning/ForwardPlan.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

using namespace fa3;
using llvm::Twine;
using mlir::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

namespace {
/// Keys by which a block grows: the depth of a product.
constexpr int64_t kStep16Bit = 16, kStep8Bit = 32;
/// Columns of values above which further groups have some of the sums, which
/// cannot begin with a product in front of the loop.
constexpr int64_t kColumnsOfGroup = 256;

/// Makes one plan.
class Planner {
public:
  Planner(const ForwardFacts &facts, const ForwardPlanOptions &options,
          llvm::function_ref<void(const Twine &)> refuse)
      : facts(facts), options(options), refuse(refuse) {}

  FailureOr<ForwardPlan> plan();

private:
  /// Two warps unpack or transpose as many keys as an 8-bit product has.
  int64_t getStep() const {
    return facts.is8Bit || facts.demand.packedBytes ? kStep8Bit : kStep16Bit;
  }
  LogicalResult fail(const Twine &sentence) const {
    refuse(sentence);
    return failure();
  }

  bool addsSteps() const;
  Float8Needs getFloat8Needs() const;
  TileChoice choose(const RegionDemand &demand) const;
  KeyRoom getRoom(int64_t blockM) const;
  void chooseTile(ForwardPlan &plan) const;
  /// Narrows a tile to one that listed blocks are made of.
  LogicalResult fitBlocks(TileChoice &tile) const;
  LogicalResult verifyBlocks() const;
  /// The most keys beside so many rows of a listed block.
  int64_t getWidestListed(int64_t rows) const;
  /// Fits a tile to rows that lie one behind the other.
  LogicalResult fitPlaces(ForwardPlan &plan) const;
  LogicalResult chooseAccumulation(ForwardPlan &plan) const;
  /// Keys of a narrower block in front of the others, 0 for none.
  FailureOr<int64_t> getLastKeys(int64_t blockN) const;
  LogicalResult verifyLastBlock() const;
  int64_t chooseLastKeys(int64_t blockN) const;

  const ForwardFacts &facts;
  const ForwardPlanOptions &options;
  llvm::function_ref<void(const Twine &)> refuse;
};
} // namespace

//===----------------------------------------------------------------------===//
// The tile
//===----------------------------------------------------------------------===//

/// Whether so many products of 8-bit operands are added up that their sum loses
/// what a step adds, by a figure of docs/Performance.md ("Long sequences"): a
/// result of which one key is half is off by a fifth.
static bool needsTwoLevels(const ForwardFacts &facts) {
  constexpr int64_t kManyKeys = 32768, kWidest = 128;
  return facts.is8Bit && facts.keys && *facts.keys >= kManyKeys &&
         facts.band.value_or(kManyKeys) >= kManyKeys && facts.dv <= kWidest;
}

bool Planner::addsSteps() const {
  return options.twoLevel == options::Choice::True ||
         (options.twoLevel == options::Choice::Auto && needsTwoLevels(facts));
}

Float8Needs Planner::getFloat8Needs() const {
  auto [ofQueries, ofKeys, ofValues] = facts.scaleRows;
  return {{ofQueries, std::gcd(ofKeys, ofValues)},
          addsSteps(),
          facts.transposedV,
          facts.queryTerms};
}

TileChoice Planner::choose(const RegionDemand &demand) const {
  if (!facts.is8Bit) {
    TileChoice tile =
        fa3::chooseTile(facts.d, facts.dv, demand, facts.rows, options.blockN);
    // Rows of parts are taken to be few. How many there are stays in registers
    // beside a mask with lengths, which heads of 128 have no room for.
    constexpr int64_t kWideColumns = 256, kWidest = 160;
    if (!facts.knowsQueries && facts.rows && facts.hasLengths &&
        demand.keyUses > 0 && facts.d + facts.dv >= kWideColumns)
      tile.blockN = std::min(tile.blockN, kWidest);
    return tile;
  }
  return chooseFloat8Tile(facts.d, facts.dv, demand, getFloat8Needs(),
                          facts.rows);
}

KeyRoom Planner::getRoom(int64_t blockM) const {
  return facts.is8Bit ? getFloat8KeyRoom(facts.d, facts.dv, facts.demand,
                                         getFloat8Needs(), blockM)
                      : getKeyRoom(facts.d, facts.dv, facts.demand, blockM);
}

void Planner::chooseTile(ForwardPlan &plan) const {
  plan.tile = choose(facts.demand);
  if (!options.blockM && !options.blockN && !facts.is8Bit && !facts.listed) {
    RegionDemand demand = facts.demand;
    demand.keyNumbers = 0;
    TileChoice plain = choose(demand);
    if (plain.blockM != plan.tile.blockM || plain.blockN != plan.tile.blockN)
      plan.tileWithoutNumbers = plain;
  }
  if (options.blockM)
    plan.tile.blockM = options.blockM;
  if (options.blockN)
    plan.tile.blockN = options.blockN;
}

//===----------------------------------------------------------------------===//
// Lists of blocks
//===----------------------------------------------------------------------===//

LogicalResult Planner::verifyBlocks() const {
  auto [ofQueries, keys] = *facts.listed;
  int64_t queries = ofQueries * facts.rowsPerQuery;
  auto verify = [&](const char *what, int64_t size, const char *name,
                    int64_t given) -> LogicalResult {
    if (!given || size % given == 0)
      return success();
    return fail("lists blocks of " + Twine(size) + " " + what + ", expects " +
                name + " to divide that, got " + Twine(given));
  };
  const char *rows = facts.rowsPerQuery > 1 ? "rows" : "queries";
  if (failed(verify(rows, queries, "block-m", options.blockM)) ||
      failed(verify("keys", keys, "block-n", options.blockN)))
    return failure();
  if (keys % getStep())
    return fail("lists blocks of " + Twine(keys) +
                " keys, expects a multiple of " + Twine(getStep()));
  return success();
}

/// Three groups with 16 bits have no room for integers of 64 keys.
static bool isTightWithLists(const ForwardFacts &facts, bool knowsLengths) {
  constexpr int64_t kWideColumns = 256;
  return facts.d + facts.dv >= kWideColumns && facts.demand.keyNumbers > 0 &&
         !knowsLengths && !facts.is8Bit;
}

static bool knowsLengths(const ForwardFacts &facts) {
  return facts.knowsQueries && !facts.hasLengths && facts.keys;
}

int64_t Planner::getWidestListed(int64_t rows) const {
  constexpr int64_t kWidest = 128, kWideColumns = 256;
  constexpr int64_t kRowsOfThree = 192, kWidestOfThree = 48;
  // Numbers that lists are read with stay alive beside code of the mask: with
  // 128 keys and wide heads, or several integers of a key, ptxas spills; with
  // heads of 128 unless the mask compares the key once, or where lengths are
  // known an integer of it, and looks at the query in no other way.
  const RegionDemand &demand = facts.demand;
  bool isKnown = knowsLengths(facts);
  bool isSimple =
      demand.keyUses <= 1 && demand.keyNumbers <= (isKnown ? 1 : 0) &&
      demand.loadedTiles + demand.bulkTiles == 0 && demand.queryValues == 0;
  int64_t columns = facts.d + facts.dv;
  bool isWide =
      columns > kWideColumns || (columns == kWideColumns && !isSimple);
  bool readsLists = facts.hasMask && (isWide || demand.keyDigits > 0);
  int64_t keys = facts.listed->second, step = getStep();
  int64_t widest = facts.is8Bit
                       ? getWidestFloat8BlockN(facts.d, facts.dv, demand, rows,
                                               facts.transposedV)
                       : getWidestBlockN(facts.d, facts.dv, demand, rows);
  widest = std::min({widest, kWidest, keys});
  if (readsLists)
    widest = std::min(widest, kWidest - step);
  if (isTightWithLists(facts, isKnown) && rows == kRowsOfThree)
    widest = std::min(widest, kWidestOfThree);
  widest = widest / step * step;
  while (widest > 0 && keys % widest)
    widest -= step;
  return widest;
}

LogicalResult Planner::fitBlocks(TileChoice &tile) const {
  if (!facts.listed)
    return success();
  if (failed(verifyBlocks()))
    return failure();
  constexpr int64_t kRowsOfThree = 192;
  int64_t queries = facts.listed->first * facts.rowsPerQuery;
  // The most rows that leave room for a block of keys which is not narrow.
  constexpr int64_t kNarrowest = 64;
  int64_t least = std::min(kNarrowest, facts.listed->second);
  if (!options.blockM) {
    tile.blockM = kReplicaRows;
    for (int64_t rows : {256, 192, 128})
      if (queries % rows == 0 && getWidestListed(rows) >= least) {
        tile.blockM = rows;
        break;
      }
    // Fewer keys are better than one group.
    if (isTightWithLists(facts, knowsLengths(facts)) &&
        tile.blockM == kReplicaRows && queries % kRowsOfThree == 0)
      tile.blockM = kRowsOfThree;
  }
  if (!options.blockN)
    tile.blockN = std::max(getWidestListed(tile.blockM), getStep());
  return success();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The widest block of at most `most` keys, of those that fit, that is made of
/// whole pages or lies in one; if that is less than half, the widest of all.
static int64_t fitPages(int64_t page, int64_t most, int64_t step,
                        llvm::function_ref<bool(int64_t)> fits) {
  int64_t widest = 0;
  for (int64_t block = most; block > 0 && (!widest || 2 * block >= most);
       block -= step) {
    if (!fits(block))
      continue;
    if (block % page == 0 || page % block == 0)
      return block;
    widest = std::max(widest, block);
  }
  return widest;
}

LogicalResult Planner::fitPlaces(ForwardPlan &plan) const {
  if (facts.consecutiveQueries != 0)
    return fail("has queries of which only " + Twine(facts.consecutiveQueries) +
                " lie one behind the other, expects all");
  int64_t keys = facts.consecutiveKeys;
  if (keys == 0)
    return success();
  auto fits = [&](int64_t block) {
    return !facts.listed || facts.listed->second % block == 0;
  };
  int64_t &block = plan.tile.blockN;
  if (!options.blockN)
    block = fitPages(keys, block, getStep(), fits);
  int64_t piece = std::gcd(keys, block);
  plan.pieceRows = piece == block ? 0 : piece;
  return success();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// After how many steps products are added to the sum in fp32. By figures of
/// docs/Performance.md ("Long sequences"): 8 err a fifth of what rounding of
/// the inputs does, and are faster by 11 % for narrow heads without a mask; of
/// wide heads they are not, and with a mask every step is 3 % faster.
static int64_t chooseTwoLevelSteps(const ForwardFacts &facts) {
  constexpr int64_t kNarrow = 64, kSteps = 8;
  return facts.dv <= kNarrow && !facts.hasMask ? kSteps : 1;
}

LogicalResult Planner::verifyLastBlock() const {
  if (options.lastKeys % getStep())
    return fail("expects last-keys to be a multiple of " + Twine(getStep()) +
                ", got " + Twine(options.lastKeys));
  if (options.lastBlock != options::LastBlock::Narrow)
    return success();
  if (facts.listed)
    return fail("has lists of blocks of keys, expects no last-block=narrow");
  if (facts.hasLengths)
    return fail("has sequences with lengths of their own, expects no "
                "last-block=narrow");
  if (facts.dv > kColumnsOfGroup)
    return fail("has values of " + Twine(facts.dv) +
                " columns, expects at most " + Twine(kColumnsOfGroup) +
                " with last-block=narrow");
  return success();
}

int64_t Planner::chooseLastKeys(int64_t blockN) const {
  bool isAsked = options.lastBlock == options::LastBlock::Narrow;
  int64_t step = getStep();
  if (!facts.keys) {
    // What is left of any number is half of a block on average.
    int64_t half = blockN / 2 / step * step;
    int64_t last = options.lastKeys ? options.lastKeys : half;
    return isAsked && last < blockN ? last : 0;
  }
  int64_t keys = *facts.keys;
  int64_t last = llvm::alignTo(keys % blockN, step);
  if (keys < blockN || last == 0 || last >= blockN)
    return 0;
  // A step of its own, which nothing hides, has to spare some columns. Two
  // others are no loop: all three would live side by side, and spill.
  constexpr int64_t kLeastSpared = 32, kLeastBlocks = 3;
  if (!isAsked &&
      (blockN - last < kLeastSpared || keys < kLeastBlocks * blockN))
    return 0;
  return last;
}

FailureOr<int64_t> Planner::getLastKeys(int64_t blockN) const {
  if (failed(verifyLastBlock()))
    return failure();
  bool isAsked = options.lastBlock == options::LastBlock::Narrow;
  if (facts.hasLengths || facts.listed || facts.dv > kColumnsOfGroup ||
      options.lastBlock == options::LastBlock::Whole ||
      (!isAsked && (facts.hasMask || facts.hasAux)))
    return 0;
  return chooseLastKeys(blockN);
}

static std::string toText(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << number;
  return text;
}

LogicalResult Planner::chooseAccumulation(ForwardPlan &plan) const {
  constexpr double kThreshold = 8, kThreshold8Bit = 4;
  FailureOr<int64_t> lastKeys = getLastKeys(plan.tile.blockN);
  if (failed(lastKeys))
    return failure();
  double threshold = options.rescaleThreshold;
  if (threshold == -1)
    threshold = facts.is8Bit ? kThreshold8Bit : kThreshold;
  // Weights times scales of values: f16 has no room for larger ones.
  if (facts.demand.packedBytes && facts.weightType == "f16" &&
      options.rescaleThreshold == -1)
    threshold = 0;
  if (facts.is8Bit && threshold > facts.largestWeight)
    return fail("has weights of '" + Twine(facts.weightType) +
                "': expects a rescale-threshold of at most " +
                toText(facts.largestWeight) + ", got " + toText(threshold));
  if (facts.is8Bit && plan.tile.blockN % kStep8Bit)
    return fail("has 8-bit operands: expects block-n to be a multiple of 32, "
                "got " +
                Twine(plan.tile.blockN));
  if (facts.demand.packedBytes && plan.tile.blockN % kStep8Bit)
    return fail("has keys of 4 bits: expects block-n to be a multiple of 32, "
                "got " +
                Twine(plan.tile.blockN));
  plan.accumulation = {options.rescale == options::Rescale::Never,
                       options.rescale == options::Rescale::Lazy,
                       threshold,
                       addsSteps(),
                       options.twoLevelSteps ? options.twoLevelSteps
                                             : chooseTwoLevelSteps(facts),
                       options.endRows && !facts.packsGroups &&
                           !facts.hasLengths,
                       *lastKeys,
                       *lastKeys && !facts.keys};
  return success();
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

FailureOr<ForwardPlan> Planner::plan() {
  ForwardPlan plan;
  chooseTile(plan);
  if (failed(fitBlocks(plan.tile)) || failed(fitPlaces(plan)))
    return failure();
  // Without keys there is no product, for whose sake a tile is split among warp
  // groups.
  if (facts.keys == 0)
    plan.tile.blockM = kReplicaRows;
  plan.room = getRoom(plan.tile.blockM);
  if (failed(chooseAccumulation(plan)))
    return failure();
  return plan;
}

FailureOr<ForwardPlan>
fa3::planForward(const ForwardFacts &facts, const ForwardPlanOptions &options,
                 llvm::function_ref<void(const Twine &)> refuse) {
  return Planner(facts, options, refuse).plan();
}

void ForwardPlan::print(llvm::raw_ostream &os) const {
  auto size = [&](TileChoice tile) {
    os << tile.blockM << " rows x " << tile.blockN << " keys";
  };
  os << "  tile: ";
  size(tile);
  if (tileWithoutNumbers) {
    os << ", without integers of keys in registers ";
    size(*tileWithoutNumbers);
  }
  os << "\n  a block has steps of " << room.step << " keys, memory for "
     << room.inMemory << ", and gains by " << room.useful << " at most\n";
  if (pieceRows)
    os << "  keys are loaded in pieces of: " << pieceRows << '\n';
  if (accumulation.lastKeys)
    os << "  keys of the narrower first block: " << accumulation.lastKeys
       << '\n';
  os << "  rescaling: ";
  if (accumulation.sharesReference)
    os << "never, all rows share a reference\n";
  else if (accumulation.lazy)
    os << "where a maximum has grown by 2^"
       << llvm::format("%g", accumulation.threshold) << '\n';
  else
    os << "every step\n";
  if (accumulation.twoLevel)
    os << "  products are added in fp32 after steps: "
       << accumulation.stepsBetween << '\n';
  os << "  rows end at the next tile's first: "
     << (accumulation.endRows ? "yes" : "no") << '\n';
}
