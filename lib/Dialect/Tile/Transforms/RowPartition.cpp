//===- RowPartition.cpp - tiles of different heights ----------------------===//

#include "RowPartition.h"
#include "Utils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3::tile;

std::optional<RowBoundaries> fa3::tile::matchRowBoundaries(GridOp grid) {
  RowBoundaries result{0, {}, {}};
  auto collect = [&](Value index, SmallVectorImpl<arith::MulIOp> &products) {
    return llvm::all_of(index.getUsers(), [&](Operation *user) {
      auto product = dyn_cast<arith::MulIOp>(user);
      APInt factor;
      if (!product || !matchPattern(product.getRhs(), m_ConstantInt(&factor)))
        return false;
      int64_t height = factor.getSExtValue();
      if (result.height != 0 && result.height != height)
        return false;
      result.height = height;
      products.push_back(product);
      return true;
    });
  };
  Value first = grid.getBody().getArgument(0);
  SmallVector<Value> nexts;
  for (Operation *user : first.getUsers())
    if (auto next = dyn_cast<arith::AddIOp>(user); next && isOne(next.getRhs()))
      nexts.push_back(next);
  for (Value next : nexts)
    if (!collect(next, result.ends))
      return std::nullopt;
  for (Operation *user : first.getUsers()) {
    if (llvm::is_contained(nexts, user->getResult(0)))
      continue;
    auto product = dyn_cast<arith::MulIOp>(user);
    APInt factor;
    if (!product || !matchPattern(product.getRhs(), m_ConstantInt(&factor)) ||
        factor.getSExtValue() != result.height)
      return std::nullopt;
    result.firsts.push_back(product);
  }
  bool endsStores = llvm::any_of(result.ends, [](arith::MulIOp end) {
    return llvm::any_of(end->getUsers(), llvm::IsaPred<StoreOp>);
  });
  if (!endsStores || result.height % kRowsPerReplica)
    return std::nullopt;
  return result;
}

double fa3::tile::estimateRounds(int64_t full, int64_t rest, double restTime,
                                 int64_t processors) {
  // Some processors have one full tile more than the others.
  int64_t rounds = full / processors, more = full % processors;
  double end = rounds + (more != 0);
  if (rest == 0)
    return end;
  // The earliest time by which the free time holds all other tiles.
  auto holds = [&](double time) {
    auto count = [&](double free) {
      return free < 0 ? 0 : static_cast<int64_t>(free / restTime + 1e-9);
    };
    return count(time - rounds) * (processors - more) +
               count(time - rounds - 1) * more >=
           rest;
  };
  for (int64_t i = 1;; ++i)
    for (double time : {rounds + i * restTime, rounds + 1 + (i - 1) * restTime})
      if (time >= end - restTime && holds(time))
        return std::max(end, time);
}

std::optional<RowPartition> fa3::tile::choosePartition(int64_t rows,
                                                       int64_t height,
                                                       int64_t copies,
                                                       int64_t processors) {
  // Of a tile's time, what a replica without rows does not save.
  constexpr double kFixed = 0.3, kGain = 0.015;
  int64_t units = llvm::divideCeil(rows, kRowsPerReplica);
  int64_t replicas = height / kRowsPerReplica;
  double best = estimateRounds(llvm::divideCeil(units, replicas) * copies, 0, 1,
                               processors) *
                (1 - kGain);
  std::optional<RowPartition> result;
  for (int64_t part = 1; part < replicas; ++part) {
    double time = kFixed + (1 - kFixed) * part / replicas;
    for (int64_t full = 0; full <= units / replicas; ++full) {
      int64_t rest = llvm::divideCeil(units - full * replicas, part);
      double rounds =
          estimateRounds(full * copies, rest * copies, time, processors);
      if (rounds >= best)
        continue;
      best = rounds;
      result = RowPartition{height, full, part * kRowsPerReplica, rest,
                            units * kRowsPerReplica};
    }
  }
  return result;
}

void fa3::tile::replaceBoundaries(const RowBoundaries &boundaries,
                                  const RowPartition &partition) {
  auto replace = [&](arith::MulIOp product, bool isEnd) {
    ImplicitLocOpBuilder b(product.getLoc(), product);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, value);
    };
    Value number = product.getLhs();
    Value row = arith::MulIOp::create(b, number, constant(partition.height));
    Value others = arith::MaxSIOp::create(
        b, arith::SubIOp::create(b, number, constant(partition.numFull)),
        constant(0));
    row = arith::SubIOp::create(
        b, row,
        arith::MulIOp::create(
            b, others, constant(partition.height - partition.shortHeight)));
    if (isEnd)
      row = arith::MinSIOp::create(b, row, constant(partition.end));
    product.replaceAllUsesWith(row);
    product.erase();
  };
  for (arith::MulIOp product : boundaries.firsts)
    replace(product, /*isEnd=*/false);
  for (arith::MulIOp product : boundaries.ends)
    replace(product, /*isEnd=*/true);
}
