//===- HostForm.cpp - what becomes a host function ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HostForm.h"
#include "HostArguments.h"
#include "fa3/Dialect/Attention/Contract/Blocks.h"
#include "fa3/Dialect/Attention/Contract/Merge.h"
#include "fa3/Dialect/Attention/Contract/Quantization.h"
#include "fa3/Dialect/Attention/Contract/Update.h"
#include "fa3/Dialect/Attention/IR/SequenceStarts.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa3::attention;

static bool isScalar(Type type) { return type.isIntOrIndexOrFloat(); }

/// Whether a host function keeps `op`: it computes scalars from scalars.
static bool isKept(Operation &op) {
  if (isa<tensor::DimOp, cf::AssertOp>(op))
    return true;
  return isPure(&op) && op.getNumRegions() == 0 &&
         llvm::all_of(op.getOperandTypes(), isScalar) &&
         llvm::all_of(op.getResultTypes(), isScalar);
}

llvm::DenseSet<StringAttr> fa3::attention::collectReferences(Operation *scope) {
  llvm::DenseSet<StringAttr> references;
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == scope || isa<CallOp>(op))
      return WalkResult::advance();
    op->getAttrDictionary().walk<WalkOrder::PreOrder>(
        [&](SymbolRefAttr symbol) {
          references.insert(symbol.getRootReference());
          // What it nests is looked up in the root.
          return WalkResult::skip();
        });
    // Symbols inside are others.
    return op->hasTrait<OpTrait::SymbolTable>() ? WalkResult::skip()
                                                : WalkResult::advance();
  });
  return references;
}

/// What a function of attention takes and gives, without a word about it.
bool fa3::attention::hasHostForm(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return false;
  // One with a stream is a part of a program: it calls attention.
  for (unsigned number = 0; number < function.getNumArguments(); ++number)
    if (function.getArgAttr(number, kStreamAttr))
      return false;
  Block &body = function.getBody().front();
  Operation *scored = nullptr;
  for (Operation &op : body.without_terminator()) {
    if (isa<ScoredOpInterface>(op)) {
      if (scored)
        return false;
      scored = &op;
    } else if (!isPreparation(&op) && !isDescription(&op) && !isKept(op)) {
      return false;
    }
  }
  auto isGiven = [](Value value) {
    Operation *source = value.getDefiningOp();
    return !isa<RankedTensorType>(value.getType()) || !source ||
           isPreparation(source);
  };
  for (Operation &op : body)
    if ((&op == scored || isPreparation(&op)) &&
        !llvm::all_of(op.getOperands(), isGiven))
      return false;
  auto ret = dyn_cast<func::ReturnOp>(body.getTerminator());
  if (!ret)
    return false;
  llvm::SmallDenseSet<Value> returned;
  for (Value value : ret.getOperands()) {
    Operation *op = value.getDefiningOp();
    if (!op || (op != scored && !isPreparation(op)) ||
        !returned.insert(value).second)
      return false;
  }
  // Of forward all but o may be left out.
  return !scored || llvm::all_of(scored->getResults(), [&](OpResult result) {
    return returned.contains(result) ||
           (isa<ForwardOp>(scored) && result.getResultNumber() > 0);
  });
}

static LogicalResult verifyOperands(ScoredOpInterface op) {
  auto check = [&](StringRef name, Value value) -> LogicalResult {
    // What preparations make is checked with them.
    Operation *source = value.getDefiningOp();
    if (!source || isPreparation(source))
      return success();
    InFlightDiagnostic diagnostic = op->emitError("expects ")
                                    << name
                                    << " to be an argument of the function";
    diagnostic.attachNote(value.getLoc()) << "it is computed here";
    return diagnostic;
  };
  unsigned numAux = 0;
  SmallVector<Role> roles = op.getRoles();
  for (auto [value, role] : llvm::zip(op->getOperands(), roles)) {
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    std::string name = getInfo(role).name.str();
    if (role == Role::aux)
      name = "auxiliary operand " + std::to_string(numAux++);
    if (failed(check(name, value)))
      return failure();
  }
  return success();
}

/// Constant indices into auxiliary operands are checked from above on the host.
static LogicalResult verifyReads(Operation *op) {
  auto check = [](tensor::ExtractOp extract) {
    for (Value index : extract.getIndices()) {
      std::optional<int64_t> literal = getConstantIntValue(index);
      if (literal && *literal < 0) {
        extract.emitError("expects indices of at least 0, got ") << *literal;
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  };
  return failure(llvm::any_of(listCode(op), [&](Region *region) {
    return region->walk(check).wasInterrupted();
  }));
}

/// Something has to say how many sequences there are.
static LogicalResult verifyBatch(ScoredOpInterface op) {
  if (!op.hasPlace(Sequence::query))
    return success();
  auto readsBySequence = [](tensor::ExtractOp extract) {
    return WalkResult(
        failure(llvm::any_of(extract.getIndices(), [](Value index) {
          std::optional<IndexBound> bound = getBound(index);
          return bound && bound->extent == Extent::Batch;
        })));
  };
  if (llvm::any_of(op.listCode(), [&](Region *region) {
        return region->walk(readsBySequence).wasInterrupted();
      }))
    return success();
  return op->emitError("has a number of sequences that nothing says: "
                       "expects its regions to read an auxiliary operand "
                       "by sequence");
}

/// A gradient of a key that several sequences share would be a sum over them.
static LogicalResult verifyKeys(BackwardOp op) {
  if (!mayShareKeys(op))
    return success();
  return op.emitError("has places of keys that may be the same for two, whose "
                      "gradients are not summed up: expects 'place_k' to yield "
                      "the sequence, or rows behind what an auxiliary operand "
                      "of rank 1 says of each, one for every key");
}

static LogicalResult verifyReturn(func::ReturnOp ret, ScoredOpInterface op,
                                  StringRef name) {
  for (auto [number, value] : llvm::enumerate(ret.getOperands())) {
    Operation *source = value.getDefiningOp();
    if (!source || (source != op &&
                    !isa<QuantizeOp, RotaryOp, ListBlocksOp, MergeOp>(source)))
      return ret.emitError("expects result ")
             << number << " to be a result of '" << name << "'";
    if (llvm::is_contained(ret.getOperands().take_front(number), value))
      return ret.emitError("returns a result of '")
             << source->getName() << "' twice";
  }
  auto isReturned = [&](Value value) {
    return llvm::is_contained(ret.getOperands(), value);
  };
  auto forward = dyn_cast_or_null<ForwardOp>(op.getOperation());
  if (forward && !isReturned(forward.getO()))
    return ret.emitError("expects o of 'attention.forward' to be returned");
  if (isa_and_nonnull<BackwardOp>(op.getOperation()) &&
      !llvm::all_of(op->getResults(), isReturned))
    return ret.emitError("expects dq, dk and dv of 'attention.backward' to be "
                         "returned");
  return success();
}

LogicalResult fa3::attention::verifyForm(func::FuncOp function,
                                         ScoredOpInterface op) {
  StringRef name = op ? op->getName().getStringRef() : "attention.quantize";
  if (!op)
    for (Operation &other : function.getBody().front())
      if (isPreparation(&other))
        name = other.getName().getStringRef();
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("expects straight-line code around '")
           << name << "', got several blocks";
  if (op && op->getParentOp() != function)
    return op->emitError("expects to lie directly in a function");
  if (op && op.getModsAttr())
    return op->emitError(
        "expects mods to be expanded, run attention-expand-mods first");
  Operation *scope = function->getParentOp();
  if (scope && collectReferences(scope).contains(function.getSymNameAttr()))
    return function.emitError(
        "expects a function that nothing else refers to: its type changes");

  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor ? !MemRefType::isValidElementType(tensor.getElementType()) ||
                     tensor.getEncoding()
               : !isScalar(type))
      return function.emitError("expects argument ")
             << number << " to be a ranked tensor or a scalar, got " << type;
  }
  auto forward = dyn_cast_or_null<ForwardOp>(op.getOperation());
  auto backward = dyn_cast_or_null<BackwardOp>(op.getOperation());
  if ((op && failed(verifyOperands(op))) ||
      failed(verifyQuantizations(function, op)) ||
      failed(verifyUpdates(function, forward)) ||
      failed(verifyMerge(function)) ||
      failed(verifyBlockLists(function, forward)))
    return failure();
  bool mayPrepare = !op || forward;
  for (Operation &other : function.getBody().front().without_terminator()) {
    if (&other == op || isKept(other) || isa<QuantizeOp>(other) ||
        isDescription(&other) || (mayPrepare && isPreparation(&other)))
      continue;
    if (isa<ScoredOpInterface>(other))
      return other.emitError("is a second '")
             << name << "' in its function, which may have one";
    return other.emitError("is not supported in a function with '")
           << name << "': expects pure operations on scalars beside it";
  }
  auto ret =
      dyn_cast<func::ReturnOp>(function.getBody().front().getTerminator());
  if (!ret)
    return function.emitError("expects to end in 'func.return'");
  for (Operation &other : function.getBody().front())
    if (isa<AppendOp, ListBlocksOp>(other) && failed(verifyReads(&other)))
      return failure();
  if ((op && failed(verifyReads(op))) || (op && failed(verifyBatch(op))) ||
      (backward && failed(verifyKeys(backward))) ||
      failed(verifyReturn(ret, op, name)))
    return failure();
  for (auto dim : function.getBody().getOps<tensor::DimOp>())
    if (dim.getSource().getDefiningOp() &&
        !isPreparation(dim.getSource().getDefiningOp()) &&
        !llvm::is_contained(ret.getOperands(), dim.getSource()))
      return dim.emitError("asks for an extent of a result that is not "
                           "returned");
  return success();
}
