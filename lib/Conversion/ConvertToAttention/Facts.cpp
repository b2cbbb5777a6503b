//===- Facts.cpp - what is known of integer code --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Facts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa3::convert;

bool Linear::operator==(const Linear &other) const {
  // The order may differ.
  return constant == other.constant && terms.size() == other.terms.size() &&
         llvm::all_of(terms, [&](const auto &term) {
           return llvm::is_contained(other.terms, term);
         });
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

static bool isInteger(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return type.isIndex() || (integer && integer.getWidth() <= 64);
}

/// The numbers of a type, signed but for conditions.
static std::pair<int64_t, int64_t> getLimits(Type type) {
  if (type.isInteger(1))
    return {0, 1};
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return {llvm::minIntN(bits), llvm::maxIntN(bits)};
}

void Facts::setRange(Value value, int64_t least, int64_t greatest) {
  givenRanges[value] = {least, greatest};
}

void Facts::forget() {
  forms.clear();
  ranges.clear();
  atoms.clear();
}

Facts::Range Facts::getAtomRange(Value atom) const {
  for (const auto *known : {&givenRanges, &ranges})
    if (auto at = known->find(atom); at != known->end())
      return at->second;
  auto [least, greatest] = getLimits(atom.getType());
  return {least, greatest};
}

Facts::Range Facts::getRange(const Linear &form) const {
  Range sum{form.constant, form.constant};
  for (auto [atom, factor] : form.terms) {
    Range own = getAtomRange(atom);
    __int128 low = own.least * factor, high = own.greatest * factor;
    sum.least += std::min(low, high);
    sum.greatest += std::max(low, high);
  }
  return sum;
}

bool Facts::fits(const Linear &form, Type type) const {
  auto [least, greatest] = getLimits(type);
  Range range = getRange(form);
  return range.least >= least && range.greatest <= greatest;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// a + factor * b; nothing where 64 bits do not hold it.
std::optional<Linear> Facts::combine(const Linear &a, int64_t factor,
                                     const Linear &b) const {
  Linear sum = a;
  int64_t product;
  if (llvm::MulOverflow(b.constant, factor, product) ||
      llvm::AddOverflow(sum.constant, product, sum.constant))
    return std::nullopt;
  for (auto [atom, own] : b.terms) {
    if (llvm::MulOverflow(own, factor, product))
      return std::nullopt;
    auto *at = llvm::find_if(sum.terms, [atom = atom](const auto &term) {
      return term.first == atom;
    });
    if (at == sum.terms.end())
      sum.terms.push_back({atom, product});
    else if (llvm::AddOverflow(at->second, product, at->second))
      return std::nullopt;
  }
  llvm::erase_if(sum.terms, [](const auto &term) { return term.second == 0; });
  return sum;
}

/// Whether two values are surely the same.
bool Facts::isSame(Value a, Value b) {
  if (a == b)
    return true;
  if (a.getType() != b.getType())
    return false;
  if (isInteger(a.getType()))
    return getForm(a) == getForm(b);
  Attribute first, second;
  if (matchPattern(a, m_Constant(&first)) &&
      matchPattern(b, m_Constant(&second)))
    return first == second;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  return x && y && depth < 64 && x->getNumResults() == 1 &&
         x->getName() == y->getName() && isPure(x) &&
         x->getAttrDictionary() == y->getAttrDictionary() &&
         x->getNumOperands() == y->getNumOperands() &&
         llvm::all_of(
             llvm::zip(x->getOperands(), y->getOperands()),
             [&](auto pair) {
               ++depth;
               bool same = isSame(std::get<0>(pair), std::get<1>(pair));
               --depth;
               return same;
             });
}

Linear Facts::makeAtom(Value value, std::optional<Range> range) {
  Operation *op = value.getDefiningOp();
  if (op && op->getNumResults() == 1)
    for (Value known : atoms) {
      Operation *other = known.getDefiningOp();
      if (other->getName() != op->getName() ||
          known.getType() != value.getType() ||
          other->getAttrDictionary() != op->getAttrDictionary() ||
          other->getNumOperands() != op->getNumOperands() || !isPure(op))
        continue;
      if (llvm::all_of(llvm::zip(op->getOperands(), other->getOperands()),
                       [&](auto pair) {
                         return isSame(std::get<0>(pair), std::get<1>(pair));
                       }))
        return {0, {{known, 1}}};
    }
  if (op)
    atoms.push_back(value);
  if (range)
    ranges[value] = *range;
  return {0, {{value, 1}}};
}

/// A quotient by a positive constant, rounded down, or what remains.
Linear Facts::computeQuotient(Operation *op, Value value, bool isRest) {
  Linear dividend = getForm(op->getOperand(0));
  auto divisor = getConstant(op->getOperand(1));
  Range range = getRange(dividend);
  bool isFloor = isa<arith::FloorDivSIOp>(op);
  if (!divisor || *divisor < 1 || (!isFloor && range.least < 0))
    return makeAtom(value);
  // Multiples of the divisor come out, if the rest is smaller than it.
  Linear whole, rest;
  rest.constant = ((dividend.constant % *divisor) + *divisor) % *divisor;
  whole.constant = (dividend.constant - rest.constant) / *divisor;
  for (auto [atom, factor] : dividend.terms) {
    if (factor % *divisor == 0)
      whole.terms.push_back({atom, factor / *divisor});
    else
      rest.terms.push_back({atom, factor});
  }
  Range inner = getRange(rest);
  if (inner.least >= 0 && inner.greatest < *divisor)
    return isRest ? rest : whole;
  if (isRest)
    return makeAtom(value, Range{0, *divisor - 1});
  auto divide = [&](__int128 number) -> __int128 {
    __int128 quotient = number / *divisor;
    return number % *divisor < 0 ? quotient - 1 : quotient;
  };
  return makeAtom(value, Range{divide(range.least), divide(range.greatest)});
}

/// Not a condition.
static Linear negate(Linear form) {
  form.constant = 1 - form.constant;
  for (auto &term : form.terms)
    term.second = -term.second;
  return form;
}

Linear Facts::computeChoice(Operation *op, Value value) {
  Value condition = op->getOperand(0);
  Linear chosen = getForm(op->getOperand(1)),
         other = getForm(op->getOperand(2));
  if (auto known = getConstant(condition))
    return *known ? chosen : other;
  if (chosen == other)
    return chosen;
  // A condition itself.
  if (value.getType().isInteger(1) && chosen.terms.empty() &&
      other.terms.empty())
    return chosen.constant ? getForm(condition) : negate(getForm(condition));
  // Where only one number has the first value, and the second is the same for
  // it.
  if (auto compare = condition.getDefiningOp<arith::CmpIOp>()) {
    auto difference =
        combine(getForm(compare.getLhs()), -1, getForm(compare.getRhs()));
    if (difference && difference->terms.size() == 1) {
      auto [atom, factor] = difference->terms.front();
      Range range = getAtomRange(atom);
      using arith::CmpIPredicate;
      CmpIPredicate predicate = compare.getPredicate();
      std::optional<int64_t> only;
      if (predicate == CmpIPredicate::eq && difference->constant % factor == 0)
        only = -difference->constant / factor;
      // The atom is below a bound, and cannot be below its least number.
      if (factor == 1 && (predicate == CmpIPredicate::slt ||
                          predicate == CmpIPredicate::sle)) {
        __int128 last = -static_cast<__int128>(difference->constant) -
                        (predicate == CmpIPredicate::slt);
        if (last == range.least)
          only = static_cast<int64_t>(last);
      }
      auto substitute = [&](const Linear &form) -> std::optional<Linear> {
        Linear rest = form;
        int64_t own = 0;
        llvm::erase_if(rest.terms, [&, atom = atom](const auto &term) {
          if (term.first == atom)
            own = term.second;
          return term.first == atom;
        });
        return combine(rest, own, Linear{*only, {}});
      };
      if (only) {
        auto first = substitute(chosen), second = substitute(other);
        if (first && second && *first == *second)
          return other;
      }
    }
  }
  Range a = getRange(chosen), b = getRange(other);
  return makeAtom(value, Range{std::min(a.least, b.least),
                               std::max(a.greatest, b.greatest)});
}

/// The number that a float is.
static std::optional<APFloat> getFloat(Facts &facts, Value value,
                                       unsigned depth = 0) {
  APFloat number(0.0);
  Operation *op = value.getDefiningOp();
  if (matchPattern(value, m_ConstantFloat(&number)))
    return number;
  if (!op || depth > 4)
    return std::nullopt;
  bool dropped;
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    auto inner = getFloat(facts, op->getOperand(0), depth + 1);
    if (inner)
      inner->convert(cast<FloatType>(value.getType()).getFloatSemantics(),
                     APFloat::rmNearestTiesToEven, &dropped);
    return inner;
  }
  if (!isa<arith::SIToFPOp>(op))
    return std::nullopt;
  auto integer = facts.getConstant(op->getOperand(0));
  if (!integer || op->getOperand(0).getType().isInteger(1))
    return std::nullopt;
  number = APFloat(cast<FloatType>(value.getType()).getFloatSemantics());
  number.convertFromAPInt(APInt(64, *integer, /*isSigned=*/true),
                          /*IsSigned=*/true, APFloat::rmNearestTiesToEven);
  return number;
}

/// A comparison of a choice between two numbers with a third.
Linear Facts::computeFloatComparison(Operation *op, Value value) {
  auto compare = cast<arith::CmpFOp>(op);
  Value choice = compare.getLhs();
  bool widens = false;
  while (auto ext = choice.getDefiningOp<arith::ExtFOp>()) {
    choice = ext.getIn();
    widens = true;
  }
  auto select = choice.getDefiningOp<arith::SelectOp>();
  auto bound = getFloat(*this, compare.getRhs());
  if (!select || !bound)
    return makeAtom(value);
  std::optional<APFloat> numbers[] = {getFloat(*this, select.getTrueValue()),
                                      getFloat(*this, select.getFalseValue())};
  bool holds[2];
  for (auto [number, result] : llvm::zip(numbers, holds)) {
    if (!number)
      return makeAtom(value);
    bool dropped;
    if (widens)
      number->convert(bound->getSemantics(), APFloat::rmNearestTiesToEven,
                      &dropped);
    result = arith::applyCmpPredicate(compare.getPredicate(), *number, *bound);
  }
  if (holds[0] == holds[1])
    return {holds[0], {}};
  Linear condition = getForm(select.getCondition());
  return holds[0] ? condition : negate(condition);
}

/// And, or, exclusive or of conditions.
Linear Facts::computeLogic(Operation *op, Value value) {
  if (!value.getType().isInteger(1))
    return makeAtom(value);
  auto first = getConstant(op->getOperand(0)),
       second = getConstant(op->getOperand(1));
  Linear lhs = getForm(op->getOperand(0)), rhs = getForm(op->getOperand(1));
  bool isAnd = isa<arith::AndIOp>(op), isOr = isa<arith::OrIOp>(op);
  if (isAnd || isOr) {
    // What decides, and what changes nothing.
    int64_t strong = isAnd ? 0 : 1;
    if (first == strong || second == strong)
      return {strong, {}};
    if (first)
      return rhs;
    if (second || lhs == rhs)
      return lhs;
    return makeAtom(value);
  }
  if (first && second)
    return {*first ^ *second, {}};
  if (lhs == rhs)
    return {0, {}};
  if (first == 0 || second == 0)
    return first == 0 ? rhs : lhs;
  if (first == 1 || second == 1)
    return negate(first == 1 ? rhs : lhs);
  return makeAtom(value);
}

Linear Facts::computeComparison(Operation *op, Value value) {
  auto compare = cast<arith::CmpIOp>(op);
  if (!isInteger(compare.getLhs().getType()))
    return makeAtom(value);
  Linear lhs = getForm(compare.getLhs()), rhs = getForm(compare.getRhs());
  auto difference = combine(lhs, -1, rhs);
  if (!difference)
    return makeAtom(value);
  Range range = getRange(*difference);
  using arith::CmpIPredicate;
  CmpIPredicate predicate = compare.getPredicate();
  bool isUnsigned =
      predicate == CmpIPredicate::ult || predicate == CmpIPredicate::ule ||
      predicate == CmpIPredicate::ugt || predicate == CmpIPredicate::uge;
  // Conditions are 0 and 1 in a form, 0 and -1 in a signed comparison.
  bool isCondition = compare.getLhs().getType().isInteger(1);
  if (isUnsigned && (getRange(lhs).least < 0 || getRange(rhs).least < 0))
    return makeAtom(value);
  if (isCondition && !isUnsigned && predicate != CmpIPredicate::eq &&
      predicate != CmpIPredicate::ne)
    return makeAtom(value);
  // Whether it is surely so, or surely not.
  std::pair<bool, bool> known;
  switch (predicate) {
  case CmpIPredicate::eq:
    known = {range.least == 0 && range.greatest == 0,
             range.least > 0 || range.greatest < 0};
    break;
  case CmpIPredicate::ne:
    known = {range.least > 0 || range.greatest < 0,
             range.least == 0 && range.greatest == 0};
    break;
  case CmpIPredicate::slt:
  case CmpIPredicate::ult:
    known = {range.greatest < 0, range.least >= 0};
    break;
  case CmpIPredicate::sle:
  case CmpIPredicate::ule:
    known = {range.greatest <= 0, range.least > 0};
    break;
  case CmpIPredicate::sgt:
  case CmpIPredicate::ugt:
    known = {range.least > 0, range.greatest <= 0};
    break;
  case CmpIPredicate::sge:
  case CmpIPredicate::uge:
    known = {range.least >= 0, range.greatest < 0};
    break;
  }
  if (known.first || known.second)
    return {known.first, {}};
  return makeAtom(value);
}

/// A change of the type that keeps the number.
Linear Facts::computeCast(Operation *op, Value value) {
  Type type = value.getType(), from = op->getOperand(0).getType();
  if (!isInteger(from))
    return makeAtom(value);
  Linear form = getForm(op->getOperand(0));
  bool isUnsigned = isa<arith::IndexCastUIOp, arith::ExtUIOp>(op);
  bool keeps =
      from.isInteger(1) ? isUnsigned : !isUnsigned || getRange(form).least >= 0;
  return keeps && !type.isInteger(1) && fits(form, type) ? form
                                                         : makeAtom(value);
}

/// Sums, differences, and products by a number.
Linear Facts::computeArithmetic(Operation *op, Value value) {
  Type type = value.getType();
  if (type.isInteger(1))
    return makeAtom(value);
  Linear lhs = getForm(op->getOperand(0)), rhs = getForm(op->getOperand(1));
  std::optional<Linear> result;
  if (isa<arith::AddIOp>(op))
    result = combine(lhs, 1, rhs);
  else if (isa<arith::SubIOp>(op))
    result = combine(lhs, -1, rhs);
  else if (rhs.terms.empty())
    result = combine({}, rhs.constant, lhs);
  else if (lhs.terms.empty())
    result = combine({}, lhs.constant, rhs);
  return result && fits(*result, type) ? *result : makeAtom(value);
}

/// The greater or the lesser of two, where it is known which.
Linear Facts::computeExtremum(Operation *op, Value value) {
  Linear lhs = getForm(op->getOperand(0)), rhs = getForm(op->getOperand(1));
  auto difference = combine(lhs, -1, rhs);
  if (!difference)
    return makeAtom(value);
  Range range = getRange(*difference);
  bool isMax = isa<arith::MaxSIOp>(op);
  if (range.least >= 0)
    return isMax ? lhs : rhs;
  if (range.greatest <= 0)
    return isMax ? rhs : lhs;
  return makeAtom(value);
}

Linear Facts::compute(Operation *op, Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return {value.getType().isInteger(1) ? int64_t(number.getZExtValue())
                                         : number.getSExtValue(),
            {}};
  if (!op || op->getNumResults() != 1)
    return makeAtom(value);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp>(op))
    return computeCast(op, value);
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return computeArithmetic(op, value);
  if (isa<arith::DivSIOp, arith::FloorDivSIOp, arith::DivUIOp>(op))
    return computeQuotient(op, value, /*isRest=*/false);
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return computeQuotient(op, value, /*isRest=*/true);
  if (isa<arith::SelectOp>(op))
    return computeChoice(op, value);
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return computeLogic(op, value);
  if (isa<arith::CmpIOp>(op))
    return computeComparison(op, value);
  if (isa<arith::CmpFOp>(op))
    return computeFloatComparison(op, value);
  if (isa<arith::MaxSIOp, arith::MinSIOp>(op))
    return computeExtremum(op, value);
  return makeAtom(value);
}

Linear Facts::getForm(Value value) {
  for (const auto *known : {&given, &forms})
    if (auto at = known->find(value); at != known->end())
      return at->second;
  // Deep code is not read further.
  if (depth > 256 || !isInteger(value.getType()))
    return {0, {{value, 1}}};
  ++depth;
  Linear form = compute(value.getDefiningOp(), value);
  --depth;
  forms[value] = form;
  return form;
}

std::optional<int64_t> Facts::getConstant(Value value) {
  if (!isInteger(value.getType()))
    return std::nullopt;
  Linear form = getForm(value);
  if (!form.terms.empty())
    return std::nullopt;
  return form.constant;
}

bool Facts::isNonNegative(Value value) {
  return isInteger(value.getType()) && getRange(getForm(value)).least >= 0;
}

bool Facts::isOfArguments(Value value) {
  return isInteger(value.getType()) &&
         llvm::all_of(getForm(value).terms, [](const auto &term) {
           return isa<BlockArgument>(term.first);
         });
}

//===----------------------------------------------------------------------===//
// Simplification
//===----------------------------------------------------------------------===//

/// Code of a form; null if its atoms are of other types.
Value Facts::materialize(OpBuilder &b, Location loc, const Linear &form,
                         Type type) {
  if (!llvm::all_of(form.terms, [&](const auto &term) {
        return term.first.getType() == type;
      }))
    return {};
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, number));
  };
  // Of conditions only negations.
  if (type.isInteger(1) && !form.terms.empty()) {
    auto [atom, factor] = form.terms.front();
    if (form.terms.size() > 1 || (factor != 1 && factor != -1) ||
        form.constant != (factor < 0))
      return {};
    return factor < 0
               ? arith::XOrIOp::create(b, loc, atom, constant(1)).getResult()
               : atom;
  }
  Value sum;
  for (auto [atom, factor] : form.terms) {
    Value term = atom;
    if (factor != 1)
      term = arith::MulIOp::create(b, loc, term, constant(factor));
    sum = sum ? arith::AddIOp::create(b, loc, sum, term).getResult() : term;
  }
  if (!sum)
    return constant(form.constant);
  if (form.constant != 0)
    sum = arith::AddIOp::create(b, loc, sum, constant(form.constant));
  return sum;
}

/// Puts something simpler in the place of the result of `op`.
bool Facts::rewrite(Operation &op) {
  if (op.getNumResults() != 1 || op.hasTrait<OpTrait::ConstantLike>())
    return false;
  Value result = op.getResult(0);
  Type type = result.getType();
  if (!isInteger(type))
    return false;
  Linear form = getForm(result);
  OpBuilder b(&op);
  bool isItself = form.constant == 0 && form.terms.size() == 1 &&
                  form.terms.front() == std::pair<Value, int64_t>(result, 1);
  if (!isItself) {
    // Sums and products are as simple as their forms.
    bool isAtom = form.constant == 0 && form.terms.size() == 1 &&
                  form.terms.front().second == 1;
    if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) && !isAtom &&
        !form.terms.empty())
      return false;
    // So is a negation.
    if (isa<arith::XOrIOp>(op) && !isAtom && !form.terms.empty())
      return false;
    Value simple = materialize(b, op.getLoc(), form, type);
    if (!simple)
      return false;
    forms[simple] = form;
    result.replaceAllUsesWith(simple);
    return true;
  }
  // Comparisons of indices are what others can read.
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || compare.getLhs().getType().isIndex() ||
      compare.getLhs().getType().isInteger(1))
    return false;
  Linear sides[] = {getForm(compare.getLhs()), getForm(compare.getRhs())};
  for (const Linear &side : sides)
    if (!fits(side, b.getI32Type()))
      return false;
  Value lhs = materialize(b, op.getLoc(), sides[0], b.getIndexType());
  Value rhs =
      lhs ? materialize(b, op.getLoc(), sides[1], b.getIndexType()) : Value();
  if (!rhs)
    return false;
  Value same =
      arith::CmpIOp::create(b, op.getLoc(), compare.getPredicate(), lhs, rhs);
  forms[same] = Linear{0, {{same, 1}}};
  result.replaceAllUsesWith(same);
  return true;
}

void Facts::simplify(Block &block) {
  // In order, so that of two equal atoms the first is the one that stays.
  forget();
  for (Operation &op : llvm::make_early_inc_range(block))
    (void)rewrite(op);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>() && isPure(&op))
      op.erase();
}
