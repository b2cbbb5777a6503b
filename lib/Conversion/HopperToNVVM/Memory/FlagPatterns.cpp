//===- FlagPatterns.cpp - tiles that another kernel waits for -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../InlineAsm.h"
#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// The address of a flag.
static Value getAddress(OpBuilder &builder, Location loc, Value pointer,
                        ValueRange indices, ValueRange strides) {
  for (auto [index, stride] : llvm::zip_equal(indices, strides)) {
    Value wide =
        arith::ExtSIOp::create(builder, loc, builder.getI64Type(), index);
    Value offset = builder.createOrFold<arith::MulIOp>(loc, wide, stride);
    pointer = LLVM::GEPOp::create(builder, loc, pointer.getType(),
                                  builder.getI32Type(), pointer,
                                  ArrayRef<LLVM::GEPArg>{offset});
  }
  return pointer;
}

namespace {
struct FlagClearPattern : KernelPattern<FlagClearOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(FlagClearOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value address = getAddress(rewriter, loc, adaptor.getPointer(),
                               adaptor.getIndices(), adaptor.getStrides());
    StringRef start =
        op.getStart() ? "griddepcontrol.launch_dependents;\n" : "";
    emitPredicatedAsm(
        rewriter, loc, Value(),
        "{\n.reg .pred P1;\nsetp.ne.b32 P1, $0, " +
            Twine(info.getNumWarps() - 1) +
            ";\n@P1 bra DONE_${:uid};\nsetp.ne.b32 P1, $1, 0;\n"
            "@P1 bra NEXT_${:uid};\nst.relaxed.gpu.global.u32 [$2], 0;\n"
            "fence.acq_rel.gpu;\nNEXT_${:uid}:\nbar.warp.sync 0xffffffff;\n" +
            start + "DONE_${:uid}:\n}",
        {info.getBlockWarp(), info.getOf(op).lane, address});
    rewriter.eraseOp(op);
    return success();
  }
};

struct FlagSetPattern : KernelPattern<FlagSetOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(FlagSetOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value elected = info.getOf(op).getPredicate();
    Value address = getAddress(rewriter, loc, adaptor.getPointer(),
                               adaptor.getIndices(), adaptor.getStrides());
    emitPredicatedAsm(rewriter, loc, elected, "fence.acq_rel.gpu;", {});
    emitPredicatedAsm(rewriter, loc, elected,
                      "st.release.gpu.global.u32 [$0], 1;", address);
    rewriter.eraseOp(op);
    return success();
  }
};

struct FlagAwaitPattern : KernelPattern<FlagAwaitOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(FlagAwaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IntegerBuilder ints(rewriter, loc);
    Value address = getAddress(rewriter, loc, adaptor.getPointer(),
                               adaptor.getIndices(), adaptor.getStrides());
    constexpr int64_t kFlagBytes = 4;
    Value bytes = arith::ConstantOp::create(
        rewriter, loc, rewriter.getI64IntegerAttr(kFlagBytes));
    Value step =
        rewriter.createOrFold<arith::MulIOp>(loc, adaptor.getStep(), bytes);
    int64_t threads = info.getNumWarps() * kSm90a.threadsPerWarp;
    emitPredicatedAsm(
        rewriter, loc, Value(),
        "{\n.reg .pred P1;\n.reg .b32 I1, F1;\n.reg .b64 A1;\n"
        "mov.b32 I1, $0;\n"
        "NEXT_${:uid}:\nsetp.ge.s32 P1, I1, $1;\n@P1 bra DONE_${:uid};\n"
        "cvt.u64.u32 A1, I1;\nmad.lo.u64 A1, A1, $3, $2;\n"
        "LOOK_${:uid}:\nld.acquire.gpu.global.b32 F1, [A1];\n"
        "setp.ne.b32 P1, F1, 1;\n@P1 nanosleep.u32 64;\n"
        "@P1 bra LOOK_${:uid};\n"
        "add.s32 I1, I1, " +
            Twine(threads) + ";\nbra NEXT_${:uid};\nDONE_${:uid}:\n" +
            (op.getCopies() ? "fence.proxy.async.global;\n}" : "}"),
        {info.getOf(op).thread, adaptor.getCount(), address, step});
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void fa3::populateFlagPatterns(RewritePatternSet &patterns,
                               const TypeConverter &converter,
                               const KernelInfo &info) {
  patterns.add<FlagClearPattern, FlagSetPattern, FlagAwaitPattern>(
      converter, patterns.getContext(), info);
}
