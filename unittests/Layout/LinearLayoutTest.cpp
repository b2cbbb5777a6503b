//===- LinearLayoutTest.cpp - register layouts ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
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

/// Four neighboring columns a lane, 8 rows apart, then 16 columns further, as
/// the PTX ISA lists them for the A fragment of wgmma.m64nNk32.
TEST(LinearLayout, EightBitOperandIsThePtxFragment) {
  auto layout = LinearLayout::operandA(64, 96, 8);
  ASSERT_TRUE(layout);
  for (unsigned warp = 0; warp < 4; ++warp)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (int64_t reg = 0; reg < 48; ++reg) {
        int64_t word = reg / 4, byte = reg % 4;
        LinearLayout::Basis expected = {16 * warp + lane / 4 + 8 * (word % 2),
                                        32 * (word / 4) + 16 * (word / 2 % 2) +
                                            4 * (lane % 4) + byte};
        EXPECT_EQ(at(*layout, warp, lane, reg), expected);
      }
}

TEST(LinearLayout, RelabelledAccumulatorIsTheEightBitOperand) {
  for (int64_t columns : {32, 96, 128}) {
    auto acc =
        LinearLayout::accumulator(64, columns)->relabeled(1, {0, 3, 1, 2});
    ASSERT_TRUE(acc);
    auto registers =
        LinearLayout::operandA(64, columns, 8)->getRegistersIn(*acc);
    ASSERT_TRUE(registers);
    // Pairs of registers stay together, so that one conversion makes both.
    for (size_t i = 0; i < registers->size(); i += 2)
      EXPECT_EQ((*registers)[i] + 1, (*registers)[i + 1]);
    // Without it elements would change lanes.
    EXPECT_FALSE(LinearLayout::operandA(64, columns, 8)
                     ->getRegistersIn(*LinearLayout::accumulator(64, columns)));
  }
}

TEST(LinearLayout, RelabellingNeedsWholePeriods) {
  // 3 x 8 columns: the repeat starts inside a period of 16.
  EXPECT_FALSE(LinearLayout::accumulator(64, 24)->relabeled(1, {0, 3, 1, 2}));
  EXPECT_TRUE(LinearLayout::accumulator(64, 24)->relabeled(1, {1, 0}));
}

TEST(LinearLayout, TransposingGivesWordsOfNeighboringColumns) {
  auto layout = LinearLayout::transposing(32, 64);
  ASSERT_TRUE(layout);
  EXPECT_FALSE(LinearLayout::transposing(16, 64));
  EXPECT_FALSE(LinearLayout::transposing(32, 24));
  LinearLayout columns = layout->transposed();
  EXPECT_EQ(columns.getShape()[0], 64);
  auto keys = columns.relabeled(1, {0, 3, 1, 2});
  ASSERT_TRUE(keys);
  // A lane holds keys 4 q .. 4 q + 3 of its rows.
  for (unsigned lane = 0; lane < 4; ++lane)
    EXPECT_EQ(keys->getThreadOffset(lane, 0)[1], 4 * lane);
  llvm::SmallVector<LinearLayout::Basis> first = {{1, 0}, {0, 1}, {0, 2}};
  EXPECT_EQ(keys->getRegisterBases().take_front(3), llvm::ArrayRef(first));
}

TEST(LinearLayout, FoldedRowsAreTwoDimensions) {
  for (int64_t inner : {1, 2, 4, 8, 16, 64}) {
    auto layout = LinearLayout::accumulator(128, 80);
    LinearLayout folded = layout->folded(inner);
    EXPECT_EQ(folded.getShape(),
              llvm::ArrayRef<int64_t>({128 / inner, inner, 80}));
    ASSERT_EQ(folded.getNumRegisters(), layout->getNumRegisters());
    for (unsigned warp = 0; warp < 4; ++warp)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (int64_t reg = 0; reg < layout->getNumRegisters(); ++reg) {
          auto whole = at(*layout, warp, lane, reg);
          EXPECT_EQ(at(folded, warp, lane, reg),
                    LinearLayout::Basis(
                        {whole[0] / inner, whole[0] % inner, whole[1]}));
        }
  }
}

TEST(LinearLayout, FoldedVectorsToo) {
  auto rows = LinearLayout::accumulator(64, 16)->slice(1);
  LinearLayout folded = rows.folded(8);
  EXPECT_EQ(folded.getShape(), llvm::ArrayRef<int64_t>({8, 8}));
  EXPECT_EQ(at(folded, 1, 28, 1), LinearLayout::Basis({3, 7}));
  // 24 rows: 8 of them in lanes and registers, the factor 3 in repeats.
  LinearLayout odd = LinearLayout::accumulator(64, 24)->transposed();
  EXPECT_EQ(odd.folded(4).getRepeats().front().stride, 2);
}
