//===- ScalarCode.cpp - the code of one element ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ScalarCode.h"
#include "Elements.h"
#include "Foreign.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace fa3::convert;

/// An element of a triangle, whose diagonal `op` names, or 0.
static Value computeTriangle(PointBuilder &point, const State &result,
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

Value fa3::convert::computeElement(PointBuilder &point, const State &result,
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
    return point.toCondition(scalar);
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
  if (name == "expm1")
    return math::ExpM1Op::create(b, x);
  if (name == "sigmoid" || name == "silu") {
    Value power = math::ExpOp::create(b, arith::NegFOp::create(b, x));
    Value sum = arith::AddFOp::create(b, one(), power);
    return arith::DivFOp::create(b, name == "silu" ? x : one(), sum);
  }
  if (name == "sign") {
    Value zero = point.constant(0, f32);
    auto choose = [&](arith::CmpFPredicate how, double number, Value other) {
      return arith::SelectOp::create(b, arith::CmpFOp::create(b, how, x, zero),
                                     point.constant(number, f32), other);
    };
    return choose(arith::CmpFPredicate::OGT, 1,
                  choose(arith::CmpFPredicate::OLT, -1, x));
  }
  return {};
}

/// Functions with numbers beside x, of which some may be left out.
Value Translator::computeWithNumbers(StringRef name, Operation *op, Kind kind) {
  Value x = operand(op, 0, kind);
  auto get = [&](unsigned i) {
    Value given = getOperand(op, i);
    return given ? getNumber(given) : std::nullopt;
  };
  if (!x || kind == Kind::Boolean)
    return {};
  bool isFloat = kind == Kind::Float;
  if (name.starts_with("clamp")) {
    bool isMax = name == "clamp_max";
    if (!isMax && get(1)) {
      Value low = operand(op, 1, kind);
      x = isFloat ? arith::MaximumFOp::create(b, x, low).getResult()
                  : arith::MaxSIOp::create(b, x, low).getResult();
    }
    if (unsigned at = isMax ? 1 : 2; name != "clamp_min" && get(at)) {
      Value high = operand(op, at, kind);
      x = isFloat ? arith::MinimumFOp::create(b, x, high).getResult()
                  : arith::MinSIOp::create(b, x, high).getResult();
    }
    return x;
  }
  if (!isFloat)
    return {};
  Type f32 = b.getF32Type();
  if (name == "leaky_relu") {
    Value other =
        arith::MulFOp::create(b, x, point.constant(get(1).value_or(0.01), f32));
    Value isAbove = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x,
                                          point.constant(0, f32));
    return arith::SelectOp::create(b, isAbove, x, other);
  }
  // softplus: log(1 + exp(beta x)) / beta, and x itself above a threshold.
  Value beta = point.constant(get(1).value_or(1), f32);
  Value scaled = arith::MulFOp::create(b, x, beta);
  Value isAbove =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, scaled,
                            point.constant(get(2).value_or(20), f32));
  Value soft = arith::DivFOp::create(
      b, math::Log1pOp::create(b, math::ExpOp::create(b, scaled)), beta);
  return arith::SelectOp::create(b, isAbove, x, soft);
}

Value Translator::computeBinary(Operation *op, StringRef name, Kind kind) {
  Value x = operand(op, 0, kind), y = operand(op, 1, kind);
  if (!x || !y)
    return {};
  bool isFloat = kind == Kind::Float, isBoolean = kind == Kind::Boolean;
  if (name == "rsub") {
    std::swap(x, y);
    name = "sub";
  }
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
  if (name == "trunc_divide")
    return arith::DivSIOp::create(b, x, y);
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

/// One of two values by a condition.
Value Translator::computeChoice(StringRef base, Operation *op, Kind kind) {
  Value x, condition, y;
  if (base == "masked_fill") {
    y = operand(op, 0, kind), condition = operand(op, 1, Kind::Boolean),
    x = operand(op, 2, kind);
  } else {
    condition = operand(op, 0, Kind::Boolean), x = operand(op, 1, kind),
    y = operand(op, 2, kind);
  }
  if (!condition || !x || !y)
    return {};
  return arith::SelectOp::create(b, condition, x, y);
}

/// Another sign, or none.
Value Translator::computeSign(StringRef base, Operation *op, Kind kind) {
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

/// A division of integers that says how it rounds.
Value Translator::computeRoundedQuotient(Operation *op, Kind kind) {
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

Value Translator::compute(Operation *op, Kind kind) {
  StringRef name = getName(op), base = getTorchName(op);
  static constexpr StringLiteral compared[] = {"ge", "gt", "le",
                                               "lt", "eq", "ne"};
  if (llvm::is_contained(compared, base))
    return compare(op, base);
  if (Value filled = computeFilled(base, op, kind))
    return filled;
  if (base == "masked_fill" || base == "where")
    return computeChoice(base, op, kind);
  if (base == "not" && kind == Kind::Boolean) {
    Value x = operand(op, 0, kind);
    if (!x)
      return {};
    return arith::XOrIOp::create(b, x, point.constant(1, b.getI1Type()));
  }
  if (base == "neg" || base == "abs")
    return computeSign(base, op, kind);
  if (base.starts_with("clamp") || base == "leaky_relu" || base == "softplus")
    return computeWithNumbers(base, op, kind);
  if (name == "torch.aten.div.Tensor_mode" ||
      name == "torch.aten.div.Scalar_mode")
    return computeRoundedQuotient(op, kind);
  if (kind == Kind::Float) {
    static constexpr StringLiteral unary[] = {
        "tanh",  "exp",     "exp2",       "log",  "log2",  "log1p", "sqrt",
        "rsqrt", "sin",     "cos",        "erf",  "floor", "ceil",  "square",
        "relu",  "sigmoid", "reciprocal", "silu", "expm1", "sign"};
    if (llvm::is_contained(unary, base)) {
      Value x = operand(op, 0, kind);
      return x ? computeUnary(base, x) : Value();
    }
  }
  static constexpr StringLiteral binary[] = {
      "add",     "rsub",    "sub",          "mul",          "div",
      "and",     "or",      "xor",          "pow",          "fmod",
      "maximum", "minimum", "floor_divide", "trunc_divide", "remainder"};
  if (llvm::is_contained(binary, base))
    return computeBinary(op, base, kind);
  return {};
}
