//===- GroupProgram.cpp - a group as a list of instructions ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Warp/Analysis/GroupProgram.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3::warp;

struct Program::Compiler {
  Program &program;
  const ControlSkeleton &skeleton;
  OpPredicate isInstruction;
  ValuePredicate isTracked;

  Instruction &emit(Instruction::Kind kind, Operation *op = nullptr) {
    program.instructions.push_back({kind});
    program.instructions.back().op = op;
    return program.instructions.back();
  }

  void define(Value value) {
    if (isTracked(value))
      program.registers.insert({value, program.registers.size()});
  }

  void assign(ValueRange to, ValueRange from) {
    Instruction move{Instruction::Kind::Assign};
    for (auto [target, source] : llvm::zip(to, from))
      if (auto number = program.getRegister(target))
        move.moves.push_back({*number, source});
    if (!move.moves.empty())
      program.instructions.push_back(std::move(move));
  }

  /// Forgets registers from `first` on, and those of `values`.
  void clear(unsigned first, unsigned last, ValueRange values = {}) {
    Instruction clear{Instruction::Kind::Clear};
    for (Value value : values)
      if (auto number = program.getRegister(value))
        clear.cleared.push_back(*number);
    for (unsigned i = first; i < last; ++i)
      clear.cleared.push_back(i);
    if (!clear.cleared.empty())
      program.instructions.push_back(std::move(clear));
  }

  LogicalResult compile(Block &block) {
    for (Operation &op : block)
      if (failed(compile(&op)))
        return failure();
    return success();
  }

  LogicalResult compile(Operation *op) {
    if (isInstruction(op)) {
      emit(Instruction::Kind::Execute, op);
      for (Value result : op->getResults())
        define(result);
      return success();
    }
    if (op->getNumRegions() == 0)
      return success();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return compileLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return compileBranch(branch);
    WalkResult result = op->walk([&](Operation *inner) {
      return inner != op && isInstruction(inner) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return op->emitOpError("encloses accesses to shared memory or barriers; "
                             "only 'scf.for' and 'scf.if' may");
    return success();
  }

  LogicalResult compileLoop(scf::ForOp loop) {
    for (Value value : loop.getRegionIterArgs())
      define(value);
    for (Value value : loop.getResults())
      define(value);
    size_t before = program.instructions.size();
    unsigned first = program.registers.size();
    assign(loop.getRegionIterArgs(), loop.getInitArgs());
    size_t head = program.instructions.size();
    emit(Instruction::Kind::Choose, loop);
    if (failed(compile(*loop.getBody())))
      return failure();
    std::optional<unsigned> nest = skeleton.getNest(loop);
    bool isEmpty = program.instructions.size() == head + 1;
    if (isEmpty && !nest && program.registers.size() == first &&
        head == before) {
      program.instructions.resize(before);
      return success();
    }
    assign(loop.getRegionIterArgs(), loop.getYieldedValues());
    clear(first, program.registers.size());
    if (nest)
      emit(Instruction::Kind::Mark, loop).nest = *nest;
    emit(Instruction::Kind::Jump).target = head;
    program.instructions[head].target = program.instructions.size();
    assign(loop.getResults(), loop.getRegionIterArgs());
    clear(first, program.registers.size(), loop.getRegionIterArgs());
    return success();
  }

  LogicalResult compileBranch(scf::IfOp branch) {
    for (Value value : branch.getResults())
      define(value);
    size_t before = program.instructions.size();
    unsigned first = program.registers.size();
    emit(Instruction::Kind::Choose, branch);
    bool hasResults = branch.getNumResults() != 0;
    auto compileArm = [&](Block *arm) -> LogicalResult {
      if (!arm)
        return success();
      unsigned firstOfArm = program.registers.size();
      if (failed(compile(*arm)))
        return failure();
      if (hasResults)
        assign(branch.getResults(), arm->getTerminator()->getOperands());
      clear(firstOfArm, program.registers.size());
      return success();
    };
    if (failed(compileArm(branch.thenBlock())))
      return failure();
    size_t jump = program.instructions.size();
    emit(Instruction::Kind::Jump);
    program.instructions[before].target = program.instructions.size();
    if (failed(compileArm(branch.elseBlock())))
      return failure();
    program.instructions[jump].target = program.instructions.size();
    // Nothing happens in either arm.
    if (program.instructions.size() == before + 2 &&
        program.registers.size() == first)
      program.instructions.resize(before);
    return success();
  }
};

/// Registers that `value` is computed from. What comes out of control or of an
/// instruction and has no register is not known to any machine.
void Program::addUses(Value value, llvm::BitVector &uses) const {
  SmallVector<Value> work = {value};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (std::optional<unsigned> number = getRegister(next)) {
      uses.set(*number);
      continue;
    }
    Operation *op = next.getDefiningOp();
    if (op && op->getNumRegions() == 0 && !executed.contains(op) &&
        seen.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
}

void Program::findLive() {
  llvm::BitVector none(getNumRegisters());
  live.assign(instructions.size(), none);
  std::vector<llvm::BitVector> uses(instructions.size(), none);
  for (const Instruction &instruction : instructions)
    if (instruction.kind == Instruction::Kind::Execute)
      executed.insert(instruction.op);
  for (auto [instruction, use] : llvm::zip(instructions, uses))
    if (instruction.kind == Instruction::Kind::Execute)
      instruction.op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          addUses(operand, use);
      });
  // Backwards, again for the back edges of loops.
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t pc = instructions.size(); pc-- > 0;) {
      const Instruction &instruction = instructions[pc];
      llvm::BitVector after = none;
      if (instruction.kind == Instruction::Kind::Jump)
        after = live[instruction.target];
      else if (instruction.kind != Instruction::Kind::End)
        after = live[pc + 1];
      if (instruction.kind == Instruction::Kind::Choose)
        after |= live[instruction.target];
      llvm::BitVector before = after;
      for (auto &[target, value] : instruction.moves)
        before.reset(target);
      for (auto &[target, value] : instruction.moves)
        if (after.test(target))
          addUses(value, before);
      for (unsigned cleared : instruction.cleared)
        before.reset(cleared);
      before |= uses[pc];
      if (before != live[pc]) {
        live[pc] = std::move(before);
        changed = true;
      }
    }
  }
}

FailureOr<Program> Program::compile(GroupOp group,
                                    const ControlSkeleton &skeleton,
                                    OpPredicate isInstruction,
                                    ValuePredicate isTracked) {
  Program program;
  Compiler compiler{program, skeleton, isInstruction, isTracked};
  if (failed(compiler.compile(*group.getBodyBlock())))
    return failure();
  compiler.emit(Instruction::Kind::End, group);
  program.findLive();
  return program;
}
