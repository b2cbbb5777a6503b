//===- Search.cpp - numbers of a rising array below a line ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every lane of a warp looks at an element, a vote gathers the answers, and
// their number is the result: once for every s-th element, once for those
// between two.
//===----------------------------------------------------------------------===//

#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

static constexpr int64_t kLanes = 32;

namespace {
struct SearchPattern : KernelPattern<SearchOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(SearchOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IntegerBuilder ints(rewriter, loc);
    Value lane = info.getOf(op).lane;
    Value count = arith::SubIOp::create(rewriter, loc, adaptor.getEnd(),
                                        adaptor.getFirst());
    Value sum = ints.add(count, kLanes - 1);
    Value one = ints.constant(1);
    Value stride = arith::MaxSIOp::create(
        rewriter, loc,
        arith::ShRSIOp::create(rewriter, loc, sum, ints.constant(5)), one);
    Value front =
        countBelow(op, adaptor, rewriter,
                   arith::MulIOp::create(rewriter, loc, lane, stride), count);
    if (op.getMost() <= kLanes) {
      rewriter.replaceOp(op, front);
      return success();
    }
    // Between elements, if there is something and one in front is below.
    Value hasMore = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::sgt, stride, ints.constant(1));
    Value hasFront = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::sgt, front, ints.constant(0));
    auto branch = scf::IfOp::create(
        rewriter, loc, rewriter.getI32Type(),
        arith::AndIOp::create(rewriter, loc, hasMore, hasFront),
        /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(rewriter, loc, front);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      Value base =
          arith::MulIOp::create(rewriter, loc, ints.add(front, -1), stride);
      Value last = arith::MinSIOp::create(
          rewriter, loc, arith::AddIOp::create(rewriter, loc, base, stride),
          count);
      Value result = ints.add(base, 1);
      int64_t between = llvm::divideCeil(op.getMost(), kLanes) - 1;
      for (int64_t seen = 0; seen < between; seen += kLanes) {
        Value i = ints.add(arith::AddIOp::create(rewriter, loc, base, lane),
                           1 + seen);
        result = arith::AddIOp::create(
            rewriter, loc, result, countBelow(op, adaptor, rewriter, i, last));
      }
      scf::YieldOp::create(rewriter, loc, result);
    }
    rewriter.replaceOp(op, branch.getResult(0));
    return success();
  }

private:
  /// In how many lanes the element that is `i` behind the first is in front of
  /// `last`, and below the line. Lanes without one read some other.
  Value countBelow(SearchOp op, OpAdaptor adaptor, OpBuilder &rewriter, Value i,
                   Value last) const {
    Location loc = op.getLoc();
    IntegerBuilder ints(rewriter, loc);
    Value isThere = arith::CmpIOp::create(rewriter, loc,
                                          arith::CmpIPredicate::slt, i, last);
    Value greatest = ints.add(adaptor.getEnd(), -1);
    Value at = arith::MinSIOp::create(
        rewriter, loc,
        arith::AddIOp::create(rewriter, loc, i, adaptor.getFirst()), greatest);
    Value offset = arith::MulIOp::create(
        rewriter, loc,
        arith::ExtSIOp::create(rewriter, loc, rewriter.getI64Type(), at),
        adaptor.getStride());
    Value pointer = LLVM::GEPOp::create(
        rewriter, loc, adaptor.getPointer().getType(), rewriter.getI32Type(),
        adaptor.getPointer(), ArrayRef<LLVM::GEPArg>{offset});
    // The array is read-only during the launch, if kernels in front are done.
    Value number = LLVM::LoadOp::create(
        rewriter, loc, rewriter.getI32Type(), pointer, /*alignment=*/4,
        /*isVolatile=*/false, /*isNonTemporal=*/false,
        /*isInvariant=*/!info.waits());
    Value line = arith::SubIOp::create(
        rewriter, loc, adaptor.getLimit(),
        arith::MulIOp::create(rewriter, loc, adaptor.getStep(), at));
    Value isBelow = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::slt, number, line);
    Value counts = arith::AndIOp::create(rewriter, loc, isThere, isBelow);
    Value votes = NVVM::VoteSyncOp::create(rewriter, loc, rewriter.getI32Type(),
                                           ints.constant(-1), counts,
                                           NVVM::VoteSyncKind::ballot);
    return LLVM::CtPopOp::create(rewriter, loc, votes);
  }
};
} // namespace

void fa3::populateSearchPatterns(RewritePatternSet &patterns,
                                 const TypeConverter &converter,
                                 const KernelInfo &info) {
  patterns.add<SearchPattern>(converter, patterns.getContext(), info);
}
