//===- CostModel.cpp - cycles of an attention kernel ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tuning/CostModel.h"
#include "fa3/Tuning/TileChoice.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <queue>

using namespace fa3;
using namespace fa3::tuning;

namespace {
/// Instructions per score and warp: of 324 in the loop of a tile of 80 keys.
constexpr double kInstructionsPerScore = 8.1;
/// Tensor core, exponentials and issue overlap, but not perfectly: their times
/// are added in this norm.
constexpr double kNorm = 2.5;
/// Cycles per step that a warp group alone would wait between its products;
/// others fill them. Less with 8 bits, where shared memory is counted.
constexpr double kExposed = 1200, kExposed8 = 500;
/// Cycles for each copy of eight rows of K, which V given transposed asks for,
/// by what d 128 takes without a mask.
constexpr double kCopyOfRows = 35;
/// Bytes per cycle of what a tile loads before its first product and stores
/// after the last one.
constexpr double kStartBytes = 24;
/// Rows of a consumer warp group, and bytes of keys by which blocks grow.
constexpr int64_t kRowsPerGroup = kSm90a.productRows,
                  kKeyStepBytes = kSm90a.productBytes;
} // namespace

static llvm::StringRef getMaskName(Mask mask) {
  switch (mask) {
  case Mask::Full:
    return "full";
  case Mask::Causal:
    return "causal";
  case Mask::Window:
    break;
  }
  return "window";
}

static llvm::StringRef getSuffix(Score score) {
  switch (score) {
  case Score::Plain:
    return "";
  case Score::Softcap:
    return "-softcap";
  case Score::Alibi:
    return "-alibi";
  case Score::Bias:
    break;
  }
  return "-bias";
}

std::string fa3::tuning::getName(Mask mask, Score score) {
  return (getMaskName(mask) + getSuffix(score)).str();
}

std::optional<std::pair<Mask, Score>>
fa3::tuning::parseMask(llvm::StringRef name) {
  for (Mask mask : {Mask::Full, Mask::Causal, Mask::Window})
    for (Score score :
         {Score::Plain, Score::Softcap, Score::Alibi, Score::Bias})
      if (name == getName(mask, score))
        return std::pair(mask, score);
  return std::nullopt;
}

static std::string getText(const NumberSetting &number) {
  return number.isSet() ? std::to_string(number) : "";
}
static std::string getText(const std::string &text) { return text; }

std::string Point::getOptions() const {
  std::string text;
  auto add = [&](llvm::StringRef name, const std::string &value) {
    if (!value.empty())
      text += (text.empty() ? "" : " ") + name.str() + "=" + value;
  };
#define FA3_TUNABLE_OPTION(member, name, isNumber) add(name, getText(member));
#include "fa3/Options/Options.h.inc"
  return text;
}

static RegionDemand getDemand(const Problem &problem) {
  RegionDemand demand;
  demand.keyUses = problem.mask == Mask::Full     ? 0
                   : problem.mask == Mask::Causal ? 1
                                                  : 2;
  if (problem.score == Score::Alibi)
    demand.keyUses += 2;
  demand.hasTwoWays = problem.score == Score::Softcap;
  if (problem.score == Score::Bias) {
    demand.bulkTiles = 1;
    demand.bulkBytes = 2;
  }
  return demand;
}

static bool is8Bit(const Problem &problem) { return problem.bits == 8; }

Point fa3::tuning::getDefaultTile(const Problem &problem) {
  RegionDemand demand = getDemand(problem);
  Float8Needs needs;
  needs.transposedV = problem.transposedV;
  std::optional<int64_t> queries;
  if (problem.knowsQueries)
    queries = problem.queries;
  TileChoice tile =
      is8Bit(problem)
          ? chooseFloat8Tile(problem.d, problem.dv, demand, needs, queries)
          : chooseTile(problem.d, problem.dv, demand, queries);
  Point point;
  point.blockM = tile.blockM;
  point.blockN = tile.blockN;
  return point;
}

std::optional<std::string> fa3::tuning::getObstacle(const Problem &problem,
                                                    const Point &point) {
  RegionDemand demand = getDemand(problem);
  int64_t widest =
      is8Bit(problem)
          ? getWidestFloat8BlockN(problem.d, problem.dv, demand, point.blockM,
                                  problem.transposedV)
          : getWidestBlockN(problem.d, problem.dv, demand, point.blockM);
  if (point.blockN <= widest)
    return std::nullopt;
  return "tiles of " + std::to_string(point.blockM) +
         " rows have registers and shared memory for at most " +
         std::to_string(std::max<int64_t>(widest, 0)) + " keys";
}

//===----------------------------------------------------------------------===//
// Prediction
//===----------------------------------------------------------------------===//

/// Steps of the tile of rows [top, top + rows).
static int64_t countSteps(const Problem &problem, int64_t top, int64_t rows,
                          int64_t blockN) {
  if (problem.mask == Mask::Full)
    return llvm::divideCeil(problem.keys, blockN);
  // The last query sees the last key.
  int64_t offset = problem.keys - problem.queries;
  int64_t bottom = std::min(top + rows, problem.queries);
  int64_t end = std::clamp<int64_t>(bottom + offset, 0, problem.keys);
  int64_t begin = 0;
  if (problem.mask == Mask::Window)
    begin = std::clamp<int64_t>(top + offset - problem.window, 0, end);
  return llvm::divideCeil(end, blockN) - begin / blockN;
}

static double countVisible(const Problem &problem) {
  double all = double(problem.queries) * problem.keys;
  if (problem.mask == Mask::Full)
    return all;
  double sum = 0;
  int64_t offset = problem.keys - problem.queries;
  for (int64_t row = 0; row < problem.queries; ++row) {
    int64_t end = std::clamp<int64_t>(row + 1 + offset, 0, problem.keys);
    int64_t begin =
        problem.mask == Mask::Window
            ? std::clamp<int64_t>(row + offset - problem.window, 0, end)
            : 0;
    sum += end - begin;
  }
  return sum;
}

/// Time of the last multiprocessor if tiles of these costs, of which there are
/// `copies` each, go in order to whoever is free.
static double getMakespan(llvm::ArrayRef<double> costs, int64_t copies,
                          int64_t sms) {
  bool isUniform = llvm::all_equal(costs);
  if (isUniform)
    return costs.empty()
               ? 0
               : llvm::divideCeil(costs.size() * copies, sms) * costs.front();
  std::priority_queue<double, std::vector<double>, std::greater<double>> free;
  for (int64_t i = 0; i < sms; ++i)
    free.push(0);
  double last = 0;
  for (double cost : costs)
    for (int64_t i = 0; i < copies; ++i) {
      double end = free.top() + cost;
      free.pop();
      free.push(end);
      last = std::max(last, end);
    }
  return last;
}

/// Cycles in which shared memory moves what a step of 8-bit operands needs:
/// every warp group reads its rows of Q, all of K and all of V; copies write K
/// and V, and the role that transposes V reads and writes it. V given
/// transposed needs none, but copies of few rows.
static double countSharedCycles(const Problem &problem, const Point &point) {
  double groups = double(point.blockM) / kRowsPerGroup;
  int64_t keyBytes = point.blockN * (problem.d + problem.dv);
  double products = groups * (keyBytes + kRowsPerGroup * problem.d);
  double sharedBytes = problem.chip->sharedBytes;
  double cycles = (products + keyBytes) / sharedBytes;
  if (problem.transposedV)
    return cycles + point.blockN / 8 * kCopyOfRows;
  return cycles + 2 * point.blockN * problem.dv / sharedBytes;
}

/// Whether CTAs go on to further tiles.
static bool isPersistent(const Problem &problem, const Point &point) {
  if (!point.mode.empty() && point.mode != "auto")
    return point.mode != "cta";
  // A wide output leaves no registers for the loop (see tile-map-grid).
  constexpr int64_t kWide = 192;
  return problem.mask != Mask::Full && problem.dv < kWide;
}

Prediction fa3::tuning::predict(const Problem &problem, const Point &given) {
  Point point = given;
  Point byDefault = getDefaultTile(problem);
  if (!point.blockM)
    point.blockM = byDefault.blockM;
  if (!point.blockN)
    point.blockN = byDefault.blockN;
  Prediction result;
  double groups = double(point.blockM) / kRowsPerGroup;
  int64_t dims = problem.d + problem.dv;
  // A warp of every group holds 16 rows: blockN / 2 scores per lane.
  double scores = groups * point.blockN / 2;
  const Chip &chip = *problem.chip;
  double macs = chip.tensorMacs16 * 16.0 / problem.bits;
  result.tensor = double(point.blockM) * point.blockN * dims / macs;
  // Where tanh is a polynomial, that costs about as much.
  double functions = problem.score == Score::Softcap ? 2 : 1;
  result.exponentials = scores * functions * chip.sfuCycles;
  result.issue = scores * kInstructionsPerScore;
  result.exposed = (is8Bit(problem) ? kExposed8 : kExposed) / groups;
  if (is8Bit(problem))
    result.shared = countSharedCycles(problem, point);
  auto power = [](double value) { return std::pow(value, kNorm); };
  result.step = std::pow(power(result.tensor) + power(result.exponentials) +
                             power(result.issue) + power(result.shared),
                         1 / kNorm) +
                result.exposed;
  // The output has 16 bits.
  int64_t bytes =
      problem.bits / 8 * (point.blockM * problem.d + point.blockN * dims) +
      2 * point.blockM * problem.dv;
  result.start = bytes / kStartBytes;

  std::vector<double> costs;
  for (int64_t top = 0; top < problem.queries; top += point.blockM) {
    int64_t steps = countSteps(problem, top, point.blockM, point.blockN);
    result.steps += steps * problem.heads;
    costs.push_back(result.start + steps * result.step);
  }
  result.tiles = costs.size() * problem.heads;
  // Longest first, unless they are dealt out by number.
  if (point.order != "rows")
    std::sort(costs.begin(), costs.end(), std::greater<double>());
  result.cycles = getMakespan(costs, problem.heads, problem.sms);
  double useful =
      countVisible(problem) * problem.heads * dims / macs / problem.sms;
  result.efficiency = result.cycles > 0 ? useful / result.cycles : 0;
  return result;
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

std::vector<Candidate> fa3::tuning::rankTiles(const Problem &problem) {
  constexpr int64_t kMostGroups = 4, kFewestKeys = 48, kMostKeys = 176;
  int64_t keyStep = kKeyStepBytes * 8 / problem.bits;
  std::vector<Candidate> candidates;
  for (int64_t groups = 1; groups <= kMostGroups; ++groups)
    for (int64_t keys = llvm::alignTo(kFewestKeys, keyStep); keys <= kMostKeys;
         keys += keyStep) {
      Point point;
      point.blockM = groups * kRowsPerGroup;
      point.blockN = keys;
      if (!getObstacle(problem, point))
        candidates.push_back({point, predict(problem, point)});
    }
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.prediction.cycles < b.prediction.cycles;
  });
  return candidates;
}

std::vector<Candidate> fa3::tuning::getPointsToMeasure(const Problem &problem,
                                                       size_t count,
                                                       double slack) {
  std::vector<Candidate> result;
  auto add = [&](const Point &point) {
    std::string options = point.getOptions();
    bool isKnown = llvm::any_of(result, [&](const Candidate &candidate) {
      return candidate.point.getOptions() == options;
    });
    if (!isKnown && result.size() < count)
      result.push_back({point, predict(problem, point)});
  };
  Point chosen = getDefaultTile(problem);
  add(chosen);
  std::vector<Candidate> tiles = rankTiles(problem);
  // Half of the points are tiles, half are variations of what else there is.
  size_t numTiles = (count + 1) / 2;
  for (const Candidate &tile : tiles)
    if (result.size() < numTiles &&
        tile.prediction.cycles <= slack * tiles.front().prediction.cycles)
      add(tile.point);
  auto vary = [&](auto change) {
    Point point = chosen;
    change(point);
    if (!getObstacle(problem, point))
      add(point);
  };
  if (is8Bit(problem)) {
    vary([](Point &p) { p.mode = "dynamic"; });
    vary([](Point &p) {
      p.mode = "dynamic";
      p.hold = "2";
    });
    // Narrow blocks leave registers for queries and room for the output.
    vary([](Point &p) {
      p.blockN = 64;
      p.mode = "dynamic";
      p.hold = "4";
      p.store = "staged";
    });
  }
  // What edited scores have by default in part or not at all.
  if (problem.score != Score::Plain) {
    vary([](Point &p) {
      p.mode = "cta";
      p.earlyVotes = "floats";
    });
    vary([](Point &p) {
      p.mode = "cta";
      p.llvmPasses = "none";
      p.earlyVotes = "integers";
    });
  }
  vary([](Point &p) { p.rescale = "eager"; });
  vary([](Point &p) { p.llvmPasses = "none"; });
  // What the default does not do.
  if (problem.mask == Mask::Full)
    vary([&](Point &p) { p.lastBlock = is8Bit(problem) ? "whole" : "narrow"; });
  if (isPersistent(problem, chosen)) {
    vary([](Point &p) { p.mode = "cta"; });
    vary([](Point &p) { p.mode = "static"; });
  } else {
    vary([](Point &p) { p.mode = "static"; });
    vary([](Point &p) { p.mode = "dynamic"; });
  }
  vary([](Point &p) { p.stages = 1; });
  vary([](Point &p) { p.pingPong = "on"; });
  vary([](Point &p) { p.hold = "1"; });
  vary([](Point &p) { p.hold = "3"; });
  vary([](Point &p) { p.maxDepth = 2; });
  vary([](Point &p) { p.maxDepth = 3; });
  vary([](Point &p) { p.llvmPasses = "O1"; });
  if (problem.mask != Mask::Full) {
    vary([](Point &p) { p.sectionRounds = 2; });
    vary([](Point &p) {
      p.l2Bytes = 50'000'000;
      p.sectionRounds = 0;
    });
  }
  // Threads that convert may keep more in flight.
  if (is8Bit(problem))
    vary([](Point &p) { p.producerRegisters = 40; });
  // More stages hold more of a step in registers; lists of steps never have
  // more than two.
  for (int64_t stages : {2, 3})
    vary([&](Point &p) {
      p.blockM = 2 * kRowsPerGroup;
      p.blockN = 64;
      p.solver = "modulo";
      p.stages = stages;
    });
  return result;
}
