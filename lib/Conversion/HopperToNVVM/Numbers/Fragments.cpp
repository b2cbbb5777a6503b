//===- Fragments.cpp - coordinates and reductions of fragments ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// a + b or the larger of both (a NaN loses).
static Value combine(OpBuilder &builder, Location loc, Combine kind, Value a,
                     Value b) {
  bool isFloat = isa<FloatType>(a.getType());
  if (kind == Combine::add)
    return isFloat ? Value(arith::AddFOp::create(builder, loc, a, b))
                   : Value(arith::AddIOp::create(builder, loc, a, b));
  return isFloat ? Value(arith::MaxNumFOp::create(builder, loc, a, b))
                 : Value(arith::MaxSIOp::create(builder, loc, a, b));
}

namespace {
/// A base that differs between threads plus constants: what compares with it
/// becomes a comparison with immediates (see simplifyComparisons).
struct CoordPattern : KernelPattern<CoordOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(CoordOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const LinearLayout &layout = op.getFragment().getLayout();
    IntegerBuilder ints(rewriter, loc);
    Value base =
        ints.add(adaptor.getOffset(),
                 info.getThreadOffset(op, op.getFragment(), op.getDim()));
    auto type = cast<VectorType>(op.getResult().getType());
    SmallVector<int32_t> offsets;
    for (int64_t r = 0; r < layout.getNumRegisters(); ++r)
      offsets.push_back(layout.getRegisterOffset(r)[op.getDim()]);
    Value splat = vector::BroadcastOp::create(rewriter, loc, type, base);
    Value constants = arith::ConstantOp::create(
        rewriter, loc, DenseElementsAttr::get(type, ArrayRef(offsets)));
    rewriter.replaceOpWithNewOp<arith::AddIOp>(op, splat, constants);
    return success();
  }
};

/// For every register of a fragment, the register of the reduced fragment that
/// it is combined into. Registers that the reduction makes equal merge; the
/// others keep their order. Empty if some would be split.
SmallVector<int64_t> getReducedRegisters(const LinearLayout &layout,
                                         int64_t dim,
                                         std::optional<uint64_t> modulo) {
  auto reduce = [&](LinearLayout::Basis offset) {
    offset[dim] = modulo ? offset[dim] % static_cast<int64_t>(*modulo) : 0;
    return offset;
  };
  auto isZero = [](const LinearLayout::Basis &offset) {
    return llvm::all_of(offset, [](int64_t v) { return v == 0; });
  };
  int64_t registers = layout.getNumRegisters();
  // Digits that survive, as (divisor, count) of the register number.
  SmallVector<std::pair<int64_t, int64_t>> digits;
  int64_t divisor = 1;
  for (const LinearLayout::Basis &basis : layout.getRegisterBases()) {
    if (!isZero(reduce(basis)))
      digits.push_back({divisor, 2});
    divisor *= 2;
  }
  for (const LinearLayout::Repeat &repeat : layout.getRepeats()) {
    if (repeat.dim != dim)
      digits.push_back({divisor, repeat.count});
    else if (modulo && repeat.stride % static_cast<int64_t>(*modulo))
      return {};
    divisor *= repeat.count;
  }
  SmallVector<int64_t> result(registers);
  for (int64_t r = 0; r < registers; ++r) {
    int64_t scale = 1;
    for (auto [divisor, count] : digits) {
      result[r] += r / divisor % count * scale;
      scale *= count;
    }
  }
  return result;
}

struct FragmentReducePattern : KernelPattern<FragmentReduceOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(FragmentReduceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getResult().getType());
    SmallVector<int64_t> targets = getReducedRegisters(
        op.getFragment().getLayout(), op.getDim(), op.getModulo());
    int64_t count = type.getNumElements();
    assert(count == *llvm::max_element(targets) + 1 &&
           "the verifier counts what a thread holds of the reduced tile");
    ValueRange elements =
        vector::ToElementsOp::create(rewriter, loc, adaptor.getSource())
            .getElements();
    SmallVector<SmallVector<Value>> parts(count);
    for (auto [value, target] : llvm::zip(elements, targets))
      parts[target].push_back(value);
    bool isMagnitude = op.getKind() == Combine::max &&
                       type.getElementType().isF32() &&
                       op.getSource().getDefiningOp<math::AbsFOp>();
    SmallVector<Value> results;
    for (ArrayRef<Value> part : parts)
      results.push_back(isMagnitude
                            ? reduceMagnitudes(rewriter, loc, part)
                            : reduce(rewriter, loc, op.getKind(), part));
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, results);
    return success();
  }

  /// Floats that are not negative are ordered as their bits are, and of maxima
  /// of integers ptxas makes one instruction of two (VIMNMX3). Those of floats
  /// take absolute values in the same instruction, so each value is an operand
  /// of one first.
  Value reduceMagnitudes(OpBuilder &builder, Location loc,
                         ArrayRef<Value> values) const {
    SmallVector<Value> pairs;
    for (size_t i = 0; i < values.size(); i += 2) {
      Value greater = values[i];
      if (i + 1 < values.size())
        greater = combine(builder, loc, Combine::max, greater, values[i + 1]);
      pairs.push_back(arith::BitcastOp::create(builder, loc,
                                               builder.getI32Type(), greater));
    }
    return arith::BitcastOp::create(builder, loc, builder.getF32Type(),
                                    reduce(builder, loc, Combine::max, pairs));
  }

  /// Several chains, whose latencies overlap, then a tree over their ends.
  Value reduce(OpBuilder &builder, Location loc, Combine kind,
               ArrayRef<Value> values) const {
    size_t chains = std::max<int64_t>(info.getOptions().reductionChains, 1);
    SmallVector<Value> partial(values.take_front(chains));
    for (size_t i = partial.size(); i < values.size(); ++i)
      partial[i % chains] =
          combine(builder, loc, kind, partial[i % chains], values[i]);
    while (partial.size() > 1) {
      size_t half = llvm::divideCeil(partial.size(), 2);
      for (size_t i = 0; i + half < partial.size(); ++i)
        partial[i] = combine(builder, loc, kind, partial[i], partial[i + half]);
      partial.resize(half);
    }
    return partial.front();
  }
};

struct LaneReducePattern : KernelPattern<LaneReduceOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(LaneReduceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getResult().getType());
    Type element = type.getElementType();
    if (!element.isF32() && !element.isInteger(32))
      return op.emitOpError("expects elements of f32 or i32, got ") << element;
    IntegerBuilder ints(rewriter, loc);
    Value everyone = ints.constant(-1), clamp = ints.constant(31);
    SmallVector<Value> values = llvm::to_vector_of<Value>(
        vector::ToElementsOp::create(rewriter, loc, adaptor.getSource())
            .getElements());
    for (int64_t bit : op.getLaneBits()) {
      Value distance = ints.constant(int64_t(1) << bit);
      for (Value &value : values) {
        Value other = NVVM::ShflOp::create(rewriter, loc, element, everyone,
                                           value, distance, clamp,
                                           NVVM::ShflKind::bfly, UnitAttr());
        value = combine(rewriter, loc, op.getKind(), value, other);
      }
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, values);
    return success();
  }
};

struct VoteAnyPattern : KernelPattern<VoteAnyOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(VoteAnyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    ValueRange elements =
        vector::ToElementsOp::create(rewriter, loc, adaptor.getSource())
            .getElements();
    Value any = elements.front();
    for (Value element : elements.drop_front())
      any = arith::OrIOp::create(rewriter, loc, any, element);
    Value everyone = IntegerBuilder(rewriter, loc).constant(-1);
    rewriter.replaceOpWithNewOp<NVVM::VoteSyncOp>(
        op, rewriter.getI1Type(), everyone, any, NVVM::VoteSyncKind::any);
    return success();
  }
};

/// The region of a branch becomes that of another one.
static void moveRegion(Region &from, Block *to,
                       ConversionPatternRewriter &rewriter) {
  if (!to->empty())
    rewriter.eraseOp(to->getTerminator());
  auto yield = cast<YieldOp>(from.front().getTerminator());
  SmallVector<Value> results(yield.getValues());
  rewriter.mergeBlocks(&from.front(), to);
  rewriter.setInsertionPoint(yield);
  rewriter.replaceOpWithNewOp<scf::YieldOp>(yield, results);
}

struct WarpIfPattern : KernelPattern<WarpIfOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(WarpIfOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto branch =
        scf::IfOp::create(rewriter, op.getLoc(), op.getResultTypes(),
                          adaptor.getCondition(), /*withElseRegion=*/true);
    moveRegion(op.getBody(), branch.thenBlock(), rewriter);
    rewriter.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(rewriter, op.getLoc(), adaptor.getOtherwise());
    rewriter.replaceOp(op, branch.getResults());
    return success();
  }
};

struct WarpIfElsePattern : KernelPattern<WarpIfElseOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(WarpIfElseOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto branch =
        scf::IfOp::create(rewriter, op.getLoc(), op.getResultTypes(),
                          adaptor.getCondition(), /*withElseRegion=*/true);
    moveRegion(op.getThenBody(), branch.thenBlock(), rewriter);
    moveRegion(op.getElseBody(), branch.elseBlock(), rewriter);
    rewriter.replaceOp(op, branch.getResults());
    return success();
  }
};
} // namespace

void fa3::populateFragmentPatterns(RewritePatternSet &patterns,
                                   const TypeConverter &converter,
                                   const KernelInfo &info) {
  patterns.add<CoordPattern, FragmentReducePattern, LaneReducePattern,
               VoteAnyPattern, WarpIfPattern, WarpIfElsePattern>(
      converter, patterns.getContext(), info);
}
