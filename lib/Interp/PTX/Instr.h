//===- Instr.h - decoded instructions ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The compact form in which a kernel of PTX is run: every statement is decoded
// once into a handler and the places of its registers. Constants and special
// registers are registers, too, which are filled when a warp starts.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_PTX_INSTR_H
#define FA3_LIB_INTERP_PTX_INSTR_H

#include "Text.h"
#include "fa3/Interp/PTXInterpreter.h"
#include <memory>

namespace fa3::interp::ptx {

struct Warp;
struct Instr;

/// Registers of up to 32 bits, of 64 bits, and predicates lie apart.
enum class Bank : uint8_t { None, Pred, B32, B64 };

struct Operand {
  Bank bank = Bank::None;
  uint8_t bits = 0;
  bool negated = false; ///< of a predicate
  uint32_t slot = 0;
};

/// What became of an instruction.
enum class Step : uint8_t {
  Next, ///< done
  Wait, ///< cannot be done yet, and has changed nothing
  Fail, ///< wrong; the block has its error
};

/// Executes an instruction in the lanes of a mask, which is not empty.
using Handler = Step (*)(Warp &, const Instr &, uint32_t mask);

enum class Flow : uint8_t { None, Branch, Exit };

/// What some instructions need beside registers and `imm`.
struct Extra {
  virtual ~Extra() = default;
};

struct Instr {
  Handler run = nullptr;
  Flow flow = Flow::None;
  bool guarded = false, guardNegated = false;
  uint32_t guard = 0;
  uint32_t target = 0; ///< of a branch
  /// `results` first, then what is read.
  llvm::SmallVector<Operand, 4> operands;
  unsigned results = 0;
  /// Whether products in flight may use the registers: only other products.
  bool isProduct = false;
  bool isAligned = false; ///< all lanes of a warp execute it together
  int64_t imm[3] = {0, 0, 0};
  std::shared_ptr<Extra> extra;
  uint32_t line = 0;
  SourceLocation location;
  llvm::StringRef opcode;

  const Operand &out(unsigned i = 0) const { return operands[i]; }
  const Operand &in(unsigned i = 0) const { return operands[results + i]; }
  unsigned numIn() const { return operands.size() - results; }
};

/// A register that has its value from the start of a warp.
struct Preset {
  enum Kind : uint8_t {
    Value,
    ThreadX,
    LaneId,
    WarpId,
    BlockX,
    ThreadsX,
    BlocksX,
    SmId,
    SmCount,
    DynamicSmemSize
  };
  Kind kind = Value;
  Operand place;
  uint64_t value = 0;
};

struct Kernel {
  std::string name;
  llvm::SmallVector<Variable> params;
  int64_t paramBytes = 0;
  int64_t threads = 0;
  int64_t staticSmem = 0;
  std::vector<Instr> code;
  std::vector<Preset> presets;
  /// Names of registers by slot, for messages.
  std::vector<std::string> names32;
  uint32_t num32 = 0, num64 = 0, numPreds = 0;
};

class Module {
public:
  ModuleText text;
  std::string source; ///< what names in `text` point into
  std::vector<std::vector<uint8_t>> globals;
  std::vector<std::unique_ptr<Kernel>> kernels;
};

/// Where generic addresses of parameters and of shared memory are; all others
/// are global. Section 5.1 leaves that open.
constexpr uint64_t kParamWindow = uint64_t(1) << 56;
constexpr uint64_t kSharedWindow = uint64_t(1) << 57;
/// Where a kernel's shared memory starts: a chip keeps the first KiB.
constexpr uint32_t kSharedStart = 1024;

} // namespace fa3::interp::ptx

#endif // FA3_LIB_INTERP_PTX_INSTR_H
