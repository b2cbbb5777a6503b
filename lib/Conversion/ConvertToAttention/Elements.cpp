//===- Elements.cpp - elementwise operations of other projects ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Elements.h"
#include "Foreign.h"
#include "PointBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace fa3::convert;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static StringRef getComparison(Operation *op) {
  std::string text;
  if (Attribute direction = op->getAttr("comparison_direction"))
    llvm::raw_string_ostream(text) << direction;
  return llvm::StringSwitch<StringRef>(
             StringRef(text).rsplit(' ').second.take_front(2))
      .Case("GE", "ge")
      .Case("GT", "gt")
      .Case("LE", "le")
      .Case("LT", "lt")
      .Case("EQ", "eq")
      .Case("NE", "ne")
      .Default("");
}

/// What the overload says follows from the types.
static StringRef getAtenName(StringRef name) {
  StringRef base = name.split('.').first;
  return llvm::StringSwitch<StringRef>(base)
      .Cases({"bitwise_and", "logical_and", "__and__"}, "and")
      .Cases({"bitwise_or", "logical_or", "__or__"}, "or")
      .Cases({"bitwise_xor", "logical_xor", "__xor__"}, "xor")
      .Cases({"bitwise_not", "logical_not"}, "not")
      .Cases({"floor_divide", "__floordiv__"}, "floor_divide")
      .Case("hardtanh", "clamp")
      .Default(base);
}

/// StableHLO divides integers and floats by one operation.
static StringRef getStableHloName(StringRef name, bool isInteger) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"add", "maximum", "minimum", "tanh", "log", "sqrt", "rsqrt",
              "floor", "ceil", "abs", "and", "or", "xor", "not"},
             name)
      .Case("subtract", "sub")
      .Case("multiply", "mul")
      .Case("divide", isInteger ? "trunc_divide" : "div")
      .Case("remainder", isInteger ? "fmod" : "")
      .Case("power", "pow")
      .Case("exponential", "exp")
      .Case("exponential_minus_one", "expm1")
      .Case("sign", isInteger ? "" : "sign")
      .Case("log_plus_one", "log1p")
      .Case("sine", "sin")
      .Case("cosine", "cos")
      .Case("logistic", "sigmoid")
      .Case("negate", "neg")
      .Case("select", "where")
      .Case("convert", "to")
      .Default("");
}

static StringRef getTosaName(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"add", "sub", "mul", "maximum", "minimum", "pow", "tanh", "exp",
              "log", "rsqrt", "sin", "cos", "erf", "floor", "ceil", "sigmoid",
              "abs", "reciprocal"},
             name)
      .Case("negate", "neg")
      .Case("logical_and", "and")
      .Case("logical_or", "or")
      .Case("logical_xor", "xor")
      .Case("logical_not", "not")
      .Case("intdiv", "trunc_divide")
      .Case("select", "where")
      .Case("cast", "to")
      .Case("greater", "gt")
      .Case("greater_equal", "ge")
      .Case("equal", "eq")
      .Default("");
}

/// Whether an operation of tosa has a shift or zero points that change what it
/// computes.
static bool hasShiftOrZeroPoint(Operation *op) {
  StringRef name = getName(op);
  unsigned count = name == "tosa.mul" ? 2 : name == "tosa.negate" ? 1 : 0;
  return count != 0 &&
         llvm::any_of(llvm::drop_begin(op->getOperands(),
                                       std::min(count, op->getNumOperands())),
                      [](Value extra) { return getNumber(extra) != 0.0; });
}

StringRef fa3::convert::getTorchName(Operation *op) {
  StringRef name = getName(op);
  if (name.consume_front("torch.aten.") || name.consume_front("torch.prims."))
    return getAtenName(name);
  if (name == "stablehlo.compare")
    return getComparison(op);
  if (name == "chlo.erf")
    return "erf";
  if (name.consume_front("stablehlo.")) {
    RankedTensorType type =
        op->getNumResults() > 0 ? getTensorType(op->getResult(0)) : nullptr;
    return getStableHloName(name, type && type.getElementType().isIntOrIndex());
  }
  if (hasShiftOrZeroPoint(op) || !name.consume_front("tosa."))
    return "";
  return getTosaName(name);
}

/// Whether a change of the type is one that attention.forward need not keep:
/// between floats of 16 bits and more.
static bool isRound(Type from, Type to) {
  auto isWide = [](Type type) {
    return isa<FloatType>(type) && type.getIntOrFloatBitWidth() >= 16;
  };
  return isWide(from) && isWide(to);
}

/// The same for a body of one operation of arith or math.
static StringRef getBodyName(Operation *op) {
  Block &block = op->getRegion(0).front();
  Operation *body = block.back().getOperand(0).getDefiningOp();
  if (!body || body->getBlock() != &block ||
      !llvm::all_of(body->getOperands(), [&](Value operand) {
        auto argument = dyn_cast<BlockArgument>(operand);
        return argument ? argument.getOwner() == &block
                        : getNumber(operand).has_value();
      }))
    return "";
  if (isa<arith::TruncFOp, arith::ExtFOp>(body))
    return isRound(body->getOperand(0).getType(), body->getResult(0).getType())
               ? "round"
               : "";
  return llvm::StringSwitch<StringRef>(getName(body))
      .Case("arith.subf", "sub")
      .Case("arith.addf", "add")
      .Case("arith.mulf", "mul")
      .Case("arith.divf", "div")
      .Case("math.exp", "exp")
      .Case("arith.select", "where")
      .Default("");
}

StringRef fa3::convert::getElementName(Operation *op) {
  if (!op || op->getNumResults() != 1)
    return "";
  if (isElementwise(op))
    return getBodyName(op);
  StringRef name = getTorchName(op);
  static constexpr StringLiteral casts[] = {"to", "_to_copy", "type_as",
                                            "convert_element_type"};
  if (!llvm::is_contained(casts, name))
    return name;
  RankedTensorType from = getTensorType(getOperand(op, 0)),
                   to = getTensorType(op->getResult(0));
  if (!from || !to)
    return "to";
  Type own = from.getElementType(), other = to.getElementType();
  if (isRound(own, other))
    return "round";
  // What drops bits has no code of its own.
  bool drops = isa<FloatType>(other) ? other.getIntOrFloatBitWidth() < 16
                                     : other.isInteger() && !own.isInteger(1) &&
                                           other.getIntOrFloatBitWidth() < 32;
  return drops && !other.isInteger(1) ? "" : "to";
}

//===----------------------------------------------------------------------===//
// Elements of tensors
//===----------------------------------------------------------------------===//

/// Whether the operands from `first` on are numbers, or left out.
static bool hasNumbersFrom(Operation *op, unsigned first) {
  return llvm::all_of(
      llvm::drop_begin(op->getOperands(), first),
      [](Value operand) { return getNumber(operand) || isNone(operand); });
}

/// Whether integers of an operation are not those of its scalar code, which
/// have a sign and at least 32 bits: such an operation stays, and what it
/// computes is a table.
static bool hasOtherIntegers(Operation *op, StringRef name) {
  if (llvm::any_of(op->getOperandTypes(), hasUnsignedElements) ||
      llvm::any_of(op->getResultTypes(), hasUnsignedElements))
    return true;
  auto type =
      dyn_cast<IntegerType>(getTensorType(op->getResult(0)).getElementType());
  static constexpr StringLiteral exact[] = {
      "where", "masked_fill", "maximum", "minimum", "and", "or", "xor", "to"};
  return type && type.getWidth() > 1 && type.getWidth() < 32 &&
         !llvm::is_contained(exact, name);
}

/// How many operands of an operation are read element by element, if there is
/// scalar code for it that gives floats, integers or booleans.
static unsigned countInputs(Operation *op, StringRef name) {
  RankedTensorType type = getTensorType(op->getResult(0));
  if (!type || hasOtherIntegers(op, name))
    return 0;
  bool isFloat = isa<FloatType>(type.getElementType()),
       isBoolean = type.getElementType().isInteger(1);
  auto isOneOf = [&](ArrayRef<StringLiteral> names) {
    return llvm::is_contained(names, name);
  };
  if (name == "where" || name == "masked_fill")
    return 3;
  if (name == "round" || name == "neg" || name == "abs")
    return isBoolean ? 0 : 1;
  if (name == "to") {
    // Ways to round to integers differ.
    RankedTensorType from = getTensorType(getOperand(op, 0));
    return from && (!isa<FloatType>(from.getElementType()) || isFloat);
  }
  if (isOneOf({"ge", "gt", "le", "lt", "eq", "ne"}))
    return isBoolean ? 2 : 0;
  if (name == "not")
    return isBoolean ? 1 : 0;
  if (isOneOf({"and", "or", "xor"}))
    return isFloat ? 0 : 2;
  if (isOneOf({"maximum", "minimum"}))
    return isBoolean ? 0 : 2;
  if (name == "clamp" || name == "clamp_min" || name == "clamp_max")
    return isBoolean || !hasNumbersFrom(op, 1) ? 0 : 1;
  if (name == "leaky_relu" || name == "softplus")
    return isFloat && hasNumbersFrom(op, 1) ? 1 : 0;
  if (name == "add" || name == "sub" || name == "rsub") {
    bool isPlain = op->getNumOperands() < 3 ||
                   getNumber(op->getOperand(2)).value_or(0) == 1;
    return isBoolean || !isPlain ? 0 : 2;
  }
  if (name == "mul")
    return 2;
  // A triangle of a matrix, zeros elsewhere.
  if (name == "triu" || name == "tril")
    return type.getRank() >= 2 && getInteger(getOperand(op, 1)) ? 1 : 0;
  if (name == "div" || name == "pow")
    return isFloat && !getName(op).ends_with("_mode") ? 2 : 0;
  if (isOneOf({"floor_divide", "trunc_divide", "remainder", "fmod"}))
    return isFloat || isBoolean ? 0 : 2;
  return isFloat && isOneOf({"tanh",    "exp",   "exp2",  "log",        "log2",
                             "log1p",   "sqrt",  "rsqrt", "sin",        "cos",
                             "erf",     "floor", "ceil",  "square",     "relu",
                             "sigmoid", "silu",  "expm1", "reciprocal", "sign"})
             ? 1
             : 0;
}

std::optional<SmallVector<State>>
fa3::convert::readElements(Labels &labels, const State &result) {
  Operation *op = result.value.getDefiningOp();
  RankedTensorType type = getTensorType(result.value);
  if (!op || !type || op->getNumResults() != 1 ||
      type.getRank() != static_cast<int64_t>(result.dims.size()))
    return std::nullopt;
  if (isElementwise(op))
    return getInputs(labels, op, result);
  // Tensors all of whose elements are alike.
  static constexpr StringLiteral alike[] = {
      "ones", "zeros", "ones_like", "zeros_like", "new_ones", "new_zeros"};
  StringRef name = getElementName(op);
  if (llvm::is_contained(alike, name) ||
      (name == "full" && getNumber(getOperand(op, 1))))
    return SmallVector<State>();
  unsigned count = countInputs(op, name);
  if (count == 0 || op->getNumOperands() < count)
    return std::nullopt;
  SmallVector<State> inputs;
  for (Value operand : op->getOperands().take_front(count)) {
    RankedTensorType own = getTensorType(operand);
    if (!own && getNumber(operand))
      continue;
    // Dimensions at the end correspond; extents of 1 are repeated.
    int64_t missing = own ? type.getRank() - own.getRank() : -1;
    if (missing < 0)
      return std::nullopt;
    State &input = inputs.emplace_back(State{operand, {}});
    for (int64_t dim = 0; dim < own.getRank(); ++dim) {
      int64_t extent = own.getDimSize(dim),
              full = type.getDimSize(missing + dim);
      if (extent == 1 && full != 1)
        input.dims.push_back({labels.create(1)});
      else if (extent != full)
        return std::nullopt;
      else
        input.dims.push_back(result.dims[missing + dim]);
    }
  }
  return inputs;
}

std::optional<SmallVector<Term>> fa3::convert::readTerms(Labels &labels,
                                                         const State &result) {
  Operation *op = result.value.getDefiningOp();
  auto inputs = readElements(labels, result);
  if (!inputs)
    return std::nullopt;
  SmallVector<Term> terms;
  if (isElementwise(op)) {
    if (getBodyName(op).empty())
      return std::nullopt;
    Block &block = op->getRegion(0).front();
    for (Value operand :
         block.back().getOperand(0).getDefiningOp()->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand);
      terms.push_back(argument ? Term{(*inputs)[argument.getArgNumber()], {}}
                               : Term{State(), getNumber(operand)});
    }
    return terms;
  }
  const State *next = inputs->begin();
  for (Value operand :
       op->getOperands().take_front(countInputs(op, getElementName(op)))) {
    if (next != inputs->end() && next->value == operand)
      terms.push_back({*next++, {}});
    else
      terms.push_back({State(), getNumber(operand)});
  }
  return terms;
}

/// Whether an operation is a list of the numbers from 0 on.
static bool isCountingConstant(Operation *op) {
  if (op->getNumOperands() != 0 || op->getNumResults() != 1)
    return false;
  auto value = dyn_cast_or_null<DenseIntElementsAttr>(
      op->getAttr(getName(op) == "tosa.const" ? "values" : "value"));
  RankedTensorType type = getTensorType(op->getResult(0));
  if (!value || !type || type.getRank() != 1 || value.isSplat())
    return false;
  Type own = value.getElementType(), element = type.getElementType();
  bool isSame = own.isIndex()
                    ? element.isIndex()
                    : !element.isIndex() && own.getIntOrFloatBitWidth() ==
                                                element.getIntOrFloatBitWidth();
  if (!isSame || value.getType().getShape() != type.getShape() ||
      (!own.isIndex() && own.getIntOrFloatBitWidth() > 64))
    return false;
  return llvm::all_of(llvm::enumerate(value.getValues<APInt>()), [](auto each) {
    return each.value().getSExtValue() == static_cast<int64_t>(each.index());
  });
}

bool fa3::convert::isCounting(Operation *op) {
  StringRef name = getName(op);
  if (isCountingConstant(op))
    return true;
  if (name == "stablehlo.iota" || name == "stablehlo.dynamic_iota") {
    RankedTensorType type = getTensorType(op->getResult(0));
    auto dim = getInteger(op->getAttr("iota_dimension"));
    return type && isa<IntegerType>(type.getElementType()) && dim &&
           *dim >= 0 && *dim < type.getRank();
  }
  if (!name.starts_with("torch.aten.arange") || op->getNumResults() != 1)
    return false;
  RankedTensorType type = getTensorType(op->getResult(0));
  if (!type || type.getRank() != 1 || !isa<IntegerType>(type.getElementType()))
    return false;
  if (name == "torch.aten.arange")
    return true;
  return getInteger(getOperand(op, 0)) &&
         (name == "torch.aten.arange.start" ||
          (name == "torch.aten.arange.start_step" &&
           getInteger(getOperand(op, 2))));
}

Value fa3::convert::computeCount(PointBuilder &point, const State &state) {
  Operation *op = state.value.getDefiningOp();
  bool isTorch = getName(op).starts_with("torch.aten.arange.");
  auto dim = getInteger(op->getAttr("iota_dimension"));
  Value index = point.getIndex(state.dims[dim.value_or(0)]);
  if (!index || !isTorch)
    return index;
  int64_t start = *getInteger(op->getOperand(0)), step = 1;
  if (getName(op) == "torch.aten.arange.start_step")
    step = *getInteger(op->getOperand(2));
  if (step != 1)
    index = arith::MulIOp::create(point.b, index, point.constantIndex(step));
  if (start != 0)
    index = arith::AddIOp::create(point.b, index, point.constantIndex(start));
  return index;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

bool fa3::convert::hides(std::optional<double> number, Type type) {
  auto own = dyn_cast<FloatType>(type);
  if (!number || !own)
    return false;
  // JAX takes 0.7 of the least number.
  double least = APFloat::getLargest(own.getFloatSemantics(), /*Negative=*/true)
                     .convertToDouble();
  return *number <= 0.5 * least;
}

std::optional<double> fa3::convert::getUniform(Labels &labels,
                                               const State &given) {
  if (!given.value)
    return std::nullopt;
  Value value = peelAll(labels, given).back().value;
  if (auto number = getNumber(value))
    return number;
  Operation *op = value.getDefiningOp();
  StringRef name = getElementName(op);
  if (name == "full" || name == "full_like")
    return getNumber(getOperand(op, 1));
  if (name == "zeros" || name == "zeros_like" || name == "new_zeros")
    return 0;
  if (getName(op) == "linalg.fill" || getName(op) == "tensor.splat")
    return getNumber(getOperand(op, 0));
  return std::nullopt;
}

/// The choice that a body of a linalg.generic ends with.
static std::optional<std::pair<State, Choice>>
readChoiceOfBody(const State &result, Type type) {
  Block &block = result.value.getDefiningOp()->getRegion(0).front();
  auto select = block.back().getOperand(0).getDefiningOp<arith::SelectOp>();
  if (!select || select->getBlock() != &block)
    return std::nullopt;
  auto chosen = getNumber(select.getTrueValue()),
       other = getNumber(select.getFalseValue());
  Choice choice;
  choice.inBody = select.getCondition();
  choice.isNegated = other == 0.0;
  if (!choice.isNegated && chosen != 0.0)
    return std::nullopt;
  auto hidden = choice.isNegated ? chosen : other;
  if (!hides(hidden, select.getType()) && !hides(hidden, type))
    return std::nullopt;
  choice.hidden = *hidden;
  return std::pair(result, choice);
}

std::optional<std::pair<State, Choice>>
fa3::convert::readChoice(Labels &labels, const State &result, Type type) {
  Operation *op = result.value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isElementwise(op))
    if (auto choice = readChoiceOfBody(result, type))
      return choice;
  StringRef name = getElementName(op);
  if (name != "where" && name != "masked_fill")
    return std::nullopt;
  auto terms = readTerms(labels, result);
  if (!terms)
    return std::nullopt;
  // masked_fill chooses its third operand where the second one holds.
  bool fills = name == "masked_fill";
  const State &condition = (*terms)[fills ? 1 : 0].state;
  auto number = [&](const Term &term) {
    return term.number ? term.number : getUniform(labels, term.state);
  };
  const Term &chosen = (*terms)[fills ? 2 : 1],
             &other = (*terms)[fills ? 0 : 2];
  Type own = getTensorType(result.value).getElementType();
  auto isHidden = [&](std::optional<double> number) {
    return hides(number, own) || hides(number, type);
  };
  Choice choice;
  choice.isNegated = isHidden(number(chosen));
  auto hidden = number(choice.isNegated ? chosen : other);
  const Term &rest = choice.isNegated ? other : chosen;
  auto shown = number(rest);
  if (!condition.value || !isHidden(hidden) || isHidden(shown) ||
      (!rest.state.value && shown != 0.0))
    return std::nullopt;
  choice.hidden = *hidden;
  if (shown != 0.0)
    choice.rest = rest.state;
  return std::pair(condition, choice);
}
