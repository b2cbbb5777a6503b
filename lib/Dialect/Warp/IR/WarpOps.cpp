//===- WarpOps.cpp - operations of warp -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3::warp;

#define GET_OP_CLASSES
#include "fa3/Dialect/Warp/IR/WarpOps.cpp.inc"

//===----------------------------------------------------------------------===//
// ring, cursor, acquire, publish, release
//===----------------------------------------------------------------------===//

void RingOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Allocate::get(),
                       llvm::cast<OpResult>(getRing()),
                       SideEffects::DefaultResource::get());
}

void CursorOp::build(OpBuilder &builder, OperationState &state, Value ring,
                     Side side) {
  build(builder, state, CursorType::get(builder.getContext(), side),
        SideAttr::get(builder.getContext(), side), ring,
        builder.getI64IntegerAttr(0), /*leader=*/UnitAttr(),
        /*each=*/UnitAttr());
}

LogicalResult CursorOp::verify() {
  int64_t parts = getRing().getType().getParts();
  int64_t part = getPart();
  if (part < 0 || part >= parts)
    return emitOpError("expects part (")
           << part << ") less than the parts of the ring (" << parts << ")";
  if (getSide() == Side::read && part != 0)
    return emitOpError("expects part 0 on the read side, got ") << part;
  if (getLeader() && getSide() == Side::read)
    return emitOpError("expects 'leader' on the write side only");
  Operation *ring = getRing().getDefiningOp();
  if (getLeader() && ring && ring->getParentOfType<GroupOp>())
    return emitOpError("expects 'leader' for rings that replicas share, not "
                       "for one of each replica");
  if (!getEach())
    return success();
  if (getSide() == Side::read || getLeader())
    return emitOpError("expects 'each' on the write side only, without "
                       "'leader'");
  if (ring && ring->getParentOfType<GroupOp>())
    return emitOpError("expects 'each' for rings that replicas share, not for "
                       "one of each replica");
  auto group = (*this)->getParentOfType<GroupOp>();
  int64_t replicas = group ? group.getReplicas() : 1;
  if (part + replicas > parts)
    return emitOpError("expects the ring to have a part for every replica (")
           << part << " + " << replicas << "), got " << parts;
  return success();
}

LogicalResult CursorOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location>,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  types.push_back(CursorType::get(context, adaptor.getSide()));
  return success();
}

LogicalResult AcquireOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location>,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto ring = dyn_cast<RingType>(adaptor.getRing().getType());
  auto cursor = dyn_cast<CursorType>(adaptor.getCursor().getType());
  if (!ring || !cursor)
    return failure();
  types.push_back(SlotType::get(context, cursor.getSide(), ring.getPayload()));
  types.push_back(cursor);
  return success();
}

/// The value that `argument` of a loop starts from; null if it is none, or if
/// the loop is not well formed (its own verifier runs after this one).
static Value getLoopInit(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  Operation *parent = argument.getOwner()->getParentOp();
  OperandRange values(nullptr, 0);
  if (auto loop = dyn_cast_or_null<scf::ForOp>(parent)) {
    if (number == 0)
      return {};
    --number;
    values = loop.getInitArgs();
  } else if (auto loop = dyn_cast_or_null<scf::WhileOp>(parent)) {
    if (argument.getOwner()->getParent() == &loop.getBefore()) {
      values = loop.getInits();
    } else {
      auto condition = dyn_cast<scf::ConditionOp>(loop.getBeforeBody()->back());
      if (!condition)
        return {};
      values = condition.getArgs();
    }
  }
  return number < values.size() ? values[number] : Value();
}

/// The value that an operation's result continues; null if it is none.
static Value getContinued(OpResult result) {
  unsigned number = result.getResultNumber();
  Operation *op = result.getOwner();
  if (auto acquire = dyn_cast<AcquireOp>(op))
    return acquire.getCursor();
  OperandRange values(nullptr, 0);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    values = loop.getInitArgs();
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    if (auto condition =
            dyn_cast<scf::ConditionOp>(loop.getBeforeBody()->back()))
      values = condition.getArgs();
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    if (auto yield = dyn_cast<scf::YieldOp>(branch.thenBlock()->back()))
      values = yield.getOperands();
  }
  return number < values.size() ? values[number] : Value();
}

CursorOp fa3::warp::findCursorOrigin(Value cursor) {
  // Every step leaves an operation or a region, or goes round a loop once.
  llvm::SmallPtrSet<Value, 8> seen;
  while (cursor && seen.insert(cursor).second) {
    if (auto origin = cursor.getDefiningOp<CursorOp>())
      return origin;
    if (auto argument = dyn_cast<BlockArgument>(cursor))
      cursor = getLoopInit(argument);
    else
      cursor = getContinued(cast<OpResult>(cursor));
  }
  return {};
}

LogicalResult AcquireOp::verify() {
  if (CursorOp origin = findCursorOrigin(getCursor()))
    if (origin.getRing() != getRing()) {
      InFlightDiagnostic diagnostic =
          emitOpError("expects a cursor of the ring it acquires from");
      diagnostic.attachNote(origin.getLoc()) << "the cursor is created here";
      return diagnostic;
    }
  return success();
}

LogicalResult PublishOp::verify() {
  if (getSlot().getType().getSide() != Side::write)
    return emitOpError("expects a write slot, got ") << getSlot().getType();
  return success();
}

LogicalResult ReleaseOp::verify() {
  if (getSlot().getType().getSide() != Side::read)
    return emitOpError("expects a read slot, got ") << getSlot().getType();
  // C2, within the block of the acquire: every asynchronous access through a
  // view of the slot that precedes the release is covered by a token, or is
  // older than one that is (in-order units).
  auto acquire = getSlot().getDefiningOp<AcquireOp>();
  if (!acquire || acquire->getBlock() != (*this)->getBlock())
    return success();
  llvm::SmallPtrSet<Operation *, 4> covered;
  bool followsOut = false;
  for (Value token : getAfter()) {
    // What loops and branches give is not followed into them.
    Operation *producer = token.getDefiningOp();
    if (producer && producer->getNumRegions() == 0)
      covered.insert(producer);
    else
      followsOut = true;
  }
  auto isAwaited = [&](Value done) {
    return llvm::any_of(done.getUsers(), [&](Operation *user) {
      return isa<WaitOp>(user) && user->getBlock() == (*this)->getBlock() &&
             user->isBeforeInBlock(*this);
    });
  };
  for (Operation *view : getSlot().getUsers()) {
    for (Value result : view->getResults()) {
      for (Operation *user : result.getUsers()) {
        auto access = dyn_cast<AccessOpInterface>(user);
        Value done = access ? access.getDoneToken() : Value();
        if (!done || isAwaited(done) ||
            user->getBlock() != (*this)->getBlock() || followsOut)
          continue;
        bool inOrder = access.getCompletion() == Completion::MatrixGroup;
        bool isCovered =
            covered.contains(user) ||
            llvm::any_of(covered, [&](Operation *token) {
              auto other = dyn_cast<AccessOpInterface>(token);
              return token->getBlock() != user->getBlock() ||
                     (inOrder && other &&
                      other.getCompletion() == Completion::MatrixGroup &&
                      user->isBeforeInBlock(token));
            });
        if (!isCovered) {
          InFlightDiagnostic diagnostic = emitOpError(
              "expects 'after' to cover every asynchronous access to the slot");
          diagnostic.attachNote(user->getLoc())
              << "this access may still be in flight";
          return diagnostic;
        }
      }
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// order, take, pass
//===----------------------------------------------------------------------===//

void OrderedBarrierOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Allocate::get(),
                       llvm::cast<OpResult>(getOrder()),
                       SideEffects::DefaultResource::get());
}

LogicalResult OrderedBarrierOp::verify() {
  // Uses are listed last first.
  SmallVector<Operation *> takes(getOrder().getUsers());
  GroupOp first;
  for (Operation *take : llvm::reverse(takes)) {
    auto group = take->getParentOfType<GroupOp>();
    if (!group)
      continue;
    if (first && first != group) {
      InFlightDiagnostic diagnostic =
          emitOpError("expects one group to take its turns, got '")
          << first.getSymName() << "' and '" << group.getSymName() << "'";
      diagnostic.attachNote(take->getLoc()) << "the second takes a turn here";
      return diagnostic;
    }
    first = group;
  }
  return success();
}

OrderedBarrierOp TakeTurnOp::getOrderedBarrier() {
  return getOrder().getDefiningOp<OrderedBarrierOp>();
}

LogicalResult TakeTurnOp::verify() {
  auto group = (*this)->getParentOfType<GroupOp>();
  if (!group)
    return emitOpError("expects to be in a group");
  int64_t replicas = group.getReplicas();
  if (replicas < 2)
    return emitOpError("expects a group of at least 2 replicas, got ")
           << replicas;
  if (group.getBody().isAncestor(getOrder().getParentRegion()))
    return emitOpError("expects an order that is created outside its group, "
                       "which all replicas share");
  return success();
}

LogicalResult PassTurnOp::verify() {
  auto take = getTurn().getDefiningOp<TakeTurnOp>();
  if (take && take->getBlock() == (*this)->getBlock())
    return success();
  InFlightDiagnostic diagnostic =
      emitOpError("expects a turn that is taken in the same block");
  if (take)
    diagnostic.attachNote(take.getLoc()) << "it is taken here";
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// specialize, group
//===----------------------------------------------------------------------===//

LogicalResult SpecializeOp::verify() { return success(); }

LogicalResult SpecializeOp::verifyRegions() {
  llvm::StringSet<> names;
  for (Operation &op : getBody().front()) {
    auto group = dyn_cast<GroupOp>(op);
    if (!group)
      return op.emitOpError("is not allowed directly in 'warp.specialize', "
                            "which holds groups only");
    if (!names.insert(group.getSymName()).second)
      return group.emitOpError("expects distinct group names, '")
             << group.getSymName() << "' is taken";
  }
  if (names.empty())
    return emitOpError("expects at least one group");

  // C2: captures.
  WalkResult result = getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      // What is used before its definition may be nowhere yet.
      Region *region = operand.getParentRegion();
      if (!region || getBody().isAncestor(region))
        continue;
      if (isa<TensorType>(operand.getType()) ||
          isa<LinearTypeInterface>(operand.getType())) {
        op->emitOpError("captures a value of type ")
            << operand.getType()
            << " from outside 'warp.specialize'; groups share scalars, memory "
               "and rings only";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void GroupOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                    int64_t warps, int64_t replicas) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getWarpsAttrName(state.name),
                     builder.getI64IntegerAttr(warps));
  state.addAttribute(getReplicasAttrName(state.name),
                     builder.getI64IntegerAttr(replicas));
  Region *body = state.addRegion();
  body->emplaceBlock().addArgument(builder.getIndexType(), state.location);
  ensureTerminator(*body, builder, state.location);
}

void GroupOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " warps " << getWarps();
  if (getReplicas() != 1)
    printer << " replicas " << getReplicas();
  if (getFirstWarp())
    printer << " at " << *getFirstWarp();
  printer << " (" << getReplica() << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
  printer.printOptionalAttrDict(
      (*this)->getAttrs(), {getSymNameAttrName(), getWarpsAttrName(),
                            getReplicasAttrName(), getFirstWarpAttrName()});
}

ParseResult GroupOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  int64_t warps = 0, replicas = 1;
  OpAsmParser::Argument replica;
  Builder &builder = parser.getBuilder();
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseKeyword("warps") || parser.parseInteger(warps))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("replicas")) &&
      parser.parseInteger(replicas))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("at"))) {
    int64_t firstWarp;
    if (parser.parseInteger(firstWarp))
      return failure();
    result.addAttribute(getFirstWarpAttrName(result.name),
                        builder.getI64IntegerAttr(firstWarp));
  }
  if (parser.parseLParen() || parser.parseArgument(replica) ||
      parser.parseRParen())
    return failure();
  replica.type = builder.getIndexType();
  result.addAttribute(getWarpsAttrName(result.name),
                      builder.getI64IntegerAttr(warps));
  result.addAttribute(getReplicasAttrName(result.name),
                      builder.getI64IntegerAttr(replicas));
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, {replica}) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  ensureTerminator(*body, builder, result.location);
  return success();
}

LogicalResult GroupOp::verify() {
  int64_t warps = getWarps();
  if (warps < 1 || (warps != 1 && warps != 2 && warps % 4))
    return emitOpError("expects 1, 2 or a multiple of 4 warps, got ") << warps;
  int64_t replicas = getReplicas();
  if (replicas < 1)
    return emitOpError("expects at least 1 replica, got ") << replicas;
  if (std::optional<int64_t> first = getFirstWarp())
    if (*first < 0 || (warps % 4 == 0 && *first % 4))
      return emitOpError("expects a first warp of at least 0 that is a "
                         "multiple of 4 for warp groups, got ")
             << *first;
  return success();
}

bool GroupOp::hasLeader() {
  return walk([](CursorOp cursor) {
           return cursor.getLeader() ? WalkResult::interrupt()
                                     : WalkResult::advance();
         })
      .wasInterrupted();
}

/// C2 of warp.cursor: a second cursor would fork the position in a ring.
static LogicalResult verifyCursors(GroupOp group) {
  llvm::SmallDenseMap<std::tuple<Value, unsigned, int64_t>, CursorOp> cursors;
  WalkResult result = group.walk([&](CursorOp cursor) {
    auto key = std::make_tuple(Value(cursor.getRing()),
                               static_cast<unsigned>(cursor.getSide()),
                               static_cast<int64_t>(cursor.getPart()));
    auto [entry, isNew] = cursors.try_emplace(key, cursor);
    if (isNew)
      return WalkResult::advance();
    InFlightDiagnostic diagnostic =
        cursor.emitOpError("is the second cursor of its group on this side of "
                           "the ring");
    diagnostic.attachNote(entry->second.getLoc()) << "the first is here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult GroupOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getNumArguments() != 1 || !body.getArgument(0).getType().isIndex())
    return emitOpError("expects one body argument of type index");
  if (failed(verifyCursors(*this)))
    return failure();
  return verifyLinearity(getBody());
}
