//===- Specialize.cpp - tile-specialize -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each group is the slice of the program that the operations of its role need,
// built by copying what is live. Nothing is moved between groups here: data
// already goes through rings.
//===----------------------------------------------------------------------===//

#include "../Utils.h"
#include "Roles.h"
#include "SplitRows.h"
#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3::tile {
#define GEN_PASS_DEF_SPECIALIZE
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Warps of the convert group: as many as share a warp group with the loader.
static constexpr int64_t kConvertWarps = 2;

/// Whether an operation is for the whole block, not for one of its groups.
static bool isFlagOp(Operation *op) {
  return isa<ClearFlagOp, SetFlagOp, AwaitFlagsOp>(op);
}

namespace {
/// The slice of a kernel that the operations of some roles need.
class RoleSlice {
public:
  RoleSlice(gpu::GPUFuncOp kernel, ArrayRef<StringRef> roles);
  bool isEmpty() const { return roots == 0; }
  /// Copies the slice of the kernel's entry block.
  void copy(OpBuilder &builder, IRMapping &mapping);

private:
  void markOp(Operation *op);
  void markValue(Value value);
  void markCarried(Operation *op, unsigned index);
  void copyBlock(OpBuilder &builder, Block &block, IRMapping &mapping);
  void copyLoop(OpBuilder &builder, scf::ForOp loop, IRMapping &mapping);
  void copyBranch(OpBuilder &builder, scf::IfOp branch, IRMapping &mapping);
  SmallVector<unsigned> liveIndices(Operation *op, unsigned count) const;

  gpu::GPUFuncOp kernel;
  unsigned roots = 0;
  llvm::DenseSet<Operation *> liveOps;
  /// Carried values and results of loops and branches, by position.
  llvm::DenseSet<std::pair<Operation *, unsigned>> liveCarried;
};
} // namespace

RoleSlice::RoleSlice(gpu::GPUFuncOp kernel, ArrayRef<StringRef> roles)
    : kernel(kernel) {
  kernel.walk([&](Operation *op) {
    if (op == kernel || isa<scf::ForOp, scf::IfOp, warp::RingOp>(op) ||
        op->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(op) ||
        isFlagOp(op) || isa<WhereOp>(op->getParentOp()))
      return;
    if (!llvm::is_contained(roles, getRole(op)))
      return;
    // A position alone does nothing.
    roots += !isa<warp::CursorOp>(op);
    if (!isa<warp::CursorOp>(op))
      markOp(op);
  });
}

void RoleSlice::markOp(Operation *op) {
  if (!liveOps.insert(op).second)
    return;
  if (isa<scf::ForOp, scf::IfOp>(op)) {
    // Bounds or condition; what it carries is marked value by value.
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      markValue(loop.getLowerBound());
      markValue(loop.getUpperBound());
      markValue(loop.getStep());
    } else {
      markValue(cast<scf::IfOp>(op).getCondition());
    }
  } else {
    for (Value operand : op->getOperands())
      markValue(operand);
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
          markValue(operand);
    });
  }
  Operation *parent = op->getParentOp();
  if (parent != kernel)
    markOp(parent);
}

void RoleSlice::markCarried(Operation *op, unsigned index) {
  if (!liveCarried.insert({op, index}).second)
    return;
  markOp(op);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    markValue(loop.getInitArgs()[index]);
    markValue(loop.getBody()->getTerminator()->getOperand(index));
    return;
  }
  auto branch = cast<scf::IfOp>(op);
  markValue(branch.thenYield().getOperand(index));
  markValue(branch.elseYield().getOperand(index));
}

void RoleSlice::markValue(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop)
      return;
    if (argument.getArgNumber() == 0)
      markOp(loop);
    else
      markCarried(loop, argument.getArgNumber() - 1);
    return;
  }
  auto result = cast<OpResult>(value);
  if (isa<scf::ForOp, scf::IfOp>(result.getOwner()))
    markCarried(result.getOwner(), result.getResultNumber());
  else
    markOp(result.getOwner());
}

SmallVector<unsigned> RoleSlice::liveIndices(Operation *op,
                                             unsigned count) const {
  SmallVector<unsigned> indices;
  for (unsigned i = 0; i < count; ++i)
    if (liveCarried.contains({op, i}))
      indices.push_back(i);
  return indices;
}

void RoleSlice::copyLoop(OpBuilder &builder, scf::ForOp loop,
                         IRMapping &mapping) {
  SmallVector<unsigned> live = liveIndices(loop, loop.getNumResults());
  SmallVector<Value> inits;
  for (unsigned i : live)
    inits.push_back(mapping.lookupOrDefault(loop.getInitArgs()[i]));
  auto copy = scf::ForOp::create(
      builder, loop.getLoc(), mapping.lookupOrDefault(loop.getLowerBound()),
      mapping.lookupOrDefault(loop.getUpperBound()),
      mapping.lookupOrDefault(loop.getStep()), inits);
  mapping.map(loop.getInductionVar(), copy.getInductionVar());
  for (auto [to, i] : llvm::enumerate(live)) {
    mapping.map(loop.getRegionIterArg(i), copy.getRegionIterArg(to));
    mapping.map(loop.getResult(i), copy.getResult(to));
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(copy.getBody());
  copyBlock(builder, *loop.getBody(), mapping);
  if (live.empty())
    return;
  SmallVector<Value> yields;
  for (unsigned i : live)
    yields.push_back(mapping.lookupOrDefault(
        loop.getBody()->getTerminator()->getOperand(i)));
  scf::YieldOp::create(builder, loop.getLoc(), yields);
}

void RoleSlice::copyBranch(OpBuilder &builder, scf::IfOp branch,
                           IRMapping &mapping) {
  SmallVector<unsigned> live = liveIndices(branch, branch.getNumResults());
  SmallVector<Type> types;
  for (unsigned i : live)
    types.push_back(branch.getResult(i).getType());
  auto copy = scf::IfOp::create(builder, branch.getLoc(), types,
                                mapping.lookupOrDefault(branch.getCondition()),
                                /*addThenBlock=*/true,
                                /*addElseBlock=*/branch.elseBlock() != nullptr);
  for (auto [to, i] : llvm::enumerate(live))
    mapping.map(branch.getResult(i), copy.getResult(to));
  auto copyArm = [&](Block *from, Block *to) {
    if (!from)
      return;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(to);
    copyBlock(builder, *from, mapping);
    SmallVector<Value> yields;
    for (unsigned i : live)
      yields.push_back(
          mapping.lookupOrDefault(from->getTerminator()->getOperand(i)));
    scf::YieldOp::create(builder, branch.getLoc(), yields);
  };
  copyArm(branch.thenBlock(), copy.thenBlock());
  copyArm(branch.elseBlock(), copy.elseBlock());
}

void RoleSlice::copyBlock(OpBuilder &builder, Block &block,
                          IRMapping &mapping) {
  for (Operation &op : block.without_terminator()) {
    if (!liveOps.contains(&op) || isa<warp::RingOp>(op))
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      copyLoop(builder, loop, mapping);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      copyBranch(builder, branch, mapping);
    else
      builder.clone(op, mapping)->removeAttr(TileDialect::kRoleAttrName);
  }
}

void RoleSlice::copy(OpBuilder &builder, IRMapping &mapping) {
  copyBlock(builder, kernel.getBody().front(), mapping);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Replicas of a kernel that has no product: one group has a power of two of 64
/// rows, so that as many replicas as the odd part of their number divide them.
static int64_t countReplicasOfStores(gpu::GPUFuncOp kernel) {
  int64_t replicas = 1;
  kernel.walk([&](StoreOp store) {
    RankedTensorType type = cast<RankedTensorType>(store.getValue().getType());
    int64_t rows = type.getDimSize(0);
    if (type.getRank() != 2 || rows % kRowsPerReplica)
      return;
    uint64_t blocks = rows / kRowsPerReplica;
    replicas = std::max<int64_t>(replicas, blocks >> llvm::countr_zero(blocks));
  });
  return replicas;
}

/// One replica per 64 rows of the products that have most of them.
static FailureOr<int64_t> countReplicas(gpu::GPUFuncOp kernel) {
  int64_t most = 0;
  WalkResult result = kernel.walk([&](DotOp dot) {
    int64_t rows = dot.getResult().getType().getDimSize(0);
    if (rows % kRowsPerReplica) {
      dot.emitOpError("expects rows that are a multiple of ")
          << kRowsPerReplica << ", got " << rows;
      return WalkResult::interrupt();
    }
    most = std::max(most, rows);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return most == 0 ? countReplicasOfStores(kernel) : most / kRowsPerReplica;
}

/// A slice takes loops and branches apart; other control flow would be repeated
/// in every group, with the effects of all roles.
static LogicalResult verifyControlFlow(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([&](Operation *op) {
    if (op == kernel || op->getNumRegions() == 0 ||
        isa<scf::ForOp, scf::IfOp, WhereOp, LoadAsyncOp>(op) ||
        isMemoryEffectFree(op))
      return WalkResult::advance();
    op->emitOpError("cannot be divided among groups: expects operations with "
                    "effects in 'scf.for' and 'scf.if' only");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Rows that end before the tile does
//===----------------------------------------------------------------------===//

/// Drops the end of a store's rows where all rows of a replica are below it. If
/// they all are or none is, a replica without rows stores outside of the array
/// instead, which writes nothing. Any other end stays with the store.
static void resolveEnd(StoreOp store) {
  RankedTensorType tile = store.getValue().getType();
  int64_t rows = tile.getDimSize(0) / store.getFold().value_or(1);
  unsigned dim =
      store.getIndices().size() - tile.getRank() - (store.getFold() ? 1 : 0);
  Value first = store.getIndices()[dim], end = store.getBelow();
  AffineForm room = getAffineForm(end) - getAffineForm(first);
  if (provesNonNegative(room - AffineForm(rows))) {
    store.getBelowMutable().clear();
    return;
  }
  if (!provesMultipleOf(room, rows))
    return;
  ImplicitLocOpBuilder b(store.getLoc(), store);
  Value outside = memref::DimOp::create(b, store.getTarget(), dim);
  Value live = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, first, end);
  store.getIndicesMutable()[dim].assign(
      arith::SelectOp::create(b, live, first, outside));
  store.getBelowMutable().clear();
}

/// Whether threads write the entries of the ring, not copies.
static bool isWritten(warp::RingOp ring) {
  return llvm::any_of(ring->getUsers(), [](Operation *user) {
    auto acquire = dyn_cast<warp::AcquireOp>(user);
    return acquire && acquire.getSide() == warp::Side::write &&
           llvm::any_of(acquire.getSlot().getUsers(), [](Operation *view) {
             return isa<ViewOp>(view) &&
                    llvm::any_of(view->getUsers(), llvm::IsaPred<WriteOp>);
           });
  });
}

/// Who fills the rings that replicas share: of those that threads write every
/// replica a part; copies are made by replica 0 for all.
static void chooseWriters(warp::GroupOp group) {
  group.walk([&](warp::CursorOp cursor) {
    auto ring = cursor.getRing().getDefiningOp<warp::RingOp>();
    if (cursor.getSide() != warp::Side::write || group->isAncestor(ring))
      return;
    if (!isWritten(ring))
      return cursor.setLeader(true);
    warp::RingType type = ring.getRing().getType();
    ring.getRing().setType(warp::RingType::get(
        type.getContext(), type.getDepth(), type.getPayload(),
        group.getReplicas(), type.getInitial(), type.getScope()));
    cursor.setEach(true);
  });
}

/// Copies made by who computes need nobody in between.
static LogicalResult verifyNoOtherRoles(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([&](Operation *op) {
    StringRef role = getRole(op);
    if (role == "convert")
      op->emitOpError("converts an operand between two rings, which needs a "
                      "group of its own: expects 'warp-specialize'");
    else if (role == "store")
      op->emitOpError("has the store role, which is a group of its own: "
                      "expects 'warp-specialize'");
    else
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Flags are for all groups: cleared, and awaited, in front of them, and set
/// where they meet again. So they stand where all threads come by once.
static LogicalResult verifyFlags(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([&](Operation *op) {
    if (!isFlagOp(op) || op->getParentOp() == kernel)
      return WalkResult::advance();
    op->emitOpError("is for all groups: expects to stand outside of control "
                    "flow, in a kernel with one CTA per tile");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Copies an operation of a block and what it is computed from, which has no
/// effects, but what has been copied.
static void copyWithOperands(Operation *op, OpBuilder &builder,
                             IRMapping &mapping) {
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (source && !mapping.contains(operand))
      copyWithOperands(source, builder, mapping);
  }
  builder.clone(*op, mapping);
}

static LogicalResult specialize(gpu::GPUFuncOp kernel, int64_t replicas,
                                bool warpSpecialize) {
  Block &entry = kernel.getBody().front();
  if (!entry.getOps<warp::SpecializeOp>().empty() ||
      !entry.getOps<GridOp>().empty())
    return kernel.emitOpError("expects a kernel without 'tile.grid' and "
                              "'warp.specialize'");
  if (failed(verifyControlFlow(kernel)))
    return failure();
  if (replicas == 0) {
    FailureOr<int64_t> counted = countReplicas(kernel);
    if (failed(counted))
      return failure();
    replicas = *counted;
  }
  if (!warpSpecialize && failed(verifyNoOtherRoles(kernel)))
    return failure();
  SmallVector<StringRef> mathRoles = {"math"}, furtherRoles, loadRoles;
  for (StringRef role : getComputingRoles(kernel))
    if (role != "math")
      (warpSpecialize ? furtherRoles : mathRoles).push_back(role);
  (warpSpecialize ? loadRoles : mathRoles).push_back("load");
  if (!furtherRoles.empty() && replicas != 1)
    return kernel.emitOpError("has sums for several groups, which compute all "
                              "rows: expects 1 replica, got ")
           << replicas;
  RoleSlice load(kernel, loadRoles), convert(kernel, {"convert"}),
      store(kernel, {"store"}), math(kernel, mathRoles);
  SmallVector<std::pair<std::string, RoleSlice>> further;
  for (StringRef role : furtherRoles)
    further.push_back({role.str(), RoleSlice(kernel, {role})});
  if (failed(verifyFlags(kernel)))
    return failure();
  SmallVector<Operation *> original;
  for (Operation &op : entry.without_terminator())
    if (!isa<warp::RingOp>(op))
      original.push_back(&op);
  OpBuilder builder(entry.getTerminator());
  IRMapping places;
  for (Operation *op : original)
    if (isa<ClearFlagOp, AwaitFlagsOp>(op))
      copyWithOperands(op, builder, places);
  auto specialized = warp::SpecializeOp::create(builder, kernel.getLoc());
  for (Operation *op : original)
    if (isa<SetFlagOp>(op))
      copyWithOperands(op, builder, places);
  builder.createBlock(&specialized.getBody());
  auto addGroup = [&](RoleSlice &slice, StringRef name, int64_t warps,
                      int64_t copies) {
    auto group =
        warp::GroupOp::create(builder, kernel.getLoc(), name, warps, copies);
    OpBuilder body = OpBuilder::atBlockBegin(group.getBodyBlock());
    IRMapping mapping;
    for (Operation &op : entry)
      if (isa<warp::RingOp>(op))
        mapping.map(op.getResult(0), op.getResult(0));
    slice.copy(body, mapping);
    return group;
  };
  if (!load.isEmpty())
    addGroup(load, "load", 1, 1);
  if (!convert.isEmpty())
    addGroup(convert, "convert", kConvertWarps, 1);
  if (!store.isEmpty())
    addGroup(store, kStoreGroup, 1, 1);
  warp::GroupOp mathGroup = addGroup(math, "math", 4, replicas);
  for (auto &[role, slice] : further)
    addGroup(slice, role, 4, 1);
  for (Operation *op : llvm::reverse(original))
    op->erase();
  if (replicas != 1 && failed(splitRows(mathGroup)))
    return failure();
  if (replicas != 1)
    chooseWriters(mathGroup);
  SmallVector<StoreOp> ended;
  specialized.walk([&](StoreOp store) {
    if (store.getBelow())
      ended.push_back(store);
  });
  for (StoreOp store : ended)
    resolveEnd(store);
  return success();
}

namespace {
struct Specialize : fa3::tile::impl::SpecializeBase<Specialize> {
  using SpecializeBase::SpecializeBase;
  void runOnOperation() override {
    if (replicas < 0) {
      getOperation()->emitError("tile-specialize: expects replicas of at least "
                                "0, got ")
          << replicas.getValue();
      return signalPassFailure();
    }
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          if (failed(specialize(kernel, replicas, warpSpecialize)))
            return failure();
          kernel.walk([&](warp::GroupOp group) {
            ++numGroups;
            mostReplicas.updateMax(group.getReplicas());
          });
          return success();
        })))
      signalPassFailure();
  }
};
} // namespace
