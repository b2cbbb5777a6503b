//===- QuotientForm.cpp - sums of coordinates and quotients ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/Analysis/QuotientForm.h"
#include "FormLimits.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Operations that are read for one form, and quotients in it.
static constexpr unsigned kMostSteps = 64, kMostQuotients = 8;

/// Adds factor * other to `form`; false if numbers get too large.
static bool addScaled(TileForm &form, const TileForm &other, int64_t factor) {
  if (!isSmall(factor))
    return false;
  form.base += other.base * factor;
  for (TileForm::Coordinate coordinate : other.coordinates) {
    coordinate.coefficient *= factor;
    form.coordinates.push_back(coordinate);
  }
  return isSmall(form.base.constant) &&
         llvm::all_of(form.base.terms,
                      [](auto term) { return isSmall(term.second); }) &&
         llvm::all_of(form.coordinates, [](TileForm::Coordinate coordinate) {
           return isSmall(coordinate.coefficient);
         });
}

bool QuotientForm::add(const QuotientForm &other, int64_t factor) {
  if (!addScaled(rest, other.rest, factor))
    return false;
  for (Quotient quotient : other.quotients) {
    quotient.coefficient *= factor;
    quotients.push_back(quotient);
  }
  return quotients.size() <= kMostQuotients &&
         llvm::all_of(quotients, [](const Quotient &quotient) {
           return isSmall(quotient.coefficient);
         });
}

/// Greatest coefficient of a scalar in the form.
static int64_t getGreatestCoefficient(const AffineForm &form) {
  int64_t greatest = 1;
  for (auto [atom, coefficient] : form.terms)
    greatest = std::max(greatest, std::abs(coefficient));
  return greatest;
}

/// Divides the inequality form >= 0 by what all coefficients have in common.
static void normalize(QuotientForm &form) {
  int64_t common = 0;
  for (auto [atom, coefficient] : form.rest.base.terms)
    common = std::gcd(common, coefficient);
  for (TileForm::Coordinate coordinate : form.rest.coordinates)
    common = std::gcd(common, coordinate.coefficient);
  for (const QuotientForm::Quotient &quotient : form.quotients)
    common = std::gcd(common, quotient.coefficient);
  if (common <= 1)
    return;
  AffineForm &base = form.rest.base;
  base.constant = llvm::divideFloorSigned(base.constant, common);
  for (auto &[atom, coefficient] : base.terms)
    coefficient /= common;
  for (TileForm::Coordinate &coordinate : form.rest.coordinates)
    coordinate.coefficient /= common;
  for (QuotientForm::Quotient &quotient : form.quotients)
    quotient.coefficient /= common;
}

bool QuotientForm::solveFor(
    Quotient *quotient, llvm::function_ref<bool(const AffineForm &)> isFixed) {
  Quotient solved = *quotient;
  quotients.erase(quotient);
  int64_t c = solved.divisor;
  int64_t greatest = std::max(getGreatestCoefficient(rest.base),
                              getGreatestCoefficient(solved.numerator.base));
  bool isAlone = llvm::all_of(quotients,
                              [&](const Quotient &other) {
                                return isFixed(other.numerator.base);
                              }) &&
                 isFixed(rest.base);
  QuotientForm result;
  if (isAlone && solved.coefficient == 1) {
    // floor(n / c) >= -r  iff  n >= -r * c.
    result.rest = solved.numerator;
    if (!result.add(*this, c))
      return false;
  } else if (isAlone && solved.coefficient == -1) {
    // floor(n / c) <= r  iff  n < (r + 1) * c.
    if (!addScaled(result.rest, solved.numerator, -1) || !result.add(*this, c))
      return false;
    result.rest.base.constant += c - 1;
  } else {
    // c * floor(n / c) is n - x with x somewhere from 0 to c - 1.
    if (!addScaled(result.rest, solved.numerator, solved.coefficient) ||
        !result.add(*this, c))
      return false;
    result.rest.coordinates.push_back(
        {-solved.coefficient, c, /*isOwn=*/false});
  }
  normalize(result);
  *this = std::move(result);
  // A product that was not there might not fit the 32 bits of an index. That of
  // a quotient and at most its divisor is about the numerator.
  return getGreatestCoefficient(rest.base) <= greatest &&
         llvm::all_of(quotients, [](const Quotient &other) {
           return std::abs(other.coefficient) <= other.divisor;
         });
}

/// floor(dividend / divisor) as one quotient; a quotient of a quotient is one
/// by the product.
static std::optional<QuotientForm> divide(const QuotientForm &dividend,
                                          int64_t divisor) {
  QuotientForm form;
  if (dividend.quotients.empty()) {
    form.quotients.push_back({1, dividend.rest, divisor});
    return form;
  }
  const QuotientForm::Quotient &inner = dividend.quotients.front();
  const TileForm &rest = dividend.rest;
  if (dividend.quotients.size() != 1 || inner.coefficient != 1 ||
      !rest.coordinates.empty() || !rest.base.isConstant() ||
      rest.base.constant != 0 || divisor > kLargestNumber / inner.divisor)
    return std::nullopt;
  form.quotients.push_back({1, inner.numerator, inner.divisor * divisor});
  return form;
}

/// Whether no element is negative for certain.
static bool provesNonNegative(const QuotientForm &form) {
  // Quotients are not negative where their numerators are not.
  return tile::provesNonNegative(form.rest.getLeast()) &&
         llvm::all_of(
             form.quotients, [](const QuotientForm::Quotient &quotient) {
               return quotient.coefficient > 0 &&
                      tile::provesNonNegative(quotient.numerator.getLeast());
             });
}

/// Whether a value is a coordinate, or a quotient or remainder of one by a
/// constant above 0: coordinates are at least 0 by contract.
static bool isCoordinate(Value value, unsigned depth = 8) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<CoordOp>(op))
    return true;
  if (isa<BroadcastOp>(op))
    return isCoordinate(op->getOperand(0), depth - 1);
  APInt divisor;
  return isa<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp,
             arith::RemSIOp, arith::RemUIOp>(op) &&
         matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
         divisor.isStrictlyPositive() &&
         isCoordinate(op->getOperand(0), depth - 1);
}

static std::optional<QuotientForm> readQuotientForm(Value value,
                                                    unsigned &budget) {
  if (budget == 0)
    return std::nullopt;
  --budget;
  if (std::optional<TileForm> plain = getTileForm(value))
    return QuotientForm{*plain, {}};
  Operation *op = value.getDefiningOp();
  if (!op || !getElementTypeOrSelf(value.getType()).isIndex())
    return std::nullopt;
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return readQuotientForm(broadcast.getSource(), budget);
  bool isSum = isa<arith::AddIOp, arith::SubIOp>(op);
  bool isQuotient =
      isa<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(op);
  bool isRemainder = isa<arith::RemSIOp, arith::RemUIOp>(op);
  if (!isSum && !isQuotient && !isRemainder && !isa<arith::MulIOp>(op))
    return std::nullopt;
  std::optional<QuotientForm> lhs = readQuotientForm(op->getOperand(0), budget),
                              rhs = readQuotientForm(op->getOperand(1), budget);
  if (!lhs || !rhs)
    return std::nullopt;
  if (isSum)
    return lhs->add(*rhs, isa<arith::AddIOp>(op) ? 1 : -1) ? lhs : std::nullopt;

  auto getConstant = [](const QuotientForm &form) -> std::optional<int64_t> {
    if (!form.quotients.empty() || !form.rest.coordinates.empty() ||
        !form.rest.base.isConstant())
      return std::nullopt;
    return form.rest.base.constant;
  };
  std::optional<int64_t> number = getConstant(*rhs);
  if (isa<arith::MulIOp>(op)) {
    if (!number) {
      std::swap(lhs, rhs);
      number = getConstant(*rhs);
    }
    QuotientForm product;
    return number && product.add(*lhs, *number) ? std::optional(product)
                                                : std::nullopt;
  }
  bool isFloor = isa<arith::FloorDivSIOp>(op);
  if (!number || *number <= 0 ||
      (!isFloor && !isCoordinate(op->getOperand(0)) &&
       !provesNonNegative(*lhs)))
    return std::nullopt;
  std::optional<QuotientForm> quotient = divide(*lhs, *number);
  if (!isRemainder || !quotient)
    return quotient;
  return lhs->add(*quotient, -*number) ? lhs : std::nullopt;
}

std::optional<QuotientForm> fa3::tile::getQuotientForm(Value value) {
  unsigned budget = kMostSteps;
  return readQuotientForm(value, budget);
}
