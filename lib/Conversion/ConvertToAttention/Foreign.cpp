//===- Foreign.cpp - reading operations of other projects -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Foreign.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace fa3;

StringRef convert::getName(Operation *op) {
  return op ? op->getName().getStringRef() : StringRef();
}

StringRef convert::getDefiningName(Value value) {
  return value ? getName(value.getDefiningOp()) : StringRef();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static std::string printType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Whether a type is of a dialect that is not builtin, registered or not.
static bool isForeign(Type type) {
  return isa<OpaqueType>(type) || type.getDialect().getNamespace() != "builtin";
}

bool convert::hasUnsignedElements(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getElementType().isUnsignedInteger();
  return isVTensor(type) && StringRef(printType(type)).contains(",ui");
}

bool convert::isVTensor(Type type) {
  return isForeign(type) &&
         StringRef(printType(type)).starts_with("!torch.vtensor");
}

/// Torch has signs, builtin tensors and arith do not.
static Type parseElement(MLIRContext *context, StringRef text) {
  Builder builder(context);
  unsigned bits;
  if ((text.consume_front("si") || text.consume_front("ui")) &&
      !text.getAsInteger(10, bits) && llvm::is_contained({8, 16, 32, 64}, bits))
    return builder.getIntegerType(bits);
  return llvm::StringSwitch<Type>(text)
      .Case("f16", builder.getF16Type())
      .Case("bf16", builder.getBF16Type())
      .Case("f32", builder.getF32Type())
      .Case("f64", builder.getF64Type())
      .Case("i1", builder.getI1Type())
      .Case("f8E4M3FN", builder.getType<Float8E4M3FNType>())
      .Case("f8E5M2", builder.getType<Float8E5M2Type>())
      .Default(Type());
}

RankedTensorType convert::getTensorType(Type type) {
  if (!isForeign(type))
    return dyn_cast<RankedTensorType>(type);
  std::string printed = printType(type);
  StringRef text = printed;
  if (!text.consume_front("!torch.vtensor<[") || !text.consume_back(">"))
    return {};
  auto [list, rest] = text.split(']');
  if (!rest.consume_front(","))
    return {};
  SmallVector<int64_t> shape;
  SmallVector<StringRef> extents;
  if (!list.trim().empty())
    list.split(extents, ',');
  for (StringRef extent : extents) {
    uint64_t number;
    if (extent.trim() == "?")
      shape.push_back(ShapedType::kDynamic);
    else if (extent.trim().getAsInteger(10, number) ||
             number > (uint64_t(1) << 40))
      return {};
    else
      shape.push_back(number);
  }
  Type element = parseElement(type.getContext(), rest.trim());
  return element ? RankedTensorType::get(shape, element) : RankedTensorType();
}

Value convert::toBuiltin(OpBuilder &builder, Location loc, Value value) {
  if (isa<RankedTensorType>(value.getType()))
    return value;
  if (getDefiningName(value) == "torch_c.from_builtin_tensor") {
    Value source = getOperand(value.getDefiningOp(), 0);
    if (source && isa<RankedTensorType>(source.getType()))
      return source;
  }
  OperationState state(loc, "torch_c.to_builtin_tensor");
  state.addOperands(value);
  state.addTypes(getTensorType(value));
  return builder.create(state)->getResult(0);
}

Value convert::fromBuiltin(OpBuilder &builder, Location loc, Value value,
                           Type type) {
  if (value.getType() == type)
    return value;
  OperationState state(loc, "torch_c.from_builtin_tensor");
  state.addOperands(value);
  state.addTypes(type);
  return builder.create(state)->getResult(0);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The attribute of a constant of any of the projects.
static Attribute getConstant(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op || op->getNumOperands() != 0)
    return {};
  static constexpr StringLiteral names[] = {
      "arith.constant",        "torch.constant.int", "torch.constant.float",
      "torch.constant.bool",   "stablehlo.constant", "onnx.Constant",
      "torch.vtensor.literal", "tosa.const"};
  StringRef name = convert::getName(op);
  if (!llvm::is_contained(names, name))
    return {};
  Attribute attribute = op->getAttr(name == "tosa.const" ? "values" : "value");
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(attribute)) {
    if (!dense.isSplat())
      return {};
    return dense.getSplatValue<Attribute>();
  }
  return attribute;
}

std::optional<int64_t> convert::getInteger(Attribute attribute) {
  if (auto flag = dyn_cast_or_null<BoolAttr>(attribute))
    return flag.getValue();
  auto integer = dyn_cast_or_null<IntegerAttr>(attribute);
  if (!integer || integer.getValue().getSignificantBits() > 64)
    return std::nullopt;
  return integer.getValue().getSExtValue();
}

std::optional<int64_t> convert::getInteger(Value value) {
  return getInteger(getConstant(value));
}

std::optional<double> convert::getNumber(Value value) {
  Attribute attribute = getConstant(value);
  if (auto number = dyn_cast_or_null<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (std::optional<int64_t> integer = getInteger(attribute))
    return static_cast<double>(*integer);
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> convert::getIntegers(Attribute attribute) {
  SmallVector<int64_t> numbers;
  if (auto dense = dyn_cast_or_null<DenseI64ArrayAttr>(attribute))
    return llvm::to_vector(dense.asArrayRef());
  if (auto dense = dyn_cast_or_null<DenseI32ArrayAttr>(attribute))
    return SmallVector<int64_t>(dense.asArrayRef());
  if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attribute)) {
    auto type = dyn_cast<IntegerType>(dense.getElementType());
    if (dense.getNumElements() > 64 || (type && type.getWidth() > 64))
      return std::nullopt;
    for (const APInt &number : dense.getValues<APInt>())
      numbers.push_back(number.getSExtValue());
    return numbers;
  }
  auto array = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!array)
    return std::nullopt;
  for (Attribute element : array) {
    std::optional<int64_t> number = getInteger(element);
    if (!number)
      return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<SmallVector<int64_t>> convert::getIntegers(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (getName(op) == "torch.prim.ListConstruct") {
    SmallVector<int64_t> numbers;
    for (Value element : op->getOperands()) {
      std::optional<int64_t> number = getInteger(element);
      if (!number)
        return std::nullopt;
      numbers.push_back(*number);
    }
    return numbers;
  }
  if (!op || op->getNumOperands() != 0)
    return std::nullopt;
  return getIntegers(op->getAttr("value"));
}

bool convert::isNone(Value value) {
  if (!value)
    return false;
  return isa<NoneType>(value.getType()) ||
         (isForeign(value.getType()) &&
          printType(value.getType()) == "!torch.none");
}

Value convert::getOperand(Operation *op, unsigned number) {
  return number < op->getNumOperands() ? op->getOperand(number) : Value();
}

Value convert::getUsedResult(Operation *op, unsigned number) {
  if (number >= op->getNumResults() || op->getResult(number).use_empty())
    return {};
  return op->getResult(number);
}

//===----------------------------------------------------------------------===//
// Dead code
//===----------------------------------------------------------------------===//

/// Whether an operation of torch gives tensors that nothing changes, and
/// changes none: names of those that do end with an underscore.
static bool isValueOfTorch(Operation *op) {
  StringRef name = convert::getName(op);
  bool isAten = name.consume_front("torch.aten.");
  StringRef base = name.split('.').first;
  return isAten && op->getNumResults() > 0 &&
         (!base.ends_with("_") || base.ends_with("__")) &&
         llvm::all_of(op->getResultTypes(),
                      [](Type type) { return convert::isVTensor(type); });
}

/// Operations of other projects that compute, and do nothing else.
static constexpr StringLiteral kComputing[] = {"linalg.generic",
                                               "linalg.fill",
                                               "linalg.transpose",
                                               "linalg.broadcast",
                                               "linalg.softmax",
                                               "linalg.batch_matmul",
                                               "linalg.matmul",
                                               "onnx.Constant",
                                               "onnx.NoValue",
                                               "onnx.Transpose",
                                               "onnx.Reshape",
                                               "onnx.Expand",
                                               "onnx.Unsqueeze",
                                               "stablehlo.constant",
                                               "stablehlo.transpose",
                                               "stablehlo.reshape",
                                               "stablehlo.broadcast_in_dim",
                                               "stablehlo.ceil",
                                               "stablehlo.floor",
                                               "stablehlo.abs",
                                               "stablehlo.negate",
                                               "stablehlo.not",
                                               "stablehlo.or",
                                               "stablehlo.xor",
                                               "stablehlo.minimum",
                                               "stablehlo.power",
                                               "stablehlo.log",
                                               "stablehlo.sqrt",
                                               "stablehlo.rsqrt",
                                               "stablehlo.remainder",
                                               "stablehlo.slice",
                                               "stablehlo.concatenate",
                                               "stablehlo.gather",
                                               "stablehlo.reduce_window",
                                               "stablehlo.add",
                                               "stablehlo.and",
                                               "stablehlo.compare",
                                               "stablehlo.convert",
                                               "stablehlo.divide",
                                               "stablehlo.dot_general",
                                               "stablehlo.dynamic_iota",
                                               "stablehlo.exponential",
                                               "stablehlo.iota",
                                               "stablehlo.maximum",
                                               "stablehlo.multiply",
                                               "stablehlo.reduce",
                                               "stablehlo.select",
                                               "stablehlo.subtract",
                                               "stablehlo.tanh",
                                               "torch.prims.collapse",
                                               "torch.prim.ListConstruct",
                                               "iree_linalg_ext.scan",
                                               "tm_tensor.scan",
                                               "torch.vtensor.literal",
                                               "torch_c.to_builtin_tensor",
                                               "torch_c.from_builtin_tensor"};

bool convert::isEffectFree(Operation *op) {
  if (op->isRegistered())
    return isMemoryEffectFree(op);
  StringRef name = convert::getName(op);
  // What torch-mlir keeps as text because it does not know it.
  auto kept = dyn_cast_or_null<StringAttr>(op->getAttr("name"));
  if (name == "torch.operator" && kept && kept.getValue() == "torch.aten.diff")
    return true;
  bool isTosa = name.starts_with("tosa.") && op->getNumRegions() == 0 &&
                !name.starts_with("tosa.variable") && name != "tosa.custom";
  if (!llvm::is_contained(kComputing, name) && !isTosa && !isValueOfTorch(op) &&
      !name.starts_with("torch.constant."))
    return false;
  return llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return !isa<BaseMemRefType>(type); });
}

bool convert::isAssertion(Operation *op) {
  return convert::getName(op) == "torch.aten._assert_tensor_metadata" &&
         op->getNumResults() == 0;
}

void convert::eraseDead(ArrayRef<Operation *> ops) {
  llvm::SetVector<Operation *> work(ops.begin(), ops.end());
  while (!work.empty()) {
    Operation *dead = work.pop_back_val();
    if (!isEffectFree(dead) || dead->hasTrait<OpTrait::IsTerminator>() ||
        !llvm::all_of(dead->getUsers(), isAssertion))
      continue;
    // Types say what is asserted of them.
    llvm::SetVector<Operation *> assertions(dead->user_begin(),
                                            dead->user_end());
    for (Operation *assertion : assertions) {
      for (Value operand : assertion->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && source != dead)
          work.insert(source);
      assertion->erase();
    }
    // What it uses, also in its regions.
    llvm::SetVector<Operation *> sources;
    dead->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && !dead->isAncestor(source))
          sources.insert(source);
    });
    dead->erase();
    work.insert(sources.begin(), sources.end());
  }
}
