//===- OutlineCandidate.cpp - the function of one attention ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OutlineCandidate.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa3::attention;

remark::RemarkOpts fa3::attention::getOutlineRemark(StringRef name,
                                                    Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return remark::RemarkOpts::name(name)
      .category("attention-outline")
      .function(function ? function.getName() : "");
}

std::string fa3::attention::toText(ArrayRef<int64_t> order) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(order, os);
  return text + "]";
}

Candidate::Candidate(Operation *root)
    : root(root), b(root->getLoc(), root),
      function(func::FuncOp::create(root->getLoc(), "attention",
                                    b.getFunctionType({}, {}))),
      inside(OpBuilder::atBlockBegin(function->addEntryBlock())) {
  function->setPrivate();
}

Value Candidate::addArgument(Value value, OrderedView view) {
  inputs.push_back(view.value);
  views.push_back(view.order);
  originals.push_back(value);
  return function->front().addArgument(value.getType(), value.getLoc());
}

static LogicalResult verifyTensor(OpOperand &operand) {
  auto type = cast<RankedTensorType>(operand.get().getType());
  if (!type.getEncoding())
    return success();
  return operand.getOwner()->emitOpError("cannot be outlined: operand ")
         << operand.getOperandNumber() << " of type " << type
         << " has an encoding";
}

LogicalResult Candidate::addTensor(Operation *copy, OpOperand &operand,
                                   bool mayTranspose) {
  Value value = operand.get();
  if (failed(verifyTensor(operand)))
    return failure();
  auto [entry, isNew] = seen.try_emplace(value);
  if (isNew) {
    Operation *blocker = nullptr;
    entry->second = mayTranspose ? takeTranspositions(b, value, blocker)
                                 : OrderedView{value, {}};
    if (blocker)
      remark::missed(blocker->getLoc(), getOutlineRemark("Transposition", root))
          << remark::reason("operand {0} is moved in memory: its order of "
                            "dimensions is no matter of strides, which keep "
                            "the last one",
                            operand.getOperandNumber());
    if (!entry->second.order.empty())
      remark::passed(root->getLoc(), getOutlineRemark("Transposition", root))
          << remark::add("operand {0} is read in the order {1}",
                         operand.getOperandNumber(),
                         toText(entry->second.order));
  }
  Value argument = addArgument(value, entry->second);
  copy->setOperand(operand.getOperandNumber(), argument);
  // For score code, which reads what are operands.
  if (!mapping.contains(value))
    mapping.map(value, argument);
  return success();
}

/// Constants go inside, where passes see them.
LogicalResult Candidate::addScalar(Value value) {
  if (mapping.contains(value))
    return success();
  if (matchPattern(value, m_Constant())) {
    Operation *constant = inside.clone(*value.getDefiningOp());
    mapping.map(value, constant->getResult(0));
    return success();
  }
  Type type = value.getType();
  if (!type.isF32() && !type.isInteger(32) && !type.isInteger(64) &&
      !type.isIndex()) {
    InFlightDiagnostic diagnostic =
        root->emitOpError("cannot be outlined: it uses a scalar of type ")
        << type << ", expects f32, i32, i64 or index";
    diagnostic.attachNote(value.getLoc()) << "the scalar is from here";
    return diagnostic;
  }
  mapping.map(value, addArgument(value, {value, {}}));
  return success();
}

/// The operand that attention.append changes.
static bool isCache(OpOperand &operand) {
  auto append = dyn_cast<AppendOp>(operand.getOwner());
  return append && &append.getCacheMutable() == &operand;
}

/// Repeats an operation in the function. Each of its tensors has an argument of
/// its own, so that what a function is does not depend on which are the same.
LogicalResult Candidate::addOperation(Operation *op) {
  auto scored = dyn_cast<ScoredOpInterface>(op);
  auto isAux = [&](Value value) {
    return scored && llvm::is_contained(scored.getAux(), value);
  };
  // What of lse and the like nobody uses makes no difference.
  auto forward = dyn_cast<ForwardOp>(op);
  SmallVector<Value> kept;
  SmallVector<Type> types;
  for (OpResult result : op->getResults())
    if (!forward || !forward.isOfRows(result) || !result.use_empty() ||
        (forward.getPlain() && result == forward.getLse())) {
      kept.push_back(result);
      types.push_back(result.getType());
    }
  Operation *copy = Operation::create(
      op->getLoc(), op->getName(), types, op->getOperands(),
      op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
      /*successors=*/{}, op->getNumRegions());
  if (forward) {
    auto &sizes = cast<ForwardOp>(copy).getProperties().resultSegmentSizes;
    sizes[1] = llvm::is_contained(kept, forward.getLse());
    sizes[2] = llvm::is_contained(kept, forward.getPlain());
    sizes[3] = llvm::is_contained(kept, forward.getMaxLogits());
  }
  // Not in a block yet: its operands are still those outside.
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    unsigned number = operand.getOperandNumber();
    // It is the last argument.
    if (isCache(operand))
      continue;
    if (Value known = mapping.lookupOrNull(value);
        known && known.getDefiningOp() &&
        isPreparation(known.getDefiningOp())) {
      copy->setOperand(number, known);
      continue;
    }
    LogicalResult added = success();
    if (isa<RankedTensorType>(value.getType())) {
      bool mayTranspose =
          cast<RankedTensorType>(value.getType()).getRank() >= 4 &&
          !isAux(value);
      added = addTensor(copy, operand, mayTranspose);
    } else if (Operation *source = value.getDefiningOp();
               source && isDescription(source)) {
      // Its code follows with that of the operation.
      for (Value scalar : source->getOperands())
        if (succeeded(added))
          added = addScalar(scalar);
    } else if (succeeded(added = addScalar(value))) {
      copy->setOperand(number, mapping.lookup(value));
    }
    if (failed(added)) {
      copy->destroy();
      return failure();
    }
  }
  for (auto [from, to] : llvm::zip_equal(kept, copy->getResults()))
    mapping.map(from, to);
  inside.insert(copy);
  return success();
}

LogicalResult Candidate::addCaptures() {
  llvm::SetVector<Value> captured;
  for (Region *region : listCode(root))
    getUsedValuesDefinedAbove(*region, captured);
  for (Value value : captured)
    if (!isa<RankedTensorType>(value.getType()) && failed(addScalar(value)))
      return failure();
  return success();
}

/// Whether `forward` can take what `op` prepares into its function.
static bool canTake(ForwardOp forward, Operation &op) {
  auto reads = [&](Value value) {
    return llvm::is_contained(
        {Value(forward.getQ()), Value(forward.getK()), Value(forward.getV())},
        value);
  };
  if (auto quantize = dyn_cast<QuantizeOp>(op))
    return quantize.getLayout() == forward.getLayout() &&
           reads(quantize.getValues());
  // One launch turns all, of as many batches.
  auto rotary = dyn_cast<RotaryOp>(op);
  if (!rotary || rotary.getLayout() != forward.getLayout() ||
      !reads(rotary.getResult()))
    return false;
  auto getBatch = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getDimSize(0);
  };
  return !forward.hasPlace(Sequence::query) &&
         !forward.hasPlace(Sequence::key) &&
         getBatch(rotary.getSource()) == getBatch(forward.getQ());
}

SmallVector<Operation *> fa3::attention::findOwnPreparations(Operation *root) {
  SmallVector<Operation *> preparations;
  if (auto append = dyn_cast<AppendOp>(root)) {
    auto rotary = append.getSource().getDefiningOp<RotaryOp>();
    if (rotary && rotary->hasOneUse() &&
        rotary->getBlock() == root->getBlock() &&
        rotary.getLayout() == append.getLayout())
      preparations.push_back(rotary);
    return preparations;
  }
  auto forward = dyn_cast<ForwardOp>(root);
  if (!forward)
    return preparations;
  for (Operation &op : root->getBlock()->getOperations()) {
    if (&op == root)
      break;
    if (canTake(forward, op) &&
        llvm::all_of(op.getResults(), [&](Value result) {
          return !result.use_empty() &&
                 llvm::all_of(result.getUsers(),
                              [&](Operation *user) { return user == root; });
        }))
      preparations.push_back(&op);
  }
  return preparations;
}

LogicalResult Candidate::build() {
  preparations = findOwnPreparations(root);
  for (Operation *op : preparations)
    if (failed(addOperation(op)))
      return failure();
  if (failed(addOperation(root)))
    return failure();
  Operation *copy = &function->front().back();
  inside.setInsertionPoint(copy);
  if (failed(addCaptures()))
    return failure();
  for (auto [from, to] : llvm::zip(root->getRegions(), copy->getRegions()))
    from.cloneInto(&to, mapping);
  for (OpOperand &operand : root->getOpOperands()) {
    Operation *source = operand.get().getDefiningOp();
    if (source && isDescription(source))
      copy->setOperand(operand.getOperandNumber(),
                       inside.clone(*source, mapping)->getResult(0));
    if (!isCache(operand))
      continue;
    if (failed(verifyTensor(operand)))
      return failure();
    copy->setOperand(operand.getOperandNumber(),
                     function->front().addArgument(operand.get().getType(),
                                                   operand.get().getLoc()));
    originals.push_back(operand.get());
  }

  // Of forward all but o may be left out, of the others nothing.
  for (OpResult result : root->getResults())
    if (!isa<ForwardOp>(root) || result.getResultNumber() == 0 ||
        !result.use_empty())
      results.push_back(result);
  inside.setInsertionPointToEnd(&function->front());
  SmallVector<Value> returned;
  for (OpResult result : results)
    if (!isa<AppendOp>(root))
      returned.push_back(mapping.lookup(result));
  func::ReturnOp::create(inside, root->getLoc(), returned);
  function->setType(b.getFunctionType(function->front().getArgumentTypes(),
                                      ValueRange(returned).getTypes()));
  return success();
}
