//===- RecordPatterns.cpp - times of events -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "InlineAsm.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {
struct RecordPattern : KernelPattern<RecordOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(RecordOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IntegerBuilder ints(rewriter, loc);
    Value position = adaptor.getPosition();
    Value writes = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::sge, position, ints.constant(0));
    if (Value elected = info.getOf(op).getPredicate())
      writes = arith::AndIOp::create(rewriter, loc, writes, elected);
    // The event is the high half, the clock the low one.
    InlineAsm record(rewriter, loc);
    record.addInput(adaptor.getBuffer());
    record.addInput(position);
    record.addInput(writes);
    record.emit("{ .reg .b32 %time, %event; .reg .b64 %entry; "
                "mov.u32 %time, %clock; mov.b32 %event, " +
                Twine(op.getEvent()) +
                "; mad.wide.s32 %entry, $1, 8, $0; "
                "@$2 st.global.v2.b32 [%entry], {%time, %event}; }");
    Value next = ints.add(position, 1);
    Value inRow = ints.bitAnd(next, int64_t(op.getCapacity()) - 1);
    Value isFull = ints.isEqual(inRow, 0);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isFull, ints.constant(-1),
                                                 next);
    return success();
  }
};
} // namespace

void fa3::populateRecordPatterns(RewritePatternSet &patterns,
                                 const TypeConverter &converter,
                                 const KernelInfo &info) {
  patterns.add<RecordPattern>(converter, patterns.getContext(), info);
}
