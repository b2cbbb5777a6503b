//===- AffineForm.cpp - index values as affine forms ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "FormLimits.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

//===----------------------------------------------------------------------===//
// Arithmetic of forms
//===----------------------------------------------------------------------===//

void AffineForm::add(Value atom, int64_t coefficient) {
  for (auto *it = terms.begin(); it != terms.end(); ++it) {
    if (it->first != atom)
      continue;
    it->second += coefficient;
    if (it->second == 0)
      terms.erase(it);
    return;
  }
  if (coefficient != 0)
    terms.emplace_back(atom, coefficient);
}

AffineForm &AffineForm::operator+=(const AffineForm &other) {
  constant += other.constant;
  for (auto [atom, coefficient] : other.terms)
    add(atom, coefficient);
  return *this;
}

AffineForm AffineForm::operator+(const AffineForm &other) const {
  AffineForm sum = *this;
  sum += other;
  return sum;
}

AffineForm AffineForm::operator*(int64_t factor) const {
  AffineForm product(constant * factor);
  for (auto [atom, coefficient] : terms)
    product.add(atom, coefficient * factor);
  return product;
}

AffineForm AffineForm::operator-(const AffineForm &other) const {
  return *this + other * -1;
}

int64_t AffineForm::getCoefficient(Value atom) const {
  for (auto [value, coefficient] : terms)
    if (value == atom)
      return coefficient;
  return 0;
}

AffineForm AffineForm::without(Value atom) const {
  AffineForm rest = *this;
  rest.add(atom, -getCoefficient(atom));
  return rest;
}

AffineForm TileForm::getLeast() const {
  AffineForm least = base;
  for (Coordinate coordinate : coordinates)
    if (coordinate.coefficient < 0)
      least.constant += coordinate.coefficient * (coordinate.extent - 1);
  return least;
}

AffineForm TileForm::getGreatest() const {
  AffineForm greatest = base;
  for (Coordinate coordinate : coordinates)
    if (coordinate.coefficient > 0)
      greatest.constant += coordinate.coefficient * (coordinate.extent - 1);
  return greatest;
}

//===----------------------------------------------------------------------===//
// Reading the IR
//===----------------------------------------------------------------------===//

/// Operations that are read for one form. A tree of additions can be
/// exponentially larger than the operations that it consists of.
static constexpr unsigned kMostOperations = 256;

static std::optional<int64_t> getSmall(const APInt &constant) {
  std::optional<int64_t> value = constant.trySExtValue();
  return value && isSmall(*value) ? value : std::nullopt;
}

static AffineForm readForm(Value value, unsigned &budget) {
  AffineForm atom;
  atom.add(value, 1);
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    std::optional<int64_t> small = getSmall(constant);
    return small ? AffineForm(*small) : atom;
  }
  Operation *op = value.getDefiningOp();
  if (!isa_and_present<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) ||
      budget == 0)
    return atom;
  --budget;
  AffineForm lhs = readForm(op->getOperand(0), budget);
  AffineForm rhs = readForm(op->getOperand(1), budget);
  AffineForm form = atom;
  if (isa<arith::AddIOp>(op))
    form = lhs + rhs;
  else if (isa<arith::SubIOp>(op))
    form = lhs - rhs;
  else if (rhs.isConstant())
    form = lhs * rhs.constant;
  else if (lhs.isConstant())
    form = rhs * lhs.constant;
  return isSmall(form) ? form : atom;
}

AffineForm fa3::tile::getAffineForm(Value value) {
  unsigned budget = kMostOperations;
  return readForm(value, budget);
}

static std::optional<TileForm> combine(const TileForm &lhs, const TileForm &rhs,
                                       int64_t factor) {
  TileForm result = lhs;
  result.base += rhs.base * factor;
  for (TileForm::Coordinate coordinate : rhs.coordinates) {
    coordinate.coefficient *= factor;
    result.coordinates.push_back(coordinate);
  }
  if (!isSmall(result.base) ||
      !llvm::all_of(result.coordinates, [](TileForm::Coordinate coordinate) {
        return isSmall(coordinate.coefficient);
      }))
    return std::nullopt;
  return result;
}

/// The quotient or remainder of c * base + r, with r a coordinate, by a
/// constant c: base + (r div c) and r mod c. Nothing for other forms, and where
/// the numerator may be negative.
static std::optional<TileForm>
divide(const TileForm &numerator, const TileForm &divisor, bool isRemainder) {
  if (!divisor.coordinates.empty() || !divisor.base.isConstant() ||
      divisor.base.constant <= 0 || numerator.coordinates.size() != 1 ||
      numerator.coordinates.front().coefficient != 1 ||
      !provesNonNegative(numerator.base))
    return std::nullopt;
  int64_t c = divisor.base.constant;
  int64_t extent = numerator.coordinates.front().extent;
  AffineForm base(numerator.base.constant / c);
  for (auto [atom, coefficient] : numerator.base.terms)
    base.add(atom, coefficient / c);
  AffineForm rest = numerator.base - base * c;
  if (!rest.isConstant() || rest.constant != 0)
    return std::nullopt;
  TileForm form;
  if (isRemainder) {
    form.coordinates.push_back({1, std::min(extent, c), /*isOwn=*/false});
    return form;
  }
  form.base = base;
  form.coordinates.push_back({1, (extent + c - 1) / c, /*isOwn=*/false});
  return form;
}

static std::optional<TileForm> readTileForm(Value value, unsigned &budget) {
  Operation *op = value.getDefiningOp();
  // Other integers wrap around, which forms do not know.
  if (!op || !getElementTypeOrSelf(value.getType()).isIndex() || budget == 0)
    return std::nullopt;
  --budget;
  TileForm form;
  DenseIntElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant))) {
    if (!constant.isSplat())
      return std::nullopt;
    std::optional<int64_t> small = getSmall(constant.getSplatValue<APInt>());
    if (!small)
      return std::nullopt;
    form.base.constant = *small;
    return form;
  }
  if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    form.base = readForm(splat.getInput(), budget);
    return form;
  }
  if (auto coord = dyn_cast<CoordOp>(op)) {
    form.base = readForm(coord.getOffset(), budget);
    form.coordinates.push_back(
        {1, coord.getResult().getType().getDimSize(coord.getDim())});
    return form;
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return readTileForm(broadcast.getSource(), budget);
  bool isQuotient = isa<arith::DivUIOp, arith::DivSIOp>(op);
  bool isRemainder = isa<arith::RemUIOp, arith::RemSIOp>(op);
  if (!isQuotient && !isRemainder &&
      !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;

  std::optional<TileForm> lhs = readTileForm(op->getOperand(0), budget);
  std::optional<TileForm> rhs = readTileForm(op->getOperand(1), budget);
  if (!lhs || !rhs)
    return std::nullopt;
  if (isQuotient || isRemainder)
    return divide(*lhs, *rhs, isRemainder);
  if (isa<arith::AddIOp>(op))
    return combine(*lhs, *rhs, 1);
  if (isa<arith::SubIOp>(op))
    return combine(*lhs, *rhs, -1);
  if (!rhs->coordinates.empty() || !rhs->base.isConstant())
    std::swap(lhs, rhs);
  if (!rhs->coordinates.empty() || !rhs->base.isConstant())
    return std::nullopt;
  return combine(TileForm(), *lhs, rhs->base.constant);
}

std::optional<TileForm> fa3::tile::getTileForm(Value value) {
  unsigned budget = kMostOperations;
  return readTileForm(value, budget);
}

Value fa3::tile::materialize(OpBuilder &builder, Location loc,
                             const AffineForm &form) {
  Value sum;
  for (auto [atom, coefficient] : form.terms) {
    Value term = atom;
    bool subtract = sum && coefficient == -1;
    if (coefficient != 1 && !subtract)
      term = arith::MulIOp::create(
          builder, loc, atom,
          arith::ConstantIndexOp::create(builder, loc, coefficient));
    if (!sum)
      sum = term;
    else if (subtract)
      sum = arith::SubIOp::create(builder, loc, sum, term);
    else
      sum = arith::AddIOp::create(builder, loc, sum, term);
  }
  if (sum && form.constant == 0)
    return sum;
  Value constant = arith::ConstantIndexOp::create(builder, loc, form.constant);
  return sum ? arith::AddIOp::create(builder, loc, sum, constant).getResult()
             : constant;
}

//===----------------------------------------------------------------------===//
// Proofs
//===----------------------------------------------------------------------===//

namespace {
/// Collects what is known about atoms as integer constraints and asks
/// Presburger whether the contrary of a claim has a solution.
class Prover {
public:
  explicit Prover(const AffineForm &claim) {
    for (auto [atom, coefficient] : claim.terms)
      define(atom, /*depth=*/0);
    // The claim fails where -claim - 1 >= 0.
    require(claim * -1 + AffineForm(-1));
  }

  bool isContradictory() {
    presburger::IntegerRelation relation(
        presburger::PresburgerSpace::getSetSpace(columns.size()));
    for (const AffineForm &form : facts) {
      SmallVector<int64_t> row(columns.size() + 1, 0);
      for (auto [atom, coefficient] : form.terms)
        row[columns.find(atom)->second] = coefficient;
      row.back() = form.constant;
      relation.addInequality(row);
    }
    return relation.isIntegerEmpty();
  }

private:
  /// Bounds the effort: definitions of definitions are rarely needed.
  static constexpr int kMaxDepth = 8;

  void require(const AffineForm &form) {
    for (auto [atom, coefficient] : form.terms)
      columns.insert({atom, columns.size()});
    facts.push_back(form);
  }

  AffineForm atom(Value value) {
    AffineForm form;
    form.add(value, 1);
    return form;
  }

  AffineForm read(Value value, int depth) {
    AffineForm form = getAffineForm(value);
    for (auto [inner, coefficient] : form.terms)
      define(inner, depth + 1);
    return form;
  }

  /// Adds what the defining operation of `value` says about it.
  void define(Value value, int depth) {
    if (depth > kMaxDepth || !columns.insert({value, columns.size()}).second)
      return;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(parent)) {
        if (argument != loop.getInductionVar())
          return;
        require(atom(value) - read(loop.getLowerBound(), depth));
        require(read(loop.getUpperBound(), depth) - atom(value) +
                AffineForm(-1));
      } else if (auto grid = dyn_cast<GridOp>(parent)) {
        Value bound = grid.getUpperBounds()[argument.getArgNumber()];
        require(atom(value));
        require(read(bound, depth) - atom(value) + AffineForm(-1));
      } else if (auto group = dyn_cast<warp::GroupOp>(parent)) {
        require(atom(value));
        require(AffineForm(group.getReplicas() - 1) - atom(value));
      }
      return;
    }
    Operation *op = value.getDefiningOp();
    llvm::TypeSwitch<Operation *>(op)
        .Case<memref::DimOp, gpu::BlockIdOp, gpu::GridDimOp, SmCountOp, ShareOp,
              ClaimOp, SearchOp>([&](auto) { require(atom(value)); })
        .Case<arith::CeilDivSIOp>(
            [&](auto div) { defineQuotient(div, depth, /*ceil=*/true); })
        .Case<arith::FloorDivSIOp>(
            [&](auto div) { defineQuotient(div, depth, /*ceil=*/false); })
        .Case<arith::MaxSIOp>([&](auto max) {
          require(atom(value) - read(max.getLhs(), depth));
          require(atom(value) - read(max.getRhs(), depth));
        })
        .Case<arith::MinSIOp>([&](auto min) {
          require(read(min.getLhs(), depth) - atom(value));
          require(read(min.getRhs(), depth) - atom(value));
        });
  }

  template <typename DivOp>
  void defineQuotient(DivOp div, int depth, bool ceil) {
    AffineForm divisor = getAffineForm(div.getRhs());
    if (!divisor.isConstant() || divisor.constant <= 0)
      return;
    int64_t d = divisor.constant;
    AffineForm q = atom(div.getResult()) * d;
    AffineForm numerator = read(div.getLhs(), depth);
    if (ceil) { // n <= d * q <= n + d - 1
      require(q - numerator);
      require(numerator + AffineForm(d - 1) - q);
    } else { // n - d + 1 <= d * q <= n
      require(numerator - q);
      require(q - numerator + AffineForm(d - 1));
    }
  }

  llvm::SmallMapVector<Value, unsigned, 8> columns;
  SmallVector<AffineForm> facts;
};
} // namespace

bool fa3::tile::provesNonNegative(const AffineForm &form) {
  if (form.isConstant())
    return form.constant >= 0;
  return Prover(form).isContradictory();
}

//===----------------------------------------------------------------------===//
// Multiples
//===----------------------------------------------------------------------===//

static bool isMultipleOf(Value value, int64_t factor) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue() % factor == 0;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MinSIOp,
                      arith::MaxSIOp>(op))
    return isMultipleOf(op->getOperand(0), factor) &&
           isMultipleOf(op->getOperand(1), factor);
  if (isa_and_nonnull<arith::MulIOp>(op))
    return isMultipleOf(op->getOperand(0), factor) ||
           isMultipleOf(op->getOperand(1), factor);
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return isMultipleOf(select.getTrueValue(), factor) &&
           isMultipleOf(select.getFalseValue(), factor);
  return false;
}

bool fa3::tile::provesMultipleOf(const AffineForm &form, int64_t factor) {
  return form.constant % factor == 0 &&
         llvm::all_of(form.terms, [&](auto term) {
           return term.second % factor == 0 || isMultipleOf(term.first, factor);
         });
}
