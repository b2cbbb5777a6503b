//===- BackwardPlan.cpp - which kernels compute gradients -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Two warp groups with 64 rows each. Columns of a step as many as registers and
// shared memory allow. Of wide heads one tile has 64 rows, whose sums two warp
// groups share by columns (tile-split-sums).
//===----------------------------------------------------------------------===//

#include "fa3/Tuning/BackwardPlan.h"
#include "GradientCode.h"
#include "fa3/Machine/Chip.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace fa3;
using llvm::StringRef;
using llvm::Twine;
using mlir::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

namespace {
/// Makes one plan.
class BackwardPlanner {
public:
  BackwardPlanner(const BackwardFacts &facts,
                  const BackwardPlanOptions &options,
                  llvm::function_ref<void(const Twine &)> refuse)
      : facts(facts), options(options), demand(facts.demand), refuse(refuse) {}

  FailureOr<BackwardPlan> plan() const;
  /// Queries or keys, whichever are more, from which on the fused form is
  /// faster.
  int64_t getShortest(const BackwardPart &fused) const;

private:
  LogicalResult fail(const Twine &sentence) const {
    refuse(sentence);
    return failure();
  }
  bool asksFor(options::BackwardForm form) const {
    return options.form == form;
  }

  /// Quarters of a tile of scores that are alive in a step.
  int64_t countQuarters(const BackwardProducts &products) const;
  int64_t countRegisters(const BackwardProducts &products) const;
  int64_t getWidestByRegisters(const BackwardProducts &products) const;
  /// Bytes of shared memory of a row that stays, and of one of a step.
  std::pair<int64_t, int64_t>
  countBytes(const BackwardProducts &products) const;
  int64_t getWidestByMemory(const BackwardProducts &products) const;
  bool hasWideHeads() const { return std::max(facts.d, facts.dv) > kProduct; }
  /// A multiple of steps of products, and of what random numbers share.
  int64_t alignStep(const BackwardProducts &products, int64_t columns) const;
  /// Most columns of a step, 0 if there is no room for one; of a tile of 64
  /// rows, which wide heads have.
  int64_t getWidestWideStep(const BackwardProducts &products) const;
  int64_t getWidestStep(const BackwardProducts &products) const;
  BackwardPart choose(const BackwardProducts &products) const;
  /// Rows and columns that a listed block has; 0 without lists.
  std::pair<int64_t, int64_t>
  getListed(const BackwardProducts &products) const {
    if (!facts.listed)
      return {0, 0};
    auto [queries, keys] = *facts.listed;
    return products.ofKeys ? std::pair(keys, queries)
                           : std::pair(queries, keys);
  }
  /// Whether tiles are made of listed blocks.
  LogicalResult verifyListed(const BackwardPart &part) const;
  llvm::SmallVector<BackwardPart> planSplit() const;
  /// The kernel of all gradients; none where its sums and scores do not fit
  /// into registers, or dq cannot be divided among its warp groups.
  std::optional<BackwardPart> planFused() const;
  const BackwardDemand &getDemandOfFused() const {
    return facts.demandOfBlocks ? *facts.demandOfBlocks : demand;
  }
  bool isFusedFaster(const BackwardPart &fused) const;
  /// Whether what tiles of keys add to dq can be integers: it must be known how
  /// large a sum becomes, which score code, weights that are dropped and scales
  /// of copies change; and where the keys of a sequence are, which are looked
  /// at first.
  bool canCount() const {
    return !demand.hasScoreCode && !demand.dropsWeights && !facts.hasCopies &&
           !facts.hasPlaces;
  }
  LogicalResult verifyFused() const;
  /// That kernel if there is to be one.
  FailureOr<std::optional<BackwardPart>> chooseFused() const;

  static constexpr int64_t kRows = 128, kRowsOfGroup = 64;
  /// Columns of a step that is not narrow.
  static constexpr int64_t kWideStep = 128;
  static bool isWide(const BackwardPart &fused) {
    return fused.tile.blockN >= kWideStep;
  }
  /// Rows and most columns of a step where heads are wide, and registers that
  /// tiles may fill beside code.
  static constexpr int64_t kWideRows = 64, kWidestOfWide = 64, kOfWide = 204;
  /// Columns of one product: a wider sum is one of several.
  static constexpr int64_t kProduct = 256;
  /// Registers of a thread, of 240, that tiles may fill: more, and ptxas 13.0
  /// spills. Of kernels with rows of keys, of those among them that need no
  /// gradients of weights, and with rows of queries.
  static constexpr int64_t kOfKeys = 240, kOfWeights = 204, kOfQueries = 200;
  /// The same beside tiles of another step.
  static constexpr int64_t kOfKeysOfTwo = 186, kOfQueriesOfTwo = 182;
  /// Columns of a head that take no registers as addresses of products, and how
  /// many beyond them take one, in kernels with gradients of weights.
  static constexpr int64_t kShortHead = 128, kPerAddress = 2,
                           kPerAddressOfQueries = 16;
  /// Addresses of a tile that threads load.
  static constexpr int64_t kAddressRegisters = 8;
  /// One more statistic of queries beside sums of dk and dv, and what it takes
  /// beside a mask where heads are not short, or tiles of f16 where they are.
  static constexpr int64_t kStatisticRegisters = 8,
                           kTightStatisticRegisters = 12;
  /// Registers of a thread, of 240, that sums, scores and what is converted of
  /// them may fill in the fused form; statistics of queries come from shared
  /// memory one by one. And those that numbers of sequences take where the
  /// number of heads is one of them: where rows start and end.
  static constexpr int64_t kOfFused = 224, kSequenceRegisters = 20;
  /// Steps of columns: the depth of a product whose operand they are.
  static constexpr int64_t kStep = 16;
  /// More bring nothing, and spill first.
  static constexpr int64_t kWidest = 96;
  /// The same of dk and dv together, of more than one block of columns, beside
  /// 8-bit copies, whose addresses and scales take registers, too.
  static constexpr int64_t kWidestOfCopies = 64;
  /// The same of gradients of auxiliary operands, which have no product to
  /// spend registers on, and may have elements in shared memory.
  static constexpr int64_t kWidestOfAux = 64;
  /// Fewest columns for which dk and dv are computed together.
  static constexpr int64_t kFewestTogether = 32;
  /// Columns of a block of shared memory.
  static constexpr int64_t kBlock = 64;
  /// Shared memory for tiles; the rest is for statistics, barriers and
  /// alignment.
  static constexpr int64_t kTileBytes = kSm90a.maxSharedMemoryBytes - 4096;
  /// The same where queries are rows, whose statistics are in registers.
  static constexpr int64_t kTileBytesOfQueries =
      kSm90a.maxSharedMemoryBytes - 1024;

  const BackwardFacts &facts;
  const BackwardPlanOptions &options;
  const BackwardDemand &demand;
  llvm::function_ref<void(const Twine &)> refuse;
};
} // namespace

//===----------------------------------------------------------------------===//
// Tiles of the split form
//===----------------------------------------------------------------------===//

/// Registers that tiles of scores may fill, beside sums and addresses.
int64_t
BackwardPlanner::countRegisters(const BackwardProducts &products) const {
  bool byQuery = !products.ofKeys;
  int64_t registers = products.needsGradient() ? kOfKeys : kOfWeights;
  if (byQuery)
    registers = options.pipelined ? kOfQueriesOfTwo : kOfQueries;
  else if (options.pipelined)
    registers = kOfKeysOfTwo;
  registers -= demand.loadedTiles * kAddressRegisters +
               countCode(facts, products).registers;
  int64_t longest = std::max(facts.d, facts.dv);
  if (demand.hasLargeScores && products.dk && products.dv) {
    bool isShort = longest < kShortHead;
    bool isTight = isShort ? demand.widensHalf : demand.isMasked;
    registers -= isTight ? kTightStatisticRegisters : kStatisticRegisters;
  }
  if (products.needsGradient())
    registers -= std::max<int64_t>(0, longest - kShortHead) /
                 (byQuery ? kPerAddressOfQueries : kPerAddress);
  // A tile of 64 rows takes half of its columns as registers of a thread.
  int64_t sums =
      (products.dq || products.dk ? facts.d : 0) + (products.dv ? facts.dv : 0);
  return registers - sums / 2;
}

int64_t BackwardPlanner::countQuarters(const BackwardProducts &products) const {
  // Scores and gradients of weights, and what of both is converted; one step
  // of keys is converted after the other where queries are rows.
  int64_t quarters = 2 + 2 * demand.keptTiles + 2 * demand.loadedTiles +
                     countCode(facts, products).quarters;
  if (products.needsGradient())
    quarters += 2;
  quarters += products.ofKeys ? 2 : 1;
  quarters += demand.usesNumbers;
  // Random numbers of keys that are rows have little in common, and are made
  // beside both sums.
  constexpr int64_t kDropped = 4, kBesideKept = 3;
  if (demand.dropsWeights && products.ofKeys)
    quarters += kDropped + kBesideKept * demand.keptTiles;
  // The sums of an element for each pair, or its place in a table.
  bool hasOwn = products.aux == BackwardProducts::OfPairs ||
                products.aux == BackwardProducts::OfTable;
  return quarters + (hasOwn ? 2 : 0);
}

int64_t
BackwardPlanner::getWidestByRegisters(const BackwardProducts &products) const {
  return countRegisters(products) * 4 / countQuarters(products);
}

std::pair<int64_t, int64_t>
BackwardPlanner::countBytes(const BackwardProducts &products) const {
  int64_t ofScores = getPaddedDim(facts.d), ofValues = getPaddedDim(facts.dv);
  int64_t both = ofScores + (products.needsGradient() ? ofValues : 0);
  if (!facts.hasCopies)
    return {2 * both, 2 * (ofScores + ofValues)};
  // Beside copies are those rows in 16 bits that are summed up.
  int64_t own = both + (products.addsDq ? 2 * ofScores : 0);
  int64_t ofStep = both + (products.dq || products.dk ? 2 * ofScores : 0) +
                   (products.dv ? 2 * ofValues : 0);
  return {own, ofStep};
}

int64_t
BackwardPlanner::getWidestByMemory(const BackwardProducts &products) const {
  // Operands that stay, and two that come for every step: twice, if a step does
  // not get too narrow by that.
  auto [perRow, perStep] = countBytes(products);
  bool hasOnlyTiles = products.dq && products.aux == BackwardProducts::None &&
                      !demand.loadedTiles;
  int64_t bytes = hasOnlyTiles ? kTileBytesOfQueries : kTileBytes;
  int64_t columns = (bytes - kRows * perRow) / perStep;
  return columns / 2 >= kFewestTogether ? columns / 2 : columns;
}

int64_t BackwardPlanner::alignStep(const BackwardProducts &products,
                                   int64_t columns) const {
  columns = columns / kStep * kStep;
  // Random numbers of keys that are columns have something in common, 32 at a
  // time.
  constexpr int64_t kSpan = 32;
  if (demand.dropsWeights && !products.ofKeys && columns > kSpan)
    columns = columns / kSpan * kSpan;
  if (int64_t listed = getListed(products).second)
    while (columns > 0 && listed % columns)
      columns -= kStep;
  // Walks along diagonals end where a block begins.
  if (products.aux == BackwardProducts::OfTable)
    while (columns > 0 && kWideRows % columns)
      columns -= kStep;
  return columns;
}

int64_t BackwardPlanner::getWidestStep(const BackwardProducts &products) const {
  bool isAux = products.aux != BackwardProducts::None;
  int64_t widest = isAux ? kWidestOfAux : kWidest;
  if (facts.hasCopies && products.dk && products.dv &&
      std::max(facts.d, facts.dv) > kBlock)
    widest = kWidestOfCopies;
  return alignStep(products, std::min({getWidestByRegisters(products),
                                       getWidestByMemory(products), widest}));
}

int64_t
BackwardPlanner::getWidestWideStep(const BackwardProducts &products) const {
  // The group that computes scores has one piece of the sum, of whole blocks of
  // shared memory.
  int64_t sum = products.dv                  ? facts.dv
                : products.dq || products.dk ? facts.d
                                             : 0;
  int64_t pieces = std::max<int64_t>(llvm::divideCeil(sum, kProduct), 1);
  int64_t piece = llvm::alignTo(llvm::divideCeil(sum, pieces), kBlock);
  int64_t registers =
      kOfWide - piece / 2 - demand.loadedTiles * kAddressRegisters;
  // Everything is there once, and what the other group multiplies by.
  int64_t perRow = 2 * getPaddedDim(facts.d);
  int64_t perStep = perRow + 2 * getPaddedDim(facts.dv);
  if (products.needsGradient())
    perRow = perStep;
  if (pieces > 1)
    perStep += 2 * kWideRows;
  int64_t byMemory = (kTileBytes - kWideRows * perRow) / perStep;
  return alignStep(products, std::min({registers * 4 / countQuarters(products),
                                       byMemory, kWidestOfWide}));
}

BackwardPart BackwardPlanner::choose(const BackwardProducts &products) const {
  if (hasWideHeads())
    return {products,
            {kWideRows, std::max(getWidestWideStep(products), kStep)}};
  int64_t listed = getListed(products).first;
  int64_t rows = listed % kRows == 0 ? kRows : kRowsOfGroup;
  return {products, {rows, std::max(getWidestStep(products), kStep)}};
}

LogicalResult BackwardPlanner::verifyListed(const BackwardPart &part) const {
  auto [rows, columns] = getListed(part.products);
  bool ofKeys = part.products.ofKeys;
  for (auto [listed, own, ofRows] : {std::tuple(rows, part.tile.blockM, true),
                                     {columns, part.tile.blockN, false}})
    if (listed % own)
      return fail("lists blocks of " + Twine(listed) +
                  (ofRows == ofKeys ? " keys" : " queries") +
                  ", expects gradients to have tiles whose " +
                  (ofRows ? "rows" : "columns") + " divide that, got " +
                  Twine(own) + " in the kernel of " + part.products.getName());
  return success();
}

llvm::SmallVector<BackwardPart> BackwardPlanner::planSplit() const {
  llvm::SmallVector<BackwardPart> parts;
  BackwardProducts ofQueries;
  ofQueries.dq = true;
  ofQueries.sumsWeights = demand.hasLargeScores;
  if (ofQueries.sumsWeights)
    parts.push_back(choose(ofQueries));
  BackwardProducts together;
  together.ofKeys = together.dk = together.dv = true;
  if (!hasWideHeads() && getWidestStep(together) >= kFewestTogether) {
    parts.push_back(choose(together));
  } else {
    BackwardProducts apart;
    apart.ofKeys = apart.dv = true;
    parts.push_back(choose(apart));
    std::swap(apart.dk, apart.dv);
    parts.push_back(choose(apart));
  }
  if (!ofQueries.sumsWeights)
    parts.push_back(choose(ofQueries));
  return parts;
}

//===----------------------------------------------------------------------===//
// The fused form
//===----------------------------------------------------------------------===//

std::optional<BackwardPart> BackwardPlanner::planFused() const {
  // Two warp groups share 128 queries, or the columns of 64: whole blocks of
  // shared memory for each.
  constexpr int64_t kColumns[] = {128, 64};
  constexpr int64_t kGroups = 2;
  const BackwardDemand &demand = getDemandOfFused();
  // What is random has no room beside all sums. And where dq has more columns,
  // tile-schedule finds no order for the pieces of a step.
  constexpr int64_t kWidestHead = 128;
  if (demand.dropsWeights || facts.d > kWidestHead)
    return std::nullopt;
  // Scores and gradients of weights, and what is converted. Numbers of pairs
  // that only masks take are alive in steps of their own.
  int64_t quarters = 5 + 2 * demand.keptTiles + 2 * demand.loadedTiles +
                     2 * demand.scoresUseNumbers;
  // The form that is asked for is given with some spills.
  bool isAsked = asksFor(options::BackwardForm::Fused);
  if (!isAsked)
    quarters += countQuartersOfFused(demand);
  int64_t ofSequences = facts.hasLengths && !facts.knowsHeads && !isAsked
                            ? kSequenceRegisters
                            : 0;
  for (int64_t columns : kColumns) {
    bool divides =
        columns % (kBlock * kGroups) == 0 || facts.d % (kBlock * kGroups) == 0;
    if (facts.listed &&
        (facts.listed->first % columns || facts.listed->second % kRows))
      continue;
    if (!divides ||
        (facts.d + facts.dv) / 2 + columns * quarters / 4 + ofSequences >
            kOfFused)
      continue;
    BackwardPart part;
    part.products.ofKeys = part.products.dk = part.products.dv = true;
    part.products.addsDq = true;
    part.products.countsDq = options.deterministic;
    part.tile = {kRows, columns};
    return part;
  }
  return std::nullopt;
}

/// Whether that kernel, with those beside it, is faster than the split form, by
/// docs/experiments/backward-forms.md; where lengths are not known, in the mean
/// over those.
bool BackwardPlanner::isFusedFaster(const BackwardPart &fused) const {
  // Beside 8-bit copies it was not measured.
  if (facts.hasCopies)
    return false;
  // Elements for each query, beside lists, make it spill; score code there was
  // not measured.
  if (facts.listed && demand.isMasked &&
      (getDemandOfFused().readsElements || demand.hasScoreCode))
    return false;
  // Masks that take numbers more than once, as windows do, leave few steps.
  if (demand.usesNumbers && demand.isMasked)
    return false;
  // Callers that know how long packed sequences are choose for themselves.
  if (!facts.queries || !facts.keys)
    return true;
  return std::max(*facts.queries, *facts.keys) >= getShortest(fused);
}

/// Few steps leave little behind which starts and the additions in memory are
/// hidden; narrow ones leave less, and those that a mask skips nothing.
int64_t BackwardPlanner::getShortest(const BackwardPart &fused) const {
  struct Shortest {
    int64_t unmasked, masked;
  };
  constexpr Shortest kOfWide = {780, 2040}, kOfNarrow = {870, 2020};
  // Two kernels in front look at keys and values, and adding takes longer.
  constexpr Shortest kOfWideCounts = {4100, 5500},
                     kOfNarrowCounts = {1900, 3700};
  bool counts = fused.products.countsDq;
  const Shortest &shortest = isWide(fused)
                                 ? (counts ? kOfWideCounts : kOfWide)
                                 : (counts ? kOfNarrowCounts : kOfNarrow);
  return demand.isMasked ? shortest.masked : shortest.unmasked;
}

/// Whether what asks for the fused form may have it.
LogicalResult BackwardPlanner::verifyFused() const {
  if (options.deterministic && !canCount())
    return fail("in the fused form adds floats of dq in memory in any order "
                "where there is score code, dropout, 8-bit copies or sequences "
                "with places of their own, expects backward-form=split or auto "
                "with 'deterministic'");
  if (facts.listed && facts.listed->second % kRows)
    return fail("has no fused form with lists of blocks of " +
                Twine(facts.listed->first) + " queries and " +
                Twine(facts.listed->second) + " keys, expects a multiple of " +
                Twine(kRows) + " keys");
  if (!demand.hasLargeScores)
    return success();
  std::string sentence;
  llvm::raw_string_ostream(sentence)
      << "has no fused form with score code that may yield more than "
      << kLargeScoreOfGradients << ": sums of weights come from another kernel";
  return fail(sentence);
}

FailureOr<std::optional<BackwardPart>> BackwardPlanner::chooseFused() const {
  std::optional<BackwardPart> none;
  if (asksFor(options::BackwardForm::Split))
    return none;
  if (asksFor(options::BackwardForm::Fused)) {
    if (failed(verifyFused()))
      return failure();
    if (std::optional<BackwardPart> part = planFused())
      return part;
    return fail("has no fused form with head dims " + Twine(facts.d) + " and " +
                Twine(facts.dv) +
                " and its mask or score code: sums, scores and what they need "
                "do not fit into registers, or dq cannot be divided");
  }
  // Sizes that are given are those of the split form's kernels. Integers beside
  // lists were not measured.
  if (demand.hasLargeScores || options.blockM || options.blockN ||
      (options.deterministic && (!canCount() || facts.listed)))
    return none;
  std::optional<BackwardPart> part = planFused();
  return part && isFusedFaster(*part) ? part : none;
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

FailureOr<BackwardPlan> BackwardPlanner::plan() const {
  FailureOr<std::optional<BackwardPart>> fused = chooseFused();
  if (failed(fused))
    return failure();
  BackwardPlan plan;
  plan.hasLargeScores = demand.hasLargeScores;
  if (*fused)
    plan.parts.push_back(**fused);
  else
    plan.parts = planSplit();
  for (const BackwardProducts &products : facts.aux)
    plan.aux.push_back(choose(products));
  for (llvm::SmallVector<BackwardPart> *parts : {&plan.parts, &plan.aux}) {
    for (BackwardPart &part : *parts) {
      if (options.blockM)
        part.tile.blockM = options.blockM;
      if (options.blockN)
        part.tile.blockN = options.blockN;
    }
  }
  for (const BackwardPart &part : plan.parts)
    if (failed(verifyListed(part)))
      return failure();
  if (plan.isFused() && plan.parts.front().tile.blockN % kBlock)
    return fail("in the fused form expects block-n to be a multiple of " +
                Twine(kBlock) + ", got " +
                Twine(plan.parts.front().tile.blockN));
  return plan;
}

FailureOr<BackwardPlan>
fa3::planBackward(const BackwardFacts &facts,
                  const BackwardPlanOptions &options,
                  llvm::function_ref<void(const Twine &)> refuse) {
  return BackwardPlanner(facts, options, refuse).plan();
}

int64_t fa3::getShortestOfPlan(const BackwardFacts &facts,
                               const BackwardPlanOptions &options) {
  BackwardFacts ofAny = facts;
  ofAny.queries = ofAny.keys = std::nullopt;
  BackwardPlanner planner(ofAny, options, [](const Twine &) {});
  FailureOr<BackwardPlan> plan = planner.plan();
  return succeeded(plan) && plan->isFused()
             ? planner.getShortest(plan->parts.front())
             : 0;
}

StringRef BackwardProducts::getName() const {
  if (aux != None)
    return {};
  if (addsDq)
    return "grads";
  if (dq)
    return "dq";
  return !dk ? "dv" : dv ? "dkdv" : "dk";
}

void BackwardPlan::print(llvm::raw_ostream &os) const {
  const BackwardProducts &front = parts.front().products;
  os << "  form: "
     << (!isFused()       ? "split, nothing is added in memory"
         : front.countsDq ? "fused, dq is added in memory as integers"
                          : "fused, dq is added in memory")
     << "\n";
  auto printTile = [&](const BackwardPart &part) {
    bool ofKeys = part.products.ofKeys;
    os << part.tile.blockM << (ofKeys ? " keys x " : " queries x ")
       << part.tile.blockN << (ofKeys ? " queries\n" : " keys\n");
  };
  for (const BackwardPart &part : parts) {
    os << "  tile of " << part.products.getName() << ": ";
    printTile(part);
  }
  if (hasLargeScores)
    os << "  scores may be large: " << parts.front().products.getName()
       << " comes first and sums weights\n";
  for (const BackwardPart &part : aux) {
    os << "  tile of an auxiliary operand's gradient, "
       << (part.products.aux == BackwardProducts::OfPairs  ? "pair by pair: "
           : part.products.aux == BackwardProducts::OfRows ? "row by row: "
                                                           : "a table: ");
    printTile(part);
  }
}
