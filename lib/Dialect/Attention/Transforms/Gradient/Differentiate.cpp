//===- Differentiate.cpp - attention-differentiate ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A function with attention.forward gets another one beside it that computes
// the gradients, from what the first one has kept.
//
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fa3::attention {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "fa3/Dialect/Attention/Transforms/Passes.h.inc"
} // namespace fa3::attention

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

namespace {
/// Writes the function with the gradients of one function.
class Differentiation {
public:
  Differentiation(func::FuncOp source, ForwardOp forward,
                  ArrayRef<int64_t> gradAux, bool ofLse)
      : source(source), forward(forward), gradAux(gradAux), ofLse(ofLse),
        builder(source.getContext()) {}

  LogicalResult verify();
  /// Makes the function return lse, and o before it is edited, if it does not.
  void keepResults();
  void build(StringRef name);

private:
  /// The function of gradients, without a body: arguments of the source, o and
  /// lse as given, their gradients; results for `wanted`.
  func::FuncOp createFunction(StringRef name, ArrayRef<Value> wanted);
  /// Copies all but attention and what is computed from it.
  IRMapping cloneRest(Block *block);
  LogicalResult verifyForward();
  /// The number of a result of the function; none if it is not returned.
  std::optional<unsigned> findResult(Value value);
  /// The name that a user gave an argument or result; empty for none.
  StringRef getName(Value value);
  DictionaryAttr makeName(const Twine &name);
  /// The same of a gradient; none where the value has no name.
  DictionaryAttr makeGradientName(Value value);

  func::FuncOp source;
  ForwardOp forward;
  ArrayRef<int64_t> gradAux;
  bool ofLse;
  OpBuilder builder;
};

struct Differentiate : fa3::attention::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;
  void runOnOperation() override;

private:
  FailureOr<SmallVector<func::FuncOp>> findFunctions();
};
} // namespace

//===----------------------------------------------------------------------===//
// What can be differentiated
//===----------------------------------------------------------------------===//

std::optional<unsigned> Differentiation::findResult(Value value) {
  Operation *end = source.getBody().front().getTerminator();
  for (auto [number, result] : llvm::enumerate(end->getOperands()))
    if (result == value)
      return number;
  return std::nullopt;
}

LogicalResult Differentiation::verifyForward() {
  Type element = forward.getElementType();
  if (!element.isF16() && !element.isBF16())
    return forward.emitOpError("has no gradients that are known with operands "
                               "of ")
           << element << ", expects f16 or bf16";
  Type stored =
      cast<RankedTensorType>(forward.getO().getType()).getElementType();
  if (stored != element)
    return forward.emitOpError("has no gradients that are known with o of ")
           << stored << ", expects " << element;
  auto hasMod = [&](auto isIt) {
    ArrayAttr mods = forward.getModsAttr();
    return mods && llvm::any_of(mods, isIt);
  };
  const std::pair<bool, StringRef> unknown[] = {
      {hasMod([](Attribute mod) { return isa<PagedAttr>(mod); }),
       "pages, which sequences may share"},
      {hasMod([](Attribute mod) { return isa<BatchIndexAttr>(mod); }),
       "numbers of batches, which sequences may share"},
      {forward.getSizesOfBlocks().has_value(), "lists of blocks"},
      {forward.getTransposedV(), "'transposed_v'"},
      {forward.getQv() != nullptr, "'qv'"},
      {forward.getSinks() != nullptr, "sinks"},
      {forward.getPreviousO() != nullptr, "'previous'"}};
  for (auto [isThere, what] : unknown)
    if (isThere)
      return forward.emitOpError("has no gradients that are known with ")
             << what;
  bool hasScoreGrads = llvm::any_of(gradAux, [&](int64_t number) {
    return !isReadByEpilogue(forward, number);
  });
  if (forward.hasLengths() && hasScoreGrads)
    return forward.emitOpError("has no gradients of auxiliary operands that "
                               "are known with lengths of sequences");
  auto count = static_cast<int64_t>(forward.getAux().size());
  for (int64_t number : gradAux)
    if (number < 0 || number >= count)
      return forward.emitOpError("expects numbers of auxiliary operands, less "
                                 "than ")
             << count << ", in grad-aux, got " << number;
  return success();
}

LogicalResult Differentiation::verify() {
  if (failed(verifyForward()))
    return failure();
  if (!llvm::hasSingleElement(source.getBody()) ||
      forward->getParentOp() != source)
    return forward.emitOpError("expects to lie in the only block of its "
                               "function");
  for (Operation &op : source.getBody().front().without_terminator()) {
    if (&op == forward || isDescription(&op))
      continue;
    if (isa<ScoredOpInterface>(op))
      return op.emitOpError("is a second one in its function, whose gradients "
                            "are asked for");
    if (!isPure(&op) || op.getNumRegions())
      return op.emitOpError("lies beside 'attention.forward' whose gradients "
                            "are asked for: expects pure operations without "
                            "regions");
  }
  for (Value operand : forward->getOperands())
    if (isa<RankedTensorType>(operand.getType()) &&
        !isa<BlockArgument>(operand)) {
      InFlightDiagnostic diagnostic =
          forward.emitOpError("expects tensors that are arguments of the "
                              "function whose gradients are asked for");
      diagnostic.attachNote(operand.getLoc()) << "this one is computed here";
      return diagnostic;
    }
  if (!findResult(forward.getO()))
    return forward.emitOpError("expects o to be returned by the function whose "
                               "gradients are asked for");
  for (Value value : source.getBody().front().getTerminator()->getOperands())
    if (value.getDefiningOp() != forward)
      return source.emitError("returns what is no result of "
                              "'attention.forward', whose gradient is not "
                              "known");
  bool keepsPlain =
      forward.getEpilogue().empty() || findResult(forward.getPlain());
  if (findResult(forward.getLse()) && keepsPlain)
    return success();
  if (ofLse && !findResult(forward.getLse()))
    return forward.emitOpError("expects lse to be returned, whose gradient is "
                               "given with 'dlse'");
  // Another result changes the type of the function.
  Operation *scope = source->getParentOp();
  if (!SymbolTable::symbolKnownUseEmpty(source, scope))
    return source.emitError("expects to return ")
           << (keepsPlain ? "lse" : "lse and plain")
           << ", or that nothing refers to this function: its gradients need "
           << (keepsPlain ? "lse" : "them");
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Differentiation::keepResults() {
  bool isEdited = !forward.getEpilogue().empty();
  if (!forward.getLse() || (isEdited && !forward.getPlain())) {
    // An optional result is there from the beginning or not at all.
    builder.setInsertionPoint(forward);
    auto o = cast<RankedTensorType>(forward.getO().getType());
    SmallVector<int64_t> shape(o.getShape().drop_back());
    if (forward.getLayout() == Layout::bshd)
      std::swap(shape[shape.size() - 2], shape.back());
    auto lse = RankedTensorType::get(shape, builder.getF32Type());
    OperationState state(forward.getLoc(), forward->getName());
    state.addOperands(forward->getOperands());
    state.addTypes({o, lse});
    if (isEdited)
      state.addTypes(
          RankedTensorType::get(o.getShape(), forward.getElementType()));
    if (Value maxLogits = forward.getMaxLogits())
      state.addTypes(maxLogits.getType());
    state.addAttributes(
        llvm::to_vector(forward->getDiscardableAttrDictionary()));
    state.propertiesAttr = forward->getPropertiesAsAttribute();
    for (Region &region : forward->getRegions())
      state.addRegion()->takeBody(region);
    auto both = cast<ForwardOp>(builder.create(state));
    both.getProperties().setResultSegmentSizes(
        {1, 1, isEdited ? 1 : 0, forward.getMaxLogits() ? 1 : 0});
    for (auto [from, to] :
         {std::pair(Value(forward.getO()), Value(both.getO())),
          {forward.getLse(), both.getLse()},
          {forward.getPlain(), both.getPlain()},
          {forward.getMaxLogits(), both.getMaxLogits()}})
      if (from)
        from.replaceAllUsesWith(to);
    forward.erase();
    forward = both;
  }
  Operation *end = source.getBody().front().getTerminator();
  for (Value result : {Value(forward.getLse()), Value(forward.getPlain())}) {
    if (!result || findResult(result))
      continue;
    unsigned number = end->getNumOperands();
    (void)source.insertResult(number, result.getType(), {});
    end->insertOperands(number, result);
  }
}

StringRef Differentiation::getName(Value value) {
  StringAttr name;
  if (auto argument = dyn_cast<BlockArgument>(value))
    name = source.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                               kArgumentNameAttr);
  else if (std::optional<unsigned> number = findResult(value))
    name = source.getResultAttrOfType<StringAttr>(*number, kArgumentNameAttr);
  return name ? name.getValue() : StringRef();
}

DictionaryAttr Differentiation::makeName(const Twine &name) {
  return builder.getDictionaryAttr(
      builder.getNamedAttr(kArgumentNameAttr, builder.getStringAttr(name)));
}

DictionaryAttr Differentiation::makeGradientName(Value value) {
  StringRef name = getName(value);
  return name.empty() ? builder.getDictionaryAttr({}) : makeName("d" + name);
}

func::FuncOp Differentiation::createFunction(StringRef name,
                                             ArrayRef<Value> wanted) {
  Value edited = forward.getO(), lse = forward.getLse();
  Value o = forward.getPlain() ? Value(forward.getPlain()) : edited;
  SmallVector<Value> given = {o, lse};
  SmallVector<Type> types(source.getArgumentTypes());
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < source.getNumArguments(); ++i) {
    DictionaryAttr own = source.getArgAttrDict(i);
    attributes.push_back(own ? own : builder.getDictionaryAttr({}));
  }
  for (Value value : given) {
    StringRef own = getName(value);
    types.push_back(value.getType());
    attributes.push_back(own.empty() ? builder.getDictionaryAttr({})
                                     : makeName(own));
  }
  given.front() = edited;
  for (Value value : ArrayRef(given).take_front(ofLse ? 2 : 1)) {
    types.push_back(value.getType());
    attributes.push_back(makeGradientName(value));
  }
  // One operand in several roles has a gradient for each, without a name.
  auto resultNames = llvm::map_to_vector(wanted, [&](Value value) {
    return llvm::count(wanted, value) > 1 ? builder.getDictionaryAttr({})
                                          : makeGradientName(value);
  });

  builder.setInsertionPointAfter(source);
  auto function = func::FuncOp::create(
      builder, source.getLoc(), name,
      builder.getFunctionType(types, ValueRange(wanted).getTypes()));
  function.setVisibility(source.getVisibility());
  function.setAllArgAttrs(attributes);
  function.setAllResultAttrs(resultNames);
  return function;
}

IRMapping Differentiation::cloneRest(Block *block) {
  IRMapping mapping;
  unsigned count = source.getNumArguments();
  mapping.map(source.getArguments(), block->getArguments().take_front(count));
  for (Operation &op : source.getBody().front().without_terminator())
    if (&op != forward && llvm::none_of(op.getOperands(), [&](Value operand) {
          return operand.getDefiningOp() == forward;
        }))
      builder.clone(op, mapping);
  return mapping;
}

void Differentiation::build(StringRef name) {
  Location loc = forward.getLoc();
  SmallVector<Value> wanted = {forward.getQ(), forward.getK(), forward.getV()};
  for (int64_t number : gradAux)
    wanted.push_back(forward.getAux()[number]);
  Block *block = createFunction(name, wanted).addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping = cloneRest(block);
  SmallVector<Type> results(ValueRange(wanted).getTypes());

  auto lookup = [&](Value value) { return mapping.lookup(value); };
  Value scale = forward.getScale() ? lookup(forward.getScale()) : Value();
  if (FloatAttr literal = forward.getLiteralScaleAttr())
    scale = arith::ConstantOp::create(builder, loc, literal);
  auto aux = llvm::map_to_vector(forward.getAux(), lookup);
  auto last = block->getArguments().drop_front(source.getNumArguments());
  auto backward = BackwardOp::create(
      builder, loc, results[0], results[1], results[2],
      ArrayRef(results).drop_front(3), lookup(forward.getQ()),
      lookup(forward.getK()), lookup(forward.getV()), last[0], last[1], last[2],
      ofLse ? Value(last[3]) : Value(), /*copies=*/ValueRange(),
      /*scales=*/ValueRange(), aux, scale,
      forward.getSequences() ? lookup(forward.getSequences()) : Value(),
      /*blocks=*/Value(),
      gradAux.empty() ? DenseI64ArrayAttr()
                      : builder.getDenseI64ArrayAttr(gradAux),
      forward.getLayoutAttr(), forward.getModsAttr(),
      forward.getKeptScaleAttr(), forward.getGroupAttr());
  forward.getScoreMod().cloneInto(&backward.getScoreMod(), mapping);
  forward.getMaskMod().cloneInto(&backward.getMaskMod(), mapping);
  forward.getKeepMod().cloneInto(&backward.getKeepMod(), mapping);
  forward.getEpilogue().cloneInto(&backward.getEpilogue(), mapping);
  func::ReturnOp::create(builder, loc, backward->getResults());
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<func::FuncOp>> Differentiate::findFunctions() {
  SmallVector<func::FuncOp> found;
  for (const std::string &name : functions) {
    auto function = getOperation().lookupSymbol<func::FuncOp>(name);
    if (!function)
      return getOperation().emitError("attention-differentiate: has no "
                                      "function '")
             << name << "'";
    found.push_back(function);
  }
  if (!functions.empty())
    return found;
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (function.walk([](ForwardOp) { return WalkResult::interrupt(); })
            .wasInterrupted())
      found.push_back(function);
  return found;
}

void Differentiate::runOnOperation() {
  FailureOr<SmallVector<func::FuncOp>> sources = findFunctions();
  if (failed(sources))
    return signalPassFailure();
  for (func::FuncOp source : *sources) {
    ForwardOp forward;
    source.walk([&](ForwardOp op) {
      forward = op;
      return WalkResult::interrupt();
    });
    if (!forward) {
      source.emitError("attention-differentiate: expects a function with "
                       "'attention.forward'");
      return signalPassFailure();
    }
    std::string name = (source.getName() + suffix.getValue()).str();
    if (getOperation().lookupSymbol(name)) {
      source.emitError("attention-differentiate: expects no symbol '")
          << name << "', which is that of the gradients";
      return signalPassFailure();
    }
    Differentiation differentiation(source, forward, gradAux, dlse);
    if (failed(differentiation.verify()))
      return signalPassFailure();
    differentiation.keepResults();
    differentiation.build(name);
    ++numDifferentiated;
  }
}
