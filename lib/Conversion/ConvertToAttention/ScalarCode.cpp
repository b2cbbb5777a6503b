//===- ScalarCode.cpp - elements of other projects' operations ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ScalarCode.h"
#include "Foreign.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

/// torch's name, without dialect and overload, for what an operation of torch,
/// StableHLO or TOSA does; empty for those of other dialects.
static StringRef getTorchName(Operation *op) {
  StringRef name = getName(op);
  if (name.consume_front("torch.aten.") || name.consume_front("torch.prims.")) {
    // What the overload says follows from the types.
    StringRef base = name.split('.').first;
    return llvm::StringSwitch<StringRef>(base)
        .Cases({"bitwise_and", "logical_and", "__and__"}, "and")
        .Cases({"bitwise_or", "logical_or", "__or__"}, "or")
        .Cases({"bitwise_xor", "logical_xor", "__xor__"}, "xor")
        .Cases({"bitwise_not", "logical_not"}, "not")
        .Cases({"floor_divide", "__floordiv__"}, "floor_divide")
        .Default(base);
  }
  if (name == "stablehlo.compare")
    return getComparison(op);
  if (name == "chlo.erf")
    return "erf";
  if (name.consume_front("stablehlo."))
    return llvm::StringSwitch<StringRef>(name)
        .Cases({"add", "maximum", "minimum", "tanh", "log", "sqrt", "rsqrt",
                "floor", "ceil", "abs", "and", "or", "xor", "not"},
               name)
        .Case("subtract", "sub")
        .Case("multiply", "mul")
        .Case("divide", "div")
        .Case("power", "pow")
        .Case("exponential", "exp")
        .Case("log_plus_one", "log1p")
        .Case("sine", "sin")
        .Case("cosine", "cos")
        .Case("logistic", "sigmoid")
        .Case("negate", "neg")
        .Case("select", "where")
        .Case("convert", "to")
        .Default("");
  if (name.consume_front("tosa."))
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
        .Case("select", "where")
        .Case("cast", "to")
        .Case("greater", "gt")
        .Case("greater_equal", "ge")
        .Case("equal", "eq")
        .Default("");
  return "";
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
  return llvm::StringSwitch<StringRef>(getName(body))
      .Cases({"arith.truncf", "arith.extf"}, "round")
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
  auto isFloat = [](Value value) {
    RankedTensorType type = getTensorType(value);
    return type && isa<FloatType>(type.getElementType());
  };
  if (llvm::is_contained(casts, name))
    return op->getNumOperands() > 0 && isFloat(op->getOperand(0)) &&
                   isFloat(op->getResult(0))
               ? "round"
               : "to";
  return name;
}

//===----------------------------------------------------------------------===//
// Elements of tensors
//===----------------------------------------------------------------------===//

/// How many operands of an operation are read element by element, if there is
/// scalar code for it that gives floats, integers or booleans.
static unsigned countInputs(Operation *op, StringRef name) {
  RankedTensorType type = getTensorType(op->getResult(0));
  if (!type)
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
  if (name == "add" || name == "sub") {
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
  if (isOneOf({"floor_divide", "remainder", "fmod"}))
    return isFloat || isBoolean ? 0 : 2;
  return isFloat && isOneOf({"tanh", "exp", "exp2", "log", "log2", "log1p",
                             "sqrt", "rsqrt", "sin", "cos", "erf", "floor",
                             "ceil", "square", "relu", "sigmoid", "reciprocal"})
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

/// An element of a triangle, whose diagonal `op` names, or 0.
static Value computeTriangle(Point &point, const State &result,
                             const State &input) {
  Operation *op = result.value.getDefiningOp();
  size_t rank = result.dims.size();
  Value element = point.getElement(input);
  Value row = point.getIndex(result.dims[rank - 2]),
        column = point.getIndex(result.dims[rank - 1]);
  if (!element || !row || !column)
    return {};
  Value bound = arith::AddIOp::create(
      point.b, row, point.constantIndex(*getInteger(op->getOperand(1))));
  bool isUpper = getElementName(op) == "triu";
  Value inside = arith::CmpIOp::create(
      point.b, isUpper ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle,
      column, bound);
  if (element.getType().isInteger(1))
    return arith::AndIOp::create(point.b, inside, element);
  Value zero = element.getType().isIndex()
                   ? point.constantIndex(0)
                   : point.constant(0, element.getType());
  return arith::SelectOp::create(point.b, inside, element, zero);
}

Value fa3::convert::computeElement(Point &point, const State &result,
                                   ArrayRef<State> inputs) {
  StringRef name = getElementName(result.value.getDefiningOp());
  if (name == "triu" || name == "tril")
    return computeTriangle(point, result, inputs[0]);
  Translator translator(point);
  for (const State &input : inputs) {
    Value element = point.getElement(input);
    if (!element)
      return {};
    translator.map(input.value, element);
  }
  return translator.get(result.value);
}

/// Whether an operation is a list of the numbers from 0 on.
static bool isCountingConstant(Operation *op) {
  if (op->getNumOperands() != 0 || op->getNumResults() != 1)
    return false;
  auto value = dyn_cast_or_null<DenseIntElementsAttr>(
      op->getAttr(getName(op) == "tosa.const" ? "values" : "value"));
  RankedTensorType type = getTensorType(op->getResult(0));
  if (!value || !type || type.getRank() != 1 || value.isSplat() ||
      type.getElementType().getIntOrFloatBitWidth() > 64)
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

Value fa3::convert::computeCount(Point &point, const State &state) {
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

std::optional<std::pair<State, bool>>
fa3::convert::readChoice(Labels &labels, const State &result) {
  Operation *op = result.value.getDefiningOp();
  StringRef name = op && !isElementwise(op) ? getElementName(op) : "";
  if (name != "where" && name != "masked_fill")
    return std::nullopt;
  auto terms = readTerms(labels, result);
  if (!terms)
    return std::nullopt;
  // masked_fill chooses its third operand where the second one holds.
  bool fills = name == "masked_fill";
  const State &condition = (*terms)[fills ? 1 : 0].state;
  auto number = [&](const Term &term) {
    return term.number ? term.number
                       : getNumber(peelAll(labels, term.state).back().value);
  };
  auto chosen = number((*terms)[fills ? 2 : 1]),
       other = number((*terms)[fills ? 0 : 2]);
  if (!chosen || !other || !condition.value)
    return std::nullopt;
  auto isHidden = [](double value) { return value == -INFINITY; };
  if (*chosen == 0 && isHidden(*other))
    return std::pair(condition, false);
  if (isHidden(*chosen) && *other == 0)
    return std::pair(condition, true);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Scalar code
//===----------------------------------------------------------------------===//

Value Translator::operand(Operation *op, unsigned number, Kind kind) {
  return as(getOperand(op, number), kind);
}

Value Translator::floorDivide(Value x, Value y) {
  return arith::FloorDivSIOp::create(b, x, y);
}

std::optional<Translator::Kind> Translator::getKind(Value value) {
  Type type = value.getType();
  if (RankedTensorType tensor = getTensorType(type)) {
    Type element = tensor.getElementType();
    return isa<FloatType>(element) ? Kind::Float
           : element.isInteger(1)  ? Kind::Boolean
                                   : Kind::Integer;
  }
  return llvm::StringSwitch<std::optional<Kind>>(getDefiningName(value))
      .Case("torch.constant.float", Kind::Float)
      .Case("torch.constant.int", Kind::Integer)
      .Case("torch.constant.bool", Kind::Boolean)
      .Default(std::nullopt);
}

/// A number as one of the three kinds; null with a problem noted.
Value Translator::as(Value value, Kind kind) {
  if (!value)
    return point.fail("its code has an operation with too few operands");
  Value scalar = get(value);
  if (!scalar)
    return {};
  Type type = scalar.getType();
  switch (kind) {
  case Kind::Float:
    return point.toF32(scalar);
  case Kind::Integer:
    if (isa<FloatType>(type)) {
      scalar = arith::FPToSIOp::create(b, b.getI32Type(), scalar);
      return arith::IndexCastOp::create(b, b.getIndexType(), scalar);
    }
    return point.toIndex(scalar);
  case Kind::Boolean:
    if (type.isInteger(1))
      return scalar;
    if (isa<FloatType>(type))
      return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, scalar,
                                   point.constant(0, type));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, scalar,
                                 point.constantIndex(0));
  }
  return {};
}

Value Translator::get(Value value) {
  if (Value scalar = known.lookup(value))
    return scalar;
  std::optional<Kind> kind = getKind(value);
  if (!kind)
    return point.fail("its code has a value that is no number");
  Value scalar;
  Operation *op = value.getDefiningOp();
  if (std::optional<double> number = getNumber(value)) {
    scalar = *kind == Kind::Float ? point.constant(*number, b.getF32Type())
             : *kind == Kind::Boolean
                 ? point.constant(*number != 0, b.getI1Type())
                 : point.constantIndex(static_cast<int64_t>(*number));
  } else if (!op) {
    return point.fail("its code uses an argument that it does not have");
  } else {
    if (++count > fa3::attention::kMostOperations || depth > 256)
      return point.fail("its code is too long");
    ++depth;
    scalar = compute(op, *kind);
    --depth;
    if (!scalar)
      return point.fail("its code has '" + getName(op) + "'");
  }
  known[value] = scalar;
  return scalar;
}

Value Translator::compare(Operation *op, StringRef name) {
  Value x = getOperand(op, 0), y = getOperand(op, 1);
  if (!x || !y)
    return {};
  std::optional<Kind> first = getKind(x), second = getKind(y);
  if (first == Kind::Float || second == Kind::Float) {
    auto predicate = llvm::StringSwitch<arith::CmpFPredicate>(name)
                         .Case("ge", arith::CmpFPredicate::OGE)
                         .Case("gt", arith::CmpFPredicate::OGT)
                         .Case("le", arith::CmpFPredicate::OLE)
                         .Case("lt", arith::CmpFPredicate::OLT)
                         .Case("eq", arith::CmpFPredicate::OEQ)
                         .Default(arith::CmpFPredicate::UNE);
    Value left = as(x, Kind::Float), right = as(y, Kind::Float);
    if (!left || !right)
      return {};
    return arith::CmpFOp::create(b, predicate, left, right);
  }
  auto predicate = llvm::StringSwitch<arith::CmpIPredicate>(name)
                       .Case("ge", arith::CmpIPredicate::sge)
                       .Case("gt", arith::CmpIPredicate::sgt)
                       .Case("le", arith::CmpIPredicate::sle)
                       .Case("lt", arith::CmpIPredicate::slt)
                       .Case("eq", arith::CmpIPredicate::eq)
                       .Default(arith::CmpIPredicate::ne);
  Value left = as(x, Kind::Integer), right = as(y, Kind::Integer);
  if (!left || !right)
    return {};
  return arith::CmpIOp::create(b, predicate, left, right);
}

Value Translator::computeUnary(StringRef name, Value x) {
  Type f32 = b.getF32Type();
  auto one = [&] { return point.constant(1, f32); };
  if (name == "tanh")
    return math::TanhOp::create(b, x);
  if (name == "exp")
    return math::ExpOp::create(b, x);
  if (name == "exp2")
    return math::Exp2Op::create(b, x);
  if (name == "log")
    return math::LogOp::create(b, x);
  if (name == "log2")
    return math::Log2Op::create(b, x);
  if (name == "log1p")
    return math::Log1pOp::create(b, x);
  if (name == "sqrt")
    return math::SqrtOp::create(b, x);
  if (name == "rsqrt")
    return math::RsqrtOp::create(b, x);
  if (name == "sin")
    return math::SinOp::create(b, x);
  if (name == "cos")
    return math::CosOp::create(b, x);
  if (name == "erf")
    return math::ErfOp::create(b, x);
  if (name == "floor")
    return math::FloorOp::create(b, x);
  if (name == "ceil")
    return math::CeilOp::create(b, x);
  if (name == "square")
    return arith::MulFOp::create(b, x, x);
  if (name == "reciprocal")
    return arith::DivFOp::create(b, one(), x);
  if (name == "relu")
    return arith::MaximumFOp::create(b, x, point.constant(0, f32));
  if (name == "sigmoid")
    return arith::DivFOp::create(
        b, one(),
        arith::AddFOp::create(
            b, one(), math::ExpOp::create(b, arith::NegFOp::create(b, x))));
  return {};
}

Value Translator::computeBinary(Operation *op, StringRef name, Kind kind) {
  Value x = operand(op, 0, kind), y = operand(op, 1, kind);
  if (!x || !y)
    return {};
  bool isFloat = kind == Kind::Float, isBoolean = kind == Kind::Boolean;
  if (name == "add" || name == "sub") {
    // The third operand is a factor of the second.
    Value factor = getOperand(op, 2);
    if (isBoolean || (factor && getNumber(factor) != 1.0))
      return {};
    bool isAdd = name == "add";
    if (isFloat)
      return isAdd ? arith::AddFOp::create(b, x, y).getResult()
                   : arith::SubFOp::create(b, x, y).getResult();
    return isAdd ? arith::AddIOp::create(b, x, y).getResult()
                 : arith::SubIOp::create(b, x, y).getResult();
  }
  if (name == "mul")
    return isBoolean ? arith::AndIOp::create(b, x, y).getResult()
           : isFloat ? arith::MulFOp::create(b, x, y).getResult()
                     : arith::MulIOp::create(b, x, y).getResult();
  if (name == "div")
    return isFloat ? arith::DivFOp::create(b, x, y).getResult() : Value();
  if (isFloat) {
    if (name == "maximum")
      return arith::MaximumFOp::create(b, x, y);
    if (name == "minimum")
      return arith::MinimumFOp::create(b, x, y);
    if (name == "pow")
      return math::PowFOp::create(b, x, y);
    return {};
  }
  if (name == "and")
    return arith::AndIOp::create(b, x, y);
  if (name == "or")
    return arith::OrIOp::create(b, x, y);
  if (name == "xor")
    return arith::XOrIOp::create(b, x, y);
  if (isBoolean)
    return {};
  if (name == "maximum")
    return arith::MaxSIOp::create(b, x, y);
  if (name == "minimum")
    return arith::MinSIOp::create(b, x, y);
  if (name == "floor_divide")
    return floorDivide(x, y);
  // The remainder of a division that rounds down.
  if (name == "remainder")
    return arith::SubIOp::create(
        b, x, arith::MulIOp::create(b, floorDivide(x, y), y));
  if (name == "fmod")
    return arith::RemSIOp::create(b, x, y);
  return {};
}

/// Tensors all of whose elements are alike; and what only changes the type.
Value Translator::computeFilled(StringRef base, Operation *op, Kind kind) {
  static constexpr StringLiteral same[] = {
      "clone", "detach",   "alias",   "contiguous", "convert_element_type",
      "to",    "_to_copy", "type_as", "view",       "squeeze"};
  if (llvm::is_contained(same, base) || base == "scalar_tensor")
    return operand(op, 0, kind);
  bool isOne = base == "new_ones" || base == "ones_like" || base == "ones";
  if (isOne || base == "new_zeros" || base == "zeros_like" || base == "zeros")
    return kind == Kind::Float     ? point.constant(isOne, b.getF32Type())
           : kind == Kind::Boolean ? point.constant(isOne, b.getI1Type())
                                   : point.constantIndex(isOne);
  if (base == "full" || base == "full_like")
    return operand(op, 1, kind);
  return {};
}

Value Translator::compute(Operation *op, Kind kind) {
  StringRef name = getName(op), base = getTorchName(op);
  static constexpr StringLiteral compared[] = {"ge", "gt", "le",
                                               "lt", "eq", "ne"};
  if (llvm::is_contained(compared, base))
    return compare(op, base);
  if (Value filled = computeFilled(base, op, kind))
    return filled;
  if (base == "masked_fill") {
    Value x = operand(op, 0, kind), condition = operand(op, 1, Kind::Boolean),
          y = operand(op, 2, kind);
    if (!condition || !x || !y)
      return {};
    return arith::SelectOp::create(b, condition, y, x);
  }
  if (base == "where") {
    Value condition = operand(op, 0, Kind::Boolean), x = operand(op, 1, kind),
          y = operand(op, 2, kind);
    if (!condition || !x || !y)
      return {};
    return arith::SelectOp::create(b, condition, x, y);
  }
  if (base == "not" && kind == Kind::Boolean) {
    Value x = operand(op, 0, kind);
    if (!x)
      return {};
    return arith::XOrIOp::create(b, x, point.constant(1, b.getI1Type()));
  }
  if (base == "neg" || base == "abs") {
    Value x = operand(op, 0, kind);
    if (!x || kind == Kind::Boolean)
      return {};
    if (kind == Kind::Float)
      return base == "neg" ? arith::NegFOp::create(b, x).getResult()
                           : math::AbsFOp::create(b, x).getResult();
    Value negated = arith::SubIOp::create(b, point.constantIndex(0), x);
    return base == "neg" ? negated
                         : arith::MaxSIOp::create(b, x, negated).getResult();
  }
  if (name == "torch.aten.div.Tensor_mode" ||
      name == "torch.aten.div.Scalar_mode") {
    Operation *mode =
        getOperand(op, 2) ? getOperand(op, 2).getDefiningOp() : nullptr;
    auto text = mode ? dyn_cast_or_null<StringAttr>(mode->getAttr("value"))
                     : StringAttr();
    Value x = operand(op, 0, kind), y = operand(op, 1, kind);
    if (!x || !y || !text || kind != Kind::Integer)
      return {};
    if (text == "floor")
      return floorDivide(x, y);
    return text == "trunc" ? arith::DivSIOp::create(b, x, y).getResult()
                           : Value();
  }
  if (kind == Kind::Float) {
    static constexpr StringLiteral unary[] = {
        "tanh", "exp",    "exp2", "log",     "log2",      "log1p",
        "sqrt", "rsqrt",  "sin",  "cos",     "erf",       "floor",
        "ceil", "square", "relu", "sigmoid", "reciprocal"};
    if (llvm::is_contained(unary, base)) {
      Value x = operand(op, 0, kind);
      return x ? computeUnary(base, x) : Value();
    }
  }
  static constexpr StringLiteral binary[] = {
      "add", "sub",  "mul",     "div",     "and",          "or",       "xor",
      "pow", "fmod", "maximum", "minimum", "floor_divide", "remainder"};
  if (llvm::is_contained(binary, base))
    return computeBinary(op, base, kind);
  return {};
}
