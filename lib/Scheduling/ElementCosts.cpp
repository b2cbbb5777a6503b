//===- ElementCosts.cpp - instructions of elementwise code ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Scheduling/ElementCosts.h"
#include "fa3/Machine/Chip.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;
using Unit = ElementCost::Unit;

ElementCost fa3::getElementCost(Operation *op, int64_t elements) {
  const Chip &chip = getChip(op);
  auto make = [&](Unit unit, int64_t instructions, int64_t cycles) {
    return ElementCost{unit, instructions, instructions * cycles};
  };
  if (isa<arith::ConstantOp>(op))
    return make(Unit::Alu, 0, 0);
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
          math::FmaOp>(op))
    return make(Unit::Fma, elements, chip.fmaCycles);
  // Narrow results leave two at a time.
  if (isa<arith::TruncFOp, arith::ExtFOp>(op))
    return make(Unit::Alu, llvm::divideCeil(elements, 2), chip.convertCycles);
  if (isa<math::Exp2Op, math::ExpOp, math::Log2Op, math::LogOp, math::TanhOp,
          math::RsqrtOp, math::SqrtOp, math::SinOp, math::CosOp, arith::DivFOp>(
          op))
    return make(Unit::Special, elements, chip.sfuCycles);
  return make(Unit::Alu, elements, chip.aluCycles);
}
