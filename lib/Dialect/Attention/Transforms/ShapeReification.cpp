//===- ShapeReification.cpp - extents of results --------------------------===//
//
// In terms of operands, for those who make the memory of results, or tile what
// uses them.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Attention/Transforms/Interfaces.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace fa3::attention;

namespace {
using Extents = SmallVector<OpFoldResult>;

/// An extent that the type of the result says, or else one of an operand.
struct Reifier {
  OpBuilder &b;
  Location loc;

  OpFoldResult get(Value result, int64_t axis, Value operand,
                   int64_t operandAxis) {
    auto type = cast<RankedTensorType>(result.getType());
    if (!type.isDynamicDim(axis))
      return b.getIndexAttr(type.getDimSize(axis));
    return tensor::getMixedSize(b, loc, operand, operandAxis);
  }
  /// The extents of an operand from dimension `first` on.
  Extents like(Value result, Value operand, int64_t first = 0) {
    Extents extents;
    int64_t rank = cast<RankedTensorType>(result.getType()).getRank();
    for (int64_t axis = 0; axis < rank; ++axis)
      extents.push_back(get(result, axis, operand, axis + first));
    return extents;
  }
};

struct ForwardShapes
    : ReifyRankedShapedTypeOpInterface::ExternalModel<ForwardShapes,
                                                      ForwardOp> {
  LogicalResult reifyResultShapes(Operation *op, OpBuilder &b,
                                  ReifiedRankedShapedTypeDims &shapes) const {
    auto forward = cast<ForwardOp>(op);
    Reifier reifier{b, op->getLoc()};
    // Its last extent, which q may not have, is static.
    shapes.push_back(reifier.like(forward.getO(), forward.getQ()));
    // (.., head, query) whatever the layout.
    for (Value result : op->getResults().drop_front()) {
      if (!forward.isOfRows(result)) {
        shapes.push_back(reifier.like(result, forward.getQ()));
        continue;
      }
      Extents extents;
      int64_t rank = cast<RankedTensorType>(result.getType()).getRank();
      for (int64_t axis = 0; axis < rank; ++axis) {
        int64_t own = axis == rank - 2 ? forward.getHeadAxisOf(forward.getQ())
                      : axis == rank - 1
                          ? forward.getSequenceAxisOf(forward.getQ())
                          : axis;
        extents.push_back(reifier.get(result, axis, forward.getQ(), own));
      }
      shapes.push_back(extents);
    }
    return success();
  }
};

struct BackwardShapes
    : ReifyRankedShapedTypeOpInterface::ExternalModel<BackwardShapes,
                                                      BackwardOp> {
  LogicalResult reifyResultShapes(Operation *op, OpBuilder &b,
                                  ReifiedRankedShapedTypeDims &shapes) const {
    auto backward = cast<BackwardOp>(op);
    Reifier reifier{b, op->getLoc()};
    Value operands[] = {backward.getQ(), backward.getK(), backward.getV()};
    for (auto [number, result] : llvm::enumerate(op->getResults())) {
      // Of others than dq, dk and dv nothing is said.
      auto type = cast<RankedTensorType>(result.getType());
      if (number < 3)
        shapes.push_back(reifier.like(result, operands[number]));
      else if (type.hasStaticShape())
        shapes.push_back(
            getAsIndexOpFoldResult(b.getContext(), type.getShape()));
      else
        return failure();
    }
    return success();
  }
};

struct MergeShapes
    : ReifyRankedShapedTypeOpInterface::ExternalModel<MergeShapes, MergeOp> {
  LogicalResult reifyResultShapes(Operation *op, OpBuilder &b,
                                  ReifiedRankedShapedTypeDims &shapes) const {
    auto merge = cast<MergeOp>(op);
    Reifier reifier{b, op->getLoc()};
    shapes.push_back(reifier.like(merge.getO(), merge.getParts(), 1));
    shapes.push_back(reifier.like(merge.getLse(), merge.getLseParts(), 1));
    return success();
  }
};

struct RotaryShapes
    : ReifyRankedShapedTypeOpInterface::ExternalModel<RotaryShapes, RotaryOp> {
  LogicalResult reifyResultShapes(Operation *op, OpBuilder &b,
                                  ReifiedRankedShapedTypeDims &shapes) const {
    auto rotary = cast<RotaryOp>(op);
    shapes.push_back(
        Reifier{b, op->getLoc()}.like(rotary.getResult(), rotary.getSource()));
    return success();
  }
};

struct AppendShapes
    : ReifyRankedShapedTypeOpInterface::ExternalModel<AppendShapes, AppendOp> {
  LogicalResult reifyResultShapes(Operation *op, OpBuilder &b,
                                  ReifiedRankedShapedTypeDims &shapes) const {
    auto append = cast<AppendOp>(op);
    shapes.push_back(
        Reifier{b, op->getLoc()}.like(append.getResult(), append.getCache()));
    return success();
  }
};
} // namespace

void fa3::attention::registerShapeReification(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttentionDialect *) {
    ForwardOp::attachInterface<ForwardShapes>(*context);
    BackwardOp::attachInterface<BackwardShapes>(*context);
    MergeOp::attachInterface<MergeShapes>(*context);
    RotaryOp::attachInterface<RotaryShapes>(*context);
    AppendOp::attachInterface<AppendShapes>(*context);
  });
}
