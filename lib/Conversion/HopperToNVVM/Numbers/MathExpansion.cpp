//===- MathExpansion.cpp - functions without an instruction ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// They become code of functions that have one, element by element, so that the
// values in between of one element do not wait for those of all others.
//===----------------------------------------------------------------------===//

#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace fa3;

/// By polynomials (upstream's, of f32), and by others.
static constexpr StringLiteral kApproximated[] = {
    "math.acos", "math.asin", "math.atan",  "math.atan2",
    "math.cbrt", "math.erf",  "math.expm1", "math.log1p"};
static constexpr StringLiteral kExpanded[] = {"acosh", "asinh", "atanh", "cosh",
                                              "powf",  "round", "sinh",  "tan"};

static bool isToExpand(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return llvm::is_contained(kApproximated, name) ||
         (name.consume_front("math.") && llvm::is_contained(kExpanded, name));
}

/// The operation on one element, whose floats are widened to f32.
static Operation *createOnElement(ImplicitLocOpBuilder &b, Operation *op,
                                  SmallVector<Value> operands) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  Type f32 = b.getF32Type(), type = element;
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32) {
    type = f32;
    for (Value &operand : operands)
      operand = arith::ExtFOp::create(b, f32, operand);
  }
  OperationState state(op->getLoc(), op->getName(), operands, {type},
                       op->getAttrs());
  return b.create(state);
}

/// Replaces an operation on fragments by one for each element, which are
/// appended to `scalars`.
static void scalarize(Operation *op, SmallVectorImpl<Operation *> &scalars) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
  auto compute = [&](SmallVector<Value> operands) -> Value {
    Operation *scalar = createOnElement(b, op, std::move(operands));
    scalars.push_back(scalar);
    Value result = scalar->getResult(0);
    return result.getType() == element
               ? result
               : arith::TruncFOp::create(b, element, result).getResult();
  };
  Value result;
  if (auto fragment = dyn_cast<VectorType>(type)) {
    SmallVector<ValueRange> lists;
    for (Value operand : op->getOperands())
      lists.push_back(vector::ToElementsOp::create(b, operand).getElements());
    SmallVector<Value> results;
    for (int64_t i = 0; i < fragment.getNumElements(); ++i)
      results.push_back(compute(llvm::map_to_vector(
          lists, [&](ValueRange list) -> Value { return list[i]; })));
    result = vector::FromElementsOp::create(b, fragment, results);
  } else {
    result = compute(llvm::to_vector(op->getOperands()));
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

LogicalResult fa3::expandMath(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> ops, scalars;
  kernel.walk([&](Operation *op) {
    if (isToExpand(op))
      ops.push_back(op);
  });
  if (ops.empty())
    return success();
  for (Operation *op : ops) {
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() > 32)
      return op->emitOpError("has no instruction for ") << element;
    scalarize(op, scalars);
  }
  RewritePatternSet patterns(kernel.getContext());
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained(kApproximated, name);
  });
  SmallVector<StringRef> expanded(std::begin(kExpanded), std::end(kExpanded));
  math::populateExpansionPatterns(patterns, expanded);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  if (failed(applyOpPatternsGreedily(scalars, std::move(patterns), config)))
    return kernel.emitOpError("has mathematical functions whose expansion does "
                              "not come to an end");
  return success();
}
