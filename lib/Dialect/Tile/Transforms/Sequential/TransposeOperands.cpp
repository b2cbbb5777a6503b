//===- TransposeOperands.cpp - tile-transpose-operands --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace fa3::tile {
#define GEN_PASS_DEF_TRANSPOSEOPERANDS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Elements that wgmma reads along either dimension have this width (PTX ISA,
/// "wgmma.mma_async", transposition of operands).
static constexpr unsigned kTransposableBits = 16;

static Value transpose(OpBuilder &builder, Location loc, Value operand) {
  RankedTensorType type = getTileType(operand.getType());
  auto transposed = RankedTensorType::get(
      {type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
  return TransposeOp::create(builder, loc, transposed, operand);
}

namespace {
struct TransposeOperands
    : fa3::tile::impl::TransposeOperandsBase<TransposeOperands> {
  void runOnOperation() override {
    getOperation()->walk([&](DotOp dot) {
      RankedTensorType rhs = getTileType(dot.getRhs().getType());
      if (rhs.getElementTypeBitWidth() >= kTransposableBits)
        return;
      OpBuilder builder(dot);
      if (dot.getRhsOrder() == RhsOrder::kn && isTile(dot.getRhs().getType())) {
        dot.getRhsMutable().assign(
            transpose(builder, dot.getLoc(), dot.getRhs()));
        dot.setRhsOrder(RhsOrder::nk);
        ++transposed;
      }
      if (dot.getLhsOrder() == LhsOrder::km && isTile(dot.getLhs().getType())) {
        dot.getLhsMutable().assign(
            transpose(builder, dot.getLoc(), dot.getLhs()));
        dot.setLhsOrder(LhsOrder::mk);
        ++transposed;
      }
    });
  }
};
} // namespace
