//===- ShortForm.cpp - functions of small arguments -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Support/ShortForm.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace fa3;

static constexpr ShortForm kForms[] = {
    // The least absolute error that such polynomials have (Remez's algorithm):
    // 7.8e-6. The relative one is 1.6e-4 at most, that of tanh.approx.f32
    // 4.9e-4 by the PTX ISA.
    {"math.tanh", /*mostArgument=*/0.25, /*linear=*/0.9998434277851794,
     /*cubic=*/-0.32319897539655323, /*leastIterations=*/5},
};

const ShortForm *fa3::findShortForm(Operation *op) {
  for (const ShortForm &form : kForms)
    if (op && op->getName().getStringRef() == form.function)
      return &form;
  return nullptr;
}

bool fa3::becomesTwoWays(Operation *op) {
  return op
      ->walk([](Operation *inside) {
        return WalkResult(
            failure(findShortForm(inside) &&
                    isa<RankedTensorType>(inside->getResult(0).getType())));
      })
      .wasInterrupted();
}
