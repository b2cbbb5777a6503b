//===- Operands.cpp - operands of attention by role -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Attention/IR/Operands.h"
#include "fa3/Dialect/Attention/IR/Attention.h"

using namespace mlir;
using namespace fa3::attention;

const OperandInfo &fa3::attention::getInfo(Role role) {
  static constexpr OperandInfo infos[] = {
#define FA3_OPERAND(field, name, rows, columns)                                \
  {name, Rows::rows, Columns::columns},
#include "fa3/Dialect/Attention/IR/Operands.def"
  };
  return infos[static_cast<unsigned>(role)];
}

ArrayRef<Role> fa3::attention::getAllRoles() {
  static constexpr Role roles[] = {
#define FA3_OPERAND(field, name, rows, columns) Role::field,
#include "fa3/Dialect/Attention/IR/Operands.def"
  };
  return roles;
}

MutableArrayRef<Value> Operands::operator[](Role role) {
  switch (role) {
#define FA3_OPERAND(field, name, rows, columns)                                \
  case Role::field:                                                            \
    return field;
#include "fa3/Dialect/Attention/IR/Operands.def"
  }
  llvm_unreachable("a role is one of Operands.def");
}

static void addTo(Value &field, Value value) { field = value; }
static void addTo(SmallVector<Value> &field, Value value) {
  field.push_back(value);
}

void Operands::add(Role role, Value value) {
  switch (role) {
#define FA3_OPERAND(field, name, rows, columns)                                \
  case Role::field:                                                            \
    return addTo(field, value);
#include "fa3/Dialect/Attention/IR/Operands.def"
  }
}

SmallVector<Value> Operands::list() const {
  SmallVector<Value> values;
  for (Role role : getAllRoles())
    llvm::copy_if((*this)[role], std::back_inserter(values),
                  [](Value value) { return bool(value); });
  return values;
}

Operands Operands::map(function_ref<Value(Value)> get) const {
  Operands mapped = *this;
  for (Role role : getAllRoles())
    for (Value &value : mapped[role])
      if (value)
        value = get(value);
  return mapped;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Operands Operands::get(Operation *op) {
  SmallVector<Value> values = llvm::to_vector(op->getOperands());
  llvm::append_range(values, op->getResults());
  Operands operands;
  SmallVector<Role> roles = cast<ScoredOpInterface>(op).getRoles();
  for (auto [role, value] : llvm::zip_equal(roles, values))
    operands.add(role, value);
  operands.maxQ = cast<ScoredOpInterface>(op).getMaxQ();
  return operands;
}

/// The roles of all operands and results, given those of the operands and
/// results that ODS has, each of which may be there several times or not.
template <typename Op>
static SmallVector<Role> listRoles(Op op, ArrayRef<Role> operands,
                                   ArrayRef<Role> results) {
  SmallVector<Role> roles;
  for (auto [number, role] : llvm::enumerate(operands))
    roles.append(op.getODSOperandIndexAndLength(number).second, role);
  for (auto [number, role] : llvm::enumerate(results))
    roles.append(op.getODSResultIndexAndLength(number).second, role);
  return roles;
}

SmallVector<Role> ForwardOp::getRoles() {
  return listRoles(*this,
                   {Role::q, Role::k, Role::v, Role::qv, Role::aux, Role::scale,
                    Role::scales, Role::sequences, Role::blocks, Role::splits,
                    Role::sinks, Role::previousO, Role::previousLse,
                    Role::keyScale, Role::valueScale},
                   {Role::o, Role::lse, Role::plain, Role::maxLogits});
}

SmallVector<Role> BackwardOp::getRoles() {
  SmallVector<Role> roles =
      listRoles(*this,
                {Role::q, Role::k, Role::v, Role::o, Role::lse, Role::outGrad,
                 Role::lseGrad, Role::q8, Role::scales, Role::aux, Role::scale,
                 Role::sequences, Role::blocks},
                {Role::dq, Role::dk, Role::dv, Role::auxGrads});
  // Copies are one group of operands in four roles.
  constexpr Role kCopies[] = {Role::q8, Role::k8, Role::v8, Role::outGrad8};
  for (auto [role, copy] :
       llvm::zip(MutableArrayRef(roles).drop_while(
                     [](Role role) { return role != Role::q8; }),
                 kCopies))
    if (role == Role::q8)
      role = copy;
  return roles;
}
