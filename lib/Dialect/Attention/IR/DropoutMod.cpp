//===- DropoutMod.cpp - weights that are dropped at random ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The random bytes are those of FlashAttention-2: Philox (Salmon et al.,
// "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011) with seven rounds,
// whose counter says batch, head and block of the scores. What 16 bytes belong
// to is what a thread holds of 16 x 32 scores in the accumulators of mma.
//===----------------------------------------------------------------------===//

#include "ModCode.h"
#include "fa3/Machine/Chip.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace fa3::attention;

std::optional<KeptShare> fa3::attention::getKeptShare(double p) {
  // In the types of FlashAttention-2, as the threshold depends on rounding.
  float kept = 1.0f - static_cast<float>(p);
  if (!(p >= 0) || !(kept > 0))
    return std::nullopt;
  return KeptShare{
      static_cast<int64_t>(std::floor(static_cast<double>(kept) * 255.0)),
      1.0f / kept};
}

float DropoutAttr::getFactorOfKept() const {
  return getKeptShare(getP().getValueAsDouble())->scale;
}

namespace {
/// Arithmetic on i32, and on i64 for seed, offset and products.
class WordBuilder {
public:
  explicit WordBuilder(ImplicitLocOpBuilder &b) : b(b) {}

  Value word(uint32_t value) {
    return arith::ConstantOp::create(
        b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value wide(int64_t value) {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  }
  Value fromIndex(Value index) {
    return arith::IndexCastOp::create(b, b.getI32Type(), index);
  }
  template <typename Op>
  Value apply(Value x, Value y) {
    return Op::create(b, x, y);
  }
  template <typename Op>
  Value apply(Value x, uint32_t y) {
    return Op::create(b, x, word(y));
  }
  Value low(Value value) {
    return arith::TruncIOp::create(b, b.getI32Type(), value);
  }
  Value high(Value value) {
    return low(apply<arith::ShRUIOp>(value, wide(32)));
  }
  Value multiply(Value x, uint32_t factor) {
    Value extended = arith::ExtUIOp::create(b, b.getI64Type(), x);
    return apply<arith::MulIOp>(extended, wide(factor));
  }
  Value isEqual(Value x, uint32_t y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, word(y));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }

private:
  ImplicitLocOpBuilder &b;
};

using Counter = std::array<Value, 4>;
} // namespace

/// The four words of Philox4x32-7 for a counter.
static Counter buildPhilox(WordBuilder &b, Value seed, Counter counter) {
  constexpr unsigned kRounds = 7;
  constexpr uint32_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57},
                     kSteps[] = {0x9E3779B9, 0xBB67AE85};
  Value keys[] = {b.low(seed), b.high(seed)};
  for (unsigned round = 0; round < kRounds; ++round) {
    Value products[] = {b.multiply(counter[0], kMultipliers[0]),
                        b.multiply(counter[2], kMultipliers[1])};
    auto mix = [&](Value product, Value word, Value key) {
      // The key last: the rest may be in one word for several rounds.
      Value mixed = b.apply<arith::XOrIOp>(b.high(product), word);
      return b.apply<arith::XOrIOp>(mixed, key);
    };
    counter = {mix(products[1], counter[1], keys[0]), b.low(products[1]),
               mix(products[0], counter[3], keys[1]), b.low(products[0])};
    for (auto [key, step] : llvm::zip(keys, kSteps))
      key = b.apply<arith::AddIOp>(key, step);
  }
  return counter;
}

Value DropoutAttr::buildKeepMod(ImplicitLocOpBuilder &builder,
                                const ModContext &context) const {
  constexpr int64_t kLanes = fa3::kSm90a.threadsPerWarp;
  WordBuilder b(builder);
  auto read = [&](int64_t number) -> Value {
    return tensor::ExtractOp::create(builder, context.aux[getAux()],
                                     indexConstant(builder, number));
  };
  Value seed = read(0), offset = read(1);
  Value heads = HeadsOp::create(builder, builder.getIndexType());
  Value rows = b.apply<arith::AddIOp>(
      b.apply<arith::MulIOp>(context.batch, heads), context.head);
  rows = arith::IndexCastOp::create(builder, builder.getI64Type(), rows);
  Value first = b.apply<arith::AddIOp>(
      offset, b.apply<arith::MulIOp>(rows, b.wide(kLanes)));

  Value i = b.fromIndex(context.query), j = b.fromIndex(context.key);
  Value inRow = b.apply<arith::ShRUIOp>(b.apply<arith::AndIOp>(j, 7), 1);
  Value row = b.apply<arith::ShLIOp>(b.apply<arith::AndIOp>(i, 7), 2);
  Value lane = b.apply<arith::OrIOp>(row, inRow);
  // What varies with the row and column stays in 32 bits.
  Value low = b.low(first), sum = b.apply<arith::AddIOp>(low, lane);
  Value carry = arith::ExtUIOp::create(
      builder, builder.getI32Type(),
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, sum, low));
  Counter words = buildPhilox(
      b, seed,
      {sum, b.apply<arith::AddIOp>(b.high(first), carry),
       b.apply<arith::ShRUIOp>(i, 4), b.apply<arith::ShRUIOp>(j, 5)});

  Value number = b.apply<arith::AndIOp>(b.apply<arith::ShRUIOp>(j, 3), 3);
  Value word = words[3];
  for (unsigned other : {2, 1, 0})
    word = b.select(b.isEqual(number, other), words[other], word);
  Value ofKey = b.apply<arith::ShLIOp>(b.apply<arith::AndIOp>(j, 1), 3);
  Value ofQuery = b.apply<arith::ShLIOp>(b.apply<arith::AndIOp>(i, 8), 1);
  Value shift = b.apply<arith::OrIOp>(ofQuery, ofKey);
  Value byte =
      b.apply<arith::AndIOp>(b.apply<arith::ShRUIOp>(word, shift), 255);
  KeptShare share = *getKeptShare(getP().getValueAsDouble());
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ule, byte,
                               b.word(share.greatestByte));
}
