//===- Quantization.cpp - attention.quantize in host functions ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Attention/Contract/Quantization.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

StringRef fa3::attention::getQuantizedOperand(QuantizeOp op,
                                              ScoredOpInterface scored) {
  if (!scored)
    return {};
  constexpr std::pair<StringLiteral, Role> kOfForward[] = {
      {"q", Role::q}, {"k", Role::k}, {"v", Role::v}};
  constexpr std::pair<StringLiteral, Role> kOfBackward[] = {
      {"q", Role::q8},
      {"k", Role::k8},
      {"v", Role::v8},
      {"do", Role::outGrad8}};
  Operands operands = Operands::get(scored);
  auto taken = isa<ForwardOp>(scored.getOperation())
                   ? ArrayRef<std::pair<StringLiteral, Role>>(kOfForward)
                   : ArrayRef<std::pair<StringLiteral, Role>>(kOfBackward);
  for (auto [name, role] : taken)
    if (Value operand = operands[role].front())
      if (operand.getDefiningOp() == op)
        return name;
  return {};
}

static LogicalResult verifyArgument(QuantizeOp op, StringRef name,
                                    Value value) {
  if (isa<BlockArgument>(value))
    return success();
  InFlightDiagnostic diagnostic = op.emitOpError("expects ")
                                  << name
                                  << " to be an argument of the function";
  diagnostic.attachNote(value.getLoc()) << "it is computed here";
  return diagnostic;
}

static LogicalResult verifyResult(QuantizeOp op, StringRef name, Value result,
                                  ScoredOpInterface scored) {
  bool isUsed = false;
  for (OpOperand &use : result.getUses()) {
    Operation *user = use.getOwner();
    if (user != scored.getOperation() &&
        !isa<func::ReturnOp, tensor::DimOp>(user)) {
      InFlightDiagnostic diagnostic =
          op.emitOpError("expects its ")
          << name << " to be used by the attention or returned";
      diagnostic.attachNote(user->getLoc()) << "they are used here";
      return diagnostic;
    }
    isUsed |= !isa<tensor::DimOp>(user);
  }
  if (!isUsed)
    return op.emitOpError("expects its ")
           << name << " to be used by the attention or returned";
  return success();
}

LogicalResult fa3::attention::verifyQuantizations(func::FuncOp function,
                                                  ScoredOpInterface scored) {
  for (auto op : function.getBody().getOps<QuantizeOp>()) {
    if (failed(verifyArgument(op, "the source", op.getSource())) ||
        (op.getRotation() &&
         failed(verifyArgument(op, "the rotation", op.getRotation()))) ||
        failed(verifyResult(op, "values", op.getValues(), scored)) ||
        failed(verifyResult(op, "scales", op.getScales(), scored)))
      return failure();
    if (!getQuantizedOperand(op, scored).empty() &&
        op.getLayout() != scored.getLayout())
      return op.emitOpError("expects the layout of the attention that takes "
                            "its values, '")
             << stringifyLayout(scored.getLayout()) << "', got '"
             << stringifyLayout(op.getLayout()) << "'";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Hadamard matrices
//===----------------------------------------------------------------------===//

namespace {
/// Integer arithmetic on indices, or on tiles of them.
class IndexMath {
public:
  IndexMath(ImplicitLocOpBuilder &b, Type type) : b(b), type(type) {}

  Value constant(int64_t value) {
    Attribute attribute = b.getIndexAttr(value);
    if (auto tile = dyn_cast<RankedTensorType>(type))
      attribute = DenseElementsAttr::get(tile, attribute);
    return arith::ConstantOp::create(b, cast<TypedAttr>(attribute));
  }
  Value bitAnd(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value bitXor(Value x, Value y) { return arith::XOrIOp::create(b, x, y); }
  Value shiftRight(Value x, Value y) { return arith::ShRUIOp::create(b, x, y); }
  Value isEqual(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y);
  }

private:
  ImplicitLocOpBuilder &b;
  Type type;
};
} // namespace

/// Sylvester: the parity of the bits that both indices have.
static Value buildSylvesterSign(IndexMath &math, Value row, Value column) {
  Value bits = math.bitAnd(row, column);
  for (int64_t distance : {4, 2, 1})
    bits = math.bitXor(bits, math.shiftRight(bits, math.constant(distance)));
  Value one = math.constant(1);
  return math.isEqual(math.bitAnd(bits, math.constant(1)), one);
}

/// Paley, first construction, for a prime that is 3 modulo 4: 1 on the diagonal
/// and in the first row, -1 below it in the first column, and otherwise -1
/// where row - column is no square modulo the prime.
static Value buildPaleySign(ImplicitLocOpBuilder &b, IndexMath &math,
                            int64_t prime, Value row, Value column) {
  int64_t others = (int64_t(1) << prime) - 1;
  for (int64_t x = 0; x < prime; ++x)
    others &= ~(int64_t(1) << (x * x % prime));
  Value modulus = math.constant(prime), zero = math.constant(0);
  Value difference = arith::RemUIOp::create(
      b,
      arith::SubIOp::create(b, arith::AddIOp::create(b, row, modulus), column),
      modulus);
  Value one = math.constant(1);
  Value bit =
      math.bitAnd(math.shiftRight(math.constant(others), difference), one);
  Value isBelow = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, row, zero);
  Value isFirst = math.isEqual(column, zero);
  Value isOther = arith::SelectOp::create(b, isFirst, isBelow,
                                          math.isEqual(bit, math.constant(1)));
  return math.bitAnd(isOther, isBelow);
}

Value fa3::attention::buildHadamardSign(ImplicitLocOpBuilder &b, int64_t order,
                                        Value row, Value column) {
  HadamardFactors factors = *getHadamardFactors(order);
  IndexMath math(b, row.getType());
  Value mask = math.constant(factors.power - 1);
  Value lowColumn = math.bitAnd(column, mask);
  Value sign = buildSylvesterSign(math, math.bitAnd(row, mask), lowColumn);
  if (!factors.prime)
    return sign;
  Value shift = math.constant(llvm::Log2_64(factors.power));
  Value highColumn = math.shiftRight(column, shift);
  Value paley = buildPaleySign(b, math, factors.prime,
                               math.shiftRight(row, shift), highColumn);
  return math.bitXor(sign, paley);
}

Value fa3::attention::roundToInteger(ImplicitLocOpBuilder &b, Value value) {
  Value isNumber =
      arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, value, value);
  Value zero = arith::ConstantOp::create(
      b, cast<TypedAttr>(b.getZeroAttr(value.getType())));
  Value nearest = math::RoundEvenOp::create(b, value);
  return arith::SelectOp::create(b, isNumber, nearest, zero);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value fa3::attention::allocateWorkspace(ImplicitLocOpBuilder &b,
                                        RankedTensorType type,
                                        ValueRange extents, const Twine &name) {
  SmallVector<Value> dynamic;
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (type.isDynamicDim(dim))
      dynamic.push_back(extent);
  auto alloc = memref::AllocOp::create(
      b, MemRefType::get(type.getShape(), type.getElementType()), dynamic);
  alloc->setAttr(kArgumentNameAttr, b.getStringAttr(name));
  return alloc;
}
