//===- ProtocolRotation.cpp - slots of a ring are alike -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProtocolRotation.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;
using warp::Instruction;
using warp::kUnknown;

/// Registers that one expression may use for its check: all their values are
/// tried.
constexpr size_t kMostRegisters = 3;

ProtocolRotation::ProtocolRotation(const ProtocolScope &scope,
                                   const warp::Program &program, int64_t depth)
    : scope(scope), program(program), depth(depth),
      roles(program.getNumRegisters(), int(kFixed)) {
  ArrayRef<Instruction> instructions = program.getInstructions();
  uniform.resize(instructions.size());
  findSlots();
  findParities();
  if (conflict)
    return;
  uniform.set();
  for (unsigned pc = 0; pc < instructions.size(); ++pc)
    if (!checkInstruction(pc))
      uniform.reset(pc);
  // Backwards from what is not, again for the back edges of loops.
  bool changed = true;
  while (changed) {
    changed = false;
    for (unsigned pc = instructions.size(); pc-- > 0;) {
      const Instruction &instruction = instructions[pc];
      bool follows = true;
      if (instruction.kind == Instruction::Kind::Jump)
        follows = uniform.test(instruction.target);
      else if (instruction.kind != Instruction::Kind::End)
        follows = uniform.test(pc + 1);
      if (instruction.kind == Instruction::Kind::Choose)
        follows &= uniform.test(instruction.target);
      if (uniform.test(pc) && !follows) {
        uniform.reset(pc);
        changed = true;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

bool ProtocolRotation::isRotated(Value object) const {
  if (auto type = dyn_cast<BarrierType>(object.getType()))
    return type.getCount() == depth;
  if (auto type = dyn_cast<BufferType>(object.getType()))
    return type.getSlots() == depth;
  return cast<MailboxType>(object.getType()).getSlots() == depth;
}

SmallVector<ProtocolRotation::Use>
ProtocolRotation::getUses(Operation *op) const {
  SmallVector<Use> uses;
  auto addSlot = [&](Value object, Value slot) {
    uses.push_back({slot, {}, isRotated(object) ? Use::Slot : Use::Fixed});
  };
  auto addFixed = [&](auto... values) {
    (uses.push_back({values, {}, Use::Fixed}), ...);
  };
  auto addAccess = [&](auto access) {
    addSlot(access.getBuffer(), access.getIndex());
    addFixed(access.getRow(), access.getColumn());
  };
  if (auto wait = dyn_cast<BarrierWaitOp>(op)) {
    addSlot(wait.getBarrier(), wait.getIndex());
    if (isRotated(wait.getBarrier()))
      uses.push_back({wait.getParity(), wait.getIndex(), Use::Parity});
    else
      addFixed(wait.getParity());
  } else if (auto arrive = dyn_cast<BarrierArriveOp>(op)) {
    addSlot(arrive.getBarrier(), arrive.getIndex());
  } else if (auto expect = dyn_cast<BarrierExpectTxOp>(op)) {
    addSlot(expect.getBarrier(), expect.getIndex());
  } else if (auto load = dyn_cast<TmaLoadOp>(op)) {
    addAccess(load);
    addSlot(load.getBarrier(), load.getBarrierIndex());
  } else if (auto store = dyn_cast<TmaStoreOp>(op)) {
    addAccess(store);
  } else if (auto store = dyn_cast<SmemStoreOp>(op)) {
    addAccess(store);
  } else if (auto load = dyn_cast<SmemLoadOp>(op)) {
    addAccess(load);
  } else if (auto post = dyn_cast<MailboxPostOp>(op)) {
    addSlot(post.getMailbox(), post.getIndex());
  } else if (auto read = dyn_cast<MailboxReadOp>(op)) {
    addSlot(read.getMailbox(), read.getIndex());
  } else if (auto use = getNamedBarrierUse(op)) {
    addFixed(use->id);
  } else if (isa<WgmmaOp>(op)) {
    for (Value operand : op->getOperands())
      if (auto desc = operand.getDefiningOp<DescOp>())
        if (scope.hasBuffer(desc.getBuffer()))
          addAccess(desc);
  }
  return uses;
}

//===----------------------------------------------------------------------===//
// Roles of registers
//===----------------------------------------------------------------------===//

SmallVector<unsigned> ProtocolRotation::getRegisters(Value value) const {
  llvm::BitVector uses(program.getNumRegisters());
  program.addUses(value, uses);
  return SmallVector<unsigned>(uses.set_bits());
}

/// True if this is new.
bool ProtocolRotation::assign(unsigned number, int role) {
  if (roles[number] == role)
    return false;
  conflict |= roles[number] != kFixed;
  roles[number] = role;
  return !conflict;
}

/// Backwards from where slots are used.
void ProtocolRotation::findSlots() {
  bool changed = false;
  auto take = [&](Value value) {
    for (unsigned number : getRegisters(value))
      changed |= assign(number, kSlot);
  };
  for (const Instruction &instruction : program.getInstructions())
    if (instruction.kind == Instruction::Kind::Execute)
      for (const Use &use : getUses(instruction.op))
        if (use.kind == Use::Slot)
          take(use.value);
  while (changed) {
    changed = false;
    for (const Instruction &instruction : program.getInstructions())
      for (auto [target, value] : instruction.moves)
        if (roles[target] == kSlot)
          take(value);
  }
}

std::optional<unsigned> ProtocolRotation::getSlot(Value value) const {
  SmallVector<unsigned> numbers = getRegisters(value);
  if (numbers.size() != 1 || roles[numbers.front()] != kSlot)
    return std::nullopt;
  return numbers.front();
}

/// What `value`, the parity of `slot`, is computed from beside slots.
void ProtocolRotation::takeParity(Value value, Value slot, bool &changed) {
  std::optional<unsigned> owner = getSlot(slot);
  for (unsigned number : getRegisters(value)) {
    if (roles[number] == kSlot)
      continue;
    conflict |= !owner;
    if (owner)
      changed |= assign(number, *owner);
  }
}

static Value getMoved(const Instruction &instruction, unsigned target) {
  for (auto [number, value] : instruction.moves)
    if (number == target)
      return value;
  return {};
}

void ProtocolRotation::findParities() {
  bool changed = false;
  for (const Instruction &instruction : program.getInstructions())
    if (instruction.kind == Instruction::Kind::Execute)
      for (const Use &use : getUses(instruction.op))
        if (use.kind == Use::Parity)
          takeParity(use.value, use.slot, changed);
  while (changed && !conflict) {
    changed = false;
    for (const Instruction &instruction : program.getInstructions())
      for (auto [target, value] : instruction.moves)
        if (roles[target] >= 0)
          if (Value slot = getMoved(instruction, roles[target]))
            takeParity(value, slot, changed);
  }
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Tries all values of the registers that a use depends on.
bool ProtocolRotation::check(const Use &use) const {
  SmallVector<unsigned> numbers = getRegisters(use.value);
  auto isMoved = [&](unsigned number) { return roles[number] != kFixed; };
  if (use.kind == Use::Fixed)
    return llvm::none_of(numbers, isMoved);
  if (use.slot)
    for (unsigned number : getRegisters(use.slot))
      if (!llvm::is_contained(numbers, number))
        numbers.push_back(number);
  if (!llvm::all_of(numbers, isMoved) || numbers.size() > kMostRegisters)
    return false;
  std::vector<int64_t> content(roles.size(), kUnknown);
  auto evaluate = [&](Value value) {
    return evaluateScalar(value, [&](Value leaf) {
      auto number = program.getRegister(leaf);
      return number ? content[*number] : kUnknown;
    });
  };
  auto isRight = [&] {
    int64_t slot = evaluate(use.slot ? use.slot : use.value);
    int64_t value = evaluate(use.value);
    std::vector<int64_t> before = content;
    if (!rotate(content, 1))
      return false;
    int64_t slotThen = evaluate(use.slot ? use.slot : use.value);
    int64_t valueThen = evaluate(use.value);
    content = before;
    if (slot < 0 || slot >= depth || slotThen != (slot + 1) % depth)
      return false;
    return use.kind == Use::Slot ||
           ((value == 0 || value == 1) &&
            valueThen == (slot + 1 == depth ? 1 - value : value));
  };
  size_t combinations = 1;
  auto getExtent = [&](unsigned number) {
    return roles[number] == kSlot ? size_t(depth) : 2;
  };
  for (unsigned number : numbers)
    combinations *= getExtent(number);
  for (size_t i = 0; i < combinations; ++i) {
    size_t rest = i;
    for (unsigned number : numbers) {
      content[number] = rest % getExtent(number);
      rest /= getExtent(number);
    }
    if (!isRight())
      return false;
  }
  return true;
}

bool ProtocolRotation::holds(const Use &use) {
  if (use.kind == Use::Fixed)
    return check(use);
  auto [entry, isNew] = checked.try_emplace({use.value, use.slot}, false);
  if (isNew)
    entry->second = check(use);
  return entry->second;
}

bool ProtocolRotation::checkInstruction(unsigned pc) {
  const Instruction &instruction = program.getInstructions()[pc];
  if (instruction.kind == Instruction::Kind::Execute)
    return llvm::all_of(getUses(instruction.op),
                        [&](const Use &use) { return holds(use); });
  if (instruction.kind != Instruction::Kind::Assign)
    return true;
  const llvm::BitVector &live = program.getLive(pc + 1);
  for (auto [target, value] : instruction.moves) {
    if (!live.test(target))
      continue;
    Use use{value, {}, roles[target] == kFixed ? Use::Fixed : Use::Slot};
    if (roles[target] >= 0) {
      use.kind = Use::Parity;
      use.slot = getMoved(instruction, roles[target]);
      if (!use.slot)
        return false;
    } else if (roles[target] == kSlot) {
      // A parity stays with its slot.
      for (auto [number, role] : llvm::enumerate(roles))
        if (role == static_cast<int>(target) && live.test(number) &&
            !getMoved(instruction, number))
          return false;
    }
    if (!holds(use))
      return false;
  }
  return true;
}

bool ProtocolRotation::rotate(std::vector<int64_t> &registers,
                              int64_t slots) const {
  for (auto [number, role] : llvm::enumerate(roles)) {
    int64_t content = registers[number];
    if (role == kFixed || content == kUnknown)
      continue;
    int64_t slot = role == kSlot ? content : registers[role];
    if (slot < 0 || slot >= depth ||
        (role >= 0 && content != 0 && content != 1))
      return false;
  }
  std::vector<int64_t> before = registers;
  for (auto [number, role] : llvm::enumerate(roles)) {
    if (role == kFixed || before[number] == kUnknown)
      continue;
    if (role == kSlot)
      registers[number] = (before[number] + slots) % depth;
    else
      registers[number] ^= (before[role] + slots) / depth & 1;
  }
  return true;
}
