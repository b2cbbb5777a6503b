//===- BarrierPatterns.cpp - shared memory, barriers and fences -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "../InlineAsm.h"
#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {
/// An allocation is a constant distance from the start of shared memory, plus
/// that of the replica it belongs to.
template <typename AllocOp>
struct AllocPattern : KernelPattern<AllocOp> {
  using KernelPattern<AllocOp>::KernelPattern;

  LogicalResult
  matchAndRewrite(AllocOp op, typename AllocOp::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getOffset())
      return op.emitOpError("expects an offset (see hopper-allocate-smem)");
    Location loc = op.getLoc();
    IntegerBuilder ints(rewriter, loc);
    Value address = ints.add(this->info.getSharedMemory(), *op.getOffset());
    const GroupInfo &group = this->info.getOf(op);
    auto parent = op->template getParentOfType<warp::GroupOp>();
    if (parent && parent.getReplicas() > 1) {
      Value replica = arith::IndexCastOp::create(
          rewriter, loc, rewriter.getI32Type(), group.replica);
      address = ints.add(address, ints.mul(replica, op.getReplicaBytes()));
    }
    rewriter.replaceOp(op, address);
    return success();
  }
};

Value getBarrierAddress(OpBuilder &builder, Location loc, Value barrier,
                        Value index) {
  IntegerBuilder ints(builder, loc);
  return ints.add(barrier, ints.mul(index, BarrierAllocOp::kAlignment));
}

struct BarrierInitPattern : KernelPattern<BarrierInitOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(BarrierInitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op->getParentOfType<warp::GroupOp>())
      return op.emitOpError("expects to stand outside of groups, thread 0 of "
                            "the block performs it");
    Location loc = op.getLoc();
    auto branch = scf::IfOp::create(rewriter, loc, info.getOf(op).elected,
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    IntegerBuilder ints(rewriter, loc);
    for (auto [barrier, address] :
         llvm::zip(op.getBarriers(), adaptor.getBarriers())) {
      auto type = cast<BarrierType>(barrier.getType());
      for (int64_t i = 0; i < type.getCount(); ++i)
        emitPredicatedAsm(
            rewriter, loc, Value(),
            "mbarrier.init.shared::cta.b64 [$0], " + Twine(type.getArrivals()) +
                ";",
            getBarrierAddress(rewriter, loc, address, ints.constant(i)));
    }
    emitPredicatedAsm(rewriter, loc, Value(),
                      "fence.mbarrier_init.release.cluster;", {});
    rewriter.eraseOp(op);
    return success();
  }
};

struct SmemFillPattern : KernelPattern<SmemFillOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(SmemFillOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op->getParentOfType<warp::GroupOp>())
      return op.emitOpError("expects to stand outside of groups, all threads "
                            "of the block perform it");
    Location loc = op.getLoc();
    IntegerBuilder ints(rewriter, loc);
    BufferType type = op.getBuffer().getType();
    constexpr int64_t kBytes = 16;
    int64_t bytes = type.getSlots() * type.getSlotBytes();
    int64_t stride = info.getNumWarps() * kSm90a.threadsPerWarp * kBytes;
    llvm::APInt bits =
        cast<FloatAttr>(op.getValue()).getValue().bitcastToAPInt();
    Value word = ints.constant(
        static_cast<int32_t>(llvm::APInt::getSplat(32, bits).getZExtValue()));
    Value thread = info.getOf(op).thread;
    for (int64_t start = 0; start < bytes; start += stride) {
      Value inside;
      if (start + stride > bytes)
        inside = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                                       thread,
                                       ints.constant((bytes - start) / kBytes));
      Value ofThread = ints.mul(thread, kBytes);
      Value address = ints.add(ints.add(adaptor.getBuffer(), start), ofThread);
      emitPredicatedAsm(rewriter, loc, inside,
                        "st.shared.v4.b32 [$0], {$1, $1, $1, $1};",
                        {address, word});
    }
    emitPredicatedAsm(rewriter, loc, Value(), "fence.proxy.async.shared::cta;",
                      {});
    rewriter.eraseOp(op);
    return success();
  }
};

struct BarrierWaitPattern : KernelPattern<BarrierWaitOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(BarrierWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value address = getBarrierAddress(rewriter, loc, adaptor.getBarrier(),
                                      adaptor.getIndex());
    emitPredicatedAsm(
        rewriter, loc, Value(),
        "{\n.reg .pred P1;\nWAIT_${:uid}:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 P1, [$0], $1;\n"
        "@P1 bra DONE_${:uid};\nbra WAIT_${:uid};\nDONE_${:uid}:\n}",
        {address, adaptor.getParity()});
    rewriter.eraseOp(op);
    return success();
  }
};

struct BarrierArrivePattern : KernelPattern<BarrierArriveOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(BarrierArriveOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    emitPredicatedAsm(rewriter, op.getLoc(), info.getOf(op).getPredicate(),
                      "mbarrier.arrive.shared::cta.b64 _, [$0];",
                      getBarrierAddress(rewriter, op.getLoc(),
                                        adaptor.getBarrier(),
                                        adaptor.getIndex()));
    rewriter.eraseOp(op);
    return success();
  }
};

struct BarrierExpectTxPattern : KernelPattern<BarrierExpectTxOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(BarrierExpectTxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    emitPredicatedAsm(rewriter, op.getLoc(), info.getOf(op).getPredicate(),
                      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], " +
                          Twine(op.getBytes()) + ";",
                      getBarrierAddress(rewriter, op.getLoc(),
                                        adaptor.getBarrier(),
                                        adaptor.getIndex()));
    rewriter.eraseOp(op);
    return success();
  }
};

struct NamedBarrierSyncPattern : KernelPattern<NamedBarrierSyncOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(NamedBarrierSyncOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    emitPredicatedAsm(rewriter, op.getLoc(), Value(),
                      "bar.sync $0, " + Twine(op.getThreads()) + ";",
                      adaptor.getId());
    rewriter.eraseOp(op);
    return success();
  }
};

struct NamedBarrierArrivePattern : KernelPattern<NamedBarrierArriveOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(NamedBarrierArriveOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    emitPredicatedAsm(rewriter, op.getLoc(), Value(),
                      "bar.arrive $0, " + Twine(op.getThreads()) + ";",
                      adaptor.getId());
    rewriter.eraseOp(op);
    return success();
  }
};

template <typename FenceOp>
struct FencePattern : KernelPattern<FenceOp> {
  using KernelPattern<FenceOp>::KernelPattern;

  LogicalResult
  matchAndRewrite(FenceOp op, typename FenceOp::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    emitPredicatedAsm(rewriter, op.getLoc(), Value(),
                      std::is_same_v<FenceOp, FenceAcqRelOp>
                          ? "fence.acq_rel.cta;"
                          : "fence.proxy.async.shared::cta;",
                      {});
    rewriter.eraseOp(op);
    return success();
  }
};

struct SetMaxRegistersPattern : KernelPattern<SetMaxRegistersOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(SetMaxRegistersOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::SetMaxRegisterOp>(
        op, op.getRegisters(),
        op.getIncrease() ? NVVM::SetMaxRegisterAction::increase
                         : NVVM::SetMaxRegisterAction::decrease);
    return success();
  }
};
} // namespace

void fa3::populateBarrierPatterns(RewritePatternSet &patterns,
                                  const TypeConverter &converter,
                                  const KernelInfo &info) {
  patterns.add<AllocPattern<AllocOp>, AllocPattern<BarrierAllocOp>,
               AllocPattern<MailboxAllocOp>, SmemFillPattern,
               BarrierInitPattern, BarrierWaitPattern, BarrierArrivePattern,
               BarrierExpectTxPattern, NamedBarrierSyncPattern,
               NamedBarrierArrivePattern, FencePattern<FenceProxyAsyncOp>,
               FencePattern<FenceAcqRelOp>, SetMaxRegistersPattern>(
      converter, patterns.getContext(), info);
}
