//===- TmaPatterns.cpp - bulk copies of tensor boxes ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../InlineAsm.h"
#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

Value fa3::getSlotOffset(IntegerBuilder &ints, BufferType buffer, Value index,
                         Value row, Value column) {
  int64_t blockColumns = buffer.getBlockColumns();
  Value offset = ints.mul(index, buffer.getSlotBytes());
  offset = ints.add(offset, ints.mul(row, buffer.getSwizzle()));
  Value block = ints.div(column, blockColumns);
  offset = ints.add(offset, ints.mul(block, buffer.getBlockBytes()));
  Value inBlock = ints.rem(column, blockColumns);
  return ints.add(offset, ints.mul(inBlock, buffer.getElementBytes()));
}

/// "[$map, {$c0, $c1}]" with the innermost coordinate first, as PTX wants it.
/// Appends the operands.
static std::string addMapOperand(SmallVectorImpl<Value> &operands, Value map,
                                 ValueRange coordinates) {
  std::string text = "[$" + std::to_string(operands.size()) + ", {";
  operands.push_back(map);
  llvm::ListSeparator separator;
  for (Value coordinate : llvm::reverse(coordinates)) {
    text += separator;
    text += "$" + std::to_string(operands.size());
    operands.push_back(coordinate);
  }
  return text + "}]";
}

namespace {
struct TmaLoadPattern : KernelPattern<TmaLoadOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(TmaLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getPieces() && !op->getParentOfType<warp::GroupOp>())
      return op.emitOpError("in pieces expects a group of warps around it");
    IntegerBuilder ints(rewriter, op.getLoc());
    Value target =
        ints.add(adaptor.getBuffer(),
                 getSlotOffset(ints, op.getWindowType(), adaptor.getIndex(),
                               adaptor.getRow(), adaptor.getColumn()));
    Value barrier =
        ints.add(adaptor.getBarrier(), ints.mul(adaptor.getBarrierIndex(),
                                                BarrierAllocOp::kAlignment));
    if (op.getPieces())
      copyPieces(op, adaptor, target, barrier, rewriter);
    else
      copy(op, adaptor, target, barrier, adaptor.getCoordinates(),
           info.getOf(op).getPredicate(), rewriter);
    rewriter.eraseOp(op);
    return success();
  }

private:
  void copy(TmaLoadOp op, OpAdaptor adaptor, Value target, Value barrier,
            ValueRange coordinates, Value predicate, OpBuilder &builder) const {
    SmallVector<Value> operands = {target, barrier};
    std::string source = addMapOperand(operands, adaptor.getMap(), coordinates);
    emitPredicatedAsm(builder, op.getLoc(), predicate,
                      "cp.async.bulk.tensor." + Twine(coordinates.size()) +
                          "d.shared::cluster.global.mbarrier::complete_tx::"
                          "bytes [$0], " +
                          source + ", [$1];",
                      operands);
  }

  /// A box for every thread: each looks up where its own is.
  void copyPieces(TmaLoadOp op, OpAdaptor adaptor, Value target, Value barrier,
                  ConversionPatternRewriter &rewriter) const {
    Location loc = op.getLoc();
    IntegerBuilder ints(rewriter, loc);
    OpBuilder::InsertionGuard guard(rewriter);
    int64_t boxes = op.getNumPieces() * op.getNumBlocks();
    int64_t threads =
        op->getParentOfType<warp::GroupOp>().getWarps() * kSm90a.threadsPerWarp;
    Value number = info.getOf(op).thread;
    if (boxes > threads) {
      Value step = ints.constant(threads);
      auto loop =
          scf::ForOp::create(rewriter, loc, number, ints.constant(boxes), step);
      rewriter.setInsertionPointToStart(loop.getBody());
      number = loop.getInductionVar();
    } else if (boxes < threads) {
      Value isBox =
          arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                                number, ints.constant(boxes));
      auto branch =
          scf::IfOp::create(rewriter, loc, isBox, /*withElseRegion=*/false);
      rewriter.setInsertionPointToStart(branch.thenBlock());
    }
    Value piece = ints.div(number, op.getNumBlocks()),
          block = ints.rem(number, op.getNumBlocks());
    BufferType buffer = op.getWindowType();
    TensorMapType map = op.getMap().getType();
    Value ofBlock = ints.mul(block, buffer.getBlockBytes());
    target =
        ints.add(ints.add(target, ints.mul(piece, map.getBoxRows() *
                                                      buffer.getSwizzle())),
                 ofBlock);
    Block *places = &op.getPlaces().front().front();
    Operation *yield = places->getTerminator();
    SmallVector<Value> at(yield->getOperands());
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(places, rewriter.getInsertionBlock(),
                               rewriter.getInsertionPoint(), piece);
    at.back() = ints.add(at.back(), ints.mul(block, buffer.getBlockColumns()));
    copy(op, adaptor, target, barrier, at, Value(), rewriter);
  }
};

struct TmaStorePattern : KernelPattern<TmaStoreOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(TmaStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IntegerBuilder ints(rewriter, loc);
    Value source =
        ints.add(adaptor.getBuffer(),
                 getSlotOffset(ints, op.getWindowType(), adaptor.getIndex(),
                               adaptor.getRow(), adaptor.getColumn()));
    SmallVector<Value> operands = {source};
    std::string target =
        addMapOperand(operands, adaptor.getMap(), adaptor.getCoordinates());
    emitPredicatedAsm(
        rewriter, loc, info.getOf(op).getPredicate(),
        (op.getAdd() ? "cp.reduce.async.bulk.tensor."
                     : "cp.async.bulk.tensor.") +
            Twine(op.getCoordinates().size()) + "d.global.shared::cta." +
            (op.getAdd() ? "add." : "") + "bulk_group " + target + ", [$0];",
        operands);
    rewriter.eraseOp(op);
    return success();
  }
};

struct TmaCommitPattern : KernelPattern<TmaCommitOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(TmaCommitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    emitPredicatedAsm(rewriter, op.getLoc(), info.getOf(op).getPredicate(),
                      "cp.async.bulk.commit_group;", {});
    rewriter.eraseOp(op);
    return success();
  }
};

struct TmaWaitReadPattern : KernelPattern<TmaWaitReadOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(TmaWaitReadOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    StringRef until = op.getWritten() ? "" : ".read";
    Value predicate = info.getOf(op).getPredicate();
    emitPredicatedAsm(rewriter, op.getLoc(), predicate,
                      "cp.async.bulk.wait_group" + until + " " +
                          Twine(op.getPending()) + ";",
                      {});
    if (op.getWritten())
      emitPredicatedAsm(rewriter, op.getLoc(), predicate,
                        "fence.proxy.async.global;", {});
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void fa3::populateTmaPatterns(RewritePatternSet &patterns,
                              const TypeConverter &converter,
                              const KernelInfo &info) {
  patterns.add<TmaLoadPattern, TmaStorePattern, TmaCommitPattern,
               TmaWaitReadPattern>(converter, patterns.getContext(), info);
}
