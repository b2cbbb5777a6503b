//===- RowPartitionTest.cpp - rounds against list scheduling --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Sequential/RowPartition.h"
#include "gtest/gtest.h"
#include <functional>
#include <queue>
#include <random>

using namespace fa3::tile;

namespace {
/// When the last tile ends if SMs take tiles, full ones first, as they
/// become free.
double simulate(int64_t full, int64_t rest, double restTime, int64_t sms) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  for (int64_t i = 0; i < sms; ++i)
    free.push(0);
  double end = 0;
  for (int64_t i = 0; i < full + rest; ++i) {
    double time = free.top() + (i < full ? 1 : restTime);
    free.pop();
    free.push(time);
    end = std::max(end, time);
  }
  return end;
}

TEST(RowPartitionTest, RoundsAreThoseOfListScheduling) {
  std::mt19937 random(5);
  auto below = [&](int64_t n) { return int64_t(random() % n); };
  for (int round = 0; round < 2000; ++round) {
    int64_t full = below(60), rest = below(60), sms = 1 + below(20);
    double time = (1 + below(19)) / 20.0;
    ASSERT_NEAR(estimateRounds(full, rest, time, sms),
                simulate(full, rest, time, sms), 1e-6)
        << full << " and " << rest << " of " << time << " on " << sms;
  }
}

TEST(RowPartitionTest, PartitionsCoverTheRows) {
  for (int64_t rows : {1, 63, 64, 65, 300, 1000, 2048, 16384})
    for (int64_t height : {64, 128, 192, 256})
      for (int64_t copies : {1, 16, 128}) {
        std::optional<RowPartition> partition =
            choosePartition(rows, height, copies, 132);
        if (!partition)
          continue;
        EXPECT_LT(partition->shortHeight, height);
        EXPECT_EQ(partition->shortHeight % 64, 0);
        int64_t full = partition->numFull * height;
        int64_t before =
            full + (partition->numShort - 1) * partition->shortHeight;
        // The last tile has rows, and no more than its height.
        if (partition->numShort > 0) {
          EXPECT_LT(before, rows);
          EXPECT_GE(before + partition->shortHeight, rows);
        } else {
          EXPECT_GE(full, rows);
        }
        EXPECT_GE(partition->end, rows);
        EXPECT_LT(partition->end, rows + 64);
      }
}

TEST(RowPartitionTest, OnlyWhatGainsIsChosen) {
  // One tile of one replica cannot be shorter.
  EXPECT_FALSE(choosePartition(16384, 64, 16, 132));
  // 264 tiles are two full rounds.
  EXPECT_FALSE(choosePartition(33 * 192, 192, 8, 132));
  // 10.4 rounds take 11.
  std::optional<RowPartition> partition = choosePartition(16384, 192, 16, 132);
  ASSERT_TRUE(partition);
  EXPECT_EQ(partition->shortHeight, 128);
  EXPECT_LT(estimateRounds(partition->numFull * 16, partition->numShort * 16,
                           0.3 + 0.7 * 2 / 3, 132),
            10.83);
}
} // namespace
