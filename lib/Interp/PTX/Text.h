//===- Text.h - statements of PTX text --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// PTX as its author wrote it: kernels, their parameters, registers by scope and
// statements with operands, each with its line. What an instruction means is
// not known here. Sections are those of the PTX ISA manual 9.0.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_PTX_TEXT_H
#define FA3_LIB_INTERP_PTX_TEXT_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace fa3::interp::ptx {

/// The operand of a statement (section 6, "Instruction Operands").
struct Arg {
  enum Kind : uint8_t {
    Name,   ///< a register, label, variable or parameter, with an offset
    Int,    ///< an integer constant
    Float,  ///< a float constant of 32 (0f) or 64 bits
    Memory, ///< [list[0] + offset], or [list[0], list[1]] of a tensor
    List,   ///< {..}
    Sink,   ///< _
  };
  Kind kind = Sink;
  llvm::StringRef name;
  bool negated = false; ///< !p
  uint64_t bits = 0;
  bool isDouble = false; ///< of a float constant
  int64_t offset = 0;
  std::vector<Arg> list; ///< elements; behind a Name: the second one of p|q
};

struct SourceLocation {
  uint32_t file = 0, line = 0, column = 0; ///< of .loc; line 0: none
};

struct Statement {
  llvm::StringRef opcode;
  std::optional<Arg> guard;
  std::vector<Arg> args;
  uint32_t line = 0;
  unsigned scope = 0;
  SourceLocation location;
};

/// A range of registers with a common name (`%r<8>`), or one register.
struct RegisterDecl {
  llvm::StringRef type;
  int64_t count = -1; ///< of a range
};

/// A pair of braces.
struct Scope {
  int parent = -1;
  llvm::StringMap<RegisterDecl> registers;
  llvm::StringMap<size_t> labels; ///< place of the next statement
};

/// A parameter of a kernel, or a variable in shared or global memory.
struct Variable {
  std::string name;
  int64_t size = 0, alignment = 1, offset = 0;
  std::vector<uint8_t> contents; ///< of a constant array
};

struct KernelText {
  std::string name;
  std::vector<Variable> params;
  std::vector<Variable> shared;
  int64_t threads = 0; ///< .maxntid or .reqntid; 0: unknown
  std::vector<Scope> scopes;
  std::vector<Statement> statements;
  uint32_t line = 0;
};

struct ModuleText {
  std::vector<KernelText> kernels;
  std::vector<Variable> shared; ///< .extern ones have size 0
  std::vector<Variable> global;
  std::vector<std::string> files; ///< of .file, by number
};

/// Reads PTX. On failure `error` says what is wrong, with the line.
std::optional<ModuleText> parseText(llvm::StringRef text, std::string &error);

} // namespace fa3::interp::ptx

#endif // FA3_LIB_INTERP_PTX_TEXT_H
