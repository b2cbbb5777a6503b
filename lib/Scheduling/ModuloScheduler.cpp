//===- ModuloScheduler.cpp - software pipelining by times -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Iterative modulo scheduling. For one interval: take the operation with the
// longest way to the end of an iteration, put it at the first time its
// predecessors and units allow; if there is none, put it there all the same and
// take away what is in the way. Intervals are tried from the least that can be.
//===----------------------------------------------------------------------===//

#include "fa3/Scheduling/Solvers.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <numeric>

using namespace fa3;
using Kind = PipelineProblem::Kind;

namespace {
class ModuloScheduler {
public:
  ModuloScheduler(PipelineProblem &problem, int64_t stages)
      : problem(problem), stages(stages), count(problem.getOperations().size()),
        height(count), start(count), lastStart(count, -1) {}

  std::optional<std::string> run();

private:
  int64_t getLeastInterval();
  int64_t getSequentialLength();
  /// Longest ways to the end; false if a circle of dependences takes longer
  /// than the interval.
  bool computeHeights();
  /// Whether some chain of dependences ends after the last stage, so that no
  /// placement can do.
  bool isTooLong() const;
  bool trySchedule();
  bool place(unsigned op);
  std::optional<int64_t> findFree(unsigned op, int64_t from);
  int64_t getNextEvent(unsigned op, int64_t at) const;
  bool conflicts(unsigned a, int64_t aStart, unsigned b, int64_t bStart) const;
  void moveToUses();
  void writeAnswer();
  /// First time after the predecessors that have been placed.
  int64_t getEarliest(unsigned op) const;

  const PipelineProblem::Operation &get(unsigned op) const {
    return problem.getOperations()[op];
  }

  PipelineProblem &problem;
  int64_t stages;
  unsigned count;
  int64_t interval = 1;
  llvm::SmallVector<int64_t> height;
  llvm::SmallVector<std::optional<int64_t>> start;
  llvm::SmallVector<int64_t> lastStart;
};
} // namespace

/// What units and single operations need.
int64_t ModuloScheduler::getLeastInterval() {
  llvm::SmallVector<int64_t> busy(problem.getUnits().size(), 0);
  for (const auto &op : problem.getOperations())
    for (const auto &use : op.uses)
      busy[use.unit] += use.cycles;
  int64_t least = 1;
  for (int64_t cycles : busy)
    least = std::max(least, cycles);
  return least;
}

/// An interval at which one iteration after the other has room.
int64_t ModuloScheduler::getSequentialLength() {
  int64_t length = 1;
  for (const auto &op : problem.getOperations()) {
    int64_t longest = op.latency;
    for (const auto &use : op.uses)
      longest = std::max(longest, use.cycles);
    length += longest;
  }
  return length;
}

bool ModuloScheduler::computeHeights() {
  std::fill(height.begin(), height.end(), 0);
  for (unsigned round = 0; round <= count; ++round) {
    bool changed = false;
    for (const auto &dep : problem.getDependences()) {
      int64_t way = height[dep.to] + get(dep.from).latency -
                    interval * static_cast<int64_t>(dep.distance);
      if (way <= height[dep.from])
        continue;
      height[dep.from] = way;
      changed = true;
    }
    if (!changed)
      return true;
  }
  return false;
}

bool ModuloScheduler::isTooLong() const {
  llvm::SmallVector<int64_t> depth(count, 0);
  for (unsigned round = 0; round <= count; ++round) {
    bool changed = false;
    for (const auto &dep : problem.getDependences()) {
      int64_t way = depth[dep.from] + get(dep.from).latency -
                    interval * static_cast<int64_t>(dep.distance);
      if (way <= depth[dep.to])
        continue;
      depth[dep.to] = way;
      changed = true;
    }
    if (!changed)
      break;
  }
  return llvm::any_of(depth, [&](int64_t d) { return d >= stages * interval; });
}

int64_t ModuloScheduler::getEarliest(unsigned op) const {
  int64_t earliest = 0;
  for (const auto &dep : problem.getDependences())
    if (dep.to == op && start[dep.from])
      earliest = std::max(earliest, *start[dep.from] + get(dep.from).latency -
                                        interval * int64_t(dep.distance));
  return earliest;
}

bool ModuloScheduler::conflicts(unsigned a, int64_t aStart, unsigned b,
                                int64_t bStart) const {
  int64_t ahead = ((bStart - aStart) % interval + interval) % interval;
  for (const auto &use : get(a).uses)
    for (const auto &other : get(b).uses)
      if (use.unit == other.unit && use.cycles && other.cycles &&
          (ahead < use.cycles || interval - ahead < other.cycles))
        return true;
  return false;
}

/// Uses of one unit by `op`, started at `at`, and by others change whether they
/// meet when `at` passes the start of the other, or the last moment before it
/// that leaves room. Returns the next such time.
int64_t ModuloScheduler::getNextEvent(unsigned op, int64_t at) const {
  int64_t wait = interval;
  auto consider = [&](int64_t time) {
    int64_t ahead = ((time - at) % interval + interval) % interval;
    wait = std::min(wait, ahead ? ahead : interval);
  };
  for (unsigned other = 0; other < count; ++other) {
    if (other == op || !start[other])
      continue;
    consider(*start[other]);
    for (const auto &use : get(op).uses)
      consider(*start[other] - use.cycles + 1);
  }
  return at + wait;
}

/// The first start from `from` on at which all units are free; every later one
/// is equal to one of these, an interval on.
std::optional<int64_t> ModuloScheduler::findFree(unsigned op, int64_t from) {
  // Candidates are the ends of what is in the way, and what comes after the
  // start of what `op` would run into.
  int64_t at = from;
  while (at < from + interval) {
    int64_t next = at;
    bool runsInto = false;
    for (unsigned other = 0; other < count; ++other) {
      if (other == op || !start[other] ||
          !conflicts(op, at, other, *start[other]))
        continue;
      int64_t longest = 1;
      for (const auto &use : get(other).uses)
        longest = std::max(longest, use.cycles);
      int64_t behind = ((at - *start[other]) % interval + interval) % interval;
      if (behind < longest)
        next = std::max(next, at + longest - behind);
      else
        runsInto = true;
    }
    if (next == at && !runsInto)
      return at;
    at = next == at ? getNextEvent(op, at) : next;
  }
  return std::nullopt;
}

/// Places an operation and takes away what contradicts. False if it would come
/// after the last stage.
bool ModuloScheduler::place(unsigned op) {
  int64_t earliest = getEarliest(op);
  std::optional<int64_t> free = findFree(op, earliest);
  int64_t at = free ? *free : std::max(earliest, lastStart[op] + 1);
  if (at >= stages * interval)
    return false;
  for (unsigned other = 0; other < count; ++other)
    if (other != op && start[other] && conflicts(op, at, other, *start[other]))
      start[other].reset();
  start[op] = lastStart[op] = at;
  for (const auto &dep : problem.getDependences()) {
    int64_t slack = interval * static_cast<int64_t>(dep.distance);
    if (dep.from == op && start[dep.to] &&
        *start[dep.to] + slack < at + get(op).latency && dep.to != op)
      start[dep.to].reset();
    if (dep.to == op && start[dep.from] &&
        at + slack < *start[dep.from] + get(dep.from).latency && dep.from != op)
      start[dep.from].reset();
  }
  return true;
}

bool ModuloScheduler::trySchedule() {
  constexpr int64_t kTriesPerOperation = 16;
  std::fill(start.begin(), start.end(), std::nullopt);
  std::fill(lastStart.begin(), lastStart.end(), -1);
  if (!computeHeights() || isTooLong())
    return false;
  for (int64_t budget = kTriesPerOperation * count; budget > 0; --budget) {
    std::optional<unsigned> best;
    for (unsigned op = 0; op < count; ++op)
      if (!start[op] && (!best || height[op] > height[*best]))
        best = op;
    if (!best)
      return true;
    if (!place(*best))
      return false;
  }
  return llvm::all_of(start, [](auto time) { return time.has_value(); });
}

/// What occupies no unit moves to its first use, so that its results are held
/// no longer than they must.
void ModuloScheduler::moveToUses() {
  bool changed = true;
  for (unsigned round = 0; changed && round < count; ++round) {
    changed = false;
    for (unsigned op = 0; op < count; ++op) {
      Kind kind = get(op).kind;
      bool moves = kind == Kind::Compute || kind == Kind::Spread;
      if (!moves || llvm::any_of(get(op).uses,
                                 [](const auto &use) { return use.cycles; }))
        continue;
      int64_t latest = std::numeric_limits<int64_t>::max();
      for (const auto &dep : problem.getDependences())
        if (dep.from == op && dep.to != op)
          latest = std::min(latest, *start[dep.to] - get(op).latency +
                                        interval * int64_t(dep.distance));
      latest = std::min(latest, stages * interval - 1);
      if (latest <= *start[op] ||
          llvm::none_of(problem.getDependences(), [&](const auto &dep) {
            return dep.from == op && dep.to != op;
          }))
        continue;
      start[op] = latest;
      changed = true;
    }
  }
}

void ModuloScheduler::writeAnswer() {
  // Among equal times, in the order of the dependences within a step.
  llvm::SmallVector<unsigned> order, missing(count, 0);
  auto isSameStep = [&](const PipelineProblem::Dependence &dep) {
    return *start[dep.from] / interval ==
           *start[dep.to] / interval + int64_t(dep.distance);
  };
  for (const auto &dep : problem.getDependences())
    if (isSameStep(dep) && dep.from != dep.to)
      ++missing[dep.to];
  llvm::SmallVector<bool> done(count, false);
  while (order.size() < count) {
    std::optional<unsigned> next;
    for (unsigned op = 0; op < count; ++op)
      if (!done[op] && !missing[op] &&
          (!next || *start[op] % interval < *start[*next] % interval))
        next = op;
    if (!next)
      break; // A circle of equal times; verify() says which.
    done[*next] = true;
    order.push_back(*next);
    for (const auto &dep : problem.getDependences())
      if (dep.from == *next && isSameStep(dep) && dep.from != dep.to)
        --missing[dep.to];
  }
  for (auto [position, op] : llvm::enumerate(order)) {
    problem.setPosition(op, position);
    problem.setStart(op, *start[op]);
    problem.setStage(op, *start[op] / interval);
  }
  problem.setInterval(interval);
}

std::optional<std::string> ModuloScheduler::run() {
  int64_t least = getLeastInterval();
  int64_t longest = std::max(least, getSequentialLength());
  // A hundredth more each time: times are not known better than that.
  for (interval = least;; interval += std::max<int64_t>(1, interval / 100)) {
    interval = std::min(interval, longest);
    if (trySchedule()) {
      moveToUses();
      writeAnswer();
      return problem.verify();
    }
    if (interval == longest)
      return "there is no schedule of " + std::to_string(stages) +
             " stages with an interval of " + std::to_string(longest) +
             " cycles";
  }
}

std::optional<std::string> fa3::scheduleByTimes(PipelineProblem &problem,
                                                int64_t maxStages) {
  if (std::optional<std::string> error = problem.check())
    return error;
  return ModuloScheduler(problem, maxStages).run();
}
