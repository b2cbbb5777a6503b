//===- ProtocolSymmetry.cpp - one state for those that are alike ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProtocolMachine.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;
using warp::JointState;
using warp::kUnknown;

//===----------------------------------------------------------------------===//
// Begin
//===----------------------------------------------------------------------===//

/// The value of `value` where no loop has run and no condition holds.
static int64_t evaluateFirst(Value value, Value replica, int64_t number) {
  return evaluateScalar(value, [&](Value leaf) -> int64_t {
    if (leaf == replica)
      return number;
    Value source;
    if (auto argument = dyn_cast<BlockArgument>(leaf)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (loop && argument != loop.getInductionVar())
        source = loop.getInitArgs()[argument.getArgNumber() - 1];
    } else {
      unsigned i = cast<OpResult>(leaf).getResultNumber();
      if (auto loop = leaf.getDefiningOp<scf::ForOp>())
        source = loop.getInitArgs()[i];
      else if (auto branch = leaf.getDefiningOp<scf::IfOp>())
        source = branch.elseYield().getOperand(i);
    }
    return source ? evaluateFirst(source, replica, number) : kUnknown;
  });
}

/// The phase that a process waits for first. A guess: if it is wrong, the wait
/// has the wrong parity.
std::optional<ProtocolMachine::Next>
ProtocolMachine::getFirstPhase(unsigned p, unsigned array) const {
  warp::GroupOp group = processes[p].group;
  BarrierWaitOp first;
  Value barrier = BarrierAllocOp(model.barriers[array].op).getBarrier();
  group.walk([&](BarrierWaitOp op) {
    if (op.getBarrier() != barrier)
      return WalkResult::advance();
    first = op;
    return WalkResult::interrupt();
  });
  if (!first)
    return std::nullopt;
  int64_t parity = evaluateFirst(first.getParity(), group.getReplica(),
                                 processes[p].replica);
  if (parity != 0 && parity != 1)
    return std::nullopt;
  return parity ? kLast : kOpen;
}

void ProtocolMachine::beginInPhases(State &state) {
  unsigned numProcesses = processes.size();
  std::vector<Next> next = state.next;
  ArrayLags firstLags;
  for (unsigned array : scope.arrays.set_bits()) {
    unsigned firstElement = model.barriers[array].firstElement;
    int64_t count = model.barriers[array].getCount();
    for (unsigned p = 0; p < numProcesses; ++p) {
      if (!waits(p, firstElement))
        continue;
      std::optional<Next> phase = getFirstPhase(p, array);
      if (!phase) {
        rotatedDepth = 0;
        return;
      }
      for (int64_t i = 0; i < count; ++i)
        next[(firstElement + i) * numProcesses + p] = *phase;
      firstLags[{array, processes[p].group.getOperation()}] =
          *phase == kLast ? count : 0;
    }
  }
  state.next = std::move(next);
  lags = std::move(firstLags);
  auto informAll = [&](Fact &fact) {
    for (unsigned member = 0; member < open(getNumElements()); ++member)
      fact.inform(member, /*isFenced=*/true);
    fact.own = true;
  };
  for (unsigned element = 0; element < getNumElements(); ++element) {
    if (!isInScope(element))
      continue;
    state.elements[element].phases = 1;
    informAll(getFact(state, FactKind::Phase, 0, element));
    for (unsigned p = 0; p < numProcesses; ++p)
      if (element < model.numMbarriers && waits(p, element))
        informAll(getFact(state, FactKind::Wait, p, element));
  }
}

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

void ProtocolMachine::findRotations(ArrayRef<warp::Program> programs) {
  int64_t depth = 0;
  for (unsigned array : scope.arrays.set_bits())
    depth = std::max(depth, model.barriers[array].getCount());
  // Slots that share bytes with others are not alike.
  for (auto [i, a] : llvm::enumerate(buffers))
    for (const BufferInfo &b : ArrayRef(buffers).take_front(i))
      if (scope.buffers.contains(a.op) && a.begin >= 0 && b.begin >= 0 &&
          a.begin < b.end && b.begin < a.end)
        return;
  if (depth < 2)
    return;
  rotatedDepth = depth;
  for (const warp::Program &program : programs)
    rotations.try_emplace(&program, scope, program, depth);
}

/// Moves everything at the rotated rings by `slots`, at most twice their depth.
void ProtocolMachine::rotate(State &state, int64_t slots) const {
  int64_t depth = rotatedDepth;
  unsigned numProcesses = processes.size();
  SmallVector<unsigned> moved; ///< arrays
  for (unsigned array : scope.arrays.set_bits())
    if (model.barriers[array].getCount() == depth)
      moved.push_back(array);
  auto getTarget = [&](int64_t slot) { return (slot + slots) % depth; };
  for (unsigned array : moved) {
    unsigned first = model.barriers[array].firstElement;
    auto elements = MutableArrayRef(state.elements).slice(first, depth);
    auto next = MutableArrayRef(state.next)
                    .slice(first * numProcesses, depth * numProcesses);
    for (auto [i, element] : llvm::enumerate(elements))
      element.parity ^= (i + slots) / depth & 1;
    int64_t front = (depth - slots % depth) % depth;
    std::rotate(elements.begin(), elements.begin() + front, elements.end());
    std::rotate(next.begin(), next.begin() + front * numProcesses, next.end());
    for (unsigned p = 0; p < numProcesses; ++p) {
      Turn &turn = state.turns[array * numProcesses + p];
      if (waits(p, first))
        turn.waits = getTarget(turn.waits);
      if (arrives(p, first))
        turn.arrivals = getTarget(turn.arrivals);
    }
  }
  auto rotateMembers = [&](Members &members) {
    Members old = members;
    for (unsigned array : moved) {
      unsigned first = model.barriers[array].firstElement;
      for (int64_t i = 0; i < depth; ++i) {
        unsigned source = first + i, target = first + getTarget(i);
        old.test(open(source)) ? members.set(open(target))
                               : members.reset(open(target));
        old.test(completed(source)) ? members.set(completed(target))
                                    : members.reset(completed(target));
      }
    }
  };
  for (Fact &fact : state.facts) {
    rotateMembers(fact.known);
    rotateMembers(fact.fenced);
    if (isAccess(fact.key.kind)) {
      SmemRegion &region = fact.key.region;
      if (buffers[region.buffer].slots == depth)
        region.slot = getTarget(region.slot);
    } else if (unsigned element = fact.key.element;
               element < model.numMbarriers &&
               llvm::is_contained(moved, arrayOf[element])) {
      unsigned first = model.barriers[arrayOf[element]].firstElement;
      fact.key.element = first + getTarget(element - first);
    }
  }
  llvm::sort(state.facts,
             [](const Fact &a, const Fact &b) { return a.key < b.key; });
}

/// Of all states that are rotations of each other, the one in which the next
/// wait of some process is at slot 0, whose parity is 0.
void ProtocolMachine::normalize(JointState &joint) {
  if (rotatedDepth == 0)
    return;
  for (const warp::Process &process : joint.processes)
    if (!rotations.at(process.program).isUniformFrom(process.pc))
      return;
  State &state = get(joint);
  std::optional<int64_t> slots;
  for (unsigned array : scope.arrays.set_bits()) {
    unsigned first = model.barriers[array].firstElement;
    for (unsigned p = 0; p < processes.size() && !slots; ++p) {
      if (model.barriers[array].getCount() != rotatedDepth || !waits(p, first))
        continue;
      unsigned next = getTurn(state, p, first).waits;
      slots = (rotatedDepth - next) % rotatedDepth;
      unsigned wraps = next != 0;
      if (state.elements[first + next].parity ^ wraps)
        *slots += rotatedDepth;
    }
  }
  if (!slots || *slots == 0)
    return;
  SmallVector<std::vector<int64_t>> registers;
  for (const warp::Process &process : joint.processes) {
    registers.push_back(process.registers);
    if (!rotations.at(process.program).rotate(registers.back(), *slots))
      return;
  }
  for (auto [process, content] : llvm::zip(joint.processes, registers))
    process.registers = std::move(content);
  rotate(state, *slots);
}
