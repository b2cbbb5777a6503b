//===- TMTensor.cpp - tm_tensor.attention ---------------------------------===//
//
// ins(q, k, v[, mask]) outs(o): (batch.., queries, elements). Without the
// attribute `scale` it is 1/sqrt(d), as IREE takes it.
// The mask is added, or hides keys if its elements are i1.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "Foreign.h"

using namespace mlir;
using namespace fa3::convert;

LogicalResult fa3::convert::convertTMTensor(Operation *op, FloatType castType) {
  unsigned count = op->getNumOperands();
  if ((count != 4 && count != 5) || op->getNumResults() != 1)
    return refuse(op, "expects q, k, v, perhaps a mask, and the output as "
                      "operands, and one result, a tensor");
  RankedTensorType type = getTensorType(op->getOperand(0));
  if (!type || type.getRank() < 3)
    return refuse(op, "expects tensors of rank 3 or more");
  AttentionProblem problem(op, castType);
  Labels &labels = problem.labels;
  SmallVector<Label> batch;
  for (int64_t i = 0; i + 2 < type.getRank(); ++i)
    batch.push_back(labels.create(ShapedType::kDynamic));
  auto create = [&] { return labels.create(ShapedType::kDynamic); };
  Label query = create(), key = create(), element = create(), value = create();
  auto read = [&](Value tensor, Label row, Label column) {
    SmallVector<Label> dims = batch;
    dims.append({row, column});
    return makeState(labels, tensor, dims);
  };
  auto q = read(op->getOperand(0), query, element),
       k = read(op->getOperand(1), key, element),
       v = read(op->getOperand(2), key, value),
       o = read(op->getResult(0), query, value);
  if (failed(q) || failed(k) || failed(v) || failed(o))
    return refuse(op, "the shapes of its operands do not fit together");
  problem.q = *q, problem.k = *k, problem.v = *v, problem.o = *o;
  if (count == 5) {
    auto mask = read(op->getOperand(3), query, key);
    if (failed(mask))
      return refuse(op, "the shape of its mask does not fit");
    Type type = getTensorType(op->getOperand(3)).getElementType();
    problem.masks.push_back({*mask, isa<IntegerType>(type)});
  }
  if (auto scale = dyn_cast_or_null<FloatAttr>(op->getAttr("scale")))
    problem.scale = scale.getValueAsDouble();
  return assemble(problem);
}
