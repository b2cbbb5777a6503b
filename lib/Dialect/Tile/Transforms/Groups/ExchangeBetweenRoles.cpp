//===- ExchangeBetweenRoles.cpp - what groups compute for others ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Further groups have what follows from their sums. What goes into that and
// "math" computes crosses where it is least: a left operand as it is rounded, a
// vector before it is repeated along rows. Coordinates and the like are
// computed by each group, and so are conditions, from what has crossed.
//
//===----------------------------------------------------------------------===//

#include "../Utils.h"
#include "ExchangeOperands.h"
#include "Roles.h"
#include "fa3/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
/// Finds what one further role uses of others.
class RoleBoundary {
public:
  RoleBoundary(gpu::GPUFuncOp kernel, StringRef role);
  void run();
  llvm::MapVector<Value, SmallVector<OpOperand *>> crossing;

private:
  bool isOwn(Value value) const;
  bool isRepeated(Value value) const;
  void visit(Operation *op);
  void visit(OpOperand &operand);
  void scaleAlways(WhereOp where);

  StringRef role;
  Dependents own;
};
} // namespace

RoleBoundary::RoleBoundary(gpu::GPUFuncOp kernel, StringRef role) : role(role) {
  SmallVector<Value> starts;
  kernel.walk([&](DotOp dot) {
    if (getRole(dot) == role)
      starts.push_back(dot.getResult());
  });
  own = findDependents(starts);
}

bool RoleBoundary::isOwn(Value value) const {
  if (own.values.contains(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (own.operations.contains(op) || getRole(op) == role)
    return true;
  auto where = dyn_cast<WhereOp>(op->getParentOp());
  return where && own.operations.contains(where);
}

/// Whether every group computes the value by itself: no tile that is a product,
/// a sum or in memory goes into it.
bool RoleBoundary::isRepeated(Value value) const {
  if (!getTileType(value.getType()) || isOwn(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<arith::ConstantOp, tensor::SplatOp, CoordOp>(op))
    return true;
  return (isElementwise(op) || isa<BroadcastOp>(op)) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isRepeated(operand); });
}

/// Takes vectors that a region computes for itself, and what they are computed
/// from there, out of it: as far up as they can be, so that others see them.
static void hoist(Value vector, WhereOp where) {
  Operation *op = vector.getDefiningOp();
  if (!op || op->getParentOp() != where || op->getNumRegions())
    return;
  Block *block = where->getBlock();
  Operation *last = nullptr;
  auto follow = [&](Value value) {
    Operation *def = value.getDefiningOp();
    if (def && def->getBlock() == block &&
        (!last || last->isBeforeInBlock(def)))
      last = def;
  };
  for (Value operand : op->getOperands()) {
    hoist(operand, where);
    follow(operand);
  }
  follow(where.getCondition());
  if (last)
    op->moveAfter(last);
  else
    op->moveBefore(where);
}

/// Makes what scales rows where a condition holds scale by 1 elsewhere, which
/// keeps every bit: where c else x { x * v } is x * select(c, v, 1), and the
/// vector tells where there is something to do.
void RoleBoundary::scaleAlways(WhereOp where) {
  if (isRepeated(where.getCondition()))
    return;
  Value factor;
  SmallVector<BroadcastOp> broadcasts;
  for (auto [otherwise, yielded] :
       llvm::zip(where.getOtherwise(), where.getYield().getOperands())) {
    auto mul = yielded.getDefiningOp<arith::MulFOp>();
    if (!mul || (mul.getLhs() != otherwise && mul.getRhs() != otherwise))
      return;
    auto broadcast = (mul.getLhs() == otherwise ? mul.getRhs() : mul.getLhs())
                         .getDefiningOp<BroadcastOp>();
    if (!broadcast || broadcast.getDim() != 1 ||
        (factor && broadcast.getSource() != factor))
      return;
    factor = broadcast.getSource();
    broadcasts.push_back(broadcast);
  }
  Operation *condition = where.getCondition().getDefiningOp();
  Operation *made = factor.getDefiningOp();
  if (where.getCondition().getType().getRank() != 1 || !condition || !made)
    return;
  hoist(factor, where);
  ImplicitLocOpBuilder b(where.getLoc(), where);
  if (condition->getBlock() == made->getBlock())
    b.setInsertionPointAfter(condition->isBeforeInBlock(made) ? made
                                                              : condition);
  auto type = cast<RankedTensorType>(factor.getType());
  Value one = arith::ConstantOp::create(
      b,
      DenseElementsAttr::get(type, b.getFloatAttr(type.getElementType(), 1.0)));
  Value scale = arith::SelectOp::create(b, where.getCondition(), factor, one);
  b.setInsertionPoint(where);
  auto changes =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, scale, one);
  where.getConditionMutable().assign(changes);
  own.operations.insert(changes);
  own.values.insert(changes.getResult());
  for (BroadcastOp broadcast : broadcasts) {
    if (where->isAncestor(broadcast)) {
      broadcast.getSourceMutable().assign(scale);
      continue;
    }
    Operation *mul = nullptr;
    for (Operation *user : broadcast->getUsers())
      if (where->isAncestor(user))
        mul = user;
    b.setInsertionPoint(mul);
    auto copy = BroadcastOp::create(b, broadcast.getType(), scale, 1);
    mul->replaceUsesOfWith(broadcast, copy);
  }
}

void RoleBoundary::visit(OpOperand &operand) {
  Value value = operand.get();
  if (isRepeated(value) || isa<ViewType>(value.getType()))
    return;
  Operation *op = value.getDefiningOp();
  // What takes more bytes than its source is computed again.
  bool isWider =
      op && (isa<BroadcastOp, arith::ExtFOp>(op) ||
             (isElementwise(op) && getElementTypeOrSelf(value).isInteger(1)));
  if (!isWider) {
    crossing[value].push_back(&operand);
    return;
  }
  Operation *user = operand.getOwner();
  while (isa<WhereOp>(user->getParentOp()))
    user = user->getParentOp();
  OpBuilder b(user);
  Operation *copy = b.clone(*op);
  operand.set(copy->getResult(0));
  own.values.insert(copy->getResult(0));
  own.operations.insert(copy);
  for (OpOperand &next : copy->getOpOperands())
    visit(next);
}

void RoleBoundary::visit(Operation *op) {
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      visit(operand);
  });
}

void RoleBoundary::run() {
  SmallVector<Operation *> operations(own.operations.getArrayRef());
  for (Operation *op : operations)
    if (auto where = dyn_cast<WhereOp>(op))
      scaleAlways(where);
  operations.assign(own.operations.begin(), own.operations.end());
  for (Operation *op : operations)
    if (!op->hasTrait<OpTrait::IsTerminator>() &&
        !isa<WhereOp>(op->getParentOp()))
      visit(op);
}

namespace {
/// What one group writes into a ring and another reads.
struct Handover {
  warp::AcquireOp filled;
  SmallVector<Operation *> views;
  WriteOp write;
  warp::PublishOp publish;
  warp::AcquireOp held;
  bool isOperand = false;
};
} // namespace

/// What the role reads of what others have written in the same block.
static SmallVector<Handover> findHandovers(gpu::GPUFuncOp kernel,
                                           StringRef role) {
  SmallVector<Handover> result;
  kernel.walk([&](warp::AcquireOp held) {
    if (held.getSide() != warp::Side::read || getRole(held) != role)
      return;
    Handover handover;
    handover.held = held;
    for (Operation *user : held.getRing().getUsers())
      if (auto filled = dyn_cast<warp::AcquireOp>(user);
          filled && filled.getSide() == warp::Side::write &&
          filled->getBlock() == held->getBlock())
        handover.filled = filled;
    if (!handover.filled)
      return;
    for (Operation *user : handover.filled.getSlot().getUsers()) {
      if (auto publish = dyn_cast<warp::PublishOp>(user))
        handover.publish = publish;
      if (auto view = dyn_cast<ViewOp>(user)) {
        handover.views.push_back(view);
        for (Operation *access : view.getView().getUsers())
          if (auto write = dyn_cast<WriteOp>(access))
            handover.write = write;
      }
    }
    for (Operation *user : held.getSlot().getUsers())
      if (auto view = dyn_cast<ViewOp>(user))
        handover.isOperand |=
            llvm::any_of(view.getView().getUsers(), llvm::IsaPred<DotOp>);
    if (handover.write && handover.publish)
      result.push_back(handover);
  });
  return result;
}

/// Multiplications of the products of the block, of the role or of others.
static int64_t countWork(Block *block, StringRef role, bool isOwn) {
  int64_t work = 0;
  for (DotOp dot : block->getOps<DotOp>()) {
    auto lhs = cast<ShapedType>(getTileType(dot.getLhs().getType()));
    bool isOfRole = getRole(dot) == role;
    bool isSum = !dot.getAcc().getDefiningOp<arith::ConstantOp>() &&
                 !dot.getAcc().getDefiningOp<DotOp>();
    if (isOwn ? isOfRole : !isOfRole && !isSum)
      work += lhs.getNumElements() * dot.getType().getDimSize(1);
  }
  return work;
}

/// Hands operands of products over together with numbers for element code that
/// the other group uses behind them, both when both are written: threads meet
/// for everything that is handed over. Where the products in front are shorter
/// than that of the other group, it is late anyway, and has its numbers early.
static void publishOperandsFirst(gpu::GPUFuncOp kernel, StringRef role) {
  SmallVector<Handover> all = findHandovers(kernel, role);
  for (Handover &numbers : all) {
    Block *block = numbers.publish->getBlock();
    if (numbers.isOperand || countWork(block, role, /*isOwn=*/false) <
                                 countWork(block, role, /*isOwn=*/true))
      continue;
    Operation *last = nullptr;
    for (Handover &operand : all) {
      Operation *publish = operand.publish;
      if (operand.isOperand && publish->getBlock() == block &&
          numbers.publish->isBeforeInBlock(publish) &&
          publish->isBeforeInBlock(numbers.held) &&
          (!last || last->isBeforeInBlock(publish)))
        last = publish;
    }
    if (!last)
      continue;
    numbers.filled->moveBefore(last);
    for (Operation *view : numbers.views)
      view->moveBefore(last);
    numbers.write->moveBefore(last);
    numbers.publish->moveAfter(last);
  }
}

using Crossing = llvm::MapVector<Value, SmallVector<OpOperand *>>;

/// Values that a loop hands over, with one of the same type behind the loop,
/// which may go through the same ring: it comes when the last one has been
/// read.
static llvm::SmallDenseMap<Value, Value> pairUp(const Crossing &crossing) {
  llvm::SmallDenseMap<Value, Value> behind;
  llvm::SmallDenseSet<Value> taken;
  for (auto &[value, operands] : crossing)
    for (auto &[other, ofOther] : crossing)
      if (!taken.contains(value) && !taken.contains(other) &&
          comesBehind(other, value)) {
        behind[value] = other;
        taken.insert(value);
        taken.insert(other);
      }
  return behind;
}

FailureOr<int64_t> fa3::tile::exchangeBetweenRoles(gpu::GPUFuncOp kernel) {
  int64_t count = 0;
  SmallVector<std::string> roles;
  for (StringRef role : getComputingRoles(kernel))
    if (role != "math")
      roles.push_back(role.str());
  for (StringRef role : roles) {
    RoleBoundary boundary(kernel, role);
    boundary.run();
    auto behind = pairUp(boundary.crossing);
    count += boundary.crossing.size() - behind.size();
    llvm::SmallDenseSet<Value> sharing;
    for (auto [inside, other] : behind)
      sharing.insert(other);
    for (auto &[value, operands] : boundary.crossing) {
      if (sharing.contains(value))
        continue;
      SmallVector<OpOperand *> others;
      if (Value other = behind.lookup(value))
        others = boundary.crossing.lookup(other);
      if (failed(exchangeOperand(kernel, operands, "math", role, others)))
        return failure();
    }
    publishOperandsFirst(kernel, role);
  }
  return count;
}
