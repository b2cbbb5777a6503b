//===- Scalars.cpp - what decides control, the same in every group --------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Warp/Analysis/Scalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3::warp;

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

LinearForm LinearForm::variable(unsigned number) {
  LinearForm form;
  form.terms.push_back({number, 1});
  return form;
}

LinearForm LinearForm::operator+(const LinearForm &other) const {
  LinearForm sum(constant + other.constant);
  auto a = terms.begin(), b = other.terms.begin();
  while (a != terms.end() || b != other.terms.end()) {
    if (b == other.terms.end() || (a != terms.end() && a->first < b->first)) {
      sum.terms.push_back(*a++);
    } else if (a == terms.end() || b->first < a->first) {
      sum.terms.push_back(*b++);
    } else {
      if (int64_t coefficient = a->second + b->second)
        sum.terms.push_back({a->first, coefficient});
      ++a, ++b;
    }
  }
  return sum;
}

LinearForm LinearForm::operator*(int64_t factor) const {
  LinearForm product(constant * factor);
  if (factor == 0)
    return product;
  for (auto [variable, coefficient] : terms)
    product.terms.push_back({variable, coefficient * factor});
  return product;
}

LinearForm LinearForm::operator-(const LinearForm &other) const {
  return *this + other * -1;
}

static void append(std::vector<int64_t> &key, const LinearForm &form) {
  key.push_back(form.terms.size());
  key.push_back(form.constant);
  for (auto [variable, coefficient] : form.terms) {
    key.push_back(variable);
    key.push_back(coefficient);
  }
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {
/// First element of a key: what kind of expression it names.
enum KeyKind : int64_t {
  kLeaf,
  kOperation,
  kMin,
  kMax,
  kFloor,
  kReplica,
  kCarried,
  kTrips
};
} // namespace

static int64_t asInteger(const void *pointer) {
  return reinterpret_cast<intptr_t>(pointer);
}

unsigned ScalarAnalysis::addVariable(Variable variable) {
  variables.push_back(std::move(variable));
  return variables.size() - 1;
}

LinearForm ScalarAnalysis::getNamed(Key key, Variable variable) {
  auto [entry, isNew] = names.try_emplace(std::move(key), variables.size());
  if (isNew)
    variables.push_back(std::move(variable));
  return LinearForm::variable(entry->second);
}

LinearForm ScalarAnalysis::getExtremum(bool isMin, LinearForm a, LinearForm b) {
  if (LinearForm difference = a - b; difference.isConstant())
    return (difference.constant <= 0) == isMin ? a : b;
  Key ka, kb;
  append(ka, a);
  append(kb, b);
  if (kb < ka) {
    std::swap(ka, kb);
    std::swap(a, b);
  }
  Key key = {isMin ? kMin : kMax};
  key.insert(key.end(), ka.begin(), ka.end());
  key.insert(key.end(), kb.begin(), kb.end());
  Variable variable;
  variable.kind = isMin ? Variable::Kind::Min : Variable::Kind::Max;
  variable.operands = {a, b};
  return getNamed(std::move(key), std::move(variable));
}

/// floor(form / divisor), with multiples of the divisor pulled out.
LinearForm ScalarAnalysis::getFloor(const LinearForm &form, int64_t divisor) {
  LinearForm whole, rest;
  auto split = [&](int64_t value, int64_t &quotient, int64_t &remainder) {
    quotient = llvm::divideFloorSigned(value, divisor);
    remainder = value - quotient * divisor;
  };
  split(form.constant, whole.constant, rest.constant);
  for (auto [variable, coefficient] : form.terms) {
    int64_t quotient, remainder;
    split(coefficient, quotient, remainder);
    if (quotient)
      whole.terms.push_back({variable, quotient});
    if (remainder)
      rest.terms.push_back({variable, remainder});
  }
  if (rest.isConstant())
    return whole;
  Key key = {kFloor, divisor};
  append(key, rest);
  Variable variable;
  variable.kind = Variable::Kind::Floor;
  variable.operands = {rest};
  variable.divisor = divisor;
  return whole + getNamed(std::move(key), std::move(variable));
}

bool ScalarAnalysis::dependsOnReplica(const LinearForm &form) const {
  // Every variable once: many share operands.
  llvm::SmallDenseSet<unsigned> seen;
  SmallVector<unsigned> left;
  auto add = [&](const LinearForm &other) {
    for (auto [number, factor] : other.terms)
      if (seen.insert(number).second)
        left.push_back(number);
  };
  add(form);
  while (!left.empty()) {
    const Variable &variable = variables[left.pop_back_val()];
    if (variable.isReplica)
      return true;
    for (const LinearForm &operand : variable.operands)
      add(operand);
  }
  return false;
}

LinearForm ScalarAnalysis::getTripCount(const LinearForm &extent,
                                        const LinearForm &step) {
  if (step.isConstant() && step.constant > 0)
    return getFloor(extent + LinearForm(step.constant - 1), step.constant);
  Key key = {kTrips};
  append(key, extent);
  append(key, step);
  Variable variable;
  variable.least = 1;
  return getNamed(std::move(key), variable);
}

LinearForm ScalarAnalysis::getInduction(Value induction) {
  auto it = inductions.find(induction);
  if (it == inductions.end())
    it = inductions.insert({induction, LinearForm::variable(addVariable({}))})
             .first;
  return it->second;
}

void ScalarAnalysis::unify(Value induction, Value other) {
  LinearForm kept = getInduction(induction), dropped = getInduction(other);
  if (kept == dropped)
    return;
  for (auto &entry : inductions)
    if (entry.second == dropped)
      entry.second = kept;
  // Names of expressions stay, so what is computed anew fits what is known.
  forms.clear();
  culprits.clear();
}

std::optional<LinearForm> ScalarAnalysis::getForm(Value value, Value &culprit) {
  auto it = forms.find(value);
  if (it == forms.end()) {
    // A value cannot depend on itself except through a block argument, and
    // those are not followed.
    std::optional<LinearForm> form = compute(value, culprit);
    if (!form)
      culprits[value] = culprit;
    forms[value] = form;
    return form;
  }
  if (!it->second)
    culprit = culprits.lookup(value);
  return it->second;
}

/// Whether `value` is an unsigned quotient by a constant greater than 1: as a
/// signed number, it is not negative.
static bool isUnsignedQuotient(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  Operation *op = value.getDefiningOp();
  APInt divisor;
  return isa_and_nonnull<arith::DivUIOp, arith::CeilDivUIOp>(op) &&
         matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
         divisor.ugt(1);
}

/// A replica, an induction variable, or what a loop carries and all agree on.
std::optional<LinearForm>
ScalarAnalysis::computeArgument(BlockArgument argument, Value &culprit) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto group = dyn_cast<GroupOp>(parent)) {
    Variable variable;
    variable.least = 0;
    variable.greatest = group.getReplicas() - 1;
    variable.isReplica = true;
    return getNamed({kReplica, asInteger(parent)}, variable);
  }
  auto loop = dyn_cast<mlir::scf::ForOp>(parent);
  if (loop && argument == loop.getInductionVar())
    return getInduction(argument);
  if (!loop || !agreed.contains(argument))
    return std::nullopt;
  std::optional<LinearForm> first =
      getForm(loop.getTiedLoopInit(argument)->get(), culprit);
  if (!first)
    return std::nullopt;
  Key key = {kCarried};
  append(key, *first);
  append(key, getInduction(loop.getInductionVar()));
  return getNamed(std::move(key), {});
}

std::optional<LinearForm>
ScalarAnalysis::computeArithmetic(Operation *op,
                                  ArrayRef<LinearForm> operands) {
  bool byConstant = operands.size() == 2 && operands[1].isConstant();
  if (isa<arith::AddIOp>(op))
    return operands[0] + operands[1];
  if (isa<arith::SubIOp>(op))
    return operands[0] - operands[1];
  if (isa<arith::MulIOp>(op)) {
    if (byConstant)
      return operands[0] * operands[1].constant;
    if (operands[0].isConstant())
      return operands[1] * operands[0].constant;
  }
  if (isa<arith::MinSIOp>(op))
    return getExtremum(/*isMin=*/true, operands[0], operands[1]);
  if (isa<arith::MaxSIOp>(op))
    return getExtremum(/*isMin=*/false, operands[0], operands[1]);
  if (byConstant && operands[1].constant > 0) {
    int64_t divisor = operands[1].constant;
    if (isa<arith::FloorDivSIOp>(op))
      return getFloor(operands[0], divisor);
    if (isa<arith::CeilDivSIOp>(op))
      return getFloor(operands[0] + LinearForm(divisor - 1), divisor);
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return operands[0];
  return std::nullopt;
}

LinearForm ScalarAnalysis::getOpaque(OpResult result,
                                     ArrayRef<LinearForm> operands) {
  Operation *op = result.getOwner();
  Key key = {kOperation, asInteger(op->getName().getAsOpaquePointer()),
             asInteger(op->getAttrDictionary().getAsOpaquePointer()),
             asInteger(result.getType().getAsOpaquePointer()),
             result.getResultNumber()};
  for (const LinearForm &operand : operands)
    append(key, operand);
  Variable variable;
  variable.operands.append(operands.begin(), operands.end());
  if (result.getType().isInteger(1)) {
    variable.least = 0;
    variable.greatest = 1;
  }
  return getNamed(std::move(key), variable);
}

std::optional<LinearForm> ScalarAnalysis::compute(Value value, Value &culprit) {
  culprit = value;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (constant.getBitWidth() == 1)
      return LinearForm(constant.getZExtValue());
    return constant.getSignificantBits() <= 62
               ? std::optional<LinearForm>(constant.getSExtValue())
               : std::nullopt;
  }
  // Captured values are one SSA value for all groups.
  if (!specialize.getBody().isAncestor(value.getParentRegion())) {
    Variable variable;
    if (isUnsignedQuotient(value))
      variable.least = 0;
    return getNamed({kLeaf, asInteger(value.getAsOpaquePointer())}, variable);
  }

  if (auto argument = dyn_cast<BlockArgument>(value))
    return computeArgument(argument, culprit);

  Operation *op = value.getDefiningOp();
  // A quotient is a function of its operands, if not one to compute early.
  if (op->getNumRegions() || !isMemoryEffectFree(op) ||
      !(value.getType().isIntOrIndexOrFloat()))
    return std::nullopt;
  SmallVector<LinearForm, 2> operands;
  for (Value operand : op->getOperands()) {
    // Data of tiles may differ between groups, between threads even.
    if (isa<TensorType, VectorType>(operand.getType())) {
      culprit = value;
      return std::nullopt;
    }
    std::optional<LinearForm> form = getForm(operand, culprit);
    if (!form)
      return std::nullopt;
    operands.push_back(*form);
  }
  culprit = {};
  if (std::optional<LinearForm> form = computeArithmetic(op, operands))
    return form;
  return getOpaque(cast<OpResult>(value), operands);
}

std::optional<LinearCondition> ScalarAnalysis::getCondition(Value value,
                                                            Value &culprit) {
  using Predicate = arith::CmpIPredicate;
  LinearCondition condition;
  if (auto compare = value.getDefiningOp<arith::CmpIOp>()) {
    std::optional<LinearForm> lhs = getForm(compare.getLhs(), culprit);
    std::optional<LinearForm> rhs =
        lhs ? getForm(compare.getRhs(), culprit) : std::nullopt;
    if (!rhs)
      return std::nullopt;
    bool isBoolean = compare.getLhs().getType().isInteger(1);
    switch (compare.getPredicate()) {
    case Predicate::eq:
    case Predicate::ne:
      condition.form = *lhs - *rhs;
      condition.equality = true;
      condition.negated = compare.getPredicate() == Predicate::ne;
      return condition;
    case Predicate::sge:
    case Predicate::slt:
      condition.form = *lhs - *rhs;
      condition.negated = compare.getPredicate() == Predicate::slt;
      break;
    case Predicate::sle:
    case Predicate::sgt:
      condition.form = *rhs - *lhs;
      condition.negated = compare.getPredicate() == Predicate::sgt;
      break;
    default:
      isBoolean = true;
    }
    if (!isBoolean)
      return condition;
    condition = {};
  }
  std::optional<LinearForm> form = getForm(value, culprit);
  if (!form)
    return std::nullopt;
  condition.form = *form - LinearForm(1);
  return condition;
}
