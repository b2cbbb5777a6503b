//===- ByteMatrices.h - 8-bit fragments by ldmatrix, stmatrix ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A matrix of ldmatrix and stmatrix is 8 rows of 16 bytes (PTX ISA, "ldmatrix",
// "stmatrix"). Of 8-bit elements these are 16 columns: a word, the part of a
// lane, holds four neighbors of a row, or with `.trans`, which exchanges rows
// and pairs of columns, two neighbors of each of two rows.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_BYTEMATRICES_H
#define FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_BYTEMATRICES_H

#include "SlotAddress.h"
#include "fa3/Layout/LinearLayout.h"

namespace fa3 {

/// How a fragment consists of such matrices.
struct ByteMatrices {
  using Basis = LinearLayout::Basis;

  /// The fragment's registers in the order of words: matrix by matrix.
  llvm::SmallVector<int64_t> order;
  /// Where the matrices of one instruction are: by bit of their number.
  llvm::SmallVector<Basis, 2> steps;
  /// Where the first matrix of every instruction is.
  llvm::SmallVector<Basis> instructions;
  /// Where the rows of a matrix are: by bit of their number.
  llvm::SmallVector<Basis, 3> rows;
  /// Where the part of a warp is: by bit of its number.
  llvm::SmallVector<Basis> warps;

  /// Rows with bit `row` of their number set are those of the matrix that
  /// differs in bit `step` of its number, and the other way round.
  struct Exchange {
    unsigned row, step;
  };
  /// Of two matrices in other rows than these, each keeps all of its rows in
  /// other banks.
  std::optional<Exchange> exchange;

  /// Matrices that one instruction moves.
  int64_t getPerInstruction() const { return int64_t(1) << steps.size(); }

  /// For every instruction the address that a lane gives, of row lane % 8 of
  /// matrix lane / 8, with an immediate. Windows at constant places differ in
  /// immediates and in one XOR, so that few registers hold addresses.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>>
  getAddresses(mlir::OpBuilder &builder, mlir::Location loc, SlotAddress &slot,
               mlir::Value lane, mlir::Value warp, mlir::Value row,
               mlir::Value column) const;

  /// The words of a fragment in the order of matrices, for stmatrix.
  llvm::SmallVector<mlir::Value> getWords(mlir::OpBuilder &builder,
                                          mlir::Location loc,
                                          mlir::Value fragment,
                                          mlir::Value lane) const;

  /// Exchanges rows if a matrix with all rows of its own meets the same banks
  /// more often in rows of `swizzle` bytes.
  void avoidConflicts(int64_t swizzle);
};

/// The matrices of an access to shared memory by this layout, which starts at
/// `column` of a slot; empty if the fragment does not consist of them.
std::optional<ByteMatrices> planByteMatrices(const LinearLayout &layout,
                                             bool transposed,
                                             mlir::Value column);

template <typename AccessOp>
std::optional<ByteMatrices> planByteMatrices(AccessOp op, bool transposed,
                                             mlir::Value column) {
  if (op.getWindowType().getElementBytes() != 1)
    return std::nullopt;
  return planByteMatrices(op.getFragment().getLayout(), transposed, column);
}

} // namespace fa3

#endif // FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_BYTEMATRICES_H
