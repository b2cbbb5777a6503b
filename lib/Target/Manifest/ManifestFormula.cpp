//===- ManifestFormula.cpp - index arithmetic as text ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ManifestFormula.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3;

std::string FormulaPrinter::parenthesize(const Text &text, Precedence least) {
  return text.precedence < least ? "(" + text.text + ")" : text.text;
}

FailureOr<std::string> FormulaPrinter::print(Value value) {
  FailureOr<Text> text = get(value);
  if (failed(text))
    return failure();
  return text->text;
}

FailureOr<std::string> FormulaPrinter::printCondition(Value value,
                                                      bool isTrue) {
  FailureOr<Text> text = get(value);
  if (failed(text))
    return failure();
  if (isTrue)
    return parenthesize(*text, Comparison);
  return parenthesize(*text, Sum) + " == 0";
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

FailureOr<View> FormulaPrinter::getView(Value memref) {
  if (isa<BlockArgument>(memref) || names.contains(memref)) {
    View view = {memref, {}};
    for (unsigned i = 0; i < cast<MemRefType>(memref.getType()).getRank(); ++i)
      view.dims.push_back({i});
    return view;
  }
  Operation *op = memref.getDefiningOp();
  if (auto transpose = dyn_cast<memref::TransposeOp>(op)) {
    FailureOr<View> source = getView(transpose.getIn());
    if (failed(source))
      return failure();
    View view = {source->source, {}};
    for (AffineExpr result : transpose.getPermutation().getResults())
      view.dims.push_back(
          source->dims[cast<AffineDimExpr>(result).getPosition()]);
    return view;
  }
  if (auto cast = dyn_cast<memref::CastOp>(op);
      cast && isa<MemRefType>(cast.getSource().getType()))
    return getView(cast.getSource());
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(op))
    return getExpanded(expand);
  return op->emitOpError("is no view that a manifest can describe "
                         "(memref.transpose, memref.cast, memref.expand_shape "
                         "into parts of which the first alone is dynamic)");
}

FailureOr<View> FormulaPrinter::getExpanded(memref::ExpandShapeOp op) {
  FailureOr<View> source = getView(op.getSrc());
  if (failed(source))
    return failure();
  View view = {source->source, {}};
  ArrayRef<int64_t> shape = op.getStaticOutputShape();
  for (auto [dim, parts] : llvm::enumerate(op.getReassociationIndices())) {
    const View::Dim &whole = source->dims[dim];
    if (parts.size() == 1) {
      view.dims.push_back(whole);
      continue;
    }
    int64_t step = whole.step;
    SmallVector<View::Dim> inner;
    for (int64_t part : llvm::reverse(ArrayRef(parts).drop_front())) {
      if (ShapedType::isDynamic(shape[part]))
        return op.emitOpError("is no view that a manifest can describe: "
                              "expects the first part of a dimension alone to "
                              "be dynamic");
      inner.push_back({whole.number, step, shape[part]});
      step *= shape[part];
    }
    View::Dim outer{whole.number, step};
    if (!ShapedType::isDynamic(shape[parts.front()]))
      outer.extent = shape[parts.front()];
    view.dims.push_back(outer);
    view.dims.append(inner.rbegin(), inner.rend());
  }
  return view;
}

std::string FormulaPrinter::getExtent(const View &view, unsigned dim) const {
  const View::Dim &taken = view.dims[dim];
  if (taken.extent)
    return std::to_string(*taken.extent);
  std::string extent =
      getName(view.source) + ".shape[" + std::to_string(taken.number) + "]";
  return taken.step == 1 ? extent : extent + " / " + std::to_string(taken.step);
}

std::string FormulaPrinter::getStride(const View &view, unsigned dim) const {
  const View::Dim &taken = view.dims[dim];
  std::string stride =
      getName(view.source) + ".stride[" + std::to_string(taken.number) + "]";
  return taken.step == 1 ? stride : std::to_string(taken.step) + " * " + stride;
}

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

bool FormulaPrinter::isNonNegative(Value value, unsigned depth) const {
  constexpr unsigned kMaxDepth = 32;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isNonNegative();
  Operation *op = value.getDefiningOp();
  if (!op || depth > kMaxDepth)
    return false;
  if (isa<memref::DimOp, memref::ExtractStridedMetadataOp, hopper::SmCountOp,
          arith::CmpIOp>(op))
    return true;
  auto of = [&](unsigned i) {
    return isNonNegative(op->getOperand(i), depth + 1);
  };
  if (isa<arith::MaxSIOp>(op))
    return of(0) || of(1);
  if (isa<arith::SelectOp>(op))
    return of(1) && of(2);
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(op))
    return of(0);
  if (isa<arith::AddIOp, arith::MulIOp, arith::DivSIOp, arith::DivUIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp,
          arith::RemSIOp, arith::RemUIOp, arith::MinSIOp, arith::MinUIOp,
          arith::MaxUIOp>(op))
    return of(0) && of(1);
  return false;
}

LogicalResult FormulaPrinter::requireNonNegative(Operation *op) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!isNonNegative(operand))
      return op->emitOpError("has no formula: operand ")
             << i << " may be negative";
  return success();
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

FailureOr<FormulaPrinter::Text>
FormulaPrinter::getBinary(Operation *op, StringRef symbol,
                          Precedence precedence) {
  FailureOr<Text> lhs = get(op->getOperand(0)), rhs = get(op->getOperand(1));
  if (failed(lhs) || failed(rhs))
    return failure();
  // Left-associative; only sums and products of the same kind may drop
  // parentheses on the right.
  bool isAssociative =
      symbol == "+" || symbol == "*" || symbol == "&&" || symbol == "||";
  auto right =
      isAssociative ? precedence : static_cast<Precedence>(precedence + 1);
  auto left = precedence == Comparison ? Sum : precedence;
  std::string text = parenthesize(*lhs, left) + " " + symbol.str() + " ";
  // a * (b / c) is not (a * b) / c.
  bool keepsGroup = symbol == "*" && rhs->precedence == Product &&
                    rhs->text.find_first_of("/%") != std::string::npos;
  text += keepsGroup ? "(" + rhs->text + ")" : parenthesize(*rhs, right);
  return Text{std::move(text), precedence};
}

FailureOr<FormulaPrinter::Text> FormulaPrinter::getCall(Operation *op,
                                                        StringRef name) {
  FailureOr<Text> lhs = get(op->getOperand(0)), rhs = get(op->getOperand(1));
  if (failed(lhs) || failed(rhs))
    return failure();
  return Text{name.str() + "(" + lhs->text + ", " + rhs->text + ")", Primary};
}

FailureOr<FormulaPrinter::Text> FormulaPrinter::getComparison(Operation *op,
                                                              StringRef symbol,
                                                              bool isUnsigned) {
  if (isUnsigned && failed(requireNonNegative(op)))
    return failure();
  return getBinary(op, symbol, Comparison);
}

FailureOr<std::string> FormulaPrinter::getFloatOperand(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (value.getType().isF32())
      return getName(argument);
  APFloat constant(0.0);
  if (matchPattern(value, m_ConstantFloat(&constant)) &&
      value.getType().isF32() && constant.isFinite()) {
    // Decimal, without exponent.
    SmallString<32> text;
    constant.toString(text, /*FormatPrecision=*/0, /*FormatMaxPadding=*/64);
    if (!text.str().contains_insensitive("e"))
      return text.str().str();
  }
  return mlir::emitError(value.getLoc())
         << "has no formula: f32 scalars have no arithmetic";
}

FailureOr<FormulaPrinter::Text>
FormulaPrinter::getFloatComparison(Operation *op, StringRef symbol) {
  FailureOr<std::string> lhs = getFloatOperand(op->getOperand(0));
  FailureOr<std::string> rhs = getFloatOperand(op->getOperand(1));
  if (failed(lhs) || failed(rhs))
    return failure();
  return Text{*lhs + " " + symbol.str() + " " + *rhs, Comparison};
}

/// Both sides are evaluated and weighted with the condition, which is 0 or 1.
FailureOr<FormulaPrinter::Text> FormulaPrinter::getSelect(Operation *op) {
  FailureOr<Text> condition = get(op->getOperand(0));
  FailureOr<Text> yes = get(op->getOperand(1)), no = get(op->getOperand(2));
  if (failed(condition) || failed(yes) || failed(no))
    return failure();
  std::string c = parenthesize(*condition, Primary);
  return Text{c + " * " + parenthesize(*yes, Primary) + " + (1 - " + c +
                  ") * " + parenthesize(*no, Primary),
              Sum};
}

FailureOr<FormulaPrinter::Text> FormulaPrinter::getMetadata(OpResult result) {
  auto op = cast<memref::ExtractStridedMetadataOp>(result.getOwner());
  FailureOr<View> view = getView(op.getSource());
  if (failed(view))
    return failure();
  // base, offset, sizes, strides. An address is that of the first element.
  unsigned number = result.getResultNumber(), rank = view->dims.size();
  if (number == 1)
    return Text{"0", Primary};
  if (number >= 2 && number < 2 + rank)
    return Text{getExtent(*view, number - 2),
                view->isWhole(number - 2) ? Primary : Product};
  assert(number >= 2 + rank && "the base is no integer");
  unsigned dim = number - 2 - rank;
  return Text{getStride(*view, dim), view->isWhole(dim) ? Primary : Product};
}

static StringRef getSymbol(arith::CmpIPredicate predicate, bool &isUnsigned) {
  using Predicate = arith::CmpIPredicate;
  isUnsigned = false;
  switch (predicate) {
  case Predicate::eq:
    return "==";
  case Predicate::ne:
    return "!=";
  case Predicate::ult:
    isUnsigned = true;
    [[fallthrough]];
  case Predicate::slt:
    return "<";
  case Predicate::ule:
    isUnsigned = true;
    [[fallthrough]];
  case Predicate::sle:
    return "<=";
  case Predicate::ugt:
    isUnsigned = true;
    [[fallthrough]];
  case Predicate::sgt:
    return ">";
  case Predicate::uge:
    isUnsigned = true;
    [[fallthrough]];
  case Predicate::sge:
    return ">=";
  }
  return {};
}

/// Ordered comparisons only: what formulas compare is no NaN.
static StringRef getSymbol(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return "==";
  case arith::CmpFPredicate::OGT:
    return ">";
  case arith::CmpFPredicate::OGE:
    return ">=";
  case arith::CmpFPredicate::OLT:
    return "<";
  case arith::CmpFPredicate::OLE:
    return "<=";
  default:
    return {};
  }
}

FailureOr<FormulaPrinter::Text> FormulaPrinter::get(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  FailureOr<Text> text = failure();
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    // Truth is 1; other constants are signed.
    int64_t number = value.getType().isInteger(1) ? constant.getZExtValue()
                                                  : constant.getSExtValue();
    text = Text{std::to_string(number), number < 0 ? Sum : Primary};
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    assert(argument.getType().isIntOrIndex() &&
           "operands of index arithmetic are integers");
    text = Text{getName(argument), Primary};
  } else {
    text = getOp(value.getDefiningOp(), cast<OpResult>(value));
  }
  if (succeeded(text))
    known[value] = *text;
  return text;
}

FailureOr<FormulaPrinter::Text> FormulaPrinter::getOp(Operation *op,
                                                      OpResult result) {
  using Result = FailureOr<Text>;
  auto quotient = [&](StringRef symbol) -> Result {
    if (failed(requireNonNegative(op)))
      return failure();
    return getBinary(op, symbol, Product);
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](memref::DimOp dim) -> Result {
        std::optional<int64_t> index = dim.getConstantIndex();
        if (!index)
          return op->emitOpError("has no formula: its index is no constant");
        FailureOr<View> view = getView(dim.getSource());
        if (failed(view))
          return failure();
        return Text{getExtent(*view, *index),
                    view->isWhole(*index) ? Primary : Product};
      })
      .Case(
          [&](memref::ExtractStridedMetadataOp) { return getMetadata(result); })
      .Case([&](hopper::SmCountOp) -> Result {
        return Text{"device.sms", Primary};
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
            arith::ExtUIOp, arith::TruncIOp>(
          [&](Operation *) { return get(op->getOperand(0)); })
      .Case([&](arith::AddIOp) { return getBinary(op, "+", Sum); })
      .Case([&](arith::SubIOp) { return getBinary(op, "-", Sum); })
      .Case([&](arith::MulIOp) { return getBinary(op, "*", Product); })
      .Case([&](arith::FloorDivSIOp) { return getBinary(op, "/", Product); })
      .Case<arith::DivSIOp, arith::DivUIOp>(
          [&](Operation *) { return quotient("/"); })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](Operation *) { return quotient("%"); })
      .Case([&](arith::CeilDivSIOp) { return getCall(op, "ceildiv"); })
      .Case([&](arith::CeilDivUIOp) -> Result {
        if (failed(requireNonNegative(op)))
          return failure();
        return getCall(op, "ceildiv");
      })
      .Case([&](arith::MinSIOp) { return getCall(op, "min"); })
      .Case([&](arith::MaxSIOp) { return getCall(op, "max"); })
      .Case<arith::MinUIOp, arith::MaxUIOp>([&](Operation *) -> Result {
        if (failed(requireNonNegative(op)))
          return failure();
        return getCall(op, isa<arith::MinUIOp>(op) ? "min" : "max");
      })
      .Case([&](arith::CmpIOp compare) {
        bool isUnsigned;
        StringRef symbol = getSymbol(compare.getPredicate(), isUnsigned);
        return getComparison(op, symbol, isUnsigned);
      })
      .Case([&](arith::CmpFOp compare) -> Result {
        StringRef symbol = getSymbol(compare.getPredicate());
        if (symbol.empty())
          return op->emitOpError("has no formula: it is true for a NaN");
        return getFloatComparison(op, symbol);
      })
      .Case([&](arith::SelectOp) { return getSelect(op); })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
          [&](Operation *) -> Result {
            if (!result.getType().isInteger(1))
              return op->emitOpError("has no formula on ") << result.getType();
            if (isa<arith::XOrIOp>(op))
              return getBinary(op, "!=", Comparison);
            bool isAnd = isa<arith::AndIOp>(op);
            return getBinary(op, isAnd ? "&&" : "||", isAnd ? And : Or);
          })
      .Default([&](Operation *) -> Result {
        return op->emitOpError("has no formula in a manifest");
      });
}
