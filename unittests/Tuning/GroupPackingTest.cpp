//===- GroupPackingTest.cpp - heads of a group as rows --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tuning/GroupPacking.h"
#include "gtest/gtest.h"

using namespace fa3;

TEST(GroupPacking, HeadsTakeAPowerOfTwoOfRows) {
  for (auto [heads, together, rows, parts] :
       {std::array<int64_t, 4>{2, 2, 2, 1},
        {3, 3, 4, 1},
        {7, 7, 8, 1},
        {64, 64, 64, 1},
        {96, 48, 64, 2},
        {128, 64, 64, 2}}) {
    std::optional<GroupPacking> packing = packGroup(heads);
    ASSERT_TRUE(packing);
    EXPECT_EQ(packing->heads, together);
    EXPECT_EQ(packing->rows, rows);
    EXPECT_EQ(packing->parts, parts);
  }
  // One is no group; a prime number of more than a tile's rows has no part.
  EXPECT_FALSE(packGroup(1));
  EXPECT_FALSE(packGroup(67));
}

static bool isBetter(int64_t heads, const GroupFacts &facts) {
  return isPackingBetter(*packGroup(heads), facts);
}

TEST(GroupPacking, MasksByQueryGain) {
  GroupFacts facts;
  facts.valueHeadDim = 128;
  EXPECT_FALSE(isBetter(4, facts));
  facts.isMaskedByQuery = true;
  EXPECT_TRUE(isBetter(4, facts));
  EXPECT_FALSE(isBetter(3, facts)) << "one of four rows is without a head";
  facts.valueHeadDim = 136;
  EXPECT_FALSE(isBetter(4, facts)) << "heads are wide";
  facts.valueHeadDim = 128;
  facts.isListed = true;
  EXPECT_FALSE(isBetter(4, facts)) << "lists say which keys";
}

TEST(GroupPacking, FewQueriesFillTiles) {
  GroupFacts facts;
  facts.valueHeadDim = 256;
  facts.queries = 1;
  EXPECT_TRUE(isBetter(7, facts));
  facts.queries = 64;
  EXPECT_FALSE(isBetter(4, facts));
  facts.queries = 65;
  EXPECT_TRUE(isBetter(4, facts));
  facts.drops = true;
  EXPECT_FALSE(isBetter(4, facts)) << "random numbers are those of a head";
}

TEST(GroupPacking, PartsAreForFewQueries) {
  GroupFacts facts;
  facts.valueHeadDim = 256;
  facts.isInParts = true;
  EXPECT_TRUE(isBetter(3, facts));
  facts.queries = 64;
  EXPECT_FALSE(isBetter(4, facts));
}
