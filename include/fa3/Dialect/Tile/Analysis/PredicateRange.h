//===- PredicateRange.h - where a mask is all false or true -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// For a mask tile that depends on a loop's induction variable t: the range of t
// in which some element may hold, and one in which all elements hold. Elements
// are those of one replica; in a group of which one replica writes for all, or
// each a part, of all replicas, so that they keep step.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_TILE_ANALYSIS_PREDICATERANGE_H
#define FA3_DIALECT_TILE_ANALYSIS_PREDICATERANGE_H

#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include <memory>

namespace fa3::tile {

/// A bound of a range of t: minus or plus infinity, a quotient of an affine
/// form by a positive constant, or the minimum or maximum of bounds. Immutable.
class Bound {
public:
  static Bound negativeInfinity();
  static Bound positiveInfinity();
  /// ceil(form / divisor), or floor(form / divisor) + 1.
  static Bound ceilDiv(AffineForm form, int64_t divisor);
  static Bound floorDivPlusOne(AffineForm form, int64_t divisor);
  static Bound min(Bound a, Bound b);
  static Bound max(Bound a, Bound b);

  bool isNegativeInfinity() const { return kind == Kind::NegativeInfinity; }
  bool isPositiveInfinity() const { return kind == Kind::PositiveInfinity; }

  /// Emits the bound clamped to [least, greatest].
  mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value least, mlir::Value greatest) const;

  /// Whether bound <= value, or bound >= value, holds for certain.
  bool provesAtMost(const AffineForm &value) const;
  bool provesAtLeast(const AffineForm &value) const;
  /// The same of a value that may be a quotient, a minimum or a maximum, as
  /// what `materialize` emits.
  bool provesAtMost(mlir::Value value) const;
  /// Whether bound >= other holds for certain.
  bool provesAtLeast(const Bound &other) const;

private:
  enum class Kind { NegativeInfinity, PositiveInfinity, Ceil, Floor, Min, Max };
  explicit Bound(Kind kind) : kind(kind) {}
  static std::optional<Bound> absorb(const Bound &tree, const Bound &part,
                                     Kind kind);
  static Bound combine(Bound a, Bound b, Kind kind);
  bool compare(const Bound &other, unsigned &budget) const;
  Bound simplify(const AffineForm &least, const AffineForm &greatest) const;
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value least, mlir::Value greatest) const;

  Kind kind;
  AffineForm form;
  int64_t divisor = 1;
  std::shared_ptr<const Bound> lhs, rhs;
};

/// t with lower <= t < upper, if all of `conditions`, forms without t, are at
/// least 0; no t otherwise.
struct Interval {
  Bound lower, upper;
  llvm::SmallVector<AffineForm, 1> conditions = {};
  static Interval all();
  static Interval none();
  bool isAll() const {
    return lower.isNegativeInfinity() && upper.isPositiveInfinity() &&
           conditions.empty();
  }
  bool isNone() const {
    return lower.isPositiveInfinity() || upper.isNegativeInfinity();
  }
  /// Whether no t lies in it for certain.
  bool provesEmpty() const { return isNone() || lower.provesAtLeast(upper); }
};

/// What is known about a mask: outside `possible` no element holds, inside
/// `always` all elements do.
struct PredicateRange {
  Interval possible, always;
};

/// Scalars that the bounds of a loop are computed from, in front of it. What
/// nothing uses when this object ends is erased.
class LoopScalars {
public:
  /// `iv` is the induction variable of a loop.
  explicit LoopScalars(mlir::Value iv);
  ~LoopScalars();
  LoopScalars(const LoopScalars &) = delete;
  LoopScalars &operator=(const LoopScalars &) = delete;

  mlir::Value getInductionVar() const { return iv; }
  /// floor(numerator / divisor); the numerator does not change in the loop, the
  /// divisor is positive.
  AffineForm floorDiv(const AffineForm &numerator, int64_t divisor);

private:
  mlir::Value iv;
  mlir::OpBuilder builder;
  llvm::SmallVector<mlir::Operation *> emitted;
};

/// Classifies `mask` over the iterations of a loop, by the corners of the box
/// that the coordinates span: an affine inequality holds for all elements
/// exactly if it does at its worst corner. Of a quotient by a constant that
/// changes from iteration to iteration the inequality is solved for the
/// numerator; one that does not is monotone in its numerator. And, or, not,
/// select, minima, maxima, absolute values and constants combine; everything
/// else counts as unknown (possible everywhere, certain nowhere).
PredicateRange classifyPredicate(mlir::Value mask, LoopScalars &scalars);

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_ANALYSIS_PREDICATERANGE_H
