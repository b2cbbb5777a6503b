//===- CallOp.cpp - verification of attention.call ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fa3::attention;

void CallOp::build(OpBuilder &builder, OperationState &state, StringRef callee,
                   ValueRange inputs, ValueRange inits,
                   ArrayRef<SmallVector<int64_t>> views, bool updates) {
  SmallVector<Type> results;
  for (Type type : inits.getTypes())
    if (isa<RankedTensorType>(type))
      results.push_back(type);
  ArrayAttr attribute;
  if (llvm::any_of(views, [](ArrayRef<int64_t> view) { return !view.empty(); }))
    attribute = builder.getArrayAttr(llvm::map_to_vector(
        views, [&](const SmallVector<int64_t> &view) -> Attribute {
          return builder.getI64ArrayAttr(view);
        }));
  build(builder, state, results, callee, inputs, inits, attribute, updates);
}

SmallVector<int64_t> CallOp::getView(unsigned number) {
  SmallVector<int64_t> view;
  if (ArrayAttr views = getViewsAttr())
    for (auto dim : cast<ArrayAttr>(views[number]).getAsRange<IntegerAttr>())
      view.push_back(dim.getInt());
  return view;
}

void CallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getInputsMutable())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  for (OpOperand &operand : getInitsMutable()) {
    // A tensor that is updated is one in memory, as that of attention.append.
    if (!isa<MemRefType>(operand.get().getType()) && !getUpdates())
      continue;
    if (getUpdates())
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
    effects.emplace_back(MemoryEffects::Write::get(), &operand,
                         SideEffects::DefaultResource::get());
  }
}

/// C3.
static LogicalResult verifyView(CallOp op, unsigned number) {
  SmallVector<int64_t> view = op.getView(number);
  if (view.empty())
    return success();
  auto type = dyn_cast<ShapedType>(op->getOperand(number).getType());
  if (!type)
    return op.emitOpError("expects no view of operand ")
           << number << ", a scalar";
  if (static_cast<int64_t>(view.size()) != type.getRank() ||
      !isPermutationVector(view))
    return op.emitOpError("expects the view of operand ")
           << number << " to be a permutation of its " << type.getRank()
           << " dimensions, got " << op.getViewsAttr()[number];
  if (view.back() != type.getRank() - 1)
    return op.emitOpError("expects the view of operand ")
           << number << " to keep the last dimension, got "
           << op.getViewsAttr()[number];
  return success();
}

LogicalResult CallOp::verify() {
  bool onTensors = false, onMemRefs = false;
  for (Type type : getOperandTypes()) {
    onTensors |= isa<RankedTensorType>(type);
    onMemRefs |= isa<MemRefType>(type);
  }
  if (onTensors && onMemRefs)
    return emitOpError("expects tensors or memrefs, got both");
  if (getInits().empty())
    return emitOpError("expects at least one of outs");
  if (ArrayAttr views = getViewsAttr()) {
    if (views.size() != getNumOperands())
      return emitOpError("expects a view for each of its ")
             << getNumOperands() << " operands, got " << views.size();
    for (unsigned number = 0; number < getNumOperands(); ++number)
      if (failed(verifyView(*this, number)))
        return failure();
  }
  if (onMemRefs)
    for (OpOperand &init : getInitsMutable())
      for (OpOperand &other : (*this)->getOpOperands())
        if (&other != &init && other.get() == init.get())
          return emitOpError("writes operand ")
                 << init.getOperandNumber() << ", which is operand "
                 << other.getOperandNumber() << " as well";
  return success();
}

/// C5.
LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // Operations that are not registered may be around the call.
  auto module = (*this)->getParentOfType<ModuleOp>();
  auto function =
      module
          ? symbols.lookupSymbolIn<FunctionOpInterface>(module, getCalleeAttr())
          : FunctionOpInterface();
  if (!function)
    return emitOpError("calls '")
           << getCallee() << "', which is no function of the module";
  size_t numInputs = getInputs().size(), numOperands = getNumOperands();
  ArrayRef<Type> arguments = function.getArgumentTypes(),
                 results = function.getResultTypes();
  bool isHost = results.empty() || getUpdates();
  if (getUpdates() && !results.empty())
    return emitOpError("with updates expects a function without results, got ")
           << results.size();
  if (isHost ? arguments.size() != numOperands
             : arguments.size() != numInputs ||
                   results.size() != getInits().size())
    return emitOpError("expects a function of ")
           << numInputs << " arguments and " << getInits().size()
           << " results, or of " << numOperands
           << " arguments and none, got one of " << arguments.size() << " and "
           << results.size();
  for (unsigned number = 0; number < numOperands; ++number) {
    Type expected = number < numInputs || isHost ? arguments[number]
                                                 : results[number - numInputs];
    Type type = getOperand(number).getType();
    auto array = dyn_cast<ShapedType>(type),
         other = dyn_cast<ShapedType>(expected);
    bool fits = type == expected;
    if (array && other) {
      SmallVector<int64_t> shape(array.getShape()), view = getView(number);
      for (auto [dim, source] : llvm::enumerate(view))
        shape[dim] = array.getDimSize(source);
      fits = other.hasRank() &&
             array.getElementType() == other.getElementType() &&
             succeeded(verifyCompatibleShape(shape, other.getShape()));
    }
    if (!fits)
      return emitOpError("operand ")
             << number << " of type " << type << " does not fit '"
             << getCallee() << "', which takes " << expected;
  }
  return success();
}
