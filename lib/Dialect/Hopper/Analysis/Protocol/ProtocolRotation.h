//===- ProtocolRotation.h - slots of a ring are alike -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What groups do with a ring does not depend on the slot at which they are: a
// state in which everybody is one slot further allows the same, one slot
// further. Exploring one of these states is enough. That a kernel is like that
// is shown here, instruction by instruction. See docs/Protocol.md, "Closure".
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLROTATION_H
#define FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLROTATION_H

#include "ProtocolModel.h"
#include "ProtocolScope.h"

namespace fa3::hopper {

/// How the registers of a program change when all its rings of some depth are
/// one slot further: slots are numbers modulo the depth, and the parity that
/// belongs to a slot flips where the slot wraps around.
class ProtocolRotation {
public:
  ProtocolRotation(const ProtocolScope &scope, const warp::Program &program,
                   int64_t depth);

  /// Whether everything that may follow `pc` is the same one slot further.
  bool isUniformFrom(unsigned pc) const { return uniform.test(pc); }
  /// Moves the registers of a process by `slots`. False if they do not say
  /// enough, and are left unchanged.
  bool rotate(std::vector<int64_t> &registers, int64_t slots) const;

private:
  static constexpr int kFixed = -2, kSlot = -1;

  /// What an instruction expects of a value: that it stays, or is a slot, or is
  /// the parity of `slot`.
  struct Use {
    mlir::Value value, slot;
    enum Kind { Fixed, Slot, Parity } kind;
  };
  llvm::SmallVector<Use> getUses(mlir::Operation *op) const;
  bool isRotated(mlir::Value object) const;

  void findSlots();
  void findParities();
  bool assign(unsigned number, int role);
  llvm::SmallVector<unsigned> getRegisters(mlir::Value value) const;
  /// The slot register of what `value` is computed from, if it is one.
  std::optional<unsigned> getSlot(mlir::Value value) const;
  void takeParity(mlir::Value value, mlir::Value slot, bool &changed);
  bool holds(const Use &use);
  bool check(const Use &use) const;
  bool checkInstruction(unsigned pc);

  const ProtocolScope &scope;
  const warp::Program &program;
  int64_t depth;
  /// By register: kFixed, kSlot, or of a parity the register of its slot.
  std::vector<int> roles;
  bool conflict = false;
  llvm::BitVector uniform; ///< by instruction
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, bool> checked;
};

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLROTATION_H
