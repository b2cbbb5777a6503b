//===- ProtocolModel.cpp - barriers and memory of a kernel ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProtocolModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static int64_t compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using Predicate = arith::CmpIPredicate;
  uint64_t ua = a, ub = b;
  switch (predicate) {
  case Predicate::eq:
    return a == b;
  case Predicate::ne:
    return a != b;
  case Predicate::slt:
    return a < b;
  case Predicate::sle:
    return a <= b;
  case Predicate::sgt:
    return a > b;
  case Predicate::sge:
    return a >= b;
  case Predicate::ult:
    return ua < ub;
  case Predicate::ule:
    return ua <= ub;
  case Predicate::ugt:
    return ua > ub;
  case Predicate::uge:
    return ua >= ub;
  }
  return warp::kUnknown;
}

int64_t fa3::hopper::evaluateScalar(Value value,
                                    llvm::function_ref<int64_t(Value)> leaf) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (constant.getBitWidth() == 1)
      return constant.getZExtValue();
    return constant.getSignificantBits() <= 62 ? constant.getSExtValue()
                                               : warp::kUnknown;
  }
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions())
    return leaf(value);
  SmallVector<int64_t, 3> in;
  auto evaluate = [&](Value operand) { return evaluateScalar(operand, leaf); };
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    int64_t condition = evaluate(select.getCondition());
    if (condition == warp::kUnknown)
      return warp::kUnknown;
    return evaluate(condition ? select.getTrueValue() : select.getFalseValue());
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::XOrIOp,
           arith::AndIOp, arith::OrIOp, arith::RemUIOp, arith::RemSIOp,
           arith::DivUIOp, arith::DivSIOp, arith::MinSIOp, arith::MaxSIOp,
           arith::CmpIOp, arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp,
           arith::IndexCastOp, arith::IndexCastUIOp, arith::ShRUIOp,
           arith::ShLIOp>(op))
    return leaf(value);
  for (Value operand : op->getOperands()) {
    in.push_back(evaluate(operand));
    if (in.back() == warp::kUnknown)
      return warp::kUnknown;
  }
  bool divides = in.size() == 2 && in[1] > 0 && in[0] >= 0;
  bool shifts = in.size() == 2 && in[1] >= 0 && in[1] < 32 && in[0] >= 0;
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<arith::AddIOp>([&](auto) { return in[0] + in[1]; })
      .Case<arith::SubIOp>([&](auto) { return in[0] - in[1]; })
      .Case<arith::MulIOp>([&](auto) { return in[0] * in[1]; })
      .Case<arith::XOrIOp>([&](auto) { return in[0] ^ in[1]; })
      .Case<arith::AndIOp>([&](auto) { return in[0] & in[1]; })
      .Case<arith::OrIOp>([&](auto) { return in[0] | in[1]; })
      .Case<arith::RemUIOp, arith::RemSIOp>(
          [&](auto) { return divides ? in[0] % in[1] : warp::kUnknown; })
      .Case<arith::DivUIOp, arith::DivSIOp>(
          [&](auto) { return divides ? in[0] / in[1] : warp::kUnknown; })
      .Case<arith::ShRUIOp>(
          [&](auto) { return shifts ? in[0] >> in[1] : warp::kUnknown; })
      .Case<arith::ShLIOp>(
          [&](auto) { return shifts ? in[0] << in[1] : warp::kUnknown; })
      .Case<arith::MinSIOp>([&](auto) { return std::min(in[0], in[1]); })
      .Case<arith::MaxSIOp>([&](auto) { return std::max(in[0], in[1]); })
      .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) {
        return compare(cmp.getPredicate(), in[0], in[1]);
      })
      .Case<arith::ExtUIOp>([&](auto) { return in[0]; })
      // A true i1 counts as 1 here; as a signed number it is -1.
      .Case<arith::ExtSIOp>([&](arith::ExtSIOp op) {
        return op.getIn().getType().isInteger(1) ? -in[0] : in[0];
      })
      .Case<arith::TruncIOp>([&](arith::TruncIOp op) {
        return op.getType().isInteger(1) ? in[0] & 1 : in[0];
      })
      .Default([&](Operation *) { return in[0]; });
}

std::optional<NamedBarrierUse> fa3::hopper::getNamedBarrierUse(Operation *op) {
  if (auto sync = dyn_cast<NamedBarrierSyncOp>(op))
    return NamedBarrierUse{sync.getId(),
                           static_cast<int64_t>(sync.getThreads()), true};
  if (auto arrive = dyn_cast<NamedBarrierArriveOp>(op))
    return NamedBarrierUse{arrive.getId(),
                           static_cast<int64_t>(arrive.getThreads()), false};
  return std::nullopt;
}

std::optional<bool> fa3::hopper::decideByReplica(Operation *op,
                                                 warp::GroupOp group,
                                                 int64_t replica) {
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch)
    return std::nullopt;
  int64_t condition = evaluateScalar(branch.getCondition(), [&](Value leaf) {
    return leaf == group.getReplica() ? replica : warp::kUnknown;
  });
  if (condition == warp::kUnknown)
    return std::nullopt;
  return condition != 0;
}

bool fa3::hopper::mayReach(Operation *op, warp::GroupOp group,
                           int64_t replica) {
  for (Operation *parent = op->getParentOp(); parent != group;
       op = parent, parent = parent->getParentOp()) {
    std::optional<bool> holds = decideByReplica(parent, group, replica);
    if (holds &&
        *holds != (op->getBlock() == cast<scf::IfOp>(parent).thenBlock()))
      return false;
  }
  return true;
}

void Parties::add(warp::GroupOp group, Operation *op) {
  auto *it = llvm::find_if(
      parties, [&](const Party &party) { return party.group == group; });
  if (it == parties.end()) {
    parties.push_back({group, llvm::SmallBitVector(group.getReplicas())});
    it = &parties.back();
  }
  for (int64_t replica = 0; replica < int64_t(group.getReplicas()); ++replica)
    if (mayReach(op, group, replica))
      it->replicas.set(replica);
}

bool Parties::contains(warp::GroupOp group, int64_t replica) const {
  return llvm::any_of(parties, [&](const Party &party) {
    return party.group == group && party.replicas.test(replica);
  });
}

bool Parties::contains(warp::GroupOp group) const {
  return llvm::any_of(parties,
                      [&](const Party &party) { return party.group == group; });
}

bool Parties::isPartial() const {
  return llvm::any_of(parties,
                      [](const Party &party) { return !party.replicas.all(); });
}

FailureOr<ProtocolModel> ProtocolModel::build(gpu::GPUFuncOp function,
                                              warp::SpecializeOp specialize) {
  ProtocolModel model;
  model.function = function;
  model.specialize = specialize;
  if (failed(model.readBarriers()) || failed(model.checkInitialization()) ||
      failed(model.checkContents()) || failed(model.checkArrivals()) ||
      failed(model.readNamedBarriers()) || failed(model.checkFragments()) ||
      failed(model.checkRegisters()) || failed(model.checkSharedMemory()))
    return failure();
  model.readShares();
  return model;
}
