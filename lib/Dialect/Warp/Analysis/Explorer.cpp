//===- Explorer.cpp - all relative states of a few groups -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Warp/Analysis/Explorer.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3::warp;

using Kind = Instruction::Kind;

/// Items of tapes; the end of an iteration of nest n is kIteration + n.
enum TapeItem : int {
  kNoItem = -2,
  kAnyItem = -1,
  kEntry = 0,
  kEnd = 1,
  kIteration = 2
};

JointState JointState::clone() const {
  JointState copy;
  copy.processes = processes;
  copy.tapes = tapes;
  copy.choices = choices;
  copy.machine = machine->clone();
  return copy;
}

std::string Explorer::getName(const Process &process) {
  std::string name = "@" + process.group.getSymName().str();
  if (process.group.getReplicas() > 1)
    name += " replica " + std::to_string(process.replica);
  return name;
}

int64_t Explorer::get(const JointState &state, unsigned p, Value value,
                      Machine &machine) {
  const Process &process = state.processes[p];
  if (auto number = process.program->getRegister(value))
    return process.registers[*number];
  return machine.evaluate(state, p, value);
}

void Explorer::set(JointState &state, unsigned p, Value value, int64_t number) {
  Process &process = state.processes[p];
  if (auto target = process.program->getRegister(value))
    process.registers[*target] = number;
}

void Explorer::addProcess(GroupOp group, unsigned replica,
                          const Program &program) {
  Process process{&program, group, replica};
  process.registers.assign(program.getNumRegisters(), kUnknown);
  process.positions.assign(skeleton.getNumObjects(), 0);
  process.announced.resize(skeleton.getNumObjects());
  process.taken.assign(program.getInstructions().size(), 0);
  initial.processes.push_back(std::move(process));

  unsigned p = initial.processes.size() - 1;
  if (p > 0 && initial.processes[p - 1].group == group) {
    groupOf.push_back(groupOf.back());
  } else {
    groupOf.push_back(members.size());
    members.emplace_back();
  }
  members.back().push_back(p);

  // Events that the machine leaves out are not on tapes either.
  auto &channels = counted.emplace_back(skeleton.getNumObjects());
  for (const Instruction &instruction : program.getInstructions()) {
    if (instruction.kind != Kind::Execute)
      continue;
    std::optional<unsigned> channel = channelOf(instruction.op);
    // Not all replicas have the events of a leader.
    if (!channel || skeleton.isLed(instruction.op))
      continue;
    auto &entry = channels[skeleton.getChannels()[*channel].object];
    entry = entry ? std::min(*entry, *channel) : *channel;
  }
  findNextItems(p, program);
}

void Explorer::findNextItems(unsigned p, const Program &program) {
  unsigned numObjects = skeleton.getNumObjects();
  ArrayRef<Instruction> instructions = program.getInstructions();
  auto &items = nextItems.emplace_back(
      instructions.size(), SmallVector<int>(numObjects, int(kNoItem)));
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t pc = instructions.size(); pc-- > 0;) {
      const Instruction &instruction = instructions[pc];
      SmallVector<int> next(numObjects, int(kNoItem));
      auto join = [&](const SmallVector<int> &other) {
        for (auto [item, otherItem] : llvm::zip(next, other))
          if (item == kNoItem)
            item = otherItem;
          else if (otherItem != kNoItem && otherItem != item)
            item = kAnyItem;
      };
      if (instruction.kind == Kind::Jump)
        join(items[instruction.target]);
      else if (instruction.kind != Kind::End)
        join(items[pc + 1]);
      if (instruction.kind == Kind::Choose)
        join(items[instruction.target]);
      if (instruction.kind == Kind::Execute) {
        if (std::optional<unsigned> channel = channelOf(instruction.op)) {
          unsigned object = skeleton.getChannels()[*channel].object;
          if (counted[p][object] == channel)
            next[object] = kEntry;
        }
      } else if (instruction.kind == Kind::Mark) {
        for (unsigned object :
             skeleton.getNestObjects(instruction.nest).set_bits())
          next[object] = kIteration + instruction.nest;
      } else if (instruction.kind == Kind::End) {
        next.assign(numObjects, int(kEnd));
      }
      if (next != items[pc]) {
        items[pc] = std::move(next);
        changed = true;
      }
    }
  }
}

bool Explorer::announce(JointState &state, unsigned p, unsigned object,
                        int item) {
  llvm::SmallBitVector &announced = state.processes[p].announced;
  if (announced.test(object))
    return true;
  announced.set(object);
  return agree(state, p, object, item);
}

bool Explorer::announceCertain(JointState &state, unsigned p) {
  const SmallVector<int> &items = nextItems[p][state.processes[p].pc];
  for (auto [object, item] : llvm::enumerate(items))
    if (counted[p][object] && item >= 0 && !announce(state, p, object, item))
      return false;
  return true;
}

bool Explorer::agree(JointState &state, unsigned p, unsigned object, int item) {
  JointState::Tape &tape = state.tapes[object];
  unsigned &position = state.processes[p].positions[object];
  unsigned offset = position - tape.base;
  if (offset == tape.items.size())
    tape.items.push_back(item);
  else if (tape.items[offset] != item)
    return false;
  ++position;
  unsigned least = position;
  for (auto [i, process] : llvm::enumerate(state.processes))
    if (counted[i][object])
      least = std::min(least, process.positions[object]);
  tape.items.erase(tape.items.begin(),
                   tape.items.begin() + (least - tape.base));
  tape.base = least;
  return true;
}

std::optional<bool> Explorer::getMadeChoice(const JointState &state,
                                            unsigned p) const {
  const JointState::Tape &tape = state.choices[groupOf[p]];
  unsigned offset = state.processes[p].choices - tape.base;
  if (tape.isLost ||
      !skeleton.isUniform(state.processes[p].getInstruction().op) ||
      offset == tape.items.size())
    return std::nullopt;
  return tape.items[offset] != 0;
}

void Explorer::noteChoice(JointState &state, unsigned p, bool goesOn) {
  const auto &replicas = members[groupOf[p]];
  if (replicas.size() < 2 ||
      !skeleton.isUniform(state.processes[p].getInstruction().op))
    return;
  JointState::Tape &tape = state.choices[groupOf[p]];
  if (tape.isLost)
    return;
  unsigned &position = state.processes[p].choices;
  if (position - tape.base == tape.items.size()) {
    if (tape.items.size() == kMostChoices) {
      // Less is known from here on, which allows more.
      tape = JointState::Tape();
      tape.isLost = true;
      for (unsigned replica : replicas)
        state.processes[replica].choices = 0;
      return;
    }
    tape.items.push_back(goesOn);
  }
  ++position;
  unsigned least = position;
  for (unsigned other : replicas)
    least = std::min(least, state.processes[other].choices);
  tape.items.erase(tape.items.begin(),
                   tape.items.begin() + (least - tape.base));
  tape.base = least;
}

void Explorer::take(JointState &state, unsigned p, bool goesOn) {
  noteChoice(state, p, goesOn);
  Process &process = state.processes[p];
  if (goesOn) {
    ++process.taken[process.pc];
    ++process.pc;
  } else {
    process.pc = process.getInstruction().target;
  }
}

std::optional<Explorer::Outcome> Explorer::runEvent(JointState &state,
                                                    unsigned p) {
  Process &process = state.processes[p];
  Operation *op = process.getInstruction().op;
  std::optional<unsigned> object;
  if (std::optional<unsigned> channel = channelOf(op))
    if (unsigned number = skeleton.getChannels()[*channel].object;
        counted[p][number] == channel)
      object = number;
  if (object && !announce(state, p, *object, kEntry))
    return Outcome::Dropped;
  switch (machine.execute(state, p, op)) {
  case Machine::Step::Done:
    if (object)
      process.announced.reset(*object);
    ++process.pc;
    break;
  case Machine::Step::Blocked:
    return announceCertain(state, p) ? Outcome::Stuck : Outcome::Dropped;
  case Machine::Step::Failed:
    return Outcome::Failed;
  }
  return std::nullopt;
}

std::optional<Explorer::Outcome> Explorer::runChoice(JointState &state,
                                                     unsigned p) {
  Process &process = state.processes[p];
  const Instruction &instruction = process.getInstruction();
  if (std::optional<bool> known = machine.decide(state, p, instruction.op)) {
    if (*known)
      ++process.pc;
    else
      process.pc = instruction.target;
    return std::nullopt;
  }
  if (std::optional<bool> made = getMadeChoice(state, p)) {
    take(state, p, *made);
    return std::nullopt;
  }
  return announceCertain(state, p) ? Outcome::Choice : Outcome::Dropped;
}

Explorer::Outcome Explorer::runEnd(JointState &state, unsigned p) {
  Process &process = state.processes[p];
  if (process.ended)
    return Outcome::Stuck;
  process.ended = true;
  if (!announceCertain(state, p))
    return Outcome::Dropped;
  if (failed(machine.end(state, p)))
    return Outcome::Failed;
  return Outcome::Moved;
}

bool Explorer::enterIteration(JointState &state, unsigned p, unsigned nest) {
  Process &process = state.processes[p];
  // In a nest whose objects are all left out nothing bounds how far a process
  // is ahead, and nobody has to wait for it to be caught up with.
  bool isCounted = false;
  for (unsigned object : skeleton.getNestObjects(nest).set_bits()) {
    if (!counted[p][object])
      continue;
    if (!announce(state, p, object, kIteration + nest))
      return false;
    process.announced.reset(object);
    isCounted = true;
  }
  process.epoch += isCounted ? 1 : 0;
  ++process.pc;
  return true;
}

/// All values are read before the first register is written.
void Explorer::assign(JointState &state, unsigned p,
                      const Instruction &instruction) {
  Process &process = state.processes[p];
  SmallVector<int64_t> values;
  for (auto [target, value] : instruction.moves)
    values.push_back(get(state, p, value, machine));
  for (auto [move, value] : llvm::zip(instruction.moves, values))
    process.registers[move.first] = value;
  ++process.pc;
}

std::optional<Explorer::Outcome> Explorer::runInstruction(JointState &state,
                                                          unsigned p) {
  Process &process = state.processes[p];
  const Instruction &instruction = process.getInstruction();
  switch (instruction.kind) {
  case Kind::Execute:
    return runEvent(state, p);
  case Kind::Choose:
    return runChoice(state, p);
  case Kind::Jump:
    process.pc = instruction.target;
    break;
  case Kind::Assign:
    assign(state, p, instruction);
    break;
  case Kind::Clear:
    for (unsigned target : instruction.cleared)
      process.registers[target] = kUnknown;
    ++process.pc;
    break;
  case Kind::Mark:
    if (!enterIteration(state, p, instruction.nest))
      return Outcome::Dropped;
    break;
  case Kind::End:
    return runEnd(state, p);
  }
  return std::nullopt;
}

Explorer::Outcome Explorer::runProcess(JointState &state, unsigned p) {
  for (bool moved = false;; moved = true)
    if (std::optional<Outcome> outcome = runInstruction(state, p))
      return moved && *outcome == Outcome::Stuck ? Outcome::Moved : *outcome;
}

/// Values that are not used again do not tell states apart.
void Explorer::forgetDead(JointState &state) {
  for (Process &process : state.processes) {
    const llvm::BitVector &live = process.program->getLive(process.pc);
    for (auto [number, content] : llvm::enumerate(process.registers))
      if (!live.test(number))
        content = kUnknown;
  }
  machine.forget(state);
  machine.normalize(state);
}

std::string Explorer::getKey(const JointState &state, unsigned p) const {
  std::vector<int64_t> key;
  key.reserve(1024);
  key.push_back(p);
  // Nobody is behind who has ended.
  unsigned leastEpoch = ~0u;
  for (const Process &process : state.processes)
    if (!process.ended)
      leastEpoch = std::min(leastEpoch, process.epoch);
  for (auto [i, process] : llvm::enumerate(state.processes)) {
    key.push_back(process.pc);
    key.push_back(process.ended);
    key.push_back(process.ended ? 0 : process.epoch - leastEpoch);
    for (auto [object, position] : llvm::enumerate(process.positions))
      if (counted[i][object]) {
        key.push_back(position - state.tapes[object].base);
        key.push_back(process.announced.test(object));
      }
  }
  for (auto [group, tape] : llvm::enumerate(state.choices)) {
    for (unsigned member : members[group])
      key.push_back(state.processes[member].choices - tape.base);
    key.push_back(tape.isLost);
    key.push_back(tape.items.size());
    key.insert(key.end(), tape.items.begin(), tape.items.end());
  }
  for (const JointState::Tape &tape : state.tapes) {
    key.push_back(tape.items.size());
    key.insert(key.end(), tape.items.begin(), tape.items.end());
  }
  machine.serialize(state, key);
  // Most numbers are small: one byte, or a mark and all eight.
  std::string bytes;
  bytes.reserve(key.size() * 2);
  for (int64_t number : key) {
    if (number >= -100 && number <= 100) {
      bytes.push_back(static_cast<char>(number));
      continue;
    }
    bytes.push_back(static_cast<char>(std::numeric_limits<int8_t>::min()));
    bytes.append(reinterpret_cast<const char *>(&number), sizeof(number));
  }
  return bytes;
}

/// Runs all processes as far as they get without a choice. Choices are taken
/// where nothing else can happen, so that few states have them.
Explorer::Outcome Explorer::runAll(JointState &state, unsigned &chooser) {
  bool moved = true;
  while (moved) {
    moved = false;
    for (unsigned p = 0; p < state.processes.size(); ++p) {
      unsigned before = state.processes[p].pc;
      switch (runProcess(state, p)) {
      case Outcome::Failed:
        return Outcome::Failed;
      case Outcome::Dropped:
        return Outcome::Dropped;
      case Outcome::Moved:
        moved = true;
        break;
      case Outcome::Choice:
        moved |= state.processes[p].pc != before;
        break;
      case Outcome::Stuck:
        break;
      }
    }
  }
  // Who is behind goes first, so that the distance between processes stays
  // bounded.
  bool found = false;
  for (unsigned p = 0; p < state.processes.size(); ++p) {
    const Process &process = state.processes[p];
    if (process.getInstruction().kind != Kind::Choose ||
        (found && process.epoch >= state.processes[chooser].epoch))
      continue;
    chooser = p;
    found = true;
  }
  return found ? Outcome::Choice : Outcome::Stuck;
}

/// Takes a state that stands at a choice of process `p`, unless one that allows
/// as much has been taken already.
void Explorer::visit(JointState state, unsigned p) {
  forgetDead(state);
  auto [entry, isNew] = visited.try_emplace(getKey(state, p));
  Visited &known = entry->second;
  if (isNew)
    known.remembered = machine.remember(state);
  else if (!known.remembered || !machine.merge(*known.remembered, state))
    return;
  // What is still waiting to be looked at takes in what comes later.
  if (known.pending) {
    known.pending->state = std::move(state);
    return;
  }
  pending.push_back({std::move(state), p, &known});
  known.pending = &pending.back();
}

/// Runs `state` up to its next choice.
LogicalResult Explorer::runState(JointState state) {
  while (true) {
    unsigned p = 0;
    switch (runAll(state, p)) {
    case Outcome::Failed:
      return failure();
    case Outcome::Dropped:
      return success();
    case Outcome::Choice:
      break;
    default:
      for (const Process &process : state.processes)
        if (!process.hasEnded())
          return reportDeadlock(state);
      accepted = accept && accept(state);
      return success();
    }
    if (!iterationLimit) {
      visit(std::move(state), p);
      return success();
    }
    // What goes on is tried later: short ways come first.
    const Process &process = state.processes[p];
    if (process.taken[process.pc] < iterationLimit)
      pending.push_back({state.clone(), p});
    take(state, p, /*goesOn=*/false);
  }
}

LogicalResult Explorer::runPending(Pending next) {
  if (next.origin) {
    next.origin->pending = nullptr;
    if (++numStates > mostStates)
      return next.state.processes[next.chooser].group.emitOpError(
                 "has more than ")
             << mostStates
             << " states relative to the other groups, so that its "
                "liveness is not proven (pipelines have 'check=false')";
    JointState other = next.state.clone();
    take(other, next.chooser, /*goesOn=*/false);
    if (failed(runState(std::move(other))))
      return failure();
  }
  take(next.state, next.chooser, /*goesOn=*/true);
  return runState(std::move(next.state));
}

LogicalResult Explorer::run() {
  initial.tapes.resize(skeleton.getNumObjects());
  initial.choices.resize(members.size());
  initial.machine = machine.start();
  if (failed(runState(std::move(initial))))
    return failure();
  while (!pending.empty() && !accepted) {
    if (iterationLimit && pending.size() > mostStates)
      return failure();
    Pending next = std::move(pending.front());
    pending.pop_front();
    if (failed(runPending(std::move(next))))
      return failure();
  }
  return success();
}

LogicalResult Explorer::search(unsigned mostIterations,
                               std::function<bool(const JointState &)> found) {
  iterationLimit = mostIterations;
  accept = std::move(found);
  LogicalResult result = run();
  return success(succeeded(result) && accepted);
}

void Explorer::explainPath(const JointState &state, unsigned p,
                           InFlightDiagnostic &diagnostic) {
  const Process &process = state.processes[p];
  for (auto [instruction, taken] :
       llvm::zip(process.program->getInstructions(), process.taken)) {
    if (instruction.kind != Kind::Choose || taken == 0)
      continue;
    if (isa<scf::ForOp>(instruction.op))
      diagnostic.attachNote(instruction.op->getLoc())
          << getName(process) << " has begun " << taken << " iteration"
          << (taken == 1 ? "" : "s") << " of this loop";
  }
}

LogicalResult Explorer::reportDeadlock(const JointState &state) {
  const Process *first = nullptr;
  for (const Process &process : state.processes)
    if (!process.hasEnded() && !first)
      first = &process;
  InFlightDiagnostic diagnostic =
      first->getInstruction().op->emitOpError("waits forever: ")
      << "no group can go on";
  for (unsigned p = 0; p < state.processes.size(); ++p) {
    if (state.processes[p].hasEnded())
      diagnostic.attachNote(state.processes[p].group.getLoc())
          << getName(state.processes[p]) << " has ended";
    else
      machine.explain(state, p, diagnostic);
    explainPath(state, p, diagnostic);
  }
  return failure();
}
