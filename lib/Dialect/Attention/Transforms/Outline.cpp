//===- Outline.cpp - attention anywhere -> functions of attention ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// attention-outline: every attention of a program becomes a function of its
// own, equal ones the same, and a call in its place.
//
//===----------------------------------------------------------------------===//

#include "OutlineViews.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringExtras.h"

namespace fa3::attention {
#define GEN_PASS_DEF_OUTLINE
#include "fa3/Dialect/Attention/Transforms/Passes.h.inc"
} // namespace fa3::attention

using namespace mlir;
using namespace fa3::attention;

constexpr llvm::StringLiteral kCategory = "attention-outline";

static remark::RemarkOpts getRemark(StringRef name, Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return remark::RemarkOpts::name(name).category(kCategory).function(
      function ? function.getName() : "");
}

static std::string toText(ArrayRef<int64_t> order) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(order, os);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// One attention
//===----------------------------------------------------------------------===//

namespace {
/// The function that one attention would have, and the call of it.
class Candidate {
public:
  explicit Candidate(Operation *root)
      : root(root), b(root->getLoc(), root),
        function(func::FuncOp::create(root->getLoc(), "attention",
                                      b.getFunctionType({}, {}))),
        inside(OpBuilder::atBlockBegin(function->addEntryBlock())) {
    function->setPrivate();
  }

  /// Writes the function.
  LogicalResult build();
  /// Puts a call in front of the attention, and erases that.
  CallOp replace(StringRef callee, DominanceInfo &dominance);

  OwningOpRef<func::FuncOp> takeFunction() { return std::move(function); }
  func::FuncOp getFunction() { return *function; }
  /// Quantizations that the function has taken.
  ArrayRef<Operation *> getQuantizations() const { return quantizations; }

private:
  LogicalResult addTensor(Operation *copy, OpOperand &operand,
                          bool mayTranspose);
  LogicalResult addScalar(Value value);
  LogicalResult addOperation(Operation *op);
  LogicalResult addCaptures();
  void findQuantizations();
  Value addArgument(Value value, OrderedView view);
  OpFoldResult getExtent(Value value, int64_t dim);
  OpFoldResult getResultExtent(OpResult result, int64_t dim);
  Value createInit(OpResult result, ArrayRef<int64_t> order,
                   DominanceInfo &dominance);
  void replaceTransposed(OpResult result, Value value, ArrayRef<int64_t> view);

  Operation *root;
  ImplicitLocOpBuilder b;
  OwningOpRef<func::FuncOp> function;
  OpBuilder inside;
  SmallVector<Operation *> quantizations;
  IRMapping mapping;
  SmallVector<Value> inputs, originals;
  SmallVector<SmallVector<int64_t>> views;
  llvm::SmallDenseMap<Value, OrderedView> seen;
  SmallVector<OpResult> results;
};
} // namespace

Value Candidate::addArgument(Value value, OrderedView view) {
  inputs.push_back(view.value);
  views.push_back(view.order);
  originals.push_back(value);
  return function->front().addArgument(value.getType(), value.getLoc());
}

LogicalResult Candidate::addTensor(Operation *copy, OpOperand &operand,
                                   bool mayTranspose) {
  Value value = operand.get();
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getEncoding())
    return root->emitOpError("cannot be outlined: operand ")
           << operand.getOperandNumber() << " of type " << type
           << " has an encoding";
  auto [entry, isNew] = seen.try_emplace(value);
  if (isNew) {
    Operation *blocker = nullptr;
    entry->second = mayTranspose ? takeTranspositions(b, value, blocker)
                                 : OrderedView{value, {}};
    if (blocker)
      remark::missed(blocker->getLoc(), getRemark("Transposition", root))
          << remark::reason("operand {0} is moved in memory: its order of "
                            "dimensions is no matter of strides, which keep "
                            "the last one",
                            operand.getOperandNumber());
    if (!entry->second.order.empty())
      remark::passed(root->getLoc(), getRemark("Transposition", root))
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

/// Repeats an operation in the function. Each of its tensors has an argument of
/// its own, so that what a function is does not depend on which are the same.
LogicalResult Candidate::addOperation(Operation *op) {
  auto scored = dyn_cast<ScoredOpInterface>(op);
  auto isAux = [&](Value value) {
    return scored && llvm::is_contained(scored.getAux(), value);
  };
  // An lse that nobody uses makes no difference.
  bool dropsLse = isa<ForwardOp>(op) && op->getNumResults() == 2 &&
                  op->getResult(1).use_empty();
  SmallVector<Type> types(op->getResultTypes());
  if (dropsLse)
    types.pop_back();
  Operation *copy = Operation::create(
      op->getLoc(), op->getName(), types, op->getOperands(),
      op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
      /*successors=*/{}, op->getNumRegions());
  // Not in a block yet: its operands are still those outside.
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    unsigned number = operand.getOperandNumber();
    if (Value known = mapping.lookupOrNull(value);
        known && known.getDefiningOp<QuantizeOp>()) {
      copy->setOperand(number, known);
      continue;
    }
    LogicalResult added = success();
    if (isa<RankedTensorType>(value.getType())) {
      bool mayTranspose =
          cast<RankedTensorType>(value.getType()).getRank() >= 4 &&
          !isAux(value);
      added = addTensor(copy, operand, mayTranspose);
    } else if (succeeded(added = addScalar(value))) {
      copy->setOperand(number, mapping.lookup(value));
    }
    if (failed(added)) {
      copy->destroy();
      return failure();
    }
  }
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    mapping.map(from, to);
  inside.insert(copy);
  return success();
}

LogicalResult Candidate::addCaptures() {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(root->getRegions(), captured);
  for (Value value : captured)
    if (!isa<RankedTensorType>(value.getType()) && failed(addScalar(value)))
      return failure();
  return success();
}

/// Quantizations beside attention that work for nobody else.
void Candidate::findQuantizations() {
  auto forward = dyn_cast<ForwardOp>(root);
  if (!forward)
    return;
  for (Operation &op : root->getBlock()->getOperations()) {
    if (&op == root)
      break;
    auto quantize = dyn_cast<QuantizeOp>(op);
    if (quantize && quantize.getLayout() == forward.getLayout() &&
        llvm::is_contained({Value(forward.getQ()), Value(forward.getK()),
                            Value(forward.getV())},
                           quantize.getValues()) &&
        llvm::all_of(op.getResults(), [&](Value result) {
          return !result.use_empty() &&
                 llvm::all_of(result.getUsers(),
                              [&](Operation *user) { return user == root; });
        }))
      quantizations.push_back(&op);
  }
}

LogicalResult Candidate::build() {
  findQuantizations();
  for (Operation *op : quantizations)
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

  // Of forward lse may be left out, of the others nothing.
  for (OpResult result : root->getResults())
    if (!isa<ForwardOp>(root) || result.getResultNumber() == 0 ||
        !result.use_empty())
      results.push_back(result);
  inside.setInsertionPointToEnd(&function->front());
  SmallVector<Value> returned;
  for (OpResult result : results)
    returned.push_back(copy->getResult(result.getResultNumber()));
  func::ReturnOp::create(inside, root->getLoc(), returned);
  function->setType(b.getFunctionType(function->front().getArgumentTypes(),
                                      ValueRange(returned).getTypes()));
  return success();
}

//===----------------------------------------------------------------------===//
// Its results
//===----------------------------------------------------------------------===//

/// The extent of a dimension of a tensor that the function takes.
OpFoldResult Candidate::getExtent(Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.isDynamicDim(dim))
    return b.getIndexAttr(type.getDimSize(dim));
  if (auto quantize = value.getDefiningOp<QuantizeOp>();
      quantize && llvm::is_contained(quantizations, quantize.getOperation()))
    return getResultExtent(cast<OpResult>(value), dim);
  const OrderedView &view = seen.find(value)->second;
  return tensor::DimOp::create(b, view.value,
                               view.order.empty() ? dim : view.order[dim])
      .getResult();
}

OpFoldResult Candidate::getResultExtent(OpResult result, int64_t dim) {
  auto type = cast<RankedTensorType>(result.getType());
  if (!type.isDynamicDim(dim))
    return b.getIndexAttr(type.getDimSize(dim));
  unsigned number = result.getResultNumber();
  if (auto quantize = dyn_cast<QuantizeOp>(result.getOwner())) {
    Value source = quantize.getSource();
    if (number == 0 || dim == 0)
      return getExtent(source, dim);
    if (dim == 1)
      return getExtent(source, quantize.getHeadAxis());
    Value length = getValueOrCreateConstantIndexOp(
        b, b.getLoc(), getExtent(source, quantize.getSequenceAxis()));
    Value rows = arith::ConstantIndexOp::create(b, quantize.getRows());
    return arith::CeilDivSIOp::create(b, length, rows).getResult();
  }
  if (auto backward = dyn_cast<BackwardOp>(root)) {
    constexpr unsigned kOfOperands = 3;
    if (number < kOfOperands)
      return getExtent(root->getOperand(number), dim);
    int64_t aux = backward.getAuxNumbers()[number - kOfOperands];
    return getExtent(backward.getAux()[aux], dim);
  }
  auto forward = cast<ForwardOp>(root);
  ScoredOpInterface scored = forward;
  if (number == 1) {
    int64_t head = scored.getHeadAxisOf(forward.getQ()),
            sequence = scored.getSequenceAxisOf(forward.getQ()),
            outer = std::min(head, sequence);
    dim = dim < outer ? dim : dim == outer ? head : sequence;
  }
  return getExtent(forward.getQ(), dim);
}

/// Where a result is written whose users see its dimensions in `order`: what
/// they would write to, if it is there, or memory that has no contents.
Value Candidate::createInit(OpResult result, ArrayRef<int64_t> order,
                            DominanceInfo &dominance) {
  if (!order.empty() && result.hasOneUse()) {
    auto user = cast<DestinationStyleOpInterface>(*result.user_begin());
    Value init = user.getDpsInits().front();
    if (!init.getDefiningOp<tensor::EmptyOp>() &&
        dominance.properlyDominates(init, root))
      return init;
  }
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<int64_t> shape;
  SmallVector<Value> extents;
  for (int64_t position = 0; position < type.getRank(); ++position) {
    int64_t dim = order.empty() ? position : order[position];
    shape.push_back(type.getDimSize(dim));
    if (type.isDynamicDim(dim))
      extents.push_back(getValueOrCreateConstantIndexOp(
          b, b.getLoc(), getResultExtent(result, dim)));
  }
  return tensor::EmptyOp::create(b, shape, type.getElementType(), extents);
}

CallOp Candidate::replace(StringRef callee, DominanceInfo &dominance) {
  SmallVector<Value> inits;
  SmallVector<SmallVector<int64_t>> orders;
  for (OpResult result : results) {
    Operation *blocker = nullptr;
    auto order = getTranspositionOfUsers(result, blocker);
    if (blocker)
      remark::missed(blocker->getLoc(), getRemark("Transposition", root))
          << remark::reason("result {0} is moved in memory: not all of its "
                            "users transpose it alike and keep the last "
                            "dimension",
                            result.getResultNumber());
    if (order)
      remark::passed(root->getLoc(), getRemark("Transposition", root))
          << remark::add("result {0} is written in the order {1}",
                         result.getResultNumber(), toText(*order));
    orders.push_back(order.value_or(SmallVector<int64_t>()));
    inits.push_back(createInit(result, orders.back(), dominance));
    // Dimension order[d] of the result is dimension d of what is written.
    SmallVector<int64_t> &view = views.emplace_back(orders.back().size());
    for (auto [dim, source] : llvm::enumerate(orders.back()))
      view[source] = dim;
  }
  auto call = CallOp::create(b, callee, inputs, inits, views);
  for (auto [number, result] : llvm::enumerate(results)) {
    Value value = call.getResult(number);
    if (orders[number].empty())
      result.replaceAllUsesWith(value);
    else
      replaceTransposed(result, value, views[inputs.size() + number]);
  }
  root->erase();
  for (Operation *op : llvm::reverse(quantizations))
    op->erase();
  llvm::erase_if(originals, [](Value value) {
    return !isa<RankedTensorType>(value.getType());
  });
  eraseDeadViews(originals);
  return call;
}

/// Users see what was written as it is, and extents where they are now.
void Candidate::replaceTransposed(OpResult result, Value value,
                                  ArrayRef<int64_t> view) {
  SmallVector<Value> inits;
  for (Operation *user : llvm::make_early_inc_range(result.getUsers())) {
    OpBuilder at(user);
    if (auto extent = dyn_cast<tensor::DimOp>(user)) {
      Value dim = arith::ConstantIndexOp::create(
          at, user->getLoc(), view[*extent.getConstantIndex()]);
      extent.getSourceMutable().assign(value);
      extent.getIndexMutable().assign(dim);
      continue;
    }
    Value seenByUser = value, own = user->getResult(0);
    if (own.getType() != value.getType())
      seenByUser =
          tensor::CastOp::create(at, user->getLoc(), own.getType(), value);
    inits.push_back(
        cast<DestinationStyleOpInterface>(user).getDpsInits().front());
    own.replaceAllUsesWith(seenByUser);
    user->erase();
  }
  eraseDeadViews(inits);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// Outlines what it is given, one operation after another.
class Outliner {
public:
  LogicalResult outline(Operation *op);

  int64_t numOutlined = 0, numFunctions = 0;

private:
  /// What is known of a module whose symbols functions of attention become.
  struct Home {
    explicit Home(ModuleOp module) : symbols(module) {}
    SymbolTable symbols;
    SmallVector<func::FuncOp> functions;
  };

  func::FuncOp findOrInsert(Candidate &candidate, Operation *op, Home &home,
                            ModuleOp module);

  llvm::DenseMap<Operation *, std::unique_ptr<Home>> homes;
  llvm::DenseSet<Operation *> done;
  DominanceInfo dominance;
};

struct Outline : fa3::attention::impl::OutlineBase<Outline> {
  void runOnOperation() override;
};
} // namespace

/// The module that a function for `op` goes to.
static FailureOr<ModuleOp> findHome(Operation *op) {
  for (Operation *scope = op->getParentOp(); scope;
       scope = scope->getParentOp()) {
    if (auto module = dyn_cast<ModuleOp>(scope))
      return module;
    if (scope->hasTrait<OpTrait::SymbolTable>()) {
      InFlightDiagnostic diagnostic =
          op->emitOpError("cannot be outlined: it lies in '")
          << scope->getName() << "', which has symbols of its own";
      diagnostic.attachNote(scope->getLoc()) << "this is around it";
      return diagnostic;
    }
  }
  return op->emitOpError("cannot be outlined: it lies in no module");
}

/// The name of a function for attention of `op` that is free, as are those of
/// its kernels.
static std::string chooseName(Operation *op, const SymbolTable &symbols) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  std::string base = function ? function.getName().str() + "_" : "";
  for (char &c : base)
    if (!llvm::isAlnum(c))
      c = '_';
  base += isa<BackwardOp>(op)   ? "backward"
          : isa<QuantizeOp>(op) ? "quantize"
                                : "attention";
  std::string name = base;
  for (unsigned i = 1;
       symbols.lookup(name) || symbols.lookup(name + "_kernels"); ++i)
    name = base + "_" + std::to_string(i);
  return name;
}

func::FuncOp Outliner::findOrInsert(Candidate &candidate, Operation *op,
                                    Home &home, ModuleOp module) {
  func::FuncOp mine = candidate.getFunction();
  for (func::FuncOp other : home.functions)
    if (other.getFunctionType() == mine.getFunctionType() &&
        OperationEquivalence::isRegionEquivalentTo(
            &other.getBody(), &mine.getBody(),
            OperationEquivalence::IgnoreLocations)) {
      remark::passed(op->getLoc(), getRemark("Shared", op))
          << remark::add("is the attention of '{0}'", other.getName().str());
      return other;
    }
  func::FuncOp function = candidate.takeFunction().release();
  function.setName(chooseName(op, home.symbols));
  Operation *user = op;
  while (user->getParentOp() != module)
    user = user->getParentOp();
  // Behind those of the same function.
  Block::iterator place = std::next(Block::iterator(user));
  while (place != module.getBody()->end() &&
         llvm::is_contained(home.functions, dyn_cast<func::FuncOp>(*place)))
    ++place;
  home.symbols.insert(function, place);
  home.functions.push_back(function);
  ++numFunctions;
  remark::passed(op->getLoc(), getRemark("Outlined", op))
      << remark::add("becomes the function '{0}'", function.getName().str());
  return function;
}

LogicalResult Outliner::outline(Operation *op) {
  if (done.contains(op))
    return success();
  FailureOr<ModuleOp> module = findHome(op);
  if (failed(module))
    return failure();
  if (isOpTriviallyDead(op)) {
    op->erase();
    return success();
  }
  std::unique_ptr<Home> &home = homes[*module];
  if (!home)
    home = std::make_unique<Home>(*module);
  Candidate candidate(op);
  if (failed(candidate.build()))
    return failure();
  func::FuncOp function = findOrInsert(candidate, op, *home, *module);
  done.insert_range(candidate.getQuantizations());
  candidate.replace(function.getName(), dominance);
  ++numOutlined;
  return success();
}

void Outline::runOnOperation() {
  // What has the form already stays as it is.
  SmallVector<Operation *> scored, others;
  getOperation()->walk([&](ModuleOp module) {
    llvm::DenseSet<StringAttr> references = collectReferences(module);
    module->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != module && isa<ModuleOp>(op))
        return WalkResult::skip();
      auto function = dyn_cast<func::FuncOp>(op);
      if (function && function->getParentOp() == module &&
          !references.contains(function.getSymNameAttr()) &&
          !function.isExternal() && hasHostForm(function))
        return WalkResult::skip();
      if (isa<ScoredOpInterface>(op))
        scored.push_back(op);
      else if (isa<QuantizeOp>(op))
        others.push_back(op);
      return WalkResult::advance();
    });
  });
  Outliner outliner;
  scored.append(others);
  for (Operation *op : scored)
    if (failed(outliner.outline(op)))
      return signalPassFailure();
  numOutlined += outliner.numOutlined;
  numFunctions += outliner.numFunctions;
}
