//===- AffineForm.h - index values as affine forms --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads index arithmetic, on scalars and on coordinate tiles, as affine forms,
// and proves inequalities between them. Analysis only.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_TILE_ANALYSIS_AFFINEFORM_H
#define FA3_DIALECT_TILE_ANALYSIS_AFFINEFORM_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace fa3::tile {

/// constant + sum of coefficient * atom, where an atom is a scalar index value
/// that is not read further (an argument, an extent, a quotient, ...).
struct AffineForm {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms;

  AffineForm() = default;
  AffineForm(int64_t constant) : constant(constant) {}

  void add(mlir::Value atom, int64_t coefficient);
  AffineForm &operator+=(const AffineForm &other);
  AffineForm operator+(const AffineForm &other) const;
  AffineForm operator-(const AffineForm &other) const;
  AffineForm operator*(int64_t factor) const;
  int64_t getCoefficient(mlir::Value atom) const;
  /// This form without the terms of `atom`.
  AffineForm without(mlir::Value atom) const;
  bool isConstant() const { return terms.empty(); }
};

/// A form over the elements of a tile: `base` plus, for every coordinate that
/// occurs, coefficient * r with r anywhere in [0, extent).
struct TileForm {
  AffineForm base;
  struct Coordinate {
    int64_t coefficient, extent;
    /// Whether r is the coordinate of the element itself, and not a quotient or
    /// remainder of it.
    bool isOwn = true;
  };
  llvm::SmallVector<Coordinate> coordinates;

  /// Whether the value is affine in the coordinates of the element.
  bool isAffine() const {
    return llvm::all_of(coordinates, [](Coordinate c) { return c.isOwn; });
  }

  /// Least and greatest value over all elements. Exact if each coordinate
  /// occurs once, otherwise an enclosure.
  AffineForm getLeast() const;
  AffineForm getGreatest() const;
};

/// The affine form of a scalar index value; every index value has one (in the
/// worst case the value itself is the atom).
AffineForm getAffineForm(mlir::Value value);

/// The form of an index tile built from coordinates, splats, broadcasts, affine
/// arithmetic and quotients and remainders of coordinates by constants (not
/// affine, but of known extent); nothing for other tiles.
std::optional<TileForm> getTileForm(mlir::Value value);

/// Emits the value of a form with index arithmetic.
mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc,
                        const AffineForm &form);

/// Proves form >= 0 for all values that the atoms can take, from what defines
/// them: extents are not negative, quotients and remainders by constants,
/// minima and maxima, bounds of enclosing loops. False means "no proof".
bool provesNonNegative(const AffineForm &form);

/// Proves that a form is a multiple of a positive constant, from coefficients
/// and from sums, products, minima, maxima and choices of multiples.
bool provesMultipleOf(const AffineForm &form, int64_t factor);

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_ANALYSIS_AFFINEFORM_H
