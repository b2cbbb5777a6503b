//===- ListScheduler.cpp - greedy software pipelining ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Scheduling/Solvers.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

using namespace fa3;
using Kind = PipelineProblem::Kind;

namespace {
class ListScheduler {
public:
  ListScheduler(PipelineProblem &problem, int64_t stages)
      : problem(problem), stages(stages), count(problem.getOperations().size()),
        stage(count, 0) {}

  std::optional<std::string> run() {
    sortTopologically();
    assignStages();
    return assignPositions();
  }

private:
  Kind kind(unsigned op) const { return problem.getOperations()[op].kind; }
  void sortTopologically();
  void assignStages();
  std::optional<std::string> assignPositions();
  void sinkToUse(llvm::SmallVectorImpl<unsigned> &order);
  void classify();
  /// Order of preference among ready operations: less is earlier.
  std::tuple<int, int64_t, unsigned> rank(unsigned op) const;

  PipelineProblem &problem;
  int64_t stages;
  unsigned count;
  llvm::SmallVector<int64_t> stage;
  llvm::SmallVector<unsigned> topological;
  /// Dependences that constrain the order within one step.
  llvm::SmallVector<std::pair<unsigned, unsigned>> sameStep;
  /// Leads to an issue, and no wait leads to it.
  llvm::SmallVector<bool> enabling;
  llvm::SmallVector<bool> afterWait;
  /// Of the chain of a meeting: a stage later than the rest.
  llvm::SmallVector<bool> afterMeeting;
  /// Leads to an issue within a step.
  llvm::SmallVector<bool> leadsToIssue;
  llvm::SmallVector<int64_t> issuePosition;
};
} // namespace

void ListScheduler::sortTopologically() {
  llvm::SmallVector<unsigned> missing(count, 0);
  for (const auto &dep : problem.getDependences())
    missing[dep.to] += dep.distance == 0;
  // Least number first, so that the order of the program breaks ties.
  llvm::SmallVector<bool> done(count, false);
  while (topological.size() < count) {
    unsigned next = 0;
    while (done[next] || missing[next])
      ++next;
    done[next] = true;
    topological.push_back(next);
    for (const auto &dep : problem.getDependences())
      if (dep.from == next && dep.distance == 0)
        --missing[dep.to];
  }
}

void ListScheduler::assignStages() {
  // The last stage is that of meetings alone, where there are some.
  bool hasMeeting = llvm::any_of(problem.getOperations(), [](const auto &op) {
    return op.kind == Kind::Meeting;
  });
  // Whether a wait of the operation's own stage leads to it.
  llvm::SmallVector<bool> waited(count, false), anyWait(count, false);
  afterMeeting.assign(count, false);
  for (unsigned op : topological) {
    bool waits = kind(op) == Kind::Wait || kind(op) == Kind::DeferredWait;
    afterMeeting[op] = kind(op) == Kind::Meeting;
    for (const auto &dep : problem.getDependences())
      if (dep.to == op && dep.distance == 0 && afterMeeting[dep.from])
        afterMeeting[op] = true;
    int64_t last = std::max<int64_t>(
        stages - 1 - (hasMeeting && !afterMeeting[op] ? 1 : 0), 0);
    for (const auto &dep : problem.getDependences()) {
      if (dep.to != op || dep.distance != 0)
        continue;
      bool later = (kind(op) == Kind::Issue && waited[dep.from]) ||
                   kind(op) == Kind::DeferredWait ||
                   kind(op) == Kind::Arrival || kind(op) == Kind::Meeting;
      int64_t earliest = std::min(stage[dep.from] + (later ? 1 : 0), last);
      stage[op] = std::max(stage[op], earliest);
      anyWait[op] = anyWait[op] || anyWait[dep.from];
    }
    for (const auto &dep : problem.getDependences())
      if (dep.to == op && dep.distance == 0 && kind(op) != Kind::Issue &&
          stage[dep.from] == stage[op] && waited[dep.from])
        waited[op] = true;
    waited[op] = waited[op] || waits;
    anyWait[op] = anyWait[op] || waits;
  }
  // What no wait leads to happens when it is first needed, and so does what
  // would be carried between stages in many copies.
  for (unsigned op : llvm::reverse(topological)) {
    bool starts = kind(op) == Kind::Issue || kind(op) == Kind::Copy;
    if (kind(op) != Kind::Spread && (anyWait[op] || starts))
      continue;
    int64_t needed = std::numeric_limits<int64_t>::max();
    for (const auto &dep : problem.getDependences())
      if (dep.from == op && dep.distance == 0)
        needed = std::min(needed, stage[dep.to]);
    if (needed != std::numeric_limits<int64_t>::max())
      stage[op] = std::max(stage[op], needed);
  }
}

void ListScheduler::classify() {
  leadsToIssue.assign(count, false);
  afterWait.assign(count, false);
  // Reachability within a step; the graph is small, iterate to a fixpoint.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [from, to] : sameStep) {
      bool wait = afterWait[from] || kind(from) == Kind::Wait ||
                  kind(from) == Kind::DeferredWait;
      bool issue = leadsToIssue[to] || kind(to) == Kind::Issue;
      changed |= (wait && !afterWait[to]) || (issue && !leadsToIssue[from]);
      afterWait[to] = afterWait[to] || wait;
      leadsToIssue[from] = leadsToIssue[from] || issue;
    }
  }
  enabling.assign(count, false);
  for (unsigned op = 0; op < count; ++op)
    enabling[op] =
        !afterWait[op] && (leadsToIssue[op] || kind(op) == Kind::Issue);
}

std::tuple<int, int64_t, unsigned> ListScheduler::rank(unsigned op) const {
  if (kind(op) == Kind::Wait || kind(op) == Kind::DeferredWait)
    return {2, issuePosition[op], op};
  // What was started an iteration ago goes on as soon as its place in the step
  // has come.
  if (enabling[op] || kind(op) == Kind::Issue ||
      (afterMeeting[op] && leadsToIssue[op]))
    return {0, stage[op], op};
  return {1, kind(op) == Kind::Free ? 0 : 1, op};
}

/// Work that waits for nothing and issues nothing moves to its first use: done
/// early, its results would only occupy registers.
void ListScheduler::sinkToUse(llvm::SmallVectorImpl<unsigned> &order) {
  for (unsigned i = order.size(); i-- > 0;) {
    unsigned op = order[i];
    bool computes = kind(op) == Kind::Compute || kind(op) == Kind::Spread;
    if (!computes || enabling[op] || afterWait[op])
      continue;
    unsigned first = order.size();
    for (auto [from, to] : sameStep)
      if (from == op)
        first =
            std::min<unsigned>(first, llvm::find(order, to) - order.begin());
    if (first == order.size())
      continue;
    std::rotate(order.begin() + i, order.begin() + i + 1,
                order.begin() + first);
  }
}

std::optional<std::string> ListScheduler::assignPositions() {
  for (const auto &dep : problem.getDependences())
    if (stage[dep.from] == stage[dep.to] + int64_t(dep.distance))
      sameStep.push_back({dep.from, dep.to});
  for (const auto &order : problem.getOrders())
    sameStep.push_back({order.from, order.to});
  classify();
  llvm::SmallVector<unsigned> missing(count, 0), order;
  for (auto [from, to] : sameStep)
    ++missing[to];
  issuePosition.assign(count, 0);
  llvm::SmallVector<bool> done(count, false);
  while (order.size() < count) {
    std::optional<unsigned> best;
    for (unsigned op = 0; op < count; ++op)
      if (!done[op] && missing[op] == 0 && (!best || rank(op) < rank(*best)))
        best = op;
    if (!best)
      return "with " + std::to_string(stages) +
             " stages the operations of one step depend on each other in a "
             "circle";
    done[*best] = true;
    for (auto [from, to] : sameStep)
      if (from == *best) {
        --missing[to];
        issuePosition[to] = std::max<int64_t>(issuePosition[to], order.size());
      }
    order.push_back(*best);
  }
  sinkToUse(order);
  for (auto [position, op] : llvm::enumerate(order)) {
    problem.setStage(op, stage[op]);
    problem.setPosition(op, position);
  }
  return problem.verify();
}

std::optional<std::string> fa3::scheduleByList(PipelineProblem &problem,
                                               int64_t maxStages) {
  if (std::optional<std::string> error = problem.check())
    return error;
  std::optional<std::string> error;
  for (int64_t stages = maxStages; stages >= 1; --stages) {
    error = ListScheduler(problem, stages).run();
    if (!error)
      return std::nullopt;
  }
  return error;
}
