//===- PipelineProblem.cpp - software pipelining as a problem -------------===//

#include "fa3/Scheduling/PipelineProblem.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace fa3;

unsigned PipelineProblem::addOperation(std::string name, Kind kind) {
  operations.push_back({std::move(name), kind, std::nullopt, std::nullopt});
  return operations.size() - 1;
}

void PipelineProblem::addDependence(unsigned from, unsigned to,
                                    unsigned distance) {
  dependences.push_back({from, to, distance});
}

std::optional<std::string> PipelineProblem::check() const {
  unsigned count = operations.size();
  llvm::SmallVector<unsigned> missing(count, 0);
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
  return std::nullopt;
}

void PipelineProblem::print(llvm::raw_ostream &os) const {
  static constexpr llvm::StringLiteral kinds[] = {
      "compute", "issue", "wait", "deferred-wait", "free", "spread"};
  for (auto [i, op] : llvm::enumerate(operations)) {
    os << i << ": " << kinds[static_cast<unsigned>(op.kind)] << ' ' << op.name;
    if (op.stage && op.position)
      os << " stage " << *op.stage << " position " << *op.position;
    os << '\n';
  }
  for (const Dependence &dep : dependences)
    os << dep.from << " -> " << dep.to << " distance " << dep.distance << '\n';
}
