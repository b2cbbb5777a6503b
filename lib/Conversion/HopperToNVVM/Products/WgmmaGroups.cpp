//===- WgmmaGroups.cpp - fences, groups and waits of products -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../InlineAsm.h"
#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {
/// A statement that the fragments pass through: in LLVM's eyes it rewrites
/// them, so no arithmetic on them moves across it.
static FailureOr<SmallVector<Value>> emitTied(OpBuilder &builder, Operation *op,
                                              StringRef text,
                                              ArrayRef<Value> fragments) {
  Location loc = op->getLoc();
  SmallVector<Value> registers;
  SmallVector<size_t> counts;
  for (Value fragment : fragments) {
    if (!isPackable(cast<VectorType>(fragment.getType())))
      return op->emitOpError("cannot hold a value of type ")
             << fragment.getType() << " in registers of 32 or 64 bits";
    SmallVector<Value> part = unpackRegisters(builder, loc, fragment);
    counts.push_back(part.size());
    llvm::append_range(registers, part);
  }
  InlineAsm statement(builder, loc);
  for (Value value : registers)
    statement.addOutput(value.getType());
  for (auto [i, value] : llvm::enumerate(registers))
    statement.addTied(value, i);
  SmallVector<Value> outputs = statement.emit(text);
  SmallVector<Value> results;
  size_t next = 0;
  for (auto [fragment, count] : llvm::zip(fragments, counts)) {
    results.push_back(packRegisters(builder, loc,
                                    ArrayRef(outputs).slice(next, count),
                                    cast<VectorType>(fragment.getType())));
    next += count;
  }
  return results;
}

struct WgmmaFencePattern : KernelPattern<WgmmaFenceOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(WgmmaFenceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<SmallVector<Value>> results =
        emitTied(rewriter, op, "wgmma.fence.sync.aligned;",
                 llvm::to_vector(adaptor.getValues()));
    if (failed(results))
      return failure();
    rewriter.replaceOp(op, *results);
    return success();
  }
};

/// Groups exist in program order only: their values vanish.
struct WgmmaCommitPattern : KernelPattern<WgmmaCommitOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(WgmmaCommitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    emitPredicatedAsm(rewriter, op.getLoc(), Value(),
                      "wgmma.commit_group.sync.aligned;", {});
    rewriter.replaceOpWithMultiple(op, {ValueRange()});
    return success();
  }
};

struct GroupReadyPattern : KernelPattern<GroupReadyOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(GroupReadyOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithMultiple(op, {ValueRange()});
    return success();
  }
};

struct SelectPattern : KernelPattern<arith::SelectOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(arith::SelectOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isa<GroupType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "not of groups");
    rewriter.replaceOpWithMultiple(op, {ValueRange()});
    return success();
  }
};

struct InflightReadyPattern : KernelPattern<InflightReadyOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(InflightReadyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getValue());
    return success();
  }
};

struct WgmmaWaitPattern : KernelPattern<WgmmaWaitOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(WgmmaWaitOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getPending())
      return op.emitOpError("expects 'pending' (see hopper-insert-waits)");
    int64_t pending = static_cast<int64_t>(*op.getPending());
    SmallVector<Value> fragments;
    for (ValueRange range : adaptor.getInflight())
      llvm::append_range(fragments, range);
    for (ValueRange range : adaptor.getKeep())
      llvm::append_range(fragments, range);
    if (pending < 0) {
      rewriter.replaceOp(op, fragments);
      return success();
    }
    std::string text =
        "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";";
    FailureOr<SmallVector<Value>> results =
        emitTied(rewriter, op, text, fragments);
    if (failed(results))
      return failure();
    rewriter.replaceOp(op, *results);
    return success();
  }
};
} // namespace

void fa3::populateWgmmaGroupPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     const KernelInfo &info) {
  patterns.add<WgmmaFencePattern, WgmmaCommitPattern, GroupReadyPattern,
               SelectPattern, InflightReadyPattern, WgmmaWaitPattern>(
      converter, patterns.getContext(), info);
}
