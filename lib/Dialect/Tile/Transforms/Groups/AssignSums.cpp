//===- AssignSums.cpp - sums of a kernel among groups ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tile of 64 rows is the least that a warp group computes: its columns are
// all that can be divided. Where sums of columns that loops carry do not fit
// the registers of one group, further groups take them. What a sum becomes
// goes with it; what it is made of stays with who computes that.
//
//===----------------------------------------------------------------------===//

#include "AssignSums.h"
#include "../Utils.h"
#include "Roles.h"
#include "fa3/Machine/RegisterModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Registers on each thread of a warp group.
static int64_t countRegisters(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  constexpr int64_t kBits = 32 * kSm90a.getThreadsPerWarpgroup();
  return tile ? tile.getNumElements() * tile.getElementTypeBitWidth() / kBits
              : 0;
}

/// Whether loops compute in integers for each element, divide coordinates or
/// load integers, as for random numbers, tables and documents. What that keeps
/// in registers is not counted here; coordinates compared are little.
static bool hasIntegerCode(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    if (op->getNumResults() != 1 || !op->getParentOfType<scf::ForOp>())
      return WalkResult::advance();
    auto tile = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!tile || !tile.getElementType().isIntOrIndex() ||
        tile.getElementType().isInteger(1))
      return WalkResult::advance();
    bool isElement = tile.getRank() == 2 &&
                     isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
                         op->getDialect());
    bool isDivision =
        isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
            arith::FloorDivSIOp, arith::CeilDivSIOp>(op);
    bool isLoad = isa<LoadOp>(op) && !tile.getElementType().isInteger(8);
    return isElement || isDivision || isLoad ? WalkResult::interrupt()
                                             : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Numbers of the groups that carry the sums, all 0 if one can.
static SmallVector<unsigned> distribute(gpu::GPUFuncOp kernel,
                                        ArrayRef<CarriedSum> sums) {
  const RegisterModel &model = getRegisterModel(getChip(kernel));
  int64_t limit = model.mostOfConsumer - model.others;
  llvm::SmallPtrSet<Operation *, 4> products;
  int64_t ofSums = 0, weights = 0, scores = 0, tiles = 0;
  for (CarriedSum sum : sums) {
    products.insert(sum.dot);
    ofSums += countRegisters(sum.dot.getType());
    if (!sum.dot.getLhs().getDefiningOp<LoadOp>())
      weights = std::max(weights, countRegisters(sum.dot.getLhs().getType()));
  }
  bool isOneRow = true;
  unsigned chains = 0;
  kernel.walk([&](DotOp dot) {
    isOneRow &= dot.getType().getDimSize(0) == kRowsPerReplica;
    if (products.contains(dot) || !dot->getParentOfType<scf::ForOp>())
      return;
    scores = std::max(scores, countRegisters(dot.getType()));
    chains += !dot.getAcc().getDefiningOp<DotOp>();
  });
  // A tile for element code meets what a product gives, in f32 as that is.
  kernel.walk([&](LoadOp load) {
    bool isOperand = llvm::all_of(load->getUsers(), isProductOrConversion);
    RankedTensorType type = load.getType();
    if (!isOperand && type.getRank() == 2 &&
        load->getParentOfType<scf::ForOp>())
      tiles += countRegisters(type.clone(Float32Type::get(type.getContext())));
  });
  SmallVector<unsigned> roles(sums.size(), 0);
  // Beside more columns than one product has there are no registers left for
  // what is not counted: integers, and element code of several products.
  constexpr int64_t kMostOfProduct = 256;
  int64_t mostOfOne = limit;
  if (chains > 1 || hasIntegerCode(kernel))
    mostOfOne = countRegisters(
        RankedTensorType::get({kRowsPerReplica, kMostOfProduct},
                              Float32Type::get(kernel.getContext())));
  if (!isOneRow ||
      (ofSums <= mostOfOne && ofSums + scores + weights + tiles <= limit))
    return roles;
  SmallVector<int64_t> room = {
      std::min(limit - scores - weights - tiles, mostOfOne)};
  for (auto [sum, role] : llvm::zip(sums, roles)) {
    int64_t needed = countRegisters(CarriedSum(sum).dot.getType());
    while (role < room.size() && room[role] < needed && room[role] != limit)
      ++role;
    if (role == room.size())
      room.push_back(limit);
    room[role] -= needed;
  }
  return roles;
}

/// Takes the results of a `tile.where` apart by the numbers of their groups.
static void divide(WhereOp where, ArrayRef<unsigned> roles) {
  llvm::MapVector<unsigned, SmallVector<unsigned>> parts;
  for (auto [i, role] : llvm::enumerate(roles))
    parts[role].push_back(i);
  if (parts.size() < 2)
    return;
  OpBuilder b(where);
  for (auto &[role, indices] : parts) {
    SmallVector<Value> otherwise, yields;
    SmallVector<Type> types;
    for (unsigned i : indices) {
      otherwise.push_back(where.getOtherwise()[i]);
      types.push_back(where.getResult(i).getType());
    }
    auto part = WhereOp::create(b, where.getLoc(), types, where.getCondition(),
                                otherwise);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&part.getBody());
    IRMapping mapping;
    for (Operation &op : where.getBody().front().without_terminator())
      b.clone(op, mapping);
    for (unsigned i : indices)
      yields.push_back(mapping.lookupOrDefault(where.getYield().getOperand(i)));
    YieldOp::create(b, where.getLoc(), yields);
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(part.getBody().front())))
      if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
    for (auto [result, i] : llvm::zip(part.getResults(), indices))
      where.getResult(i).replaceAllUsesWith(result);
  }
  where.erase();
}

/// Lets all groups do every step. A guard around work that is the identity may
/// be resolved so at any time, and one that groups resolve for themselves would
/// be control that no ring tells them they share.
static void openGuards(gpu::GPUFuncOp kernel) {
  SmallVector<AnyPossibleOp> guards;
  kernel.walk([&](AnyPossibleOp guard) { guards.push_back(guard); });
  for (AnyPossibleOp guard : guards) {
    OpBuilder b(guard);
    guard.replaceAllUsesWith(
        arith::ConstantIntOp::create(b, guard.getLoc(), 1, 1).getResult());
    guard.erase();
  }
}

static Dependents getDependents(CarriedSum sum) {
  return findDependents(
      {sum.loop.getRegionIterArg(sum.index), sum.dot.getResult()});
}

/// Whether a sum begins with a product in front of its loop, perhaps in a
/// branch. Who computes that has the sum already, and no ring hands it over.
static bool beginsWithProduct(CarriedSum sum) {
  Operation *made = sum.loop.getInitArgs()[sum.index].getDefiningOp();
  return isa_and_nonnull<DotOp, scf::IfOp>(made) &&
         made->walk([](DotOp) { return WalkResult::interrupt(); })
             .wasInterrupted();
}

int64_t fa3::tile::assignSums(gpu::GPUFuncOp kernel) {
  SmallVector<CarriedSum> sums = findCarriedSums(kernel);
  if (llvm::any_of(sums, beginsWithProduct))
    return 0;
  SmallVector<unsigned> roles = distribute(kernel, sums);
  if (llvm::all_of(roles, [](unsigned role) { return role == 0; }))
    return 0;
  SmallVector<WhereOp> wheres;
  kernel.walk([&](WhereOp where) { wheres.push_back(where); });
  SmallVector<Dependents> all = llvm::map_to_vector(sums, getDependents);
  for (WhereOp where : wheres) {
    SmallVector<unsigned> ofResults(where.getNumResults(), 0);
    for (auto [result, role] : llvm::zip(where.getResults(), ofResults))
      for (auto [dependents, ofSum] : llvm::zip(all, roles))
        if (dependents.values.contains(result))
          role = ofSum;
    divide(where, ofResults);
  }
  // What several sums become has no place.
  all = llvm::map_to_vector(sums, getDependents);
  llvm::DenseMap<Operation *, unsigned> roleOf;
  for (auto [dependents, role] : llvm::zip(all, roles))
    for (Operation *op : dependents.operations)
      if (roleOf.try_emplace(op, role).first->second != role)
        return 0;
  openGuards(kernel);
  int64_t count = 0;
  for (auto [dependents, role] : llvm::zip(all, roles)) {
    if (role == 0)
      continue;
    ++count;
    auto name = StringAttr::get(kernel.getContext(), "math" + Twine(role));
    for (Operation *op : dependents.operations)
      if (isa<DotOp>(op) || !isMemoryEffectFree(op))
        op->setAttr(TileDialect::kRoleAttrName, name);
  }
  return count;
}
