//===- CloneScalars.cpp - a scalar computed elsewhere ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Support/CloneScalars.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace fa3;

FailureOr<Value> fa3::cloneScalars(OpBuilder &builder, Value value,
                                   IRMapping &mapping,
                                   const ScalarCopies &copies) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value copy = copies.argument(argument);
    mapping.map(value, copy);
    return copy;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    if (failed(cloneScalars(builder, operand, mapping, copies)))
      return failure();
  FailureOr<Operation *> copy =
      copies.operation ? copies.operation(op) : builder.clone(*op, mapping);
  if (failed(copy))
    return failure();
  mapping.map(op->getResults(), (*copy)->getResults());
  return mapping.lookup(value);
}
