//===- DecodedProgram.h - decoded functions ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A function decoded once into instructions: a handler, the cells it reads and
// writes, and what it needs of the attributes.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_CORE_DECODEDPROGRAM_H
#define FA3_LIB_INTERP_CORE_DECODEDPROGRAM_H

#include "Value.h"
#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"
#include <memory>
#include <vector>

namespace fa3::interp {

struct Context;
struct Instr;

using CellId = uint32_t;
using Handler = mlir::LogicalResult (*)(Context &, const Instr &);

/// Decoded attributes and regions of an instruction.
struct Extra {
  virtual ~Extra() = default;
};

struct Instr {
  Handler run;
  mlir::Operation *op;
  llvm::ArrayRef<CellId> in, out;
  const Extra *extra = nullptr;
  /// Format of the result's elements: results are rounded or wrapped to it.
  Format format = Format::I64;

  template <typename T>
  const T &get() const {
    return static_cast<const T &>(*extra);
  }
};

/// Cells that are copied to other cells at once.
struct Moves {
  llvm::SmallVector<CellId> from, to;
  /// A source is overwritten before it is copied if done one by one.
  bool overlaps = false;

  void apply(Cell *cells) const {
    if (!overlaps) {
      for (size_t i = 0; i < from.size(); ++i)
        cells[to[i]] = cells[from[i]];
      return;
    }
    llvm::SmallVector<Cell> values;
    for (CellId cell : from)
      values.push_back(cells[cell]);
    for (size_t i = 0; i < to.size(); ++i)
      cells[to[i]] = std::move(values[i]);
  }
};

/// A decoded block. `yields` are the operands of its terminator.
struct Code {
  std::vector<Instr> instrs;
  llvm::SmallVector<CellId> arguments, yields;
};

/// A decoded function with everything its instructions refer to.
struct Function {
  mlir::Operation *op = nullptr;
  CellId numCells = 0;
  Code body;
  llvm::BumpPtrAllocator allocator;
  std::vector<std::unique_ptr<Extra>> extras;
};

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_CORE_DECODEDPROGRAM_H
