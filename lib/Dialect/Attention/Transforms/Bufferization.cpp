//===- Bufferization.cpp - calls of attention on memrefs ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Attention/Transforms/Bufferization.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace fa3::attention;

namespace {
struct CallModel : DstBufferizableOpInterfaceExternalModel<CallModel, CallOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    auto call = cast<CallOp>(op);
    return call.getUpdates() || !call.isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto call = cast<CallOp>(op);
    auto getBuffers = [&](ValueRange values, SmallVector<Value> &buffers) {
      for (Value value : values) {
        if (!isa<RankedTensorType>(value.getType())) {
          buffers.push_back(value);
          continue;
        }
        FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
        if (failed(buffer))
          return failure();
        buffers.push_back(*buffer);
      }
      return success();
    };
    SmallVector<Value> inputs, inits;
    if (failed(getBuffers(call.getInputs(), inputs)) ||
        failed(getBuffers(call.getInits(), inits)))
      return failure();
    CallOp::create(rewriter, op->getLoc(), TypeRange(), call.getCalleeAttr(),
                   inputs, inits, call.getViewsAttr(), call.getUpdatesAttr());
    replaceOpWithBufferizedValues(rewriter, op, inits);
    return success();
  }
};
} // namespace

void fa3::attention::registerBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttentionDialect *) {
    CallOp::attachInterface<CallModel>(*context);
  });
}
