//===- ToReference.cpp - attention by definition on the CPU ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// attention-to-reference: what the operations on attention mean, as loops over
// memrefs. Forward, backward and what comes before have a file each.
//===----------------------------------------------------------------------===//

#include "BackwardReference.h"
#include "BlocksReference.h"
#include "ForwardReference.h"
#include "MergeReference.h"
#include "QuantizeReference.h"
#include "UpdateReference.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa3::attention {
#define GEN_PASS_DEF_TOREFERENCE
#include "fa3/Dialect/Attention/Transforms/Passes.h.inc"
} // namespace fa3::attention

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

/// Emits what comes before attention in a function.
static void buildPreparations(HostFunction &host) {
  for (HostQuantization &quantization : host.quantizations) {
    OpBuilder builder = host.getBuilder();
    ImplicitLocOpBuilder b(quantization.op.getLoc(), builder);
    buildQuantizeReference(b, quantization);
  }
  for (HostUpdate &update : host.updates) {
    OpBuilder builder = host.getBuilder();
    ImplicitLocOpBuilder b(update.getOperation()->getLoc(), builder);
    buildUpdateReference(b, host, update);
  }
  for (HostBlockLists &lists : host.blockLists) {
    OpBuilder builder = host.getBuilder();
    ImplicitLocOpBuilder b(lists.op->getLoc(), builder);
    buildBlocksReference(b, host, lists);
  }
}

/// Frees what the host function allocates for the duration of a call.
static void freeWorkspaces(HostFunction &host,
                           ArrayRef<memref::AllocOp> workspaces) {
  OpBuilder builder = host.getBuilder();
  for (memref::AllocOp workspace : workspaces)
    memref::DeallocOp::create(builder, workspace.getLoc(), workspace);
}

/// Adds the arguments `first` and `last` and the result of a sliced function.
static LogicalResult buildSliced(HostFunction &host, Precision precision) {
  func::FuncOp function = host.function;
  Builder builder(function.getContext());
  auto addArgument = [&](StringRef name) {
    unsigned number = function.getNumArguments();
    auto attributes = builder.getDictionaryAttr(
        builder.getNamedAttr(kArgumentNameAttr, builder.getStringAttr(name)));
    (void)function.insertArgument(number, builder.getIndexType(), attributes,
                                  function.getLoc());
    return function.getArgument(number);
  };
  Value first = addArgument("first"), last = addArgument("last");
  Value count =
      host.backward
          ? buildBackwardReference(host, precision, std::pair(first, last))
          : buildForwardReference(host, precision, std::pair(first, last));
  if (!count)
    return failure();
  (void)function.insertResult(0, builder.getIndexType(), {});
  Operation *ret = function.getBody().front().getTerminator();
  ret->insertOperands(0, count);
  return success();
}

namespace {
struct ToReference : fa3::attention::impl::ToReferenceBase<ToReference> {
  using ToReferenceBase::ToReferenceBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    getOperation()->walk([&](func::FuncOp function) {
      if (hasAttention(function))
        functions.push_back(function);
    });
    HostFunctionOptions options;
    if (wideOutput)
      options.outputType = Float32Type::get(&getContext());
    for (func::FuncOp function : functions) {
      FailureOr<HostFunction> host = createHostFunction(function, options);
      if (failed(host))
        return signalPassFailure();
      auto workspaces =
          llvm::to_vector(host->function.getBody().getOps<memref::AllocOp>());
      buildPreparations(*host);
      if (host->getScored() && slices) {
        if (failed(buildSliced(*host, precision)))
          return signalPassFailure();
      } else if (host->backward) {
        if (!buildBackwardReference(*host, precision, std::nullopt))
          return signalPassFailure();
      } else if (host->forward) {
        buildForwardReference(*host, precision, std::nullopt);
      } else if (host->merge) {
        buildMergeReference(*host);
      }
      freeWorkspaces(*host, workspaces);
      function.erase();
    }
  }
};
} // namespace
