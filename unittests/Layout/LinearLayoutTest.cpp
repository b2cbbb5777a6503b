//===- LinearLayoutTest.cpp - register layouts ----------------------------===//

#include "fa3/Layout/LinearLayout.h"
#include "gtest/gtest.h"
#include <set>

using namespace fa3;

/// Element e of 8-column block j of lane l of warp w, as the PTX ISA lists them
/// for the D fragment of wgmma.m64nNk16.
static LinearLayout::Basis ptxAccumulator(unsigned warp, unsigned lane,
                                          int64_t reg) {
  int64_t j = reg / 4, e = reg % 4;
  return {16 * warp + lane / 4 + 8 * (e >> 1), 8 * j + 2 * (lane % 4) + e % 2};
}

static LinearLayout::Basis at(const LinearLayout &layout, unsigned warp,
                              unsigned lane, int64_t reg) {
  LinearLayout::Basis position = layout.getThreadOffset(lane, warp);
  LinearLayout::Basis offset = layout.getRegisterOffset(reg);
  for (size_t i = 0; i < position.size(); ++i)
    position[i] += offset[i];
  return position;
}

TEST(LinearLayout, AccumulatorIsThePtxFragment) {
  for (int64_t columns : {8, 72, 80, 96, 112, 128, 176, 256}) {
    auto layout = LinearLayout::accumulator(64, columns);
    ASSERT_TRUE(layout);
    ASSERT_EQ(layout->getNumRegisters(), columns / 2);
    for (unsigned warp = 0; warp < 4; ++warp)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (int64_t reg = 0; reg < columns / 2; ++reg)
          EXPECT_EQ(at(*layout, warp, lane, reg),
                    ptxAccumulator(warp, lane, reg));
  }
}

TEST(LinearLayout, EveryElementHasOneHolder) {
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{64, 80}, {128, 176}, {256, 24}}) {
    auto layout = LinearLayout::accumulator(rows, columns);
    ASSERT_TRUE(layout);
    std::set<std::pair<int64_t, int64_t>> seen;
    for (unsigned warp = 0; warp < 4; ++warp)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (int64_t reg = 0; reg < layout->getNumRegisters(); ++reg) {
          auto position = at(*layout, warp, lane, reg);
          EXPECT_TRUE(seen.insert({position[0], position[1]}).second);
        }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), rows * columns);
  }
}

TEST(LinearLayout, SixteenBitOperandIsTheAccumulator) {
  EXPECT_EQ(*LinearLayout::operandA(64, 80, 16),
            *LinearLayout::accumulator(64, 80));
  EXPECT_NE(*LinearLayout::operandA(64, 96, 8),
            *LinearLayout::accumulator(64, 96));
}

TEST(LinearLayout, RejectsWhatWgmmaDoesNotHave) {
  EXPECT_FALSE(LinearLayout::accumulator(63, 8));
  EXPECT_FALSE(LinearLayout::accumulator(192, 8));
  EXPECT_FALSE(LinearLayout::accumulator(64, 12));
  EXPECT_FALSE(LinearLayout::operandA(64, 24, 16));
  EXPECT_FALSE(LinearLayout::operandA(64, 48, 8));
}

TEST(LinearLayout, SliceKeepsRowsOrColumns) {
  LinearLayout rows = LinearLayout::accumulator(64, 80)->slice(1);
  EXPECT_EQ(rows.getNumRegisters(), 2);
  EXPECT_EQ(rows.getRegisterOffset(1), LinearLayout::Basis{8});
  LinearLayout columns = LinearLayout::accumulator(64, 80)->slice(0);
  EXPECT_EQ(columns.getNumRegisters(), 20);
  EXPECT_EQ(columns.getThreadOffset(3, 2), LinearLayout::Basis{6});
  // What is sliced away does not matter.
  EXPECT_EQ(rows, LinearLayout::accumulator(64, 8)->slice(1));
}

TEST(LinearLayout, ReductionAlongColumnsExchangesTwoLaneBits) {
  auto layout = LinearLayout::accumulator(64, 80);
  llvm::SmallVector<unsigned> quad = {0, 1};
  EXPECT_EQ(layout->getLaneBitsAlong(1), quad);
  EXPECT_FALSE(layout->crossesWarpsAlong(1));
  EXPECT_TRUE(layout->crossesWarpsAlong(0));
}
