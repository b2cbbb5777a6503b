//===- ExactSums.cpp - sums of integers, and along diagonals --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A term is one 64-bit integer that memory adds. Sums of diagonals come first
// where they may: each takes the elements of sixteen rows.
//===----------------------------------------------------------------------===//

#include "../InlineAsm.h"
#include "../Patterns.h"
#include "fa3/Dialect/Hopper/IR/HopperExactOps.h"
#include "fa3/Support/ExactSum.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

static constexpr int64_t kWordBytes = sizeof(int64_t);

//===----------------------------------------------------------------------===//
// Diagonals
//===----------------------------------------------------------------------===//

namespace {
/// Reduces the diagonals of a fragment. A thread's elements lie in blocks of 8
/// x 8: block m of a thread has those 8 m columns right of their row, but for
/// -7 to 7 columns that the lane says.
class DiagonalReducer {
public:
  DiagonalReducer(OpBuilder &builder, Location loc, DiagonalReduceOp op,
                  Value lane)
      : b(builder), loc(loc), ints(builder, loc), kind(op.getKind()),
        element(cast<VectorType>(op.getSource().getType()).getElementType()),
        layout(op.getFragment().getLayout()), lane(lane) {
    none = kind == Combine::add
               ? arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0))
                     .getResult()
               : ints.constant(std::numeric_limits<int32_t>::min());
  }

  SmallVector<Value> reduce(ValueRange elements);

private:
  static constexpr int64_t kBlock = 8, kPair = 2, kLanesOfRow = 4;

  Value combine(Value x, Value y) {
    if (!x || !y)
      return x ? x : y;
    if (kind == Combine::add)
      return arith::AddFOp::create(b, loc, x, y);
    return arith::MaxSIOp::create(b, loc, x, y);
  }
  Value exchange(Value value, Value operand, NVVM::ShflKind how) {
    Value clamp = ints.constant(31);
    return NVVM::ShflOp::create(b, loc, element, ints.constant(-1), value,
                                operand, clamp, how, UnitAttr());
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x ? x : none,
                                   y ? y : none);
  }
  Value isSet(int64_t bits) {
    Value zero = ints.constant(0);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                 ints.bitAnd(lane, bits), zero);
  }
  /// Blocks of diagonals from the elements of column `number` of each pair.
  void addBlocks(ArrayRef<Value> ofThread, int64_t number,
                 MutableArrayRef<Value> blocks);
  /// Of four blocks the one of this lane's number in its row, over the lanes of
  /// the row.
  Value gather(ArrayRef<Value> four);

  OpBuilder &b;
  Location loc;
  IntegerBuilder ints;
  Combine kind;
  Type element;
  const LinearLayout &layout;
  Value lane, none;
};
} // namespace

/// Lane (v, c) has what is v - 8 or v columns right of the rows: from row 2 c +
/// number - v, in a block further to the left if that is below 0.
void DiagonalReducer::addBlocks(ArrayRef<Value> ofThread, int64_t number,
                                MutableArrayRef<Value> blocks) {
  Value place = ints.bitAnd(lane, kLanesOfRow - 1);
  Value diagonal = arith::ShRUIOp::create(b, loc, lane, ints.constant(2));
  Value ofPair = ints.constant(number);
  Value column = ints.add(ints.mul(place, kPair), ofPair);
  Value row = arith::SubIOp::create(b, loc, column, diagonal);
  Value isLeft = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, row,
                                       ints.constant(0));
  Value from =
      ints.add(ints.mul(ints.bitAnd(row, kBlock - 1), kLanesOfRow), place);
  auto moved = llvm::map_to_vector(ofThread, [&](Value value) {
    return exchange(value, from, NVVM::ShflKind::idx);
  });
  for (auto [n, block] : llvm::enumerate(blocks)) {
    // Block n takes block n - 1 of threads, or block n if rows are below.
    Value same = n > 0 ? moved[n - 1] : Value(),
          left = n < moved.size() ? moved[n] : Value();
    block = combine(block, select(isLeft, left, same));
  }
}

Value DiagonalReducer::gather(ArrayRef<Value> four) {
  auto halve = [&](Value first, Value second, int64_t distance) -> Value {
    if (!first && !second)
      return Value();
    Value isSecond = isSet(distance);
    Value kept = select(isSecond, second, first),
          given = select(isSecond, first, second);
    return combine(
        kept, exchange(given, ints.constant(distance), NVVM::ShflKind::bfly));
  };
  Value odd = halve(four[1], four[3], 2);
  return halve(halve(four[0], four[2], 2), odd, 1);
}

SmallVector<Value> DiagonalReducer::reduce(ValueRange elements) {
  int64_t columns = layout.getShape().back() / kBlock;
  // Of rows 8 below the block before, of which the first one is number -1.
  SmallVector<Value> ofThread[kPair];
  for (SmallVector<Value> &blocks : ofThread)
    blocks.resize(columns + 1);
  for (auto [r, value] : llvm::enumerate(elements)) {
    LinearLayout::Basis offset = layout.getRegisterOffset(r);
    Value &block = ofThread[offset[1] % kPair]
                           [offset[1] / kBlock - offset[0] / kBlock + 1];
    block = combine(block, value);
  }
  SmallVector<Value> blocks(columns + 2);
  for (int64_t number = 0; number < kPair; ++number)
    addBlocks(ofThread[number], number, blocks);
  SmallVector<Value> results;
  while (blocks.size() % kLanesOfRow)
    blocks.push_back(Value());
  for (size_t i = 0; i < blocks.size(); i += kLanesOfRow)
    results.push_back(gather(ArrayRef(blocks).slice(i, kLanesOfRow)));
  return results;
}

namespace {
struct DiagonalReducePattern : KernelPattern<DiagonalReduceOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(DiagonalReduceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    ValueRange elements =
        vector::ToElementsOp::create(rewriter, loc, adaptor.getSource())
            .getElements();
    SmallVector<Value> results =
        DiagonalReducer(rewriter, loc, op, info.getOf(op).lane)
            .reduce(elements);
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(
        op, cast<VectorType>(op.getResult().getType()), results);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Sums in memory
//===----------------------------------------------------------------------===//

/// Addresses of sums, of which the strides count words.
class SumAddress {
public:
  SumAddress(OpBuilder &builder, Location loc, Value pointer)
      : b(builder), loc(loc) {
    address = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), pointer);
  }

  void add(Value index, Value stride) {
    Value wide = arith::ExtSIOp::create(b, loc, b.getI64Type(), index);
    addWords(b.createOrFold<arith::MulIOp>(loc, wide, stride));
  }
  void addWords(Value words) {
    Value bytes =
        arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(kWordBytes));
    address = arith::AddIOp::create(
        b, loc, address, b.createOrFold<arith::MulIOp>(loc, words, bytes));
  }
  /// What is below 0 is beyond every bound.
  void require(Value index, Value bound) {
    Value limit = b.createOrFold<arith::MaxSIOp>(
        loc, bound, IntegerBuilder(b, loc).constant(0));
    Value fits =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, limit);
    isInside = isInside
                   ? arith::AndIOp::create(b, loc, isInside, fits).getResult()
                   : fits;
  }

  Value address, isInside;

private:
  OpBuilder &b;
  Location loc;
};

/// A term as an integer in units of its word.
struct TermCode {
  Value word, amount, counts;
};

TermCode buildTerm(OpBuilder &b, Location loc, Value term) {
  IntegerBuilder ints(b, loc);
  constexpr int64_t kFraction = (int64_t(1) << kFractionBits) - 1;
  constexpr int64_t kInfinite = 0xff;
  Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), term);
  Value exponent = ints.bitAnd(
      arith::ShRUIOp::create(b, loc, bits, ints.constant(kFractionBits)),
      kInfinite);
  Value hidden = ints.constant(kFraction + 1);
  Value fraction =
      arith::OrIOp::create(b, loc, ints.bitAnd(bits, kFraction), hidden);
  Value size = arith::ShLIOp::create(
      b, loc, fraction, ints.bitAnd(exponent, kExactExponents - 1));
  Value sign = arith::ShRSIOp::create(b, loc, bits, ints.constant(31));
  Value amount = arith::SubIOp::create(
      b, loc, arith::XOrIOp::create(b, loc, size, sign), sign);
  Value isInfinite = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                           exponent, ints.constant(kInfinite));
  TermCode code;
  code.amount =
      arith::SelectOp::create(b, loc, isInfinite, ints.constant(1), amount);
  Value word = arith::ShRUIOp::create(
      b, loc, exponent, ints.constant(llvm::Log2_64(kExactExponents)));
  code.word =
      arith::SelectOp::create(b, loc, isInfinite, ints.constant(0), word);
  code.counts = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, word,
                                      ints.constant(0));
  return code;
}

struct AddExactPattern : KernelPattern<AddExactOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(AddExactOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type wide = rewriter.getI64Type();
    auto getElements = [&](Value vector) {
      return vector::ToElementsOp::create(rewriter, loc, vector).getElements();
    };
    // What is the same for all comes first.
    SumAddress common(rewriter, loc, adaptor.getPointer());
    struct Dimension {
      ValueRange indices;
      Value stride, bound;
    };
    SmallVector<Dimension> dims;
    for (auto [index, stride, bound] : llvm::zip(
             adaptor.getIndices(), adaptor.getStrides(), adaptor.getBounds())) {
      if (isa<VectorType>(index.getType())) {
        dims.push_back({getElements(index), stride, bound});
        continue;
      }
      common.add(index, stride);
      common.require(index, bound);
    }
    for (auto [i, term] : llvm::enumerate(getElements(adaptor.getValue()))) {
      SumAddress sum = common;
      for (const Dimension &dim : dims) {
        sum.add(dim.indices[i], dim.stride);
        sum.require(dim.indices[i], dim.bound);
      }
      TermCode code = buildTerm(rewriter, loc, term);
      sum.addWords(arith::ExtUIOp::create(rewriter, loc, wide, code.word));
      Value counts =
          sum.isInside
              ? arith::AndIOp::create(rewriter, loc, code.counts, sum.isInside)
                    .getResult()
              : code.counts;
      Value amount = arith::ExtSIOp::create(rewriter, loc, wide, code.amount);
      emitPredicatedAsm(rewriter, loc, counts, "red.global.add.u64 [$0], $1;",
                        {sum.address, amount});
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct LoadExactPattern : KernelPattern<LoadExactOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(LoadExactOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const LinearLayout &layout = op.getFragment().getLayout();
    IntegerBuilder ints(rewriter, loc);
    SumAddress common(rewriter, loc, adaptor.getPointer());
    ValueRange indices = adaptor.getIndices(), strides = adaptor.getStrides();
    for (auto [index, stride] :
         llvm::zip(indices.drop_back(), strides.drop_back()))
      common.add(index, stride);
    Value start =
        ints.add(indices.back(), info.getThreadOffset(op, op.getFragment(), 0));
    SmallVector<Value> results;
    for (int64_t r = 0; r < layout.getNumRegisters(); ++r) {
      Value index =
          ints.add(start, ints.constant(layout.getRegisterOffset(r).front()));
      SumAddress sum = common;
      sum.add(index, strides.back());
      sum.require(index, adaptor.getBounds().front());
      results.push_back(readSum(rewriter, loc, sum));
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(
        op, cast<VectorType>(op.getResult().getType()), results);
    return success();
  }

  /// Words from the greatest on, as readExact.
  static Value readSum(OpBuilder &b, Location loc, const SumAddress &sum) {
    auto load = [&](int64_t word) -> Value {
      InlineAsm statement(b, loc);
      statement.addOutput(b.getI64Type(), /*early=*/true);
      statement.addInput(sum.address);
      statement.addInput(sum.isInside);
      return statement
          .emit("mov.b64 $0, 0;\n@$2 ld.global.b64 $0, [$1+" +
                Twine(word * kWordBytes) + "];")
          .front();
    };
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value));
    };
    Value total = number(0), unit = number(1 << kExactExponents);
    for (int64_t word = kExactWords - 1; word > 0; --word) {
      Value term = arith::SIToFPOp::create(b, loc, b.getF64Type(), load(word));
      total = LLVM::FMAOp::create(b, loc, total, unit, term);
    }
    total = arith::MulFOp::create(
        b, loc, total, number(std::ldexp(1.0, kExactExponents - kExactBias)));
    Value result = arith::TruncFOp::create(b, loc, b.getF32Type(), total);
    Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
    Value isFinite =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, load(0), zero);
    Value nan = arith::ConstantOp::create(
        b, loc, b.getF32FloatAttr(std::numeric_limits<float>::quiet_NaN()));
    return arith::SelectOp::create(b, loc, isFinite, result, nan);
  }
};
} // namespace

void fa3::populateExactSumPatterns(RewritePatternSet &patterns,
                                   const TypeConverter &converter,
                                   const KernelInfo &info) {
  patterns.add<DiagonalReducePattern, AddExactPattern, LoadExactPattern>(
      converter, patterns.getContext(), info);
}
