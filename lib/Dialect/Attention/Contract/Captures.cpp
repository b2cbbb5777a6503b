//===- Captures.cpp - scalars that regions use ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Attention/Contract/Captures.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fa3::attention;

SmallVector<Value>
fa3::attention::getCapturedScalars(ArrayRef<Operation *> ops) {
  llvm::SetVector<Value> captured;
  for (Operation *op : ops)
    for (Region *region : listCode(op))
      getUsedValuesDefinedAbove(*region, captured);
  return llvm::filter_to_vector(captured, [](Value value) {
    return value.getType().isIntOrIndexOrFloat();
  });
}

Captures fa3::attention::collectCaptures(ArrayRef<Operation *> ops,
                                         const IRMapping &values) {
  return llvm::map_to_vector(getCapturedScalars(ops), [&](Value value) {
    return std::pair(value, values.lookup(value));
  });
}
