//===- KernelLowering.cpp - control flow and scalars ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;

KernelLowering::KernelLowering(gpu::GPUFuncOp source, gpu::GPUFuncOp target)
    : source(source), target(target), b(source.getLoc(), source.getContext()),
      arguments(source, target), protocols(source) {}

const KernelLowering::Values &KernelLowering::getAll(Value value) {
  Values &lowered = values[value];
  // Scalar arguments come into use with their first user.
  if (lowered.empty() && arguments.isArgument(value) &&
      value.getType().isIntOrIndexOrFloat())
    lowered.push_back(arguments.getScalar(value));
  return lowered;
}

KernelLowering::Values KernelLowering::get(ValueRange range) {
  Values all;
  for (Value value : range)
    llvm::append_range(all, getAll(value));
  return all;
}

Value KernelLowering::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
}

Value KernelLowering::asI32(Value index) {
  return arith::IndexCastOp::create(b, b.getI32Type(), index);
}

LogicalResult KernelLowering::convertType(Location loc, Type type,
                                          SmallVectorImpl<Type> &types) {
  if (type.isIndex()) {
    types.push_back(b.getI32Type());
    return success();
  }
  if (type.isIntOrFloat()) {
    types.push_back(type);
    return success();
  }
  if (isa<warp::CursorType>(type)) { // slot number and parity
    types.append(2, b.getI32Type());
    return success();
  }
  if (isa<warp::SlotType>(type)) { // slot number
    types.push_back(b.getI32Type());
    return success();
  }
  if (isa<warp::DoneType>(type)) {
    types.push_back(hopper::GroupType::get(b.getContext()));
    return success();
  }
  RankedTensorType tile = tile::getTileType(type);
  std::optional<LinearLayout> layout =
      tile ? tile::getLinearLayout(tile) : std::nullopt;
  if (!layout)
    return emitError(loc) << "type " << type
                          << " has no lowering to hopper: expects scalars, "
                             "warp types and tiles with a register layout";
  Type element = tile.getElementType();
  if (element.isIndex())
    element = b.getI32Type();
  auto vector = VectorType::get(layout->getNumRegisters(), element);
  if (isa<tile::PendingType>(type)) { // fragment in flight and its group
    types.push_back(hopper::InflightType::get(vector));
    types.push_back(hopper::GroupType::get(b.getContext()));
    return success();
  }
  types.push_back(vector);
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::run() {
  b.setInsertionPointToStart(&target.getBody().front());
  if (failed(lowerBlock(source.getBody().front())))
    return failure();
  finishFlags();
  gpu::ReturnOp::create(b);
  arguments.finish();
  return success();
}

LogicalResult KernelLowering::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    if (failed(lowerOp(&op)))
      return failure();
  }
  return success();
}

LogicalResult KernelLowering::lowerFor(scf::ForOp loop) {
  if (auto share = loop.getUpperBound().getDefiningOp<tile::ShareOp>())
    return lowerShare(loop, share);
  Value bounds[] = {get(loop.getLowerBound()), get(loop.getUpperBound()),
                    get(loop.getStep())};
  return lowerLoop(
      loop, bounds, ValueRange(), [](ValueRange) {},
      [](ValueRange) { return Values(); });
}

LogicalResult
KernelLowering::lowerLoop(scf::ForOp loop, ValueRange bounds,
                          ValueRange leading,
                          function_ref<void(ValueRange)> start,
                          function_ref<Values(ValueRange)> finish) {
  SmallVector<Type> types;
  SmallVector<unsigned> counts;
  for (Value result : loop.getResults()) {
    unsigned before = types.size();
    if (failed(convertType(loop.getLoc(), result.getType(), types)))
      return failure();
    counts.push_back(types.size() - before);
  }
  Values inits(leading.begin(), leading.end());
  llvm::append_range(inits, get(loop.getInitArgs()));
  auto lowered = scf::ForOp::create(b, bounds[0], bounds[1], bounds[2], inits);
  set(loop.getInductionVar(), lowered.getInductionVar());
  unsigned position = leading.size();
  for (auto [i, count] : llvm::enumerate(counts)) {
    set(loop.getRegionIterArg(i),
        lowered.getRegionIterArgs().slice(position, count));
    set(loop.getResult(i), lowered.getResults().slice(position, count));
    continueSlot(loop.getInitArgs()[i], loop.getRegionIterArg(i));
    continueSlot(loop.getInitArgs()[i], loop.getResult(i));
    position += count;
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(lowered.getBody());
  ValueRange carried = lowered.getRegionIterArgs().take_front(leading.size());
  start(carried);
  if (failed(lowerBlock(*loop.getBody())))
    return failure();
  b.setLoc(loop.getLoc());
  Values yields = finish(carried);
  llvm::append_range(yields,
                     get(loop.getBody()->getTerminator()->getOperands()));
  if (!yields.empty())
    scf::YieldOp::create(b, yields);
  return success();
}

LogicalResult KernelLowering::lowerIf(scf::IfOp branch) {
  SmallVector<Type> types;
  SmallVector<unsigned> counts;
  for (Value result : branch.getResults()) {
    unsigned before = types.size();
    if (failed(convertType(branch.getLoc(), result.getType(), types)))
      return failure();
    counts.push_back(types.size() - before);
  }
  auto lowered = scf::IfOp::create(b, types, get(branch.getCondition()),
                                   /*addThenBlock=*/true,
                                   /*addElseBlock=*/branch.elseBlock());
  unsigned position = 0;
  for (auto [i, count] : llvm::enumerate(counts)) {
    set(branch.getResult(i), lowered.getResults().slice(position, count));
    position += count;
  }
  auto lowerArm = [&](Block *from, Block *to) -> LogicalResult {
    if (!from)
      return success();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(to);
    if (failed(lowerBlock(*from)))
      return failure();
    b.setLoc(branch.getLoc());
    scf::YieldOp::create(b, get(from->getTerminator()->getOperands()));
    for (unsigned i = 0; i < branch.getNumResults(); ++i)
      continueSlot(from->getTerminator()->getOperand(i), branch.getResult(i));
    return success();
  };
  if (failed(lowerArm(branch.thenBlock(), lowered.thenBlock())))
    return failure();
  return lowerArm(branch.elseBlock(), lowered.elseBlock());
}

LogicalResult KernelLowering::lowerSpecialize(warp::SpecializeOp op) {
  if (failed(prepareShares(op)) || failed(prepareConstants(op)))
    return failure();
  // Barriers and constants are ready for use when every thread has passed here.
  SmallVector<Value> barriers;
  for (hopper::BarrierAllocOp barrier :
       target.getBody().front().getOps<hopper::BarrierAllocOp>())
    barriers.push_back(barrier.getBarrier());
  if (!barriers.empty())
    hopper::BarrierInitOp::create(b, barriers);
  if (!barriers.empty() || !constants.empty())
    gpu::BarrierOp::create(b);
  // Nobody waits for the thread that does it.
  if (cleared)
    hopper::FlagClearOp::create(b, cleared->pointer, cleared->indices,
                                cleared->strides);
  auto lowered = warp::SpecializeOp::create(b);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&lowered.getBody());
  for (auto group : op.getBody().getOps<warp::GroupOp>())
    if (failed(lowerGroup(group)))
      return failure();
  return success();
}

LogicalResult KernelLowering::lowerGroup(warp::GroupOp group) {
  b.setLoc(group.getLoc());
  auto lowered = warp::GroupOp::create(b, group.getSymName(), group.getWarps(),
                                       group.getReplicas());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(lowered.getBodyBlock());
  set(group.getReplica(), asI32(lowered.getReplica()));
  usesNamedBarrier = false;
  beginTurns(group);
  if (failed(lowerBlock(*group.getBodyBlock())))
    return failure();
  if (usesNamedBarrier) {
    // Stores still read shared memory, which ends with the CTA.
    b.setLoc(group.getLoc());
    hopper::TmaWaitReadOp::create(b, 0, cleared.has_value());
    nextNamedBarrier += group.getReplicas();
    if (nextNamedBarrier > getChip(group).namedBarriers)
      return group.emitOpError("has no lowering to hopper: the replicas of the "
                               "kernel's groups need ")
             << nextNamedBarrier - 1 << " named barriers, a block has "
             << getChip(group).namedBarriers - 1 << " beside its own";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerConstant(arith::ConstantOp constant) {
  auto value = cast<TypedAttr>(constant.getValue());
  APInt index;
  if (getElementTypeOrSelf(value.getType()).isIndex() &&
      (matchPattern(constant.getResult(), m_ConstantInt(&index)) &&
       !index.isSignedIntN(32))) {
    // Folding forgets where a constant comes from.
    Location loc = constant->getLoc();
    for (Operation *user : constant->getUsers())
      if (isa<UnknownLoc>(loc))
        loc = user->getLoc();
    return emitError(loc) << "'arith.constant' op has no lowering to hopper: "
                             "expects an index of 32 bits, got "
                          << index.getSExtValue();
  }
  // Right operands of products have their place in shared memory.
  if (isa<TensorType>(value.getType()) &&
      llvm::all_of(constant->getUses(), [](OpOperand &use) {
        return isa<tile::DotAsyncOp>(use.getOwner()) &&
               use.getOperandNumber() == 1;
      }))
    return success();
  SmallVector<Type> types;
  if (failed(convertType(constant->getLoc(), value.getType(), types)))
    return failure();
  if (auto elements = dyn_cast<DenseElementsAttr>(value)) {
    if (!elements.isSplat())
      return constant.emitOpError("has no lowering to hopper: it is no splat");
    auto type = cast<VectorType>(types.front());
    if (elements.getElementType().isIndex())
      value = DenseElementsAttr::get(type,
                                     elements.getSplatValue<APInt>().trunc(32));
    else
      value = DenseElementsAttr::get(type, elements.getSplatValue<Attribute>());
  } else if (value.getType().isIndex()) {
    value = b.getI32IntegerAttr(cast<IntegerAttr>(value).getInt());
  }
  set(constant.getResult(), arith::ConstantOp::create(b, value).getResult());
  return success();
}

/// Scalar operations and elementwise operations on tiles: the same operation on
/// the types that its operands became.
LogicalResult KernelLowering::lowerGeneric(Operation *op) {
  if (op->getNumRegions() || !isMemoryEffectFree(op) ||
      !(OpTrait::hasElementwiseMappableTraits(op) || isa<tensor::SplatOp>(op)))
    return op->emitOpError("has no lowering to hopper");
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    if (failed(convertType(op->getLoc(), type, types)))
      return failure();
  Values operands = get(op->getOperands());
  if (isa<tensor::SplatOp>(op)) {
    set(op->getResult(0),
        vector::BroadcastOp::create(b, types.front(), operands.front())
            .getResult());
    return success();
  }
  // Index values are 32-bit integers here, so some casts vanish.
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    unsigned from =
        getElementTypeOrSelf(operands.front()).getIntOrFloatBitWidth();
    unsigned to = getElementTypeOrSelf(types.front()).getIntOrFloatBitWidth();
    Value value = operands.front();
    if (to < from)
      value = arith::TruncIOp::create(b, types.front(), value);
    else if (to > from && isa<arith::IndexCastOp>(op))
      value = arith::ExtSIOp::create(b, types.front(), value);
    else if (to > from)
      value = arith::ExtUIOp::create(b, types.front(), value);
    set(op->getResult(0), value);
    return success();
  }
  if (lowerCoordBits(op) || lowerRepeated(op, operands, types.front()))
    return success();
  OperationState state(op->getLoc(), op->getName(), operands, types,
                       op->getAttrs());
  set(op->getResult(0), b.create(state)->getResult(0));
  return success();
}

/// Windows with other elements than their slot are written and stored from.
static LogicalResult verifyWindows(Operation *op) {
  if (isa<tile::WriteOp, tile::StoreAsyncOp>(op))
    return success();
  for (Value operand : op->getOperands()) {
    auto view = operand.getDefiningOp<tile::ViewOp>();
    if (!view || !isa<tile::ViewType>(operand.getType()))
      continue;
    auto entry = cast<RankedTensorType>(
        view.getSlot().getType().getPayload()[view.getField()]);
    RankedTensorType window = view.getView().getType().getTile();
    if (window.getElementType() != entry.getElementType())
      return op->emitOpError("has no lowering to hopper: accesses elements of ")
             << window.getElementType() << " in a slot of " << entry;
  }
  return success();
}

LogicalResult KernelLowering::lowerNumber(Operation *op) {
  set(op->getResult(0), asI32(b.clone(*op)->getResult(0)));
  return success();
}

LogicalResult KernelLowering::lowerExtent(memref::DimOp op) {
  std::optional<int64_t> dim = op.getConstantIndex();
  if (!dim || !arguments.isArgument(op.getSource()))
    return op.emitOpError("has no lowering to hopper: expects a constant "
                          "dimension of a kernel argument");
  set(op.getResult(), arguments.getExtent(b, op.getSource(), *dim));
  return success();
}

void KernelLowering::addControl(Lowerings &lowerings) {
  lowerings.add(&KernelLowering::lowerFor);
  lowerings.add(&KernelLowering::lowerIf);
  lowerings.add(&KernelLowering::lowerSpecialize);
  lowerings.add(&KernelLowering::lowerConstant);
  lowerings.add(&KernelLowering::lowerExtent);
  lowerings.addAll<gpu::BlockIdOp, gpu::GridDimOp>(
      &KernelLowering::lowerNumber);
}

LogicalResult KernelLowering::lowerOp(Operation *op) {
  static const Lowerings lowerings = [] {
    Lowerings all;
    for (auto *add : {addControl, addShares, addRings, addSlots, addTiles,
                      addGlobal, addOrdered, addFlags})
      add(all);
    return all;
  }();
  for (Value operand : op->getOperands())
    if (isa<tile::ViewType>(operand.getType()) && !views.contains(operand))
      return op->emitOpError("has no lowering to hopper: expects views that "
                             "are results of 'tile.view'");
  if (failed(verifyWindows(op)))
    return failure();
  if (const Lowerings::Function *lower = lowerings.find(op))
    return (*lower)(*this, op);
  return lowerGeneric(op);
}
