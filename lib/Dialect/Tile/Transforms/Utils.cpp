//===- Utils.cpp - shared by the passes on tile ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Utils.h"
#include "fa3/Dialect/Tile/Analysis/RegisterEstimate.h"
#include "fa3/Dialect/Warp/Analysis/Control.h"
#include "fa3/Machine/RegisterModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

LogicalResult fa3::tile::forEachKernel(
    Operation *root, function_ref<LogicalResult(gpu::GPUFuncOp)> transform) {
  WalkResult result = root->walk([&](gpu::GPUFuncOp function) {
    if (!function.isKernel())
      return WalkResult::advance();
    if (!function.getBody().hasOneBlock()) {
      function.emitOpError("expects a kernel of one block (control flow in "
                           "scf operations), got ")
          << function.getBody().getBlocks().size();
      return WalkResult::interrupt();
    }
    return succeeded(transform(function)) ? WalkResult::advance()
                                          : WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

bool fa3::tile::isOne(Value value) { return matchPattern(value, m_One()); }

std::optional<GuardedBody> fa3::tile::matchGuardedBody(scf::ForOp loop) {
  if (!isOne(loop.getStep()))
    return std::nullopt;
  scf::IfOp guard;
  for (scf::IfOp candidate : loop.getBody()->getOps<scf::IfOp>())
    if (candidate.getCondition().getDefiningOp<AnyPossibleOp>()) {
      if (guard)
        return std::nullopt;
      guard = candidate;
    }
  if (!guard || !guard.elseBlock())
    return std::nullopt;
  auto condition = guard.getCondition().getDefiningOp<AnyPossibleOp>();
  if (condition->getBlock() != loop.getBody())
    return std::nullopt;

  // Without the guard the iteration must change nothing but cursors.
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [argument, yielded] :
       llvm::zip(loop.getRegionIterArgs(), yield->getOperands())) {
    if (yielded == argument || isa<warp::CursorType>(yielded.getType()))
      continue;
    auto result = dyn_cast<OpResult>(yielded);
    if (!result || result.getOwner() != guard ||
        guard.elseYield().getOperand(result.getResultNumber()) != argument)
      return std::nullopt;
  }
  for (Operation &op : loop.getBody()->without_terminator())
    if (&op != guard && !isMemoryEffectFree(&op) &&
        !isa<warp::AcquireOp, warp::PublishOp, warp::ReleaseOp, LoadAsyncOp>(
            op))
      return std::nullopt;
  return GuardedBody{guard, condition};
}

void fa3::tile::hoistScalars(scf::ForOp loop) {
  moveLoopInvariantCode(
      {&loop.getRegion()},
      [&](Value value, Region *) { return loop.isDefinedOutsideOfLoop(value); },
      [](Operation *op, Region *) {
        return op->getNumRegions() == 0 && isPure(op) &&
               !isa<AnyPossibleOp>(op) &&
               llvm::all_of(op->getResultTypes(), [](Type type) {
                 return type.isIntOrIndexOrFloat();
               });
      },
      [&](Operation *op, Region *) { op->moveBefore(loop); });
}

scf::ForOp fa3::tile::cloneLoop(OpBuilder &builder, scf::ForOp loop,
                                Value lower, Value upper, ValueRange inits) {
  IRMapping mapping;
  auto copy = cast<scf::ForOp>(builder.clone(*loop, mapping));
  copy.getLowerBoundMutable().assign(lower);
  copy.getUpperBoundMutable().assign(upper);
  copy.getInitArgsMutable().assign(inits);
  return copy;
}

scf::ForOp fa3::tile::appendIterArgs(scf::ForOp loop, ValueRange inits) {
  OpBuilder builder(loop);
  SmallVector<Value> allInits(loop.getInitArgs());
  llvm::append_range(allInits, inits);
  auto wider =
      scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(),
                         loop.getUpperBound(), loop.getStep(), allInits);
  wider->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  // Without carried values the new loop already has an empty yield.
  if (!wider.getBody()->empty())
    wider.getBody()->back().erase();
  unsigned kept = loop.getBody()->getNumArguments();
  wider.getBody()->getOperations().splice(wider.getBody()->end(),
                                          loop.getBody()->getOperations());
  for (unsigned i = 0; i < kept; ++i)
    loop.getBody()->getArgument(i).replaceAllUsesWith(
        wider.getBody()->getArgument(i));
  Operation *yield = wider.getBody()->getTerminator();
  SmallVector<Value> yields(yield->getOperands());
  llvm::append_range(yields, wider.getRegionIterArgs().take_back(inits.size()));
  yield->setOperands(yields);
  for (auto [from, to] : llvm::zip(loop.getResults(), wider.getResults()))
    from.replaceAllUsesWith(to);
  loop.erase();
  return wider;
}

/// Where the values that are threaded through control flow start.
static bool isThreadingRoot(Operation *op) {
  return isa<gpu::GPUFuncOp, warp::GroupOp>(op);
}

scf::IfOp fa3::tile::appendResults(scf::IfOp branch, ValueRange values) {
  OpBuilder builder(branch);
  SmallVector<Type> types(branch.getResultTypes());
  llvm::append_range(types, values.getTypes());
  auto wider =
      scf::IfOp::create(builder, branch.getLoc(), types, branch.getCondition(),
                        /*addThenBlock=*/true, /*addElseBlock=*/true);
  auto moveArm = [&](Block *from, Block *to) {
    if (from) {
      to->getOperations().splice(to->end(), from->getOperations());
    } else {
      builder.setInsertionPointToEnd(to);
      scf::YieldOp::create(builder, branch.getLoc());
    }
    Operation *yield = to->getTerminator();
    SmallVector<Value> yields(yield->getOperands());
    llvm::append_range(yields, values);
    yield->setOperands(yields);
  };
  moveArm(branch.thenBlock(), wider.thenBlock());
  moveArm(branch.elseBlock(), wider.elseBlock());
  for (auto [from, to] : llvm::zip(branch.getResults(), wider.getResults()))
    from.replaceAllUsesWith(to);
  branch.erase();
  return wider;
}

void fa3::tile::separateSplats(Operation *root) {
  llvm::SetVector<Operation *> found;
  root->walk([&](Operation *op) {
    if (op->getNumResults() != 1)
      return;
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type)
      return;
    auto isFound = [&](Value operand) {
      return !isa<RankedTensorType>(operand.getType()) ||
             found.contains(operand.getDefiningOp());
    };
    bool isSplat = isa<arith::ConstantOp, tensor::SplatOp>(op);
    bool isLine =
        type.getRank() == 1 &&
        (isa<CoordOp>(op) ||
         (isElementwise(op) && llvm::all_of(op->getOperands(), isFound)));
    if (isSplat || isLine)
      found.insert(op);
  });
  // Users first: each of them then has operands of its own.
  for (Operation *op : llvm::reverse(found)) {
    OpBuilder builder(op);
    while (!op->use_empty() && !op->hasOneUse())
      op->getUses().begin()->set(builder.clone(*op)->getResult(0));
  }
}

bool fa3::tile::visitCarried(Operation *op, Value value,
                             function_ref<void(Value)> visit) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      if (loop.getResult(i) == value || loop.getInitArgs()[i] == value ||
          loop.getRegionIterArg(i) == value) {
        visit(loop.getResult(i));
        visit(loop.getInitArgs()[i]);
        visit(loop.getRegionIterArg(i));
        visit(loop.getBody()->getTerminator()->getOperand(i));
      }
    return true;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (unsigned i = 0; i < branch.getNumResults(); ++i)
      if (branch.getResult(i) == value) {
        visit(branch.thenYield().getOperand(i));
        visit(branch.elseYield().getOperand(i));
      }
    return true;
  }
  if (!isa<scf::YieldOp, YieldOp>(op))
    return false;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (operand != value)
      continue;
    visit(op->getParentOp()->getResult(i));
    if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp()))
      visit(loop.getRegionIterArg(i));
  }
  return true;
}

bool fa3::tile::visitRenamed(Operation *op, Value value, int64_t dim,
                             function_ref<void(Value, int64_t)> visit) {
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    bool isSource = value == transpose.getSource();
    visit(transpose.getSource(), isSource ? dim : 1 - dim);
    visit(transpose.getResult(), isSource ? 1 - dim : dim);
    return true;
  }
  auto broadcast = dyn_cast<BroadcastOp>(op);
  if (!broadcast)
    return false;
  int64_t kept = 1 - broadcast.getDim();
  if (value == broadcast.getSource() || dim == kept) {
    visit(broadcast.getSource(), 0);
    visit(broadcast.getResult(), kept);
  }
  return true;
}

bool fa3::tile::isConversion(Operation *op) {
  return isa<RelabelOp, TransposeOp, UnpackOp>(op);
}

bool fa3::tile::isProductOrConversion(Operation *op) {
  return isa<DotOp>(op) || isConversion(op);
}

bool fa3::tile::mayReassociate(Operation *op) {
  auto hasFlags = dyn_cast<arith::ArithFastMathInterface>(op);
  // Some operations have them as an optional attribute.
  arith::FastMathFlagsAttr flags =
      hasFlags ? hasFlags.getFastMathFlagsAttr() : nullptr;
  return flags &&
         bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::reassoc);
}

SmemAttr fa3::tile::getStorage(RankedTensorType type) {
  auto storage = dyn_cast_or_null<SmemAttr>(type.getEncoding());
  return storage ? storage : getDefaultStorage(type);
}

SmemAttr fa3::tile::getUnpaddedStorage(RankedTensorType type) {
  int64_t bits = type.getShape().back() * type.getElementTypeBitWidth();
  for (int64_t swizzle : {128, 64, 32})
    if (bits % (swizzle * 8) == 0)
      return SmemAttr::get(type.getContext(), swizzle);
  return getDefaultStorage(type);
}

int64_t fa3::tile::getConstantBytes(gpu::GPUFuncOp kernel) {
  // Of buffers in shared memory.
  constexpr int64_t kAlignment = 1024;
  llvm::SmallPtrSet<Attribute, 2> constants;
  int64_t bytes = 0;
  kernel.walk([&](DotAsyncOp dot) {
    SplatElementsAttr constant;
    if (matchPattern(dot.getRhs(), m_Constant(&constant)) &&
        constants.insert(constant).second)
      bytes += llvm::alignTo(
          getStorageBytes(cast<RankedTensorType>(constant.getType())),
          kAlignment);
  });
  return bytes;
}

unsigned fa3::tile::getLoopDepth(warp::RingOp ring) {
  unsigned depth = 0;
  for (Operation *user : ring->getUsers()) {
    if (!isa<warp::AcquireOp>(user))
      continue;
    unsigned loops = 0;
    for (auto loop = user->getParentOfType<LoopLikeOpInterface>();
         loop && !loop->isAncestor(ring);
         loop = loop->getParentOfType<LoopLikeOpInterface>())
      ++loops;
    depth = std::max(depth, loops);
  }
  return depth;
}

bool fa3::tile::feedsProducts(warp::RingOp ring) {
  for (Operation *user : ring->getUsers()) {
    auto acquire = dyn_cast<warp::AcquireOp>(user);
    if (!acquire || acquire.getSide() != warp::Side::read)
      continue;
    for (Operation *holder : acquire.getSlot().getUsers())
      if (isa<ViewOp>(holder) &&
          llvm::any_of(holder->getUsers(), llvm::IsaPred<DotAsyncOp>))
        return true;
  }
  return false;
}

bool fa3::tile::feedsElementCode(warp::RingOp ring) {
  bool hasReads = false;
  for (Operation *user : ring->getUsers()) {
    auto acquire = dyn_cast<warp::AcquireOp>(user);
    if (!acquire || acquire.getSide() != warp::Side::read)
      continue;
    for (Operation *holder : acquire.getSlot().getUsers()) {
      if (!isa<ViewOp>(holder))
        continue;
      for (Operation *access : holder->getUsers()) {
        if (!isa<ReadOp>(access) ||
            !llvm::all_of(access->getUsers(), [](Operation *user) {
              return isElementwise(user) || isa<BroadcastOp>(user);
            }))
          return false;
        hasReads = true;
      }
    }
  }
  return hasReads;
}

Operation *fa3::tile::findMeeting(ReadOp read) {
  Operation *op = read;
  while (op->hasOneUse()) {
    Operation *user = *op->getUsers().begin();
    if ((!isElementwise(user) && !isa<BroadcastOp>(user)) ||
        user->getBlock() != read->getBlock())
      break;
    op = user;
    if (op->getNumOperands() > 1)
      break;
  }
  return op;
}

int64_t fa3::tile::getSpareRegisters(warp::GroupOp group) {
  const Chip &chip = getChip(group);
  int64_t consumers = 0, computing = 0;
  bool isNested = false;
  unsigned convertedBits = 0;
  for (auto other : group->getBlock()->getOps<warp::GroupOp>()) {
    if (int64_t(other.getWarps()) >= chip.warpsPerWarpgroup) {
      consumers +=
          other.getReplicas() * other.getWarps() / chip.warpsPerWarpgroup;
      ++computing;
      continue;
    }
    isNested |= warp::hasNestedLoops(other);
    other.walk([&](Operation *op) {
      if (isa<ReadOp>(op))
        convertedBits = std::max(convertedBits, 8u);
      if (auto unpack = dyn_cast<UnpackOp>(op))
        convertedBits = unpack.getResult().getType().getElementTypeBitWidth();
    });
  }
  int64_t producer = getRegisterModel(chip).getProducerRegisters(
      consumers, isNested || computing > 1, convertedBits);
  Operation *where = nullptr;
  return getRegisterLimit(group, producer) - estimateRegisters(group, where);
}

bool fa3::tile::receivesNumbers(scf::ForOp loop) {
  return !loop.getBody()->getOps<ReceiveOp>().empty();
}

bool fa3::tile::usesCoordinates(warp::GroupOp group) {
  return group
      .walk([](CoordOp op) {
        return WalkResult(failure(isa<RankedTensorType>(op.getType())));
      })
      .wasInterrupted();
}

bool fa3::tile::changesCoordinates(scf::ForOp loop) {
  return loop
      .walk([&](CoordOp op) {
        return WalkResult(
            failure(isa<RankedTensorType>(op.getType()) &&
                    !loop.isDefinedOutsideOfLoop(op.getOffset())));
      })
      .wasInterrupted();
}

bool fa3::tile::meetsWideNumbers(scf::ForOp loop) {
  int64_t narrow = getRegisterModel(getChip(loop)).narrowRead;
  return llvm::any_of(loop.getBody()->getOps<BroadcastOp>(),
                      [&](BroadcastOp broadcast) {
                        return broadcast.getDim() == 0 &&
                               broadcast.getType().getDimSize(1) > narrow;
                      });
}

DotAsyncOp fa3::tile::findNextInChain(DotAsyncOp dot) {
  for (Operation *user : dot.getResult().getUsers())
    if (auto next = dyn_cast<DotAsyncOp>(user);
        next && next->getBlock() == dot->getBlock() &&
        next.getAcc() == dot.getResult())
      return next;
  return {};
}

AwaitOp fa3::tile::findAwait(DotAsyncOp dot) {
  while (DotAsyncOp next = findNextInChain(dot))
    dot = next;
  for (Operation *user : dot.getResult().getUsers())
    if (auto await = dyn_cast<AwaitOp>(user);
        await && await->getBlock() == dot->getBlock())
      return await;
  return {};
}

LogicalResult fa3::tile::threadTo(Operation *site,
                                  SmallVectorImpl<Value> &values, Block *from) {
  SmallVector<Operation *> around;
  for (Block *block = site->getBlock();
       block != from && !isThreadingRoot(block->getParentOp());
       block = block->getParentOp()->getBlock())
    around.push_back(block->getParentOp());
  for (Operation *op : llvm::reverse(around)) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      loop = appendIterArgs(loop, values);
      llvm::copy(loop.getRegionIterArgs().take_back(values.size()),
                 values.begin());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      // The arms see the values from outside.
      appendResults(branch, values);
    } else {
      return site->emitOpError("lies inside '")
             << op->getName() << "', through which rings cannot be threaded";
    }
  }
  return success();
}

SmallVector<Value> fa3::tile::threadFrom(Operation *site,
                                         SmallVector<Value> next, Block *to) {
  for (Block *block = site->getBlock();
       block != to && !isThreadingRoot(block->getParentOp());
       block = block->getParentOp()->getBlock()) {
    Operation *yield = block->getTerminator();
    unsigned first = yield->getNumOperands() - next.size();
    for (auto [i, value] : llvm::enumerate(next))
      yield->setOperand(first + i, value);
    llvm::copy(block->getParentOp()->getResults().take_back(next.size()),
               next.begin());
  }
  return next;
}
