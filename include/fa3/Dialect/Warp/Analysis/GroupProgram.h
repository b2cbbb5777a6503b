//===- GroupProgram.h - a group as a list of instructions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Structured control flattened for exploration: loops and branches become
// choices, because bounds and conditions are symbols. Values that a client
// tracks through control (slots, positions, parities) live in registers.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_WARP_ANALYSIS_GROUPPROGRAM_H
#define FA3_DIALECT_WARP_ANALYSIS_GROUPPROGRAM_H

#include "fa3/Dialect/Warp/Analysis/Control.h"

namespace fa3::warp {

struct Instruction {
  enum class Kind {
    Execute, ///< `op`, by the client
    Choose,  ///< go on (body, then) or at `target` (exit, else)
    Jump,    ///< to `target`
    Assign,  ///< `moves`, all at once
    Clear,   ///< `cleared`: values whose scope has ended
    Mark,    ///< an iteration of `nest` has ended
    End,
  } kind;
  mlir::Operation *op = nullptr;
  unsigned target = 0;
  unsigned nest = 0;
  /// Register and the value it takes.
  llvm::SmallVector<std::pair<unsigned, mlir::Value>, 4> moves;
  llvm::SmallVector<unsigned, 4> cleared;
};

class Program {
public:
  using OpPredicate = llvm::function_ref<bool(mlir::Operation *)>;
  using ValuePredicate = llvm::function_ref<bool(mlir::Value)>;

  /// Flattens `group`: `isInstruction` operations are executed, `isTracked`
  /// values get registers. Fails on control other than 'scf.for' and 'scf.if'
  /// around instructions.
  static mlir::FailureOr<Program> compile(GroupOp group,
                                          const ControlSkeleton &skeleton,
                                          OpPredicate isInstruction,
                                          ValuePredicate isTracked);

  llvm::ArrayRef<Instruction> getInstructions() const { return instructions; }
  const llvm::DenseMap<mlir::Value, unsigned> &getRegisters() const {
    return registers;
  }
  /// Registers whose values are used from instruction `pc` on.
  const llvm::BitVector &getLive(unsigned pc) const { return live[pc]; }
  unsigned getNumRegisters() const { return registers.size(); }
  /// Adds the registers that `value` is computed from to `uses`.
  void addUses(mlir::Value value, llvm::BitVector &uses) const;
  std::optional<unsigned> getRegister(mlir::Value value) const {
    auto it = registers.find(value);
    return it == registers.end() ? std::nullopt : std::optional(it->second);
  }

private:
  struct Compiler;
  void findLive();

  std::vector<Instruction> instructions;
  std::vector<llvm::BitVector> live;
  llvm::DenseSet<mlir::Operation *> executed;
  llvm::DenseMap<mlir::Value, unsigned> registers;
};

} // namespace fa3::warp

#endif // FA3_DIALECT_WARP_ANALYSIS_GROUPPROGRAM_H
