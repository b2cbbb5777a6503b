//===- PartCountTest.cpp - parts of keys ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tuning/PartCount.h"
#include "gtest/gtest.h"

using namespace fa3;

/// Decoding: a query of each of 8 heads, of 2 key heads, on 132
/// multiprocessors.
static PartFacts makeFacts(int64_t sequences, int64_t keys) {
  return {sequences, 1, keys, 8, 2, 132, true};
}

TEST(PartCount, PartsFillTheDevice) {
  // 66 would fill a wave: no more than keys / 256, and of more than 16 parts
  // each has 600.
  EXPECT_EQ(planParts(makeFacts(1, 300)), 1);
  EXPECT_EQ(planParts(makeFacts(1, 1024)), 4);
  EXPECT_EQ(planParts(makeFacts(1, 8192)), 16);
  EXPECT_EQ(planParts(makeFacts(1, 19200)), 32);
  EXPECT_EQ(planParts(makeFacts(1, 1 << 20)), 66);
  // 16 tiles: 8 parts are 128 of 132.
  EXPECT_EQ(planParts(makeFacts(8, 8192)), 8);
  // 50 tiles: 2 parts are 100 of 132, 5 are 250 of 264.
  EXPECT_EQ(planParts(makeFacts(25, 8192)), 5);
  // 72 tiles: 1 and 3 leave more than an eighth.
  EXPECT_EQ(planParts(makeFacts(36, 8192)), 7);
  EXPECT_EQ(planParts(makeFacts(64, 8192)), 1);
}

TEST(PartCount, TilesAreThoseOfPackedHeads) {
  PartFacts facts = makeFacts(8, 8192);
  facts.packsGroups = false; // 64 tiles
  EXPECT_EQ(planParts(facts), 2);
  // Seven heads take eight rows: nine queries two tiles.
  facts = {1, 9, 1 << 20, 7, 1, 132, true};
  EXPECT_EQ(planParts(facts), 66);
  facts.queries = 8;
  EXPECT_EQ(planParts(facts), 132);
  // 128 heads are two groups of 64 rows.
  facts = {1, 1, 1 << 20, 128, 1, 132, true};
  EXPECT_EQ(planParts(facts), 66);
  // 67 cannot be rows.
  facts = {1, 1, 1 << 20, 67, 1, 132, true};
  EXPECT_EQ(planParts(facts), 7);
}

TEST(PartCount, ManyQueriesHaveOnePart) {
  PartFacts facts = {1, 4096, 1 << 20, 8, 8, 132, false}; // 512 tiles
  EXPECT_EQ(planParts(facts), 1);
  facts.queries = 65; // 16 tiles
  EXPECT_EQ(planParts(facts), 8);
}

TEST(PartCount, ExtentsMayBeAnything) {
  int64_t most = int64_t(1) << 30;
  EXPECT_EQ(planParts({most, most, most, most, most, most, true}), 1);
  EXPECT_EQ(planParts({0, 0, 0, 0, 1, 1, true}), 1);
}
