//===- LinearLayout.h - where the elements of a tile live -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The normal form of every register layout: which element of a tile each
// (register, lane, warp) of a warp group holds. Plain data, no IR.
//===----------------------------------------------------------------------===//

#ifndef FA3_LAYOUT_LINEARLAYOUT_H
#define FA3_LAYOUT_LINEARLAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace fa3 {

/// A map from (register, lane, warp) to the coordinates of a tile of `shape`.
///
/// Every bit of the three indices contributes a fixed offset (its basis) and
/// the contributions add up. Extents that are no power of two carry an odd
/// factor: trailing register digits (`repeats`) count it. The representation is
/// unique, so two layouts are the same map exactly when they compare equal.
/// A basis of zeros means that the elements are replicated over that bit.
class LinearLayout {
public:
  using Basis = llvm::SmallVector<int64_t, 2>;

  /// `count` (odd, > 1) further registers, `stride` elements apart along `dim`.
  struct Repeat {
    unsigned dim;
    int64_t stride;
    int64_t count;
    bool operator==(const Repeat &o) const {
      return dim == o.dim && stride == o.stride && count == o.count;
    }
  };

  LinearLayout(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Basis> reg,
               llvm::ArrayRef<Basis> lane, llvm::ArrayRef<Basis> warp,
               llvm::ArrayRef<Repeat> repeats);

  /// The fp32 accumulator of wgmma m64nNk* held by one warp group (PTX ISA,
  /// "wgmma.mma_async.m64nNk16", register fragment for D). rows must be a
  /// power-of-two multiple of 64, columns a multiple of 8.
  static std::optional<LinearLayout> accumulator(int64_t rows, int64_t columns);

  /// The A operand of wgmma m64nNk*, for elements of `bits` bits (16 or 8).
  static std::optional<LinearLayout> operandA(int64_t rows, int64_t columns,
                                              unsigned bits);

  /// The layout in which a warp group of two warps brings 8-bit elements from
  /// rows to columns: `ldmatrix.trans` gives it, and after `transposed` and
  /// with the rows relabeled by [0, 3, 1, 2] `stmatrix` takes it. rows must be
  /// a multiple of 32, columns one of 16.
  static std::optional<LinearLayout> transposing(int64_t rows, int64_t columns);

  /// The layout after renaming coordinates along `dim`: bit i of the new one is
  /// bit bits[i] of the old one, higher bits stay. Each register keeps its
  /// element. Empty if a repeat has a stride that is no multiple of 2^bits.
  std::optional<LinearLayout> relabeled(unsigned dim,
                                        llvm::ArrayRef<int64_t> bits) const;
  /// The layout of the transposed tile; rank 2. Each register keeps its
  /// element.
  LinearLayout transposed() const;

  /// For every register of this layout the register of `from` that holds the
  /// same element in the same thread; empty if some thread would need an
  /// element of another one.
  std::optional<llvm::SmallVector<int64_t>>
  getRegistersIn(const LinearLayout &from) const;

  /// The same elements as those of a tile whose first dimension is two: element
  /// x of it is at (x div inner, x mod inner). inner is a power of two that
  /// divides the extent.
  LinearLayout folded(int64_t inner) const;

  /// What is left of this layout after dropping dimension `dim`: registers that
  /// differ only along `dim` become one, lanes that do become replicas.
  LinearLayout slice(unsigned dim) const;

  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  unsigned getRank() const { return shape.size(); }
  llvm::ArrayRef<Basis> getRegisterBases() const { return reg; }
  llvm::ArrayRef<Basis> getLaneBases() const { return lane; }
  llvm::ArrayRef<Basis> getWarpBases() const { return warp; }
  llvm::ArrayRef<Repeat> getRepeats() const { return repeats; }

  /// Registers a thread holds.
  int64_t getNumRegisters() const;
  unsigned getNumWarps() const { return 1u << warp.size(); }

  /// Coordinates of register `r` relative to those of register 0.
  Basis getRegisterOffset(int64_t r) const;
  /// Coordinates of register 0 of a thread.
  Basis getThreadOffset(unsigned lane, unsigned warp) const;

  /// Lane bits over which elements that share all coordinates but `dim` are
  /// spread: a reduction along `dim` ends with one exchange per such bit.
  llvm::SmallVector<unsigned> getLaneBitsAlong(unsigned dim) const;
  /// Whether some warp bit moves along `dim`.
  bool crossesWarpsAlong(unsigned dim) const;

  bool operator==(const LinearLayout &o) const;
  bool operator!=(const LinearLayout &o) const { return !(*this == o); }

  void print(llvm::raw_ostream &os) const;
  std::string str() const;

private:
  llvm::SmallVector<int64_t, 2> shape;
  llvm::SmallVector<Basis> reg, lane, warp;
  llvm::SmallVector<Repeat> repeats;
};

} // namespace fa3

#endif // FA3_LAYOUT_LINEARLAYOUT_H
