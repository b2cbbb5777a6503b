//===- Shares.cpp - tiles that CTAs share out -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../InlineAsm.h"
#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// Whether a value is the tile after the current one: as claimed, as another
/// group tells, or the greater of that and the current one.
static bool isNextTile(Value value) {
  if (auto greater = value.getDefiningOp<arith::MaxUIOp>())
    return isNextTile(greater.getLhs()) || isNextTile(greater.getRhs());
  return isa_and_nonnull<ClaimOp, MailboxReadOp>(value.getDefiningOp());
}

/// A loop up to a share ends when there is no tile left.
static LogicalResult lowerShare(scf::ForOp loop, ShareOp share) {
  if (!loop.getInductionVar().use_empty())
    return loop.emitOpError("expects a loop over the tiles of a CTA not to use "
                            "their number");
  if (loop.getNumResults() == 0 || !loop.getResult(0).getType().isInteger(32) ||
      !isNextTile(loop.getBody()->getTerminator()->getOperand(0)))
    return loop.emitOpError("expects a loop over the tiles of a CTA to carry "
                            "the tile (i32) as its first value");
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  auto before = [&](OpBuilder &b, Location, ValueRange carried) {
    Value isTile = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                         carried[0], share.getTiles());
    scf::ConditionOp::create(b, loc, isTile, carried);
  };
  auto lowered = scf::WhileOp::create(builder, loc, loop.getResultTypes(),
                                      loop.getInitArgs(), before,
                                      [](OpBuilder &, Location, ValueRange) {});
  Block *body = lowered.getAfterBody();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  for (auto [from, to] :
       llvm::zip(loop.getRegionIterArgs(), body->getArguments()))
    from.replaceAllUsesWith(to);
  loop.replaceAllUsesWith(lowered);
  loop.erase();
  return success();
}

LogicalResult fa3::lowerShares(gpu::GPUFuncOp kernel) {
  SmallVector<std::pair<scf::ForOp, ShareOp>> loops;
  SmallVector<ShareOp> shares;
  kernel.walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (auto share = loop.getUpperBound().getDefiningOp<ShareOp>())
        loops.push_back({loop, share});
    } else if (auto share = dyn_cast<ShareOp>(op)) {
      shares.push_back(share);
    }
  });
  for (auto [loop, share] : loops)
    if (failed(lowerShare(loop, share)))
      return failure();
  for (ShareOp share : shares) {
    if (!share->use_empty())
      return share.emitOpError("expects to be the upper bound of loops only");
    share.erase();
  }
  return success();
}

namespace {
/// A value that is the same in all lanes, in a form that tells ptxas so: what
/// depends on it can stay in uniform registers, and so can all of a loop that
/// it ends.
Value getUniform(OpBuilder &builder, Location loc, Value value) {
  IntegerBuilder ints(builder, loc);
  Value clamp = ints.constant(31);
  Value first = ints.constant(0);
  return NVVM::ShflOp::create(builder, loc, value.getType(), ints.constant(-1),
                              value, first, clamp, NVVM::ShflKind::idx,
                              UnitAttr());
}

struct ClaimPattern : KernelPattern<ClaimOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ClaimOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    const GroupInfo &group = info.getOf(op);
    Location loc = op.getLoc();
    if (group.singleThreaded) {
      rewriter.replaceOp(op, claim(op, adaptor, rewriter));
      return success();
    }
    auto parent = op->getParentOfType<warp::GroupOp>();
    if (!parent || parent.getWarps() != 1)
      return op.emitOpError("expects a group of one warp");
    auto branch = scf::IfOp::create(rewriter, loc, rewriter.getI32Type(),
                                    group.elected, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(rewriter, loc, claim(op, adaptor, rewriter));
      rewriter.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(rewriter, loc,
                           IntegerBuilder(rewriter, loc).constant(0));
    }
    rewriter.replaceOp(op, getUniform(rewriter, loc, branch.getResult(0)));
    return success();
  }

private:
  Value claim(ClaimOp op, OpAdaptor adaptor, OpBuilder &rewriter) const {
    Location loc = op.getLoc();
    Type i32 = rewriter.getI32Type();
    InlineAsm add(rewriter, loc);
    add.addOutput(i32);
    add.addInput(adaptor.getCounter());
    Value old = add.emit("atom.relaxed.gpu.global.add.u32 $0, [$1], 1;")[0];
    // The last claim of the launch: nobody else looks at the counter any more.
    Value one =
        arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(1));
    Value last = arith::SubIOp::create(rewriter, loc, adaptor.getTiles(), one);
    Value isLast = arith::CmpIOp::create(rewriter, loc,
                                         arith::CmpIPredicate::eq, old, last);
    emitPredicatedAsm(rewriter, loc, isLast,
                      "st.relaxed.gpu.global.u32 [$0], 0;",
                      adaptor.getCounter());
    Value blocks = NVVM::GridDimXOp::create(rewriter, loc, i32);
    return arith::AddIOp::create(rewriter, loc, old, blocks);
  }
};

Value getSlotAddress(OpBuilder &builder, Location loc, Value mailbox,
                     Value index) {
  IntegerBuilder ints(builder, loc);
  return ints.add(mailbox, ints.mul(index, MailboxAllocOp::kSlotBytes));
}

struct PostPattern : KernelPattern<MailboxPostOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(MailboxPostOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value address = getSlotAddress(rewriter, op.getLoc(), adaptor.getMailbox(),
                                   adaptor.getIndex());
    emitPredicatedAsm(rewriter, op.getLoc(), info.getOf(op).getPredicate(),
                      "st.shared.u32 [$0], $1;", {address, adaptor.getValue()});
    rewriter.eraseOp(op);
    return success();
  }
};

struct ReadPattern : KernelPattern<MailboxReadOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(MailboxReadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    InlineAsm load(rewriter, op.getLoc());
    load.addOutput(rewriter.getI32Type());
    load.addInput(getSlotAddress(rewriter, op.getLoc(), adaptor.getMailbox(),
                                 adaptor.getIndex()));
    Value loaded = load.emit("ld.shared.u32 $0, [$1];")[0];
    rewriter.replaceOp(op, getUniform(rewriter, op.getLoc(), loaded));
    return success();
  }
};
} // namespace

void fa3::populateSharePatterns(RewritePatternSet &patterns,
                                const TypeConverter &converter,
                                const KernelInfo &info) {
  patterns.add<ClaimPattern, PostPattern, ReadPattern>(
      converter, patterns.getContext(), info);
}
