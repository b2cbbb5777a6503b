//===- FlowOps.cpp - operations of flow -----------------------------------===//

#include "fa3/Dialect/Flow/IR/Flow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3::flow;

#define GET_OP_CLASSES
#include "fa3/Dialect/Flow/IR/FlowOps.cpp.inc"

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
        builder.getI64IntegerAttr(0));
}

LogicalResult CursorOp::verify() {
  int64_t parts = getRing().getType().getParts();
  int64_t part = getPart();
  if (part < 0 || part >= parts)
    return emitOpError("expects part (")
           << part << ") less than the parts of the ring (" << parts << ")";
  if (getSide() == Side::read && part != 0)
    return emitOpError("expects part 0 on the read side, got ") << part;
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

CursorOp fa3::flow::findCursorOrigin(Value cursor) {
  // Followed through acquires and the structured control flow that fa3 emits;
  // bounded by the nesting depth because each step leaves an op or a region.
  llvm::SmallPtrSet<Value, 8> seen;
  while (cursor && seen.insert(cursor).second) {
    if (auto argument = dyn_cast<BlockArgument>(cursor)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(parent)) {
        if (argument.getArgNumber() == 0)
          return {};
        cursor = loop.getInitArgs()[argument.getArgNumber() - 1];
        continue;
      }
      if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
        cursor = argument.getOwner()->getParent() == &loop.getBefore()
                     ? loop.getInits()[argument.getArgNumber()]
                     : loop.getConditionOp().getArgs()[argument.getArgNumber()];
        continue;
      }
      return {};
    }
    auto result = cast<OpResult>(cursor);
    Operation *op = result.getOwner();
    if (auto origin = dyn_cast<CursorOp>(op))
      return origin;
    if (auto acquire = dyn_cast<AcquireOp>(op)) {
      cursor = acquire.getCursor();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      cursor = loop.getInitArgs()[result.getResultNumber()];
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      cursor = loop.getConditionOp().getArgs()[result.getResultNumber()];
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      cursor = branch.thenYield().getOperand(result.getResultNumber());
    } else {
      return {};
    }
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
    if (Operation *producer = token.getDefiningOp())
      covered.insert(producer);
    else
      followsOut = true;
  }
  for (Operation *view : getSlot().getUsers()) {
    for (Value result : view->getResults()) {
      for (Operation *user : result.getUsers()) {
        auto access = dyn_cast<AccessOpInterface>(user);
        Value done = access ? access.getDoneToken() : Value();
        if (!done || user->getBlock() != (*this)->getBlock() || followsOut)
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
// specialize, group
//===----------------------------------------------------------------------===//

LogicalResult SpecializeOp::verify() { return success(); }

LogicalResult SpecializeOp::verifyRegions() {
  llvm::StringSet<> names;
  for (Operation &op : getBody().front()) {
    auto group = dyn_cast<GroupOp>(op);
    if (!group)
      return op.emitOpError("is not allowed directly in 'flow.specialize', "
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
      if (getBody().isAncestor(operand.getParentRegion()))
        continue;
      if (isa<TensorType>(operand.getType()) ||
          isa<LinearTypeInterface>(operand.getType())) {
        op->emitOpError("captures a value of type ")
            << operand.getType()
            << " from outside 'flow.specialize'; groups share scalars, memory "
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
  if (static_cast<int64_t>(getReplicas()) < 1)
    return emitOpError("expects at least 1 replica, got ") << getReplicas();
  return success();
}

LogicalResult GroupOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getNumArguments() != 1 || !body.getArgument(0).getType().isIndex())
    return emitOpError("expects one body argument of type index");
  return verifyLinearity(getBody());
}
