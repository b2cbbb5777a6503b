//===- PipelineProblem.cpp - software pipelining as a problem -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Scheduling/PipelineProblem.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace fa3;

llvm::StringRef fa3::getName(PipelineProblem::Kind kind) {
  static constexpr llvm::StringLiteral names[PipelineProblem::kNumKinds] = {
      "compute", "issue", "wait",    "deferred-wait", "free",
      "spread",  "copy",  "arrival", "meeting"};
  return names[static_cast<unsigned>(kind)];
}

unsigned PipelineProblem::addOperation(std::string name, Kind kind) {
  operations.push_back({std::move(name), kind, {}, 0, {}, {}, {}});
  return operations.size() - 1;
}

unsigned PipelineProblem::addUnit(std::string name) {
  units.push_back(std::move(name));
  return units.size() - 1;
}

void PipelineProblem::addUse(unsigned op, unsigned unit, int64_t cycles) {
  operations[op].uses.push_back({unit, cycles});
}

void PipelineProblem::addDependence(unsigned from, unsigned to,
                                    unsigned distance) {
  dependences.push_back({from, to, distance});
}

std::optional<std::string> PipelineProblem::check() const {
  unsigned count = operations.size();
  llvm::SmallVector<unsigned> missing(count, 0);
  for (const Operation &op : operations) {
    if (op.latency < 0)
      return "'" + op.name + "' has a latency of " + std::to_string(op.latency);
    for (const Use &use : op.uses)
      if (use.unit >= units.size() || use.cycles < 0)
        return "'" + op.name + "' uses unit " + std::to_string(use.unit) +
               " of " + std::to_string(units.size()) + " for " +
               std::to_string(use.cycles) + " cycles";
  }
  for (const Dependence &dep : dependences) {
    if (dep.from >= count || dep.to >= count)
      return "a dependence names operation " +
             std::to_string(std::max(dep.from, dep.to)) + " of " +
             std::to_string(count);
    if (dep.distance > 1)
      return "'" + operations[dep.to].name + "' depends on '" +
             operations[dep.from].name + "' over " +
             std::to_string(dep.distance) + " iterations, more than 1";
    missing[dep.to] += dep.distance == 0;
  }
  for (const Order &order : orders)
    if (order.from >= count || order.to >= count)
      return "an order names operation " +
             std::to_string(std::max(order.from, order.to)) + " of " +
             std::to_string(count);
  // Kahn's algorithm over the dependences within one iteration.
  llvm::SmallVector<unsigned> ready;
  for (unsigned op = 0; op < count; ++op)
    if (missing[op] == 0)
      ready.push_back(op);
  unsigned done = 0;
  while (!ready.empty()) {
    unsigned op = ready.pop_back_val();
    ++done;
    for (const Dependence &dep : dependences)
      if (dep.from == op && dep.distance == 0 && --missing[dep.to] == 0)
        ready.push_back(dep.to);
  }
  if (done == count)
    return std::nullopt;
  unsigned stuck = std::distance(
      missing.begin(), llvm::find_if(missing, [](unsigned m) { return m; }));
  return "'" + operations[stuck].name + "' depends on itself";
}

std::optional<std::string> PipelineProblem::verify() const {
  llvm::DenseMap<int64_t, unsigned> taken;
  for (auto [i, op] : llvm::enumerate(operations)) {
    if (!op.stage || *op.stage < 0 || !op.position)
      return "'" + op.name + "' has no stage or position";
    auto [it, inserted] = taken.insert({*op.position, unsigned(i)});
    if (!inserted)
      return "'" + op.name + "' and '" + operations[it->second].name +
             "' have the same position";
  }
  for (const Dependence &dep : dependences) {
    const Operation &from = operations[dep.from], &to = operations[dep.to];
    int64_t produced = *from.stage, needed = *to.stage + dep.distance;
    if (produced > needed ||
        (produced == needed && *from.position >= *to.position))
      return "'" + to.name + "' (stage " + std::to_string(*to.stage) +
             ", position " + std::to_string(*to.position) + ") comes before '" +
             from.name + "' (stage " + std::to_string(*from.stage) +
             ", position " + std::to_string(*from.position) +
             "), on which it depends over " + std::to_string(dep.distance) +
             " iterations";
  }
  for (const Order &order : orders) {
    const Operation &from = operations[order.from], &to = operations[order.to];
    if (*from.position >= *to.position)
      return "'" + to.name + "' (position " + std::to_string(*to.position) +
             ") comes before '" + from.name + "' (position " +
             std::to_string(*from.position) +
             "), behind which it has its place in a step";
  }
  return interval ? verifyTimes() : std::nullopt;
}

/// Whether two spans of a circle have a point in common.
static bool overlap(int64_t a, int64_t aCycles, int64_t b, int64_t bCycles,
                    int64_t interval) {
  int64_t ahead = ((b - a) % interval + interval) % interval;
  return ahead < aCycles || interval - ahead < bCycles;
}

std::optional<std::string> PipelineProblem::verifyTimes() const {
  if (*interval < 1)
    return "the interval is " + std::to_string(*interval);
  for (const Operation &op : operations)
    if (!op.start || *op.start < 0 || *op.start / *interval != *op.stage)
      return "'" + op.name + "' has no start in its stage";
  for (const Operation &a : operations)
    for (const Operation &b : operations)
      if (*a.position < *b.position &&
          *a.start % *interval > *b.start % *interval)
        return "'" + b.name + "' starts before '" + a.name +
               "', which has an earlier position";
  for (const Dependence &dep : dependences) {
    const Operation &from = operations[dep.from], &to = operations[dep.to];
    if (*to.start + *interval * dep.distance < *from.start + from.latency)
      return "'" + to.name + "' starts at " + std::to_string(*to.start) +
             ", too early for '" + from.name + "', which starts at " +
             std::to_string(*from.start) + " and takes " +
             std::to_string(from.latency) + " cycles";
  }
  for (auto [i, a] : llvm::enumerate(operations))
    for (const Use &use : a.uses) {
      if (use.cycles > *interval)
        return "'" + a.name + "' uses unit '" + units[use.unit] +
               "' for longer than the interval";
      for (const Operation &b : llvm::drop_begin(operations, i + 1))
        for (const Use &other : b.uses)
          if (use.unit == other.unit && use.cycles && other.cycles &&
              overlap(*a.start, use.cycles, *b.start, other.cycles, *interval))
            return "'" + a.name + "' and '" + b.name + "' use unit '" +
                   units[use.unit] + "' at the same time";
    }
  return std::nullopt;
}

void PipelineProblem::print(llvm::raw_ostream &os) const {
  for (const std::string &unit : units)
    os << "unit " << unit << '\n';
  for (auto [i, op] : llvm::enumerate(operations)) {
    os << i << ": " << getName(op.kind) << ' ' << op.name;
    if (op.latency)
      os << " latency " << op.latency;
    for (const Use &use : op.uses)
      os << " uses " << units[use.unit] << ' ' << use.cycles;
    if (op.start)
      os << " start " << *op.start;
    if (op.stage && op.position)
      os << " stage " << *op.stage << " position " << *op.position;
    os << '\n';
  }
  for (const Dependence &dep : dependences)
    os << dep.from << " -> " << dep.to << " distance " << dep.distance << '\n';
  for (const Order &order : orders)
    os << order.from << " -> " << order.to << " in step\n";
  if (interval)
    os << "interval " << *interval << '\n';
}
