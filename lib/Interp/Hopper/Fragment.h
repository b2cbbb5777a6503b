//===- Fragment.h - which elements threads hold -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_INTERP_HOPPER_FRAGMENT_H
#define FA3_LIB_INTERP_HOPPER_FRAGMENT_H

#include "../Core/Decoder.h"
#include "../Tile/TileElements.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Layout/LinearLayout.h"

namespace fa3::interp {

/// Coordinates of the elements of a fragment in the order of a buffer:
/// register-major, all threads of a register together.
struct FragmentTable {
  FragmentTable() = default;
  explicit FragmentTable(const LinearLayout &layout);

  int64_t rank = 0, registers = 0, threads = 0;
  llvm::SmallVector<int32_t, 0> coordinates;
  /// The first of the threads that hold the same elements as a thread.
  llvm::SmallVector<int32_t, 0> owner;

  int64_t size() const { return registers * threads; }
  int32_t at(int64_t element, int64_t dim) const {
    return coordinates[element * rank + dim];
  }
};

/// What instructions on fragments know when they are decoded.
struct FragmentExtra : Extra {
  FragmentTable table;
  int64_t dim = 0, indices = 0, rank = 0;
  hopper::BufferType buffer;
  TileShape shape;
};

/// Checks that a layout is one of the executing group, and tabulates it.
mlir::FailureOr<FragmentExtra *> makeTable(Decoder &d, mlir::Operation *op,
                                           hopper::FragmentAttr fragment);

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_HOPPER_FRAGMENT_H
