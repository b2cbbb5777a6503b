//===- Update.cpp - rotary and append in host functions -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "fa3/Dialect/Attention/Contract/Update.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3::attention;

RotaryOp fa3::attention::getAppendedRotary(AppendOp op) {
  return op.getSource().getDefiningOp<RotaryOp>();
}

bool fa3::attention::isInMemory(RotaryOp op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    return !isa<AppendOp, tensor::DimOp>(user);
  });
}

static LogicalResult verifyArgument(Operation *op, StringRef name,
                                    Value value) {
  if (isa<BlockArgument>(value))
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError("expects ")
                                  << name
                                  << " to be an argument of the function";
  diagnostic.attachNote(value.getLoc()) << "it is computed here";
  return diagnostic;
}

/// Whether attention reads the value as q, k or v.
static bool isOperandOf(ForwardOp forward, Value value) {
  return forward && (value == forward.getQ() || value == forward.getK() ||
                     value == forward.getV());
}

static LogicalResult verifyLayout(Operation *op, Layout own, Layout other) {
  if (own == other)
    return success();
  return op->emitOpError("expects the layout of who takes its result, '")
         << stringifyLayout(other) << "', got '" << stringifyLayout(own) << "'";
}

static LogicalResult verifyRotary(RotaryOp op, ForwardOp forward) {
  for (auto [name, value] : {std::pair("the source", op.getSource()),
                             {"cos", op.getCos()},
                             {"sin", op.getSin()},
                             {"first positions", op.getFirst()}})
    if (failed(verifyArgument(op, name, value)))
      return failure();
  bool isUsed = false;
  for (Operation *user : op->getUsers()) {
    bool isTaken = isa<func::ReturnOp>(user) ||
                   (user == forward && isOperandOf(forward, op.getResult()));
    if (user == forward && isTaken &&
        failed(verifyLayout(op, op.getLayout(), forward.getLayout())))
      return failure();
    if (auto append = dyn_cast<AppendOp>(user)) {
      isTaken = append.getSource() == op.getResult();
      if (failed(verifyLayout(op, op.getLayout(), append.getLayout())))
        return failure();
    }
    if (!isTaken && !isa<tensor::DimOp>(user)) {
      InFlightDiagnostic diagnostic = op.emitOpError(
          "expects its result to be q, k or v of 'attention.forward', the "
          "source of 'attention.append', or returned");
      diagnostic.attachNote(user->getLoc()) << "it is used here";
      return diagnostic;
    }
    isUsed |= isTaken;
  }
  if (!isUsed)
    return op.emitOpError("expects its result to be used");
  return success();
}

static LogicalResult verifyAppend(AppendOp op, ForwardOp forward) {
  if (op.getModsAttr())
    return op.emitOpError(
        "expects mods to be expanded, run attention-expand-mods first");
  if ((!getAppendedRotary(op) &&
       failed(verifyArgument(op, "the source", op.getSource()))) ||
      failed(verifyArgument(op, "the cache", op.getCache())) ||
      failed(verifyArgument(op, "first positions", op.getFirst())))
    return failure();
  if (op.getScales() && failed(verifyArgument(op, "scales", op.getScales())))
    return failure();
  if (op.getScales() && getAppendedRotary(op))
    return op.emitOpError("has a cache of 8 bits: expects a source that is not "
                          "the result of 'attention.rotary'");
  for (auto [number, value] : llvm::enumerate(op.getAux()))
    if (failed(verifyArgument(op, ("auxiliary operand " + Twine(number)).str(),
                              value)))
      return failure();
  for (OpOperand &use : op.getCache().getUses()) {
    Operation *user = use.getOwner();
    bool isOwn =
        user == op && use.get() == op.getCache() && use.getOperandNumber() == 1;
    if (isOwn || isa<tensor::DimOp>(user))
      continue;
    InFlightDiagnostic diagnostic =
        op.emitOpError("expects nothing else to use its cache, which it "
                       "writes in place: its result is to be used");
    diagnostic.attachNote(user->getLoc()) << "it is used here";
    return diagnostic;
  }
  for (Operation *user : op->getUsers()) {
    if (isa<tensor::DimOp>(user))
      continue;
    bool isTaken = user == forward && (op.getResult() == forward.getK() ||
                                       op.getResult() == forward.getV());
    if (isTaken) {
      if (failed(verifyLayout(op, op.getLayout(), forward.getLayout())))
        return failure();
      continue;
    }
    InFlightDiagnostic diagnostic = op.emitOpError(
        "expects its result, the caller's cache, to be k or v of "
        "'attention.forward' only");
    diagnostic.attachNote(user->getLoc()) << "it is used here";
    return diagnostic;
  }
  return success();
}

LogicalResult fa3::attention::verifyUpdates(func::FuncOp function,
                                            ForwardOp forward) {
  for (auto op : function.getBody().getOps<RotaryOp>())
    if (failed(verifyRotary(op, forward)))
      return failure();
  for (auto op : function.getBody().getOps<AppendOp>())
    if (failed(verifyAppend(op, forward)))
      return failure();
  // One launch does all of them, of all batches.
  int64_t batch = ShapedType::kDynamic;
  for (Operation &op : function.getBody().front()) {
    if (!isa<RotaryOp, AppendOp>(op))
      continue;
    int64_t own =
        cast<RankedTensorType>(op.getOperand(0).getType()).getDimSize(0);
    if (ShapedType::isDynamic(own))
      continue;
    if (!ShapedType::isDynamic(batch) && own != batch)
      return op.emitOpError("expects the batch extent of what is turned or "
                            "appended beside it (")
             << batch << "), got " << own;
    batch = own;
  }
  return success();
}
