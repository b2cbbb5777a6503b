//===- LinearSystem.cpp - refutes systems of linear inequalities ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "LinearSystem.h"
#include "mlir/Analysis/Presburger/Simplex.h"
#include "mlir/Analysis/Presburger/Utils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa3::warp;

using VariableKind = ScalarAnalysis::Variable::Kind;

/// Cases that one refutation may distinguish.
static constexpr unsigned kMostCases = 64;

/// The value of a form at a point.
static presburger::Fraction
evaluate(const LinearForm &form, ArrayRef<presburger::Fraction> point,
         const llvm::SmallDenseMap<unsigned, unsigned> &columns) {
  presburger::Fraction value(form.constant);
  for (auto [variable, coefficient] : form.terms)
    value +=
        presburger::Fraction(coefficient) * point[columns.lookup(variable)];
  return value;
}

/// Whether the rational relaxation is empty; an empty relaxation has no integer
/// point either. If it is not, `undecided` is set to a minimum or maximum that
/// is none of its operands at a point of the relaxation: only a choice there
/// can lead on. At a point without one the facts hold, whatever is chosen.
bool LinearSystem::isEmpty(const Choices &choices, bool withQuotients,
                           std::optional<unsigned> *undecided) const {
  SmallVector<LinearForm> system(facts);
  llvm::SmallSetVector<unsigned, 16> variables;
  auto addVariables = [&](const LinearForm &form) {
    for (auto [variable, coefficient] : form.terms)
      variables.insert(variable);
  };
  for (const LinearForm &fact : facts)
    addVariables(fact);
  for (unsigned i = 0; i < variables.size(); ++i) {
    unsigned number = variables[i];
    const ScalarAnalysis::Variable &variable = scalars.getVariable(number);
    LinearForm self = LinearForm::variable(number);
    auto add = [&](LinearForm form) {
      addVariables(form);
      system.push_back(std::move(form));
    };
    if (variable.least)
      add(self - LinearForm(*variable.least));
    if (variable.greatest)
      add(LinearForm(*variable.greatest) - self);
    if (variable.kind == VariableKind::Floor && withQuotients) {
      LinearForm rest = variable.operands[0] - self * variable.divisor;
      add(rest);
      add(LinearForm(variable.divisor - 1) - rest);
    }
    if (variable.kind != VariableKind::Min &&
        variable.kind != VariableKind::Max)
      continue;
    int64_t sign = variable.kind == VariableKind::Min ? 1 : -1;
    for (const LinearForm &operand : variable.operands)
      add((operand - self) * sign);
    auto choice = choices.find(number);
    if (choice != choices.end())
      add((self - variable.operands[choice->second]) * sign);
  }

  llvm::SmallDenseMap<unsigned, unsigned> columns;
  for (unsigned variable : variables)
    columns.insert({variable, columns.size()});
  presburger::Simplex simplex(variables.size());
  SmallVector<int64_t> row;
  for (const LinearForm &form : system) {
    if (form.isConstant() && form.constant < 0)
      return true;
    row.assign(variables.size() + 1, 0);
    for (auto [variable, coefficient] : form.terms)
      row[columns.lookup(variable)] = coefficient;
    row.back() = form.constant;
    simplex.addInequality(presburger::getDynamicAPIntVec(row));
    if (simplex.isEmpty())
      return true;
  }
  if (!undecided)
    return false;
  auto point = simplex.getRationalSample();
  for (unsigned number : variables) {
    const ScalarAnalysis::Variable &variable = scalars.getVariable(number);
    if (variable.kind != VariableKind::Min &&
        variable.kind != VariableKind::Max)
      continue;
    auto isValue = [&](const LinearForm &operand) {
      return evaluate(operand, *point, columns) ==
             (*point)[columns.lookup(number)];
    };
    if (llvm::none_of(variable.operands, isValue)) {
      *undecided = number;
      break;
    }
  }
  return false;
}

bool LinearSystem::isContradictory() const {
  // The common case: a fact and its negation.
  for (const LinearForm &fact : ArrayRef(facts).drop_back())
    if (LinearForm sum = fact + facts.back();
        sum.isConstant() && sum.constant < 0)
      return true;
  return isEmpty(Choices(), /*withQuotients=*/false, /*undecided=*/nullptr);
}

bool LinearSystem::refute(Choices &choices, bool withQuotients,
                          unsigned &budget) const {
  std::optional<unsigned> undecided;
  if (isEmpty(choices, withQuotients, &undecided))
    return true;
  if (!undecided || budget == 0)
    return false;
  --budget;
  for (unsigned choice : {0u, 1u}) {
    choices[*undecided] = choice;
    bool refuted = refute(choices, withQuotients, budget);
    choices.erase(*undecided);
    if (!refuted)
      return false;
  }
  return true;
}

bool LinearSystem::isRefuted(bool thorough) {
  for (bool withQuotients : {false, true}) {
    if (withQuotients && !thorough)
      break;
    Choices choices;
    unsigned budget = kMostCases;
    if (refute(choices, withQuotients, budget))
      return true;
  }
  return false;
}
