//===- CudnnBackward.cpp - gradients of cuDNN's attention -----------------===//
//
// (q, k, v, statistics, gradient of the result[, bias], result[, lengths of
// queries, of keys]) -> (dq, dk, dv[, gradient of the bias], workspace), as JAX
// calls it. The statistics are lse, gradients are (b, h, s, d) whatever the
// operands are.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "Cudnn.h"
#include "Rewrite.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa3::convert;
using namespace fa3::attention;

namespace {
class BackwardRewrite : Rewrite {
public:
  explicit BackwardRewrite(Operation *op) : Rewrite(op), op(op) {}
  LogicalResult run();

private:
  LogicalResult readOperands();
  ArrayAttr getMods();
  void addLengths(BackwardOp backward);
  LogicalResult replaceResults(BackwardOp backward);

  Operation *op;
  CudnnSettings settings;
  Value q, k, v, lse, outGrad, o, bias, lengths[2];
  /// Whether the gradient of the bias is a result.
  bool hasBiasGrad = false;
  /// Transposes that nobody needs any longer.
  SmallVector<Operation *> dead;
};
} // namespace

LogicalResult BackwardRewrite::readOperands() {
  bool hasBias = getCudnnTarget(op).contains("Bias");
  unsigned expected = 6 + hasBias + 2 * settings.isPadded;
  unsigned results = op->getNumResults();
  if (op->getNumOperands() != expected || results < 4 ||
      results > 4 + static_cast<unsigned>(hasBias))
    return refuse("expects " + Twine(expected) +
                  " operands and four results, five with the gradient of a "
                  "bias, got " +
                  Twine(op->getNumOperands()) + " and " + Twine(results));
  hasBiasGrad = results == 5;
  if (getUsedResult(op, results - 1))
    return refuse("its workspace is used");
  for (Value operand : op->getOperands())
    if (!isa<RankedTensorType>(operand.getType()))
      return refuse("expects ranked tensors");
  q = op->getOperand(0), k = op->getOperand(1), v = op->getOperand(2);
  lse = op->getOperand(3), outGrad = op->getOperand(4);
  if (hasBias)
    bias = op->getOperand(5);
  o = op->getOperand(5 + hasBias);
  if (!settings.isPadded)
    return success();
  for (unsigned i : {0, 1}) {
    lengths[i] = op->getOperand(expected - 2 + i);
    if (!isLengths(lengths[i]))
      return refuse("its lengths are no integers for each batch");
  }
  return success();
}

ArrayAttr BackwardRewrite::getMods() {
  MLIRContext *context = b.getContext();
  SmallVector<Attribute> mods;
  int64_t row = settings.isSequenceFirst ? 1 : 2;
  RankedTensorType types[] = {getTensorType(q), getTensorType(k)};
  // A rank that is another one is refused below.
  auto getRows = [&](RankedTensorType type) {
    return type.getRank() == 4 ? type.getDimSize(row) : ShapedType::kDynamic;
  };
  if (bias)
    mods.push_back(BiasAttr::get(context, 0));
  if (settings.window > 0)
    mods.push_back(
        WindowAttr::get(context, settings.window - 1, 0, Alignment::top_left));
  else if (settings.isCausal)
    mods.push_back(getCausal(context, getRows(types[0]), getRows(types[1])));
  return mods.empty() ? ArrayAttr() : b.getArrayAttr(mods);
}

/// Rows that are padding have no weights.
void BackwardRewrite::addLengths(BackwardOp backward) {
  if (!settings.isPadded)
    return;
  backward.getAuxMutable().append({lengths[0], lengths[1]});
  backward.prependMaskMod([&](ImplicitLocOpBuilder &at,
                              const ModContext &context) -> Value {
    auto isBelow = [&](Value row, Value table) -> Value {
      Value length = tensor::ExtractOp::create(at, table, context.batch);
      length = arith::IndexCastOp::create(at, at.getIndexType(), length);
      return arith::CmpIOp::create(at, arith::CmpIPredicate::slt, row, length);
    };
    Value query = isBelow(context.query, lengths[0]),
          key = isBelow(context.key, lengths[1]);
    return arith::AndIOp::create(at, query, key);
  });
}

LogicalResult BackwardRewrite::replaceResults(BackwardOp backward) {
  for (unsigned number : {0u, 1u, 2u}) {
    Value result = op->getResult(number),
          gradient = backward->getResult(number);
    // What brings a gradient into the order of its operand is none.
    for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
      if (settings.isSequenceFirst && getName(user) == "stablehlo.transpose" &&
          user->getNumResults() == 1 &&
          user->getResult(0).getType() == gradient.getType() &&
          getIntegers(user->getAttr("permutation")) ==
              SmallVector<int64_t>{0, 2, 1, 3})
        replace(user->getResult(0), gradient), dead.push_back(user);
    if (llvm::all_of(result.getUsers(), [&](Operation *user) {
          return llvm::is_contained(dead, user);
        }))
      continue;
    Value value = settings.isSequenceFirst ? exchange(gradient) : gradient;
    value = like(value, result);
    if (!value)
      return refuse("the type of its result " + Twine(number) +
                    " is not that of its operand, as (b, h, s, d)");
    replace(result, value);
  }
  if (!hasBiasGrad)
    return success();
  Value value = like(backward->getResult(3), op->getResult(3));
  if (!value)
    return refuse("the type of the gradient of its bias is not that of it");
  replace(op->getResult(3), value);
  return success();
}

LogicalResult BackwardRewrite::run() {
  FailureOr<CudnnSettings> read =
      readCudnnSettings(op, "bmm2_grad_gemm2_dot_dimension_numbers");
  if (failed(read))
    return failure();
  settings = *read;
  if (failed(readOperands()))
    return failure();
  Value scale = arith::ConstantOp::create(
      b, loc, b.getF32FloatAttr(static_cast<float>(settings.scale)));
  SmallVector<Type> types = {q.getType(), k.getType(), v.getType()};
  SmallVector<Value, 1> aux;
  if (bias)
    aux.push_back(bias);
  if (hasBiasGrad)
    types.push_back(bias.getType());
  auto backward = BackwardOp::create(
      b, loc, TypeRange(types).take_front(1)[0], types[1], types[2],
      TypeRange(types).drop_front(3), q, k, v, o, lse, outGrad,
      /*lseGrad=*/Value(), /*copies=*/ValueRange(), /*scales=*/ValueRange(),
      aux, scale, /*sequences=*/Value(), /*blocks=*/Value(),
      hasBiasGrad ? b.getDenseI64ArrayAttr({0}) : DenseI64ArrayAttr(),
      settings.isSequenceFirst ? Layout::bshd : Layout::bhsd, getMods(),
      /*keptScale=*/FloatAttr(), /*group=*/IntegerAttr());
  addLengths(backward);
  if (failed(check()) || failed(replaceResults(backward)))
    return failure();
  for (Operation *transpose : dead)
    transpose->erase();
  finish();
  return success();
}

LogicalResult fa3::convert::convertCudnnBackward(Operation *op) {
  return BackwardRewrite(op).run();
}
