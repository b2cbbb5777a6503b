//===- ProtocolStates.cpp - what tells states apart -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProtocolMachine.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;
using warp::JointState;
using warp::kUnknown;

void ProtocolMachine::forget(JointState &joint) {
  llvm::erase_if(get(joint).facts, [&](const Fact &fact) {
    return isAccess(fact.key.kind) && isSettled(fact);
  });
}

void ProtocolMachine::serialize(const JointState &joint,
                                std::vector<int64_t> &key) const {
  const auto &state = static_cast<const State &>(*joint.machine);
  for (auto [i, turn] : llvm::enumerate(state.turns)) {
    if (!scope.arrays.test(i / processes.size()))
      continue;
    key.push_back(turn.waits);
    key.push_back(turn.arrivals);
    key.push_back(turn.bytes);
  }
  for (auto [i, element] : llvm::enumerate(state.elements)) {
    if (!isInScope(i))
      continue;
    key.push_back(element.arrivals);
    key.push_back(element.bytes);
    // How many phases there were matters for first waits only.
    bool isDecided =
        i < model.numMbarriers &&
        llvm::none_of(
            llvm::seq<unsigned>(0, processes.size()),
            [&](unsigned q) {
              return waits(q, i) &&
                     state.next[i * processes.size() + q] == kUndecided;
            });
    key.push_back(element.parity | std::min(element.phases, isDecided ? 1u : 2u)
                                       << 1);
    key.push_back(element.waiting);
    key.push_back(element.released);
  }
  for (auto [i, next] : llvm::enumerate(state.next))
    if (isInScope(i / processes.size()))
      key.push_back(next);
  // Groups of products and copies count by their distance to the open one.
  auto getAge = [](int64_t open, int64_t retired, int64_t group) -> int64_t {
    return group == Fact::kNever ? -2 : group <= retired ? -1 : open - group;
  };
  for (unsigned p = 0; p < processes.size(); ++p) {
    const ProcessState &process = state.processes[p];
    key.push_back(process.openMatrix - process.retiredMatrix);
    key.push_back(process.openCopy - process.retiredCopy);
    key.push_back(process.fenced | process.hasProducts << 1 |
                  process.hasCopies << 2);
    for (unsigned i = 0; i < numFragments; ++i)
      key.push_back(getAge(process.openMatrix, process.retiredMatrix,
                           state.fragments[p * numFragments + i].first));
    const warp::Process &control = joint.processes[p];
    size_t first = key.size();
    key.resize(first + control.registers.size());
    for (auto [value, number] : control.program->getRegisters()) {
      int64_t content = control.registers[number];
      if (content != kUnknown && isa<InflightType, GroupType>(value.getType()))
        content = getAge(process.openMatrix, process.retiredMatrix, content);
      key[first + number] = content;
    }
  }
  // Parts merge states that differ in what is known.
  if (scope.kind == ProtocolScope::Kind::Part)
    return;
  size_t words = llvm::divideCeil(open(getNumElements()), 64);
  for (const Fact &fact : state.facts) {
    FactKind kind = fact.key.kind;
    bool settled = isSettled(fact);
    if (settled && kind != FactKind::Wait)
      continue;
    const SmemRegion &region = fact.key.region;
    for (int32_t number :
         {static_cast<int32_t>(kind), fact.key.process, fact.key.element,
          region.buffer, region.slot, region.row, region.rowEnd, region.column,
          region.columnEnd})
      key.push_back(number);
    // That every process knows of a wait is not enough: the next phase has to.
    if (settled) {
      key.push_back(-1);
      key.push_back(fact.known.test(open(fact.key.element)));
      continue;
    }
    for (size_t i = 0; i < words; ++i) {
      key.push_back(fact.known.getWords()[i]);
      if (needsFence(kind))
        key.push_back(fact.fenced.getWords()[i]);
    }
    const ProcessState &process =
        state.processes[kind == FactKind::Phase ? 0 : fact.key.process];
    key.push_back(fact.own | fact.ownFenced << 1);
    key.push_back(
        getAge(process.openMatrix, process.retiredMatrix, fact.matrixGroup));
    key.push_back(
        getAge(process.openCopy, process.retiredCopy, fact.copyGroup));
  }
}

std::unique_ptr<warp::MachineState>
ProtocolMachine::remember(const JointState &state) {
  return scope.kind == ProtocolScope::Kind::Part ? state.machine->clone()
                                                 : nullptr;
}

Fact ProtocolMachine::getLesser(const Fact &a, const Fact &b) const {
  Fact fact = a;
  fact.known &= b.known;
  fact.fenced &= b.fenced;
  fact.own &= b.own;
  fact.ownFenced &= b.ownFenced;
  fact.copyGroup = std::max(a.copyGroup, b.copyGroup);
  // What has retired already needs to wait for the other.
  unsigned p = fact.key.process;
  auto hasRetired = [&](const Fact &other) {
    return other.matrixGroup == Fact::kNever && other.known.test(all(p)) &&
           other.known.test(elected(p));
  };
  if (hasRetired(a) || hasRetired(b))
    fact.matrixGroup = std::min(a.matrixGroup, b.matrixGroup);
  else
    fact.matrixGroup = std::max(a.matrixGroup, b.matrixGroup);
  return fact;
}

bool ProtocolMachine::merge(warp::MachineState &remembered, JointState &joint) {
  auto &old = static_cast<State &>(remembered);
  State &state = get(joint);
  bool changed = false;
  std::vector<Fact> merged;
  merged.reserve(old.facts.size() + state.facts.size());
  auto before = old.facts.begin();
  auto now = state.facts.begin();
  while (before != old.facts.end() || now != state.facts.end()) {
    // Numbers of groups go on; their distance to the open one is what counts.
    Fact shifted;
    if (before != old.facts.end()) {
      shifted = *before;
      if (shifted.key.kind != FactKind::Phase) {
        const ProcessState &there = old.processes[shifted.key.process];
        const ProcessState &here = state.processes[shifted.key.process];
        if (shifted.matrixGroup != Fact::kNever)
          shifted.matrixGroup += here.openMatrix - there.openMatrix;
        if (shifted.copyGroup != Fact::kNever)
          shifted.copyGroup += here.openCopy - there.openCopy;
      }
    }
    // What is settled is not there any more, and what never was is as good.
    if (now == state.facts.end() ||
        (before != old.facts.end() && shifted.key < now->key)) {
      merged.push_back(shifted);
      ++before;
      continue;
    }
    if (before == old.facts.end() || now->key < shifted.key) {
      merged.push_back(*now++);
      changed = true;
      continue;
    }
    Fact lesser = getLesser(shifted, *now);
    changed |= !(lesser == shifted);
    merged.push_back(lesser);
    ++before;
    ++now;
  }
  if (!changed)
    return false;
  state.facts = merged;
  old = state;
  return true;
}

bool ProtocolMachine::isSettled(const Fact &fact) const {
  FactKind kind = fact.key.kind;
  for (unsigned q = 0; q < processes.size(); ++q) {
    bool isConcerned = true, isAsync = false;
    if (isAccess(kind)) {
      const Users &users = usersOf[fact.key.region.buffer];
      isConcerned = (isWrite(kind) ? users.all : users.writers) >> q & 1;
      isAsync = needsFence(kind) && (users.async >> q & 1);
    }
    for (unsigned member : {all(q), elected(q)})
      if (isConcerned &&
          (!fact.known.test(member) || (isAsync && !fact.fenced.test(member))))
        return false;
  }
  return true;
}
