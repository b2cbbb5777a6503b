//===- Decode.h - from statements to instructions ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of instructions: each kind has a decoder, which takes the modifiers
// that it knows and chooses a handler. Whatever is left is refused by name.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_PTX_DECODE_H
#define FA3_LIB_INTERP_PTX_DECODE_H

#include "Block.h"
#include "llvm/ADT/DenseMap.h"

namespace fa3::interp::ptx {

/// Types of instructions (section 5.2).
enum class Type : uint8_t {
  None,
  Pred,
  B8,
  U8,
  S8,
  B16,
  U16,
  S16,
  F16,
  BF16,
  B32,
  U32,
  S32,
  F32,
  F16x2,
  BF16x2,
  B64,
  U64,
  S64,
  F64,
  B128,
  E4M3x2,
  E5M2x2
};
Type parseType(llvm::StringRef name);
unsigned getBits(Type type);
bool isSigned(Type type);
inline bool isFloat(Type type) {
  return type == Type::F32 || type == Type::F64 || type == Type::F16 ||
         type == Type::BF16 || type == Type::F16x2 || type == Type::BF16x2;
}

class Decoder {
public:
  Decoder(Module &module, Kernel &kernel, const KernelText &text)
      : module(module), kernel(kernel), text(text) {}
  bool run(std::string &error);

  // For decoders of instructions.
  const Statement &getStatement() const { return *statement; }
  /// Modifiers of the opcode: takes one if it is the next.
  bool take(llvm::StringRef modifier);
  /// Takes the first of several that is next; its number, or -1.
  int takeOneOf(std::initializer_list<llvm::StringRef> modifiers);
  /// Takes a type.
  Type takeType();
  /// Takes whatever is next; empty if there is nothing.
  llvm::StringRef takeWord() {
    return nextModifier == modifiers.size() ? "" : modifiers[nextModifier++];
  }
  /// The last modifier as a type, which is not taken.
  Type getLastType() const { return parseType(modifiers.back()); }
  bool fail(const llvm::Twine &what);
  /// A handler that all lanes of a warp execute together (".aligned").
  void runTogether(Handler handler) {
    instr.run = handler;
    instr.isAligned = true;
  }
  /// Whether there is a handler.
  bool isKnown() {
    return instr.run || fail("has a type that the executor does not know");
  }
  /// Whether there are so many operands, and no modifier is left.
  bool finish(size_t args);

  /// Adds operands of the statement. Constants are only read.
  bool result(size_t arg, Type type) {
    return result(statement->args[arg], type);
  }
  bool result(const Arg &arg, Type type) {
    return addOperand(arg, type, /*isResult=*/true, /*wide=*/false);
  }
  bool operand(size_t arg, Type type) {
    return operand(statement->args[arg], type);
  }
  bool operand(const Arg &arg, Type type) {
    return addOperand(arg, type, /*isResult=*/false, /*wide=*/false);
  }
  /// Operands from `first` to `last` of one type.
  bool operands(size_t first, size_t last, Type type) {
    bool ok = true;
    for (size_t i = first; i <= last; ++i)
      ok = ok && operand(i, type);
    return ok;
  }
  /// Registers of any width from the type's on (ld, st, cvt).
  bool wideResult(const Arg &arg, Type type) {
    return addOperand(arg, type, /*isResult=*/true, /*wide=*/true);
  }
  bool wideOperand(const Arg &arg, Type type) {
    return addOperand(arg, type, /*isResult=*/false, /*wide=*/true);
  }
  /// [register + offset]: a 32- or 64-bit address, with the offset in imm[0].
  bool address(size_t arg);
  bool constant(size_t arg, int64_t &value);
  /// The parameter that an address names, if it does.
  const Variable *findParam(size_t arg) const;
  /// Elements of {..}, or the operand itself.
  llvm::ArrayRef<Arg> elements(size_t arg) const;

  Instr instr;

private:
  std::optional<Operand> lookUp(const Arg &arg);
  std::optional<Operand> makeSpecial(llvm::StringRef name);
  Operand makeRegister(unsigned bits, llvm::StringRef name);
  Operand makePreset(Preset::Kind kind, unsigned bits, uint64_t value);
  std::optional<uint64_t> getVariableAddress(llvm::StringRef name);
  bool addOperand(const Arg &arg, Type type, bool isResult, bool wide);
  bool decode(const Statement &statement);
  bool decodeFlow();
  bool resolveTarget();
  void placeVariables();

  Module &module;
  Kernel &kernel;
  const KernelText &text;
  const Statement *statement = nullptr;
  llvm::SmallVector<llvm::StringRef, 8> modifiers;
  size_t nextModifier = 0;
  llvm::StringMap<Operand> registers;
  llvm::StringMap<uint64_t> variables;
  llvm::DenseMap<std::pair<uint64_t, unsigned>, Operand> constants;
  std::string error;
};

using DecodeFn = bool (*)(Decoder &);
using Table = llvm::StringMap<DecodeFn>;

/// Instructions that exist for integers and floats; the type decides.
enum class IntegerKind : uint8_t {
  Add,
  Sub,
  Mul,
  Mad,
  Div,
  Rem,
  Min,
  Max,
  Neg,
  Abs
};
bool decodeInteger(Decoder &d, IntegerKind kind);

/// The sum of two numbers of a type, as reductions in memory have it.
uint64_t addBits(Type type, uint64_t a, uint64_t b);

/// bar.warp.sync.
Step syncLanes(Warp &warp, const Instr &in, uint32_t mask);

// Parts of the table.
void addArithmetic(Table &table);
void addBits(Table &table);
void addComparisons(Table &table);
void addConversions(Table &table);
void addMoves(Table &table);
void addMemory(Table &table);
void addWarps(Table &table);
void addMatrices(Table &table);
void addBarriers(Table &table);
void addCopies(Table &table);
void addProducts(Table &table);

} // namespace fa3::interp::ptx

#endif // FA3_LIB_INTERP_PTX_DECODE_H
