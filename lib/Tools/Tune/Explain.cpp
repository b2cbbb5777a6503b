//===- Explain.cpp - choices in words -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Explain.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace fa3;
using namespace fa3::tune;
using namespace fa3::tuning;

static std::string getTile(const Point &point) {
  return std::to_string(point.blockM) + " x " + std::to_string(point.blockN);
}

/// The tile of an entry that has one.
static std::optional<Point> getTile(const Entry &entry) {
  Point point;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(entry.options).split(words, ' ');
  for (llvm::StringRef word : words) {
    auto [name, value] = word.split('=');
    int64_t number;
    if (value.getAsInteger(10, number))
      continue;
    if (name == "block-m")
      point.blockM = number;
    else if (name == "block-n")
      point.blockN = number;
  }
  if (!point.blockM || !point.blockN)
    return std::nullopt;
  return point;
}

/// "3.1 %", of a ratio above 1.
static std::string getMore(double ratio) {
  return llvm::formatv("{0:F1} %", (ratio - 1) * 100).str();
}

std::string fa3::tune::compare(const Problem &problem, const Candidate &slower,
                               const Candidate &faster) {
  const Prediction &a = slower.prediction, &b = faster.prediction;
  auto getScores = [](const Candidate &c) {
    return double(c.prediction.steps) * c.point.blockM * c.point.blockN;
  };
  auto getPerScore = [](const Candidate &c) {
    return c.prediction.step / (double(c.point.blockM) * c.point.blockN);
  };
  auto getIdle = [&](const Prediction &p) {
    return p.cycles * problem.sms / (p.steps * p.step + p.tiles * p.start);
  };
  auto getStarts = [](const Prediction &p) {
    return 1 + p.tiles * p.start / (p.steps * p.step);
  };
  struct Reason {
    double ratio;
    const char *text;
  };
  Reason reasons[] = {
      {getPerScore(slower) / getPerScore(faster), "more cycles per score"},
      {getScores(slower) / getScores(faster),
       "more scores beyond the mask or the sequence"},
      {getIdle(a) / getIdle(b), "more time in which SMs have no tile"},
      {getStarts(a) / getStarts(b), "more time in starts of tiles"},
  };
  const Reason *worst = &reasons[0];
  for (const Reason &reason : reasons)
    if (reason.ratio > worst->ratio)
      worst = &reason;
  return getMore(worst->ratio) + " " + worst->text;
}

static void explainPoint(llvm::raw_ostream &os, const Candidate &candidate) {
  const Prediction &p = candidate.prediction;
  os << llvm::formatv(
      "  {0} consumer warp groups of 64 rows; a step of {1} keys takes {2:F0} "
      "cycles:\n"
      "    tensor core {3:F0}, exponentials {4:F0}, issue {5:F0}{6}, which "
      "overlap "
      "for the most part, and {7:F0} that warp groups wait for each other\n"
      "  {8} tiles with {9} steps and {10:F0} cycles of start each on "
      "average: {11:F3} million cycles, tensor core busy {12:F0} %\n",
      candidate.point.blockM / 64, int64_t(candidate.point.blockN), p.step,
      p.tensor, p.exponentials, p.issue,
      p.shared ? llvm::formatv(", shared memory {0:F0}", p.shared).str() : "",
      p.exposed, p.tiles, p.tiles ? (p.steps + p.tiles / 2) / p.tiles : 0,
      p.start, p.cycles / 1e6, p.efficiency * 100);
}

static void explainAlternatives(llvm::raw_ostream &os, const Problem &problem,
                                const Candidate &chosen) {
  constexpr size_t kMost = 4;
  size_t count = 0;
  os << "other tiles\n";
  for (const Candidate &other : rankTiles(problem)) {
    if (count == kMost)
      break;
    if (getTile(other.point) == getTile(chosen.point))
      continue;
    ++count;
    double ratio = other.prediction.cycles / chosen.prediction.cycles;
    os << "  " << getTile(other.point) << ": ";
    if (std::abs(ratio - 1) < 0.0005)
      os << "the same\n";
    else if (ratio > 1)
      os << getMore(ratio) << " longer; " << compare(problem, other, chosen)
         << '\n';
    else
      os << getMore(1 / ratio) << " shorter, predicted; the chosen one has "
         << compare(problem, chosen, other) << '\n';
  }
  // The next larger block of keys, and more rows: what stands against them?
  Point wider = chosen.point, taller = chosen.point;
  wider.blockN = wider.blockN + 256 / problem.bits; // the depth of a product
  taller.blockM = taller.blockM + 64;
  for (const Point &point : {wider, taller})
    if (std::optional<std::string> obstacle = getObstacle(problem, point))
      os << "  " << getTile(point) << ": not possible; " << *obstacle << '\n';
}

void fa3::tune::explain(llvm::raw_ostream &os, const Problem &problem,
                        const ProblemClass &problemClass, const Table &table) {
  os << problemClass.str() << "; " << problem.heads << " heads of "
     << problem.queries << " queries and " << problem.keys << " keys on "
     << problem.sms << " SMs\n";
  Candidate chosen{getDefaultTile(problem), {}};
  chosen.prediction = predict(problem, chosen.point);
  const Entry *entry = table.lookup(problemClass);
  if (entry) {
    os << "table: " << (entry->options.empty() ? "no option" : entry->options);
    if (entry->tflops > 0)
      os << llvm::formatv(", measured {0:F0} TFLOP/s", entry->tflops);
    if (entry->byDefault > 0)
      os << llvm::formatv(", {0:F0} without", entry->byDefault);
    os << '\n';
  } else {
    os << "table: no entry for this class, so the passes choose\n";
  }
  if (std::optional<Point> tile = entry ? getTile(*entry) : std::nullopt;
      tile && getTile(*tile) != getTile(chosen.point)) {
    os << "tile " << getTile(*tile) << ", the table's\n";
    explainPoint(os, {*tile, predict(problem, *tile)});
  }
  os << "tile " << getTile(chosen.point)
     << (entry ? ", what the passes would choose\n"
               : ", by registers, shared memory and rows\n");
  explainPoint(os, chosen);
  explainAlternatives(os, problem, chosen);
}
