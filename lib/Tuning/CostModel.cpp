//===- CostModel.cpp - cycles of an attention kernel ----------------------===//

#include "fa3/Tuning/CostModel.h"
// What the conversion decides by; private to it otherwise.
#include "../Conversion/AttentionToTile/TileChoice.h"
#include "fa3/Scheduling/DeviceModel.h"
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
/// others fill them.
constexpr double kExposed = 1200;
/// Bytes per cycle of what a tile loads before its first product and stores
/// after the last one.
constexpr double kStartBytes = 24;
/// Rows of a consumer warp group, and keys by which blocks grow.
constexpr int64_t kRowsPerGroup = 64, kKeyStep = 16;
} // namespace

llvm::StringRef fa3::tuning::getName(Mask mask) {
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

std::optional<Mask> fa3::tuning::parseMask(llvm::StringRef name) {
  for (Mask mask : {Mask::Full, Mask::Causal, Mask::Window})
    if (name == getName(mask))
      return mask;
  return std::nullopt;
}

std::string Point::getOptions() const {
  std::string text;
  auto add = [&](llvm::StringRef name, const std::string &value) {
    if (!value.empty())
      text += (text.empty() ? "" : " ") + name.str() + "=" + value;
  };
  auto addNumber = [&](llvm::StringRef name, int64_t value) {
    add(name, value ? std::to_string(value) : "");
  };
  addNumber("block-m", blockM);
  addNumber("block-n", blockN);
  add("rescale", rescale);
  addNumber("stages", stages);
  addNumber("max-depth", maxDepth);
  add("mode", mode);
  add("order", order);
  add("turns", turns);
  add("hold", hold);
  add("llvm-passes", llvmPasses);
  return text;
}

static RegionDemand getDemand(const Problem &problem) {
  RegionDemand demand;
  demand.keyUses = problem.mask == Mask::Full     ? 0
                   : problem.mask == Mask::Causal ? 1
                                                  : 2;
  return demand;
}

Point fa3::tuning::getDefaultTile(const Problem &problem) {
  TileChoice tile =
      chooseTile(problem.d, problem.dv, getDemand(problem), problem.queries);
  Point point;
  point.blockM = tile.blockM;
  point.blockN = tile.blockN;
  return point;
}

std::optional<std::string> fa3::tuning::getObstacle(const Problem &problem,
                                                    const Point &point) {
  int64_t widest =
      getWidestBlockN(problem.d, problem.dv, getDemand(problem), point.blockM);
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
                          int64_t processors) {
  bool isUniform = llvm::all_equal(costs);
  if (isUniform)
    return costs.empty() ? 0
                         : llvm::divideCeil(costs.size() * copies, processors) *
                               costs.front();
  std::priority_queue<double, std::vector<double>, std::greater<double>> free;
  for (int64_t i = 0; i < processors; ++i)
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
  result.tensor =
      double(point.blockM) * point.blockN * dims / device::kTensorMacs16;
  result.exponentials = scores * device::kSfuCycles;
  result.issue = scores * kInstructionsPerScore;
  result.exposed = kExposed / groups;
  auto power = [](double value) { return std::pow(value, kNorm); };
  result.step = std::pow(power(result.tensor) + power(result.exponentials) +
                             power(result.issue),
                         1 / kNorm) +
                result.exposed;
  constexpr int64_t kBytes = 2;
  result.start = kBytes * dims * (point.blockM + point.blockN) / kStartBytes;

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
  result.cycles = getMakespan(costs, problem.heads, problem.processors);
  double useful = countVisible(problem) * problem.heads * dims /
                  device::kTensorMacs16 / problem.processors;
  result.efficiency = result.cycles > 0 ? useful / result.cycles : 0;
  return result;
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

std::vector<Candidate> fa3::tuning::rankTiles(const Problem &problem) {
  constexpr int64_t kMostGroups = 4, kFewestKeys = 48, kMostKeys = 176;
  std::vector<Candidate> candidates;
  for (int64_t groups = 1; groups <= kMostGroups; ++groups)
    for (int64_t keys = kFewestKeys; keys <= kMostKeys; keys += kKeyStep) {
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
    add(point);
  };
  vary([](Point &p) { p.rescale = "eager"; });
  vary([](Point &p) { p.llvmPasses = "none"; });
  if (isPersistent(problem, chosen)) {
    vary([](Point &p) { p.mode = "cta"; });
    vary([](Point &p) { p.mode = "static"; });
  } else {
    vary([](Point &p) { p.mode = "static"; });
    vary([](Point &p) { p.mode = "dynamic"; });
  }
  vary([](Point &p) { p.stages = 1; });
  vary([](Point &p) { p.turns = "on"; });
  vary([](Point &p) { p.hold = "1"; });
  vary([](Point &p) { p.hold = "3"; });
  vary([](Point &p) { p.maxDepth = 2; });
  vary([](Point &p) { p.maxDepth = 3; });
  vary([](Point &p) { p.stages = 3; });
  if (problem.mask != Mask::Full)
    vary([](Point &p) {
      p.mode = "static";
      p.order = "pairs";
    });
  return result;
}
