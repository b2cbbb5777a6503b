//===- Quantize.cpp - attention-quantize ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// 16-bit attention becomes attention on 8-bit numbers with scales. Types and
// operands change, nothing of what is computed from the scores.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"

namespace fa3::attention {
#define GEN_PASS_DEF_QUANTIZE
#include "fa3/Dialect/Attention/Transforms/Passes.h.inc"
} // namespace fa3::attention

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

namespace {
/// Who shares a scale of one operand.
struct Sharing {
  int64_t rows;
  bool isOfTensor;
};

struct Quantize : fa3::attention::impl::QuantizeBase<Quantize> {
  using QuantizeBase::QuantizeBase;
  void runOnOperation() override;

private:
  LogicalResult readOptions();
  LogicalResult readFormats();
  LogicalResult verify(ScoredOpInterface op);
  FailureOr<Value> addRotation(func::FuncOp function,
                               ArrayRef<ScoredOpInterface> ops);
  /// An operand of `op` that is shared as q (0), k (1) or v (2) is.
  QuantizeOp quantizeOperand(OpBuilder &builder, ScoredOpInterface op,
                             Value source, unsigned operand, Value rotation);
  void quantize(ForwardOp forward, Value rotation);
  void addCopies(BackwardOp backward, Value rotation);

  /// Of q and k, and of v.
  Type rowType, valueType;
  Sharing sharing[3];
};
} // namespace

LogicalResult Quantize::readFormats() {
  Builder builder(&getContext());
  auto getFloat = [&](StringRef name) -> Type {
    if (name == "f8E4M3FN")
      return builder.getType<Float8E4M3FNType>();
    return name == "f8E5M2" ? Type(builder.getType<Float8E5M2Type>()) : Type();
  };
  valueType = getFloat(format);
  if (!valueType)
    return getOperation().emitError("attention-quantize: expects format "
                                    "'f8E4M3FN' or 'f8E5M2', got '")
           << format << "'";
  rowType = qkFormat == "i8" ? builder.getI8Type() : valueType;
  if (!qkFormat.empty() && qkFormat != "i8" && qkFormat != format)
    return getOperation().emitError("attention-quantize: expects qk-format "
                                    "'i8' or that of v ('")
           << format << "'), got '" << qkFormat << "'";
  uint64_t most = getMostTerms(rowType);
  if (qTerms < 1 || qTerms > most)
    return getOperation().emitError("attention-quantize: expects q-terms of 1")
           << (most > 1 ? " or 2" : "") << " with q and k of " << rowType
           << ", got " << qTerms.getValue();
  return success();
}

LogicalResult Quantize::readOptions() {
  auto error = [&]() {
    return getOperation().emitError("attention-quantize: ");
  };
  if (failed(readFormats()))
    return failure();
  constexpr int64_t kDefaultRows = 128;
  SmallVector<int64_t> rows(blockRows.begin(), blockRows.end());
  if (rows.size() > 1 && rows.size() != 3)
    return error() << "expects block-rows to be one or three numbers, got "
                   << rows.size();
  for (int64_t count : rows)
    if (count < 1)
      return error() << "expects block-rows of at least 1, got " << count;
  if (!rows.empty() && scales != "block")
    return error() << "expects block-rows with scales=block only, got scales="
                   << scales;
  if (rows.size() <= 1)
    rows.assign(3, rows.empty() ? kDefaultRows : rows.front());
  for (unsigned operand = 0; operand < 3; ++operand) {
    bool isValue = operand == 2;
    if (scales == "tensor")
      sharing[operand] = {0, true};
    else if (scales == "head")
      sharing[operand] = {0, false};
    else if (scales == "block")
      sharing[operand] = {rows[operand], false};
    else if (scales == "token")
      sharing[operand] = {isValue ? 0 : 1, false};
    else
      return error() << "expects scales 'tensor', 'head', 'block' or 'token', "
                        "got '"
                     << scales << "'";
  }
  return success();
}

/// What operations of either kind must have.
static LogicalResult verifyHeadDims(ScoredOpInterface op, bool hadamard) {
  for (auto [name, dim] :
       {std::pair("q", op.getHeadDim()), {"v", op.getValueHeadDim()}})
    if (dim % 16)
      return op->emitOpError("cannot be quantized: 8-bit products take "
                             "head dims that are multiples of 16, that of ")
             << name << " is " << dim;
  int64_t d = op.getHeadDim();
  if (hadamard && !getHadamardFactors(d))
    return op->emitOpError("cannot be rotated: expects a head dim of 1, 12 "
                           "or 20 times a power of two for a Hadamard "
                           "matrix, got ")
           << d;
  return success();
}

/// What copies in attention.backward must have beside that.
static LogicalResult verifyGradients(BackwardOp op, ArrayRef<Sharing> sharing,
                                     bool hadamard) {
  for (Sharing of : sharing)
    if (of.rows != 0)
      return op.emitOpError("cannot be quantized: its 8-bit copies have scales "
                            "for whole sequences, expects scales=tensor or "
                            "head, got one for ")
             << of.rows << " rows";
  if (hadamard && op.getHeadDim() != op.getValueHeadDim())
    return op.emitOpError("cannot be rotated: expects one head dim of q and v, "
                          "got ")
           << op.getHeadDim() << " and " << op.getValueHeadDim();
  return success();
}

LogicalResult Quantize::verify(ScoredOpInterface op) {
  if (auto backward = dyn_cast<BackwardOp>(op.getOperation())) {
    if (rowType.isInteger() || qTerms != 1)
      return op->emitOpError("cannot be quantized: its 8-bit copies are one "
                             "float an element, expects neither qk-format=i8 "
                             "nor q-terms=2");
    if (failed(verifyGradients(backward, sharing, hadamard)))
      return failure();
  } else if (cast<ForwardOp>(op.getOperation()).getTransposedV()) {
    return op->emitOpError("cannot be quantized: v is transposed, "
                           "attention.quantize takes rows of elements");
  }
  return verifyHeadDims(op, hadamard);
}

/// The signs as a further argument of the function.
FailureOr<Value> Quantize::addRotation(func::FuncOp function,
                                       ArrayRef<ScoredOpInterface> ops) {
  ScoredOpInterface first = ops.front();
  for (ScoredOpInterface op : ops) {
    if (op->getParentOp() != function)
      return op->emitOpError("cannot be rotated: expects to lie directly "
                             "in a function");
    if (op.getHeadDim() == first.getHeadDim() &&
        getElementTypeOrSelf(op.getQ()) == getElementTypeOrSelf(first.getQ()))
      continue;
    InFlightDiagnostic diagnostic =
        op->emitOpError("cannot be rotated: expects the head dim and "
                        "element type of the other in its function");
    diagnostic.attachNote(first->getLoc()) << "it is here";
    return diagnostic;
  }
  Operation *scope = function->getParentOp();
  if (scope && !SymbolTable::symbolKnownUseEmpty(function, scope))
    return function.emitError("expects a function that nothing else refers "
                              "to: its type changes");
  Builder builder(&getContext());
  int64_t d = first.getHeadDim();
  auto signs = RankedTensorType::get({d}, getElementTypeOrSelf(first.getQ()));
  auto name = builder.getDictionaryAttr(
      builder.getNamedAttr(kArgumentNameAttr, builder.getStringAttr("signs")));
  unsigned number = function.getNumArguments();
  if (failed(function.insertArgument(number, signs, name, first->getLoc())))
    return failure();
  return Value(function.getArgument(number));
}

QuantizeOp Quantize::quantizeOperand(OpBuilder &builder, ScoredOpInterface op,
                                     Value source, unsigned operand,
                                     Value rotation) {
  auto tensor = cast<RankedTensorType>(source.getType());
  auto [rows, isOfTensor] = sharing[operand];
  int64_t length = tensor.getDimSize(op.getSequenceAxis());
  int64_t blocks = rows == 0 ? 1
                   : ShapedType::isDynamic(length)
                       ? ShapedType::kDynamic
                       : llvm::divideCeil(length, rows);
  int64_t extents[] = {isOfTensor ? 1 : tensor.getDimSize(0),
                       isOfTensor ? 1 : tensor.getDimSize(op.getHeadAxis()),
                       blocks};
  uint64_t terms = operand == 0 ? qTerms.getValue() : 1;
  SmallVector<int64_t> shape(tensor.getShape());
  shape.back() *= static_cast<int64_t>(terms);
  return QuantizeOp::create(
      builder, op->getLoc(),
      RankedTensorType::get(shape, operand == 2 ? valueType : rowType),
      RankedTensorType::get(extents, builder.getF32Type()), source, rotation,
      static_cast<uint64_t>(rows), terms, op.getLayout());
}

void Quantize::quantize(ForwardOp forward, Value rotation) {
  OpBuilder builder(forward);
  SmallVector<Value> scaleOperands;
  SmallVector<int64_t> rows;
  for (unsigned operand = 0; operand < 3; ++operand) {
    QuantizeOp op =
        quantizeOperand(builder, forward, forward->getOperand(operand), operand,
                        operand == 2 ? Value() : rotation);
    scaleOperands.push_back(op.getScales());
    rows.push_back(sharing[operand].rows);
    forward->setOperand(operand, op.getValues());
  }
  forward.getScalesMutable().assign(scaleOperands);
  if (llvm::any_of(rows, [](int64_t count) { return count != 0; }))
    forward.setRows(rows);
  forward.setQTerms(qTerms);
  ++numQuantized;
}

void Quantize::addCopies(BackwardOp backward, Value rotation) {
  OpBuilder builder(backward);
  SmallVector<Value> copies, scaleOperands;
  // Gradients of o are shared as queries are.
  for (auto [source, operand] : {std::pair(backward.getQ(), 0),
                                 {backward.getK(), 1},
                                 {backward.getV(), 2},
                                 {backward.getOutGrad(), 0}}) {
    QuantizeOp op =
        quantizeOperand(builder, backward, source, operand, rotation);
    copies.push_back(op.getValues());
    scaleOperands.push_back(op.getScales());
  }
  backward.getCopiesMutable().assign(copies);
  backward.getScalesMutable().assign(scaleOperands);
  ++numQuantized;
}

void Quantize::runOnOperation() {
  if (failed(readOptions()))
    return signalPassFailure();
  llvm::MapVector<func::FuncOp, SmallVector<ScoredOpInterface>> functions;
  WalkResult result = getOperation()->walk([&](ScoredOpInterface op) {
    if (!op.getScales().empty() || (isa<BackwardOp>(op) && !gradients))
      return WalkResult::advance();
    functions[op->getParentOfType<func::FuncOp>()].push_back(op);
    return WalkResult(verify(op));
  });
  if (result.wasInterrupted())
    return signalPassFailure();
  for (auto &[function, ops] : functions) {
    Value rotation;
    if (hadamard) {
      FailureOr<Value> added = addRotation(function, ops);
      if (failed(added))
        return signalPassFailure();
      rotation = *added;
    }
    for (ScoredOpInterface op : ops) {
      if (auto forward = dyn_cast<ForwardOp>(op.getOperation()))
        quantize(forward, rotation);
      else
        addCopies(cast<BackwardOp>(op.getOperation()), rotation);
    }
  }
}
