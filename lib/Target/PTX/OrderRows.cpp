//===- OrderRows.cpp - one row of a fragment after the other --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OrderRows.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"

using namespace llvm;

/// An exchange between lanes. It reads no memory and, within a basic block, may
/// come before or after any other instruction.
static bool isShuffle(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call &&
         (call->getIntrinsicID() == Intrinsic::nvvm_shfl_sync_bfly_i32 ||
          call->getIntrinsicID() == Intrinsic::nvvm_shfl_sync_bfly_f32);
}

static bool isMovable(const Instruction &instruction) {
  if (isa<PHINode>(instruction) || instruction.isTerminator())
    return false;
  return isShuffle(instruction) || (!instruction.mayReadOrWriteMemory() &&
                                    !instruction.mayHaveSideEffects());
}

namespace {
/// Instructions between two that have to stay.
class Segment {
public:
  explicit Segment(ArrayRef<Instruction *> instructions)
      : instructions(instructions) {
    for (auto [i, instruction] : enumerate(instructions))
      numbers[instruction] = i;
  }
  /// Orders the instructions.
  void reorder();

private:
  void emit(unsigned number);
  bool isOutput(Instruction *instruction) const {
    return instruction->use_empty() ||
           any_of(instruction->users(), [&](User *user) {
             return !numbers.contains(cast<Instruction>(user));
           });
  }

  ArrayRef<Instruction *> instructions;
  DenseMap<Instruction *, unsigned> numbers;
  SmallVector<bool> emitted;
  SmallVector<unsigned> order;
};
} // namespace

/// Operands before the instruction.
void Segment::emit(unsigned number) {
  if (emitted[number])
    return;
  emitted[number] = true;
  for (Value *operand : instructions[number]->operands())
    if (auto *definition = dyn_cast<Instruction>(operand))
      if (auto it = numbers.find(definition); it != numbers.end())
        emit(it->second);
  order.push_back(number);
}

void Segment::reorder() {
  unsigned count = instructions.size();
  // The last exchange that leads to an instruction tells its row.
  SmallVector<int> exchange(count, -1);
  SmallVector<unsigned> outputs;
  for (unsigned i = 0; i < count; ++i) {
    if (isShuffle(*instructions[i]))
      exchange[i] = i;
    for (Value *operand : instructions[i]->operands())
      if (auto *definition = dyn_cast<Instruction>(operand))
        if (auto it = numbers.find(definition); it != numbers.end())
          exchange[i] = std::max(exchange[i], exchange[it->second]);
    if (isOutput(instructions[i]))
      outputs.push_back(i);
  }
  stable_sort(outputs, [&](unsigned a, unsigned b) {
    return exchange[a] < exchange[b];
  });
  emitted.assign(count, false);
  for (unsigned output : outputs)
    emit(output);
  if (is_sorted(order))
    return;
  Instruction *end = instructions.back()->getNextNode();
  for (unsigned number : order)
    instructions[number]->moveBefore(end->getIterator());
}

/// Elements of a vector that has one for each row.
static constexpr unsigned kMostRows = 2;

/// Whether vectors of coordinates, more than one per row, become numbers. As
/// scalars, LLVM derives each of them from the one before and keeps all alive.
static bool convertsCoordinates(Function &function) {
  return any_of(instructions(function), [](Instruction &instruction) {
    auto *type = dyn_cast<FixedVectorType>(instruction.getType());
    return isa<SIToFPInst, UIToFPInst>(instruction) && type &&
           type->getNumElements() > kMostRows;
  });
}

/// Whether an instruction divides by something else than a power of two, which
/// becomes products.
static bool isDivision(const User *user) {
  auto *division = dyn_cast<BinaryOperator>(user);
  return division && division->isIntDivRem() &&
         !match(division->getOperand(1), PatternMatch::m_Power2());
}

/// Coordinates are a number plus constants. Without a known relation to each
/// other, what a division makes of one is not derived from what it makes of
/// another, which would have to stay alive.
static void separateCoordinates(Function &function) {
  for (Instruction &instruction :
       make_early_inc_range(instructions(function))) {
    auto *type = dyn_cast<FixedVectorType>(instruction.getType());
    if (instruction.getOpcode() != Instruction::Add || !type ||
        type->getNumElements() <= kMostRows ||
        none_of(instruction.operands(), IsaPred<Constant>) ||
        none_of(instruction.users(), isDivision))
      continue;
    auto *separate = new FreezeInst(&instruction, "separate",
                                    std::next(instruction.getIterator()));
    instruction.replaceUsesWithIf(
        separate, [&](Use &use) { return use.getUser() != separate; });
  }
}

PreservedAnalyses fa3::OrderRowsPass::run(Function &function,
                                          FunctionAnalysisManager &analyses) {
  if (convertsCoordinates(function))
    return PreservedAnalyses::all();
  separateCoordinates(function);
  ScalarizerPass().run(function, analyses);
  for (BasicBlock &block : function) {
    SmallVector<Instruction *> segment;
    auto finish = [&] {
      if (segment.size() > 1)
        Segment(segment).reorder();
      segment.clear();
    };
    for (Instruction &instruction : make_early_inc_range(block)) {
      if (isMovable(instruction))
        segment.push_back(&instruction);
      else
        finish();
    }
  }
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}
