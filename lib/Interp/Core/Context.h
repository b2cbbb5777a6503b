//===- Context.h - state of one thread of control ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a handler works on: the cells of its function, and who executes it.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_CORE_CONTEXT_H
#define FA3_LIB_INTERP_CORE_CONTEXT_H

#include "DecodedProgram.h"
#include "mlir/IR/Diagnostics.h"

namespace fa3::interp {

class Engine;
struct Cta;
struct Group;

struct Context {
  Engine &engine;
  Cell *cells;
  /// Null on the host.
  Cta *cta = nullptr;
  Group *group = nullptr;
  /// Depth of calls.
  unsigned depth = 0;

  int64_t integer(CellId cell) const { return cells[cell].i; }
  template <typename T>
  T &object(CellId cell) const {
    return static_cast<T &>(*cells[cell].object);
  }
  Buffer &buffer(CellId cell) const { return object<Buffer>(cell); }
  Array &array(CellId cell) const { return object<ArrayObject>(cell).array; }

  /// A buffer for a result. The one of the last execution is taken again if
  /// nothing else refers to it.
  Buffer &makeBuffer(CellId cell, Lane lane, int64_t count) const {
    Ref<Object> &object = cells[cell].object;
    if (object && object->UseCount() == 1) {
      Buffer &old = static_cast<Buffer &>(*object);
      if (old.getLane() == lane && old.size() == count)
        return old;
    }
    object = new Buffer(lane, count);
    return static_cast<Buffer &>(*object);
  }
  void set(CellId cell, Ref<Object> object) const {
    cells[cell].object = std::move(object);
  }

  /// Integers of several cells.
  llvm::SmallVector<int64_t> integers(llvm::ArrayRef<CellId> ids) const {
    llvm::SmallVector<int64_t> values;
    for (CellId cell : ids)
      values.push_back(cells[cell].i);
    return values;
  }

  /// An error at an operation, with a note that says who executed it.
  mlir::InFlightDiagnostic error(mlir::Operation *op) const;
  mlir::InFlightDiagnostic error(const Instr &instr) const {
    return error(instr.op);
  }
};

/// Executes the instructions of a block.
inline mlir::LogicalResult runCode(Context &context, const Code &code) {
  for (const Instr &instr : code.instrs)
    if (failed(instr.run(context, instr)))
      return mlir::failure();
  return mlir::success();
}

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_CORE_CONTEXT_H
